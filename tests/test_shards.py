"""``lmms-rpts shards``: the printed commands, run for real, give what one run gives."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.foreign_task import write_foreign_task
from tests.support.instances import write_folder
from tests.support.lmms import Run, run

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
DEMO = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
REPLAY = ("--model", "replay", "--model_args", f"samples={DEMO}")


def shards(*arguments: str) -> list[str]:
    done = CliRunner().invoke(app, ["shards", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def score(folder: Path, samples: Path, judge: str = "lexical") -> Run:
    done = run([COMMAND, "score", str(samples), "--judge", judge, "-o", str(folder)])
    return Run(done.stdout, done.returncode, folder)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of three parts: documents 0 to 4, 5 to 9 and 10 to 13."""
    folder = tmp_path_factory.mktemp("shards") / "parts"
    lines = shards(
        "--tasks", "rpts_demo", "--of", "3", *REPLAY, "-o", str(folder), "--", "--seed=7"
    )
    assert len(lines) == 3
    for line in lines:
        variable, command, *arguments = shlex.split(line)
        assert (variable, command) == ("LMMS_RPTS_JUDGE=none", "lmms-eval")
        done = run([sys.executable, "-m", "lmms_eval", *arguments], env={"LMMS_RPTS_JUDGE": "none"})
        assert done.returncode == 0, done.stdout
    return folder


def test_scored_parts_equal_one_run(parts: Path, tmp_path: Path) -> None:
    joined, whole = score(tmp_path / "parts", parts), score(tmp_path / "whole", DEMO)
    assert joined.results == whole.results
    assert joined.records("rpts_demo") == whole.records("rpts_demo")
    assert "is missing" not in joined.output


def test_a_missing_part_is_named(parts: Path, tmp_path: Path) -> None:
    rest = shutil.copytree(parts, tmp_path / "rest")
    shutil.rmtree(rest / "001")
    named = "no responses to documents 5 to 9 of 14 of rpts_demo"
    remedy = "--offset 5 --limit 5"
    for command in (["summarize"], ["score", "--judge", "none"]):
        said = " ".join(run([COMMAND, *command, str(rest)]).stdout.split())
        assert named in said
        assert remedy in said


def test_a_doubled_part_is_named(parts: Path, tmp_path: Path) -> None:
    twice = shutil.copytree(parts, tmp_path / "twice")
    shutil.copytree(twice / "001", twice / "003")
    said = " ".join(run([COMMAND, "summarize", str(twice)]).stdout.split())
    assert "A part is there twice" in said
    assert "/twice/003/" in said
    failed = score(tmp_path / "out", twice)
    assert failed.code
    assert "was already read from" in failed.output


def test_tasks_of_different_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller task is in the first parts only: lmms-eval fails on a task without documents."""
    monkeypatch.setenv("RPTS_PATH", str(write_folder(tmp_path, count=20)))
    lines = shards("--tasks", "rpts_eval_en,rpts_demo", "--of", "3", "--model", "m")
    asked = [dict(pairwise(words)) for words in map(shlex.split, lines)]
    assert [each["--tasks"] for each in asked] == ["rpts_eval_en,rpts_demo"] * 2 + ["rpts_eval_en"]
    assert [(each["--offset"], each["--limit"]) for each in asked] == [
        ("0", "7"),
        ("7", "7"),
        ("14", "7"),
    ]


def test_a_wrapped_task_needs_no_judge(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    given = ("--tasks", "colours_rpts", "--include_path", task.include_path, "--model", "m")
    lines = shards(*given, "--of", "2")
    assert len(lines) == 2
    assert all("--tasks colours_rpts" in line for line in lines)
    assert all("--predict_only" not in line for line in lines)


def test_an_array_job_runs_the_part_of_its_number(tmp_path: Path) -> None:
    (tmp_path / "lmms-eval").write_text('#!/bin/bash\necho "$LMMS_RPTS_JUDGE $*"\n')
    (tmp_path / "lmms-eval").chmod(0o755)
    script = tmp_path / "job array.sh"
    shards("--tasks", "rpts_demo", "--of", "3", *REPLAY, "--slurm", str(script))
    assert "#SBATCH --array=0-2" in script.read_text().splitlines()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "SLURM_ARRAY_TASK_ID": "2"}
    said = subprocess.run(["bash", str(script)], env=env, capture_output=True, text=True).stdout
    assert said.startswith("none --model replay")
    assert "--offset 10 --limit 5" in said
