"""ReForm-Eval with the real lmms-eval: all 61 sets, and 42 by likelihood."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.reform_eval.dataset import load_documents
from lmms_rpts.tasks.reform_eval.sets import TASKS, groups
from tests.support.environment import write_config
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference
from tests.support.tiny_llava import build_tiny_llava

pytestmark = pytest.mark.slow

BY_GENERATION = groups()["reform_eval"]
BY_LIKELIHOOD = groups()["reform_eval_likelihood"]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return in_file(tmp_path_factory)


def in_file(tmp_path_factory: pytest.TempPathFactory, **more: int) -> dict[str, str]:
    data = str(reference("reform_eval/data_samples"))
    folder = tmp_path_factory.mktemp("settings")
    return write_config(folder, reform={"path": data, "java": False, **more})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = build_tiny_llava(tmp_path_factory.mktemp("tiny"))
    return f"pretrained={path},device=cpu,dtype=float32,attn_implementation=eager"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]) -> Path:
    """Right answers for duplicates with an even number; captions from the data."""
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        for task in BY_GENERATION:
            for at, document in enumerate(load_documents(*TASKS[task][:2])):
                right, options = document["duplicate"] % 2 == 0, document["options"]
                answer = document["answers"][0] if document["answers"] and right else "nothing"
                if options:
                    place = (document["right"] + (not right)) % len(options)
                    answer = f"({document['marks'][place]}) {options[place]}"
                lines.append(json.dumps({"task": task, "doc_id": at, "response": answer}))
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def replay(folder: Path, said: Path, settings: dict[str, str], processes: int = 1) -> Run:
    model = ("--model", "replay", "--model_args", f"samples={said}")
    return run_lmms_eval(
        folder, *model, "--tasks", "reform_eval", env=settings, processes=processes
    )


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, said: Path, settings: dict[str, str]) -> Run:
    return replay(tmp_path_factory.mktemp("one"), said, settings)


def test_all_61_sets_have_the_results_of_their_answers(one: Run) -> None:
    results = one.results
    assert set(BY_GENERATION) <= set(results)
    for task in BY_GENERATION:
        chosen = TASKS[task].set
        if chosen.kind == "caption":
            assert results[task]["rouge_l,none"] == 1.0
            continue
        # Of five duplicates the first, third and fifth are right.
        assert results[task]["accuracy,none"] == pytest.approx(0.6)
        assert results[task]["accuracy_strict,none"] == pytest.approx(0.6)
        if len(set(_options(one, task))) > 2:
            assert 0 < results[task]["instability,none"] <= math.log(5)
    assert results["reform_eval"]["accuracy,none"] == pytest.approx(0.6)


def _options(run: Run, task: str) -> list[str]:
    return [text for each in run.records(task).values() for text in each["instance"]["options"]]


def test_a_report_shows_samples_of_all_sets(
    tmp_path: Path, one: Run, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    page = tmp_path / "report.html"
    arguments = ["report", str(one.folder), "--limit", "61", "-o", str(page)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    # One for each set, with its image.
    assert "61 instances, 61 images" in done.output
    html = page.read_text("utf-8")
    shown = set(re.findall(r'<article class="instance" id="([a-z0-9-]+)-\d+"', html))
    assert shown == {task.replace("_", "-") for task in BY_GENERATION}
    assert "wording 5" in html
    assert "instability 0." in html


def test_two_processes_give_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, one: Run, said: Path, settings: dict[str, str]
) -> None:
    two = replay(tmp_path_factory.mktemp("two"), said, settings, processes=2)
    for task in BY_GENERATION:
        assert two.records(task) == one.records(task)
        for name, value in one.results[task].items():
            same = pytest.approx(value, abs=1e-12, nan_ok=True) if _is_number(value) else value
            assert two.results[task][name] == same, (task, name)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def test_samples_hold_no_image_and_results_say_how_was_asked(one: Run) -> None:
    for path in one.folder.rglob("*_samples_*.jsonl"):
        content = path.read_text(encoding="utf-8")
        assert "iVBOR" not in content
        assert "/9j/4AA" not in content
    results = next(one.folder.rglob("*_results.json"))
    config = json.loads(results.read_text())["configs"]["reform_gqa"]["metadata"]
    assert config["instructions"] == "ours"
    assert config["duplicates"] == 5
    assert len(config["instructions_sha256"]) == 64


def test_the_42_sets_by_likelihood_have_results(
    tmp_path_factory: pytest.TempPathFactory, tiny: str
) -> None:
    few = in_file(tmp_path_factory, limit=1, duplicates=2)
    run = run_lmms_eval(
        tmp_path_factory.mktemp("likely"),
        *("--model", "hf_multimodal", "--model_args", tiny, "--batch_size", "8"),
        *("--tasks", "reform_eval_likelihood"),
        env=few,
    )
    results = run.results
    for task in BY_LIKELIHOOD:
        assert results[task]["format_hit_rate,none"] == 1.0
        for row in run.samples(task).values():
            record = _first_record(row)
            losses, options = record["losses"], record["instance"]["options"]
            assert len(losses) == len(options) > 1
            assert all(each > 0 for each in losses)
            assert losses[record["published"]["chosen"]] == min(losses)


def _first_record(row: dict[str, Any]) -> dict[str, Any]:
    first, *others = row["filtered_resps"]
    assert set(others) == {""}
    found: dict[str, Any] = json.loads(first)
    return found


def test_a_real_model_answers_all_61_sets(
    tmp_path_factory: pytest.TempPathFactory, tiny: str
) -> None:
    few = in_file(tmp_path_factory, limit=1, duplicates=1)
    run = run_lmms_eval(
        tmp_path_factory.mktemp("tiny"),
        *("--model", "llava_hf", "--model_args", f"{tiny},device_map=cpu"),
        *("--tasks", "reform_eval", "--gen_kwargs", "max_new_tokens=2"),
        env=few,
    )
    assert set(BY_GENERATION) <= set(run.results)
    for task in BY_GENERATION:
        (record,) = run.records(task).values()
        assert record["outcome"] == "scored"
        assert record["instance"]["set"] == TASKS[task][0].name
