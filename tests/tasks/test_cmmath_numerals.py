"""Number words and degrees as formulas; the numbers in words that both benchmarks share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.numerals import degrees, spelled

from lmms_rpts.answers.number_words import chinese_number, english_number
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from tests.support.growth import assert_linear_in_text

SPELLED = [
    # Chinese
    ("零", "0"),
    ("三", "3"),
    ("十", "10"),
    ("十五", "15"),
    ("二十", "20"),
    ("一百零五", "105"),
    ("一百二", "120"),
    ("两千零二十", "2020"),
    ("二〇二四", "2024"),
    ("十万", "100000"),
    ("1万", "10000"),
    ("1万5千", "15000"),
    ("3.5千", "3500"),
    ("2.5亿", "250000000"),
    ("一亿零五百万", "105000000"),
    ("壹佰零伍", "105"),
    ("二点五", "2.5"),
    ("三点一四", "3.14"),
    ("负三", "-3"),
    ("负3.5", "-3.5"),
    ("三分之二", "\\frac{2}{3}"),
    ("3分之2", "\\frac{2}{3}"),
    ("负二分之一", "-\\frac{1}{2}"),
    ("千分之三", "\\frac{3}{1000}"),
    ("万分之一", "\\frac{1}{10000}"),
    ("三又四分之一", "3\\frac{1}{4}"),
    ("3又4分之1", "3\\frac{1}{4}"),
    ("1又1/2", "1\\frac{1}{2}"),
    ("1又½", "1\\frac{1}{2}"),
    ("百分之二十", "20%"),
    ("百分之二点五", "2.5%"),
    ("百分之百", "100%"),
    ("五成", "50%"),
    ("三成五", "35%"),
    ("三成半", "35%"),
    ("八折", "80%"),
    ("八五折", "85%"),
    ("一半", "\\frac{1}{2}"),
    # English
    ("two", "2"),
    ("Twenty-One", "21"),
    ("one hundred and five", "105"),
    ("two hundred thousand", "200000"),
    ("2.5 million", "2500000"),
    ("minus five", "-5"),
    ("negative two thirds", "-\\frac{2}{3}"),
    ("two thirds", "\\frac{2}{3}"),
    ("one-third", "\\frac{1}{3}"),
    ("half", "\\frac{1}{2}"),
    ("three quarters", "\\frac{3}{4}"),
    ("two and three quarters", "2\\frac{3}{4}"),
    ("one and a half", "1\\frac{1}{2}"),
    ("two over three", "\\frac{2}{3}"),
    ("two point five", "2.5"),
    ("twenty percent", "20%"),
    ("20 percent", "20%"),
    # before a unit
    ("两个", "2个"),
    ("二百五十六平方米", "256平方米"),
    ("三分之二米", "\\frac{2}{3}米"),
    ("十五万元", "150000元"),
    ("5百万元", "5000000元"),
    ("三万五千克", "35000克"),
    ("一个半小时", "1\\frac{1}{2}小时"),
    ("half an hour", "\\frac{1}{2} hour"),
    ("five cm", "5 cm"),
    ("twenty-one degrees.", "21 degrees."),
    ("每小时六十千米", "每小时60千米"),
    ("十五。", "15"),
]
UNCHANGED = [
    "", " ", "15", "1,000", "20%", "x", "x+1", "a", "A", "sin30°", "5cm", "1.2e4", "二分之π",
    "一、三", "一三", "第三", "三角形", "一样", "二十几", "十几个", "万", "百", "点五", "无",
    "负", "负负三", "minus", "minus minus 5", "百分之", "分之一", "三分之", "零分之一", "0分之1",
    "二又二", "twenty third", "hundred", "million", "two half", "one and", "and", "no",
    "point five", "正确", "两点之间,线段最短", "1e5万", "又", "1又٣/4", "٣分之٤", "five five",
    "两百两百",
]  # fmt: skip
DEGREES = [
    ("30°15'", "\\frac{121}{4}°"),
    ("30度15分", "\\frac{121}{4}°"),
    ("$$30{}^\\circ 15'$$", "\\frac{121}{4}°"),
    ("30°15′36″", "\\frac{1513}{50}°"),
    ("30度15分36秒", "\\frac{1513}{50}°"),
    ("30°15'36''.", "\\frac{1513}{50}°"),
    ("0°45'", "\\frac{3}{4}°"),
    ("-10°30'", "-\\frac{21}{2}°"),
    ("30°0'", "30°"),
    ("30°30″", "\\frac{3601}{120}°"),
]
NO_DEGREES = [
    "30°",
    "30",
    "30°60'",
    "30°15'60\"",
    "180°-30°15'",
    "15分30秒",
    "30°15",
    "",
    "°'",
    "∠A",
]
LONG = ["五" * 100_000, "十" * 100_000, "百万" * 50_000, "five " * 20_000, "1" * 100_000 + "万"]
LONG += ["分之" * 50_000, "又" * 100_000, "-" * 100_000 + "五", "30°15'" * 15_000, "负" * 100_000]
LONG += ["0" * 118 + "万", "and " * 29, "5." * 59, "万" * 120, "百分之" * 40, "minus " * 20]


def in_chinese(number: int) -> str:
    """A number below 10¹² in words, as a school book writes it."""
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


@pytest.mark.parametrize(("text", "formula"), SPELLED)
def test_number_words(text: str, formula: str) -> None:
    assert spelled(clean(text)) == formula


@pytest.mark.parametrize("text", UNCHANGED)
def test_other_texts_are_unchanged(text: str) -> None:
    assert spelled(text) == text


@pytest.mark.parametrize(("text", "formula"), DEGREES)
def test_degrees_with_minutes(text: str, formula: str) -> None:
    assert degrees(clean(text)) == formula


@pytest.mark.parametrize("text", NO_DEGREES)
def test_other_texts_are_no_degrees(text: str) -> None:
    assert degrees(text) == text


@given(st.integers(1, 10**12 - 1))
def test_every_number_in_chinese(number: int) -> None:
    assert chinese_number(in_chinese(number)) == number
    assert spelled(in_chinese(number)) == str(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("一二三", 123),
        ("零五", 5),
        ("一百一十五", 115),
        ("三万五", 35000),
        ("三万亿", 3 * 10**12),
        ("百", None),
        ("十百", None),
        ("二三十", None),
        ("一百零", None),
        ("3万2", None),
        ("万", None),
        ("", None),
        ("三千千", None),
        ("一百两", None),
        ("亿亿", None),
    ],
)
def test_chinese_numbers(text: str, number: int | None) -> None:
    assert chinese_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("two hundred and five", 205),
        ("one thousand two hundred", 1200),
        ("ninety-nine", 99),
        ("a hundred", 100),
        ("two billion", 2 * 10**9),
        ("twenty eleven", None),
        ("five five", None),
        ("five apples", None),
        ("ten one", None),
    ],
)
def test_english_numbers(text: str, number: int | None) -> None:
    assert english_number(text) == number


@pytest.mark.parametrize("text", LONG)
def test_long_texts_take_linear_time(text: str) -> None:
    assert isinstance(spelled(text), str)
    assert degrees(text) == text
    assert_linear_in_text(lambda part: (spelled(part), degrees(part)), text)


WORDS = [
    "一",
    "二",
    "十",
    "百",
    "千",
    "万",
    "亿",
    "零",
    "半",
    "点",
    "分之",
    "又",
    "负",
    "个",
    "米",
    "成",
    "折",
]
WORDS += [
    "5",
    "0",
    ".",
    ",",
    "/",
    "-",
    "%",
    "five ",
    "and ",
    "a ",
    "half",
    "hundred ",
    "over ",
    "point ",
]
WORDS += ["thirds", " cm", "°", "'", "度", "分", "秒", "\\frac{1}{2}", "(", ")", "\ud800", "٣", "²"]


@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_any_text_is_read(text: str) -> None:
    once = spelled(text)
    assert spelled(once) == once
    assert isinstance(degrees(text), str)
