"""Reasoning steps matched with gold steps by evidence."""

from __future__ import annotations

from lmms_rpts.analysis.gold_match import GoldMatch, evidence_sets, match_steps, matched_by
from lmms_rpts.reasoning import Clue, ReasoningTree, build_tree, parse_chain
from lmms_rpts.reasoning.clues import Language
from tests.support.tables import table


def tree(
    lines: list[str], language: Language = "en", images: int = 3, texts: int = 3
) -> ReasoningTree:
    return build_tree(parse_chain(lines, language), images, texts)


GOLD = [
    "Image0 -> The clock shows nine.",
    "Text0 -> The shop closes at eight.",
    "Conclusion0 + Conclusion1 -> The shop is closed.",
]
GOLD_ZH = ["图片0 -> 时钟显示九点。", "文本0 -> 商店八点关门。", "结论0 + 结论1 -> 商店已经关门。"]


def test_evidence_follows_conclusions_and_leaves_out_what_does_not_exist() -> None:
    lines = ["Image0 + Context -> a", "Conclusion0 + Text1 + Image9 -> b", "Conclusion7 -> c"]
    image, text, context = Clue("image", 0), Clue("text", 1), Clue("context")
    assert evidence_sets(tree(lines)) == (
        frozenset({image, context}),
        frozenset({image, context, text}),
        frozenset(),
    )


@table(
    "lines, matches",
    # The same evidence, with any wording.
    (["Image0 -> The clock shows three."], [((0,), 1.0)]),
    (["Text0 -> The shop opens at eight."], [((1,), 1.0)]),
    # Directly from the clues, without intermediate steps.
    (["Image0 + Text0 -> It is closed."], [((2,), 1.0)]),
    # {image 0, text 0, text 1} and {image 0, text 0}: 2 of 3.
    (["Image0 + Text0 + Text1 -> It is closed."], [((2,), 2 / 3)]),
    # {image 0, image 1} shares 1 of 2 with step 0, and 1 of 3 with step 2.
    (["Image0 + Image1 -> Two clocks."], [((0,), 0.5)]),
    # 1 of 3 at most.
    (["Image0 + Image1 + Image2 -> Three clocks."], [None]),
    (["Text1 -> It sells bread."], [None]),
    (["Context -> There is a shop."], [None]),
    (["Image9 -> Nothing."], [None]),
    # A clue that does not exist counts in the union: 1 of 2, and 1 of 3.
    (["Image0 + Text6 -> The clock shows nine."], [((0,), 0.5)]),
    (["Image0 + Text6 + Text6 -> The clock shows nine."], [((0,), 0.5)]),
    (["Image0 + Text6 + Text7 -> The clock shows nine."], [None]),
    (["Image0 + Conclusion7 -> The clock shows nine."], [((0,), 0.5)]),
    # Also below an earlier conclusion: 2 of 3.
    (
        ["Image0 + Image9 -> Nine.", "Conclusion0 + Text0 -> The shop is closed."],
        [((0,), 0.5), ((2,), 2 / 3)],
    ),
    ([], []),
)
def test_matches_by_evidence(
    lines: list[str], matches: list[tuple[tuple[int, ...], float] | None]
) -> None:
    wanted = tuple(each and GoldMatch(*each) for each in matches)
    assert match_steps(tree(lines), tree(GOLD)) == wanted


@table("overlap, percent", (1.0, 100), (2 / 3, 67), (0.5, 50), (299 / 300, 99))
def test_less_than_all_is_never_100_percent(overlap: float, percent: int) -> None:
    assert GoldMatch((0,), overlap).percent == percent


def test_chinese() -> None:
    lines = ["图片0 -> 现在是九点。", "结论0 + 文本0 -> 商店关门了。", "文本1 -> 它卖面包。"]
    found = match_steps(tree(lines, "zh"), tree(GOLD_ZH, "zh"))
    assert found == (GoldMatch((0,), 1.0), GoldMatch((2,), 1.0), None)


@table(
    "conclusion, language, steps",
    # Both gold steps use image 0 alone: the wording decides.
    ("The clock shows nine.", "en", (0,)),
    ("The shop is closed.", "en", (1,)),
    ("时钟显示九点。", "zh", (0,)),
    ("商店已经关门。", "zh", (1,)),
    # No words in common with either: both match.
    ("Xyz.", "en", (0, 1)),
)
def test_words_decide_between_equal_evidence(
    conclusion: str, language: Language, steps: tuple[int, ...]
) -> None:
    first, second, image = (
        ("The clock shows nine.", "The shop is closed.", "Image0")
        if language == "en"
        else ("时钟显示九点。", "商店已经关门。", "图片0")
    )
    last = "Conclusion0" if language == "en" else "结论0"
    gold = tree([f"{image} -> {first}", f"{last} -> {second}"], language)
    (match,) = match_steps(tree([f"{image} -> {conclusion}"], language), gold)
    assert match == GoldMatch(steps, 1.0)


def test_gold_steps_name_the_steps_that_match_them() -> None:
    lines = ["Image0 -> Nine.", "Image0 -> Still nine.", "Conclusion0 + Text0 -> Closed."]
    matches = match_steps(tree(lines), tree(GOLD))
    assert matched_by(matches, 3) == ((0, 1), (), (2,))
    assert matched_by((), 2) == ((), ())


def test_no_gold_steps_and_endless_chains_match_nothing() -> None:
    assert match_steps(tree(GOLD), tree([])) == (None, None, None)
    endless = tree(["Image0 -> a"] * 201)
    assert match_steps(endless, tree(GOLD)) == (None,) * 201
