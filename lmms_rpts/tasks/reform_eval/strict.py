"""Grading of ReForm-Eval without the quirks of the published rules, for ``accuracy_strict``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_rpts.grading.choice import UNIDENTIFIED, read_choice
from lmms_rpts.grading.numbers import ENGLISH_SCALES, ENGLISH_WORDS, english_number
from lmms_rpts.grading.options import read_options
from lmms_rpts.reasoning.thinking import split_thinking

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


_HYPHENS = re.compile(r"[-‐‑‒–—_]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PUNCTUATION = re.compile(r"[;:!?\"“”„()\[\]{}…¿¡、。«»]|(?<!\d)[,/]|[,/](?!\d)")
# "U.S.A.", but not ".5"
_REMOVED = re.compile(r"['’‘`´]|\.(?!\d)|(?<=[^\W\d])\.")
_NUMBER_WORD = rf"(?:{'|'.join(sorted((*ENGLISH_WORDS, *ENGLISH_SCALES), key=len, reverse=True))})"
_NUMBER_WORDS = re.compile(rf"\b{_NUMBER_WORD}(?:\s(?:and\s)?{_NUMBER_WORD}){{0,12}}\b")


@dataclass(frozen=True, slots=True)
class Choice:
    """The index of the option that an answer chooses, None if it is unclear; and the rule."""

    index: int | None
    rule: str


def chosen_option(prediction: str, options: Sequence[str], marks: Sequence[str]) -> Choice:
    """The option that a response chooses, by an offered mark or by the option's text.

    Args:
        prediction: the response; any text. Thinking is dropped.
        options: the texts of the options, as shown.
        marks: one mark for each option, without brackets: letters or numbers.

    Raises:
        ValueError: if the numbers of marks and options differ.
    """
    if len(options) != len(marks):
        raise ValueError(f"{len(options)} options but {len(marks)} marks")
    if not options:
        return Choice(None, UNIDENTIFIED)
    found = read_choice(prediction, read_options(options, marks))
    if found.marks is None or len(found.marks) > 1:
        return Choice(None, found.rule)
    return Choice(list(marks).index(min(found.marks)), found.rule)


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
    said = _comparable(split_thinking(prediction)[0], numbers_as_words)
    return any(_stands_in(said, each) for each in wanted)


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
        (each.isalnum() or each == "_") and not _WIDE.match(each) for each in pair
    )
