"""Responses through the three filters of RPTS-Eval, one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.scoring.record import RptsRecord


def filtered(
    resps: Sequence[Any], docs: Sequence[Mapping[str, Any]], judge: str | None = None, **more: Any
) -> list[Any]:
    """What the filters write for the responses to each document; ``more``: how steps are read."""
    read = TransformFilter(judge=judge, **more).apply(resps, docs)
    return AggregateFilter().apply(ScoreFilter(judge=judge).apply(read, docs), docs)


def records_of(
    *responses: Any, judge: str | None = "lexical", docs: Sequence[Mapping[str, Any]]
) -> list[RptsRecord]:
    """The records of responses, one for each document."""
    written = filtered([[each] for each in responses], docs, judge)
    return [RptsRecord.parse(json.loads(str(each))) for each in written]
