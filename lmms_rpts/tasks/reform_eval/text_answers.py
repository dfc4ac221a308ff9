"""Free-text answers, for the strict grading of text reading and key information."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from lmms_rpts.grading.numbers import ENGLISH_SCALES, ENGLISH_WORDS, english_number
from lmms_rpts.reasoning.thinking import split_thinking

WIDE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Characters of scripts without spaces between words, for a character class in a pattern."""
WIDE_CHARACTER = re.compile(f"[{WIDE}]")

_HYPHENS = re.compile(r"[-‐‑‒–—_]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PUNCTUATION = re.compile(r"[;:!?\"“”„()\[\]{}…¿¡、。«»]|(?<!\d)[,/]|[,/](?!\d)")
# "U.S.A.", but not ".5"
_REMOVED = re.compile(r"['’‘`´]|\.(?!\d)|(?<=[^\W\d])\.")
_NUMBER_WORD = rf"(?:{'|'.join(sorted((*ENGLISH_WORDS, *ENGLISH_SCALES), key=len, reverse=True))})"
_NUMBER_WORDS = re.compile(rf"\b{_NUMBER_WORD}(?:\s(?:and\s)?{_NUMBER_WORD}){{0,12}}\b")


def text_contains(
    prediction: str, answers: str | Sequence[str], *, numbers_as_words: bool
) -> bool | None:
    """Whether a response contains one of several answers as whole words.

    Both are compared in NFKC and without case, punctuation and apostrophes; a hyphen is a space.
    Where an answer ends in a word character, the word must end too, except in Chinese.

    Args:
        prediction: the response; any text. Thinking is dropped.
        answers: one or several right answers.
        numbers_as_words: whether "two" is 2, as for key information.

    Returns:
        True or False; None if all answers are empty or only punctuation.
    """
    listed = [answers] if isinstance(answers, str) else answers
    wanted = [each for answer in listed if (each := _comparable(answer, numbers_as_words))]
    if not wanted:
        return None
    said = _comparable(spoken_part(prediction), numbers_as_words)
    return any(_stands_in(said, each) for each in wanted)


def spoken_part(response: str) -> str:
    """The response without thinking."""
    return split_thinking(response)[0]


def _comparable(text: str, numbers_as_words: bool) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = _HYPHENS.sub(_minus_or_space, folded.replace("−", "-"))
    folded = _THOUSANDS.sub("", folded)
    folded = " ".join(_REMOVED.sub("", _PUNCTUATION.sub(" ", folded)).split())
    return _NUMBER_WORDS.sub(_digits, folded) if numbers_as_words else folded


def _minus_or_space(found: re.Match[str]) -> str:
    """Replace a hyphen by a space, except the sign of a number: "24-hours", "-5"."""
    before = found.string[max(0, found.start() - 1) : found.start()]
    after = found.string[found.end() : found.end() + 1]
    return "-" if found[0] == "-" and after.isdigit() and not before.isalnum() else " "


def _digits(found: re.Match[str]) -> str:
    value = english_number(found[0])
    if value is not None:
        return str(value)
    return " ".join(str(ENGLISH_WORDS.get(word, word)) for word in found[0].split())


def _stands_in(text: str, wanted: str) -> bool:
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not _runs_on(text[start - 1 : start + 1] if start else "") and not _runs_on(
            text[end - 1 : end + 1]
        ):
            return True
        start = text.find(wanted, start + 1)
    return False


def _runs_on(pair: str) -> bool:
    """Whether both characters belong to one word."""
    return len(pair) == 2 and all(
        (each.isalnum() or each == "_") and not WIDE_CHARACTER.match(each) for each in pair
    )
