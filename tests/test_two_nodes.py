"""Two machines give the same records and table as one process: docs/scale.md."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.lmms import Run, run_lmms_eval
from tests.support.two_nodes import run_on_two_nodes

TASK = "rpts_demo"
RESPONSES = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses" / "lucky.jsonl"
ARGUMENTS = ("--model", "replay", "--model_args", f"samples={RESPONSES}", "--tasks", TASK)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_lmms_eval(tmp_path_factory.mktemp("one"), *ARGUMENTS)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_on_two_nodes(tmp_path_factory.mktemp("two"), *ARGUMENTS)


def table_of(found: Run) -> list[str]:
    return [line for line in found.output.splitlines() if line.startswith("|")]


def metrics(found: Run) -> dict[str, Any]:
    values = found.results[TASK]
    return {name: None if value != value else value for name, value in values.items()}


def test_both_agents_end_well(two: Run) -> None:
    assert two.code == 0, two.output


def test_two_nodes_give_the_same_records(one: Run, two: Run) -> None:
    assert two.records(TASK) == one.records(TASK)
    assert len(two.records(TASK)) == 14


def test_two_nodes_give_the_same_table(one: Run, two: Run) -> None:
    """Up to rounding: lmms-eval sums the documents in another order."""
    assert table_of(two) == table_of(one)
    assert len(table_of(two)) > 10
    found, expected = metrics(two), metrics(one)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float):
            assert math.isclose(found[name], value, rel_tol=1e-12), name
        else:
            assert found[name] == value, name


def test_a_real_model_on_two_nodes(tiny_llava: str, tmp_path: Path) -> None:
    """With responses and images: wrappers of lmms-eval use the local rank as the rank."""
    model = ("--model", "llava_hf", "--model_args", tiny_llava, "--tasks", TASK)
    limits = ("--limit", "3", "--gen_kwargs", "max_new_tokens=16")
    alone = run_lmms_eval(tmp_path / "one", *model, *limits)
    both = run_on_two_nodes(tmp_path / "two", *model, *limits)
    assert both.code == 0, both.output
    said, expected = (
        {at: sample["resps"] for at, sample in done.samples(TASK).items()} for done in (both, alone)
    )
    assert said == expected
    assert set(said) == {0, 1, 2}
    assert both.records(TASK) == alone.records(TASK)
