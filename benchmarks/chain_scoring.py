"""Time to score a chain, as a function of its length.

Each step cites the two before it, so the unrolled tree grows like the Fibonacci numbers. For each
length, the script prints the time per step as a ratio to that of the shortest chain: about 1 if
the time is linear. For comparison, it computes the same sum over the unrolled tree, up to the
length that is feasible.

Run: ``python benchmarks/chain_scoring.py``
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lmms_rpts.reasoning import build_tree, parse_chain, plan_steps, repair_chain, rpts_score
from lmms_rpts.reasoning.tree import ReasoningTree

DOC = {"context": "", "textual_clue": ["x"], "visual_clue": [], "reasoning": []}


def lines(length: int) -> list[str]:
    """A chain in which each step cites the two before it."""
    first = ["Text0 -> Conclusion0:a", "Conclusion0 -> Conclusion1:b"]
    rest = (f"Conclusion{k - 1} + Conclusion{k - 2} -> Conclusion{k}:c" for k in range(2, length))
    return [*first, *rest]


def linear(length: int) -> float:
    """Everything done with a chain, from its text to its score."""
    chain = repair_chain(parse_chain(lines(length)), DOC["textual_clue"], lambda a, b: False, 0)
    plan_steps(chain, DOC)
    return rpts_score(build_tree(chain, 0, 1), [0.5] * length)


def unrolled(length: int) -> float:
    """The sum over the unrolled tree, node by node."""
    tree = build_tree(parse_chain(lines(length)), 0, 1)
    total, weight = _sums(tree, length - 1)
    return total / weight


def _sums(tree: ReasoningTree, at: int) -> tuple[float, float]:
    weight = 0.9 ** abs(1 - tree.heights[at])
    total = weight * 0.5
    for clue in tree.chain.steps[at].premises:
        if clue.kind == "conclusion" and clue.index is not None:
            below, heavy = _sums(tree, clue.index)
            total, weight = total + below, weight + heavy
    return total, weight


def seconds(work: Callable[[int], float], length: int) -> float:
    """Shortest time of three runs, in seconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work(length)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    for name, work, lengths in (
        ("this project", linear, (100, 300, 1_000)),
        ("unrolled tree", unrolled, (10, 15, 20, 25)),
    ):
        print(name)
        base = 0.0
        for length in lengths:
            took = seconds(work, length)
            base = base or took / length
            print(f"  {length:>7} steps  {took:8.4f} s  per step x{took / length / base:.1f}")


if __name__ == "__main__":
    main()
