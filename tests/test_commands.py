"""The ``lmms-rpts`` command: its output on cost, and its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import lmms_rpts
from lmms_rpts.cli import app
from lmms_rpts.judging.budget import guess_tokens
from tests.support.environment import VARIABLES
from tests.support.judge_server import JudgeServer, by_prompt
from tests.support.tables import table

CAREFUL = str(Path(lmms_rpts.__file__).parent / "demo" / "responses" / "careful.jsonl")
Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def figures(said: str, row: str) -> list[float]:
    (line,) = [line for line in said.splitlines() if row in line]
    cells = line.partition(row)[2].replace(",", "").split()
    return [float(cell) for cell in cells]


def test_an_estimate_is_ordered_and_costs_what_tokens_cost(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1000/3000")
    said = command("estimate", "rpts_demo").output
    kept, free, most = (figures(said, row) for row in ("requested format", "free text", "95% "))
    for less, more in ((kept, free), (free, most)):
        assert all(a < b for a, b in zip(less, more, strict=True))
    calls, read, written, cost = kept
    assert cost == pytest.approx((read * 1000 + written * 3000) / 1e6, rel=0.01)
    assert free[0] == calls + 14, "each of the 14 responses is rewritten"
    assert max(most[:2]) < 2 * max(free[:2]), "an amount to plan with, not the worst case"


def test_an_estimate_of_saved_responses(command: Command, tmp_path: Path) -> None:
    saved = tmp_path / "saved.jsonl"
    rows = [
        {"task": "rpts_demo", "id": 0, "response": "Step 1: nothing of the kind"},
        {"task": "rpts_demo", "id": 1, "response": "Image0 -> Conclusion0: x\nFinal answer: agree"},
    ]
    saved.write_text("\n".join(json.dumps(row) for row in rows))
    said = command("estimate", "rpts_demo", "--samples", str(saved)).output
    assert "rpts_demo (2)" in said
    these, likely = figures(said, "these responses"), figures(said, "95% ")
    assert these[0] >= 2
    assert all(a < b for a, b in zip(these, likely, strict=True)), "the two responses differ"


@table(
    "arguments, named",
    (("rpts_evil",), "Did you mean rpts_eval?"),
    (("rpts_demo", "--judge", "opnai:x"), "Did you mean openai?"),
    (("rpts_demo", "--judge", "gpt-4o"), "Did you mean openai:gpt-4o?"),
    (("rpts_dmo",), "Unknown task 'rpts_dmo' of lmms-eval. Did you mean rpts_demo?"),
    (("rpts_demo", "--samples", "/nowhere"), "/nowhere"),
    (("rpts_demo", "--limit", "0"), "limit"),
)
def test_a_wrong_question_gets_one_clear_answer(
    command: Command, arguments: tuple[str, ...], named: str
) -> None:
    failed = command("estimate", *arguments)
    assert failed.exit_code != 0
    assert named in failed.output
    assert "Traceback" not in failed.output


@table("evidence", "facts", "image")
def test_an_estimate_fits_what_is_asked(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, evidence: str
) -> None:
    """Compared with the calls and tokens of a real run of the same responses."""
    monkeypatch.setenv("LMMS_RPTS_EVIDENCE", evidence)
    said = command("estimate", "rpts_demo", "--samples", CAREFUL).output
    with JudgeServer(by_prompt()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command("score", CAREFUL, "--judge", "openai:m", "-o", str(tmp_path / "out"))
    sent = sum(
        guess_tokens(str(m["content"])) for body in server.requests for m in body["messages"]
    )
    these, likely = figures(said, "these responses"), figures(said, "95% ")
    assert these[0] == pytest.approx(server.calls, rel=0.3)
    assert server.calls < likely[0]
    if evidence == "facts":  # without images
        assert these[1] == pytest.approx(sent, rel=0.3)


def test_a_file_of_settings_is_named_before_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("decay = 0.5")
    (tmp_path / "rpts.toml").write_text("focus_height = 2")
    monkeypatch.setattr("lmms_rpts.commands.doctor.check_lmms_eval", list)
    said = CliRunner().invoke(app, ["doctor"]).stdout
    assert f"focus_height = 2 ({tmp_path / 'rpts.toml'})" in said
    said = CliRunner().invoke(app, ["--config", "mine.toml", "doctor"]).stdout
    assert f"decay = 0.5 ({tmp_path / 'mine.toml'})" in said
    assert "focus_height" not in said


@table("arguments", ["agreement", "no-run", "other"], ["summarize", "no-run"], ["init", "no_task"])
def test_a_misspelt_setting_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMMS_RPTS_DECY", "0.5")
    done = CliRunner().invoke(app, arguments)
    said = "Unknown setting LMMS_RPTS_DECY. Did you mean LMMS_RPTS_DECAY?"
    assert (done.exit_code, done.stderr.strip()) == (1, said)
    assert list(tmp_path.iterdir()) == []
    helped = CliRunner().invoke(app, [*arguments, "--help"])
    assert (helped.exit_code, said in helped.output) == (0, False)
