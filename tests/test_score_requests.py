"""``lmms-rpts score --requests`` and ``--replies``: rounds of a batch equal a direct run."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.judge_server import Body, JudgeServer, ServerReply, by_prompt
from tests.support.lmms import run
from tests.support.tables import table
from tests.test_score import COMMAND, DEMO, write

Row = dict[str, Any]
JUDGE = ("--judge", "openai:m")


def answer(body: Body) -> str | ServerReply:
    """A score by the prompt; most first replies have none, or are cut off."""
    text = str(by_prompt()(body))
    if "and no reason." in str(body["messages"][-1]) or text.endswith("7"):
        return text
    odd = int(text[-1]) % 2
    return ServerReply("Well, w", finish_reason="length") if odd else "I would rather not say."


def result_of(request: Row, reply: ServerReply) -> Row:
    """A result in the layout of OpenAI, with the fields that vLLM adds."""
    body = json.loads(reply.payload("m"))
    response = {"status_code": reply.status, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}


def score(way: str, folder: Path, server: JudgeServer, *arguments: str) -> str:
    """The output of ``lmms-rpts score`` for ten responses; each way has a cache of its own."""
    if not (folder / "careful.jsonl").exists():
        lines = (DEMO / "careful.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "careful.jsonl").write_text("".join(lines[:10]), encoding="utf-8")
    env = {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "" if "--requests" in arguments else "sk-test-0123456789",
        "LMMS_RPTS_EVIDENCE": "image",
        "LMMS_RPTS_CACHE": str(folder / f"{way}-cache"),
    }
    command = [COMMAND, "score", "careful.jsonl", *JUDGE, *arguments, "-o", way]
    done = run(command, env=env, cwd=folder)
    # The results are incomplete while requests have no reply.
    assert done.returncode == ("the results are incomplete" in done.stdout), done.stdout
    return done.stdout


def records(folder: Path) -> dict[int, str]:
    """The records of the only run; not the tokens of calls, which depend on the way."""
    (file,) = folder.glob("*_samples_*.jsonl")
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    call = re.compile(r', "(?:tokens": \[\d+, \d+\]|cached": true)')
    return {row["doc_id"]: call.sub("", str(row["filtered_resps"])) for row in rows}


def test_rounds_end_with_the_records_of_a_direct_run(tmp_path: Path) -> None:
    """Results come in any order, in two files, and some fail in the first round."""
    chance, asked, file = random.Random(7), Counter[str](), tmp_path / "requests.jsonl"
    with JudgeServer(answer) as server:
        score("direct", tmp_path, server)
        calls = server.calls
        for number in range(9):
            said = score("files", tmp_path, server, "--requests", file.name)
            if "All requests have replies" in said:
                break
            requests = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            assert f"requests.jsonl ({len(requests)} requests, " in said
            assert "--replies RESULTS.jsonl" in said
            assert "Results:" not in said
            assert {each["method"] + each["url"] for each in requests} == {
                "POST/v1/chat/completions"
            }
            results = [{"custom_id": "other", "response": None, "error": {"message": "expired"}}]
            for each in requests:
                reply = answer(each["body"])
                reply = reply if isinstance(reply, ServerReply) else ServerReply(reply)
                if not number and each["custom_id"][-1] in "0123":
                    reply = ServerReply("out of memory", status=500)
                results.append(result_of(each, reply))
                asked[each["custom_id"]] += reply.status == 200
            chance.shuffle(results)
            for name, part in (("a.jsonl", results[::2]), ("b.jsonl", results[1::2])):
                write(tmp_path / name, *part)
            replies = ("--replies", "b.jsonl", "--replies", "a.jsonl")
            said = score("files", tmp_path, server, *replies)
            assert "1 no results" in said
            assert number or "failed: out of memory" in said
            assert ("have no reply yet" in said) == ("--requests FILE.jsonl" in said)
        assert 2 <= number < 9
        assert records(tmp_path / "files") == records(tmp_path / "direct")
        assert {*asked.values()} == {1}, "a request that was answered is written no more"
        assert server.calls == calls, "nothing was sent"
        assert sum(asked.values()) == calls, "what is asked is what a direct run asks"


Change = Callable[[Row], Any]


@table(
    "change, outcome",
    (lambda row: row, "1 replies"),
    (lambda row: {**row, "response": {**row["response"], "body": None}}, "1 failed: "),
    (lambda row: {**row, "response": None, "error": {"message": "expired"}}, "1 failed: expired"),
    (lambda row: {**row, "response": {"status_code": 200, "body": {}}}, "1 failed: "),
    (lambda row: {**row, "custom_id": 7}, "1 no results"),
    (lambda row: "[" * 100_000, "1 no results"),
)
def test_lines_of_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, outcome: str
) -> None:
    monkeypatch.chdir(tmp_path)
    row = change(result_of({"custom_id": "0" * 64}, ServerReply("Score: 1")))
    text = row if isinstance(row, str) else json.dumps(row)
    (tmp_path / "r.jsonl").write_text(f"{text}\n\n", encoding="utf-8")
    (tmp_path / "s.jsonl").write_text("{}", encoding="utf-8")
    env = {"LMMS_RPTS_CACHE": str(tmp_path)}
    command = ["score", "s.jsonl", *JUDGE, "--replies", "r.jsonl", "--replies", "r.jsonl"]
    done = CliRunner().invoke(app, command, env=env)
    said = f"{done.output}{done.exception}"
    assert f"r.jsonl: {outcome}" in said
    assert ("1 known" in said) == (outcome == "1 replies")
    assert done.exit_code == 1


@table(
    "arguments, cache, message",
    ("--judge lexical --requests r.jsonl", "c", "need --judge openai:MODEL"),
    ("--judge openai:m --requests answers.jsonl", "c", "not a file of requests"),
    ("--judge openai:m --requests r.jsonl", "off", "LMMS_RPTS_CACHE not off"),
    ("--judge openai:m --requests answers.jsonl/r.jsonl", "c", "Cannot write"),
)
def test_a_round_that_cannot_be_written_is_refused_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, cache: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text("{}\n", encoding="utf-8")
    command = ["score", str(DEMO / "careful.jsonl"), *arguments.split()]
    done = CliRunner().invoke(app, command, env={"LMMS_RPTS_CACHE": cache})
    assert done.exit_code == 1
    assert message in f"{done.output}{done.exception}"
    assert (tmp_path / "answers.jsonl").read_text(encoding="utf-8") == "{}\n"
