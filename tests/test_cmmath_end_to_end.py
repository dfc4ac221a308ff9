"""CMMaTH with a tiny model in the real lmms-eval; test_saved_runs.py replays responses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support import oracle
from tests.support.cmmath import PROBLEMS as USUAL
from tests.support.cmmath import make_problem, write_cmmath
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run_lmms_eval

pytestmark = pytest.mark.slow

OTHERS = ("cmmath_text", "cmmath_caption")
TASKS = ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_ocr", "cmmath_steps", *OTHERS)
PROBLEMS = (*USUAL, make_problem(problem_id="90006", question="<b>哪个</b>角？", analysis=""))
COUNT = len(PROBLEMS) - 1  # one has no answer


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with JudgeServer(answer=oracle.answer) as server:
        yield {
            "CMMATH_PATH": str(write_cmmath(tmp_path_factory.mktemp("data"), PROBLEMS)),
            "LMMS_RPTS_JUDGE": "openai:oracle",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "sk-secret-of-the-test",
        }


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, env: dict[str, str], tiny_llava: str) -> Run:
    """All tasks, answered by a tiny random LLaVA."""
    captions = tmp_path_factory.mktemp("captions") / "captions.jsonl"
    captions.write_text('{"id": "90001", "caption": "一个正方形。"}', encoding="utf-8")
    return run_lmms_eval(
        tmp_path_factory.mktemp("out"),
        *("--model", "llava_hf", "--model_args", tiny_llava),
        *("--tasks", ",".join(("cmmath_all", *OTHERS)), "--gen_kwargs", "max_new_tokens=8"),
        env=env | {"CMMATH_CAPTIONS": str(captions)},
    )


def test_a_real_model_answers_all_tasks(answered: Run) -> None:
    for task in TASKS:
        records, samples = answered.records(task), answered.samples(task)
        assert len(records) == COUNT
        assert all(sample["resps"][0] for sample in samples.values())
        ids = [record["instance"]["id"] for record in records.values()]
        assert ids == ["90001", "90002", "90003", "90004", "90006"]
    assert answered.results["cmmath"]["grader_coverage,none"] <= 1
    assert "sk-secret-of-the-test" not in answered.output
    assert "一个正方形。" in str(answered.samples("cmmath_caption")[0]["input"])


def test_a_report_shows_problems_and_images(
    tmp_path: Path, answered: Run, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMMATH_PATH", env["CMMATH_PATH"])
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", str(answered.folder), "-o", str(page)])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    assert f"{len(TASKS) * COUNT} instances" in shown
    assert "images were not found" not in shown
    text = page.read_text(encoding="utf-8")
    assert "如图，正方形的边长是$3$，则它的面积是 ____ ．" in text
    assert "Line Chart" in text
    assert "<b>哪个</b>" not in text
