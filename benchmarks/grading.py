"""Grading: speed, agreement with labelled answers, and fuzzed responses.

- Grades per second of processor time over the grading corpus.
- Agreement with real answers to problems of CMMaTH and their labels (reference/cmmath/graded.jsonl,
  without those whose label is debatable), and the share that is left undecided.
- With ``--fuzz``, generated responses of all kinds: sentences, LaTeX and tables in English and
  Chinese, emoji, nested brackets, odd Unicode, invented turns, mutated answers of the corpus, up to
  200,000 characters. Prints exceptions and the slowest responses; the exit status is 1 if there was
  an exception.

Run: python -m benchmarks.grading [--fuzz 20000] [--seed 1] [--disagreements] [--undecided]
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, get_args

from benchmarks.fuzz_responses import MUTATIONS, ODD, WORDS, make_response
from lmms_rpts.grading.grader import Kind, grade
from tests.grading.corpus import corpus, labelled, outcome
from tests.support.reference import find_reference

ROUNDS = 3
LONGEST = 200_000
GOLDS = {"number": "12 cm", "text": "Paris", "agree": "agree", "maths": "$\\frac{3}{4}$"}
OPTIONS = ("London", "12 cm", "$\\frac{3}{4}$", "以上都不是")
QUESTIONS = (
    "",
    "下列正确的是（  ）\nA. $3$\nB. 12\nC. 无解\nD. $x>2$",
    "则 $x$ 的值为 $\\underline{}$ ．",
)
PHRASES = (
    "The answer is ", "Answer: ", "**Final Answer:** ", "\\boxed{", "答案：", "故选", "因此，",
    "选", "Option A is wrong because ", "It is not ", "Wait, ", "Otherwise, ", "不是", "可能是",
    "等等，", "(A)", "B", "C.", "**D**", "12", "- 12", ".5", "twelve cm", "十二", "$\\frac{3}{4}$",
    "x = ", "\\sqrt{2}", "2**3", "x^{2}+1", "[1,2)", "①③", "√", "无解", "Paris", "agree", "不同意",
    "✅", "❌", "👍", "1. ", "- ", "; ", ", ", ". ", "。", "，", "\n", "\r\n", "\n\n",
    "| a | b |\n", "|---|---|\n", "<think>", "</think>", "}", "$", "$$", "\\left(", "\\right)",
    "\\text{", "&",
)  # fmt: skip
TURNS = (
    "\n\nQuestion: And 3+4?\nAnswer: 7", "\nUser: Thanks!\nAssistant: (C)", "<|im_end|>B", "</s>12",
    "<|endoftext|>Answer: agree", "\n\n问题：几个？\n答案：12",
)  # fmt: skip
BRACKETS = ("()", "[]", "{}", "（）", "$$", "||", "\\{\\}", "**", "<>")
COMMANDS = ("\\frac{1}{", "\\sqrt{", "\\boxed{", "\\text{", "x^{", "\\left(", "(-", "**", "_{")


def phrases(source: random.Random) -> str:
    return "".join(source.choices(PHRASES, k=source.randint(1, 60)))


def nested(source: random.Random) -> str:
    inside, depth = source.choice(PHRASES), source.choice((3, 30, 300, 3_000))
    if source.random() < 0.5:
        command = source.choice(COMMANDS)
        return command * depth + inside + "}" * source.choice((depth, 0))
    pair = source.choice(BRACKETS)
    half = len(pair) // 2
    return pair[:half] * depth + inside + pair[half:] * depth


def table(source: random.Random) -> str:
    width, rows = source.randint(1, 6), source.randint(1, 40)
    lines = ["| " + " | ".join(source.choices(PHRASES[15:40], k=width)) + " |" for _ in range(rows)]
    return "\n".join([lines[0], "|---" * width + "|", *lines[1:]])


def repeated(source: random.Random) -> str:
    """A short piece again and again, as if without a token limit."""
    piece = source.choice((source.choice(PHRASES), source.choice(WORDS), phrases(source)[:200]))
    return piece * (source.choice((2_000, 20_000, LONGEST)) // len(piece))


def odd(source: random.Random) -> str:
    return "".join(source.choices((*PHRASES, *ODD), k=source.randint(1, 80)))


def characters(source: random.Random) -> str:
    return "".join(chr(source.randrange(sys.maxunicode + 1)) for _ in range(source.randint(1, 200)))


def mutated(source: random.Random) -> str:
    text = str(source.choice(corpus())["response"])
    for _ in range(source.randint(1, 4)):
        text = source.choice(MUTATIONS)(text, source)
    return text


# Generators of responses, and how often each is chosen.
FORMS: dict[Callable[[random.Random], str], int] = {
    phrases: 30,
    mutated: 25,
    make_response: 15,
    odd: 8,
    nested: 8,
    table: 6,
    characters: 4,
    repeated: 1,
}


def fuzzed(source: random.Random) -> tuple[dict[str, Any], str]:
    """Arguments of ``grade`` and a response."""
    response = source.choices([*FORMS], [*FORMS.values()])[0](source)
    if source.random() < 0.1:
        response += source.choice(TURNS)
    response = response[:LONGEST]
    row = source.choice(corpus())
    if row["gold"] is not None and source.random() < 0.5:  # a real question
        names = ("gold", "kind", "options", "question", "tolerance")
        return {name: row[name] for name in names if name in row}, response
    kind = source.choice(get_args(Kind))
    if kind == "choice":
        options = OPTIONS[: source.randint(0, 4)]
        return {"kind": kind, "gold": source.choice("ABC"), "options": options}, response
    question = source.choice(QUESTIONS) if kind == "maths" else ""
    return {"kind": kind, "gold": GOLDS.get(kind, "12"), "question": question}, response


def fuzz(count: int, seed: int) -> int:
    """Grade fuzzed responses; the number of exceptions."""
    source, faults = random.Random(seed), Counter[str]()
    slowest: list[tuple[float, str, str]] = []
    for number in range(count):
        arguments, response = fuzzed(source)
        started = time.process_time()
        try:
            grade(response, arguments.pop("gold"), **arguments)
        except Exception as error:
            faults[f"{arguments['kind']}: {error!r:.100}, {response[:60]!a}"] += 1
        took = time.process_time() - started
        slowest.append((1000 * took, arguments["kind"], f"{len(response):,}: {response[:60]!a}"))
        if number % 1000 == 0:
            slowest = sorted(slowest, reverse=True)[:5]
    print(f"{count:,} fuzzed responses, exceptions: {faults.total()}")
    for fault, many in faults.most_common(20):
        print(f"  {many} x {fault}")
    for milliseconds, kind, shown in sorted(slowest, reverse=True)[:5]:
        print(f"  {milliseconds:6.1f} ms, {kind}, characters {shown}")
    return faults.total()


def agreement(*, disagreements: bool, undecided: bool) -> None:
    """Print how often the grader decides real answers, and how often as their labels say."""
    graded = [(row, outcome(row)) for row in labelled(find_reference("cmmath", "graded.jsonl"))]
    counts = Counter((row["expected"][0], said) for row, said in graded)
    decided = sum(many for (_, said), many in counts.items() if said != "undecided")
    agreed = counts["correct", "correct"] + counts["incorrect", "incorrect"]
    print(
        f"{len(graded):,} labelled answers: {1 - decided / len(graded):.1%} undecided, "
        f"{agreed / decided:.1%} of the others as labelled; "
        f"{counts['incorrect', 'correct']} wrong ones correct, "
        f"{counts['correct', 'incorrect']} right ones incorrect"
    )
    for row, said in graded:
        if undecided if said == "undecided" else disagreements and said not in row["expected"]:
            print(f"  {row['expected'][0]} but {said}: {row['gold']!a}, {row['response'][-150:]!a}")


def main() -> int:
    """Run the benchmark described in the module docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fuzz", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disagreements", action="store_true", help="show them")
    parser.add_argument("--undecided", action="store_true", help="show them")
    chosen = parser.parse_args()
    rows = corpus()
    gc.freeze()
    started = time.process_time()
    for _ in range(ROUNDS):
        for row in rows:
            outcome(row)
    took = time.process_time() - started
    print(f"{ROUNDS * len(rows) / took:,.0f} grades per second of processor time")
    agreement(disagreements=chosen.disagreements, undecided=chosen.undecided)
    return int(fuzz(chosen.fuzz, chosen.seed) > 0) if chosen.fuzz else 0


if __name__ == "__main__":
    sys.exit(main())
