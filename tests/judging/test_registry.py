"""Selection of a judge by name, and the error messages for unknown names."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import (
    BACKENDS,
    JudgeConfigurationError,
    Usage,
    backends_of,
    choices,
    find_judges,
    open_budget,
    open_engine,
)
from tests.judging.conftest import Serve
from tests.judging.questions import question, values
from tests.support.judge_server import Body, ServerReply
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


# ---- several judges

SERVER = Settings(openai_urls="http://127.0.0.1:9/v1")
ALWAYS: Any = {"check": lambda model, settings: None, "sees": lambda model, settings: False}


@table(
    "judge, writes, comparable",
    ("openai:a+hf:/data/c++/m", [True, True], [True, True]),
    (" openai:m+lexical ", [True, False], [True, False]),
    ("none", [False], [False]),
)
def test_what_the_backends_can_do(judge: str, writes: list[bool], comparable: list[bool]) -> None:
    found = backends_of(judge)
    assert [each.writes for each in found] == writes
    assert [each.comparable for each in found] == comparable


@table("row", *Path(__file__).with_name("judges.jsonl").read_text("utf-8").splitlines())
def test_choice_of_judges(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """``judges.jsonl``: the names of the chosen judges, or the error, with some settings."""
    case = json.loads(row)
    monkeypatch.setitem(BACKENDS, "hf", replace(BACKENDS["hf"], **ALWAYS))
    settings = SERVER.model_copy(update=case.get("settings", {}))
    if "error" in case:
        with pytest.raises(JudgeConfigurationError, match=case["error"]):
            find_judges(case["judge"], settings)
        return
    found = find_judges(case["judge"], settings)
    assert [each.name for each in found] == case["names"]
    assert [each.model for each in found] == [each.partition(":")[2] for each in case["names"]]


def test_settings_reach_the_engine(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_model(body: Body) -> ServerReply:
        score = {"a": "Score: 0.2", "b": "Score: 0.6"}[body["model"]]
        return ServerReply(score, usage=(1000, 100))

    server = serve(by_model)
    monkeypatch.setenv("LMMS_RPTS_JUDGE_SAMPLES", "3")
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1/10+2/20")  # of a million tokens
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_TOKENS", "100000")
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_COST", "3")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with open_engine("openai:a+openai:b", progress=False) as engine:
        (verdict,) = engine.run([question("q")])
    budget = engine.budget
    assert (verdict.value, verdict.spread) == (pytest.approx(0.4), pytest.approx(0.2))
    assert engine.name == "openai:a+openai:b"
    assert sorted(body["model"] for body in server.requests) == ["a"] * 3 + ["b"] * 3
    assert {body["temperature"] for body in server.requests} == {0.7}
    assert budget.usage == Usage(6000, 600)
    assert budget.cost == pytest.approx(3 * (0.001 + 0.001) + 3 * (0.002 + 0.002))
    assert (budget.max_tokens, budget.max_cost) == (50_000, 1.5)
    mine = open_budget(Settings(max_judge_tokens=7))
    assert mine.max_tokens == 7
    with open_engine("openai:a+openai:b", progress=False, budget=mine) as engine:
        (verdict,) = engine.run([question("q")])
    assert "budget of 7 judge tokens" in str(verdict.error)


# ---- judges of other packages

FIXED = """
from lmms_rpts.judging import Backend, Reply

class Fixed:
    def __init__(self, score):
        self.score = score

    async def ask(self, request):
        return Reply(f"Score: {self.score}")

backend = Backend(
    usage="fixed:SCORE",
    purpose="the same score every time",
    check=lambda model, settings: None if model else "name a score, as in fixed:0.25",
    open=lambda model, settings: Fixed(model),
    writes=False,
    samples=False,
)
not_a_backend = {"usage": "fixed"}
"""
Offer = Callable[..., None]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Installs a package, with its own module, that offers judges: NAME="ATTRIBUTE"."""
    before = set(sys.modules)

    def install(package: str, code: str = FIXED, **judges: str) -> None:
        place = tmp_path / package
        information = place / f"{package}-1.0.dist-info"
        information.mkdir(parents=True)
        (place / f"{package}_judges.py").write_text(code)
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        lines = [f"{name} = {package}_judges:{of}" for name, of in judges.items()]
        text = "\n".join(["[lmms_rpts.judges]", *lines, "[console_scripts]", "x = y:z", ""])
        (information / "entry_points.txt").write_text(text)
        monkeypatch.syspath_prepend(place)

    yield install
    for name in set(sys.modules) - before:
        if name.endswith("_judges"):
            del sys.modules[name]


def test_a_judge_of_another_package_is_used(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JudgeConfigurationError, match=r"Unknown judge 'fixed:0\.25'"):
        open_engine("fixed:0.25")
    offer("otherjudges", fixed="backend")
    with open_engine("fixed:0.25", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.25]
    with open_engine("fixed:0.25+fixed:0.75", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.5]
    with pytest.raises(JudgeConfigurationError, match=r"'fixed' cannot be used: name a score"):
        open_engine("fixed")
    monkeypatch.setenv("LMMS_RPTS_JUDGE_SAMPLES", "2")
    with pytest.raises(JudgeConfigurationError, match=r"'fixed:0.25' always gives the same"):
        open_engine("fixed:0.25")


def test_judges_of_other_packages_are_among_the_choices(offer: Offer) -> None:
    """Of two with one name, ours counts, else that of the first package."""
    offer("secondjudges", FIXED.replace("{self.score}", "0.75"), fixed="backend")
    offer("otherjudges", FIXED.replace("{self.score}", "0.25"), fixed="backend", lexical="backend")
    lines = [" ".join(line.split()) for line in choices().splitlines()]
    assert [line for line in lines if "offered by" in line] == [
        "fixed[:MODEL] offered by otherjudges_judges:backend"
    ]
    (chosen,) = find_judges("lexical", Settings())
    assert chosen.backend is BACKENDS["lexical"]
    assert not any(name.endswith("_judges") for name in sys.modules), "listing judges loads none"
    with pytest.raises(JudgeConfigurationError, match=r"Did you mean fixed\[:MODEL\]\?") as caught:
        open_engine("fxied:0.25")
    assert choices() in str(caught.value)
    with open_engine("fixed:x", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.25]


@pytest.mark.parametrize(
    ("code", "attribute", "said"),
    [
        ("import a_package_that_there_is_not", "backend", "ModuleNotFoundError: No module named"),
        ("1 / 0", "backend", "ZeroDivisionError"),
        ("def", "backend", "SyntaxError"),
        (FIXED, "backnd", "AttributeError"),
        (FIXED, "not_a_backend", "dict is not an lmms_rpts.judging.Backend"),
        (FIXED, "Fixed", "type is not an lmms_rpts.judging.Backend"),
    ],
)
def test_a_broken_judge_of_another_package_is_named(
    offer: Offer, code: str, attribute: str, said: str
) -> None:
    offer("otherjudges", code, fixed=attribute)
    assert "fixed[:MODEL]" in choices()
    for use in (open_engine, backends_of):
        with pytest.raises(JudgeConfigurationError) as caught:
            use("fixed:0.25+lexical")
        assert "The judge 'fixed' of otherjudges" in str(caught.value)
        assert said in str(caught.value)
    with open_engine("lexical", progress=False):
        """A broken judge that is not selected has no effect."""
