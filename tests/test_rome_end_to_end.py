"""ROME with a judge, with the real lmms-eval: replayed responses and a real, tiny model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.record import METRICS
from tests.support import oracle
from tests.support.environment import write_config
from tests.support.judge_server import JudgeServer, ServerReply
from tests.support.lmms import Run, run_lmms_eval
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


def html_escape(text: str) -> str:
    """Escapes like the templates of reports."""
    return str(Markup.escape(text))


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
        assert record["grades"]["llm"]["reply"].endswith(said)
        if "<think>" not in SAID[identity]:
            assert record["consistency"] is None
            continue
        said = verdict("consistency", language, thinking=THOUGHTS[identity], **asked)
        agrees = said in ("Verdict: consistent", "判定：一致")
        assert record["consistency"]["consistent"] is agrees
    assert {record["score"] for record in found.values()} == {0.0, 1.0}
    assert {record["instance"]["language"] for record in found.values()} == {"en", "zh"}


def test_the_metrics_are_the_means_of_the_records(judged: Run) -> None:
    for task in TASKS:
        of_task = list(judged.records(task).values())
        results = judged.results[task]
        assert results["accuracy,none"] == pytest.approx(
            sum(record["score"] for record in of_task) / len(of_task)
        )
        assert results["accuracy_strict,none"] == pytest.approx(
            sum(record["grades"]["strict"] for record in of_task) / len(of_task)
        )
        assert results["grader_coverage,none"] == 1.0
        compared = [record["consistency"] for record in of_task if record["consistency"]]
        mean = sum(each["consistent"] for each in compared) / len(compared) if compared else None
        found = results["thinking_answer_consistency,none"]
        assert math.isnan(found) if mean is None else found == pytest.approx(mean)
    every = [record["score"] for record in records(judged).values()]
    assert judged.results["rome"]["accuracy,none"] == pytest.approx(sum(every) / len(every))


def test_the_results_file_names_grader_and_judge(judged: Run, data: Path) -> None:
    (file,) = judged.folder.rglob("*_results.json")
    written = json.loads(file.read_text(encoding="utf-8"))
    for task in TASKS:
        told = written["configs"][task]["metadata"]
        assert (told["grader"], told["judge"], told["consistency"]) == (
            "llm",
            "openai:oracle",
            True,
        )
    found = written["config"]["lmms_rpts"]
    assert (found["judge"], found["concurrency"]) == ("openai:oracle", 32)
    assert found["rome"] == {"path": str(data), "grader": "llm", "consistency": True}
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
    html = page.read_text(encoding="utf-8")
    for entry in ENTRIES:
        identity = entry["question_id"]
        assert html_escape(entry["question"]) in html
        assert html_escape(f"that of {identity}") in html
    for record in records(judged).values():
        assert html_escape(record["grades"]["llm"]["reply"]) in html
    # The report reconstructs the judge's prompt exactly.
    asked = Prompts().render(
        "grade", "en", question="How long is the bar?", reference="2 cm", answer=BAR
    )
    assert html_escape(str(asked[1]["content"])) in html


def test_two_processes_give_the_same_records(
    tmp_path: Path, data: Path, samples: Path, server: JudgeServer, judged: Run
) -> None:
    two = replay(tmp_path, samples, settings(data, server), processes=2)
    for task in TASKS:
        assert two.records(task) == judged.records(task)
        for name in METRICS:
            one = judged.results[task][f"{name},none"]
            assert two.results[task][f"{name},none"] == pytest.approx(one, nan_ok=True)


def test_some_answers_fail_to_be_judged(
    tmp_path: Path, data: Path, samples: Path, judged: Run
) -> None:
    """Left out and counted, never scored as zero; the judged answers are unaffected."""

    def answer(body: dict[str, Any]) -> str | ServerReply:
        if "that of question_geo_1" in body["messages"][-1]["content"]:
            return ServerReply("content policy", status=400)
        return oracle.answer(body)

    with JudgeServer(answer=answer) as failing:
        done = replay(tmp_path, samples, settings(data, failing))
    found, whole = records(done), records(judged)
    broken = found.pop("question_geo_1")
    assert "content policy" in broken["reason"]
    assert broken["score"] is None
    assert found == {identity: whole[identity] for identity in found}
    results = done.results
    assert results["rome_geo"]["accuracy,none"] == whole["question_geo_2"]["score"]
    assert results["rome_geo"]["grader_coverage,none"] == 0.5
    assert results["rome"]["grader_coverage,none"] == pytest.approx(11 / 12)


def test_a_judge_that_only_scores_stops_the_run_before_anything_costly(
    tmp_path: Path, data: Path, server: JudgeServer
) -> None:
    """Before the model is loaded: loading would fail."""
    done = run_lmms_eval(
        tmp_path,
        *("--model", "llava_hf", "--model_args", "pretrained=/no/such/model", "--tasks", "rome"),
        env=settings(data, server, LMMS_RPTS_JUDGE="lexical", LMMS_RPTS_CONFIG=""),
    )
    assert "ROME_GRADER=llm needs a judge that writes text; 'lexical' does not" in done.output
    assert "/no/such/model" not in done.output.split("ROME_GRADER=llm")[-1]


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
    for processes in (1, 2):
        again = replay(tmp_path / str(processes), done.folder, env, processes)
        assert records(again) == found
