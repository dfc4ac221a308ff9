"""Comparison of texts: equal after normalisation, or containing a phrase as whole words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from lmms_rpts.grading.numbers import ENGLISH_SCALES, ENGLISH_WORDS, english_number
from lmms_rpts.grading.plain_text import LONGEST, WIDE, normal, plain, without_lead
from lmms_rpts.grading.statement import Statement, Verdict
from lmms_rpts.grading.vocabulary import phrases

_OPPOSITES = {
    "yes": "no", "true": "false", "correct": "incorrect", "right": "wrong", "是": "否", "对": "错",
    "正确": "错误",
}  # fmt: skip
_OTHER = {**_OPPOSITES, **{other: one for one, other in _OPPOSITES.items()}}
# "Yes, it is red."; but not "Yes, but only if it rains"
_YES_NO = re.compile(
    r"(yes|no|是|否|对|错)(?:[,，.。!:]|\s-)\s?(?P<reason>\S.{0,300})", re.IGNORECASE
)
# "Yes, but only if it rains" is not yes
_LIMITS = re.compile(
    r"\b(?:but|if|unless|except|however|or|only|although|though|yes|no|maybe)\b|但|如果|除非|或|不过",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?\d{1,40}")


def gold_text(answer: str) -> str:
    """The form of a gold answer for comparison; empty if it is empty or too long."""
    return "" if len(answer) > LONGEST else normal(plain(answer))


def text_verdict(stated: Statement, gold: str) -> Verdict:
    """Whether a statement gives the gold text, in normal form."""
    said = [normal(stated.said), normal(without_lead(stated.said))]
    if gold in said:
        return Verdict(True, "the same text")
    last = said[1] or said[0]
    if gold in _OTHER:
        found = _YES_NO.fullmatch(stated.said)
        plainly = found and not _LIMITS.search(found["reason"])
        word = normal(found[1]) if found and plainly else last
        if word in (gold, _OTHER[gold]):
            return Verdict(word == gold, "the word or its opposite")
    numbers = _NUMBER.fullmatch(gold) and _NUMBER.fullmatch(last)
    if numbers and int(gold) != int(last):  # 05 may be meant as 5
        return Verdict(False, "different number")
    return Verdict(None, "different wording")


# Phrases in a text


_WORD = rf"[^\W_{WIDE}]"
_PUNCTUATION = r"\w\s;:!?\"“”„()\[\]{}…¿¡、。«»,/.'’‘`´‐‑‒–—_-"
_ACCENTS = "\u0300-\u036f"
# Tokens of a phrase: words, Chinese characters, numbers with sign and point, and symbols
_TOKEN = rf"(?:(?<!\w)-)?(?:\.?\d)+|(?:(?!\d){_WORD}[{_ACCENTS}]*)+|[{WIDE}]"
_TOKENS = {False: re.compile(rf"{_TOKEN}|[%°#+]"), True: re.compile(rf"{_TOKEN}|[^{_PUNCTUATION}]")}
_NUMBER_WORD = rf"(?:{'|'.join(sorted((*ENGLISH_WORDS, *ENGLISH_SCALES), key=len, reverse=True))})"
# "twenty-two", "two hundred and five"
_NUMBER_WORDS = re.compile(rf"\b{_NUMBER_WORD}(?:[\s-](?:and\s)?{_NUMBER_WORD}){{0,12}}\b")
# "not a dog, but a cat": the denial ends before the cat
_CLAUSE_END = re.compile(
    r"[.;。；!！?？\n,，:：]|\b(?:but|however|yet|whereas)\b|但是?|而是|只是|不过"
)
_DENIED_BEFORE = phrases("denies_phrase")
# "a cat" isnt correct, a cat 不是答案, "a cat? No"
_DENIED_AFTER = re.compile(
    r"[\"*)\s]{0,4}(?:(?:isnt|arent|wasnt|werent|(?:is|are|was|were)\s{1,3}not)\s{1,3}"
    r"(?:(?:the\s{1,3})?(?:correct|right|answer|one)|it)\b"
    r"|(?:is|are|was|were)\s{1,3}(?:wrong|incorrect|excluded|ruled out)\b"
    r"|[?？]\s{0,3}(?:no\b|不)|不是(?:正确)?答案|不对|不正确|是错|被排除|除外)"
)
# "Nothing but a cat" is a cat; "everything but a cat" is not.
_ALL_BUT = re.compile(
    r"\b(?:all|(?:every|any)(?:thing|one|body|where)?)(?:\s{1,3}of\s{1,3}(?:them|these|those))?"
    r"(?:\s{1,3}(?!(?:is|are|was|were|but)\b)[a-z]{1,15})?\s{1,3}but\b"
)
# Characters before a phrase in which a denial of it may stand
_REACH = 80


@lru_cache(maxsize=64)
def folded(text: str, *, exact: bool = False, number_words: bool = False) -> str:
    """A text for ``says``: without case, apostrophes, and separators of thousands.

    Args:
        exact: keep accents, as for text that was read from an image.
        number_words: write number words as digits.
    """
    if not exact:  # a pictureNew York
        text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFC", text))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if not exact:
        text = re.sub(f"[{_ACCENTS}]", "", unicodedata.normalize("NFKD", text))
    text = re.sub(r"['’‘`´](?:s\b)?", "", text.replace("−", "-"))
    text = re.sub(r"(?<![^\W_])(?:[^\W\d_]\.){2,20}", lambda found: found[0].replace(".", ""), text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return _NUMBER_WORDS.sub(_digits, text) if number_words else text


def _digits(found: re.Match[str]) -> str:
    value = english_number(found[0].replace("-", " "))
    if value is not None:
        return str(value)
    return " ".join(str(ENGLISH_WORDS.get(word, word)) for word in re.split(r"[\s-]", found[0]))


def bare_text(text: str) -> str:
    """A text without case, accents, spaces and punctuation; signs and points of numbers stay."""
    return "".join(_TOKENS[False].findall(folded(text)))


def phrase_pattern(phrase: str, *, exact: bool = False) -> re.Pattern[str] | None:
    """The pattern of a folded phrase as whole words; None if nothing in it can be compared.

    Punctuation is ignored, and so are spaces unless ``exact``.
    """
    matches = list(_TOKENS[exact].finditer(phrase))
    if not matches:
        return None
    tokens = [each[0] for each in matches]
    parts = [re.escape(tokens[0])]
    for one, other in pairwise(matches):
        gap = r"[\W_]{0,4}"
        if exact and re.search(_WORD, one[0]) and re.search(_WORD, other[0]):
            gap = "" if one.end() == other.start() else r"[\W_]{1,4}"  # "8g" is not "8 g"
        parts += [gap, re.escape(other[0])]
    before = after = ""
    if re.match(_WORD, tokens[0]):
        before = rf"(?<!{_WORD})(?<!\d\.)" + ("" if exact else r"(?<![^\W\d_][-‐‑])(?<!\d,)")
        before += r"(?<!(?<!\w)-)" if tokens[0][0].isdigit() else ""
    elif tokens[0][0] == "-":
        before = r"(?<!\w)"
    if re.search(rf"{_WORD}[{_ACCENTS}]*$", tokens[-1]):
        after = rf"(?!{_WORD}|[{_ACCENTS}]|\.\d)"
        if not exact:  # neither a part of 1,5 nor of left-handed
            after += r"(?!,\d)" if tokens[-1][-1].isdigit() else r"(?![-‐‑][^\W\d_])"
    return re.compile(f"{before}{''.join(parts)}{after}")


def says(text: str, phrase: str, *, exact: bool = False) -> bool | None:
    """Whether a folded text contains a folded phrase as whole words; None if it denies it."""
    pattern = phrase_pattern(phrase, exact=exact)
    if pattern is None:
        return bool(phrase.strip()) and phrase.strip() in text
    found: bool | None = False
    for place in pattern.finditer(text):
        if not _is_denied(text, *place.span(), exact):
            return True
        found = None
    return found


def _is_denied(text: str, start: int, end: int, exact: bool) -> bool:
    before = _ALL_BUT.sub(" except ", text[max(0, start - _REACH) : start])
    # A sign may say NO PARKING.
    cues = _DENIED_BEFORE.findall(_CLAUSE_END.split(before)[-1])
    denied = any(cue != "no" or not exact for cue in cues)
    return denied or _DENIED_AFTER.match(text, end) is not None
