"""Records of graded answers: reading, refusing, joining; those of ROME stand for all."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.analysis.summary import summarize
from lmms_rpts.base.schema import FieldError
from lmms_rpts.runs.reading import RunError, read_runs_of, read_samples_of
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.rome.scorer import RomeRecord
from lmms_rpts.tasks.rome.task import process_results
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table

WHOLE = make_rome_record(1.0, 0.5, 0.0, consistent=False)


@table(
    "change, said",
    ({"score": 1.5}, "score should be less than or equal to 1, not 1.5"),
    ({"score": None}, "score should be a number"),
    ({"instance": []}, "instance should be an object"),
    ({"grader": 1}, "grader should be a string"),
    ({"grades": {"rule": 1.0}}, "grades.rule should be an object"),
    ({"grades": {"rule": {"score": True}}}, "grades.rule.score should be"),
    ({"findings": {"consistency": {"value": 1}}}, "findings.consistency.value should be a string"),
    ({"settings": {"grader": "rule", "judge": 1}}, "settings.judge should be a string"),
)
def test_what_was_changed_is_refused_with_its_line(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    (file,) = write_rome_run(tmp_path, {"geo": [WHOLE] * 2})
    first, second = file.read_text().splitlines()
    row = json.loads(second)
    row["filtered_resps"] = json.dumps(json.loads(row["filtered_resps"]) | change)
    file.write_text(f"{first}\n{json.dumps(row)}\n")
    with pytest.raises(RunError) as caught:
        read_runs_of(RomeRecord, [tmp_path])
    told = str(caught.value)
    assert told.startswith(f"{file}, line 2: {said}")
    assert told.endswith("Copy it again, or run the task again")


def test_another_version_is_refused(tmp_path: Path) -> None:
    (file,) = write_rome_run(tmp_path, {"geo": [WHOLE | {"schema_version": 2}]})
    with pytest.raises(RunError, match="schema version 2, but this lmms-rpts reads version 1"):
        read_samples_of(RomeRecord, file, pass_over=True)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_value_in_any_place_is_read_or_refused_in_one_message(value: Any) -> None:
    changed = [WHOLE | {name: value} for name in WHOLE]
    for part in (name for name in WHOLE if isinstance(WHOLE[name], dict)):
        changed += [WHOLE | {part: WHOLE[part] | {name: value}} for name in WHOLE[part]]
    for each in changed:
        with suppress(FieldError):  # other exceptions would end in a traceback
            found = RomeRecord.parse(each, task="a", doc_id=0)
            assert found.score is None or 0 <= found.score <= 1


def test_tasks_are_parts_of_one_run_be_they_run_together_or_not(tmp_path: Path) -> None:
    for at, part in enumerate(("geo", "memes")):
        write_rome_run(tmp_path, {part: [WHOLE]}, date=f"2026010{at + 1}_030405")
    (run,) = read_runs_of(RomeRecord, [tmp_path])
    assert len(run.tasks) == len(run.files) == 2
    assert summarize([run]).warnings == ()


def test_each_reader_passes_over_the_others_or_names_them(tmp_path: Path) -> None:
    for folder in (tmp_path / "ROME", tmp_path / "all"):
        write_rome_run(folder, {"geo": [WHOLE]})
    for folder in (tmp_path / "RPTS", tmp_path / "all"):
        write_run(folder, {0: make_record([1.0, 1.0])})
    tasks: dict[Any, str] = {RptsRecord: "rpts_eval_en", RomeRecord: "rome_geo"}
    for kind, other in ((RptsRecord, "ROME"), (RomeRecord, "RPTS")):
        assert [run.tasks for run in read_runs_of(kind, [tmp_path / "all"])] == [(tasks[kind],)]
        with pytest.raises(RunError) as caught:
            read_runs_of(kind, [tmp_path / other])
        assert f"{tmp_path / other} are of other tasks, not scored by " in str(caught.value)
        assert f"Pass a run of {kind.BENCHMARK}; lmms-rpts summarize" in str(caught.value)


def test_no_run_and_an_unknown_breakdown_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="types of their records: none"):
        summarize([])
    write_rome_run(tmp_path, {"geo": [WHOLE]})
    with pytest.raises(RunError, match="'colour'; known breakdowns: "):
        summarize(read_runs_of(RomeRecord, [tmp_path]), ["colour"])


@table(
    "result",
    *("", "Final Answer: B", "null", "[]", "7", '"x"', "{}", "[" * 100_000),
    '{"schema": "lmms_rpts.rpts", "schema_version": 1, "rpts": 1.0}',
    '{"schema": "lmms_rpts.rome", "schema_version": 1}',
    '{"schema": "lmms_rpts.rome", "schema_version": 2, "score": 1.0}',
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_what_is_no_record_has_no_metrics(result: str) -> None:
    assert set(process_results({}, [result]).values()) == {None}
    assert process_results({}, [result]) == process_results({}, [])
