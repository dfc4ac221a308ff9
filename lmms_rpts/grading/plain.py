"""Plain form of an answer: LaTeX, markdown and typographic signs as simple characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Maximum number of characters of an answer that are parsed.
LONGEST = 2_000

# Characters of scripts that are written without spaces: kana, Chinese, Hangul
WIDE = "\u3040-\u9fff\uac00-\ud7af"
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SIGNS = str.maketrans({
    "−": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "⁄": "/", "∕": "/", "“": '"', "”": '"',
    "‘": "'", "’": "'", "\u200b": None, "\ufeff": None,
})  # fmt: skip
_COMMANDS = {
    "times": "×", "cdot": "×", "approx": "≈", "sim": "~", "pm": "±", "leq": "≤", "le": "≤",
    "geq": "≥", "ge": "≥", "ne": "≠", "neq": "≠", "sqrt": "√", "pi": "π", "infty": "∞",
    "div": "÷", "circ": "°", "left": "", "right": "", "displaystyle": "", "quad": " ",
    "lt": "<", "gt": ">",
}  # fmt: skip
_COMMAND = re.compile(r"\\([a-z]{2,12})(?![A-Za-z])")
# \boxed{5}, \text{B}, \mathrm{cm}
_WRAPPED = re.compile(
    r"\\(?:boxed|text|textbf|textit|mathrm|mathbf|mathit|mbox|bf)\s?\{([^{}]{0,500})\}"
)
# \frac{1}{2}, \dfrac{3}{4}
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{1,40})\}\s?\{([^{}]{1,40})\}")
_SIMPLE = re.compile(r"\d{1,40}(?:\.\d{1,40})?")
# "**B**", "*B*", "`B`"; but not "8 * 10", "8**2"
_EMPHASIS = re.compile(
    r"(?<!\w)\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?!\w)|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)|`"
)
# $$x$$, \(x\), \[x\]
_MATHS = re.compile(r"\$\$|\\[()\[\]]")
# $5$ is maths, and "$5 and $6" are prices
_PAIRED = re.compile(r"(?<!\\)\$([^$\n]{1,300})\$(?!\d)")
_DOLLAR = "\ue000"  # stands for a dollar sign escaped in LaTeX
_POWER, _SUBSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]{1,6}"), re.compile("[₀-₉]{1,6}")
# Characters that may have a compatibility form or be digits; not kana, Chinese, full width
_ODD = re.compile("[^\\x00-\\x7f\\u3000-\\u9fff\\uff00-\\uffef]")
# ½, ⅓: with a space before, since 2½ is 2 1/2 and not 21/2
_CLASSES = {"¼", "½", "¾", *map(chr, range(0x2150, 0x215F))}


@lru_cache(maxsize=2_048)
def plain(text: str) -> str:
    """The first 2,000 characters of a text, in plain characters and on one line.

    Digits of all scripts become ASCII digits; powers are written with ``^``, indices with ``_``.
    """
    text = (
        text[:LONGEST]
        .replace("\0", " ")
        .replace("\\$", _DOLLAR)
        .replace("\\%", "%")
        .replace("{,}", ",")
    )
    if not text.isascii():
        text = _ODD.sub(lambda found: _character(found[0]), text)
        text = _POWER.sub(lambda found: "^" + found[0].translate(_POWERS), text)
        text = _SUBSCRIPT.sub(lambda found: "_" + found[0].translate(_SUBSCRIPTS), text)
        text = unicodedata.normalize("NFKC", text)[: 2 * LONGEST].translate(_SIGNS)
    text = re.sub(r"(?<=\d)\\,(?=\d{3}(?!\d))", "", text)
    text = _PAIRED.sub(r" \1 ", _MATHS.sub(" ", text)).replace(_DOLLAR, "$")
    for _ in range(3):
        text = _WRAPPED.sub(r" \1 ", text)
    text = _FRACTION.sub(_fraction, text)
    text = re.sub(r"\[\[([A-Za-z])\]\]", r"[\1]", text)
    text = re.sub(r"\^\s?\{?\s?\\circ\s?\}?", "°", text)
    text = _COMMAND.sub(lambda found: _COMMANDS.get(found[1], found[0]), text)
    text = re.sub(r"\\[,;!: ]|~(?=\\)", " ", text)
    text = re.sub(r"\^\{\s?([-+]?\d{1,3})\s?\}", r"^\1", text)
    return " ".join(_EMPHASIS.sub("", text).split())


def _character(character: str) -> str:
    """A character without compatibility forms: ½ becomes 1/2, ② becomes (2), ٣ becomes 3."""
    if character in _CLASSES:
        return " " + unicodedata.normalize("NFKC", character).replace("⁄", "/")
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    if "\u2460" <= character <= "\u2473":
        return f"({ord(character) - 0x245F})"
    return character


def _fraction(found: re.Match[str]) -> str:
    if _SIMPLE.fullmatch(found[1]) and _SIMPLE.fullmatch(found[2]):
        return f" {found[1]}/{found[2]}"
    return f" ({found[1]})/({found[2]})"


# "So the answer is", "It is", "I think", 所以, 这是
_LEAD = re.compile(
    r"(?:(?:so|thus|therefore|hence|then|and|well|finally|overall|in\stotal)\b[,:]?\s?"
    r"|(?:i|we)\s(?:(?:would|will)\s)?(?:think|believe|say|see|count|conclude|choose|select|pick)"
    r"(?:\sthat)?\b[,:]?\s?"
    r"|(?:the|my)\s(?:(?:final|correct|right)\s)?(?:answer|result|solution|total|option|choice)"
    r"(?:\sis\b|\sare\b|\swould\sbe\b|\s?:)(?:\s?:)?\s?"
    r"|(?:it|this|that|these|those|they|he|she|there)(?:\s(?:is|are|was|were|must\sbe)\b|'s\b|'re\b)"
    r"(?!\s(?:not|no)\b)\s?"
    r"|that\s(?=(?:the|it|this|there|an?)\s)|it\s(?=can(?:not|'t|\snot)\b)"
    r"|(?:因此|所以|故|那么|综上)[,:，：]?\s?|(?:最终|正确)?(?:答案|结果)(?:应该|应)?(?:是|为|:)(?!否|不)\s?"
    r"|(?:我认为|我觉得)[,，]?|(?:这|它|那|他|她)?(?:就|应该|应)?[是为](?!否|不|什么)\s?)",
    re.IGNORECASE,
)


def without_lead(text: str) -> str:
    """A plain text without leading function words: "So it is Paris" becomes "Paris"."""
    for _ in range(6):
        found = _LEAD.match(text)
        if found is None or found.end() == 0:
            break
        text = text[found.end() :].strip()
    return text


# Signs that are kept for comparison.
_WITHIN = re.compile(
    r"(?<=\d)[.,:](?=\d)|(?<![\w.])-(?=\.?\d|[A-Za-z](?![A-Za-z]))|[+#%&@°*/^_<>=≤≥≠$€£±√∞~|]"
)
# "A dog" equals "dog"; but the letter is kept in "A minor" and in blood types
_ARTICLE = re.compile(
    r"(?<!\w)(?:the|(?:a|(?<![\w\s])A|^A|an|^An)(?!\s(?i:minor|major|flat|sharp|positive|negative"
    r"|plus|minus|levels?)\b))\s(?=[\"']?\w\w)|(?<!\w)The\s(?=[\"']?\w\w)"
)
# 红 色 is 红色
_BETWEEN_WIDE = re.compile(r"(?<=[\u3040-\u9fff])\s(?=[\u3040-\u9fff])")


@lru_cache(maxsize=2_048)
def normal(text: str) -> str:
    """A plain text in the form for comparison: no upper case, articles, quotes or punctuation.

    Signs that distinguish answers are kept: those of ``C++``, ``-5``, ``3.5``, ``50%``, ``A'``.
    """
    text = _ARTICLE.sub("", text)
    text = re.sub(r"(?<=[A-Za-z])'(?=[A-Za-z])", "", text)
    text = re.sub(r"(?<=[A-Za-z])\.(?=[A-Za-z](?:\.|$))|(?<=\b[A-Za-z])\.(?=[A-Za-z]\b)", "", text)
    if not text.startswith("'"):
        text = re.sub(r"(?<![^\W_][^\W_])(?<=[^\W_])'", "′", text)  # A', 5'
    kept = []
    for at, character in enumerate(text):
        stays = character.isalnum() or character in "′+#%&@°*/^_<>=≤≥≠$€£±√∞~|"
        stays = stays or unicodedata.combining(character) > 0 or _is_symbol(character)
        kept.append(character if stays or _WITHIN.match(text, at) else " ")
    words = unicodedata.normalize("NFKC", "".join(kept).casefold())
    return _BETWEEN_WIDE.sub("", " ".join(words.split()))


def _is_symbol(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character) in ("So", "Sm", "Sc", "Cs")
