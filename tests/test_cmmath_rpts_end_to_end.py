"""RPTS on maths with the real lmms-eval and the real commands, with a real judge server."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support import oracle
from tests.support.cmmath import make_problem, write_cmmath, write_responses
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run, run_lmms_eval

pytestmark = pytest.mark.slow

TASK = "cmmath_rpts"
COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))

PROBLEMS = (
    make_problem(),
    make_problem(
        problem_id="90002",
        question="图中有几个三角形？（   ）\n\nA.$$2$$\nB.$$3$$\nC.$$4$$\nD.$$5$$\n",
        answer="B\n",
        answer_type="choice",
        metadata={"multimodal-category": "Line Chart"},
        analysis="从图中数出$$3$$个三角形．\n故选$${B}$$．",
    ),
    make_problem(
        problem_id="90003",
        question="比较两幅图，说明$$\\angle 1$$与$$\\angle 2$$的关系，<b>并</b>说明理由．",
        image=["90003_a.png", "90003_b.png"],
        answer="两角相等，理由是对顶角相等．",
        analysis="",
    ),
)
SAID = {
    "90001": "结论0：根据图片0，边长是3。\n结论1：根据文本0（题目），要求面积。\n"
    "结论2：根据结论0 / 结论1，面积是9。\n最终答案：9",
    "90002": "图中的三角形有2个大的、2个小的，所以一共有4个。故选：C",
    "90003": "<think>量一量</think>结论0：根据图片1，它们互为对顶角。\n"
    "结论1：根据结论0，两角一样大。\n最终答案：它们一样大，因为互为对顶角 <script>x</script>",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cmmath(tmp_path_factory.mktemp("data"), PROBLEMS)


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer(answer=oracle.answer) as running:
        yield running


@pytest.fixture(scope="module")
def env(data: Path, server: JudgeServer) -> dict[str, str]:
    return {
        "CMMATH_PATH": str(data),
        "LMMS_RPTS_JUDGE": "openai:oracle",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-secret-of-the-test",
    }


def replay(folder: Path, samples: Path, env: dict[str, str], *more: str) -> Run:
    model = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", TASK)
    return run_lmms_eval(folder, *model, *more, env=env)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, env: dict[str, str]) -> Run:
    samples = write_responses(tmp_path_factory.mktemp("said") / "said.jsonl", SAID, TASK)
    return replay(tmp_path_factory.mktemp("out"), samples, env)


def by_id(run: Run) -> dict[str, dict[str, Any]]:
    return {record["instance"]["id"]: record for record in run.records(TASK).values()}


def test_every_solution_is_scored_beside_its_own_problem(scored: Run) -> None:
    found = by_id(scored)
    assert set(found) == set(SAID), scored.output
    assert all(record["schema"] == "lmms_rpts.rpts" for record in found.values())
    right = found["90001"]["answer"]
    assert (right["value"], right["by"], right["correct"]) == ("9", "rule", True)
    wrong = found["90002"]["answer"]
    assert (wrong["value"], wrong["by"], wrong["correct"]) == ("C", "rule", False)
    judged = found["90003"]["answer"]
    assert judged["by"] == "judge"
    assert judged["correct"] in (True, False)
    assert [found[each]["transform"]["read_by"] for each in SAID] == ["rule", "llm", "rule"]
    assert found["90001"]["chain"][2] == "结论0 + 结论1 -> 结论2:面积是9。"
    facts = found["90001"]["steps"][0]["questions"][0]["evidence"]
    assert facts == ["正方形的面积等于边长乘边长：$3\\times 3=9$．"]


def test_a_problem_without_solution_stays(scored: Run) -> None:
    step = by_id(scored)["90003"]["steps"][0]
    assert step["score"] == 1
    assert "image 1" in step["note"]
    assert "1 of 3 problems have no reference solution" in scored.output


def test_the_table_has_the_metrics_of_rpts(scored: Run) -> None:
    results = scored.results[TASK]
    for metric in METRICS:
        assert math.isfinite(results[f"{metric},none"]), metric
    found = by_id(scored)
    assert results["rpts,none"] == pytest.approx(sum(r["rpts"] for r in found.values()) / 3)
    right = [record["answer"]["correct"] for record in found.values()]
    assert results["accuracy,none"] == pytest.approx(sum(right) / 3)


def test_the_prompt_shows_the_problem_and_asks_for_steps(scored: Run) -> None:
    asked = str(scored.samples(TASK)[2]["input"])
    for part in ("图片1：", "文本0（题目）：比较两幅图", "结论k：根据图片i", "最终答案："):
        assert part in asked, asked


def test_the_report_shows_problem_answer_and_images(
    tmp_path: Path, scored: Run, env: dict[str, str]
) -> None:
    page = tmp_path / "report.html"
    done = run([COMMAND, "report", str(scored.folder), "-o", str(page)], env=env)
    assert done.returncode == 0, done.stdout
    assert "3 instances, 4 images" in " ".join(done.stdout.split())
    text = page.read_text(encoding="utf-8")
    assert "如图，正方形的边长是$3$，则它的面积是 ____ ．" in text
    assert 'Right answer: <b dir="auto">$9$</b>' in text
    assert "answer: <b>9</b>" in text
    assert "Line Chart" in text
    assert "<script>x" not in text
    assert "<b>并</b>" not in text


def test_the_other_readers_take_such_a_run(
    tmp_path: Path, scored: Run, env: dict[str, str]
) -> None:
    found = read_run(scored.folder)
    assert {each.instance.task for each in found.responses} == {TASK}
    folder = str(scored.folder)
    commands = (
        ("summarize", folder),
        ("compare", f"a={folder}", f"b={folder}"),
        ("export", folder, "-o", str(tmp_path / "steps.csv")),
        ("sweep", folder),
    )
    for command in commands:
        done = run([COMMAND, *command], env=env)
        assert done.returncode == 0, (command, done.stdout)
        assert "Traceback" not in done.stdout, command


def test_saved_solutions_are_scored_again(tmp_path: Path, scored: Run, env: dict[str, str]) -> None:
    out = tmp_path / "again"
    command = [COMMAND, "score", str(scored.folder), "--judge", "openai:oracle", "-o", str(out)]
    done = run(command, env=env)
    assert done.returncode == 0, done.stdout
    again = Run(done.stdout, done.returncode, out)
    assert again.records(TASK) == scored.records(TASK)
    done = run([COMMAND, "agreement", str(scored.folder), str(out)], env=env)
    assert done.returncode == 0, done.stdout


def test_what_it_needs_is_not_estimated(env: dict[str, str]) -> None:
    done = run([COMMAND, "estimate", TASK], env=env)
    assert done.returncode == 1
    assert "There is no estimate for" in done.stdout


def test_a_missing_folder_is_told_before_the_model_is_loaded(
    tmp_path: Path, env: dict[str, str]
) -> None:
    samples = write_responses(tmp_path / "said.jsonl", SAID, TASK)
    done = replay(tmp_path / "out", samples, env | {"CMMATH_PATH": str(tmp_path / "none")})
    assert "CMMATH_PATH" in done.output
    assert not list(tmp_path.rglob("*_samples_*"))
