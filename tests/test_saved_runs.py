"""Runs saved by an earlier version: records, metrics and summaries are unchanged."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.lmms import read_record
from tests.support.saved_runs import SAVED, Case, cases, evaluate, judge, metrics_of, tasks_of, told

pytestmark = pytest.mark.slow

NAMES = ("careful", "lucky", "rome", "cmmath", "cmmath_rpts")


@pytest.fixture(scope="module")
def env() -> Iterator[Mapping[str, str]]:
    with judge() as variables:
        yield variables


@pytest.fixture(scope="module")
def all_cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return cases(tmp_path_factory.mktemp("cases"))


def test_all_are_saved(all_cases: dict[str, Case]) -> None:
    assert tuple(all_cases) == NAMES
    assert sorted(path.name for path in SAVED.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_new_run_gives_the_same(
    all_cases: dict[str, Case], env: Mapping[str, str], tmp_path: Path, name: str
) -> None:
    done = evaluate(all_cases[name], tmp_path, env)
    assert done.code == 0, done.output
    saved = {}
    for file in (SAVED / name).glob("*_samples_*"):
        rows = map(json.loads, file.read_text("utf-8").splitlines())
        saved[file.stem.partition("_samples_")[2]] = {
            row["doc_id"]: read_record(row) for row in rows
        }
    assert _as_then(tasks_of(done)) == _as_then(saved)
    assert metrics_of(done) == json.loads((SAVED / name / "metrics.json").read_text("utf-8"))


def _as_then(tasks: dict[str, dict[int, Any]]) -> Any:
    """The records without the version of the prompts, and without what was not recorded then."""

    def known(fields: dict[str, Any]) -> dict[str, Any]:
        # The version was a number then, and is the prompts' digest now.
        new = {"prompt_version", "call", *["reply"] * ("by" in fields)}
        return {name: value for name, value in fields.items() if name not in new}

    return json.loads(json.dumps(tasks), object_hook=known)


@pytest.mark.parametrize("name", NAMES)
def test_saved_samples_are_read_as_before(
    all_cases: dict[str, Case], tmp_path: Path, name: str
) -> None:
    for written, text in told(all_cases[name], SAVED / name, tmp_path).items():
        before = (SAVED / name / written).read_text("utf-8")
        if written.endswith("json"):
            assert _same(json.loads(text), json.loads(before)), written
            continue
        wanted, found = _cells(before), _cells(text)
        columns = wanted[0].keys()  # there are more now
        assert _same([{name: row[name] for name in columns} for row in found], wanted), written


def _cells(text: str) -> list[dict[str, str | float]]:
    rows = csv.DictReader(io.StringIO(text))
    return [{name: _number(cell) for name, cell in row.items()} for row in rows]


def _number(cell: str) -> str | float:
    try:
        return float(cell)
    except ValueError:
        return cell


def _same(one: object, other: object) -> bool:
    """Equal, with numbers to 1e-12: other library versions change the last digits of quantiles."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    return type(one) is type(other) and one == other
