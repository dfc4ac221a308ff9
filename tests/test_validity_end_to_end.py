"""A judge's measured validity follows it: validate, lmms-eval, its log and results, summarize."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lmms_rpts
from lmms_rpts.cli import app
from tests.support.judge_server import JudgeServer, by_prompt
from tests.support.lmms import run_lmms_eval

pytestmark = pytest.mark.slow

SAID = Path(lmms_rpts.__file__).parent / "demo" / "responses" / "lucky.jsonl"
NOT_YET = "judge openai:m: not validated: lmms-rpts validate --judge openai:m"


def test_a_judge_at_chance_is_warned_of_everywhere(tmp_path: Path) -> None:
    arguments = ("--model", "replay", "--model_args", f"samples={SAID}", "--tasks", "rpts_demo")
    with JudgeServer(by_prompt()) as server:
        env = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
            "LMMS_RPTS_JUDGE": "openai:m",
        }
        env["LMMS_RPTS_CACHE"] = str(tmp_path / "cache")
        unknown = run_lmms_eval(tmp_path / "a", *arguments, "--limit", "1", env=env)
        assert unknown.output.count(NOT_YET) == 1
        words = ["validate", "--limit", "40"]
        measured = CliRunner().invoke(app, words, env=env)
        assert measured.exit_code == 0, measured.output
        (line,) = (each for each in measured.output.splitlines() if "judge openai:m: AUC" in each)
        line = line.removeprefix("Warning: ")
        assert "hardly better than guessing" in line
        run = run_lmms_eval(tmp_path / "b", *arguments, env=env)
        assert run.output.count(line) == 1
        scored = ["score", str(SAID), "-o", str(tmp_path / "c")]
        assert CliRunner().invoke(app, scored, env=env).exit_code == 0
    for folder in ("b", "c"):
        (file,) = (tmp_path / folder).rglob("*_results.json")
        (held,) = json.loads(file.read_text())["usage"]["validity"]
        assert (held["judge"], held["set"]) == ("openai:m", "built-in")
        # On another machine, too
        words = ["summarize", str(tmp_path / folder)]
        shown = CliRunner().invoke(app, words, env={"LMMS_RPTS_CACHE": str(tmp_path / "elsewhere")})
        assert line in shown.output
