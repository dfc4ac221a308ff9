"""Freeze the tables of the graders' tests as one corpus, with the outcome of each grader per row.

It needs the graders and the tests of commit 52faf9c, which had four graders; later commits only
read the corpus. From a checkout of that commit with this file:

    python -m tests.support.grading_corpus FILE
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import string
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LONGEST = 4_000
"""Rows with longer texts are for growth tests, not for the corpus."""
OUTCOMES = {True: "correct", False: "incorrect", None: "undecided"}
NOT_CORRECT = ["incorrect", "undecided"]


def _row(
    kind: str, gold: str | None, response: str, expected: str | Sequence[str], **more: Any
) -> Row:
    allowed = [expected] if isinstance(expected, str) else sorted(expected)
    return {
        "kind": kind, "question": "", "options": [], "marks": [], "gold": gold,
        "response": response, "language": "en", "benchmark": {}, "expected": allowed, "note": "",
        **more,
    }  # fmt: skip


def rows() -> Iterator[Row]:
    """The rows of all tables."""
    yield from _own()
    yield from _rome()
    yield from _reform()
    yield from _agree()
    yield from _cmmath()
    yield from _issue()


def _own() -> Iterator[Row]:
    choices = importlib.import_module("tests.answers.test_grading_choices")
    numbers = importlib.import_module("tests.answers.test_grading_numbers")
    texts = importlib.import_module("tests.answers.test_grading_texts")
    cities, origin = list(choices.CITIES), "answers/choices"
    for response, right in choices.PARIS:
        yield _row("choice", "B", response, OUTCOMES[right], options=cities, origin=origin)
    for response in choices.ATTACKS:
        for options in (cities, []):
            more = {"options": options, "origin": "answers/choices attacks"}
            yield _row("choice", "B", response, NOT_CORRECT, **more)
    for options, gold, response, right in choices.OTHERS:
        more = {"options": list(options), "origin": "answers/choices others"}
        yield _row("choice", gold, response, OUTCOMES[right], **more)
    for tails, outcome in ((choices.TAKEN_BACK, "undecided"), (choices.KEPT, "correct")):
        for tail in tails:
            more = {"options": list(choices.COLOURS), "origin": "answers/choices tails"}
            yield _row("choice", "A", f"Final answer: A{tail}", outcome, **more)
    for gold, response, right in numbers.CASES:
        yield _row("number", gold, response, OUTCOMES[right], origin="answers/numbers")
    for gold, tolerance, response, right in numbers.TOLERANCES:
        more = {"tolerance": tolerance, "origin": "answers/numbers tolerances"}
        yield _row("number", gold, response, OUTCOMES[right], **more)
    for name, outcome in (
        ("ATTACKS", NOT_CORRECT),
        ("UNDECIDED", "undecided"),
        ("SAME_UNIT", "correct"),
    ):
        for gold, response in getattr(numbers, name):
            origin = f"answers/numbers {name.lower()}"
            yield _row("number", gold, response, outcome, origin=origin)
    for gold, response, right in texts.CASES:
        yield _row("text", gold, response, OUTCOMES[right], origin="answers/texts")
    for gold, response in texts.ATTACKS:
        yield _row("text", gold, response, NOT_CORRECT, origin="answers/texts attacks")


def _rome() -> Iterator[Row]:
    module = importlib.import_module("tests.tasks.test_rome_strict")
    for evaluator, kwargs, response, score in module.cases():
        more: Row = {"origin": "rome", "benchmark": {"evaluator": evaluator, "kwargs": kwargs}}
        kind, gold = "text", json.dumps(kwargs, ensure_ascii=False)
        if evaluator == "choices_matching":
            kind, gold = "choice", kwargs["label"]
        elif evaluator == "number_matching":
            kind, gold = "number", repr(kwargs["value_to_match"])
        elif "interval" in evaluator:
            kind = "number"
        yield _row(kind, gold, response, "correct" if score else NOT_CORRECT, score=score, **more)


def _reform() -> Iterator[Row]:
    module = importlib.import_module("tests.tasks.test_reform_strict")
    for name, test in vars(module).items():
        for given in getattr(test, "rows", ()) if name.startswith("test_") else ():
            if "index" not in given:
                continue
            options = given.get("options") or {
                "test_yes_and_no": module.YES_NO, "test_counts": module.COUNTS,
                "test_chinese": module.CHINESE, "test_sentences_as_options": module.SENTENCES,
            }.get(name, module.ANIMALS)  # fmt: skip
            if name == "test_odd_options":
                options = given["options"]
            styles = {"test_small_letters": module.LOWER, "test_numbers_as_marks": module.NUMBER}
            marks = list(given.get("marks") or styles.get(name, module.UPPER))[: len(options)]
            index = given["index"]
            gold = None if index is None else marks[index]
            more = {"options": list(options), "marks": marks, "benchmark": {"task": "reform_eval"}}
            outcome = NOT_CORRECT if index is None else "correct"
            origin = f"reform {name.removeprefix('test_')}"
            yield _row("choice", gold, given["prediction"], outcome, origin=origin, **more)
    for given in module.test_text_contains.rows:
        benchmark = {"answers": given["answers"], "numbers_as_words": given["words"]}
        gold = json.dumps(given["answers"], ensure_ascii=False)
        more = {"benchmark": benchmark, "origin": "reform text_contains"}
        yield _row("text", gold, given["prediction"], OUTCOMES[given["found"]], **more)


def _stances(texts: dict[str | None, Any], text: str, origin: str) -> Row:
    """A row for a text that may be read as any of the stances; None: no answer that rules read."""
    readings = {"agree", "disagree"} & set(texts)
    if len(readings) != 1:
        expected = NOT_CORRECT if not readings else ["correct", "incorrect", "undecided"]
        return _row("agree", None, text, expected, origin=origin)
    others = {"undetermined": "incorrect", None: "undecided"}
    expected = {"correct", *(others[each] for each in texts if each in others)}
    return _row("agree", readings.pop(), text, expected, origin=origin)


def _agree() -> Iterator[Row]:
    module = importlib.import_module("tests.reasoning.test_answers")
    for text, meant in module.TABLES:
        readings = {meant, None} if text in module.LEFT_TO_THE_JUDGE else {meant}
        yield _stances(dict.fromkeys(readings), text, "agree tables")
    for text, readings in module.MISREAD:
        yield _stances(dict.fromkeys(readings), text, "agree misread")
    for text, meant in module.FLIPS:
        yield _stances({meant: 1, None: 1}, text, "agree flips")
    for block, meant in ((module.AGREEING, "agree"), (module.DISAGREEING, "disagree")):
        for text in module.spelt(block):
            yield _stances({meant: 1, None: 1}, text, "agree spellings")
    for text in module.spelt(module.UNSTATED):
        yield _row("agree", None, text, "incorrect", origin="agree unstated", note="states none")


def _cmmath() -> Iterator[Row]:
    from tests.tasks import test_cmmath_grading as module
    from tests.tasks.cmmath_cases import attacks, hostile

    for source, cases in (("cmmath", module.CASES), ("cmmath hostile", hostile.CASES)):
        for case in cases:
            allowed = {case.outcome} if isinstance(case.outcome, str) else set(case.outcome)
            note = case.name
            if case.name in module.ABSTAINED:
                allowed, note = allowed | {"undecided"}, f"{case.name}; was left undecided"
            yield _maths(case.question, case.reference, case.response, allowed, source, note)
    for name, question, reference, response in (*attacks.attacks(), *attacks.lookalikes()):
        yield _maths(question, reference, response, NOT_CORRECT, "cmmath attacks", name)
    for question, reference, right, wrong, *_ in module.PLAIN:
        for lead in module.LEADS:
            for said, outcome in ((right, "correct"), (wrong, "incorrect")):
                response = lead.format(said)
                yield _maths(question, reference, response, [outcome], "cmmath plain", "")
    for text in module.NEITHER:
        even = module.true_false.EVEN
        for truth in ("√", "×"):
            yield _maths(even, truth, text, NOT_CORRECT, "cmmath neither", "")


def _maths(question: str, gold: str, response: str, expected: Any, origin: str, note: str) -> Row:
    from lmms_rpts.tasks.cmmath.grading import grade

    type_ = grade(question, gold, "").answer_type
    more = {"question": question, "language": "zh", "origin": origin, "note": note}
    kind = "choice" if type_.startswith("choice") else "maths"
    return _row(kind, gold, response, expected, **more, benchmark={"task": "cmmath", "type": type_})


# Today's outcome of each grader that a row applies to.


def outcomes(row: Row) -> dict[str, str]:
    """The outcome of each of the graders."""
    found = {}
    for name, grader in (("own", _by_own), ("rome", _by_rome), ("reform", _by_reform),
                         ("cmmath", _by_cmmath), ("agree", _by_agree)):  # fmt: skip
        with contextlib.suppress(_NotApplicableError):
            found[name] = grader(row)
    return found


class _NotApplicableError(Exception):
    pass


def _needs(condition: object) -> None:
    if not condition:
        raise _NotApplicableError


def _letters(row: Row) -> list[str]:
    options = row["options"]
    return row["marks"] or list(string.ascii_uppercase[: len(options)])


def _by_own(row: Row) -> str:
    from lmms_rpts.answers.grading import answer_fault, grade_answer

    _needs(row["kind"] in ("choice", "number", "text") and row["gold"] is not None)
    _needs(not row["benchmark"] or (row["kind"] == "choice" and len(row["gold"]) == 1)
           or row["benchmark"].get("evaluator") == "number_matching")  # fmt: skip
    options = row["options"]
    if row["benchmark"].get("task") == "cmmath":
        options = _cmmath_options(row["question"])
    _needs(not row["marks"] or "".join(row["marks"]) in string.ascii_uppercase)
    _needs(answer_fault(row["kind"], row["gold"], options) is None)
    more = {"options": options, "tolerance": row.get("tolerance", 0.0)}
    return OUTCOMES[grade_answer(row["kind"], row["response"], row["gold"], **more).correct]


def _by_rome(row: Row) -> str:
    from lmms_rpts.tasks.rome.strict import grade_strictly

    benchmark, gold = row["benchmark"], row["gold"]
    if "evaluator" in benchmark:
        score = grade_strictly(benchmark["evaluator"], benchmark["kwargs"], row["response"])
        return {1.0: "correct", 0.0: "incorrect"}.get(score, f"score {score}")
    _needs(gold is not None and gold.strip() and not row.get("tolerance"))
    if row["kind"] == "choice":
        _needs(all(len(mark) == 1 for mark in _letters(row)) and gold.replace(",", "").isalpha())
        _needs(gold.replace(",", "").isupper() and len(gold) < 12)
        score = grade_strictly("choices_matching", {"label": gold}, row["response"])
    elif row["kind"] == "number":
        try:
            value = float(gold) if "." in gold else int(gold)
        except ValueError:
            raise _NotApplicableError from None
        score = grade_strictly("number_matching", {"value_to_match": value}, row["response"])
    else:
        _needs(row["kind"] == "text" and not benchmark)
        score = grade_strictly("key_items_matching", {"key_items": [[gold]]}, row["response"])
    return OUTCOMES[score == 1]


def _by_reform(row: Row) -> str:
    from lmms_rpts.tasks.reform_eval.strict import chosen_option, text_contains

    if row["kind"] == "text":
        benchmark = row["benchmark"]
        _needs("answers" in benchmark or not benchmark)
        words = benchmark.get("numbers_as_words", False)
        wanted = benchmark.get("answers", [row["gold"]])
        return OUTCOMES[text_contains(row["response"], wanted, numbers_as_words=words)]
    _needs(row["kind"] == "choice")
    options, marks = row["options"], _letters(row)
    if row["benchmark"].get("task") == "cmmath":
        options = _cmmath_options(row["question"])
        marks = list(string.ascii_uppercase[: len(options)])
    elif not options and "evaluator" in row["benchmark"]:
        marks = list("ABCDEFGH")
        options = [""] * 8
    _needs(options and (row["gold"] is None or row["gold"] in marks))
    index = chosen_option(row["response"], options, marks).index
    if index is None:
        return "undecided"
    return OUTCOMES[marks[index] == row["gold"]] if row["gold"] else "correct"


def _by_cmmath(row: Row) -> str:
    from lmms_rpts.tasks.cmmath.grading import grade

    if row["benchmark"].get("task") == "cmmath":
        return grade(row["question"], row["gold"], row["response"]).outcome
    gold, kind = row["gold"], row["kind"]
    _needs(gold and kind in ("choice", "number", "text") and not row.get("tolerance"))
    _needs(set(row["benchmark"]) <= {"task"} or kind == "choice")
    if kind != "choice":
        return grade("____", gold, row["response"]).outcome
    marks = _letters(row) or list("ABCDEFGH")
    _needs(set(gold) <= set(marks) and set(marks) <= set("ABCDEFGH"))
    listed = "\n".join(f"{mark}. {text}" for mark, text in zip(marks, row["options"], strict=False))
    return grade(f"Which of these ( )\n{listed}", gold, row["response"]).outcome


def _cmmath_options(question: str) -> list[str]:
    from lmms_rpts.tasks.cmmath.grading.multiple_choice import options_of

    return [option.text for option in options_of(question).values()]


def _by_agree(row: Row) -> str:
    from lmms_rpts.reasoning import find_answer, stated_words

    _needs(row["kind"] == "agree")
    found = find_answer(row["response"])
    if found in ("agree", "disagree"):
        return OUTCOMES[row["gold"] is None or found == row["gold"]]
    return "undecided" if found is None and stated_words(row["response"]) else "incorrect"


# Rows on which graders disagree. Where no reason is given below, the table of the row is right:
# the rows were looked at, and the graders that disagree miss a denial, a hedge, a retraction, a
# second answer or a longer name, which they were not written for.

_REPLACED = "the answer put in the place of a denied or retracted one counts"
_EITHER = "several options are never correct; they may be wrong or undecided"
_SETTLED = {
    "Answer - B": (["correct"], "a dash after a label is a colon"),
    "The answer isn't A; it's B.": (["correct", "undecided"], _REPLACED),
    "It's not A. It's B.": (["correct", "undecided"], _REPLACED),
    "Not A, but B.": (["correct", "undecided"], _REPLACED),
    "Definitely B.": (["correct", "undecided"], "an emphatic answer is an answer"),
    "选项B看起来正确，但A也可能。": (NOT_CORRECT, _EITHER),
}


def settle(row: Row) -> None:
    """Add the reason for the expected outcome to a row on which graders disagree."""
    if row["response"] in _SETTLED and row["kind"] == "choice" and row["gold"] != "A":
        row["expected"], row["settled"] = _SETTLED[row["response"]]
        return
    decided = {"correct" if outcome == "correct" else "not" for outcome in row["today"].values()}
    if len(decided) > 1:
        right = row["expected"] == ["correct"]
        row["settled"] = "stated plainly" if right else _reason(row["response"])


_REASONS = (
    (
        "retracted",
        r"(?i)wait|actually|sorry|scratch|correction|更正|不对|作废|oops|→|->|=>|改|edit",
    ),
    (
        "hedged or asked",
        r"(?i)[?？]|maybe|perhaps|probably|possibl|could|可能|猜|sure|guess|也许|about|≈|约",
    ),
    (
        "denied",
        r"(?i)\bnot\b|n't|wrong|but |except|不|非|错|排除|eliminat|exclud|ruled|never|neither"
        r"|without|reject|×",
    ),
    ("several answers", r"(?i)\bor\b|或|/|\band\b|[,，、;；]"),
    ("reported or conditional", r"(?i)\bif\b|say|claim|think|student|chose|假设|有人|suppose"),
)


def _reason(response: str) -> str:
    return next(
        (reason for reason, pattern in _REASONS if re.search(pattern, response)),
        "not the answer of the reference, or a part of another thing",
    )


# Rows that are in no table: forms that several graders got wrong.

_ABCD = ["3", "4", "5", "6"]
_ANIMALS = ["cat", "dog", "horse", "bird"]
_RIGHT_WITH_OPTIONS = (
    ("Final Answer: everything but B", "B", NOT_CORRECT),
    ("Option B is tempting, but option C is right.", "C", ["correct"]),
    ("Option B is tempting, but option C is right.", "B", NOT_CORRECT),
    ("Final Answer: D (not A, B or C)", "D", ["correct"]),
    ("I first thought A. Wait, it's C.", "C", ["correct"]),
    ("I first thought A. Wait, it's C.", "A", NOT_CORRECT),
    ("Answer: (b)", "B", ["correct"]),
    ("None of A, B, C; so D", "D", ["correct"]),
    ("Answer: B. Wait, C.", "B", NOT_CORRECT), ("Answer: B. Wait, C.", "C", None),
    ("选B→C", "B", NOT_CORRECT), ("答案是B，更正：C", "B", NOT_CORRECT),
    ("答案是B，更正：C", "C", None),
    *((hedge, "B", NOT_CORRECT) for hedge in ("maybe B", "B?", "答案可能是B", "Perhaps B.")),
    *((denial, "B", NOT_CORRECT) for denial in (
        "Don't choose B", "I'd eliminate B", "B can be excluded.", "别选B", "排除B",
        "Answer: not B",
    )),
    *((f"{lead} B{tail}", "B", NOT_CORRECT)
      for lead in ("Answer:", "The answer is", "Final answer:")
      for tail in (
        ". Wait, C.", ". Correction: C", ". Scratch that, C.", ". No, C.", ". Sorry, C.",
        ". Actually, C.", ". Oops, C.", ". I mean C.", ". Hmm, C.", ". On second thought, C.",
        ". I take that back.", ". Scratch that.", ". Strike that: C", ". Make that C.",
        ". Edit: C", ". Never mind, C.", ". Rather C.", ". That is wrong.", ", no wait, C",
      )),
)  # fmt: skip
_STANCES = (
    *((text, "agree", None) for text in (
        "Final answer: (agree)", "Final answer: Agreed", "Final answer: agree</s>",
        "\\boxed{\\textbf{agree}}", "最终答案：「同意」", "最终答案：正确",
        "Final answer: agree\nThank you, I hope this helps.",
        "Final answer: agree. Let me know if you have any questions!",
        "Final answer: **Agree**.", "\\boxed{agree}",
    )),
    *((f"Final answer: agree{tail}", None, NOT_CORRECT) for tail in (
        ". Scratch that.", ". Never mind.", ". I take that back.", ". Wait, no.", ". Oops.",
        "? Not sure.", ". Strike that.", ". Ignore that.", ". I retract that.",
    )),
    *((f"Final answer: agree{tail}", "agree", NOT_CORRECT) for tail in (
        ". Correction: disagree.", ". Wait, disagree.", ". No, disagree.", " -> disagree",
        ". Actually, I disagree.", ". Edit: disagree", ". Make that disagree.",
    )),
    ("最终答案：同意。更正：不同意", "agree", NOT_CORRECT),
    ("最终答案：同意。不对，应为不同意。", "agree", NOT_CORRECT),
    ("最终答案：可能同意", "agree", NOT_CORRECT), ("maybe agree", "agree", NOT_CORRECT),
)  # fmt: skip
_NUMBERS = (
    ("17", "Answer: 17. Correction: 18", NOT_CORRECT), ("18", "Answer: 17. Correction: 18", None),
    ("17", "Answer: 17. Scratch that.", NOT_CORRECT), ("17", "17 -> 18", NOT_CORRECT),
    ("17", "答案：17，更正：18", NOT_CORRECT), ("4", "4ish", NOT_CORRECT),
    ("4", "4 AM", NOT_CORRECT), ("17", "17k", NOT_CORRECT), ("17", "17th", NOT_CORRECT),
    ("17", "Figure 17", NOT_CORRECT), ("17", "maybe 17", NOT_CORRECT),
    ("17", "not 17", NOT_CORRECT),
    ("5", "about 5", NOT_CORRECT), ("5", "约5", NOT_CORRECT),
)  # fmt: skip
_TEXTS = (
    ("Paris", "Paris, Texas", NOT_CORRECT), ("x", "-x", NOT_CORRECT),
    ("cat", "hardly a cat", NOT_CORRECT), ("cat", "anything but a cat", NOT_CORRECT),
    ("cat", "Answer: cat. Wait, dog.", NOT_CORRECT),
)  # fmt: skip


def _issue() -> Iterator[Row]:
    for response, gold, expected in _RIGHT_WITH_OPTIONS:
        for options in (_ANIMALS, _ABCD):
            allowed = expected or ["correct", "undecided"]
            yield _row("choice", gold, response, allowed, options=options, origin="issue choices")
    for response, gold, expected in _STANCES:
        yield _row(
            "agree", gold, response, expected or ["correct", "undecided"], origin="issue agree"
        )
    for gold, response, expected in _NUMBERS:
        allowed = expected or ["correct", "undecided"]
        yield _row("number", gold, response, allowed, origin="issue numbers")
    for value, about in ((5, "about 5"), (5, "约5"), (75, "75%")):
        benchmark = {"evaluator": "number_matching", "kwargs": {"value_to_match": value}}
        more: Row = {"benchmark": benchmark, "origin": "issue numbers"}
        yield _row("number", str(value), f"Final Answer: {about}", "correct", **more)
    for gold, response, expected in _TEXTS:
        yield _row("text", gold, response, expected, origin="issue texts")
    square = "方程的解是（  ）\nA. 1\nB. 2\nC. 3\nD. 4"
    blanks = r"①是 $$\underline{}$$ ，②是 $$\underline{}$$ ．"
    for question, gold, response, expected in (
        (square, "B", "答案是3，选B", NOT_CORRECT),
        (square, "C", "答案是3，选B", NOT_CORRECT),
        (square, "B", "选B→C", NOT_CORRECT),
        (square, "B", "不选B", NOT_CORRECT),
        (blanks, "3；5", "②3；①5", NOT_CORRECT),
        (blanks, "3；5", "②5；①3", ["correct"]),
        (blanks, "3；5", "答案是3\n5", ["correct", "undecided"]),
    ):
        yield _maths(question, gold, response, expected, "issue maths", "")


def main(path: str) -> None:
    """Write the corpus; rows are unique, in the order of the tables."""
    seen: set[str] = set()
    lines = []
    for row in rows():
        if len(row["response"]) > LONGEST or len(row["question"]) > LONGEST:
            continue
        row["marks"] = row["marks"] if row["marks"] != _letters({**row, "marks": []}) else []
        key = json.dumps({**row, "origin": "", "note": "", "expected": ""}, sort_keys=True)
        if key not in seen:
            seen.add(key)
            kept = {name: value for name, value in row.items() if value not in ("", [], {})}
            kept |= {"gold": row["gold"], "response": row["response"], "today": outcomes(row)}
            if kept["language"] == "en":
                del kept["language"]
            settle(kept)
            text = json.dumps(kept, ensure_ascii=False)
            lines.append(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
