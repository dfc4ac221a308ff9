"""``lmms-rpts score`` by batch files and by a Batch API: the same records as from the judge."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.batch_server import BatchJudgeServer, by_vllm
from tests.support.judge_server import ServerReply, by_prompt
from tests.support.lmms import run
from tests.test_score import COMMAND, DEMO

PRICE = {"LMMS_RPTS_PRICE": "10/10"}


class Scoring:
    """Runs ``lmms-rpts score`` on three responses, each way with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.server = folder, BatchJudgeServer()
        lines = (DEMO / "careful.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "careful.jsonl").write_text("".join(lines[1:4]), encoding="utf-8")

    def run(self, way: str, *arguments: str, **env: str) -> tuple[int, str]:
        env = {
            "OPENAI_BASE_URL": self.server.url,
            "OPENAI_API_KEY": "sk-test-0123456789",
            "LMMS_RPTS_CACHE": str(self.folder / f"{way}-cache"),
            **PRICE,
            **env,
        }
        done = run([COMMAND, *arguments], env=env, cwd=self.folder)
        return done.returncode, done.stdout

    def score(self, way: str, *arguments: str, **env: str) -> tuple[int, str]:
        return self.run(way, "score", "careful.jsonl", *arguments, "-o", way, **env)

    def records(self, way: str) -> dict[int, Any]:
        """The records, byte for byte; not the tokens of calls, which depend on the way."""
        (file,) = (self.folder / way).glob("*_samples_*.jsonl")
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        call = re.compile(r'"call": \{[^{}]*\}, ')
        return {row["doc_id"]: call.sub("", str(row["filtered_resps"])) for row in rows}


@pytest.fixture(scope="module")
def scoring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scoring]:
    scoring = Scoring(tmp_path_factory.mktemp("batch"))
    with scoring.server:
        assert scoring.score("direct", "--judge", "openai:m")[0] == 0
        yield scoring


def test_rounds_by_files(scoring: Scoring) -> None:
    """Answered by an executor that writes its results in any order."""
    said, rounds = "", 0
    calls = scoring.server.calls
    arguments = ("--judge", "openai:m", "--requests", "requests.jsonl")
    while True:
        code, said = scoring.score("files", *arguments, OPENAI_API_KEY="")
        if code == 0:
            break
        rounds += 1
        assert (code, rounds < 5) == (75, True), said
        stages = ["This round: first questions ", "This round: second questions "]
        assert stages[rounds - 1] in said
        assert "at the price of batches" in said
        assert "Results:" not in said
        assert not any((scoring.folder / "files").iterdir())
        lines = (scoring.folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()
        assert f"requests.jsonl ({len(lines)} requests, " in said
        asked = [json.loads(line) for line in lines]
        results = [by_vllm(each, ServerReply(str(by_prompt()(each["body"])))) for each in asked]
        random.Random(rounds).shuffle(results)
        file = scoring.folder / "results.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in results), encoding="utf-8")
        code, taken = scoring.run("files", "cache", "import", "results.jsonl")
        assert (code, f"{len(lines):,} answered" in taken) == (0, True), taken
    assert rounds == 2
    assert "No request is open." in said
    assert "Results: files/" in said
    assert scoring.records("files") == scoring.records("direct")
    assert scoring.server.calls == calls, "nothing was sent"
    code, said = scoring.run("files", "cache", "import", "requests.jsonl")
    assert (code, "requests, not results" in said) == (1, True), said


def test_batches_without_waiting(scoring: Scoring) -> None:
    for status in ("in_progress", "completed", "completed"):
        code, said = scoring.score("later", "--judge", "openai-batch:m", "--no-wait")
        if code == 0:
            break
        assert (code, "Batch batch_" in said) == (75, True), said
        assert status in said
    else:
        code, said = scoring.score("later", "--judge", "openai-batch:m", "--no-wait")
    assert code == 0, said
    assert scoring.records("later") == scoring.records("direct")
    assert {*scoring.server.answered.values()} == {1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--judge lexical --requests r.jsonl", "OpenAI-compatible"),
        ("--judge openai:m --requests .", "Is a directory"),
        ("--judge openai:m --requests answers.jsonl", "not a file of requests"),
        ("--judge openai:m --requests r.jsonl --no-wait", "leave out one"),
        ("--judge openai:m --no-wait", "openai-batch:MODEL"),
        ("--judge openai:m --requests answers.jsonl/r.jsonl", "Cannot write"),
    ],
)
def test_a_round_that_cannot_be_written_or_sent_is_refused_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text("{}\n", encoding="utf-8")
    samples = str(DEMO / "careful.jsonl")
    done = CliRunner().invoke(app, ["score", samples, *arguments.split()], env=PRICE)
    assert done.exit_code == 1
    assert message in f"{done.output}{done.exception}"
    assert (tmp_path / "answers.jsonl").read_text(encoding="utf-8") == "{}\n"
