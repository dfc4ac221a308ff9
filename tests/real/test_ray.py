"""``lr.score`` inside a local Ray: the workers score parts of a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lmms_rpts as lr
from tests.support.environment import VARIABLES

ray = pytest.importorskip("ray", reason="needs the extra [real]: make test-real")
DEMO = Path(__file__).parents[2] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"


def score(batch: Any) -> Any:
    """As docs/scale.md shows it."""
    records = lr.score(batch.to_dict("records"), judge="lexical", task="rpts_demo")
    batch["rpts"] = [record.rpts for record in records]
    return batch


def test_a_data_set_of_responses_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    expected = [record.rpts for record in lr.score(rows, judge="lexical", task="rpts_demo")]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        data = ray.data.from_items(rows).map_batches(score, batch_size=5, batch_format="pandas")
        found = {each["id"]: each["rpts"] for each in data.take_all()}
    finally:
        ray.shutdown()
    assert [found[each["id"]] for each in rows] == pytest.approx(expected)
