"""Grading of ReForm-Eval without the quirks of the published rules, for ``accuracy_strict``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from lmms_rpts.grading.choice import UNIDENTIFIED, Choice, read_choice
from lmms_rpts.grading.options import read_options
from lmms_rpts.grading.statement import find_statement
from lmms_rpts.grading.text_grading import folded, phrase_pattern, says
from lmms_rpts.reasoning.thinking import split_thinking

_NOTHING = Choice(None, UNIDENTIFIED)


def chosen_option(
    prediction: str, options: Sequence[str], marks: Sequence[str]
) -> tuple[int | None, str]:
    """The index of the option that a response chooses, None if it is unclear; and the rule."""
    found = read_choice(prediction, read_options(options, marks)) if options else _NOTHING
    if found.marks is None or len(found.marks) > 1:
        return None, found.rule
    return list(marks).index(min(found.marks)), found.rule


def text_contains(
    prediction: str, answers: str | Sequence[str], *, numbers_as_words: bool
) -> bool | None:
    """Whether a response contains one of several answers as whole words.

    Case, punctuation and apostrophes are ignored; a hyphen is a space.

    Args:
        prediction: the response; any text. Thinking is dropped.
        answers: one or several right answers.
        numbers_as_words: whether "two" is 2, as for key information.

    Returns:
        True or False (also if the answer is denied, hedged or retracted); None if all answers are
        empty or only punctuation.
    """
    listed = [answers] if isinstance(answers, str) else answers
    fold = partial(folded, exact=True, number_words=numbers_as_words)
    wanted = [each for each in map(fold, listed) if phrase_pattern(each, exact=True)]
    if not wanted:
        return None
    said = fold(split_thinking(prediction)[0])
    return any(says(said, each, exact=True) and not _in_doubt(said, each) for each in wanted)


def _in_doubt(said: str, phrase: str) -> bool:
    """Whether a response doubts a phrase; the phrase, and quoted text, may itself say "maybe"."""
    quoted = re.sub(r"[\"“][^\"“”\n]{1,200}[\"”]", "X", said)
    pattern = phrase_pattern(phrase, exact=True)
    return pattern is not None and find_statement(pattern.sub("X", quoted)).doubt != ""
