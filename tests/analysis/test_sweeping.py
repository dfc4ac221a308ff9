"""RPTS with other settings: sums by hand, and the run's own values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.analysis.summary import summarize
from lmms_rpts.analysis.sweeping import sweep
from lmms_rpts.runs.run import Run
from tests.support.runs import judged, make_record, scoring_with, write_run
from tests.support.tables import table

# Heights 1, 1, 2; and 1, 2, 3, so that the weights distinguish height 2 from 3 as well.
EXAMPLE = ("Image0 -> A.", "Text0 -> B.", "Conclusion0 + Conclusion1 -> C.")
LINE = ("Image0 -> A.", "Conclusion0 -> B.", "Conclusion1 -> C.")


def run_of(folder: Path, records: Mapping[int, Any]) -> Run:
    write_run(folder, records)
    (run,) = read_runs(folder)
    return run


def row(frame: pd.DataFrame, decay: float, height: int) -> Any:
    (own,) = frame[(frame["decay"] == decay) & (frame["focus_height"] == height)].itertuples()
    return own


@table(
    "steps, scores, decay, height, rpts",
    (EXAMPLE, (1.0, 0.5, 0.0), 0.9, 1, 1.5 / 2.9),  # weights 1, 1, 0.9
    (EXAMPLE, (1.0, 0.5, 0.0), 0.5, 2, 0.75 / 2),  # weights 0.5, 0.5, 1
    (EXAMPLE, (1.0, 0.5, 0.0), 0.0, 1, 1.5 / 2),  # only height 1
    (LINE, (1.0, 0.5, 0.25), 0.5, 2, (0.5 + 0.5 + 0.125) / 2),  # weights 0.5, 1, 0.5
    (LINE, (1.0, 0.5, 0.25), 0.5, 3, (0.25 + 0.25 + 0.25) / 1.75),  # weights 0.25, 0.5, 1
)
def test_rpts_by_hand(
    tmp_path: Path,
    steps: Sequence[str],
    scores: Sequence[float],
    decay: float,
    height: int,
    rpts: float,
) -> None:
    run = run_of(tmp_path, {0: make_record(scores, steps=steps)})
    assert row(sweep(run, [decay], [height]), decay, height).rpts == pytest.approx(rpts)


def test_quantities_by_hand(tmp_path: Path) -> None:
    records = {
        0: judged(1.0, right=True),
        1: judged(0.5, right=False),
        2: judged(0.25, right=True),
        3: judged(0.25, right=False),
        4: judged(None, right=True),  # not judged: excluded from all figures
        5: judged(0.75, right=None),  # the answer is unknown: excluded from accuracies
        6: [judged(1.0), judged(0.0), judged(None)],  # a document's responses are one value
    }
    run = run_of(tmp_path, records)
    means = row(sweep(run), 0.9, 1)
    assert means.rpts == pytest.approx((1.0 + 0.5 + 0.25 + 0.25 + 0.75 + 0.5) / 6)
    assert means.accuracy_rpts == pytest.approx(1.5 / 5)  # of documents 0 to 3 and 6


def test_the_runs_own_settings_join_the_grid_and_give_its_own_means(tmp_path: Path) -> None:
    scoring = scoring_with(decay=0.8, focus_height=5)
    records = {
        at: make_record(scores, steps=LINE, scoring=scoring, answer=answer)
        for at, (scores, answer) in enumerate(
            (((0.1, 0.7, 0.3), "agree"), ((1.0, 0.9, 0.6), "disagree"), ((0.5, 1.0, 0.8), "agree"))
        )
    }
    run = run_of(tmp_path, records)
    frame = sweep(run, [0.9, 0.5, 0.9], [2])
    pairs = list(zip(frame["decay"], frame["focus_height"], strict=True))
    assert pairs == [(0.5, 2), (0.5, 5), (0.8, 2), (0.8, 5), (0.9, 2), (0.9, 5)]
    assert list(frame["own"]) == [False, False, False, True, False, False]
    own, (means,) = row(frame, 0.8, 5), summarize([run]).table.to_dict("records")
    for name in ("rpts", "accuracy_rpts"):
        assert getattr(own, name) == pytest.approx(means[name].value, abs=1e-12)


@table(
    "settings, message",
    ({"decays": [0.5, 1.2]}, "decay must be between 0 and 1, not 1.2"),
    ({"focus_heights": [10**12]}, "between 0 and 1000"),  # would take a day
)
def test_invalid_settings_are_refused(tmp_path: Path, settings: Any, message: str) -> None:
    run = run_of(tmp_path, {0: judged(1.0)})
    with pytest.raises(ValueError, match=message):
        sweep(run, **settings)


def test_a_run_with_nothing_scored(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="model-a: no response was scored"):
        sweep(run_of(tmp_path, {0: judged(None)}))
