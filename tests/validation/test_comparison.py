"""Comparison of two validity files, including files of other origin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.runs.validity import ValidityError, read_validity_file
from lmms_rpts.validation.figures import ComparisonError, compare_judges
from tests.support.tables import table

Change = Callable[[dict[str, Any]], None]


def content() -> dict[str, Any]:
    """Two chains, the second with an error at its second step."""
    chain = {"stratum": "", "scores": [0.9, 0.2, None]}
    chains = [
        chain | {"id": "a", "question": "a", "labels": [True, True, True]},
        chain | {"id": "b", "question": "b", "labels": [True, False, None], "first_error": 1},
    ]
    counts = dict.fromkeys(("n_chains", "n_steps", "n_wrong", "n_questions", "available"), 2)
    found = {"name": "s", "layout": "l", "metrics": {}, "chains": chains, **counts}
    return {"format": "lmms-rpts-validity", "judge": "j", "sets": [found]}


def write(path: Path, change: Change) -> Path:
    found = content()
    change(found)
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def of_second(**fields: Any) -> Change:
    return lambda found: found["sets"][0]["chains"][1].update(fields)


@table(
    "fields, said",
    ({}, None),
    ({"scores": [0.9]}, "scores than labels"),
    ({"places": [0]}, "places than labels"),
    ({"places": [0, 1, 3]}, "a step that does not exist"),
    ({"places": [0, 1, 2**63]}, "a whole number"),
    ({"path": [3]}, "a step that does not exist"),
    ({"first_error": 3}, "a step that does not exist"),
    ({"first_error": -1}, "a whole number"),
    ({"first_error": None}, "first error that contradicts its labels"),
    ({"first_error": 0}, "first error that contradicts its labels"),
    ({"first_error": 2}, "first error that contradicts its labels"),
    ({"first_error": None, "located": False}, None),
    ({"first_error": None, "path": [0], "places": [0, 0, 1]}, None),
    ({"first_error": 2, "labels": [True, True, None]}, None),
    ({"scores": [0.9, 1e308, None]}, "a number from 0 to 1"),
    ({"id": "a"}, "two chains with the same id"),
)
def test_chains_that_contradict_themselves_are_refused(
    fields: dict[str, Any], said: str | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "v.json", of_second(**fields))
    if said is None:
        read_validity_file(path)
        return
    with pytest.raises(ValidityError, match=said):
        read_validity_file(path)


def test_chains_of_another_question_are_not_compared(tmp_path: Path) -> None:
    first = read_validity_file(write(tmp_path / "a.json", of_second())).validity
    second = read_validity_file(write(tmp_path / "b.json", of_second(question="a"))).validity
    (found,) = compare_judges(first, second).sets
    assert (found.chains, found.only) == (1, 1)


def test_a_set_that_stands_twice_is_not_compared(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.json",
        lambda found: found["sets"].append(found["sets"][0] | {"layout": "other"}),
    )
    twice = read_validity_file(path).validity
    with pytest.raises(ComparisonError, match="two sets of the same name"):
        compare_judges(twice, twice)


def test_a_chain_of_very_many_steps_takes_no_longer_than_others(tmp_path: Path) -> None:
    n = 100_000
    long = of_second(labels=[True] * n, scores=[0.5] * n, first_error=None)
    found = read_validity_file(write(tmp_path / "v.json", long)).validity
    (compared,) = compare_judges(found, found).sets
    assert compared.found.steps == n + 2
