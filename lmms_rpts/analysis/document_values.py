"""Metrics of the documents of a run as arrays, without pandas (its import takes 0.3 s)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from lmms_rpts.stats.intervals import Floats
from lmms_rpts.tasks.rpts_eval.results import METRICS
from lmms_rpts.tasks.rpts_eval.runs import Run

Key = tuple[str, int]
"""A document: its task and ``doc_id``."""


def document_values(run: Run) -> dict[Key, Floats]:
    """The value of each metric for each document, by task and ``doc_id``.

    Returns:
        Arrays of the shape (len(METRICS),): means over a document's responses, NaN if there is no
        value.
    """
    of: dict[Key, list[Mapping[str, float | None]]] = {}
    for response in run.responses:
        of.setdefault(response.instance.key, []).append(response.metrics)
    return {
        key: np.array([_mean(each[name] for each in of[key]) for name in METRICS])
        for key in sorted(of)
    }


def _mean(values: Iterable[float | None]) -> float:
    there = [float(each) for each in values if each is not None and not math.isnan(each)]
    return math.fsum(there) / len(there) if there else math.nan
