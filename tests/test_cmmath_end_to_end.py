"""CMMaTH through the real lmms-eval: all tasks, replayed responses and a real, tiny model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, knowledge_points, mastery, ssr
from tests.support.cmmath import draw_images
from tests.support.environment import write_config
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run_lmms_eval
from tests.support.reference import reference

pytestmark = pytest.mark.slow

TASKS = ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_ocr", "cmmath_steps")
# Wrong, right, or undecidable by rules, in turn.
OPEN = "等等，上面可能有误。"


@pytest.fixture(scope="module")
def problems() -> list[dict[str, Any]]:
    """The publishers' sample, without problems that have no answer."""
    text = reference("cmmath", "sample.json").read_text(encoding="utf-8")
    return [each for each in json.loads(text) if each["answer"].strip() != "暂无"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    text = reference("cmmath", "sample.json").read_text(encoding="utf-8")
    (folder / "cmmath.json").write_text(text, encoding="utf-8")
    draw_images(folder, json.loads(text))
    return folder


@pytest.fixture(scope="module")
def said(problems: list[dict[str, Any]]) -> dict[str, str]:
    """The model's response to each problem, by problem id."""
    answers = {}
    for at, problem in enumerate(problems):
        right = f"<think>先试 7。</think>由图可得结论。\n最终答案：{problem['answer'].strip()}"
        doubted = f"答案：{problem['answer'].strip()}\n\n{OPEN}"
        answers[problem["problem_id"]] = ("无法确定答案。", right, doubted)[at % 3]
    return answers


@pytest.fixture(scope="module")
def samples(
    tmp_path_factory: pytest.TempPathFactory, problems: list[dict[str, Any]], said: dict[str, str]
) -> Path:
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    lines = [
        json.dumps({"task": task, "doc_id": at, "response": said[each["problem_id"]]})
        for task in TASKS
        for at, each in enumerate(problems)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    def answer(body: dict[str, Any]) -> str:
        prompt = json.dumps(body["messages"], ensure_ascii=False)
        if "<Yes>" in prompt:
            return "它引用了结果。\n<Yes>"
        return "看错了图。\n判定：感知"

    with JudgeServer(answer=answer) as running:
        yield running


def replay(out: Path, samples: Path, data: Path, *, processes: int = 1, **env: str) -> Run:
    model = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "cmmath_all")
    return run_lmms_eval(out, *model, env={"CMMATH_PATH": str(data)} | env, processes=processes)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, data: Path, samples: Path) -> Run:
    return replay(tmp_path_factory.mktemp("one"), samples, data)


def test_every_answer_is_graded_beside_its_own_problem(graded: Run, said: dict[str, str]) -> None:
    for task in TASKS:
        found = {each["instance"]["id"]: each for each in graded.records(task).values()}
        assert set(found) == set(said)
        for identity, record in found.items():
            outcome = record["grades"]["rule"]["outcome"]
            if said[identity].endswith(OPEN):
                assert (outcome, record["score"]) == ("undecided", None)
            elif "最终答案" in said[identity]:
                assert outcome in ("correct", "undecided"), record
            else:
                assert (outcome, record["score"]) == ("incorrect", 0.0)
        right = [each for each in found.values() if "最终答案" in said[each["instance"]["id"]]]
        assert sum(each["score"] == 1.0 for each in right) >= 0.9 * len(right)


def test_a_report_shows_them(
    tmp_path: Path,
    graded: Run,
    data: Path,
    problems: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CMMATH_PATH", str(data))
    arguments = ["report", str(graded.folder), "--limit", "0", "-o", str(tmp_path / "pages")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "images were not found" not in done.output
    pages = list((tmp_path / "pages" / "instances").iterdir())
    assert len(pages) == len(TASKS) * len(problems)
    for at, record in graded.records("cmmath").items():
        page = (tmp_path / "pages" / "instances" / f"cmmath-{at}.html").read_text("utf-8")
        assert f"cmmath · {record['instance']['id']}" in page
        undecided = record["grades"]["rule"]["outcome"] == "undecided"
        assert (">undecided</span>" in page) is undecided
        assert "<img " in page


def test_the_metrics_are_those_of_the_records(graded: Run) -> None:
    for task in TASKS:
        records, results = list(graded.records(task).values()), graded.results[task]
        scores = [each["score"] for each in records if each["score"] is not None]
        open_ones = [each for each in records if each["grades"]["rule"]["outcome"] == "undecided"]
        assert results["accuracy,none"] == pytest.approx(sum(scores) / len(scores))
        assert results["undecided_rate,none"] == pytest.approx(len(open_ones) / len(records))
        assert results["grader_coverage,none"] == pytest.approx(len(scores) / len(records))
        items = [
            (knowledge_points(each["instance"]["knowledge_point"]), each["score"])
            for each in records
        ]
        for threshold in THRESHOLDS:
            assert results[f"ssr_{threshold},none"] == pytest.approx(ssr(mastery(items), threshold))


def test_a_judge_is_asked_for_the_rest_and_for_mistakes(
    tmp_path: Path, data: Path, samples: Path, server: JudgeServer, graded: Run
) -> None:
    done = replay(
        tmp_path,
        samples,
        data,
        CMMATH_GRADER="both",
        **write_config(tmp_path, cmmath={"errors": True}),
        LMMS_RPTS_JUDGE="openai:oracle",
        OPENAI_BASE_URL=server.url,
        OPENAI_API_KEY="sk-secret-of-the-test",
    )
    for task in TASKS:
        ruled = graded.records(task)
        for doc, record in done.records(task).items():
            before = ruled[doc]
            assert record["grades"]["rule"] == before["grades"]["rule"]
            if before["score"] is None:
                assert (record["score"], record["grader"]) == (1.0, "judge")
            else:
                assert (record["score"], record["grader"]) == (before["score"], "rule")
            mistake = record["mistake"]
            assert (mistake and mistake["kind"]) == ("perception" if record["score"] == 0 else None)
        assert done.results[task]["grader_coverage,none"] == 1.0
    assert "sk-secret-of-the-test" not in done.output


def test_the_real_model_path(
    tmp_path: Path, data: Path, problems: list[dict[str, Any]], tiny_llava: str
) -> None:
    """A tiny random LLaVA on all problems of all tasks; then its responses are replayed."""
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", tiny_llava),
        *("--tasks", "cmmath_all", "--gen_kwargs", "max_new_tokens=8"),
        env={"CMMATH_PATH": str(data)},
    )
    for task in TASKS:
        assert len(done.records(task)) == len(problems)
        assert all(sample["resps"][0] for sample in done.samples(task).values())
        assert all(each["score"] != 1.0 for each in done.records(task).values())
    again = replay(tmp_path / "again", done.folder, data)
    for task in TASKS:
        assert again.records(task) == done.records(task)
