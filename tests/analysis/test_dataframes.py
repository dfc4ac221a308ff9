"""Data frames of runs: column types do not depend on the values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from lmms_rpts.analysis.dataframes import (
    RESPONSE_TYPES,
    STEP_TYPES,
    documents_frame,
    read_frame,
    responses_frame,
    steps_frame,
    write_frame,
)
from lmms_rpts.analysis.reading import read_run, read_runs
from lmms_rpts.analysis.summary import summarize
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from tests.support.instances import make_doc
from tests.support.runs import STEPS, make_record, write_run
from tests.support.tables import table

NO_STEPS = {"steps": (), "answer": None}


def types(frame: pd.DataFrame) -> dict[str, str]:
    return {name: str(kind) for name, kind in frame.dtypes.items()}


def only(folder: Path, *records: object) -> Run:
    return read_run(write_run(folder, dict(enumerate(records))))


@table(
    "records",
    [make_record([0.9, 0.2])],
    [make_record([None, None])],
    [make_record([], **NO_STEPS)],
    [make_record([1.0, None]), make_record([0.0, 0.0], doc=make_doc(relation="guided"))],
    [make_record([0.5, 0.5], judge="none")],
)
def test_types_depend_on_nothing_that_stands_in_a_frame(tmp_path: Path, records: list) -> None:
    run = only(tmp_path, *records)
    assert types(steps_frame([run])) == dict(STEP_TYPES)
    assert types(responses_frame([run])) == dict(RESPONSE_TYPES)


def test_no_run_gives_empty_frames_with_all_columns() -> None:
    for frame, wanted in ((steps_frame([]), STEP_TYPES), (responses_frame([]), RESPONSE_TYPES)):
        assert len(frame) == 0
        assert types(frame) == dict(wanted)


def test_one_run_or_several(tmp_path: Path) -> None:
    """All frames accept one run or several; documents of several runs are distinguished by run."""
    for name, scores in (("a", [[0.9, 0.2], [1.0, 1.0]]), ("b", [[0.5, 0.5]])):
        write_run(tmp_path / name, dict(enumerate(map(make_record, scores))))
    one, other = read_runs([f"one={tmp_path / 'a'}", f"other={tmp_path / 'b'}"])
    for frame in (responses_frame, steps_frame):
        pd.testing.assert_frame_equal(frame(one), frame([one]))
        assert len(frame(iter([one, other]))) == len(frame(one)) + len(frame(other))
    alone, both = documents_frame(one), documents_frame([one, other])
    assert alone.index.names == ["task", "doc_id"]
    assert both.index.names == ["run", "task", "doc_id"]
    pd.testing.assert_frame_equal(both.loc["one"], alone)
    assert len(documents_frame([])) == 0


@table("suffix", ".parquet", ".jsonl", ".csv")
def test_responses_of_all_benchmarks_are_written_and_read(
    tmp_path: Path, saved: Path, suffix: str
) -> None:
    rome, careful = read_runs([saved / "rome"]), read_runs([saved / "careful"])
    frame = responses_frame([*rome, *careful])
    assert len(frame) == len(rome[0].responses) + 14
    of_rome = frame[frame["run"] == "rome"]
    summary = summarize(rome, ["language"])
    (figures,) = summary.models
    assert of_rome["accuracy"].mean() == figures.metrics["accuracy"].value
    assert set(of_rome["language"]) == {"en", "zh"}
    assert frame[frame["run"] == "careful"]["accuracy"].mean() == 12 / 14
    assert documents_frame([*rome, *careful]).loc["rome"]["accuracy"].mean() == pytest.approx(
        of_rome["accuracy"].mean()
    )
    write_frame(frame, tmp_path / f"out{suffix}")
    again = read_frame(tmp_path / f"out{suffix}")
    names = ["run", "doc_id", "id", "answer", "gold_answer", "language", "accuracy", "rpts"]
    pd.testing.assert_frame_equal(again[names], frame[names], check_dtype=False)


def test_a_step_is_a_row_worked_by_hand(tmp_path: Path) -> None:
    run = only(tmp_path, make_record([0.9, 0.2], doc=make_doc(id="seven", relation="guided")))
    frame = steps_frame([run])
    first, second = frame.to_dict("records")
    assert (first["run"], first["task"], first["doc_id"]) == ("model-a", "rpts_eval_en", 0)
    assert (first["id"], first["repeat"], first["language"]) == ("seven", 0, "en")
    assert [first["step"], second["step"]] == [0, 1]
    assert [first["premises"], second["premises"]] == ["image 0", "conclusion 0 + text 0"]
    assert [first["height"], second["height"]] == [1, 2]
    assert [first["modality"], second["modality"]] == ["visual", "inference"]
    assert [first["score"], second["score"]] == [0.9, 0.2]
    assert [first["first_error"], second["first_error"]] == [False, True]
    assert [first["question"], second["question"]] == ["image", "inference"]
    assert second["reply"] == "Score: 0.2"
    # Weights 1 and 0.9: (0.9 + 0.9 * 0.2) / 1.9
    assert second["rpts"] == pytest.approx(1.08 / 1.9)
    assert frame["note"].tolist() == [pd.NA, pd.NA]


def test_restating_steps_and_missing_evidence_worked_by_hand(tmp_path: Path) -> None:
    """Step 0 restates Text 1 and is used twice; Image 0 and Text 0 are needed."""
    steps = ("Text1 -> The shop sells bread.", "Conclusion0 + Conclusion0 + Text0 -> It is closed.")
    run = only(tmp_path, make_record([1.0, 1.0], steps=steps))
    (response,) = responses_frame([run]).to_dict("records")
    assert (response["steps"], response["restating"], response["rpts"]) == (2, 1, 1.0)
    assert (response["missing_evidence"], response["evidence_coverage"]) == ("image 0", 0.5)
    frame = steps_frame([run])
    assert frame["restates"].tolist() == [True, False]
    assert frame["uses"].tolist() == [2, 1]
    # Weights 1 for each of two uses, and 0.9.
    assert frame["weight"].tolist() == pytest.approx([2 / 2.9, 0.9 / 2.9])


def test_a_step_that_is_used_beyond_all_columns(tmp_path: Path) -> None:
    steps = ["Image0 + Text0 -> Nine."]
    steps += [f"Conclusion{at} + Conclusion{at} -> {'x' * (at + 1)}." for at in range(63)]
    run = only(tmp_path, make_record([1.0] * 64, steps=steps))
    assert steps_frame([run])["uses"].tolist()[:3] == [2**63 - 1, 2**62, 2**61]


def test_an_unscored_response_has_its_steps_without_scores(tmp_path: Path) -> None:
    frame = steps_frame([only(tmp_path, make_record([1.0, None]))])
    assert frame["score"].isna().tolist() == [False, True]
    assert frame["rpts"].isna().all()
    assert frame["error"].tolist() == [pd.NA, "the judge refused"]


def test_an_answer_that_nobody_could_tell_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    record = make_record([1.0, 1.0])
    record["answer"] |= {"value": None, "correct": None, "reason": "the judge refused"}
    run = only(tmp_path, record, make_record([1.0, 1.0]))
    frame = responses_frame([run])
    assert frame["correct"].tolist() == [pd.NA, True]
    assert frame["answer"].tolist() == [pd.NA, "agree"]
    assert frame["first_error_step"].tolist() == [pd.NA, pd.NA]


def test_lone_surrogates_reach_no_frame(tmp_path: Path) -> None:
    record = make_record([0.9, 0.9], reply="\ud800 {}", doc=make_doc(ability=["\udfff"]))
    record["steps"][0]["conclusion"] = "broken \udc80 emoji"
    samples = write_run(tmp_path, {0: make_record([0.9, 0.9])})
    line = samples.read_text(encoding="utf-8")
    row = json.loads(line) | {"filtered_resps": json.dumps(record)}
    samples.write_text(json.dumps(row) + "\n", encoding="utf-8")
    run = read_run(samples)
    frame = steps_frame([run])
    assert frame["conclusion"][0] == "broken � emoji"
    assert frame["reply"][0] == "� 0.9"
    assert responses_frame([run])["ability"][0] == ["�"]


def test_a_number_beyond_all_columns_is_told_where_it_is_read(tmp_path: Path) -> None:
    most = read_run(write_run(tmp_path / "a", {2**53: make_record([0.9, 0.9])}))
    assert steps_frame([most])["doc_id"].tolist() == [2**53, 2**53]
    for number in (2**63, 2**70):
        with pytest.raises(RunError, match="doc_id"):
            read_run(write_run(tmp_path / str(number), {number: make_record([0.9, 0.9])}))


def test_documents_are_means_over_responses(tmp_path: Path) -> None:
    both = [make_record([1.0, 1.0]), make_record([0.0, 0.0], answer="disagree")]
    run = read_run(write_run(tmp_path, {3: both, 5: make_record([None, 1.0])}))
    frame = documents_frame(run)
    assert frame.index.tolist() == [("rpts_eval_en", 3), ("rpts_eval_en", 5)]
    assert frame["rpts"].tolist()[0] == pytest.approx(0.5)
    assert math.isnan(frame["rpts"].tolist()[1])
    assert frame["accuracy"].tolist() == [0.5, 1.0]


def test_rows_stand_in_the_order_of_runs_documents_and_repeats(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {1: make_record([0.1, 0.1]), 0: make_record([0.2, 0.2])})
    write_run(
        tmp_path / "b",
        {0: [make_record([0.3, 0.3]), make_record([0.4], steps=STEPS[:1])]},
        model_args="pretrained=lab/model-b",
    )
    frame = steps_frame(read_runs([tmp_path / "b", tmp_path / "a"]))
    keys = list(zip(frame["run"], frame["doc_id"], frame["repeat"], frame["step"], strict=True))
    assert keys == [
        *(("model-b", 0, 0, 0), ("model-b", 0, 0, 1), ("model-b", 0, 1, 0)),
        *(("model-a", 0, 0, 0), ("model-a", 0, 0, 1)),
        *(("model-a", 1, 0, 0), ("model-a", 1, 0, 1)),
    ]
