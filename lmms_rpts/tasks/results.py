"""Metrics of documents for lmms-eval from records, for all benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmms_rpts.runs.record import R

Metrics = Mapping[str, Callable[[Any], float | None]]
"""The value of a record in each metric; None if it has none."""


def read_records(record: type[R], results: Iterable[str]) -> list[R]:
    """The records among a document's results; other values and other versions are left out."""
    found: list[R] = []
    for result in results if isinstance(results, list | tuple) else ():
        try:
            found.append(record.parse(json.loads(result)))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def document_metrics(records: Iterable[Any], metrics: Metrics) -> dict[str, float | None]:
    """The metrics of one document: the means over its responses; None if none has a value."""
    there = list(records)
    return {name: mean(map(value_of, there)) for name, value_of in metrics.items()}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not None; None without any."""
    there = [float(value) for value in values if value is not None]
    return sum(there) / len(there) if there else None
