"""Speed of the rules that grade final answers, on the rows of the grading corpus.

    python -m benchmarks.grading [--rounds 3]

Bound: at least 1,000 grades a second of processor time, and no grade over 50 milliseconds.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

from rich.console import Console
from rich.table import Table

from tests.grading.corpus import corpus, outcome

SLOWEST = 0.05
FEWEST = 1_000


def main() -> None:
    """Print grades a second and the slowest grade, by kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="times that each row is graded")
    rounds = parser.parse_args().rounds
    best: dict[int, float] = {}
    for _ in range(rounds):
        for number, row in enumerate(corpus()):
            start = time.process_time()
            outcome(row)
            taken = time.process_time() - start
            best[number] = min(taken, best.get(number, taken))
    kinds = defaultdict(list)
    for number, row in enumerate(corpus()):
        kinds[row["kind"]].append(best[number])
        kinds["all"].append(best[number])
    table = Table("kind", "grades", "a second", f"of {FEWEST}", "slowest (ms)", f"over {SLOWEST} s")
    for kind, times in kinds.items():
        rate = len(times) / sum(times)
        slow = sum(each > SLOWEST for each in times)
        table.add_row(
            kind, str(len(times)), f"{rate:.0f}", f"{rate / FEWEST:.1f}",
            f"{1000 * max(times):.1f}", str(slow),
        )  # fmt: skip
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
