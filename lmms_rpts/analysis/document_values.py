"""Metrics of the documents of a run as arrays, without pandas (its import takes 0.3 s)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from lmms_rpts.runs.run import AnyRun
from lmms_rpts.stats.intervals import Floats
from lmms_rpts.tasks.aggregation import Metrics

Key = tuple[str, int]
"""A document: its task and ``doc_id``."""


def document_values(run: AnyRun, metrics: Metrics) -> dict[Key, Floats]:
    """The value of each metric for each document, by task and ``doc_id``.

    Returns:
        Arrays of the shape (len(metrics),): means over a document's responses, NaN if there is no
        value.
    """
    of = run.documents()
    return {
        key: np.array([_mean(map(value_of, of[key])) for value_of in metrics.values()])
        for key in sorted(of)
    }


def _mean(values: Iterable[float | None]) -> float:
    there = [float(each) for each in values if each is not None and not math.isnan(each)]
    return math.fsum(there) / len(there) if there else math.nan
