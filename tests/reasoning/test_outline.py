"""A reasoning tree as indented text."""

from __future__ import annotations

from lmms_rpts.reasoning import build_tree
from lmms_rpts.reasoning.tree import outline
from tests.reasoning.short import chain, chain_of
from tests.support.tables import table


@table(
    "steps, scores, text",
    ("", [], ""),
    ("i0 > it rains", [0.9], "Conclusion 0 (0.90): it rains\n  Image 0"),
    ("x > it rains", [None], "Conclusion 0: it rains\n  Context"),
    # A step that is cited twice is shown once.
    (
        "i0 > a; c0 t0 > b; c1 c0 > c",
        [1.0, 0.25],
        "Conclusion 2: c\n  Conclusion 1 (0.25): b\n    Conclusion 0 (1.00): a\n      Image 0\n"
        "    Text 0\n  Conclusion 0 (see above)",
    ),
    # Clues and steps that do not exist, and a step that nothing cites.
    (
        f"i0 > a\n b; t7 c5 i{10**40} > c",
        [],
        "Conclusion 1: c\n  Text 7 (does not exist)\n  Conclusion 5 (does not exist)\n"
        "  Image (number too large) (does not exist)\nNot cited by the last conclusion:\n"
        "  Conclusion 0: a b\n    Image 0",
    ),
)
def test_outline(steps: str, scores: list[float | None], text: str) -> None:
    assert outline(build_tree(chain_of(steps), 1, 1), scores) == text


def test_long_chains_stay_small() -> None:
    """Each step cites the two before it: unrolled, the tree would have 10**400 lines."""
    steps = ["i0 > x", "i0 > x", *(f"c{at + 1} c{at} > x" for at in range(2000))]
    text = outline(build_tree(chain(*steps), 1, 0), [0.5] * 2002)
    lines = text.split("\n")
    assert len(lines) <= 4006
    assert max(map(len, lines)) < 100
