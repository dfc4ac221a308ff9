"""The registry of benchmarks: built-in ones, those of other packages, and name conflicts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmms_rpts.commands.doctor.examination import check_settings, plan
from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.judging.request_kinds import RequestKind, request_kinds
from lmms_rpts.tasks import benchmark
from lmms_rpts.tasks.benchmark import (
    GROUP,
    Benchmark,
    BenchmarkError,
    all_filters,
    benchmark_of,
    benchmarks,
    get_benchmark,
    record_types,
)
from lmms_rpts.tasks.rome.benchmark import RomeSettings
from tests.support.lmms import TASKS_DIR
from tests.support.tables import table

EMPTY = Benchmark(
    name="toy", title="Toy", folder=Path("/none"), checks="lmms_rpts.tasks.rome.data:CHECKS"
)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Adds benchmarks of another package, by the names of their entry points."""
    places: dict[str, Any] = {}

    class Point(EntryPoint):
        def load(self) -> Any:
            found = places[self.name]
            if isinstance(found, Exception):
                raise found
            return found

    def add(**named: Any) -> None:
        places.update(named)
        points = [Point(name, f"toy:{name}", GROUP) for name in places]
        monkeypatch.setattr(benchmark, "entry_points", lambda group: points)
        benchmark.registry.cache_clear()

    yield add
    benchmark.registry.cache_clear()


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
    for each in benchmarks().values():
        assert each.settings
        assert each.task_checks()
        assert set(each.scored) <= set(each.task_checks())
    assert all(issubclass(each, RptsFilter) for each in all_filters().values())
    schemas = [each.schema for each in record_types()]
    assert len(schemas) == len(set(schemas)) == len(benchmarks())


def test_templates_of_all_kinds_are_there_in_both_languages() -> None:
    benchmarks()
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


def test_a_benchmark_of_another_package(added: Callable[..., None]) -> None:
    added(toy=EMPTY)
    assert list(benchmarks()) == ["rpts", "rome", "cmmath", "reform", "toy"]
    assert benchmark_of("toy_colours") is EMPTY
    assert benchmark_of("mme") is None


@table(
    "change, said",
    *(({"name": name}, f"'rome' and '{name}' both have tasks") for name in ("rome_more", "ro")),
    ({"filters": {"rome_answer": "toy:F"}}, "'toy' both have filters named rome_answer: rename"),
    ({"verifiers": {"cmmath": "toy:V"}}, "'toy' both have verifiers named cmmath: rename one"),
    (
        {"request_kinds": (RequestKind("grade", 1, {}, "x", Path("/none")),)},
        "'toy': another kind .*'grade'.*: rename it",
    ),
    ({"scored": {"toy_task": ()}}, "'toy' sets scored: set documents and images as well"),
    ({"grades": "toy:page"}, "'toy' sets grades: set record as well"),
    ({"settings": RomeSettings}, "'toy': set TABLE of its settings to its name"),
)
def test_a_benchmark_that_does_not_fit_is_refused(
    added: Callable[..., None], change: dict[str, Any], said: str
) -> None:
    def registered() -> None:
        added(toy=replace(EMPTY, **change))
        benchmarks()

    with pytest.raises(BenchmarkError, match=said):
        registered()


def test_what_is_no_benchmark_is_refused(added: Callable[..., None]) -> None:
    added(toy="a text")
    with pytest.raises(BenchmarkError, match=r"toy = toy:toy .* should name a Benchmark, not str"):
        benchmarks()


def test_a_package_that_can_not_be_imported_leaves_the_others(
    added: Callable[..., None], caplog_loguru: list[str]
) -> None:
    added(broken=ImportError("no module named colours"), toy=EMPTY)
    assert list(benchmarks()) == ["rpts", "rome", "cmmath", "reform", "toy"]
    (said,) = caplog_loguru
    assert "broken (toy:broken) cannot be used: no module named colours" in said
    checks = [check for stage in plan(quick=True, offline=True) for check in stage.perform()]
    (found,) = [check for check in checks if check.name == "benchmarks"]
    assert (found.state, found.said) == ("problem", benchmark.broken_benchmarks()[0])


def test_a_benchmark_needs_no_settings_and_no_checks(added: Callable[..., None]) -> None:
    added(toy=Benchmark(name="toy", title="Toy", folder=Path(__file__).parent))
    found = benchmarks()["toy"]
    assert found.task_checks() == {}
    (settings,) = check_settings()
    assert settings.state == "ok", settings


@pytest.fixture
def caplog_loguru() -> Iterator[list[str]]:
    from loguru import logger

    said: list[str] = []
    sink = logger.add(said.append, format="{message}")
    yield said
    logger.remove(sink)


def test_listing_benchmarks_imports_no_framework() -> None:
    slow = {"torch", "transformers", "openai", "datasets", "lmms_eval", "pandas", "numpy", "sympy"}
    code = (
        "import sys; from lmms_rpts.tasks.benchmark import benchmarks; benchmarks(); "
        f"print({slow} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()", done.stdout
