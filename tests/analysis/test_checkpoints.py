"""Scores by training step: reading the step, the tables, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lmms_rpts.analysis import compare_runs, read_runs, summarize
from lmms_rpts.analysis.checkpoints import by_step, step_of
from lmms_rpts.report.plots import draw_steps
from lmms_rpts.runs.run import RunOf
from lmms_rpts.runs.samples import RunError
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.saved_runs import SAVED


@pytest.mark.parametrize(
    ("label", "source", "folder", "step"),
    [
        ("checkpoint-500", "", "", 500),
        ("run_a/step_1000", "", "", 1000),
        ("global_step500", "", "", 500),
        ("iter-2000", "", "", 2000),
        ("iter_0002000", "", "", 2000),
        ("OLMo-step140000-tokens294B", "", "", 140000),
        ("500", "/out/checkpoint-7", "", 500),
        ("final (2)", "/out/checkpoint-1500", "step_3", 1500),
        ("base", "Qwen/Qwen2-VL-7B", "out/step_3/Qwen__Qwen2-VL-7B", 3),
        ("stage-1/checkpoint-2/checkpoint-30", "", "", 30),
        ("Qwen2-VL-7B", "", "results/7", None),
        ("step_10k", "", "", None),
        ("epoch_1.5", "", "", None),
        ("footstep", "", "", None),
    ],
)
def test_where_the_step_is(label: str, source: str, folder: str, step: int | None) -> None:
    files = (Path("/data") / folder / "x_samples_rpts.jsonl",)
    run = RunOf(label, label, (), {}, files, source)
    if step is not None:
        assert step_of(run) == step
        return
    with pytest.raises(RunError, match=r"No training step .*/data.* Name it 500=PATH"):
        step_of(run)


def runs_of(folder: Path, **scores: tuple[float, ...]) -> list[str]:
    """Places of runs by label, each with these step scores of its documents."""
    for label, values in scores.items():
        docs = (make_doc(id=at, statement=f"Statement {at}.") for at in range(len(values)))
        records = {
            at: make_record([value, value], doc=doc)
            for at, (value, doc) in enumerate(zip(values, docs, strict=True))
        }
        write_run(folder / label, records)
    return [f"{label.strip('_')}={folder / label}" for label in scores]


def test_the_tables(tmp_path: Path) -> None:
    places = runs_of(
        tmp_path,
        step_20=(0.4, 0.5, 0.9, 0.6, 0.7),
        step_3=(0.1, 0.2, 0.3, 0.4, 0.5),
        step_100=(0.4, 0.4, 0.8, 0.9, 0.7),
    )
    runs = read_runs(places)
    found = by_step(runs, ["rpts", "accuracy"])
    rows = found.tables["rpts"]
    # By step, not by name; differences are from the first, 3.
    assert [(row["checkpoint"], row["step"]) for row in rows] == [
        *(("step_3", 3), ("step_20", 20), ("step_100", 100))
    ]
    by_label = {run.label: run for run in runs}
    for row in rows:
        (model,) = summarize([by_label[row["checkpoint"]]]).models
        of = model.metrics["rpts"]
        assert (row["value"].value, row["value"].low, row["value"].high) == (
            *(of.value, of.low, of.high),
        )
    differences = [
        compare_runs(by_label["step_3"], by_label[label]).metrics[0]
        for label in ("step_20", "step_100")
    ]
    for row, each in zip(rows[1:], differences, strict=True):
        known = row["difference"]
        expected = (each.difference, each.low, each.high)
        assert (known.value, known.low, known.high) == pytest.approx(expected)
        # Two tests: the smaller p is doubled, and the larger is not below it (Holm).
        assert row["p"] == pytest.approx(min(1, 2 * min(d.p or 0 for d in differences)))
    assert rows[0]["difference"] is rows[0]["p"] is None
    # All answers are right: no checkpoint is the best.
    assert "Best at step 100 (rpts). The best of several" in found.notes[1]
    assert draw_steps(found.tables).count(b'id="interval') == 6


def test_of_equal_values_the_first_is_the_best(tmp_path: Path) -> None:
    places = runs_of(tmp_path, step_1=(0.1, 0.1), step_2=(0.5, 0.4), step_3=(0.4, 0.5))
    assert "Best at step 2 (rpts)." in by_step(read_runs(places), ["rpts"]).notes[1]
    falling = by_step(read_runs(places), ["right_for_wrong_reason"])  # lower is better
    assert [row["value"].value for row in falling.tables["right_for_wrong_reason"]] == [1, 0.5, 0.5]
    assert "Best at step 2 (right_for_wrong_reason)." in falling.notes[1]


def test_each_task_has_its_tables() -> None:
    (run,) = read_runs(SAVED / "cmmath")
    runs = [replace(run, label=str(step)) for step in (1, 2)]
    tasks = [title for title in by_step(runs).tables if title.startswith("accuracy of ")]
    assert tasks == [f"accuracy of {task}" for task in run.tasks]
    assert [*by_step(runs, task="cmmath_ocr").tables] == ["accuracy of cmmath_ocr"]


def test_what_is_refused(tmp_path: Path) -> None:
    places = runs_of(tmp_path, step_1=(0.1, 0.1), step_2=(0.5, 0.4))
    one, two = read_runs(places)
    messages = {
        "1 run of 1 training step (step_1): pass one": lambda: by_step([one]),
        "2 runs of 1 training step (step_1, step_1): pass": lambda: by_step([one, one]),
        "Unknown metric speed; metrics: rpts, accuracy": lambda: by_step([one, two], ["speed"]),
        "No checkpoint has a value of pretended_tools": lambda: by_step(
            [one, two], ["pretended_tools"]
        ),
        "No run has the task other": lambda: by_step([one, two], task="other"),
        "The runs are of several benchmarks: rpts, rome": lambda: by_step(
            [one, *read_runs(SAVED / "rome")]
        ),
    }
    for message, call in messages.items():
        with pytest.raises(RunError, match=re.escape(message)):
            call()
