"""Parsing of chains written as ``premise + premise -> Conclusion k: text``."""

from __future__ import annotations

import re
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, Step, format_chain, parse_chain
from lmms_rpts.reasoning.clues import lower
from tests.reasoning.short import chain, stripped
from tests.reasoning.strategies import any_chains, texts
from tests.support.tables import table


@table(
    "line, expected",
    # arrows
    ("Image0 -> A", "i0 > A"), ("Image0 --> A", "i0 > A"), ("Image0→A", "i0 > A"),
    ("图片0 － > A", None),  # an arrow in two pieces is not an arrow
    ("Image0 -> A -> B", "i0 > A -> B"),  # only the first arrow belongs to the step
    ("image0+text1->conclusion0:A", "i0 t1 > A"), ("图片\u30000 -> A", "i0 > A"),
    # letters of either case, full-width letters, digits and colons
    ("IMAGE 0 + TEXT 1 -> CONCLUSION 0: A", "i0 t1 > A"),
    ("Image０ + Text１２ -> Conclusion０：A", "i0 t12 > A"),
    # labels of the conclusion
    ("Image0 -> Conclusion: A", "i0 > A"), ("图片0 -> 结论 0 ： A", "i0 > A"),
    ("Image0 -> Step 3: A", "i0 > A"), ("Conclusion 0: Image0 -> A", "i0 > A"),
    # text that looks like a label
    ("Image0 -> Conclusion 5 is what one expects", "i0 > Conclusion 5 is what one expects"),
    ("Image0 -> time: 12:30", "i0 > time: 12:30"),
    # separators
    ("Image0, Text1 -> A", "i0 t1 > A"), ("Image 0 / Text 1 -> A", "i0 t1 > A"),
    ("(Image 0) + [Text 1] -> A", "i0 t1 > A"), ("Image #0 -> A", "i0 > A"),
    # lists and ranges
    ("Images 0, 1, and 2 + Text 0 -> A", "i0 i1 i2 t0 > A"), ("Text 0-2 -> A", "t0 t1 t2 > A"),
    ("图片0和1 + 文本2 -> A", "i0 i1 t2 > A"),
    # the context, clues without a number, no premise at all, the same premise twice
    ("Context -> A", "x > A"), ("上下文 + 图片0 -> A", "x i0 > A"), ("背景 -> A", "x > A"),
    ("-> Conclusion0: A", "> A"), ("Text0 + Text0 -> A", "t0 t0 > A"),
    # enumerated lines; other words for the clues
    ("1. Image0 -> A", "i0 > A"), ("Step 1: Image0 -> A", "i0 > A"),
    ("Picture 0 + Textual clue 1 -> A", "i0 t1 > A"), ("图像0 + 文本线索1 -> A", "i0 t1 > A"),
    # not a step
    ("", None), ("Nothing is inferred here.", None), ("a - b > c", None),
)  # fmt: skip
def test_one_line(line: str, expected: str | None) -> None:
    steps = stripped(parse_chain([line])).steps
    assert steps == (chain(expected).steps if expected is not None else ())


@table(
    "lines, expected",
    # labels from 0, from 1, none
    ("Image0 -> Conclusion0: A; Conclusion0 + Text0 -> Conclusion1: B", "i0 > A; c0 t0 > B"),
    ("Image0 -> Conclusion1: A; Conclusion1 + Text0 -> Conclusion2: B; Conclusion2 -> C",
     "i0 > A; c0 t0 > B; c1 > C"),
    ("Image0 -> A; Conclusion0 -> B; Conclusions 0 and 1 -> C", "i0 > A; c0 > B; c0 c1 > C"),
    # a step without a label continues the numbering
    ("Image0 -> Conclusion4: A; Text0 -> B; Conclusion4 + Conclusion5 -> C",
     "i0 > A; t0 > B; c0 c1 > C"),
    # a duplicate label: the nearest one before the reference counts
    ("Image0 -> Conclusion0: A; Conclusion0 -> Conclusion0: B; Conclusion0 -> Conclusion1: C",
     "i0 > A; c0 > B; c1 > C"),
    # a label before the premises; in a list it is not a premise
    ("1. Conclusion 3: Image0 -> A; (2) **Conclusion 7**: Text0 -> B; - Step 8: Step 3 -> C",
     "i0 > A; t0 > B; c0 > C"),
    # a forward reference is kept, and so is a step that cites itself
    ("Conclusion1 -> Conclusion0: A; Image0 -> Conclusion1: B", "c1 > A; i0 > B"),
    # a label that only later steps have means the first of them
    ("Conclusion5 -> a; Image0 -> Conclusion5: b; Text0 -> Conclusion5: c",
     "c1 > a; i0 > b; t0 > c"),
    # a dangling label that hits no step stays as it is
    ("Image0 -> a; Conclusion2 -> b", "i0 > a; c2 > b"),
    # lines between steps are not steps and do not count
    ("; Image0 -> A;   ; thus; Conclusion0 -> B", "i0 > A; c0 > B"),
)  # fmt: skip
def test_chains(lines: str, expected: str) -> None:
    wanted = chain(*expected.split(";"))
    assert stripped(parse_chain(lines.split("; "))).steps == wanted.steps
    for end in ("\n", "\r\n", "\n\n", "\r"):
        assert stripped(parse_chain(lines.replace("; ", end))).steps == wanted.steps


@table(
    "lines, language",
    (["Image0 -> 图片"], "en"),
    (["图片0 -> A"], "zh"),
    (["这里没有步骤，只有图片0", "Image0 -> A"], "en"),
    ([], "en"),
)
def test_the_language_is_told_from_the_labels(lines: list[str], language: str) -> None:
    assert parse_chain(lines).language == language


def test_format() -> None:
    two = chain("i0 t1 > A", "c0 x i > B")
    assert format_chain(two) == [
        "Image0 + Text1 -> Conclusion0:A",
        "Conclusion0 + Context + Image -> Conclusion1:B",
    ]
    assert format_chain(ReasoningChain(two.steps, "zh")) == [
        "图片0 + 文本1 -> 结论0:A",
        "结论0 + 上下文 + 图片 -> 结论1:B",
    ]


@given(any_chains)
@example(ReasoningChain((Step((), "-> Conclusion3: Image 4 -> 结论0：\n"),)))
@example(ReasoningChain((Step((Clue("conclusion", 10**999),), ""), Step((Clue("text"),), ":"))))
def test_what_is_written_is_read_back(drawn: ReasoningChain) -> None:
    assert parse_chain(format_chain(drawn), drawn.language) == drawn
    if drawn.steps:  # a chain without steps has no label to detect the language
        assert parse_chain(format_chain(drawn)) == drawn


@given(st.one_of(texts, st.lists(texts, max_size=8)))
def test_parsing_is_total(lines: str | list[str]) -> None:
    read = parse_chain(lines)
    n_lines = len(lines) if isinstance(lines, list) else len(lines) + 1
    assert len(read.steps) <= n_lines
    assert parse_chain(format_chain(read), read.language) == read


def test_every_character_that_matches_a_letter_is_lowered_to_it() -> None:
    letters = {letter: re.compile(letter, re.IGNORECASE) for letter in "abcdefghijklmnopqrstuvwxyz"}
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    for letter, pattern in letters.items():
        assert {lower(found) for found in pattern.findall(everything)} == {letter}
    assert len(lower(everything)) == len(everything)
