"""ROME with a judge, with the real lmms-eval: replayed responses and a real, tiny model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.tasks.rome.questions import SUBTASKS
from tests.support import oracle
from tests.support.environment import write_config
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run_lmms_eval
from tests.support.pages import data_in
from tests.support.rome import ENTRIES, write_responses, write_rome

pytestmark = pytest.mark.slow

TASKS = tuple(f"rome_{subtask}" for subtask in SUBTASKS)
BY_ID = {entry["question_id"]: entry for entry in ENTRIES}
THOUGHTS = {identity: f"思考 about {identity}: so be it." for identity in BY_ID}
ANSWERS = {identity: f"Final Answer: that of {identity}" for identity in BY_ID}
# Every third response without thinking.
SAID = {
    identity: ANSWERS[identity] if at % 3 == 0 else f"<think>{THOUGHTS[identity]}</think>{answer}"
    for at, (identity, answer) in enumerate(ANSWERS.items())
}

IMAGES = [
    name
    for entry in ENTRIES
    for name in (entry["img_path"] if isinstance(entry["img_path"], list) else [entry["img_path"]])
]
BAR = ANSWERS["question_spatial_1"]


def escaped(text: str) -> str:
    """A text as it stands in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rome(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer(answer=oracle.answer) as running:
        yield running


def settings(data: Path, server: JudgeServer, **more: str) -> dict[str, str]:
    return (
        write_config(data.with_suffix(".toml"), rome={"consistency": True})
        | {
            "ROME_PATH": str(data),
            "ROME_GRADER": "llm",
            "LMMS_RPTS_JUDGE": "openai:oracle",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "sk-secret-of-the-test",
        }
        | more
    )


def replay(out: Path, samples: Path, env: dict[str, str], processes: int = 1) -> Run:
    model = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "rome")
    return run_lmms_eval(out, *model, env=env, processes=processes)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_responses(tmp_path_factory.mktemp("said") / "said.jsonl", SAID)


@pytest.fixture(scope="module")
def judged(
    tmp_path_factory: pytest.TempPathFactory, data: Path, samples: Path, server: JudgeServer
) -> Run:
    return replay(tmp_path_factory.mktemp("one"), samples, settings(data, server))


def records(run: Run) -> dict[str, dict[str, Any]]:
    """The records by question id."""
    found = [record for task in TASKS for record in run.records(task).values()]
    return {record["instance"]["id"]: record for record in found}


def verdict(kind: str, language: str, **fields: str) -> str:
    """The oracle's reply to a question rendered here."""
    messages = Prompts().render(kind, language, **fields)
    return oracle.answer({"messages": messages}).splitlines()[-1]


def test_every_answer_is_graded_beside_its_own_question(judged: Run) -> None:
    found = records(judged)
    assert set(found) == set(BY_ID)
    for identity, record in found.items():
        language, entry = record["instance"]["language"], BY_ID[identity]
        asked = {"question": entry["question"], "answer": ANSWERS[identity]}
        said = verdict("grade", language, reference=str(entry["reference"]), **asked)
        right = said in ("Verdict: correct", "判定：正确")
        assert record["score"] == record["grades"]["llm"]["score"] == float(right)
        assert record["grades"]["llm"]["verdict"]["reply"].endswith(said)
        if "<think>" not in SAID[identity]:
            assert "findings" not in record
            continue
        said = verdict("consistency", language, thinking=THOUGHTS[identity], **asked)
        word = "consistent" if said in ("Verdict: consistent", "判定：一致") else "inconsistent"
        assert record["findings"]["consistency"]["value"] == word
    assert {record["score"] for record in found.values()} == {0.0, 1.0}
    assert {record["instance"]["language"] for record in found.values()} == {"en", "zh"}


def test_the_results_file_names_grader_and_judge(judged: Run, data: Path) -> None:
    (file,) = judged.folder.rglob("*_results.json")
    written = json.loads(file.read_text(encoding="utf-8"))
    for task in TASKS:
        assert written["configs"][task]["dataset_path"] == "BAAI/ROME"
    found = written["config"]["lmms_rpts"]
    assert (found["judge"], found["concurrency"]) == ("openai:oracle", 32)
    asked = {"consistency": True, "pretended_tools": False}
    assert found["rome"] == {"path": str(data), "grader": "llm", **asked}
    assert written["usage"]["judges"]["calls"] == 12 + 8
    assert "sk-secret-of-the-test" not in file.read_text(encoding="utf-8") + judged.output


def test_a_report_shows_them(
    tmp_path: Path, judged: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROME_PATH", str(data))
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", str(judged.folder), "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert f"{len(ENTRIES)} instances, {len(IMAGES)} images" in done.output
    assert "images were not found" not in done.output
    shown = json.dumps(data_in(page), ensure_ascii=False)
    for entry in ENTRIES:
        identity = entry["question_id"]
        assert escaped(entry["question"]) in shown
        assert escaped(f"that of {identity}") in shown
    for record in records(judged).values():
        assert escaped(record["grades"]["llm"]["verdict"]["reply"]) in shown
    # The report reconstructs the judge's prompt exactly.
    asked = Prompts().render(
        "grade", "en", question="How long is the bar?", reference="2 cm", answer=BAR
    )
    assert escaped(str(asked[1]["content"])) in shown


def test_the_real_model_path(
    tmp_path: Path, data: Path, server: JudgeServer, tiny_llava: str
) -> None:
    """A tiny random LLaVA on every question, with images; then its responses are replayed."""
    env = settings(data, server, ROME_GRADER="recommended")
    done = run_lmms_eval(
        tmp_path / "model",
        *("--model", "llava_hf", "--model_args", tiny_llava),
        *("--tasks", "rome", "--gen_kwargs", "max_new_tokens=48"),
        env=env,
    )
    found = records(done)
    assert set(found) == set(BY_ID)
    assert all(record["score"] is not None for record in found.values())
    graders = {record["instance"]["subtask"]: record["grader"] for record in found.values()}
    assert graders == dict.fromkeys(SUBTASKS, "rule") | {"diagrams": "llm"}
    assert all(sample["resps"][0] for task in TASKS for sample in done.samples(task).values())
    assert records(replay(tmp_path / "again", done.folder, env, processes=2)) == found
