"""Commands on own tasks: what they check, and what they advise."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.commands.common import image_advice
from tests.support.judge_server import JudgeServer
from tests.support.tables import table


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "my_task"
    done = CliRunner().invoke(app, ["init", "my_task", "-o", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def doctor(folder: Path, *arguments: str) -> str:
    return CliRunner().invoke(app, ["doctor", "--include_path", str(folder), *arguments]).stdout


def test_doctor_asks_the_judge_of_own_tasks(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        said = doctor(own, "--judge", "openai:m")
        assert "judge openai:m" in said
        assert "No judge is configured" not in said
        assert server.requests


def test_doctor_checks_the_data_without_a_judge_too(own: Path) -> None:
    said = doctor(own).splitlines()
    assert said[0].split() == ["ok", "my_task", "2", "instances,", "answers:", "choice"]
    assert said[1].split()[:6] == ["problem", "judge", "No", "judge", "is", "configured"]
    unusable = doctor(own, "--judge", "nonne")
    assert unusable.startswith("ok           my_task        2 instances")
    assert unusable.count("Unknown judge 'nonne'") == 1
    (own / "data.jsonl").write_text("{}", encoding="utf-8")
    assert "question is missing" in doctor(own)


@table(
    "tasks, include_path, advice",
    (["rpts_eval_en"], None, "use --images FOLDER, or set RPTS_PATH"),
    (["cmmath"], None, "use --images FOLDER, or set CMMATH_PATH"),
    (["mine"], None, "or use --include_path FOLDER with the folder of your task files"),
    (["mine"], Path("tasks"), "add the missing images to the folder that the task file below"),
)
def test_advice(tasks: list[str], include_path: Path | None, advice: str) -> None:
    assert advice in image_advice(tasks, include_path)
