"""Runs of graded benchmarks for tests of reports: ROME, and ReForm-Eval on drawings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.filters.grading import all_filters
from tests.support.environment import configure
from tests.support.reform import documents, write_reform

LOSSES = ((-3.0, False), (-1.5, True), (-2.25, False), (-9.0, False))
"""Results of a model for the options of a sample: the mean loss and whether it is greedy."""


def write_reform_runs(folder: Path, tasks: Iterable[str], right: Iterable[int]) -> Path:
    """Writes data, and a run in which the duplicates with these numbers are answered right."""
    chosen = set(right)
    data, out = write_reform(folder / "data", 2), folder / "run"
    out.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFORM_PATH", str(data))
        configure(patch, reform={"reduction": "mean"})
        for task in tasks:
            rows = list(_rows(task, chosen))
            path = out / f"20260102_030405_samples_{task}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return out


def _rows(task: str, right: set[int]) -> Iterable[dict[str, Any]]:
    filters = all_filters()
    for at, document in enumerate(documents(task.removeprefix("reform_"))):
        if document["method"] == "likelihood":
            losses = [[each] for each in LOSSES[: len(document["options"])]]
            written: Any = filters["reform_likelihood"]().apply(losses, [document] * len(losses))
            yield {"doc_id": at, "resps": losses, "filtered_resps": written}
            continue
        said = answer_to(document, document["duplicate"] in right)
        (written,) = filters["reform_answer"]().apply([[said]], [document])
        yield {"doc_id": at, "resps": [said], "filtered_resps": written}


def answer_to(document: dict[str, Any], right: bool) -> str:
    """A right or a wrong answer to a document of ReForm-Eval."""
    if not document["options"]:
        return document["answers"][0] if right else "nothing"
    place = (document["right"] + (not right)) % len(document["options"])
    return f"({document['marks'][place]}) {document['options'][place]}"
