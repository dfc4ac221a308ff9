"""No text is slow, or raises: every parser of text that a model or a judge wrote."""

from __future__ import annotations

import functools
import re
import statistics
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.masking import mask
from lmms_rpts.grading.grader import grade
from lmms_rpts.grading.stance import read_stance
from lmms_rpts.judging.parsers import parse_score
from lmms_rpts.judging.prompts import fence
from lmms_rpts.reasoning import extract_chain, parse_chain, select_reasoning
from lmms_rpts.report import text as markup
from lmms_rpts.scoring.verdicts import parse_answer, parse_yes_no
from lmms_rpts.tasks.cmmath.questions import form_of
from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.prompts import reply
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion
from lmms_rpts.tasks.reform_eval.scorer import outputs_of
from lmms_rpts.tasks.rome.matchers import match, rule_of
from lmms_rpts.tasks.rome.scorer import grade_strictly
from tests.support.growth import assert_linear
from tests.support.tables import table
from tests.tasks.test_rome_matchers import ALL_KWARGS

KEY = "sk-proj-T3BlbkFJ0aZ9-yX8wV7uT6s_R5qP4"


def read_response(text: str) -> None:
    picked = select_reasoning(text)
    extract_chain(picked.text)
    read_stance(picked.spoken)


def read_reply(text: str) -> None:
    """What a judge says, and what is put into its prompts and into messages."""
    for parser in (parse_score, parse_yes_no, parse_answer, fence):
        parser(text)
    form_of(text, f"x{text}")
    mask(text, KEY)


def grade_answer(text: str) -> None:
    grade(text, "B", kind="choice", options=("cat", "dog", "red car", "not sure"))
    grade(text, "8 cm", kind="number")
    grade(text, "Eiffel Tower", kind="text")
    grade(text, "agree", kind="agree")


def grade_maths(text: str) -> None:
    for gold in ("B", "$\\frac{3}{4}$", "×", "$x_1=2$，$x_2=3$", "$x>2$"):
        grade(text, gold, kind="maths", question="A. $1$\nB. $2$")


def grade_rome(text: str) -> None:
    for evaluator, kwargs, _ in ALL_KWARGS:
        match(evaluator, kwargs, text)
    for evaluator, kwargs, _ in ALL_KWARGS[::2]:
        grade_strictly(rule_of(evaluator, kwargs), text)


def grade_reform(text: str) -> None:
    published.single_choice(text)
    for matcher in (published.ocr_open_ended, published.kie_open_ended):
        matcher(text, "a a a a a a a a b")
        matcher(text, text[: len(text) // 2] + "x")
    asked = ReformQuestion.of({"options": ["Yes", "No"], "order": [0, 1], "marks": "AB"})
    reply(text, asked, "upper", begun=True)
    for outputs in (f"('{text}', None)", f"({text})"):
        outputs_of(outputs)


def show_markup(text: str) -> None:
    markup._element.cache_clear()
    for shown in (f"\\({text}\\)", text):
        markup.render(shown)
        markup.render(shown, block=False)


PARSERS: dict[str, Callable[[str], object]] = {
    "response": read_response,
    "chain": lambda text: parse_chain(f"{text} -> {text}"),
    "reply": read_reply,
    "answer": grade_answer,
    "maths": grade_maths,
    "ROME": grade_rome,
    "ReForm-Eval": grade_reform,
    "markup": show_markup,
}
# What some parser looks for.
PIECES = (
    *("->", "-", "=", ">", "→", "Image 0 ", "Image 0, ", "Images 0 and ", "Image ", "image"),
    *("图片", "图", "第", "第一步", "图片0和", "Text 0-", "Text 0-64 ", "文本0、", "0, ", "0", "9"),
    *("１", "(", ")", " ", "\t", "\u3000", "\n", "\r\n", " \n", "a", "字", ".", "。", ". ", "! "),
    *(",", "；", ":", "：", "not ", "not a ", "不", "不能", "没有", "并不", "don't ", "\n\n", "::"),
    *("never disagree ", "agree or ", "or agree", "agree", "agree ", "disagree ", "同意", "支持"),
    *("是否", "whether a ", "if you ", "I a ", "unable to ", "the statement ", "statement is "),
    *("陈述", "do not think ", "cannot be ", "therefore ", "因此", "so ", "<think>", "</think>"),
    *("<think></think>", "<", "[THINK]", "<think", "1. ", "1.\n", "1. a\n", "1) ", "Step 1"),
    *("Step 1:\n", "(1)", "Final answer: ", "Final answer: agree ", "Final answer:\n", "答案"),
    *("最终答案：", "answer", "answer is ", "conclusion is ", "Conclusion 0: ", "Conclusion 0:\n"),
    *("结论", "结论0：根据", "from ", "from the ", "and ", "和", "+", "Image 0 -> ", "answer ("),
    *("Image 0 -> a\n", "Image 0. ", "_", "*", "* ", "**", "#", "`", "- ", "-\n", "> ", "•\n"),
    *("\\boxed{", "\\boxed{}", "\\text{", "<answer>", "}", "\x00", "\ud800", "İ", "²", '"', "'"),
    *("“", "|", "/", "\\", "we can ", "it ", "得", "可以", "first ", "final ", "1/", "10:"),
    *("(A) ", "A or ", "A and ", "A, ", "A B ", "A、", "A和", "A. dog\n", "A.x\n", "cat ", "选"),
    *(
        "two ",
        "?",
        "(A)(B)",
        "12.",
        "wait ",
        "故选",
        "$$",
        "$",
        "\n- ",
        "\\[",
        "=  \n\\[",
        "all but ",
    ),
    *(
        "A、B、",
        "A选项正确，",
        "A 和  ",
        "A ( ( ",
        "或",
        "，所以",
        "x>1且",
        "①②正确",
        "(1)1",
        "=1,",
    ),
    *(
        "1，2，",
        "平均数为5和",
        "AB=",
        "∠1=",
        "x=1 ",
        "大于",
        "12",
        "为5和",
        "有人",
        "√ ",
        "√1",
        "除了",
    ),
    *("当x<1时，", "甲比乙", "(东)", "向左", "1,000", "1.5 ", "12 cm ", "New York, ", "the ", "1+"),
    *("red panda\n\n", "分数", "score ", "8/10 ", "０．８", "key=", "://", "key='", KEY[:7]),
    *("<|", "<|a", "[", "\u200b", "<<<\n", "《", ";/[", "one two ", "A.", "\\underline{", "(1) "),
    *("\nUser", "',", "'a', "),
    *("$x$", "$x ", "$$x", "x$$", "\\(", "\\(x\\)", "\\]", "\\begin{a}", "\\begin{a}x\\end{a}"),
    *("|a", "|a|b|\n|-|-|\n", "|-", "```\n", "``", "*a", "**a ", "*a **b ", "a*", "  - a\n"),
    *("\\frac{1}{", "\\sideset{}{}{", "\\def\\a{\\a\\a}", "\\left(", "^{", "&", "\\sqrt"),
)
FRAMES = ("{}", "答案：{}", "Final answer: {}xy", "Conclusion 0: from Image 0, {}\nagree", "1. {}!")
FRAMES += ("<think>Image 0.</think>{}", "Score: {}", "\\boxed{{{}")
LENGTH = 4_000
SLOW = 2
"""A text that takes this many times the median of all texts is measured in two lengths."""


@pytest.mark.parametrize("name", PARSERS)
def test_long_texts_take_linear_time(name: str) -> None:
    """A text that grows too fast takes much longer than most: only such texts are measured again.

    Quadratic work that takes twice the linear work at 4,000 characters takes eight times at 16,000.
    """

    def text(piece: str, frame: str, length: int) -> str:
        return frame.format(piece * (length // len(piece)))

    spent = {}
    for at, piece in enumerate(dict.fromkeys(PIECES), start=len(name)):
        frame = FRAMES[at % len(FRAMES) if at % 3 else 0]
        given, start = text(piece, frame, LENGTH), time.thread_time()
        PARSERS[name](given)
        spent[piece, frame] = time.thread_time() - start
    most = SLOW * statistics.median(spent.values())
    for (piece, frame), took in spent.items():
        if took > most:
            assert_linear(PARSERS[name], functools.partial(text, piece, frame), LENGTH // 2)


@pytest.mark.parametrize("name", PARSERS)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=120))
def test_no_text_raises(name: str, text: str) -> None:
    PARSERS[name](text)


@table("piece", "A, ", "A and ", "(", "1+", "{", "^{9", "\\frac{1}{", parts=7)
def test_short_repetitions_take_no_exponential_time(piece: str) -> None:
    """ "A, " once took exponential time: what shows with 24 repetitions takes days with 720."""
    for parser in PARSERS.values():
        for end in ("", "xy"):
            assert_linear(parser, lambda times, end=end: piece * times + end, 3)


def test_the_growth_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARSERS, "slow", re.compile(r"(?:a|b)*\d|a*!").search)
    with pytest.raises(AssertionError, match="times the work"):
        assert_linear(PARSERS["slow"], lambda length: "a" * length, 300)
