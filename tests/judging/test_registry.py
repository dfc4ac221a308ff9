"""Selection of a judge by name, and the error messages for unknown names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import (
    BACKENDS,
    JudgeConfigurationError,
    Usage,
    choices,
    find_judge,
    open_budget,
    open_engine,
)
from tests.judging.conftest import Serve
from tests.judging.questions import question, values
from tests.support.environment import configure
from tests.support.judge_server import ServerReply
from tests.support.tables import table


def test_the_descriptions_of_the_backends_are_true() -> None:
    for name, backend in BACKENDS.items():
        assert backend.usage.partition(":")[0] == name
        assert backend.usage in choices()
        assert backend.purpose in choices()
    requests = [
        question("a", kind="image", evidence=("two dogs",), claim="two dogs"),
        question("c", kind="transform"),
    ]
    for judge, scores, said in (
        ("none", [None, None], "not judged"),
        ("lexical", [1, None], "only"),
    ):
        with open_engine(judge, progress=False) as engine:
            verdicts = engine.run(requests)
        assert values(verdicts) == scores
        assert said in str(verdicts[1].error)


SERVER = Settings(openai_url="http://127.0.0.1:9/v1")
ALWAYS: Any = {"check": lambda model, settings: None, "sees": lambda model, settings: False}


@table("row", *Path(__file__).with_name("judges.jsonl").read_text("utf-8").splitlines())
def test_choice_of_a_judge(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """``judges.jsonl``: the name of the chosen judge, or the error, with some settings."""
    case = json.loads(row)
    monkeypatch.setitem(BACKENDS, "hf", replace(BACKENDS["hf"], **ALWAYS))
    settings = SERVER.model_copy(update=case.get("settings", {}))
    if "error" in case:
        with pytest.raises(JudgeConfigurationError, match=case["error"]):
            find_judge(case["judge"], settings)
        return
    found = find_judge(case["judge"], settings)
    assert (found.name, found.model) == (case["name"], case["name"].partition(":")[2])


def test_settings_reach_the_engine(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(lambda body: ServerReply("Score: 0.2", usage=(1000, 100)))
    configure(monkeypatch, temperature=0.7)
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1/10")  # of a million tokens
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_TOKENS", "100000")
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_COST", "3")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with open_engine(" openai:a ", progress=False) as engine:
        (verdict,) = engine.run([question("q")])
    budget = engine.budget
    assert (engine.name, verdict.value) == ("openai:a", 0.2)
    assert [(body["model"], body["temperature"]) for body in server.requests] == [("a", 0.7)]
    assert budget.usage == Usage(1000, 100)
    assert budget.cost == pytest.approx(0.001 + 0.001)
    assert (budget.max_tokens, budget.max_cost) == (50_000, 1.5)
    mine = open_budget(Settings(max_judge_tokens=7))
    assert mine.max_tokens == 7
    with open_engine("openai:a", progress=False, budget=mine) as engine:
        (verdict,) = engine.run([question("q")])
    assert "budget of 7 judge tokens" in str(verdict.error)
