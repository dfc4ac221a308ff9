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
    WITHOUT_IMAGES,
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
    recognised,
)
from tests.support.cmmath import make_doc
from tests.support.tables import table

# --- notation ------------------------------------------------------------------------------------

READABLE = [
    # Mathematics.
    ("是$$500$$名", "是$500$名"), ("$$ f(x)=2 $$", "$f(x)=2$"), ("$$$$空", "空"),
    ("$$1$$$$2$$", "$1$$2$"), ("$$-4<{}x<{}{{y}_{1}}$$", "$-4<x<{{y}_{1}}$"),
    ("$$x>{}0$$", "$x>0$"),
    (r"$$45{}^\circ $$", r"$45^\circ$"), (r"$$m{}^{\circ}$$", r"$m^{\circ}$"),
    (r"$${{90}^{{}^\circ }}$$", r"${90^\circ}$"),
    (r"$$\sqrt{{90}^{{}^\circ }}$$", r"$\sqrt{90^\circ}$"),
    (r"$${c}{{{m}}^{2}}$$", r"$\text{cm}^{2}$"), (r"$$8{c}{{{m}}^{{3}}}$$", r"$8\text{cm}^{{3}}$"),
    (r"$${cm}$$", r"$\text{cm}$"), (r"$$1{kg}$$", r"$1\text{kg}$"),
    (r"$${Rt}\triangle ABC$$", r"$\text{Rt}\triangle ABC$"),
    (r"$$\sqrt{{c}{{{m}}^{2}}}$$", r"$\sqrt{\text{cm}^{2}}$"),
    # Blanks.
    (r"大小等于 $$\underline{}$$ ．", "大小等于 ____ ．"), (r"等于\underline{}元", "等于____元"),
    (r"向 $$\underline{ }$$ 走，$$\underline{\quad\ ~}$$．", "向 ____ 走，____．"),
    (r"$$\angle C= \underline{} {}^\circ $$．", r"$\angle C=$ ____ °．"),
    (r"$$\underline{} {\rm{c}}{{\rm{m}}^2}$$", r"____ ${\rm{c}}{{\rm{m}}^2}$"),
    (r"$$x=\underline{},y=\underline{}$$", "$x=$ ____ $,y=$ ____"),
    (r"$$\frac{\underline{}}{2}$$", r"$\frac{\text{____}}{2}$"),
    (r"$$\left( 1,\underline{} \right)$$", r"$\left( 1,\text{____} \right)$"),
    # Tables.
    (
        "如下．\n$#|  <br>等级| <br>优|\n| - | - |\n| <br>得分| <br>$$[1,2)$$|\n#$\n(1) 求",
        "如下．\n\n| 等级 | 优 |\n| - | - |\n| 得分 | $[1,2)$ |\n\n(1) 求",
    ),
    ("$#| 甲<br>乙|\n#$", "| 甲 乙 |"), ("$$a$$$#| 1|\n#$$$b$$", "$a$\n| 1 |\n$b$"),
    ("$#| $$\\left|x\\right|$$| |\n#$", "| $\\left|x\\right|$ | |"),
    ("$#| 1|\n#$和$#| 2|\n#$", "| 1 |\n和\n| 2 |"),
    # Other markup.
    ("一<br/>二<BR>三", "一\n二\n三"), ("爱党､爱国｡", "爱党、爱国。"),
    ("ＡＢ＝１２ｃｍ", "AB＝12cm"),
    ('如图<img alt="" src="x.svg"/>，<span style="a">好</span>', "如图，好"),
    ("（       ）  \n\n\n\nA.1\u3000\u3000B.2", "（ ）\n\nA.1 B.2"),
    ("$$1$$\n坏$$的\n$$2$$", "$1$\n坏$$的\n$2$"), ("$$a<img$$", "$a<img$"),
    (r"$$x^2{}^\circ $$", r"$x^2{}^\circ$"),
]  # fmt: skip
# Ambiguous text is left unchanged.
UNCHANGED = (
    *(
        "",
        "$$",
        "价格是$$5",
        "价格是$$5元，$$6$$元",
        "$$a\nb$$",
        "$$5\\text{ \\$}a$b$$",
        "价格是$5",
    ),
    *("$#没有表", "$#| a|\n没有完", "当0<b>c时", "x<sup>2</sup>", "（2＋9）×8，［50，60），0．5"),
)
IN_FORMULAS = (
    *(r"\underline{AB}", r"\frac{1}{cm}", r"\frac1{kg}", "{{x}^{2}}+{{A}_{1}}"),
    r"\overset\frown{AB}",
)


def test_readable() -> None:
    rows = [*READABLE, *((text, text) for text in UNCHANGED)]
    rows += [(f"$${text}$$", f"${text}$") for text in IN_FORMULAS]
    assert [row for row in rows if readable(row[0]) != row[1]] == []


def test_blanks_are_counted_and_only_image_tags_removed() -> None:
    text = "$$\\underline{}$$，$$y=\\underline{ } {}^\\circ $$，$$\\underline{x}$$"
    assert blanks(text) == 2
    text = '如图<img src="a>b"\n/>，$$a<b$$，<i>c</i></img>'
    assert without_image_tags(text) == '如图b"\n/>，$$a<b$$，<i>c</i>'


HOSTILE = (
    *("$$", "$", "$#|", "$#| a|\n", "#$", "$#|#$", "\\underline{", "\\underline{}", "{}^", "~"),
    *("$$\\underline{}", "<img ", "<", "<br", "<br>", " ", "\n", " \n", "|", " | ", "{", "}", "{}"),
    *("\\", "<{}", "{{1}^{{}^\\circ", "{c}{{{m}}^{", "\\left", "\\underline{}{", "\\quad"),
)


@given(st.lists(st.sampled_from([*HOSTILE, "a", "1", "，", "#"]), max_size=30).map("".join))
def test_no_text_breaks_it_and_what_is_plain_stays(text: str) -> None:
    done = readable(text)
    assert [done.count(sign) for sign in "a1，"] == [text.count(sign) for sign in "a1，"]


# --- prompts -------------------------------------------------------------------------------------


def doc(images: int = 1, caption: str = "", **fields: Any) -> dict[str, Any]:
    names = [f"{number}.png" for number in range(images)]
    shown = [Image.new("L", (4, 4), number + 1) for number in range(images)]
    return make_doc(img_path=names, **fields) | {"images": shown, "caption": caption}


def shown(document: Any, variant: str = "default") -> list[str | int]:
    """The chat prompt: texts, and images as their numbers."""
    (message,) = doc_to_messages(document, {"variant": variant})
    assert message["role"] == "user"
    return [
        part["text"] if part["type"] == "text" else part["url"].getpixel((0, 0))[0]
        for part in message["content"]
    ]


QUESTION = "如图，正方形的边长是$3$，则它的面积是 ____ ．"


@table("variant", *[each for each in VARIANTS if each not in WITHOUT_IMAGES])
def test_the_image_stands_in_front(variant: str) -> None:
    image, text = shown(doc(), variant)
    assert image == 1
    assert text == doc_to_text(doc(), {"variant": variant})
    assert str(text).startswith(f"{QUESTION}\n\n")
    assert "$$" not in str(text)
    assert [each.mode for each in doc_to_visual(doc())] == ["RGB"]


def test_several_images_are_numbered_otherwise_than_figures_in_them() -> None:
    """Questions mention 图1 and 图2, which may both be in one image."""
    *images, text = shown(doc(2))
    assert images == ["第1张图片：", 1, "第2张图片：", 2]
    assert doc_to_text(doc(2)) == f"本题附有2张图片，依次为第1张至第2张。\n\n{text}"
    assert shown(doc(2), "en_cot")[:3] == ["Image number 1:", 1, "Image number 2:"]
    assert doc_to_text(doc(2), {"variant": "en_cot"}).startswith("The problem comes with 2 images")


def test_variants_say_what_is_wanted() -> None:
    asked = {variant: doc_to_text(doc(), {"variant": variant}) for variant in VARIANTS}
    assert len(set(asked.values())) == len(VARIANTS)
    assert doc_to_text(doc(), {"default": {"pre_prompt": ""}}) == asked["default"]
    for variant, text in asked.items():
        assert ("<STEP1>" in text) == (variant == "steps")
        assert ("“最终答案：”" in text.splitlines()[-1]) == (variant != "en_cot")
    assert not re.search(r"[\u4e00-\u9fff]", asked["en_cot"].removeprefix(QUESTION))
    assert asked["clp"].index("中文复述") < asked["clp"].index("英文一步一步")
    for ask in (doc_to_text, doc_to_messages):
        with pytest.raises(ValueError, match="Unknown prompt variant 'cot'; known: default, en"):
            ask(doc(), {"variant": "cot"})


@table(
    "form, question, chinese, english",
    ("choice", "哪个？\nA.$$1$$\nB.$$2$$", "正确选项的字母", "the letter of the right choice"),
    ("choice", "$$\\underline{}$$和$$\\underline{}$$？", "正确选项的字母", "of the right choice"),
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


# --- without images ------------------------------------------------------------------------------


def test_the_text_in_the_image_stands_for_it() -> None:
    text = doc_to_text(doc(), {"variant": "ocr"})
    question, recognised_text, asked = text.split("\n\n")
    assert question == QUESTION
    assert recognised_text.splitlines()[1:] == ["- A (10, 20)-(30, 40)"]
    assert "图片" not in asked
    without = {name: value for name, value in doc().items() if name != "images"}
    assert shown(doc(2), "ocr") == shown(without, "ocr") == [text]
    assert doc_to_visual(without, {"variant": "ocr"}) == []
    # A wrapper that needs an image is given a blank one.
    kwargs = {"variant": "ocr", "picture": "blank"}
    (image,) = doc_to_visual(without, kwargs)
    assert image.getextrema() == ((255, 255),) * 3
    picture, asked = doc_to_messages(without, kwargs)[0]["content"]
    assert (picture["type"], asked["text"]) == ("image", text)


def test_problem_alone_and_with_a_caption() -> None:
    alone = doc_to_text(doc(), {"variant": "text"})
    captioned, bare = (
        doc_to_text(doc(caption=text), {"variant": "caption"}) for text in ("一个正方形。", "")
    )
    assert "图" not in alone.removeprefix(QUESTION)
    assert captioned.split("\n\n")[1].splitlines()[1:] == ["一个正方形。"]
    assert "也没有图片说明" in bare
    assert [shown(doc(2), variant) for variant in ("text",)] == [[alone]]


@table("ocr", "", None, " \n", ", ", ", 存在文字: ,")
def test_no_text_in_the_image(ocr: str | None) -> None:
    text = doc_to_text(doc(ocr=ocr), {"variant": "ocr"})
    assert "图中也没有识别出文字" in text
    assert "\n- " not in text


PLACE = "文字区域的位置为:[(1, 2), (3, 4)]"


@table(
    "ocr, expected",
    (f", 存在文字:率, {PLACE}, 存在文字:6, {PLACE}", ["率 (1, 2)-(3, 4)", "6 (1, 2)-(3, 4)"]),
    (f"存在文字:a, b, {PLACE}", ["a, b (1, 2)-(3, 4)"]),
    ("存在文字：x，文字区域的位置为：[(1,2),(3,4)]", ["x (1, 2)-(3, 4)"]),
    (f", 存在文字:始, {PLACE}" * 3, ["始 (1, 2)-(3, 4)"]),
    (f"存在文字: , {PLACE}, 存在文字:', {PLACE}", ["' (1, 2)-(3, 4)"]),
    (f"存在文字:两\n行, {PLACE}", ["两 行 (1, 2)-(3, 4)"]),
    (f"存在文字:,, {PLACE}", [", (1, 2)-(3, 4)"]),
    (f"存在文字:{PLACE}, {PLACE}", []),
    ("存在文字:A, 文字区域的位置为:[(1, 2), (3", ["A"]),
    ("存在文字:A", ["A"]),
    ("O A B\n60°", ["O A B", "60°"]),
    ("说明：, 存在文字:A", ["说明：", "A"]),
)
def test_recognised_texts_are_read_tolerantly(ocr: str, expected: list[str]) -> None:
    assert recognised(ocr).splitlines() == [f"- {each}" for each in expected]


@given(st.text(alphabet="存在文字区域的位置为:：,[]() 0123456789\nA", max_size=80))
def test_any_recognised_text_gives_lines(ocr: str) -> None:
    for line in recognised(ocr).splitlines():
        assert line.startswith("- ")
        assert line == line.strip() != "-"
