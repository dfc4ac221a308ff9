"""The table of benchmarks."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.tasks.registry import (
    BENCHMARKS,
    BenchmarkError,
    all_filters,
    benchmark_of,
    get_benchmark,
    record_types,
)
from tests.support.lmms import TASKS_DIR


def test_every_task_file_is_of_a_benchmark_that_checks_it() -> None:
    files = list(TASKS_DIR.rglob("*.yaml"))
    assert len(files) >= 20
    for file in files:
        text = file.read_text(encoding="utf-8").replace("!function", "")
        content = yaml.safe_load(text)
        name = content.get("group") or content.get("task")
        if file.name.startswith("_"):
            continue
        found = benchmark_of(name)
        assert found is not None, file
        assert file.is_relative_to(found.folder), file
        assert name in found.task_checks(), file


def test_whatever_a_benchmark_names_is_there() -> None:
    for each in BENCHMARKS.values():
        assert each.settings
        assert each.task_checks()
        assert set(each.scored) <= set(each.task_checks())
    assert all(issubclass(each, RptsFilter) for each in all_filters().values())
    schemas = [each.schema for each in record_types()]
    assert len(schemas) == len(set(schemas)) == len(BENCHMARKS)


def test_templates_of_all_kinds_are_there_in_both_languages() -> None:
    for kind in request_kinds().values():
        for language in ("en", "zh"):
            for name in (kind.name, f"{kind.name}_again"):
                assert (kind.templates / language / f"{name}.jinja").is_file()


def test_an_unknown_name_names_the_nearest_or_all() -> None:
    with pytest.raises(BenchmarkError, match=r"Unknown benchmark 'cmath'\. Did you mean cmmath\?"):
        get_benchmark("cmath")
    with pytest.raises(BenchmarkError, match="Known benchmarks: rpts, rome, cmmath"):
        get_benchmark("xyz")
    assert get_benchmark("rome").title == "ROME"


def test_listing_benchmarks_imports_no_framework() -> None:
    slow = {"torch", "transformers", "openai", "datasets", "lmms_eval", "pandas", "numpy", "sympy"}
    code = f"import sys; import lmms_rpts.tasks.registry; print({slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()", done.stdout
