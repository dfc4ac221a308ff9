"""Plain notation: normalization of LaTeX and Unicode mathematics, and the members of a list.

The output of ``clean`` has Unicode for every sign that has one (``× ÷ ± ≤ ≥ ≠ ≈ π α ∞ ∪ ∅ ∈ ∠ △ ∥
°``); ``\\frac{a}{b}``, ``\\sqrt{a}``, ``\\sqrt[n]{a}``; ``^{2}`` and ``_{1}``, always with braces;
no braces except those of sets, ``❴`` and ``❵``; ASCII for full-width forms; functions as words.
Chinese words, ①, ``。``, ``、`` and line ends are unchanged.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from html.entities import html5
from typing import Literal, NamedTuple, TypeVar, cast

# Maximum number of characters that are read; of a longer text, the last ones.
LONGEST = 20_000

# Commands that are not the name of their sign in HTML, as \alpha, \leq, \cup and \angle are
_COMMANDS = {
    "cdot": "×", "ast": "×", "neq": "≠", "infty": "∞", "lvert": "|", "rvert": "|", "circ": "°",
    "degree": "°", "vartriangle": "△", "implies": "⇒", "to": "→", "cdots": "…", "ldots": "…",
    "dots": "…", "land": "∧", "lor": "∨", "neg": "¬", "exists": "∃", "lbrace": "❴", "rbrace": "❵",
    "backslash": " ", "quad": " ", "qquad": " ", "textcircled": "⓪", "underline": "____",
    "overrightarrow": "→", "vec": "→", "overline": "‾", "bar": "‾",
}  # fmt: skip
# commands without a sign of their own: \left(, \displaystyle, \mathrm{cm}
_WITHOUT_SIGN = re.compile(
    "left|right|[bB]igg?[lr]?|displaystyle|limits|rm|bf|it|bm|frown|hline|overset|boxed|operatorname"
    "|[mh]box|boldsymbol|(?:text|math)(?:rm|bf|it|sf|bb|cal)?"
)
_FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "lg", "max", "min", "exp"}
    | {"arcsin", "arccos", "arctan"}
)
_VULGAR = "½12 ⅓13 ⅔23 ¼14 ¾34 ⅕15 ⅛18 ⅜38 ⅝58 ⅞78"
# A sign, and the signs that are written as it
_VARIANTS = (
    """-−–—‐‑‒﹣➖ ×✕✖∗⋅·∙⨯ ≤⩽≦ ≥⩾≧ :∶︰ /⁄∕ °º˚ '′’´ ∅Øø⌀ ≌≅ ⊥⟂ △Δ∆▵ ❴﹛ ❵﹜ |∣❘ ~∼ φϕ εϵ θϑ"""
)
_CHARACTERS = str.maketrans(
    {variant: row[0] for row in _VARIANTS.split() for variant in row[1:]}
    | {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u3000\u00a0\u2009\u202f\u2002\u2003\t\r", " ")
    | {each[0]: f"\\frac{{{each[1]}}}{{{each[2]}}}" for each in _VULGAR.split()}
    | {"℃": "°C", "`": ""}
)
_UP = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_DOWN = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")
_STYLED = re.compile(  # x², x₁, 𝐀
    "(?P<up>[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]{1,20})|(?P<down>[₀₁₂₃₄₅₆₇₈₉ₙ]{1,20})|[\U0001d400-\U0001d7ff]{1,500}"
)
_INVISIBLE = re.compile(  # zero-width spaces, marks of direction, control characters
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0f\x00-\x08\x0b-\x1f\x7f]"
)
# x**2, 2×10**4; other ** are bold type
_POWER = re.compile(r"(?<=[A-Za-z)])\*\*(?=\d)|(?<=×10)\*\*(?=-?\d)|(?<=× 10)\*\*(?=-?\d)")
# **B**, ~~5~~
_MARKDOWN = re.compile(r"\*\*|~~")
_ESCAPED = dict.fromkeys(",;: ()[]$", " ") | {"{": "❴", "}": "❵", "*": "×", "!": "", "\\": ", "}
_UNDERLINED = re.compile("_{2,}")  # a blank to be filled
_COMMAND = re.compile(r"[A-Za-z]{1,40}")
# √2 is the root of 2, √ab that of a alone; -3 in x^-3
_NUMBER = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d{1,400})?|[A-Za-z])")
_ROOTED = re.compile(r"\s?(?:[0-9A-Za-z({\[\\]|[\u0370-\u03ff])")  # √ before nothing is a tick
_FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac"})
_CIRCLED = re.compile(r"⓪\s?(\d)")  # \textcircled{1}
# \begin{cases}, \begin{array}{l}
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s?\{[a-z]{1,12}\*?\}(?:\{[lcr|]{0,12}\})?")
_STAR = re.compile(r"(?<=[0-9A-Za-z)\]}])\s?\*\s?(?=[0-9A-Za-z(\\√π])")  # 2*x, but not *x*
# sqrt(2)
_SQRT_CALL = re.compile(r"(?<![A-Za-z\\])sqrt\s?\(")
# 2pi; but not "pieces"
_PI = re.compile(r"(?<![A-Za-z\\])pi(?![A-Za-z])")
_ANGLE = re.compile(r"(?<![A-Za-z\\])[Aa]ngle\s(?=[A-Z1-9])")  # angle C is ∠C
_SPACES = re.compile(r"[ ]{2,}")
# Levels of brackets: recursion has to end, whatever a model writes
_DEEPEST = 60
_WRITTEN = re.compile(r"[\\√^_{}&]")  # what only the writer converts
# $3$$4$ are two numbers
_BETWEEN = re.compile(r"(?<=[0-9A-Za-z])\${1,99}(?=[0-9A-Za-z])")
_DOLLARS = re.compile(r"(?<!\\)\$")
_RUN = re.compile(r"[^\\√^_{}&()\[\]]{1,500}")  # what it copies


def clean(text: str) -> str:
    """A text in the plain notation; groups nested deeper than 60 lose their braces."""
    text = _INVISIBLE.sub("", text[-LONGEST:]).replace("\\underline{}", "____")
    text = _ENVIRONMENT.sub(" ", text) if "\\" in text else text
    text = html.unescape(text) if "&" in text else text
    text = _STYLED.sub(_plain, text.translate(_CHARACTERS))
    if "*" in text or "~~" in text:
        text = _STAR.sub("×", _MARKDOWN.sub("", _POWER.sub("^", text)))
    text = text.replace("∛", "√[3]").replace("根号", "√").replace("正负", "±")
    if "ngle" in text:
        text = _ANGLE.sub("∠", text)
    if "pi" in text or "sqrt" in text:
        text = _PI.sub("π", _SQRT_CALL.sub("√(", text))
    if "$" in text:
        text = _DOLLARS.sub("", _BETWEEN.sub(" ", text))
    if _WRITTEN.search(text):
        text = _CIRCLED.sub(lambda found: chr(0x245F + int(found[1])), _Writer(text).group())
    text = text.replace("<=", "≤").replace(">=", "≥").replace("//", "∥")
    return (_SPACES.sub(" ", text) if "  " in text else text).strip()


def _plain(found: re.Match[str]) -> str:
    if found["up"]:
        return f"^{{{found[0].translate(_UP)}}}"
    if found["down"]:
        return f"_{{{found[0].translate(_DOWN)}}}"
    return unicodedata.normalize("NFKC", found[0])


class _Writer:
    """Reads a text once, from left to right, and writes it in the plain notation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def group(self, depth: int = 0, closing: str | None = None) -> str:
        """The text up to the closing brace or bracket, which is skipped."""
        parts: list[str] = []
        while self._at < len(self._text):
            run = _RUN.match(self._text, self._at)
            if run is not None:
                parts.append(run[0])
                self._at = run.end()
                continue
            if self._next == closing:
                self._at += 1
                break
            piece = self._piece(depth)
            if piece == "\\over" and depth < _DEEPEST:
                below = self.group(depth + 1, closing)
                return f"\\frac{{{''.join(parts).strip()}}}{{{below.strip()}}}"
            if piece in _FUNCTIONS and parts and parts[-1][-1:].isalpha():
                parts.append(" ")
            parts.append(piece)
        return "".join(parts)

    def _piece(self, depth: int) -> str:
        character = self._next
        self._at += 1
        if character == "\\":
            return self._command(depth)
        if character == "√":  # before nothing it is a tick
            rooted = _ROOTED.match(self._text, self._at)
            return self._root(depth, plain=True) if rooted else character
        if character in "^_":
            return self._script(character, depth)
        if character == "{" and depth < _DEEPEST:
            content = self.group(depth + 1, "}")
            listed = re.search(r"[,|]", content)
            return f"❴{content}❵" if listed and len(content.strip()) > 1 else content
        return {"&": " ", "{": "", "}": ""}.get(character, character)

    def _command(self, depth: int) -> str:
        found = _COMMAND.match(self._text, self._at)
        if found is None:
            character = self._next
            self._at += 1
            return _ESCAPED.get(character, character)
        self._at = found.end()
        name = found[0]
        if name in _FRACTIONS:
            return f"\\frac{{{self._argument(depth)}}}{{{self._argument(depth)}}}"
        if name == "sqrt":
            return self._root(depth, plain=False)
        if name in ("left", "right") and self._next == ".":
            self._at += 1
        if name in _FUNCTIONS or _WITHOUT_SIGN.fullmatch(name):
            return name if name in _FUNCTIONS else ""
        sign = html5.get(f"{name};", f"\\{name}").translate(_CHARACTERS)
        return _COMMANDS.get(name, sign)

    def _root(self, depth: int, *, plain: bool) -> str:
        degree = ""
        if self._next == "[" and depth < _DEEPEST:
            self._at += 1
            degree = f"[{self.group(depth + 1, ']').strip()}]"
        return f"\\sqrt{degree}{{{self._argument(depth, plain=plain)}}}"

    def _script(self, sign: str, depth: int) -> str:
        blank = _UNDERLINED.match(self._text, self._at - 1)
        if blank is not None:
            self._at = blank.end()
            return blank[0]
        content = self._argument(depth, plain=True)
        if sign == "^" and content and set(content) <= set("°∘' "):
            return content.replace("∘", "°").replace(" ", "")
        return f"{sign}{{{content}}}" if content else ""

    def _argument(self, depth: int, *, plain: bool = False) -> str:
        """One argument; in plain text a whole number, or the content of round brackets."""
        while self._next == " ":
            self._at += 1
        if depth >= _DEEPEST or self._next in ("", "}", ")"):
            return ""
        closing = {"{": "}", "(": ")" if plain else None}.get(self._next)
        if closing:
            self._at += 1
            return self.group(depth + 1, closing).strip()
        number = _NUMBER.match(self._text, self._at) if plain else None
        if number is not None:
            self._at = number.end()
            return number[0]
        return self._piece(depth + 1).strip()


# Lists

Joiner = Literal["list", "or", "and"]
Item = TypeVar("Item")
Same = Callable[[Item, Item], "bool | None"]

# Maximum number of members of a list.
MOST = 16
_LONGEST_LIST = 2000
_DEEPEST_LIST = 40
_MOST_UNDECIDED = 6
# x=1或x=2, "1, 2 and 3", x>1且x<3
_TOKEN = re.compile(
    r"(?P<list>[,;、\n]|以及|还有|和|与|及|(?<![A-Za-z\\])and(?![A-Za-z]))"
    r"|(?P<or>或者|或是|或|[∪∨]|(?<![A-Za-z\\])or(?![A-Za-z]))"
    r"|(?P<and>并且|而且|同时|且|[∩∧])"
    r"|(?P<bracket>[()\[\]{}❴❵])"
)
# the comma of 1,000 is not a separator
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3}){1,9}(?![\d,])")
_CLOSING = {"(": ")]", "[": ")]", "{": "}", "❴": "❵"}  # an interval may be half open
# x=±2 are two values
_SIGN = re.compile("[±∓]")


class Piece(NamedTuple):
    """A member of a list, and the text between it and the one before: empty for the first."""

    text: str
    joined: frozenset[Joiner]


def pieces(text: str, *, thousands: bool = True) -> tuple[Piece, ...] | None:
    """The members of a list; text in brackets is not split.

    ``thousands`` says whether the comma of 1,000 belongs to the number. None for brackets that
    don't match or are nested deeper than 40, a list that starts or ends with "or" or "and", an
    empty text, a text above 2000 characters, or more than 16 members.
    """
    numbers = _THOUSANDS.finditer(text) if thousands else ()
    kept = {at for number in numbers for at in range(*number.span())}
    closers: list[str] = []
    found: list[Piece] = []
    joined: set[Joiner] = set()
    start = 0
    for token in _TOKEN.finditer(f"{text}\n" if len(text) <= _LONGEST_LIST else ""):
        if token.lastgroup != "bracket":
            if closers or token.start() in kept:
                continue
            member = text[start : token.start()].strip(" .。")
            if member:
                found.append(Piece(member, frozenset(joined)))
                joined = set()
            joined.add(cast(Joiner, token.lastgroup))
            start = token.end()
        elif token[0] in _CLOSING and len(closers) < _DEEPEST_LIST:
            closers.append(_CLOSING[token[0]])
        elif not closers or token[0] not in closers.pop():
            return None
    dangling = closers or joined != {"list"} or (found and found[0].joined)
    return tuple(found) if 0 < len(found) <= MOST and not dangling else None


def signed(text: str) -> tuple[str, ...] | None:
    """A text with its ± replaced by + and by -; the text itself if it has none.

    None for more than one ±: whether the signs belong together is unknown.
    """
    signs = _SIGN.findall(text)
    if len(signs) > 1:
        return None
    both = "+-" if "±" in signs else "-+"
    return tuple(_SIGN.sub(each, text) for each in both[: 1 + len(signs)])


def all_of(verdicts: Sequence[bool | None]) -> bool | None:
    """False if any is False, else None if any is None, else True."""
    return False if False in verdicts else (None if None in verdicts else True)


def same_items(one: Sequence[Item], other: Sequence[Item], same: Same[Item]) -> bool | None:
    """Whether two lists have as many items, and the same ones, in any order."""
    return same_members(one, other, same) if len(one) == len(other) else False


def same_members(one: Sequence[Item], other: Sequence[Item], same: Same[Item]) -> bool | None:
    """Whether each item of two lists equals one of the other; duplicates are ignored.

    None if that depends on pairs that ``same`` can't decide, or on very many of them.
    """
    rows: list[list[bool | None]] = []
    for left in one:
        rows.append([same(left, right) for right in other])
        if sum(row.count(None) for row in rows) > _MOST_UNDECIDED:
            return None  # since that takes long
    lines = [*rows, *zip(*rows, strict=True)]
    return all_of([True if True in line else None if None in line else False for line in lines])
