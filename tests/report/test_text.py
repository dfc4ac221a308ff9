"""Markdown and formulas of untrusted texts: shown without loss, and nothing in them is HTML."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.report.text import LONGEST, marked, render
from lmms_rpts.report.write import write_report
from tests.report.hostile import ATTACKS
from tests.support.browser import expect_accessible, expect_harmless, open_page
from tests.support.cmmath_runs import make_cmmath_record, write_cmmath_run
from tests.support.instances import make_doc
from tests.support.reference import reference
from tests.support.runs import make_record, write_run
from tests.support.tables import table

MATHML = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac"),
    *("msqrt", "mroot", "mover", "munder", "munderover", "mtable", "mtr", "mtd", "mstyle"),
    *("mphantom", "menclose"),
}
HTML = {
    *("div", "span", "p", "br", "ul", "li", "pre", "code", "em", "strong"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
STRUCTURE = {"class", "tabindex", "display", "stretchy", "fence", "form", "separator", "largeop"}
STRUCTURE |= {"movablelimits", "accent", "accentunder", "mathvariant", "displaystyle", "width"}
STRUCTURE |= {"scriptlevel", "columnalign", "notation", "linethickness", "minsize", "maxsize"}


class Read(HTMLParser):
    """The tags and attributes of a piece of HTML, and what a reader sees of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.fields: list[tuple[str, str | None]] = []
        self.seen, self.in_math, self._inside = "", "", False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.fields += attrs
        self._inside = self._inside or tag == "math"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "math"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.in_math += data
        else:
            self.seen += data


def shown_as(text: str, block: bool = True) -> str:
    """A text as the page shows it: its markup, else a text node."""
    html = render(text, block=block)
    return escape(marked(text)) if html is None else html


@table(
    "text, formulas, seen",
    # Money, shells, names: no formulas.
    ("It costs $5 and $6.", 0, "It costs $5 and $6."),
    ("$5 (or $x) of US$5 to US$6", 0, "$5 (or $x) of US$5 to US$6"),
    ("售价$5元，共$30元", 0, "售价$5元，共$30元"),
    (r"\$5 and $x$", 1, "$5 and "),
    ("echo `$HOME` and `$PATH`", 0, "echo $HOME and $PATH"),
    # CMMaTH writes two dollars within its lines; others stand alone.
    ("设$$a=1$$，$$b$$为根", 2, "设，为根"),
    ("$$a=1$$，$$b=2$$", 2, "，"),
    ("so\n$$\na = 1\n- b\n$$\nends", 1, "so ends"),
    (r"\(x\), \[ \begin{aligned} x &= 1 \\ &= 2 \end{aligned} \]", 2, ", "),
    (r"\begin{cases} x \\ y \end{cases}", 1, ""),
    # A formula with an error, a definition, or a lost figure is shown as it was written.
    (r"$\frac{1}$ and $x$", 1, r"$\frac{1}$ and "),
    (r"$\def\a{12}\a$ $x$", 1, r"$\def\a{12}\a$ "),
    (r"$\hspace{2cm} x$ $y$", 1, r"$\hspace{2cm} x$ "),
    ("$50% of 30%$", 1, ""),
    # Stars and underscores.
    ("2*3*4 = a**2 and b**2, __init__ and a_b_c, *so*", 0, None),
    ("**答案：**是 *B* ***C***", 0, "答案：是 B C"),
    # Steps keep their signs.
    ("# of shops: 5\n- 5 = 3\n+ 4\n1. a\n7) b\n2024. c", 0, None),
    ("---\n***\n____\n> 90\n===\n    code", 0, None),
    ("&lt;b&gt; [a](b) ![c](d) <e> https://f.example ~~g~~ x\\", 0, None),
    ("```py\n$x$\n```", 0, "py $x$"),
    ("|a|b|\n|-|-|\n|1|$x$|", 1, "a b 1"),
    # A cell too many would be lost.
    ("|a|b|\n|-|-|\n|1|2|3|", 0, "|a|b| |-|-| |1|2|3|"),
    ("- " * 30 + "deep", 0, None),
)
def test_what_is_markup(text: str, formulas: int, seen: str | None) -> None:
    found = Read(shown_as(text))
    assert found.tags["math"] == formulas
    wanted = text.replace("*so*", "so") if seen is None else seen
    assert " ".join(found.seen.split()) == " ".join(wanted.split())


def test_a_text_without_markup_is_plain() -> None:
    assert render("1 < 2 & 3\n\nso") is None
    assert render("x" * LONGEST + "$x$") is None
    assert render("$x$", block=False) == '<math display="inline"><mi>x</mi></math>'
    assert "␛" in str(render("$x$ \x1b"))


@table(
    "text, shown",
    ("plain\ttext\r\n", "plain\ttext\r\n"),
    ("\u202e53\u202c", "[U+202E]53[U+202C]"),
    ("nul\x00bell\x07esc\x1b[31m", "nul␀bell␇esc␛[31m"),
    ("a\x7fb\x85c\u200fd\u2066e", "a[U+007F]b[U+0085]c[U+200F]d[U+2066]e"),
    ("👩\u200d👧 שלום", "👩\u200d👧 שלום"),
)
def test_hidden_characters_are_marked(text: str, shown: str) -> None:
    assert marked(text) == shown


ESCAPES = [
    r"\text{%s}", r"\mathrm{%s}", r"\href{%s}{x}", r"\class{%s}{x}", r"\style{%s}{x}",
    r"\color{%s}x",
    r"\colorbox{%s}{x}", r"\unicode{%s}", r"\tag{%s}", r"\operatorname{%s}", r"\hspace{%s}", "%s",
    r"\verb|%s|", r"\begin{array}{%s} x \end{array}", r"\rule{%s}{1em}", r"\left%s x \right)",
    r"\genfrac{(}{)}{%s}{0}{1}{2}", r"\raise{%s}{x}", r"\mbox{%s}", r"\fcolorbox{%s}{red}{x}",
]  # fmt: skip
VALUES = (
    "javascript:alert(1)",
    '" onclick="x"',
    "&lt;img src=x onerror=x&gt;",
    "<img src=x onerror=x>",
    "-999em",
    "position:fixed",
    "&#x3c;script&#x3e;",
    "99999em",
)


@pytest.mark.parametrize("frame", ["${}$", "**\\[{}\\]**", "- `{}`\n\n|a|\n|-|\n|$${}$$|", "{}"])
def test_only_listed_elements_and_attributes_come_out(frame: str) -> None:
    payloads = [*ATTACKS, *(latex % value for latex in ESCAPES for value in VALUES)]
    for payload in payloads:
        for block in (True, False):
            found = Read(shown_as(frame.replace("{}", payload), block))
            assert {*found.tags} <= MATHML | HTML, payload
            assert {name for name, _ in found.fields} <= STRUCTURE, payload
            for name, value in found.fields:
                assert value is not None
                assert re.fullmatch(r"[a-z -]{1,30}|[\d.]{1,6}(em)?", value), (payload, name)
                assert not re.search(r"[3-9]\d*em|\d\dem", value), (payload, name)


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from _texts(each)


@table(
    "folder, name, formulas",
    ("cmmath", "sample.json", 500),
    ("cmmath", "graded.jsonl", 1000),
    ("rpts_eval", "texts_en.json", 0),
    ("rpts_eval", "texts_zh.json", 0),
    ("rome", "predictions.json", 0),
)
def test_nothing_is_lost_of_real_texts(folder: str, name: str, formulas: int) -> None:
    raw = reference(folder, name).read_text("utf-8")
    rows = [json.loads(line) for line in raw.splitlines()] if "jsonl" in name else json.loads(raw)
    count = 0
    for text in _texts(rows):
        for block in (True, False):
            html = render(text, block=block)
            if html is None:
                continue
            found = Read(html)
            count += found.tags["math"] * block
            spans = r"\$\$(?:(?!\n\n).)+?\$\$|\$[^$\n]+\$|\\\(.+?\\\)|\\\[.+?\\\]"
            parts = re.findall(f"(?s){spans}", text) if found.tags["math"] else []
            rest = re.sub(f"(?s){spans}", "", text) if parts else text
            rest = re.sub(r"\\(?=[*_])", "", rest)
            marks = r"[\s*`|:~#-]"
            assert re.sub(marks, "", found.seen) == re.sub(marks, "", rest), text
            figures = r"[0-9\u4e00-\u9fff]"
            wanted = Counter(re.findall(figures, "".join(parts)))
            assert not wanted - Counter(re.findall(figures, unescape(found.in_math))), text
    assert count >= formulas


STEPS = r"""**第一步：**由 $S=\frac{1}{2}ah$ 得

\[
S = \frac{1}{2} \times 6 \times 4 + \sum_{k=1}^{n} \sqrt{k^{2}+1} + \int_0^1 x^2 \, dx + 1234567890
\]

1. 面积是 $12$，花费 $5 和 $6；
   - 名字 a_b_c，`$HOME`

|步|值|
|-|-|
|一|$\frac{3}{4}$|

### 所以 $\boxed{12}$"""


def test_a_report_with_formulas(tmp_path: Path, browser: Any) -> None:
    asked = r"如图，$\triangle ABC$ 的底 $a=6$，高 $h=4$，求 $\frac{S}{2}$．"
    right = make_cmmath_record(answer=STEPS, question=asked, reference=r"$$\frac{12}{2}$$")
    write_cmmath_run(tmp_path / "a", {"cmmath": [right, make_cmmath_record("incorrect")]})
    said = r"the area is $x^{2}$ and \(\sqrt{2}\)"
    doc = make_doc(statement=asked, reasoning=[f"Image0 -> {said}"])
    write_run(tmp_path / "b", {0: make_record([1.0], doc=doc, steps=[f"Image0 -> {said}"])})
    runs = read_runs([tmp_path / "a", tmp_path / "b"])
    path = write_report(runs, tmp_path / "r.html").path
    opened = open_page(browser, path, "#cmmath-0")
    page = opened.page
    expect(page.locator(".asked-text math")).to_have_count(4)
    expect(page.locator(".passage li")).to_have_count(2)
    expect(page.locator(".passage table math")).to_be_visible()
    expect_accessible(page)
    expect_harmless(opened)
    page.evaluate("location.hash = '#rpts-eval-en-0'")
    expect(page.locator(".conclusion math").first).to_be_visible()
    # The search finds what was written.
    page.evaluate("location.hash = ''")
    place = page.locator("#cmmath")
    place.locator("[type=search]").fill(r"\frac{1}{2}ah")
    expect(place.locator(".shown")).to_have_text("1 of 2 instances")
    page.context.close()
