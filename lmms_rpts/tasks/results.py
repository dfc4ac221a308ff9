"""Records and metrics of documents for lmms-eval, for all benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def read_records(results: Iterable[str], schema: str, version: int) -> list[Record]:
    """The records among a document's results; what is none, or of another version, is left out."""
    found: list[Record] = []
    for result in results:
        try:
            record = json.loads(result)
        except (ValueError, RecursionError):
            continue
        if (
            isinstance(record, dict)
            and record.get("schema") == schema
            and record.get("schema_version") == version
        ):
            found.append(record)
    return found


def mean_metrics(
    records: Sequence[Record],
    names: Iterable[str],
    metrics_of: Callable[[Record], Mapping[str, float | None]],
) -> dict[str, float | None]:
    """The metrics of one document: over several responses their mean; None where none has any."""
    each = [metrics_of(record) for record in records]
    return {name: mean([metrics[name] for metrics in each]) for name in names}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that there are; None without any."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None
