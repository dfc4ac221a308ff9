"""Options of a question, and detection of options that a text names."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_rpts.answers.final_statement import sentences
from lmms_rpts.answers.plain_text import normal, plain
from lmms_rpts.answers.retraction import is_refused
from lmms_rpts.grading.quantities import Quantity, read_quantity

WITHOUT_OPTIONS = "ABCDEFGHIJ"
"""Letters that may be chosen if the options are unknown."""

# Letters that stand alone, except the article "A" and the pronoun "I".
STANDING = re.compile(r"(?<![A-Za-z0-9_'′.\\])([A-Z])(?![A-Za-z0-9_′])(?!'[a-z])")
ARTICLE = re.compile(
    r"\bA (?=(?!(?:is|was|and|or|because|since|as|fits|looks|seems|works|would|must|should|it"
    r"|instead)\b)[a-z])|\bI (?=[a-z])|\bI'"
)
_OWN_LETTER = re.compile(r"\s{0,4}[(\[]?([A-Za-z])[)\].:：、]\s{0,4}(?=\S)")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a question.

    Attributes:
        letters: the letters that may be chosen.
        texts: the options in normal form; empty if unknown.
        quantities: the options as quantities, if all of them are; else empty.
    """

    letters: str
    texts: tuple[str, ...]
    quantities: tuple[Quantity, ...]

    def of_text(self, said: Sequence[str]) -> set[str]:
        """The letters of the options that equal one of these normal texts."""
        return {
            letter
            for letter, text in zip(self.letters, self.texts, strict=False)
            if text and text in said
        }

    def text_of(self, letter: str) -> str:
        """The normal text of an option; empty if unknown."""
        return self.texts[self.letters.index(letter)] if self.texts else ""


def read_options(options: Sequence[str]) -> Options:
    """The first 26 options of a question; letters before their texts are dropped."""
    shown = [plain(option) for option in options[:26]]
    marks = [_OWN_LETTER.match(option) for option in shown]
    if all(
        mark and mark[1].upper() == letter
        for mark, letter in zip(marks, string.ascii_uppercase, strict=False)
    ):
        shown = [option[mark.end() :] for option, mark in zip(shown, marks, strict=True) if mark]
    read = [read_quantity(option) for option in shown]
    quantities = tuple(each for each in read if each is not None)
    return Options(
        string.ascii_uppercase[: len(shown)] if shown else WITHOUT_OPTIONS,
        tuple(normal(option) for option in shown),
        quantities if len(quantities) == len(shown) else (),
    )


def holds(said: Sequence[str], option: str) -> bool:
    """Whether a normal text contains an option as whole words."""
    if not option:
        return False
    wide = option[0] >= "\u3040"
    return any(option in each if wide else f" {option} " in f" {each} " for each in said)


def named_in(sentence: str, options: Options) -> set[str]:
    """The letters of the options that a plain sentence names and does not reject."""
    bare = ARTICLE.sub(" ", sentence)
    found = {
        each[1]
        for each in STANDING.finditer(bare)
        if each[1] in options.letters and not is_refused(bare, each.start(), each.end())
    }
    said = normal(sentence)
    for letter, text in zip(options.letters, options.texts, strict=False):
        at = said.find(text) if holds([said], text) else -1
        if at >= 0 and not is_refused(said, at, at + len(text)):
            found.add(letter)
    return found


def mentions(text: str, options: Options) -> bool:
    """Whether a plain text names an option, by letter or text."""
    letters = set(STANDING.findall(ARTICLE.sub(" ", text)))
    return bool(letters & set(options.letters)) or any(
        holds([normal(text)], option) for option in options.texts
    )


def another_below(after: str, letter: str, options: Options) -> bool:
    """Whether a sentence after the answer names another option without rejecting it."""
    for sentence in map(plain, sentences(after)):
        named = named_in(sentence, options) - {letter}
        # "B, C and D are elsewhere" explains why the others are not chosen
        if named and (len(named) == 1 or len(named) < len(options.letters) - 1):
            return True
    return False
