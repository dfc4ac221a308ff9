"""``lmms-rpts score`` on a folder with samples of tasks that compare options by likelihood."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.analysis.rescoring import plan_any_run, plan_rescoring, plan_score
from lmms_rpts.cli import app
from lmms_rpts.runs.responses import LikelihoodError, ResponsesError, read_responses
from tests.support.tables import table

DATE = "20260101_000000"
# As lmms-eval saves what models return for answer options: a likelihood, whether it is the largest.
OPTIONS = [[["-3.5", "False"]], [["-0.25", "True"]]]
ONE = ["-0.25", "True"]


def samples(folder: Path, task: str, rows: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{DATE}_samples_{task}.jsonl"
    path.write_text(
        "".join(json.dumps({"doc_id": at, **row}) + "\n" for at, row in enumerate(rows))
    )
    return path


def likelihoods(folder: Path, task: str = "arc_easy") -> Path:
    filtered = [pair for (pair,) in OPTIONS]
    return samples(folder, task, [{"resps": OPTIONS, "filtered_resps": filtered, "acc": 1.0}] * 2)


def free_text(folder: Path, task: str = "colours") -> Path:
    return samples(folder, task, [{"filtered_resps": "Red. A", "m": 1.0}] * 2)


def score(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, arguments), "--judge", "lexical"])


def test_beside_responses_to_a_task_of_ours_they_are_ignored(tmp_path: Path, saved: Path) -> None:
    (ours,) = (saved / "careful").rglob("*_samples_*.jsonl")
    (tmp_path / ours.name).write_bytes(ours.read_bytes())
    alone = plan_rescoring([tmp_path])
    likelihoods(tmp_path)
    # Also where the lines name their task.
    rows = [{"task": "piqa", "doc_id": at, "filtered_resps": ONE} for at in range(2)]
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = plan_rescoring([tmp_path, tmp_path / "more.jsonl"])
    assert found.passed_over == ("arc_easy", "piqa")
    assert (found.responses, found.parts) == (alone.responses, alone.parts)


def test_beside_free_text_of_other_tasks_a_task_must_be_chosen(tmp_path: Path) -> None:
    likelihoods(tmp_path)
    free_text(tmp_path)
    free_text(tmp_path, "shapes")
    said = score(tmp_path, "-o", tmp_path / "out")
    assert said.exit_code == 1
    assert said.output.count("\n") == 1, said.output
    assert "arc_easy.jsonl, line 1 holds likelihoods of answer options, not a" in said.output
    assert said.output.endswith("Set --task to one of: colours, shapes\n")
    assert plan_any_run([tmp_path], "colours").passed_over == ("arc_easy", "shapes")
    chosen = score(tmp_path, "--task", "arc_easy", "-o", tmp_path / "out")
    assert chosen.exit_code == 1
    assert "only free text can be scored" in chosen.output
    assert "--task" not in chosen.output


def test_a_chosen_task_is_planned_although_others_hold_likelihoods(tmp_path: Path) -> None:
    """The command looked into all files for the name of the task."""
    likelihoods(tmp_path)
    free_text(tmp_path)
    assert list(plan_score([tmp_path], "colours").responses) == ["colours_rpts"]


@table(
    "row",
    {"filtered_resps": ONE},
    {"resps": [ONE], "filtered_resps": "x"},
    {"resps": OPTIONS, "filtered_resps": [["-3.5", "False"]]},
    {"resps": [[[-3.5, False]], [[-0.25, True]]]},
    {"filtered_resps": ["-inf", "False"]},
    {"filtered_resps": ["nan", "False"]},
)
def test_likelihoods_are_no_responses(tmp_path: Path, row: dict[str, Any]) -> None:
    """One of a single request looked like two responses, "-0.25" and "True"."""
    with pytest.raises(LikelihoodError, match="only free text can be scored"):
        read_responses(samples(tmp_path, "t", [row]))


@table(
    "row, texts",
    ({"filtered_resps": ["2.5", "True"]}, ["2.5", "True"]),
    ({"response": ["-1", "True"]}, ["-1", "True"]),
    ({"resps": [["-1", "0"]]}, ["-1", "0"]),
    ({"filtered_resps": "-1"}, ["-1"]),
)
def test_short_texts_are_responses(tmp_path: Path, row: dict[str, Any], texts: list[str]) -> None:
    found = read_responses(samples(tmp_path, "t", [row]))
    assert [each.text for each in found.by_doc_id["t", "0"]] == texts


@table("row", {"filtered_resps": []}, {"resps": [[]]}, {"resps": [[[[["x"]]]]]}, {"resps": None})
def test_other_values_are_named(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(ResponsesError, match="has no text as response or resps"):
        read_responses(samples(tmp_path, "t", [row]))
