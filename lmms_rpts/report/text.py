"""Markdown and LaTeX of questions and responses as HTML that runs, loads and links nothing.

Of Markdown there are tables, lists, code, headings and emphasis by stars. Their marks stay visible
where a text may mean them: the sign of ``- 5``, the number of ``1.``, the mark of ``# of shops``. A
formula becomes MathML by latex2mathml. What can't be shown so, or would lose a character, is shown
as it was written. Everything else in a report is a text node of the page's script.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from html import escape, unescape
from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt

# Control characters besides tab and line ends, and controls of the writing direction: an answer
# "\u202e53" is shown as "35".
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

# Longest text that is rendered, in characters, and most formulas in it.
LONGEST, MOST_FORMULAS = 20_000, 300
# Nested elements of a formula.
_DEEPEST = 30
# Definitions, and ``\sideset``, which writes its last argument twice, grow exponentially.
_EXPLOSIVE = re.compile(r"\\(?:\w*def|\w*newcommand|\w*environment|Declare\w*|sideset)")

# A text without any of these is plain.
_ANY = re.compile(r"[$\\*`|#]|^[ \t]*(?:[-+]|\d+[.)])\s", re.MULTILINE)
# In the text, a formula is replaced by its number between these two.
_OPEN, _CLOSE = "\ue000", "\ue001"
_LINES = r"(?:[^$\n]|\n(?![ \t]*\n))"
# Of "$5 and $6", "$5 (or $x)" and "US$5 to US$6", nothing is a formula; "\\$5" is the sign.
# CMMaTH writes "$$a$$，$$b$$" within lines.
_FORMULA = re.compile(
    rf"""
      \\\[(?P<block>{_LINES}{{1,1000}}?)\\\]
    | \\\((?P<inline>{_LINES}{{1,1000}}?)\\\)
    | (?<![\\$])\$\$(?P<double>{_LINES}{{1,1000}}?)(?<!\\)\$\$
    | (?<![A-Za-z0-9\\$])\$(?![\s$]|\d[\d.,]*[\s(,;，、。]*(?:[A-Za-z]{{2}}|[一-鿿]))
      (?P<single>[^$\n`]{{1,1000}}?)(?<![\s\\])\$(?![0-9$])
    | (?P<bare>\\begin\{{(?P<name>[a-z]{{1,12}}\*?)\}}{_LINES}{{1,1000}}?\\end\{{(?P=name)\}})
    | \\(?P<sign>[$*_`])
    """,
    re.VERBOSE,
)
_HELD = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_ALONE = re.compile(rf"(?<![^\n]){_OPEN}(\d+){_CLOSE}(?![^\n])")

# "**答案：**是" is strong here, unlike in CommonMark; "2*3*4" and "2**3" have no emphasis.
_STARS = re.compile(r"(\*{1,3})(?![\s*])([^\n]{1,500}?)(?<![\s*])\1(?![*0-9A-Za-z])")
_TIMES = re.compile(r"(?<=[0-9A-Za-z)\]])\*{1,2}(?=[0-9A-Za-z(\[])")
# Environments that latex2mathml has under one name; numbers of equations are not in the text.
_ALIGNED = re.compile(r"\\(begin|end)\{(?:align(?:ed)?|gather(?:ed)?|eqnarray|equation)\*?\}")
# Characters that Markdown may take away.
_MARKS = re.compile(r"[\s*`~|:#\\-]")
_TAG = re.compile("<[^<>]*>")
_PLAIN = re.compile(r"</?p>|<br>|\n")

# Elements with a fixed number of parts, and others.
_PARTS = {"mfrac": 2, "msup": 2, "msub": 2, "msubsup": 3, "mroot": 2}
_PARTS |= {"munder": 2, "mover": 2, "munderover": 3}
_TAGS = {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msqrt", "mtable", "mtr", "mtd"}
_TAGS |= {"mstyle", "mphantom", "menclose", *_PARTS}
_ATTRIBUTES = {"display", "stretchy", "fence", "form", "separator", "largeop", "movablelimits"}
_ATTRIBUTES |= {"accent", "accentunder", "mathvariant", "displaystyle", "scriptlevel", "width"}
_ATTRIBUTES |= {"columnalign", "notation", "linethickness", "minsize", "maxsize"}
# No length that moves a part over another one, or out of the page.
_VALUE = re.compile(r"[a-z-]{1,30}|\d|[0-2]?(?:\.\d{1,3})?em")


def render(text: str, *, block: bool = True) -> str | None:
    """A text as HTML; None: it has no markup, or is shown as it was written.

    Args:
        block: whether it may have paragraphs, lists and tables; else it stays in its line.
    """
    if len(text) > LONGEST or not _ANY.search(text) or _OPEN in text:
        return None
    text, formulas = marked(text), []

    def hold(match: re.Match[str]) -> str:
        formulas.append(match)
        return f"{_OPEN}{len(formulas) - 1}{_CLOSE}"

    held = _FORMULA.sub(hold, text)
    if len(formulas) > MOST_FORMULAS:
        return None
    displayed = {int(match[1]) for match in _ALONE.finditer(held)} if block else set()

    def written(match: re.Match[str]) -> str:
        return formulas[int(match[1])][0]

    def shown(match: re.Match[str]) -> str:
        number = int(match[1])
        return _shown(formulas[number], number in displayed)

    reader = _reader()
    tokens = reader.parse(held) if block else reader.parseInline(held)
    for token in (part for each in tokens for part in (each, *(each.children or ()))):
        if token.type in ("code_inline", "fence"):
            token.content = _HELD.sub(written, token.content)
            token.info = _HELD.sub(written, token.info)
    html = reader.renderer.render(tokens, reader.options, {})
    kept = _HELD.sub(written, unescape(_TAG.sub("", html)))
    if _MARKS.sub("", kept) != _MARKS.sub("", text):
        return None
    html = _HELD.sub(shown, html)
    return html if "<" in _PLAIN.sub("", html) else None


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("zero", {"breaks": True, "xhtmlOut": False})
    reader.enable(["list", "fence", "table", "heading", "backticks", "newline"])
    reader.inline.ruler.push("stars", _stars)
    for name, rule in {
        "heading_open": lambda token: f'<p class="head"><span class="mark">{token.markup}</span> ',
        "heading_close": lambda token: "</p>\n",
        "bullet_list_open": lambda token: "<ul>\n",
        "ordered_list_open": lambda token: "<ul>\n",
        "ordered_list_close": lambda token: "</ul>\n",
        "list_item_open": lambda token: (
            f'<li><span class="mark">{token.info}{token.markup}</span> '
        ),
        "fence": lambda token: (
            f'<pre tabindex="0"><code>{escape(token.info)}\n{escape(token.content)}</code></pre>\n'
        ),
    }.items():
        reader.add_render_rule(name, lambda _, tokens, at, *rest, rule=rule: rule(tokens[at]))
    return reader


def _stars(state: Any, silent: bool) -> bool:
    """Emphasis."""
    if times := _TIMES.match(state.src, state.pos, state.posMax):
        state.pending += "" if silent else times[0]
        state.pos = times.end()
        return True
    stars = _STARS.match(state.src, state.pos, state.posMax)
    if not stars or state.level > 2:
        return False
    if not silent:
        tag = "em" if len(stars[1]) == 1 else "strong"
        state.push(f"{tag}_open", tag, 1)
        end, (state.pos, state.posMax) = state.posMax, stars.span(2)
        state.md.inline.tokenize(state)
        state.posMax = end
        state.push(f"{tag}_close", tag, -1)
    state.pos = stars.end()
    return True


def _shown(match: re.Match[str], alone: bool) -> str:
    """The HTML of a formula, or of a sign that would be markup; what can't be one, as written."""
    if match["sign"]:
        return match["sign"]
    latex = match[match.lastgroup or 0].strip()
    display = alone or bool(match["block"])
    try:
        html = _serialised(_element(latex, "block" if display else "inline"))
    except ValueError:
        return escape(match[0])
    if display or len(latex) > 20:  # may be wider than the window
        kind = "formula display" if display else "formula"
        return f'<span class="{kind}" tabindex="0">{html}</span>'
    return html


# Many answers repeat a formula.
@lru_cache(maxsize=4096)
def _element(latex: str, display: str = "inline") -> Element:
    if _EXPLOSIVE.search(latex):
        raise ValueError("defines commands")
    try:
        latex = re.sub(r"(?<!\\)%", r"\\%", latex)  # "50% of" is no comment
        element = convert_to_element(_ALIGNED.sub(r"\\\1{split}", latex), display=display)
    except Exception as error:  # the library raises what it happens to meet, such as IndexError
        raise ValueError(str(error)) from None
    missing = _figures(latex) - _figures(unescape("".join(element.itertext())))
    if missing:
        raise ValueError(f"lost {missing}")
    return element


def _figures(text: str) -> Counter[str]:
    """Digits and Chinese characters, which are never the name of a command."""
    plain = unicodedata.normalize("NFKC", text)
    return Counter(each for each in plain if each.isdecimal() or each >= "\u2e80")


def _serialised(element: Element, depth: int = 0) -> str:
    """An element with what is listed of it, and its text escaped."""
    tag = element.tag if element.tag in _TAGS else "mrow"
    if depth > _DEEPEST or len(element) != _PARTS.get(tag, len(element)):
        raise ValueError("nested too deeply, or incomplete")
    fields = "".join(
        f' {name}="{value}"'
        for name, value in element.items()
        if name in _ATTRIBUTES and _VALUE.fullmatch(value)
    )
    inner = "".join(_serialised(each, depth + 1) for each in element)
    text = escape(marked(unescape(element.text or "")))
    if tag == "mrow" and len(element) == 1 and not text:
        return inner
    return f"<{tag}{fields}>{text}{inner}</{tag}>"


def marked(text: str) -> str:
    """A text with visible marks for control characters and controls of the writing direction."""

    def mark(match: re.Match[str]) -> str:
        code = ord(match[0])
        return chr(0x2400 + code) if code < 0x20 else f"[U+{code:04X}]"

    return HIDDEN.sub(mark, text)
