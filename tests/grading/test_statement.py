"""Number words and final statements, in English and Chinese."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.numbers import chinese_number, english_number
from lmms_rpts.grading.statement import denies, find_statement, gives_up, hedges
from tests.support.tables import table

CHINESE = [
    ("一二三", 123), ("零五", 5), ("一百一十五", 115), ("三万五", 35000), ("三万亿", 3 * 10**12),
    ("百", None), ("十百", None), ("二三十", None), ("一百零", None), ("3万2", None), ("万", None),
    ("", None), ("三千千", None), ("一百两", None), ("亿亿", None),
]  # fmt: skip
ENGLISH = [
    ("two hundred and five", 205), ("one thousand two hundred", 1200), ("ninety-nine", 99),
    ("a hundred", 100), ("two billion", 2 * 10**9), ("twenty eleven", None), ("five five", None),
    ("five apples", None), ("ten one", None),
]  # fmt: skip
# response, its final statement, whether it is withdrawn
STATEMENTS = [
    ("先算 2+3=5。\n答案：5", "5", False),
    ("The answer is 7. Let me know if you have questions.", "7", False),
    ("答案：5。等等，上面有误", "5", True),
    ("Answer: 5. Wait, that is the radius", "5", True),
    ("| 小题 | 答案 |\n|---|---|\n| (1) | 6 |", "(1) 6", False),
    ("<answer>C</answer>", "C", False),
    ("", "", False),
]


def test_numbers_in_words() -> None:
    assert not [row for row in CHINESE if chinese_number(row[0]) != row[1]]
    assert not [row for row in ENGLISH if english_number(row[0]) != row[1]]


def in_chinese(number: int) -> str:
    """A number below 10¹² in words, as in a school book."""
    words = ""
    for scale, mark in ((10**8, "亿"), (10**4, "万"), (1, "")):
        part, number = divmod(number, scale)
        if part:
            words += ("零" if words and part < 1000 else "") + _section(part) + mark
    return words or "零"


def _section(number: int) -> str:
    words, skipped = "", False
    for scale, mark in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, scale)
        if digit:
            words += ("零" if skipped and words else "") + "零一二三四五六七八九"[digit] + mark
        skipped = not digit
    return words


@given(st.integers(1, 10**12 - 1))
def test_every_number_in_chinese(number: int) -> None:
    assert chinese_number(in_chinese(number)) == number


def test_final_statements() -> None:
    found = [(row, find_statement(row[0])) for row in STATEMENTS]
    assert not [row for row, told in found if row[1:] != (told.text, told.revised)]


@table(
    "asks, text, yes",
    (denies, "不是 5", True), (denies, "It is not B.", True), (denies, "等于 5", False),
    (hedges, "可能是 5", True), (hedges, "maybe 5", True), (hedges, "是 5", False),
    (gives_up, "信息不足，无法确定", True), (gives_up, "It cannot be determined.", True),
    (gives_up, "答案是 5", False),
)  # fmt: skip
def test_denials_hedges_and_refusals(asks: Callable[[str], bool], text: str, yes: bool) -> None:
    assert asks(text) is yes
