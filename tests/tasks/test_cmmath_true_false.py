"""Answers that say right or wrong, and those that name statements by circled numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.circled import circled_of
from lmms_rpts.tasks.cmmath.grading.true_false import truth_of

from lmms_rpts.tasks.cmmath.grading.normalization import clean
from tests.support.growth import assert_linear_in_text

RIGHT = [
    "√", "（√）", "✓", "✔", "✅", "\\checkmark", "对", "正确", "是", "是的", "对的", "对了", "真",
    "成立", "没错", "无误", "T", "true", "True.", "yes", "Correct", "right", "“√”", "正确。",
    "是正确的", "这句话是正确的", "该命题是真命题", "判断正确", "说法正确", "答案：正确",
    "上述结论成立", "The statement is true.", "it is correct", "So the statement is correct",
    "√ 正确", "正确(√)", "答案为“√”",
]  # fmt: skip
WRONG = [
    "×", "（×）", "$$\\times$$", "✗", "✘", "❌", "错", "错误", "不正确", "不对", "否", "不是",
    "假", "不成立", "有误", "F", "false", "FALSE", "no", "No.", "incorrect", "wrong", "not true",
    "是错误的", "这句话是错误的", "该说法不正确", "the statement is false", "判断错误", "错的",
    "这种说法错误", "此说法是不正确的", "假命题", "命题为假", "应填×", "判断：×", "不是正确的",
    "This statement is incorrect.", "that's wrong", "错误(×)", "× 错误", "The answer is no",
]  # fmt: skip
NEITHER = [
    "", " ", "A", "f", "t", "Y", "1", "x", "不", "非", "右", "对称", "对角线", "对错", "是否",
    "是是", "是不是", "正确还是错误", "√×", "√ √", "× ×", "×,正确", "正确,错误", "true false",
    "no, true", "yes and no", "不错", "不一定", "不完全正确", "不是错误的", "不是不对",
    "正确答案", "对吗", "正确吗?", "正确的是①", "错误的是②", "no solution", "是直角三角形",
    "truetrue", "\\sqrt{2}", "√2", "2×3", "无法判断", "部分正确", "not false", "it may be true",
    "not", "正确的结论",
    "这句话是错误的,因为圆有无数条对称轴,而题目说圆只有一条对称轴,所以判断错误,应该改正" * 2,
]  # fmt: skip
CIRCLED = [
    ("①", {1}),
    ("⑳", {20}),
    (",①,③,", {1, 3}),
    ("，①，③，④，", {1, 3, 4}),
    ("①③④", {1, 3, 4}),
    ("①③④．", {1, 3, 4}),
    ("①、③", {1, 3}),
    ("①和③", {1, 3}),
    ("①与③", {1, 3}),
    ("①以及③", {1, 3}),
    ("①；③", {1, 3}),
    ("①\n③", {1, 3}),
    ("③①", {1, 3}),
    ("①③①", {1, 3}),
    ("(①③)", {1, 3}),
    ("{①,③}", {1, 3}),
    ("①~③", {1, 2, 3}),
    ("①～④", {1, 2, 3, 4}),
    ("①-③", {1, 2, 3}),
    ("①至③", {1, 2, 3}),
    ("①到③,⑤", {1, 2, 3, 5}),
    ("\\textcircled{1}\\textcircled{3}", {1, 3}),
    ("①②③④都正确", {1, 2, 3, 4}),
    ("①③正确", {1, 3}),
    ("①②③均成立", {1, 2, 3}),
    ("①③④是正确的", {1, 3, 4}),
    ("①③ are correct", {1, 3}),
    ("①, ③ and ④", {1, 3, 4}),
    ("正确的是①③", {1, 3}),
    ("正确的有①③", {1, 3}),
    ("正确的结论是①③", {1, 3}),
    ("正确的说法有①③", {1, 3}),
    ("其中正确的结论为：①③", {1, 3}),
    ("正确结论的序号是①③④", {1, 3, 4}),
    ("所有正确命题的序号为①②④", {1, 2, 4}),
    ("结论①③", {1, 3}),
    ("序号①②", {1, 2}),
]
NOT_CIRCLED = [
    "", " ", "1", "(1)(3)", "1,3", "③~①", "①~①", "①~", "~①", "①或③", "①a", "a①", "①2", "①③不正确",
    "①正确,②错误", "①正确,②正确", "错误的是①", "不正确的是①③", "都正确", "是", "正确的是",
    "①②这两个", "①③正确吗", "由①得③", "①②两个", "㉑", "⓪", "①+③", "①=③", "①…③", "只有①不正确",
    "①③正确①",
]  # fmt: skip
LONG = ["①" * 100_000, "正确的" * 33_000, "①~" * 50_000, "," * 100_000 + "①", "对" * 100_000]
LONG += ["√" * 100_000, "这句话" * 33_000, "(" * 100_000, "the " * 25_000, " " * 100_000]
LONG += [
    "是" * 60,
    "不" * 60,
    "这的一个种句" * 10,
    "①和" * 100,
    "and" * 66 + "①",
    ",、 " * 66 + "①",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    assert truth_of(clean(text)) is True


@pytest.mark.parametrize("text", WRONG)
def test_wrong(text: str) -> None:
    assert truth_of(clean(text)) is False


@pytest.mark.parametrize("text", NEITHER)
def test_neither(text: str) -> None:
    assert truth_of(clean(text)) is None


@pytest.mark.parametrize(("text", "numbers"), CIRCLED)
def test_circled_numbers(text: str, numbers: set[int]) -> None:
    assert circled_of(clean(text)) == frozenset(numbers)


@pytest.mark.parametrize("text", NOT_CIRCLED)
def test_no_circled_numbers(text: str) -> None:
    assert circled_of(clean(text)) is None


@pytest.mark.parametrize("text", LONG)
def test_long_texts_are_neither(text: str) -> None:
    assert truth_of(text) is None
    assert circled_of(text) in (None, frozenset({1}))
    assert_linear_in_text(lambda part: (truth_of(part), circled_of(part)), text)


@given(st.sets(st.integers(1, 20), min_size=1), st.sampled_from(["", ",", "、", " ", "和", ", "]))
def test_any_set_in_any_order(numbers: set[int], separator: str) -> None:
    text = separator.join(chr(0x245F + number) for number in sorted(numbers, reverse=True))
    assert circled_of(text) == frozenset(numbers)


WORDS = [
    "正确",
    "错误",
    "对",
    "错",
    "是",
    "不",
    "否",
    "的",
    "这",
    "说法",
    "√",
    "×",
    "(",
    ")",
    ",",
    " ",
]
WORDS += ["true", "false", "not ", "the ", "is ", "①", "③", "~", "和", "都", "\ud800", "\\sqrt{}"]


@given(st.lists(st.sampled_from(WORDS), max_size=10))
def test_mixed_words_say_nothing(words: list[str]) -> None:
    text = "".join(words)
    if {"正确", "√", "true"} & set(words) and {"错误", "×", "false"} & set(words):
        assert truth_of(text) is None
    else:
        assert truth_of(text) in (True, False, None)
    found = circled_of(text)
    assert found is None or found <= {1, 2, 3}
