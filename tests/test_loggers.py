"""lmms-eval's own W&B logging has every metric of ours, as plain numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.lmms import run_lmms_eval
from tests.support.waiting import LONGEST

CAREFUL = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"


def offline(folder: Path) -> dict[str, str]:
    """The settings of W&B for a run without a server; on a busy machine its process starts late."""
    limit = f"{LONGEST:.0f}"
    return {"WANDB_DIR": str(folder), "WANDB__SERVICE_WAIT": limit, "WANDB_INIT_TIMEOUT": limit}


def read_offline_run(folder: Path) -> dict[str, Any]:
    """The last value of each metric, by name, in the only W&B run of a folder."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    (file,) = folder.rglob("*.wandb")
    store, found = DataStore(), {}
    store.open_for_scan(str(file))
    while data := store.scan_data():
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        for item in (*record.history.item, *record.summary.update):
            found["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
    return found


def test_wandb_has_every_metric_as_a_plain_number(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={CAREFUL}", "--tasks", "rpts_demo"),
        *("--wandb_args", "project=x,mode=offline", "--wandb_log_samples"),
        env=offline(tmp_path / "wandb"),
    )
    filed = read_offline_run(tmp_path / "wandb")
    numbers = {
        name.removesuffix(",none"): value
        for name, value in done.results["rpts_demo"].items()
        if isinstance(value, float) and not math.isnan(value)
    }
    assert {"rpts", "accuracy", "judge_coverage"} <= numbers.keys(), done.output
    for name, value in numbers.items():
        assert filed[f"rpts_demo/{name}"] == pytest.approx(value), name
