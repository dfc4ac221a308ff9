"""Parsing of chains written as ``premise + premise -> Conclusion k: text``."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, Step, format_chain, parse_chain
from tests.reasoning.short import chain, chain_of, rows_of, stripped
from tests.reasoning.strategies import any_chains, texts
from tests.support.tables import table


@table("row", *rows_of("parsing.jsonl"))
def test_chains(row: dict[str, Any]) -> None:
    """``parsing.jsonl``: lines, and the steps in them; null: none."""
    wanted = chain_of(row["chain"] or "").steps if row["chain"] is not None else ()
    assert stripped(parse_chain(row["lines"])).steps == wanted
    for end in ("\n", "\r\n", "\n\n", "\r"):
        assert stripped(parse_chain(end.join(row["lines"]))).steps == wanted


def test_format() -> None:
    steps = chain("i0 t1 > A", "c0 x i > B").steps
    english = "Image0 + Text1 -> Conclusion0:A; Conclusion0 + Context + Image -> Conclusion1:B"
    assert "; ".join(format_chain(ReasoningChain(steps, "en"))) == english
    chinese = "图片0 + 文本1 -> 结论0:A; 结论0 + 上下文 + 图片 -> 结论1:B"
    assert "; ".join(format_chain(ReasoningChain(steps, "zh"))) == chinese


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
