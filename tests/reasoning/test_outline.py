"""A reasoning tree as indented text."""

from __future__ import annotations

from lmms_rpts.reasoning import Clue, ReasoningChain, Step, build_tree
from lmms_rpts.reasoning.outline import outline
from tests.support.tables import table


def chain(*steps: tuple[str, list[Clue]]) -> ReasoningChain:
    return ReasoningChain(tuple(Step(tuple(given), said) for said, given in steps), "en")


IMAGE, TEXT, CONTEXT = Clue("image", 0), Clue("text", 0), Clue("context", None)
FIRST, SECOND = Clue("conclusion", 0), Clue("conclusion", 1)


@table(
    "steps, scores, text",
    ([], [], ""),
    ([("it rains", [IMAGE])], [0.9], "Conclusion 0 (0.90): it rains\n  Image 0"),
    ([("it rains", [CONTEXT])], [None], "Conclusion 0: it rains\n  Context"),
    # A step that is cited twice is shown once.
    (
        [("a", [IMAGE]), ("b", [FIRST, TEXT]), ("c", [SECOND, FIRST])],
        [1.0, 0.25],
        "Conclusion 2: c\n  Conclusion 1 (0.25): b\n    Conclusion 0 (1.00): a\n      Image 0\n"
        "    Text 0\n  Conclusion 0 (see above)",
    ),
    # Clues and steps that do not exist, and a step that nothing cites.
    (
        [
            ("a\n b", [IMAGE]),
            ("c", [Clue("text", 7), Clue("conclusion", 5), Clue("image", 10**40)]),
        ],
        [],
        "Conclusion 1: c\n  Text 7 (does not exist)\n  Conclusion 5 (does not exist)\n"
        "  Image (number too large) (does not exist)\nNot cited by the last conclusion:\n"
        "  Conclusion 0: a b\n    Image 0",
    ),
)
def test_outline(
    steps: list[tuple[str, list[Clue]]], scores: list[float | None], text: str
) -> None:
    assert outline(build_tree(chain(*steps), 1, 1), scores) == text


def test_long_chains_stay_small() -> None:
    """Each step cites the two before it: unrolled, the tree would have 10**400 lines."""
    steps = [("x", [Clue("conclusion", at + 1), Clue("conclusion", at)]) for at in range(2000)]
    steps = [("x", [IMAGE]), ("x", [IMAGE]), *steps]
    text = outline(build_tree(chain(*steps), 1, 0), [0.5] * 2002)
    lines = text.split("\n")
    assert len(lines) <= 4006
    assert max(map(len, lines)) < 100
