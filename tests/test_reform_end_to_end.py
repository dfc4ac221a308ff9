"""ReForm-Eval with the real lmms-eval: all 61 sets, 42 by likelihood, and a dialogue in rounds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.cli import app
from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS
from tests.support.environment import write_config
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference
from tests.support.reform import documents, write_reform

pytestmark = pytest.mark.slow

BY_GENERATION, BY_LIKELIHOOD = GROUPS["reform_eval"], GROUPS["reform_eval_likelihood"]
ONLINE = "reform_visdial_online"


def in_file(folder: Path, **more: int) -> dict[str, str]:
    data = str(reference("reform_eval/data_samples"))
    return write_config(folder, reform={"path": data, **more})


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return in_file(tmp_path_factory.mktemp("settings"))


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]) -> Path:
    """Right answers for duplicates with an even number; captions from the data."""
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        for task in BY_GENERATION:
            for at, document in enumerate(documents(task.removeprefix("reform_"))):
                right, options = document["duplicate"] % 2 == 0, document["options"]
                answer = document["answers"][0] if document["answers"] and right else "nothing"
                if options:
                    place = (document["right"] + (not right)) % len(options)
                    answer = f"({document['marks'][place]}) {options[place]}"
                lines.append(json.dumps({"task": task, "doc_id": at, "response": answer}))
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, said: Path, settings: dict[str, str]) -> Run:
    arguments = ("--model", "replay", "--model_args", f"samples={said}", "--tasks", "reform_eval")
    return run_lmms_eval(tmp_path_factory.mktemp("one"), *arguments, env=settings, processes=2)


def test_all_61_sets_have_the_results_of_their_answers_in_two_processes(one: Run) -> None:
    results = one.results
    assert set(BY_GENERATION) <= set(results)
    for task in BY_GENERATION:
        if TASKS[task].set.kind == "caption":
            assert results[task]["rouge_l,none"] == 1.0
            continue
        # Of five duplicates the first, third and fifth are right.
        assert results[task]["accuracy,none"] == pytest.approx(0.6)
        if TASKS[task].set.kind == "choice" and results[task]["strict_coverage,none"] == 1:
            assert results[task]["accuracy_strict,none"] == pytest.approx(0.6)
        instances = [record["instance"] for record in one.records(task).values()]
        if len({text for each in instances for text in each["options"]}) > 2:
            assert 0 < results[task]["instability,none"] <= math.log(5)
    assert results["reform_eval"]["accuracy,none"] == pytest.approx(0.6)
    for path in one.folder.rglob("*_samples_*.jsonl"):
        assert "iVBOR" not in path.read_text(encoding="utf-8")


def test_a_report_shows_samples_of_all_sets(
    tmp_path: Path, one: Run, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    arguments = ["report", str(one.folder), "-o", str(tmp_path / "report.html")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "192 instances, 192 images" in done.output  # all sets, each with its image


def test_a_real_model_answers_all_sets_by_generation_and_likelihood(
    tmp_path: Path, tiny_llava: str
) -> None:
    run = run_lmms_eval(
        tmp_path / "out",
        *("--model", "hf_multimodal", "--model_args", tiny_llava, "--batch_size", "8"),
        *("--tasks", "reform_eval,reform_eval_likelihood", "--gen_kwargs", "max_new_tokens=2"),
        env=in_file(tmp_path, limit=1, duplicates=1),
    )
    assert {*BY_GENERATION, *BY_LIKELIHOOD} <= set(run.results)
    for task in BY_GENERATION:
        (record,) = run.records(task).values()
        assert record["outcome"] == "scored"
        assert record["instance"]["set"] == TASKS[task].set.name
    for task in BY_LIKELIHOOD:
        assert run.results[task]["format_hit_rate,none"] == 1.0
        ((first, *others),) = (row["filtered_resps"] for row in run.samples(task).values())
        assert set(others) == {""}
        record = json.loads(first)
        losses, options = record["numbers"]["losses"], record["instance"]["options"]
        assert len(losses) == len(options) > 1
        assert all(each > 0 for each in losses)
        assert losses[record["grades"]["rule"]["chosen"]] == min(losses)


def test_a_real_model_answers_in_rounds(tmp_path: Path, tiny_llava: str) -> None:
    """Two dialogues, two duplicates, two rounds; cached responses give the same results."""
    data = write_reform(tmp_path / "data", 2)
    env = write_config(data, reform={"path": str(data), "duplicates": 2})
    arguments = (
        *("--model", "hf_multimodal", "--model_args", tiny_llava, "--batch_size", "3"),
        *("--use_cache", str(tmp_path / "responses"), "--gen_kwargs", "max_new_tokens=6"),
        *("--tasks", ONLINE),
    )
    done = run_lmms_eval(tmp_path / "1", *arguments, env=env)
    records: dict[int, list[dict[str, Any]]] = done.records(ONLINE)
    assert len(records) == 4
    every = [each["instance"] for entry in records.values() for each in entry]
    asked = [(each["sample"], each["duplicate"], each["round"]) for each in every]
    assert sorted(asked) == [
        (2 * dialogue + number, duplicate, number)
        for dialogue in range(2)
        for number in range(2)
        for duplicate in range(2)
    ]
    assert done.results[ONLINE]["accuracy,none"] == 0  # a random model selects no option
    (run,) = read_runs([tmp_path / "1"])
    for each in run.responses:
        assert (each.text or "").strip() == each.answer.strip() != ""
    again = run_lmms_eval(tmp_path / "2", *arguments, env=env)
    assert "Model Responding" not in again.output
    assert again.records(ONLINE) == records
