"""Commands on own tasks: what they check, and what they advise."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.judge_server import Serve


def test_doctor_checks_the_data_and_the_judge_of_own_tasks(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "my_task"
    done = CliRunner().invoke(app, ["init", "my_task", "-o", str(own)])
    assert done.exit_code == 0, done.output

    def doctor(*arguments: str) -> str:
        return CliRunner().invoke(app, ["doctor", "--include_path", str(own), *arguments]).stdout

    first, second, *_ = doctor().splitlines()
    assert first.split() == ["ok", "my_task", "2", "instances,", "answers:", "choice"]
    assert second.split()[:6] == ["problem", "judge", "No", "judge", "is", "configured"]
    server = serve()
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert "judge openai:m" in doctor("--judge", "openai:m")
    assert server.requests
    (own / "data.jsonl").write_text("{}", encoding="utf-8")
    assert "question is missing" in doctor()
