"""Commands on own tasks: what they check, and what they advise."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.instances import make_doc
from tests.support.judge_server import JudgeServer
from tests.support.runs import make_record, write_run


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


def test_images_that_are_missing(tmp_path: Path) -> None:
    record = make_record([1.0, 1.0], doc=make_doc(visual_clue=["gone.png"]))
    write_run(tmp_path / "run", {0: record}, task="my_task")
    page = str(tmp_path / "page.html")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "-o", page])
    assert "1 of 1 images were not found or cannot be read: use --images" in done.output
