"""Records with a judged root, as required by the guarded score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_rpts.filters.record import RptsRecord
from tests.support.runs import make_record


def with_root(record: dict[str, Any], score: float | None, **fields: Any) -> dict[str, Any]:
    """A record with a judge's score of how well the root answers the question.

    Args:
        score: the judge's score; None: it failed.
        fields: other fields of the root's question, or its ``note``.
    """
    question = {
        "kind": "root",
        "evidence": [],
        "score": score,
        "reply": None if score is None else f"Score: {score}",
        "error": "the judge refused" if score is None else None,
    }
    note = fields.pop("note", None)
    asked = [] if note else [question | fields]
    with_it = record | {"root": {"score": score, "note": note, "questions": asked}}
    return with_it | {"guarded": RptsRecord.parse(with_it).guarded_anew()}


def guarded_record(
    scores: Sequence[float | None], root: float | None = 1.0, **fields: Any
) -> dict[str, Any]:
    """The record of one response with a judged root; ``fields`` as in ``make_record``."""
    return with_root(make_record(scores, **fields), root)


def old_record(scores: Sequence[float | None], **fields: Any) -> dict[str, Any]:
    """A record in the format before the guarded score."""
    record = make_record(scores, **fields)
    return {
        key: value for key, value in record.items() if key not in {"guarded", "root", "diagnosis"}
    }
