"""The published text form: questions with marked options, and conversations as one text."""

from __future__ import annotations

import string
from collections.abc import Sequence
from itertools import cycle
from typing import Literal

Mark = Literal["upper", "lower", "number", "random"]

PREFIX = "The answer is"
"""Beginning of an answer to a question with options."""

_LETTERS = {
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "number": string.digits[1:],
}
STYLES = tuple(_LETTERS)
MOST_MARKED = {style: len(letters) for style, letters in _LETTERS.items()}
"""Maximum number of options, by style of the marks."""


def marks_of(style: str, count: int) -> str:
    """The marks of ``count`` options, one character each.

    Raises:
        IndexError: if there are more options than marks: 26 letters, 9 numbers.
    """
    letters = _LETTERS["upper" if style == "random" else style]
    if count > len(letters):
        raise IndexError(f"{count} options are too many for {style} marks: at most {len(letters)}")
    return letters[:count]


def style_of(marks: str) -> str:
    """The style of marks; ``upper`` if there are none."""
    return next((style for style, all_ in _LETTERS.items() if marks[:1] == all_[0]), "upper")


def marked(options: Sequence[str], style: str) -> list[str]:
    """The options, each after its mark: ``(A) a dog``."""
    marks = marks_of(style, len(options))
    return [f"({mark}) {option}" for mark, option in zip(marks, options, strict=True)]


def question_with_options(question: str, options: Sequence[str], style: str) -> str:
    """A question followed by its options."""
    shown = "; ".join(marked(options, style))
    return f"{question} Options: {shown}{'.' if options else ''}"


def text_form(instruct: str | None, turns: Sequence[str], prefix: str | None) -> str:
    """A conversation as one text that ends where the model continues with its answer.

    Args:
        instruct: text before the first turn.
        turns: alternating turns of user and model; the last is the user's.
        prefix: beginning of the answer; None: the text does not begin it.
    """
    first, *rest = turns
    first = first if instruct is None else f"{instruct} {first}"
    lines = [f"{role}: {turn}" for role, turn in zip(cycle(("User", "Bot")), (first, *rest))]
    return "\n".join([*lines, f"Bot: {prefix}" if prefix else "Bot:"])
