"""The table of benchmarks, and their task files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.filters.grading import all_filters
from lmms_rpts.host.task_files import filters_of, read_simply
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.tasks.cmmath.task import process_results as cmmath_results
from lmms_rpts.tasks.registry import BENCHMARKS, BenchmarkError, get_benchmark
from lmms_rpts.tasks.rome.task import process_results as rome_results
from lmms_rpts.tasks.rpts_eval.task import process_results as rpts_results
from tests.support.tables import table


def task_files(name: str) -> dict[str, Any]:
    """The task files of a benchmark by task or group, with what they include."""
    files = [file for file in BENCHMARKS[name].folder.rglob("*.yaml") if file.name[0] != "_"]
    found = [read_simply(str(file)) for file in files]
    return {each.get("group") or each["task"]: each for each in found}


@table("name", *BENCHMARKS)
def test_task_files_are_those_of_the_table(name: str) -> None:
    """Each names its data, shows its metrics, and takes texts around its prompt."""
    benchmark, files = BENCHMARKS[name], task_files(name)
    assert {*files} == {*benchmark.tasks, *benchmark.groups}
    known = {metric.name for metric in benchmark.metrics.values() if metric.listed}
    known |= {"meteor"} if name == "reform" else set()  # it starts Java: no table of ours has it
    for task, config in files.items():
        if task in benchmark.groups:
            assert tuple(config["task"]) == benchmark.groups[task]
            continue
        assert (config["dataset_path"], config["dataset_name"]) == (
            benchmark.dataset,
            benchmark.tasks[task],
        )
        assert {each["metric"] for each in config["metric_list"]} <= known
        assert filters_of(config) <= {*all_filters()}
        assert {*config["metadata"]} == {"version"}
        for texts in config["lmms_eval_specific_kwargs"].values():
            assert {"pre_prompt", "post_prompt"} <= {*texts}
        assert str(config["tag"]).startswith(f"{name}_")


def test_what_a_benchmark_names_is_there() -> None:
    assert all(issubclass(each, RptsFilter) for each in all_filters().values())
    schemas = [each.record.SCHEMA for each in BENCHMARKS.values()]
    assert len(schemas) == len({*schemas})
    for benchmark in BENCHMARKS.values():
        assert {*benchmark.columns} <= {*benchmark.metrics}
    for kind in KINDS.values():
        for language in ("en", "zh"):
            for name in (kind.name, f"{kind.name}_again"):
                assert Path(kind.templates, language, f"{name}.jinja").is_file()


@table(
    "result",
    *("", "Final Answer: B", "null", "[]", "7", '"x"', "{}", "[" * 100_000),
    '{"schema": "other", "schema_version": 1, "rpts": 1.0}',
    *(f'{{"schema": "lmms_rpts.{name}", "schema_version": {at}}}' for at in (1, 9)
      for name in BENCHMARKS),
)  # fmt: skip
@table("process", rpts_results, rome_results, cmmath_results)
@pytest.mark.usefixtures("no_garbage_collection")
def test_what_is_no_record_has_no_metrics(process: Any, result: str) -> None:
    """lmms-eval retries process_results and hides its errors, so it must not raise."""
    values = process({}, [result]).values()
    assert all(value is None or value == [] for value in values)


def test_an_unknown_name_names_the_nearest_or_all() -> None:
    with pytest.raises(BenchmarkError, match=r"Unknown benchmark 'cmath'\. Did you mean cmmath\?"):
        get_benchmark("cmath")
    with pytest.raises(BenchmarkError, match="Known benchmarks: rpts, rome, cmmath"):
        get_benchmark("xyz")
