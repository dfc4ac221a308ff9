"""Schema checks of documents: the fields that filters need and their allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lmms_rpts.reasoning import parse_chain
from lmms_rpts.reasoning.clues import LANGUAGES, Language
from lmms_rpts.schema import shown

STANCES = ("agree", "disagree")
RELATIONS = ("guided", "adversarial", "independent")

FieldCheck = tuple[Callable[[object], bool], str]
"""Whether a value will do, and what is wanted, for a message."""


def is_text(value: object) -> bool:
    """Whether it is a text, empty or not."""
    return isinstance(value, str)


def is_texts(value: object) -> bool:
    """Whether it is a list of texts, empty or not."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


ANYTHING: FieldCheck = (lambda value: True, "any value")
TEXT: FieldCheck = (is_text, "a text")
SOME_TEXT: FieldCheck = (lambda value: is_text(value) and bool(str(value).strip()), "a text")
OPTIONAL_TEXT: FieldCheck = (lambda value: value is None or is_text(value), "a text or null")
OPTIONAL_WHOLE: FieldCheck = (
    lambda value: value is None or (type(value) is int and 0 <= value < 2**63),
    "a whole number or null",
)
TEXTS: FieldCheck = (is_texts, "a list of texts")
OPTIONAL_TEXTS: FieldCheck = (lambda value: value is None or is_texts(value), "a list of texts")
NAMES: FieldCheck = (is_texts, "a list of file names")
LANGUAGE: FieldCheck = (lambda value: value in LANGUAGES, " or ".join(LANGUAGES))
STANCE: FieldCheck = (lambda value: value in STANCES, " or ".join(STANCES))
RELATION: FieldCheck = (
    lambda value: value is None or value in RELATIONS,
    f"{', '.join(RELATIONS)} or null",
)

REASONING_FIELDS: dict[str, FieldCheck] = {
    "language": LANGUAGE,
    "statement": TEXT,
    "context": TEXT,
    "reasoning": TEXTS,
    "textual_clue": TEXTS,
    "visual_clue": NAMES,
    "answer": ANYTHING,
}
"""What the Reasoning Process Tree Score needs; ``reasoning`` and the clues may be empty."""

OPTIONAL_FIELDS: dict[str, FieldCheck] = {"ability": OPTIONAL_TEXTS, "relation": RELATION}
"""What a record of a reasoning holds where a document has it."""


def field_faults(
    doc: Mapping[str, object],
    fields: Mapping[str, FieldCheck],
    optional: Mapping[str, FieldCheck] | None = None,
) -> Iterator[str]:
    """What is wrong with a document's fields, each in one sentence without its full stop."""
    for name, (is_valid, wanted) in fields.items():
        if name not in doc:
            yield f"the field {name!r} is missing"
        elif not is_valid(doc[name]):
            yield f"{name!r} should be {wanted}, not {shown(doc[name])}"
    for name, (is_valid, wanted) in (optional or {}).items():
        if name in doc and not is_valid(doc[name]):
            yield f"{name!r} should be {wanted}, not {shown(doc[name])}"


def gold_faults(doc: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the gold reasoning, in sentences without their full stops.

    An image that no gold step speaks of scores 1 whatever is said of it, as published: a line that
    can't be parsed would give away points in silence.

    Args:
        doc: with lists of texts as ``reasoning`` and ``visual_clue``.
    """
    chain = parse_chain(list(doc["reasoning"]))
    for problem in chain.problems:
        yield f"'reasoning' can't be read: {problem}; write Image0 + Text1 -> what follows"
    images = len(doc["visual_clue"])
    for at, step in enumerate(chain.steps):
        for clue in step.premises:
            if clue.kind == "image" and clue.index is not None and clue.index >= images:
                yield f"'reasoning' cites Image{clue.index} in line {at}, of {images} images from 0"


def as_text(value: object) -> str:
    """Any value of a document as a text that a record holds."""
    try:
        return value if isinstance(value, str) else str(value)
    except Exception:  # whatever a foreign type does; an integer of 5000 digits
        return f"this {type(value).__name__}"


def as_optional_text(value: object) -> str | None:
    """As ``as_text``; None stays."""
    return None if value is None else as_text(value)


def as_texts(value: object) -> tuple[str, ...]:
    """A list of a document as texts that a record holds; empty for what is no list."""
    return tuple(map(as_text, value)) if isinstance(value, list | tuple) else ()


def as_language(value: object) -> Language:
    """The language of a document; English for what is none."""
    return "zh" if isinstance(value, str) and value == "zh" else "en"


def as_whole(value: object) -> int | None:
    """A whole number of a document as a record holds it; None for what is none."""
    return value if type(value) is int and 0 <= value < 2**63 else None
