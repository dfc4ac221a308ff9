"""The ``lmms-rpts`` command: its output on cache and cost, and its errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from lmms_rpts.judging import JudgeRequest, Usage, open_engine
from lmms_rpts.judging.cache import FILE, AnswerCache
from tests.support.environment import VARIABLES
from tests.support.judge_server import JudgeServer, by_prompt
from tests.support.tables import table

Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def fill(folder: Path, *judges: str) -> None:
    cache = AnswerCache(folder)
    for judge in judges:
        for number in range(3):
            request = JudgeRequest(
                "image", [{"role": "user", "content": f"“{number}” ✓"}], prompt_version="1"
            )
            cache.store(f"{judge}{number}", judge, request, f"Score: 0.{number}", Usage(100, 7))
    cache.close()


def test_the_cache_is_shown_exported_and_cleared(command: Command, tmp_path: Path) -> None:
    # An empty cache is no error for ``info``.
    for name, code in (("info", 0), ("export", 1)):
        nothing = command("cache", name)
        assert (nothing.exit_code, "No cached replies" in nothing.output) == (code, True)
    fill(tmp_path, "openai:a", "hf:b")
    said = command("cache", "info").output
    assert said.startswith(f"{tmp_path / FILE} (")
    assert "6 replies, from" in said
    for judge in ("openai:a", "hf:b"):
        (line,) = [line for line in said.splitlines() if judge in line]
        assert [word for word in line.split() if word.isdigit()] == ["1", "3", "321"]
    unknown = command("cache", "clear", "--judge", "hf:x", "--yes")
    assert (unknown.exit_code, "No cached replies of hf:x " in unknown.output) == (1, True)
    assert "3 replies deleted" in command("cache", "clear", "--judge", "hf:b", "--yes").output
    assert command("cache", "clear").exit_code == 1, "without --yes it asks first"

    printed = [json.loads(line) for line in command("cache", "export").output.splitlines()]
    assert [row["reply"] for row in printed] == ["Score: 0.0", "Score: 0.1", "Score: 0.2"]
    row = {"judge": "openai:a", "kind": "image", "output_tokens": 7}
    assert printed[1].items() >= row.items()
    assert printed[1]["messages"] == [{"role": "user", "content": "“1” ✓"}]
    assert command("cache", "export", "-o", str(tmp_path / "out.jsonl")).exit_code == 0
    written = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in written] == printed

    assert "3 replies deleted" in command("cache", "clear", "--yes").output


def test_files_and_folders_that_are_no_cache(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).write_text("this is no database, but a text that is long enough" * 50)
    failed = command("cache", "info")
    assert (failed.exit_code, FILE in failed.output) == (1, True)
    assert command("cache", "clear", "--judge", "x", "--yes").exit_code == 1
    assert "was deleted" in command("cache", "clear", "--yes").output
    assert not (tmp_path / FILE).exists()

    fill(tmp_path, "openai:a")
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "another version" in command("cache", "info").output

    for arguments in (("info",), ("export",), ("clear", "--yes")):
        said = command("cache", *arguments, "--folder", str(tmp_path / FILE))
        expected = f"--folder: {tmp_path / FILE} is not a folder\n"
        assert (said.exit_code, said.output) == (1, expected), arguments
    # Nothing was cached yet: no mistake of the user.
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "later"))
    said = command("cache", "info")
    nothing = f"No cached replies in {tmp_path / 'later'}. The folder does not exist.\n"
    assert (said.exit_code, said.output) == (0, nothing)
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    assert "--folder" in command("cache", "info").output


def test_an_engine_fills_the_file_that_the_command_reads(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with JudgeServer(by_prompt()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        request = JudgeRequest("image", [{"role": "user", "content": "q"}])
        with open_engine("openai:m", cache_dir=tmp_path, progress=False) as engine:
            (verdict,) = engine.run([request])
    (row,) = [json.loads(line) for line in command("cache", "export").output.splitlines()]
    assert row["reply"] == verdict.text
    assert (row["input_tokens"], row["output_tokens"]) == (10, 5)


def figures(said: str, row: str) -> list[float]:
    (line,) = [line for line in said.splitlines() if row in line]
    cells = [cell.strip().replace(",", "") for cell in line.split("│")[3:-1]]
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
    monkeypatch.setenv("LMMS_RPTS_JUDGE_SAMPLES", "3")
    thrice = figures(command("estimate", "rpts_demo").output, "requested format")
    assert thrice == pytest.approx([3 * figure for figure in kept], rel=0.01)


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
    (("rpts_evil",), "rpts_eval_en"),
    (("rpts_demo", "--judge", "opnai:x"), "Did you mean openai:MODEL"),
    (("rpts_demo", "--judge", "gpt-4o"), "Did you mean openai:gpt-4o?"),
    (("rpts_dmo",), "Unknown task 'rpts_dmo'. Did you mean rpts_demo? For a custom task"),
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


def test_an_estimate_fits_what_is_asked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared with the calls and tokens of a real run of the same responses."""
    from lmms_rpts.analysis import estimate_need
    from lmms_rpts.filters.score import ScoreFilter
    from lmms_rpts.filters.transform import TransformFilter
    from lmms_rpts.judging.budget import guess_tokens
    from lmms_rpts.tasks.rpts_eval.data import read_documents

    docs = read_documents("rpts_demo")["rpts_demo"]
    responses = ["\n".join([*doc["reasoning"], "Final answer: agree"]) for doc in docs]
    with JudgeServer(by_prompt()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:m")
        monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
        read = TransformFilter().apply([[response] for response in responses], docs)
        ScoreFilter().apply(read, docs)
    sent = sum(guess_tokens(m["content"]) for body in server.requests for m in body["messages"])
    needs = estimate_need(docs, responses=responses)
    assert needs.saved is not None
    assert needs.saved.calls == pytest.approx(server.calls, rel=0.3)
    assert needs.saved.usage.input_tokens == pytest.approx(sent, rel=0.3)
    assert server.calls < needs.likely.calls
    assert sent < needs.likely.usage.input_tokens


@table(
    "arguments",
    ["doctor", "--quick", "--offline", "--config", "mine.toml"],
    ["--config", "mine.toml", "doctor", "--quick", "--offline"],
)
def test_a_file_of_settings_is_named_before_or_after_the_command(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("decay = 0.5")
    (tmp_path / "rpts.toml").write_text("focus_height = 2")
    said = CliRunner().invoke(app, arguments).stdout
    assert f"decay = 0.5 ({tmp_path / 'mine.toml'})" in said
    assert "focus_height" not in said
    assert (
        f"focus_height = 2 ({tmp_path / 'rpts.toml'})"
        in CliRunner().invoke(app, ["doctor", "--quick", "--offline"]).stdout
    )


@table(
    "arguments",
    ["sweep", "no-run"],
    ["summarize", "no-run"],
    ["tree", "no-run", "--id", "0"],
    ["init", "no_task"],
    ["cache", "info"],
)
def test_a_misspelt_setting_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMMS_RPTS_DECY", "0.5")
    done = CliRunner().invoke(app, arguments)
    said = "Unknown setting LMMS_RPTS_DECY. Did you mean decay in rpts.toml?"
    assert (done.exit_code, done.stderr.strip()) == (1, said)
    assert list(tmp_path.iterdir()) == []
    helped = CliRunner().invoke(app, [*arguments, "--help"])
    assert (helped.exit_code, said in helped.output) == (0, False)
