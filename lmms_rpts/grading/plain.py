"""Plain form of an answer: LaTeX, markdown and typographic signs as simple characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html.entities import html5

from lmms_rpts.grading.patterns import VOCABULARY, phrases

# Maximum number of characters of an answer that are parsed.
LONGEST = 2_000

# Characters of scripts that are written without spaces: kana, Chinese, Hangul
WIDE = "\u3040-\u9fff\uac00-\ud7af"
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")
_SIGNS = str.maketrans({
    "−": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "⁄": "/", "∕": "/", "“": '"', "”": '"',
    "‘": "'", "’": "'", "\u200b": None, "\ufeff": None, "⩽": "≤", "≦": "≤", "⩾": "≥", "≧": "≥",
    "∶": ":", "∅": "∅", "Ø": "∅", "▵": "△",
})  # fmt: skip
# Commands whose sign HTML has under another name or not at all, and names of functions
_LATEX = VOCABULARY["latex"].split()
_COMMANDS: dict[str, str] = dict(zip(_LATEX[::2], _LATEX[1::2], strict=True))
_LAYOUT = re.compile("left|right|big|Big|displaystyle|limits|rm|bf|q?quad")
_COMMAND = re.compile(r"\\([A-Za-z]{2,12})(?![A-Za-z])")
# \begin{cases}, \begin{array}{l}
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s?\{[a-z]{1,12}\*?\}(?:\{[lcr|]{0,12}\})?")
# \boxed{5}, \text{B}, \frac{1}{2}, \sqrt[3]{2}, x^{n+1}, x_{1}, {c}: what has no braces within it
_GROUP = re.compile(
    r"\\(?P<frac>[dtc]?frac)\s?\{(?P<over>[^{}]*)\}\s?\{(?P<under>[^{}]*)\}(?P<next>\s?[\w(\\√^])?"
    r"|\\sqrt\s?(?:\[(?P<degree>[^\][{}]{1,9})\]\s?)?\{(?P<root>[^{}]*)\}"
    r"|(?P<script>[\^_])\s?\{(?P<raised>[^{}]*)\}"
    r"|\\(?:boxed|text|textbf|textit|mathrm|mathbf|mathit|mathbb|mbox|rm|bf|operatorname|overline"
    r"(?=\{[A-Z]{1,3}\}))\s?\{(?P<words>[^{}]*)\}"
    # {c}, but not the argument of a command, nor the set {1,2}
    r"|(?P<before>\\(?:[dtc]?frac|sqrt|dot|bar|vec|hat|over[a-z]{1,20})\s?|[\w}\])]?)\{(?P<bare>[^{},，、|]*)\}"
)
_DEEPEST = 16
_SIMPLE = re.compile(r"\d+(?:\.\d+)?|[A-Za-zπα-ω]")
# "**B**", "*B*", "__B__" around words; but not the power of "3**n + 4**n"
_PAIR = re.compile(
    r"(?<![0-9A-Za-z)*])(\*{1,3})(?=[^\s*])([^*\n]{1,400}?)(?<=\S)\1(?![0-9A-Za-z(*√])"
    r"|(?<!\w)(__)(?=[^\s_])([^\n]{1,400}?)(?<=[^\s_])__(?!\w)"
)
# "B**", "** B" where the other stars were cut off; but not "8 * 10", "8**2", "10**-4"
_UNPAIRED = re.compile(
    r"(?<![0-9A-Za-z)*])(?<!\w )\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w(√*-])|^\*{1,3}|\*{1,3}$|`"
    r"|(?<!\w)__(?=[^\s_])|(?<=[^\s_])__(?!\w)"
)
# $$x$$, \(x\), \[x\]
_MATHS = re.compile(r"\$\$|\\[()\[\]]")
# $5$ is maths, and "$5 and $6" are prices
_PAIRED = re.compile(r"(?<!\\)\$([^$\n]{1,300})\$(?!\d)")
# Stand for a dollar sign and braces escaped in LaTeX.
_ESCAPED = str.maketrans("\ue000\ue001\ue002", "${}")
_POWER, _SUBSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]{1,6}"), re.compile("[₀-₉ₙ]{1,6}")
# Characters that may have a compatibility form or be digits; not kana, Chinese, full width
_ODD = re.compile("[^\\x00-\\x7f\\u3000-\\u9fff\\uff00-\\uffef]")


@lru_cache(maxsize=2_048)
def plain(text: str) -> str:
    """The first 2,000 characters of a text, in plain characters and on one line.

    Digits of all scripts become ASCII digits; powers are written with ``^``, indices with ``_``,
    LaTeX's fractions and roots with brackets where they are needed: ``(a+1)/2``, ``√(a)``.
    """
    text = text[:LONGEST].replace("\0", " ").replace("{,}", ",")
    if not text.isascii():
        text = _ODD.sub(lambda found: _character(found[0]), text)
        text = _POWER.sub(lambda found: "^" + found[0].translate(_POWERS), text)
        text = _SUBSCRIPT.sub(lambda found: "_" + found[0].translate(_SUBSCRIPTS), text)
        text = unicodedata.normalize("NFKC", text)[: 2 * LONGEST].translate(_SIGNS)
    if "\\" in text or "{" in text:
        text = _latex(text)
    else:
        text = _PAIRED.sub(r" \1 ", text.replace("$$", " "))
    if "*" in text or "_" in text or "`" in text:
        text = _UNPAIRED.sub("", _PAIR.sub(lambda found: found[2] or found[4], text))
    text = re.sub(r"\[\[([A-Za-z])\]\]", r"[\1]", text)
    return " ".join(text.translate(_ESCAPED).split())


def _latex(text: str) -> str:
    text = text.replace("\\$", "\ue000").replace("\\{", "\ue001").replace("\\}", "\ue002")
    text = text.replace("\\%", "%").replace("\\*", "*").replace("\\_", "_")
    text = re.sub(r"(?<=\d)\\,(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\\(?=\\[a-z]{3})", "", text)  # \\frac of a text that was escaped twice
    text = _PAIRED.sub(r" \1 ", _MATHS.sub(" ", text))
    text = _ENVIRONMENT.sub(" ", text.replace("\\underline{}", "____"))
    text = re.sub(r"(?:\{\s?\})?\^\s?\{?\s?(?:\{\s?\}\^)?\\(?:circ|degree)\s?\}?", "°", text)
    text = re.sub(r"(\\[dtc]?frac|\\sqrt)\s?(\d)", r"\1{\2}", text)  # \frac12, \sqrt 3
    text = re.sub(r"(\\[dtc]?frac\{[^{}]*\})\s?(\d)", r"\1{\2}", text)
    for _ in range(_DEEPEST):
        text, before = _GROUP.sub(_opened, text), text
        if text == before:
            break
    text = re.sub(r"\\\\", "; ", text)
    text = _COMMAND.sub(_sign, text)
    return re.sub(r"\s+(?=\^)", "", re.sub(r"\\[,;!: ]|~(?=\\)", " ", text))


def _opened(found: re.Match[str]) -> str:
    """A group of LaTeX without its braces."""
    if found["frac"]:
        over, under = _bracketed(found["over"]), _bracketed(found["under"])
        # \frac{4}{3}\pi is (4/3)π
        return f" ({over}/{under}){found['next']}" if found["next"] else f" {over}/{under}"
    if found["root"] is not None:
        degree = f"[{found['degree']}]" if found["degree"] else ""
        return f"√{degree}({found['root'].strip()})"
    if found["script"]:
        raised = found["raised"].strip()
        whole = re.fullmatch(r"[-+]?\d+|[A-Za-z]|[°']+|", raised) or found["script"] == "_"
        return f"{found['script'] if raised.strip('°') else ''}{raised if whole else f'({raised})'}"
    if found["words"] is not None:
        return f" {found['words']} "
    before, bare = found["before"], found["bare"]
    if before.startswith(("\\", "}")):
        return found[0]
    # {3} is a set unless it stands in a formula; {x}^{2} is not one
    follows = found.string[found.end() : found.end() + 1]
    alone = not before and follows in "，。;$ " and re.fullmatch(r"\s*-?[\d.]+\s*", bare)
    return f"\ue001{bare}\ue002" if alone else f"{before}{bare}"


def _sign(found: re.Match[str]) -> str:
    """The sign of a command; the command itself if it has none."""
    if _LAYOUT.fullmatch(found[1]):
        return " " if "quad" in found[1] else ""
    sign = html5.get(f"{found[1]};", "")
    known = unicodedata.category(sign) in ("Sm", "So", "Ll", "Lu") if len(sign) == 1 else False
    return _COMMANDS.get(found[1], sign.translate(_SIGNS) if known else found[0])


def _bracketed(text: str) -> str:
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _character(character: str) -> str:
    """A character without compatibility forms: ½ becomes 1/2, ② becomes (2), ٣ becomes 3."""
    fraction = unicodedata.normalize("NFKC", character)
    if "⁄" in fraction[:-1]:  # 2½ is 2 1/2 and not 21/2
        return f" {fraction}"
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    if "\u2460" <= character <= "\u2473":
        return f"({ord(character) - 0x245F})"
    return character


# "So the answer is", "It is", "I think", 所以, 这是
_LEAD = re.compile(rf"\A{phrases('lead').pattern}[,:，：]?\s?", re.IGNORECASE)


def without_lead(text: str) -> str:
    """A plain text without leading function words: "So it is Paris" becomes "Paris"."""
    for _ in range(8):
        text = _LEAD.sub("", text).strip()
    return text


# "A dog" equals "dog"; but the letter is kept in "A minor" and in blood types
_ARTICLE = re.compile(
    r"(?<!\w)(?:the|The|a|(?<![\w\s])A|^A|an|^An)(?!\s(?i:minor|major|flat|sharp|positive|negative"
    r"|plus|minus|levels?)\b)\s(?=[\"']?\w\w)"
)
# Punctuation that says nothing; not the signs of C++, -5, 3.5, 50%, A' and of symbols
_PUNCTUATION = re.compile(
    r"(?<!\d)[.,:]|[.,:](?!\d)|(?<=[\w.])-|-(?!\.?\d|[A-Za-z](?![A-Za-z]))"
    r"|[\s!?;()\[\]{}\"'\\…¿¡、。，；：？！（）【】「」『』《》〈〉·•—]"
)
# 红 色 is 红色
_BETWEEN_WIDE = re.compile(r"(?<=[\u3040-\u9fff])\s(?=[\u3040-\u9fff])")


@lru_cache(maxsize=2_048)
def normal(text: str) -> str:
    """A plain text in the form for comparison: no upper case, articles, quotes or punctuation."""
    text = re.sub(r"(?<=[A-Za-z])'(?=[A-Za-z])", "", _ARTICLE.sub("", text))
    text = re.sub(r"(?<=\b[A-Za-z])\.(?=[A-Za-z](?:\.|\b))", "", text)  # U.S.A.
    if not text.startswith("'"):
        text = re.sub(r"(?<![^\W_][^\W_])(?<=[^\W_])'", "′", text)  # A', 5'
    words = unicodedata.normalize("NFKC", _PUNCTUATION.sub(" ", text).casefold())
    return _BETWEEN_WIDE.sub("", " ".join(words.split()))
