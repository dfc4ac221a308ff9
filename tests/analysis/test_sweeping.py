"""RPTS with other settings: sums calculated manually, and the run's own values to the last bit."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.analysis.reading import read_run
from lmms_rpts.analysis.sweeping import sweep
from lmms_rpts.reasoning import build_tree, format_chain
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.rounds import document_means
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.rpts_eval.task import process_results
from tests.reasoning.strategies import sound_chains
from tests.support.instances import make_doc
from tests.support.runs import STEPS, make_record, scoring_with, write_run
from tests.support.tables import table

# The example in docs/read-results.md: heights 1, 1, 2.
EXAMPLE = ("Image0 -> A.", "Text0 -> B.", "Conclusion0 + Conclusion1 -> C.")
# Heights 1, 2, 3, so that the weights distinguish height 2 from 3 as well.
LINE = ("Image0 -> A.", "Conclusion0 -> B.", "Conclusion1 -> C.")


def run_of(folder: Path, records: Mapping[int, Any], **more: Any) -> Run:
    write_run(folder, records, **more)
    return read_run(folder)


def row(frame: pd.DataFrame, decay: float, height: int) -> Any:
    (found,) = frame[(frame["decay"] == decay) & (frame["focus_height"] == height)].itertuples()
    return found


@table(
    "steps, scores, decay, height, rpts",
    (EXAMPLE, (1.0, 0.5, 0.0), 0.9, 1, 1.5 / 2.9),  # weights 1, 1, 0.9
    (EXAMPLE, (1.0, 0.5, 0.0), 0.5, 2, 0.75 / 2),  # weights 0.5, 0.5, 1
    (EXAMPLE, (1.0, 0.5, 0.0), 1.0, 4, 1.5 / 3),  # all weigh the same
    (EXAMPLE, (1.0, 0.5, 0.0), 0.0, 1, 1.5 / 2),  # only height 1
    (EXAMPLE, (1.0, 0.5, 0.0), 0.5, 0, (0.5 + 0.25) / 1.25),  # weights 0.5, 0.5, 0.25
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
    assert row(sweep(run, [decay], [height]), decay, height).rpts == pytest.approx(rpts, abs=1e-12)


def judged(rpts: float | None, right: bool | None = True) -> dict[str, Any]:
    """A response with one step, whose score is its RPTS with all settings."""
    answer = {True: "agree", False: "disagree", None: None}[right]
    return make_record([rpts], steps=("Image0 -> A.",), answer=answer)


def test_quantities_by_hand(tmp_path: Path) -> None:
    records = {
        0: judged(1.0, right=True),
        1: judged(0.5, right=False),  # passes: at least 0.5
        2: judged(0.25, right=True),
        3: judged(0.25, right=False),
        4: judged(None, right=True),  # not judged: excluded from all figures
        5: judged(0.75, right=None),  # the answer is unknown: excluded from accuracies
    }
    found = row(sweep(run_of(tmp_path, records)), 0.9, 1)
    assert found.rpts == (1.0 + 0.5 + 0.25 + 0.25 + 0.75) / 5
    assert found.filtered_accuracy == 1 / 4  # of documents 0 to 3
    assert found.accuracy_passing == 1 / 2  # of documents 0 and 1
    assert found.share_filtered == 2 / 5


def test_a_documents_responses_are_one_value(tmp_path: Path) -> None:
    records = {
        0: [judged(1.0), judged(0.0), judged(None)],
        1: [judged(1.0), judged(1.0, right=False), judged(1.0, right=False)],
        2: [judged(0.0), judged(0.0), judged(None)],
    }
    found = row(sweep(run_of(tmp_path, records)), 0.9, 1)
    assert found.rpts == (0.5 + 1.0 + 0.0) / 3
    assert found.filtered_accuracy == pytest.approx((0.5 + 1 / 3 + 0.0) / 3)
    assert found.accuracy_passing == pytest.approx((1.0 + 1 / 3) / 2)  # none of document 2
    assert found.share_filtered == pytest.approx((1 / 2 + 0 + 1) / 3)


def test_the_threshold_moves_what_passes(tmp_path: Path) -> None:
    run = run_of(tmp_path, {0: judged(0.5), 1: judged(0.75, right=False), 2: judged(1.0)})
    strict = row(sweep(run, threshold=0.75), 0.9, 1)
    assert (strict.share_filtered, strict.accuracy_passing) == (1 / 3, 1 / 2)
    assert strict.filtered_accuracy == pytest.approx(1 / 3)
    none = row(sweep(run_of(tmp_path / "low", {0: judged(0.25)})), 0.9, 1)
    assert none.share_filtered == 1.0
    assert math.isnan(none.accuracy_passing)
    assert none.filtered_accuracy == 0.0


@table("decay, height", (0.9, 1), (0.7, 3), (0.35, 6))
def test_at_its_own_settings_a_sweep_is_the_run_to_the_bit(
    tmp_path: Path, decay: float, height: int
) -> None:
    chance = random.Random(5)
    scoring = scoring_with(decay=decay, focus_height=height, prompt_version="1")
    shapes = (STEPS, EXAMPLE, LINE, ())

    def record() -> dict[str, Any]:
        steps = chance.choice(shapes)
        scores = [chance.choice([0.1, 0.3, 0.7, 1.0, *[chance.random()] * 3]) for _ in steps]
        if chance.random() < 0.1 and steps:
            scores[0] = None
        answer = chance.choice(["agree", "disagree", None])
        return make_record(scores, steps=steps, answer=answer, scoring=scoring)

    records = {at: [record() for _ in range(3)] for at in range(60)}
    each = [process_results({}, list(map(json.dumps, found))) for found in records.values()]
    found = sweep(run_of(tmp_path, records))
    own = row(found, decay, height)
    assert own.own
    assert found["own"].sum() == 1
    assert own.rpts == mean_of_scored([values["rpts"] for values in each])
    assert own.filtered_accuracy == mean_of_scored([values["accuracy_rpts"] for values in each])


def test_the_runs_own_settings_join_the_grid(tmp_path: Path) -> None:
    scoring = scoring_with(decay=0.8, focus_height=5, prompt_version="1")
    frame = sweep(
        run_of(tmp_path, {0: make_record([1.0, 0.0], scoring=scoring)}), [0.9, 0.5, 0.9], [2]
    )
    pairs = list(zip(frame["decay"], frame["focus_height"], strict=True))
    assert pairs == [(0.5, 2), (0.5, 5), (0.8, 2), (0.8, 5), (0.9, 2), (0.9, 5)]
    assert list(frame["own"]) == [False, False, False, True, False, False]


@given(chain=sound_chains(), data=st.data())
def test_a_decay_of_1_is_the_plain_mean_over_the_unrolled_tree(chain: Any, data: Any) -> None:
    scores = data.draw(st.lists(st.floats(0, 1), min_size=len(chain.steps), max_size=99))
    scores = scores[: len(chain.steps)]
    doc = make_doc(visual_clue=["a", "b", "c"], textual_clue=["d", "e", "f"])
    record = make_record(scores, steps=format_chain(chain), doc=doc)
    response = RptsRecord.parse(record, task="t", doc_id=0)
    run = Run("m", "m", (response,), {}, ())
    frame = sweep(run, [1.0, 0.5], [0, 1, 2, 7])

    def unrolled(at: int) -> list[float]:
        tree = build_tree(response.tree().chain, 3, 3)
        below = [
            each
            for child, citing in enumerate(tree.parents)
            for _ in range(citing.count(at))
            for each in unrolled(child)
        ]
        return [response.steps[at].score or 0.0, *below]

    plain = frame[frame["decay"] == 1.0]["rpts"]
    assert list(plain) == pytest.approx([fmean(unrolled(len(scores) - 1))] * 4, abs=1e-9)
    assert frame["rpts"].between(min(scores) - 1e-9, max(scores) + 1e-9).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.floats(0, 1)), max_size=20))
def test_means_of_documents_are_those_of_process_results(
    values: list[tuple[int, float | None]],
) -> None:
    groups: dict[int, list[str]] = {}
    for document, value in values:
        outcome = "unscored" if value is None else "scored"
        record = judged(0.0) | {"rpts": value, "outcome": outcome}
        groups.setdefault(document, []).append(json.dumps(record))
    assert document_means(values) == [process_results({}, each)["rpts"] for each in groups.values()]


@table(
    "settings, told",
    ({"decays": [0.5, 1.2]}, "1.2"),
    ({"decays": []}, "At least one"),
    ({"focus_heights": [True]}, "integer"),
    ({"focus_heights": [10**12]}, "between 0 and 1000"),  # would take a day
)
def test_invalid_settings_are_refused(tmp_path: Path, settings: Any, told: str) -> None:
    run = run_of(tmp_path, {0: judged(1.0)})
    with pytest.raises(ValueError, match=told):
        sweep(run, **settings)


def test_a_run_with_nothing_scored(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="model-a: no response was scored"):
        sweep(run_of(tmp_path, {0: judged(None)}))
