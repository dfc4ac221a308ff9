"""Prompts of CMMaTH: what the model is shown, and the requested form of the answer."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lmms_rpts.base.settings import SettingError
from lmms_rpts.tasks.cmmath import prompts
from lmms_rpts.tasks.cmmath.notation import blanks, readable
from lmms_rpts.tasks.cmmath.prompts import (
    WAYS,
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
    read_wording,
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
UNCHANGED = (
    # Ambiguous.
    *("", "$$", "价格是$$5", "价格是$$5元，$$6$$元", "$$a\nb$$", "价格是$5", "$#没有表"),
    *("$$5\\text{ \\$}a$b$$", "$#| a|\n没有完", "当0<b>c时", "（2＋9）×8，［50，60），0．5"),
)
IN_FORMULAS = (r"\underline{AB}", r"\frac{1}{cm}", "{{x}^{2}}+{{A}_{1}}", r"\overset\frown{AB}")


def test_readable() -> None:
    rows = [*READABLE, *((text, text) for text in UNCHANGED)]
    rows += [(f"$${text}$$", f"${text}$") for text in IN_FORMULAS]
    assert [row for row in rows if readable(row[0]) != row[1]] == []
    assert blanks("$$\\underline{}$$，$$y=\\underline{ } {}^\\circ $$，$$\\underline{x}$$") == 2


HOSTILE = (
    *("$$", "$", "$#|", "$#| a|\n", "#$", "\\underline{", "\\underline{}", "{}^", "~", " ", "\n"),
    *("<img ", "<", "<br>", "{", "}", "{}", "\\", "<{}", "{{1}^{{}^\\circ", "{c}{{{m}}^{", "|"),
)


@given(st.lists(st.sampled_from([*HOSTILE, "a", "1", "，", "#"]), max_size=30).map("".join))
def test_no_text_breaks_it_and_what_is_plain_stays(text: str) -> None:
    done = readable(text)
    assert [done.count(sign) for sign in "a1，"] == [text.count(sign) for sign in "a1，"]


# --- prompts -------------------------------------------------------------------------------------

QUESTION = "如图，正方形的边长是$3$，则它的面积是 ____ ．"
WITHOUT_IMAGES = ("text", "ocr", "caption")
ENGLISH = ("en_cot", "clp")


@pytest.fixture(autouse=True)
def _own_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CMMATH_PROMPTS", raising=False)


def doc(images: int = 1, **fields: Any) -> dict[str, Any]:
    """A document with images, which are their numbers from 1 in grey."""
    names = [f"{number}.png" for number in range(images)]
    shown = [Image.new("L", (4, 4), number + 1) for number in range(images)]
    return make_doc(img_path=names, **fields) | {"images": shown}


def shown(document: Any, way: str = "default") -> list[str | int]:
    """The chat prompt: texts, and images as their numbers."""
    (message,) = doc_to_messages(document, {"variant": way})
    return [
        part["text"] if part["type"] == "text" else part["url"].getpixel((0, 0))[0]
        for part in message["content"]
    ]


@table("way", *WAYS)
def test_the_image_then_the_problem_then_the_form_of_the_answer(way: str) -> None:
    text = doc_to_text(doc(), {"variant": way})
    assert shown(doc(), way) == [*([1] if way not in WITHOUT_IMAGES else []), text]
    last = text.splitlines()[-1]
    assert text.count(QUESTION) == 1
    assert "$$" not in text
    assert ("Final answer:" in last) == (way in ENGLISH)
    assert ("“最终答案：”" in last) == (way not in ENGLISH)


def test_solved_examples_end_as_the_answer_should_and_marks_stand_behind_steps() -> None:
    texts = {way: doc_to_text(doc(), {"variant": way}) for way in WAYS}
    assert len(set(texts.values())) == len(WAYS)
    assert doc_to_text(doc()) == texts["default"]
    for way, text in texts.items():
        marked = re.findall(r"<STEP\d>$", text, re.MULTILINE)
        assert len(marked) == {"steps": 5, "en_cot": 2}.get(way, 0)
        solved = {"steps": ["20", "C"], "en_cot": ["5"], "clp": ["42"]}.get(way, [])
        ends = r"^(?:最终答案：|Final answer: )(.+)$"
        assert re.findall(ends, text, re.MULTILINE) == solved
    assert not re.search(r"[\u4e00-\u9fff]", texts["en_cot"].replace(QUESTION, ""))
    with pytest.raises(ValueError, match="Unknown prompt variant 'cot'"):
        doc_to_text(doc(), {"variant": "cot"})


def test_several_images_are_numbered_otherwise_than_figures_in_them() -> None:
    """Questions mention 图1 and 图2, which may both be in one image."""
    *images, text = shown(doc(2))
    assert images == ["第1张图片：", 1, "第2张图片：", 2]
    assert doc_to_text(doc(2)) == f"本题附有2张图片，依次为第1张至第2张。\n\n{text}"
    assert shown(doc(2), "clp")[:3] == ["Image number 1:", 1, "Image number 2:"]


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
    for way in WAYS:
        last = doc_to_text(document, {"variant": way}).splitlines()[-1]
        assert (english if way in ENGLISH else chinese) in last


def test_the_text_shown_for_the_images() -> None:
    def asked(way: str, **fields: Any) -> str:
        return doc_to_text(doc(**fields), {"variant": way})

    assert "图" not in asked("text").removeprefix(QUESTION)
    for way in ("ocr", "image_ocr"):
        text = asked(way)
        assert text.split("\n\n")[1].splitlines()[1:] == ["- A (10, 20)-(30, 40)"]
        assert ("无法显示" in text) == (way == "ocr")
    assert "\n一个正方形。\n" in asked("caption", caption="一个正方形。")
    assert "也没有图片说明" in asked("caption")
    for nothing in ("", " \n", ", ", ", 存在文字: ,"):
        assert "图中也没有识别出文字" in asked("ocr", ocr=nothing)
        assert "\n- " not in asked("ocr", ocr=nothing)


def test_a_wrapper_that_needs_an_image_gets_a_blank_one() -> None:
    (image,) = doc_to_visual(make_doc(), {"variant": "text", "picture": "blank"})
    assert image.getextrema() == ((255, 255),) * 3


# --- the user's own prompts ----------------------------------------------------------------------

OWN = Path(prompts.__file__).with_name("prompts.yml").read_text(encoding="utf-8")


def test_own_prompts_replace_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = read_wording()[1]
    content = yaml.safe_load(OWN)
    # Braces of mathematics are no fields.
    content["ways"]["clp"]["text"] = "$\\text{cm}$ {problem} {number}? Answer: [num]"
    file = tmp_path / "prompts.yml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    monkeypatch.setenv("CMMATH_PROMPTS", str(file))
    assert shown(doc(), "clp") == [1, f"$\\text{{cm}}$ {QUESTION} {{number}}? Answer: [num]"]
    assert read_wording()[1] == hashlib.sha256(file.read_bytes()).hexdigest()[:8] != ours
    file = tmp_path / "other.yml"
    file.write_text(OWN.replace("  {problem}", "  problem", 1), encoding="utf-8")
    monkeypatch.setenv("CMMATH_PROMPTS", str(file))
    with pytest.raises(SettingError, match=r"ways\.default\.text has no \{problem\}"):
        read_wording()


# --- recognised texts ----------------------------------------------------------------------------

PLACE = "文字区域的位置为:[(1, 2), (3, 4)]"


@table(
    "ocr, expected",
    (f", 存在文字:率, {PLACE}, 存在文字:6, {PLACE}", ["率 (1, 2)-(3, 4)", "6 (1, 2)-(3, 4)"]),
    (f"存在文字:a, b, {PLACE}", ["a, b (1, 2)-(3, 4)"]),
    ("存在文字：x，文字区域的位置为：[(1,2),(3,4)]", ["x (1, 2)-(3, 4)"]),
    (f"存在文字: , {PLACE}, 存在文字:', {PLACE}", ["' (1, 2)-(3, 4)"]),
    ("存在文字:A, 文字区域的位置为:[(1, 2), (3", ["A"]),
    ("O A B\n60°", ["O A B", "60°"]),
)
def test_recognised_texts_are_read_tolerantly(ocr: str, expected: list[str]) -> None:
    assert recognised(ocr).splitlines() == [f"- {each}" for each in expected]
