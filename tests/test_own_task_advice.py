"""Commands on custom tasks: what they check, and what they advise."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.commands.common import image_advice
from tests.support.judge_server import JudgeServer
from tests.support.runs import make_doc, make_record, write_run
from tests.support.tables import table


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "my_task"
    done = CliRunner().invoke(app, ["init", "my_task", "-o", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("how", ["option", "setting"])
def test_doctor_asks_the_judge_of_own_tasks(
    own: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with JudgeServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        chosen = ["--judge", "openai:m"] if how == "option" else []
        if not chosen:
            monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:m")
        done = CliRunner().invoke(app, ["doctor", "--include_path", str(own), *chosen])
        assert "judge openai:m" in done.output
        assert "my_task" in done.output
        assert "No judge is configured" not in done.output
        assert server.requests


def test_doctor_without_a_judge_checks_the_tasks_alone(own: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--include_path", str(own)])
    assert done.exit_code == 1
    said = done.stdout.splitlines()
    assert said[0].split() == ["ok", "my_task", "2", "instances,", "answers:", "choice"]
    assert said[1].split()[:6] == ["problem", "judge", "No", "judge", "is", "configured"]
    assert said[2] == "             -> Set LMMS_RPTS_JUDGE to one of:"
    assert "1 problem." in done.output


def test_doctor_reports_an_unusable_judge_once_and_still_checks_the_data(own: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--include_path", str(own), "--judge", "nonne"])
    assert done.exit_code == 1
    assert done.stdout.startswith("ok           my_task        2 instances")
    assert done.stdout.count("Unknown judge 'nonne'") == 1
    (own / "data.jsonl").write_text("{}", encoding="utf-8")
    broken = CliRunner().invoke(app, ["doctor", "--include_path", str(own)])
    assert "question is missing" in broken.output


@table(
    "tasks, include_path, advice",
    (["rpts_eval_en"], None, "use --images FOLDER, or set RPTS_PATH"),
    (["cmmath"], None, "use --images FOLDER, or set CMMATH_PATH"),
    (
        ["mine"],
        None,
        "use --images FOLDER, or use --include_path FOLDER with the folder of your task files",
    ),
    (
        ["mine"],
        Path("tasks"),
        "use --images FOLDER, or add the missing images to the folder that the task file below "
        "tasks sets",
    ),
)
def test_advice(tasks: list[str], include_path: Path | None, advice: str) -> None:
    assert image_advice(tasks, include_path) == advice


@table("command", ["report"], ["rate"])
def test_missing_images_of_own_tasks(tmp_path: Path, command: list[str]) -> None:
    doc = make_doc() | {"visual_clue": ["a.png"]}
    write_run(tmp_path / "run", {0: make_record([0.5, 0.5], doc=doc)}, task="mine")
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, [*command, str(tmp_path / "run"), "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "--include_path FOLDER" in done.output
    assert "RPTS_PATH" not in done.output
    assert "CMMATH_PATH" not in done.output


def test_init_explains_functions(tmp_path: Path) -> None:
    command = ["init", "mine", "-o", str(tmp_path / "x"), "--answer", "!function grading.grade"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert "use --answer text here" in done.output
    assert '"grade: !function grading.grade"' in done.output
