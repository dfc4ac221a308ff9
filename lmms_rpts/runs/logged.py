"""Prompts and gold answers of documents, from samples files of lmms-eval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import read_rows
from lmms_rpts.runs.responses import SAMPLES

_QUESTIONS = ("question", "query", "problem", "prompt", "text")
LONGEST = 20_000
"""Number of characters of a prompt that are read."""


class Logged(NamedTuple):
    """The logged question and gold answer of a document; empty if the samples do not have them."""

    question: str = ""
    target: str = ""


def read_logged(
    files: Iterable[Path], wanted: Set[tuple[str, int]]
) -> dict[tuple[str, int], Logged]:
    """Read the questions and gold answers of documents, by task and document.

    The question is from ``doc`` if an older lmms-eval logged it, else the prompt (``input``).
    Lines that are not JSON objects are ignored.

    Args:
        files: samples files of lmms-eval.
        wanted: tasks and numbers of the documents.
    """
    found: dict[tuple[str, int], Logged] = {}
    for file in files:
        _, named, task = file.stem.partition(SAMPLES)
        for row in read_rows(file):
            entry = row.fields
            doc_id = entry.get("doc_id")
            of = task if named else str(entry.get("task", "task"))
            # The type is checked because 1.0 and True equal 1.
            if type(doc_id) is int and (of, doc_id) in wanted and (of, doc_id) not in found:
                found[of, doc_id] = Logged(_question(entry), _text(entry.get("target")))
    return found


def _question(entry: Mapping[str, Any]) -> str:
    doc = entry.get("doc")
    fields = [doc.get(name) for name in _QUESTIONS] if isinstance(doc, dict) else []
    return next(filter(None, map(_text, fields)), "") or _prompt(entry.get("input"))


def _prompt(value: object) -> str:
    """The text of a prompt, which is a string or messages; image parts are ignored."""
    if isinstance(value, str):
        return _text(value)
    messages = value if isinstance(value, list) else []
    contents = [each.get("content") for each in messages if isinstance(each, dict)]
    parts = [part for each in contents for part in (each if isinstance(each, list) else [each])]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return _text("\n".join(each for each in texts if isinstance(each, str)))


def _text(value: object) -> str:
    return storable(value[:LONGEST]) if isinstance(value, str) else ""
