"""CMMaTH in the real lmms-eval: with a tiny model, and a saved run that a judge grades again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.registry import get_benchmark
from tests.support.cmmath import write_cmmath
from tests.support.judge_server import JudgeServer, constant
from tests.support.lmms import Run, run_lmms_eval

pytestmark = pytest.mark.slow

TASKS = tuple(get_benchmark("cmmath").tasks)
RESPONSES = {
    "90001": "最终答案：9",
    "90002": "有四个，大的两个。",
    "90003": "",
    "90004": "最终答案：70°",
}  # 90005 has no answer


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"CMMATH_PATH": str(write_cmmath(tmp_path / "data"))}


def test_a_tiny_llava_answers_all_tasks(
    tmp_path: Path, env: dict[str, str], tiny_llava: str
) -> None:
    captions = tmp_path / "captions.jsonl"
    captions.write_text('{"id": "90001", "caption": "一个正方形。"}', encoding="utf-8")
    answered = run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", tiny_llava),
        *("--tasks", "cmmath_all,cmmath_caption", "--gen_kwargs", "max_new_tokens=8"),
        env=env | {"CMMATH_CAPTIONS": str(captions)},
    )
    for task in TASKS:
        records, samples = answered.records(task), answered.samples(task)
        assert [record["instance"]["id"] for record in records.values()] == [*RESPONSES]
        assert all(sample["resps"][0] for sample in samples.values())
    assert answered.results["cmmath"]["grader_coverage,none"] <= 1
    assert "一个正方形。" in str(answered.samples("cmmath_caption")[0]["input"])
    assert "- A (10, 20)" in str(answered.samples("cmmath_image_ocr")[0]["input"])


def test_a_judge_grades_a_saved_run_again(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked only about what the rules left undecided."""
    said = tmp_path / "said.jsonl"
    rows = ({"task": "cmmath", "id": at, "response": text} for at, text in RESPONSES.items())
    said.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ruled = run_lmms_eval(
        tmp_path / "ruled",
        *("--model", "replay", "--model_args", f"samples={said}", "--tasks", "cmmath"),
        env=env,
    )
    assert [each["score"] for each in ruled.records("cmmath").values()] == [1.0, None, 0.0, 1.0]
    assert "CMMATH_GRADER=both lmms-rpts score RESULTS --judge openai:MODEL -o" in ruled.output
    monkeypatch.setenv("CMMATH_PATH", env["CMMATH_PATH"])
    monkeypatch.setenv("CMMATH_GRADER", "both")
    out = tmp_path / "judged"
    with JudgeServer(answer=constant("It is B.\n<Yes>")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command = ["score", str(ruled.folder), "--judge", "openai:test", "-o", str(out)]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        assert len(server.requests) == 1
    judged = Run(done.output, 0, out)
    assert [each["score"] for each in judged.records("cmmath").values()] == [1.0, 1.0, 0.0, 1.0]
    assert judged.records("cmmath")[1]["grader"] == "judge"
    assert judged.results["cmmath"]["accuracy,none"] == 0.75
