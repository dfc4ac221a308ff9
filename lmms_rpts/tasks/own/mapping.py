"""Mapping of custom fields to those of this package, by name; type of the answers."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lmms_rpts.filters.documents import STANCES
from lmms_rpts.grading.grader import gold_fault, infer_kind
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.own.data import Record, parsed
from lmms_rpts.tasks.own.fields import FIELDS, written
from lmms_rpts.tasks.own.tables import Table

TARGETS = tuple(name for name in FIELDS if name != "statement")
"""The fields that others can be mapped to; ``question`` is also used for a statement."""

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "id": ("question_id", "uid", "qid", "index", "idx"),
    "question": ("statement", "prompt", "query", "instruction", "problem", "q"),
    "answer": (
        *("label", "gold", "target", "ground_truth", "gt", "correct_answer", "correct"),
        *("answer_key", "solution"),
    ),
    "images": (
        *("image", "image_path", "image_paths", "img", "img_path", "image_file", "image_name"),
        *("file_name", "filename", "picture", "pictures", "visual_clue"),
    ),
    "context": ("passage", "background", "hint"),
    "texts": ("textual_clue", "textual_clues", "clues", "facts"),
    "reasoning": ("gold_reasoning", "reasoning_steps", "steps"),
    "options": ("choices", "candidates", "choice"),
    "language": ("lang",),
}
"""Common names of the fields in other data, the most likely first."""

_LETTERS = tuple(string.ascii_uppercase)
_LISTS = {"images": r"[|;\n]", "options": r"[|;\n]", "texts": r"[|\n]", "reasoning": r"[|\n]"}
"""Fields of CSV that contain lists, and the separators of their items."""


def map_names(names: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The source of each field; fields without a source are left out.

    Args:
        names: the available fields.
        chosen: the user's choices, by field.
    """
    plain = {_plain(name): name for name in reversed(names)}
    taken = set(chosen.values())
    found = dict(chosen)
    for target in TARGETS:
        if target in found:
            continue
        for name in (target, *SYNONYMS.get(target, ())):
            source = plain.get(name)
            if source is not None and source not in taken:
                found[target] = source
                taken.add(source)
                break
    return {target: found[target] for target in TARGETS if target in found}


def map_records(table: Table, mapping: Mapping[str, str]) -> list[Record]:
    """The instances of a table with mapped fields; other fields are left out."""
    columns = [] if "options" in mapping else _option_columns(table.names)
    records = []
    for record in table.records:
        given = {target: record.fields.get(source) for target, source in mapping.items()}
        if columns:
            given["options"] = _cells_before_blank(record.fields, columns)
        made = {name: _value(name, value, table.cells) for name, value in given.items()}
        kept = {name: value for name, value in made.items() if value not in (None, [])}
        records.append(Record(record.place, kept))
    return records


def infer_form(records: Iterable[Record]) -> str:
    """The type of the answers: see ``fields.FORMS``.

    Raises:
        DataError: if they are positions of options, counted from 0 or 1: this is ambiguous.
    """
    pairs = [
        (record.fields["answer"], record.fields.get("options") or ())
        for record in records
        if record.fields.get("answer") is not None
    ]
    if not pairs:
        return "none"
    if all(_is_place(*pair) for pair in pairs) and not all(_is_option(*pair) for pair in pairs):
        raise DataError(
            "The answers look like positions of options, counted from 0 or 1. Write the letters "
            "of the options (A, B, ...) or their texts, or use --answer number if they are numbers"
        )
    fits = (form for form, fit in _FITS.items() if all(fit(*pair) for pair in pairs))
    kinds = {
        infer_kind(written(answer), [written(each) for each in options] if options else ())
        for answer, options in pairs
        if _is_gradable(answer)
    }
    return next(fits, "mixed" if kinds - {"text"} else "text")


def plain_stances(records: Iterable[Record]) -> list[Record]:
    """Instances whose answers are agree and disagree, in lower case."""
    return [
        Record(each.place, each.fields | {"answer": str(each.fields["answer"]).strip().lower()})
        if "answer" in each.fields
        else each
        for each in records
    ]


def _is_stance(answer: Any, options: Sequence[Any]) -> bool:
    return isinstance(answer, str) and answer.strip().lower() in STANCES


def _is_place(answer: Any, options: Sequence[Any]) -> bool:
    text = str(answer).strip()
    plain = isinstance(answer, str | int) and text.isascii() and text.isdigit() and len(text) < 4
    return plain and isinstance(options, list) and bool(options) and int(text) <= len(options)


def _is_option(answer: Any, options: Sequence[Any]) -> bool:
    if not options or not isinstance(options, list) or not _is_gradable(answer):
        return False
    return gold_fault("choice", written(answer), [written(each) for each in options]) is None


def _is_number(answer: Any, options: Sequence[Any]) -> bool:
    return _is_gradable(answer) and gold_fault("number", written(answer)) is None


def _is_letter(answer: Any, options: Sequence[Any]) -> bool:
    return isinstance(answer, str) and re.fullmatch(r"[A-Ja-j]", answer.strip()) is not None


def _is_gradable(answer: Any) -> bool:
    return isinstance(answer, str | int | float) and not isinstance(answer, bool)


_FITS: Mapping[str, Callable[[Any, Sequence[Any]], bool]] = {
    "agree": _is_stance,
    "choice": lambda answer, options: _is_option(answer, options) or _is_letter(answer, options),
    "number": _is_number,
}


def _plain(name: str) -> str:
    return re.sub(r"[\s-]", "_", name.strip().lower())


def _option_columns(names: Sequence[str]) -> list[str]:
    """Columns A, B, ... with one option each."""
    found: list[str] = []
    for letter in _LETTERS:
        if letter not in names:
            break
        found.append(letter)
    return found if len(found) > 1 else []


def _cells_before_blank(fields: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    cells = [fields.get(name) for name in columns]
    there = [cell is not None and str(cell).strip() != "" for cell in cells]
    return cells[: there.index(False)] if False in there else cells


def _value(name: str, value: Any, cell: bool) -> Any:
    """A value converted to the field's form, if that is clear; else unchanged."""
    if isinstance(value, str) and not value.strip():
        return None
    if name == "options" and isinstance(value, dict) and (*value,) == _LETTERS[: len(value)]:
        return list(value.values())
    if cell and isinstance(value, str):
        return _cell(name, value)
    if name in ("texts", "reasoning") and isinstance(value, str):
        return [value]
    return value


def _cell(name: str, value: str) -> Any:
    if name == "tolerance":
        number, fault = parsed(value)
        return value if fault else number
    if name not in _LISTS:
        return value
    if value.lstrip().startswith("["):
        listed, fault = parsed(value)
        if fault is None:
            return listed
    return [each.strip() for each in re.split(_LISTS[name], value) if each.strip()]
