"""What holds for the graded records of every benchmark: reading, refusing, joining."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.schema import FieldError
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import Record
from lmms_rpts.runs.samples import RunError, read_samples_of
from lmms_rpts.analysis.reading import summarize
from lmms_rpts.tasks.cmmath import record as cmmath
from lmms_rpts.tasks.rome import record as rome
from lmms_rpts.analysis.reading import read_runs
from tests.support.cmmath_runs import make_cmmath_record, write_cmmath_run
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table


class Graded(NamedTuple):
    """A benchmark with graded answers; ``whole``: a record with all of its parts."""

    record: type[Record]
    read: Callable[..., Any]
    summarize: Callable[..., Any]
    process: Callable[..., dict[str, Any]]
    write: Callable[..., list[Path]]
    parts: tuple[str, str]
    whole: dict[str, Any]


ROME = Graded(
    *(rome.RomeRecord, partial(read_runs_of, rome.RomeRecord), summarize, rome.process_results),
    *(write_rome_run, ("geo", "memes"), make_rome_record(1.0, 0.5, 0.0, consistent=False)),
)
CMMATH = Graded(
    *(
        cmmath.CmmathRecord,
        partial(read_runs_of, cmmath.CmmathRecord),
        summarize,
        cmmath.process_results,
    ),
    *(write_cmmath_run, ("cmmath", "cmmath_ocr")),
    make_cmmath_record("correct", 1.0, mistake="reject"),
)
each_benchmark = table("benchmark", ROME, CMMATH)


@table(
    "benchmark, change, said",
    *(
        (benchmark, *row)
        for benchmark in (ROME, CMMATH)
        for row in (
            ({"score": 1.5}, "score should be less than or equal to 1, not 1.5"),
            ({"score": None}, "score should be a number"),
            ({"instance": []}, "instance should be an object"),
        )
    ),
    (ROME, {"grader": "people"}, "grader should be one of rule, llm"),
    (ROME, {"grades": {"rule": 1.0, "llm": None}}, "grades.strict is missing"),
    (ROME, {"grades": {"rule": 1.0, "strict": True, "llm": None}}, "grades.strict should be"),
    (ROME, {"grades": {"rule": 1.0, "strict": 1.0, "llm": 1.0}}, "grades.llm should be an object"),
    (ROME, {"consistency": {"consistent": 1}}, "consistency.consistent should be true or false"),
    (ROME, {"settings": {"grader": "rule", "judge": 1}}, "settings.judge should be a string"),
    (CMMATH, {"grader": "people"}, "grader should be one of rule, judge, not 'people'"),
    (CMMATH, {"grades": {"rule": None}}, "grades.judge is missing"),
    (CMMATH, {"grades": {"rule": 1.0, "judge": None}}, "grades.rule should be an object, not 1.0"),
    (
        *(CMMATH, {"grades": {"rule": {"outcome": "right"}, "judge": None}}),
        "grades.rule.outcome should be one of correct, incorrect, undecided, not 'right'",
    ),
    (
        *(CMMATH, {"mistake": {"kind": "luck", "error": None}}),
        "mistake.kind should be one of perception, reasoning, calculation, reject",
    ),
    (CMMATH, {"settings": {"grader": "llm"}}, "settings.grader should be one of rule, judge, both"),
)
def test_what_was_changed_is_refused_with_its_line(
    tmp_path: Path, benchmark: Graded, change: dict[str, Any], said: str
) -> None:
    (file,) = benchmark.write(tmp_path, {benchmark.parts[0]: [benchmark.whole] * 2})
    first, second = file.read_text().splitlines()
    row = json.loads(second)
    row["filtered_resps"] = json.dumps(json.loads(row["filtered_resps"]) | change)
    file.write_text(f"{first}\n{json.dumps(row)}\n")
    with pytest.raises(RunError) as caught:
        benchmark.read([tmp_path])
    told = str(caught.value)
    assert told.startswith(f"{file}, line 2: {said}")
    assert told.endswith("Copy it again, or run the task again")
    assert "lmms-rpts score" not in told


@each_benchmark
def test_another_version_is_refused(tmp_path: Path, benchmark: Graded) -> None:
    newer = benchmark.whole | {"schema_version": 2}
    (file,) = benchmark.write(tmp_path, {benchmark.parts[0]: [newer]})
    with pytest.raises(RunError, match="schema version 2, but this lmms-rpts reads version 1"):
        read_samples_of(benchmark.record, file, pass_over=True)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_value_in_any_place_is_read_or_refused_in_one_message(value: Any) -> None:
    for benchmark in (ROME, CMMATH):
        whole = benchmark.whole
        changed = [whole | {name: value} for name in whole]
        for part in (name for name in whole if isinstance(whole[name], dict)):
            changed += [whole | {part: whole[part] | {name: value}} for name in whole[part]]
        for each in changed:
            with suppress(FieldError):  # other exceptions would end in a traceback
                found: Any = benchmark.record.parse(each, task="a", doc_id=0)
                assert found.score is None or 0 <= found.score <= 1


@each_benchmark
def test_tasks_are_parts_of_one_run_be_they_run_together_or_not(
    tmp_path: Path, benchmark: Graded
) -> None:
    for at, part in enumerate(benchmark.parts):
        benchmark.write(tmp_path, {part: [benchmark.whole]}, date=f"2026010{at + 1}_030405")
    (run,) = benchmark.read([tmp_path])
    assert len(run.tasks) == len(run.files) == 2
    assert not [each for each in benchmark.summarize([run]).warnings if "judge" not in each]


def test_each_reader_passes_over_the_others_or_names_them(tmp_path: Path) -> None:
    for benchmark in (ROME, CMMATH):
        title = benchmark.record.BENCHMARK
        for folder in (tmp_path / title, tmp_path / "all"):
            benchmark.write(folder, {benchmark.parts[0]: [benchmark.whole]})
    for folder in (tmp_path / "RPTS", tmp_path / "all"):
        write_run(folder, {0: make_record([1.0, 1.0])})
    readers = {"RPTS": read_runs, "ROME": ROME.read, "CMMaTH": CMMATH.read}
    tasks = {"RPTS": "rpts_eval_en", "ROME": "rome_geo", "CMMaTH": "cmmath"}
    for reader, read in readers.items():
        assert [run.tasks for run in read([tmp_path / "all"])] == [(tasks[reader],)]
        for other in readers.keys() - {reader}:
            with pytest.raises(RunError) as caught:
                read([tmp_path / other])
            told = f"{tmp_path / other} are of other tasks, not scored by "
            assert told in str(caught.value)
            assert f"Pass a run of {reader}; lmms-rpts summarize" in str(caught.value)


@each_benchmark
def test_no_run_and_an_unknown_breakdown_are_refused(tmp_path: Path, benchmark: Graded) -> None:
    with pytest.raises(RunError, match="No run to summarize"):
        benchmark.summarize([])
    benchmark.write(tmp_path, {benchmark.parts[0]: [benchmark.whole]})
    with pytest.raises(RunError, match="'colour'; known breakdowns: "):
        benchmark.summarize(benchmark.read([tmp_path]), ["colour"])


@table(
    "result",
    *("", "Final Answer: B", "null", "[]", "7", '"x"', "{}", "[" * 100_000),
    '{"schema": "lmms_rpts.rpts", "schema_version": 1, "rpts": 1.0}',
    '{"schema": "lmms_rpts.rome", "schema_version": 1}',
    '{"schema": "lmms_rpts.rome", "schema_version": 2, "score": 1.0}',
    '{"schema": "lmms_rpts.cmmath", "schema_version": 1}',
    '{"schema": "lmms_rpts.cmmath", "schema_version": 2, "score": 1.0}',
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_what_is_no_record_has_no_metrics(result: str) -> None:
    for process in (ROME.process, CMMATH.process):
        assert set(process({}, [result]).values()) == {None}
        assert process({}, [result]) == process({}, [])
