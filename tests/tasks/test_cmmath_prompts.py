"""Prompts of CMMaTH: what the model is shown, and the requested form of the answer."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lmms_rpts.tasks.cmmath.notation import blanks, readable, without_image_tags
from lmms_rpts.tasks.cmmath.prompts import (
    VARIANTS,
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
    recognised,
)
from tests.support.cmmath import make_doc
from tests.support.growth import assert_linear
from tests.support.tables import table

# --- notation ------------------------------------------------------------------------------------


@table(
    "text, expected",
    # Ambiguous text is left unchanged.
    ("", ""),
    ("$$", "$$"),
    ("价格是$$5", "价格是$$5"),
    ("价格是$$5元，$$6$$元", "价格是$$5元，$$6$$元"),
    ("$$1$$\n坏$$的\n$$2$$", "$1$\n坏$$的\n$2$"),
    ("$$a\nb$$", "$$a\nb$$"),
    ("$$5\\text{ \\$}a$b$$", "$$5\\text{ \\$}a$b$$"),
    ("价格是$5", "价格是$5"),
    ("$#没有表", "$#没有表"),
    ("$#| a|\n没有完", "$#| a|\n没有完"),
    ("当0<b>c时", "当0<b>c时"),
    ("x<sup>2</sup>", "x<sup>2</sup>"),
    ("$$a<img$$", "$a<img$"),
    ("$$\\underline{AB}$$", "$\\underline{AB}$"),
    ("$$x^2{}^\\circ $$", "$x^2{}^\\circ$"),
    ("$$\\frac{1}{cm}$$", "$\\frac{1}{cm}$"),
    ("$$\\frac1{kg}$$", "$\\frac1{kg}$"),
    ("$$\\sqrt{{c}{{{m}}^{2}}}$$", "$\\sqrt{\\text{cm}^{2}}$"),
    ("$${{x}^{2}}+{{A}_{1}}$$", "${{x}^{2}}+{{A}_{1}}$"),
    ("（2＋9）×8，［50，60），0．5", "（2＋9）×8，［50，60），0．5"),
    # Mathematics.
    ("是$$500$$名", "是$500$名"),
    ("$$ f(x)=2 $$", "$f(x)=2$"),
    ("$$$$空", "空"),
    ("$$1$$$$2$$", "$1$$2$"),
    ("$$-4<{}x<{}{{y}_{1}}$$", "$-4<x<{{y}_{1}}$"),
    ("$$x>{}0$$", "$x>0$"),
    ("$$45{}^\\circ $$", "$45^\\circ$"),
    ("$$m{}^{\\circ}$$", "$m^{\\circ}$"),
    ("$${{90}^{{}^\\circ }}$$", "${90^\\circ}$"),
    ("$$\\sqrt{{90}^{{}^\\circ }}$$", "$\\sqrt{90^\\circ}$"),
    ("$${c}{{{m}}^{2}}$$", "$\\text{cm}^{2}$"),
    ("$$8{c}{{{m}}^{{3}}}$$", "$8\\text{cm}^{{3}}$"),
    ("$${cm}$$", "$\\text{cm}$"),
    ("$$1{kg}$$", "$1\\text{kg}$"),
    ("$${Rt}\\triangle ABC$$", "$\\text{Rt}\\triangle ABC$"),
    ("$$\\overset\\frown{AB}$$", "$\\overset\\frown{AB}$"),
    # Blanks.
    ("大小等于 $$\\underline{}$$ ．", "大小等于 ____ ．"),
    ("向 $$\\underline{ }$$ 走，$$\\underline{\\quad\\ ~}$$．", "向 ____ 走，____．"),
    ("$$\\angle C= \\underline{} {}^\\circ $$．", "$\\angle C=$ ____ °．"),
    ("$$\\underline{} {\\rm{c}}{{\\rm{m}}^2}$$", "____ ${\\rm{c}}{{\\rm{m}}^2}$"),
    ("$$x=\\underline{},y=\\underline{}$$", "$x=$ ____ $,y=$ ____"),
    ("$$\\frac{\\underline{}}{2}$$", "$\\frac{\\text{____}}{2}$"),
    ("$$\\left( 1,\\underline{} \\right)$$", "$\\left( 1,\\text{____} \\right)$"),
    ("等于\\underline{}元", "等于____元"),
    # Tables.
    (
        "如下．\n$#|  <br>等级| <br>优|\n| - | - |\n| <br>得分| <br>$$[1,2)$$|\n#$\n(1) 求",
        "如下．\n\n| 等级 | 优 |\n| - | - |\n| 得分 | $[1,2)$ |\n\n(1) 求",
    ),
    ("$#| 甲<br>乙|\n#$", "| 甲 乙 |"),
    ("$#| $$\\left|x\\right|$$| |\n#$", "| $\\left|x\\right|$ | |"),
    ("$$a$$$#| 1|\n#$$$b$$", "$a$\n| 1 |\n$b$"),
    ("$#| 1|\n#$和$#| 2|\n#$", "| 1 |\n和\n| 2 |"),
    # Other markup.
    ("一<br/>二<BR>三", "一\n二\n三"),
    ('如图<img alt="" src="x.svg"/>，<span style="a">好</span>', "如图，好"),
    ("ＡＢ＝１２ｃｍ", "AB＝12cm"),
    ("爱党､爱国｡", "爱党、爱国。"),
    ("（       ）  \n\n\n\nA.1\u3000\u3000B.2", "（ ）\n\nA.1 B.2"),
)
def test_readable(text: str, expected: str) -> None:
    assert readable(text) == expected


def test_blanks_are_counted() -> None:
    assert blanks("$$\\underline{}$$，$$y=\\underline{ } {}^\\circ $$，$$\\underline{x}$$") == 2


def test_image_tags_are_removed_and_nothing_else() -> None:
    text = '如图<img src="a>b"\n/>，$$a<b$$，<i>c</i></img>'
    assert without_image_tags(text) == '如图b"\n/>，$$a<b$$，<i>c</i>'


HOSTILE = [
    *(
        *("$$", "$", "$#|", "$#| a|\n", "#$", "$#|#$", "\\underline{", "\\underline{}"),
        "$$\\underline{}",
    ),
    *("<img ", "<", "<br", "<br>", " ", "\n", " \n", "|", " | ", "{", "}", "{}", "\\", "{}^"),
    *(
        *("\\underline{", "<{}", "{{1}^{{}^\\circ", "{c}{{{m}}^{", "\\left", "\\underline{}{"),
        *("~", "\\quad"),
    ),
]


@table("piece", *HOSTILE)
@table("frame", "{}", "$${}$$", "$#|{}|\n#$", "x{}$$y", parts=4)
def test_any_text_is_read_in_linear_time(frame: str, piece: str) -> None:
    def read(text: str) -> None:
        readable(text)
        blanks(text)
        without_image_tags(text)
        recognised(text)

    assert_linear(read, lambda n: frame.replace("{}", piece * n), 12_500 // len(piece))


@given(st.lists(st.sampled_from([*HOSTILE, "a", "1", "，", "#"]), max_size=30).map("".join))
def test_no_text_breaks_it_and_what_is_plain_stays(text: str) -> None:
    done = readable(text)
    for sign in "a1，":
        assert done.count(sign) == text.count(sign)


@given(st.text(alphabet="甲乙12ab+=-．，。 \n", max_size=80))
def test_plain_text_stays(text: str) -> None:
    assert readable(text).split() == text.split()


# --- prompts -------------------------------------------------------------------------------------


def doc(images: int = 1, **fields: Any) -> dict[str, Any]:
    names = [f"{number}.png" for number in range(images)]
    shown = [Image.new("L", (4, 4), number + 1) for number in range(images)]
    return make_doc(img_path=names, **fields) | {"images": shown}


def shown(document: Any, variant: str = "default") -> list[str | int]:
    """The chat prompt: texts, and images as their numbers."""
    (message,) = doc_to_messages(document, {"variant": variant})
    assert message["role"] == "user"
    return [
        part["text"] if part["type"] == "text" else part["url"].getpixel((0, 0))[0]
        for part in message["content"]
    ]


QUESTION = "如图，正方形的边长是$3$，则它的面积是 ____ ．"


@table("variant", *[each for each in VARIANTS if each != "ocr"])
def test_the_image_stands_in_front(variant: str) -> None:
    image, text = shown(doc(), variant)
    assert image == 1
    assert text == doc_to_text(doc(), {"variant": variant})
    assert str(text).startswith(f"{QUESTION}\n\n")
    assert "$$" not in str(text)
    assert [each.mode for each in doc_to_visual(doc())] == ["RGB"]


def test_several_images_are_numbered_otherwise_than_figures_in_them() -> None:
    """Questions mention 图1 and 图2, which may both be in one image."""
    first, one, second, two, text = shown(doc(2))
    assert (first, one, second, two) == ("第1张图片：", 1, "第2张图片：", 2)
    assert doc_to_text(doc(2)) == f"本题附有2张图片，依次为第1张至第2张。\n\n{text}"
    assert shown(doc(2), "en_cot")[:3] == ["Image number 1:", 1, "Image number 2:"]
    assert doc_to_text(doc(2), {"variant": "en_cot"}).startswith("The problem comes with 2 images")


def test_variants_say_what_is_wanted() -> None:
    asked = {variant: doc_to_text(doc(), {"variant": variant}) for variant in VARIANTS}
    assert len(set(asked.values())) == len(VARIANTS)
    assert doc_to_text(doc()) == asked["default"]
    assert doc_to_text(doc(), {"default": {"pre_prompt": ""}}) == asked["default"]
    for variant, text in asked.items():
        assert ("<STEP1>" in text) == (variant == "steps")
        last = text.splitlines()[-1]
        assert ("“最终答案：”" in last) == (variant != "en_cot")
    english = asked["en_cot"].removeprefix(QUESTION)
    assert not re.search(r"[\u4e00-\u9fff]", english)
    assert '"Final answer:"' in english
    assert asked["clp"].index("中文复述") < asked["clp"].index("英文一步一步")


@table(
    "form, question, chinese, english",
    ("choice", "哪个？\nA.$$1$$\nB.$$2$$", "正确选项的字母", "the letter of the right choice"),
    ("parts", "(1) 求a．\n(2) 求b．", "(1) ……；(2) ……", "(1) ...; (2) ..."),
    ("blank", "是 $$\\underline{}$$ ．", "空格处应填的内容", "belongs in the blank,"),
    (
        *("blank", "$$\\underline{}$$，$$x= \\underline{}$$，$$\\underline{} {}^\\circ $$"),
        *("3个空应填的内容，各空之间用“；”", "what belongs in the 3 blanks"),
    ),
    ("open", "解方程．", "只写所求的结果", "the result that is asked for"),
)
def test_the_last_line_is_asked_for_by_the_form(
    form: str, question: str, chinese: str, english: str
) -> None:
    document = doc(form=form, question=question)
    for variant in VARIANTS:
        last = doc_to_text(document, {"variant": variant}).splitlines()[-1]
        assert (english if variant == "en_cot" else chinese) in last


def test_an_unknown_variant_is_named() -> None:
    for ask in (doc_to_text, doc_to_messages):
        with pytest.raises(ValueError, match="Unknown prompt variant 'cot'; known: default, en"):
            ask(doc(), {"variant": "cot"})


# --- without images ------------------------------------------------------------------------------


def test_the_text_in_the_image_stands_for_it() -> None:
    text = doc_to_text(doc(), {"variant": "ocr"})
    question, told, asked = text.split("\n\n")
    assert question == QUESTION
    assert told.splitlines()[1:] == ["- A (10, 20)-(30, 40)"]
    assert "图片" not in asked
    assert shown(doc(2), "ocr") == [text]
    without = {name: value for name, value in doc().items() if name != "images"}
    assert shown(without, "ocr") == [text]
    assert doc_to_visual(without, {"variant": "ocr"}) == []


@table("ocr", "", None, " \n", ", ", ", 存在文字: , 文字区域的位置为:[(1, 2), (3, 4)]"[:10])
def test_no_text_in_the_image(ocr: str | None) -> None:
    text = doc_to_text(doc(ocr=ocr), {"variant": "ocr"})
    assert "图中也没有识别出文字" in text
    assert "\n- " not in text


def place(*corners: int) -> str:
    left, top, right, bottom = corners
    return f"文字区域的位置为:[({left}, {top}), ({right}, {bottom})]"


@table(
    "ocr, expected",
    (
        f", 存在文字:率, {place(294, 21, 349, 89)}, 存在文字:6, {place(139, 223, 172, 280)}",
        ["率 (294, 21)-(349, 89)", "6 (139, 223)-(172, 280)"],
    ),
    (f"存在文字:a, b, {place(1, 2, 3, 4)}", ["a, b (1, 2)-(3, 4)"]),
    ("存在文字：x，文字区域的位置为：[(1,2),(3,4)]", ["x (1, 2)-(3, 4)"]),
    (f", 存在文字:始, {place(1, 2, 3, 4)}" * 3, ["始 (1, 2)-(3, 4)"]),
    (f"存在文字: , {place(1, 2, 3, 4)}, 存在文字:', {place(5, 6, 7, 8)}", ["' (5, 6)-(7, 8)"]),
    (f"存在文字:两\n行, {place(1, 2, 3, 4)}", ["两 行 (1, 2)-(3, 4)"]),
    (f"存在文字:,, {place(1, 2, 3, 4)}", [", (1, 2)-(3, 4)"]),
    (f"存在文字:{place(9, 9, 9, 9)}, {place(1, 2, 3, 4)}", []),
    ("存在文字:A, 文字区域的位置为:[(1, 2), (3", ["A"]),
    ("存在文字:A", ["A"]),
    ("O A B\n60°", ["O A B", "60°"]),
    ("说明：, 存在文字:A", ["说明：", "A"]),
)
def test_recognised_texts_are_read_tolerantly(ocr: str, expected: list[str]) -> None:
    assert recognised(ocr) == expected


@given(st.text(alphabet="存在文字区域的位置为:：,[]() 0123456789\nA", max_size=80))
def test_any_recognised_text_gives_lines(ocr: str) -> None:
    for line in recognised(ocr):
        assert line == line.strip()
        assert line
        assert "\n" not in line


def test_a_wrapper_that_needs_an_image_is_given_a_blank_one() -> None:
    kwargs = {"variant": "ocr", "picture": "blank"}
    (image,) = doc_to_visual(make_doc(), kwargs)
    assert image.getextrema() == ((255, 255),) * 3
    picture, text = doc_to_messages(make_doc(), kwargs)[0]["content"]
    assert (picture["type"], text["type"]) == ("image", "text")
    assert text["text"] == doc_to_text(make_doc(), {"variant": "ocr"})
