"""Differences between the grades of this checkout and of another one, on generated answers.

The answers are rows of the grading corpus, mutated: pieces joined, removed, exchanged, or put
between other words. The corpus alone missed two wrong answers that a change had made correct.

Run: ``python benchmarks/grades_compared.py OTHER_CHECKOUT [--rows 50000] [--seed 1]``
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
JOINTS = (
    *(
        " ",
        "\n",
        ". ",
        "。",
        ", ",
        "，",
        " or ",
        "或",
        " and ",
        "和",
        ". But ",
        "，但",
        ". So ",
        "，所以",
    ),
    *("; ", " = ", ". Wait, ", "。等等，", " -> ", ": ", "\n\n", "? "),
)
AROUND = (
    *("The answer is {}", "Answer: {}.", "答案：{}", "故选{}", "**{}**", "\\boxed{{{}}}", "({})"),
    *("It is not {}.", "不是{}", "maybe {}", "可能是{}", "${}$", "{} cm", "{}个", "about {}"),
    *("If so, {}", "{} is wrong", "{}是错误的", "Option {} is right", "at least {}", "{}%"),
    *("I think {}, sorry", "~~{}~~", "所以{}。", "half of {}", "{} (approximately)"),
)
GRADES = """
import json, sys
from tests.grading.corpus import outcome
for line in sys.stdin:
    print(outcome(json.loads(line)))
"""


def mutated(row: dict[str, object], other: str, generator: random.Random) -> dict[str, object]:
    """A row of the corpus with another response."""
    said = str(row["response"])
    for _ in range(generator.randint(1, 2)):
        at, end = sorted(generator.choices(range(len(said) + 1), k=2))
        match generator.randrange(5):
            case 0:
                said = generator.choice(JOINTS).join(generator.sample((said, other), 2))
            case 1:
                said = generator.choice(AROUND).format(said)
            case 2:
                said = said[:at] + said[end:]
            case 3:
                said = said[:at] + generator.choice(JOINTS) + said[at:]
            case _:
                said = said[:at] + generator.choice(AROUND).format(said[at:end]) + said[end:]
    return {**row, "response": said}


def grades(checkout: Path, rows: list[dict[str, object]]) -> list[str]:
    """The outcomes of rows by the graders of a checkout."""
    lines = "\n".join(map(json.dumps, rows))
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", GRADES]
    done = subprocess.run(
        command, cwd=checkout, env=environment, input=lines, stdout=-1, text=True, check=True
    )
    return done.stdout.split()


def main() -> None:
    """Print the rows that both checkouts grade differently, those newly correct first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    corpus = (HERE / "tests/grading/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    generator = random.Random(options.seed)
    read = [json.loads(line) for line in corpus]
    rows = list(read)
    while len(rows) < options.rows:
        row, other = generator.choices(read, k=2)
        rows.append(mutated(row, str(other["response"]), generator))
    pairs = zip(grades(options.other, rows), grades(HERE, rows), rows, strict=True)
    changes = [(before, now, row) for before, now, row in pairs if before != now]
    for before, now, row in sorted(changes, key=lambda each: (each[1] != "correct", each[:2])):
        print(
            f"{before} -> {now}: {row['origin']}, gold {row['gold']!r}: {row['response']!r}"[:600]
        )
    print(len(rows), "rows,", Counter(each[:2] for each in changes) or "no difference")


if __name__ == "__main__":
    main()
