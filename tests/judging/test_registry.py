"""Selection of a judge by name, and the error messages for unknown names."""

from __future__ import annotations

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
from tests.support.judge_server import Body, ServerReply, constant
from tests.support.tables import table


@table(
    "judge, near",
    ("opnai:gpt-4o", "openai:MODEL"),
    ("open-ai:gpt-4o", "openai:MODEL"),
    ("lexcal", "lexical"),
    ("lexicals", "lexical"),
    ("non", "none"),
    ("None", "none"),
    ("OpenAI:gpt-4o", "openai:MODEL"),
)
def test_an_unknown_judge_names_the_nearest(judge: str, near: str) -> None:
    with pytest.raises(JudgeConfigurationError) as caught:
        open_engine(judge)
    message = str(caught.value)
    assert repr(judge) in message
    assert f"Did you mean {near}?" in message
    for backend in BACKENDS.values():
        assert backend.usage in message


def test_a_server_of_ones_own_needs_no_key(serve: Serve) -> None:
    server = serve(constant("Score: 0.7"))
    with open_engine("openai:org/model:7b", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.7]
    assert server.requests[0]["model"] == "org/model:7b"
    assert judge.name == "openai:org/model:7b"


def test_judge_none_scores_nothing() -> None:
    with open_engine("none", progress=False) as judge:
        verdicts = judge.run([question("a"), question("b", kind="transform")])
    assert values(verdicts) == [None, None]
    assert all("not judged" in str(verdict.error) for verdict in verdicts)


def test_lexical_only_scores() -> None:
    with open_engine("lexical", progress=False) as judge:
        verdicts = judge.run(
            [
                question("a", kind="image", evidence=("two dogs",), claim="two dogs"),
                question("b", kind="inference", evidence=("two dogs",), claim="two dogs"),
                question("c", kind="transform"),
                question("d", kind="answer"),
            ]
        )
    assert values(verdicts) == [1.0, 1.0, None, None]
    assert "only scores" in str(verdicts[2].error)


def test_what_is_said_of_the_backends_is_true() -> None:
    for name, backend in BACKENDS.items():
        assert backend.usage.partition(":")[0] == name
        assert backend.usage in choices()
        assert backend.purpose in choices()
    told = {name for name, backend in BACKENDS.items() if backend.comparable and backend.writes}
    assert told == {"openai", "hf"}
    settings = Settings(openai_url="http://127.0.0.1:9/v1")
    for judge in ("openai:m", " openai:m ", "lexical", "none"):
        (chosen,) = find_judges(judge, settings)
        assert chosen.backend is BACKENDS[judge.strip().partition(":")[0]]


# ---- several judges

SERVER = Settings(openai_url="http://127.0.0.1:9/v1")
ALWAYS: Any = {"check": lambda model, settings: None, "sees": lambda model, settings: False}


def names(judge: str, settings: Settings = SERVER) -> list[str]:
    return [chosen.name for chosen in find_judges(judge, settings)]


@table(
    "judge, parts",
    ("openai:a+openai:b", ["openai:a", "openai:b"]),
    ("openai:a+lexical", ["openai:a", "lexical"]),
    ("lexical+openai:a", ["lexical", "openai:a"]),
    ("openai:a+lexical+openai:b", ["openai:a", "lexical", "openai:b"]),
    (" openai:a+lexical ", ["openai:a", "lexical"]),
    ("openai:org/m:7b+openai:b", ["openai:org/m:7b", "openai:b"]),
    ("openai:a+openai:b+", ["openai:a", "openai:b+"]),
    # a "+" in a model name or a path
    ("openai:gpt+4", ["openai:gpt+4"]),
    ("openai:/data/c++/m", ["openai:/data/c++/m"]),
    ("openai:/data/c++", ["openai:/data/c++"]),
    ("openai:a+b/c", ["openai:a+b/c"]),
    ("openai:m+v1.5", ["openai:m+v1.5"]),
    ("openai:/data/c++/m+lexical", ["openai:/data/c++/m", "lexical"]),
    # with spaces around the "+"
    ("openai:a + openai:b", ["openai:a", "openai:b"]),
    ("lexical + openai:a", ["lexical", "openai:a"]),
)
def test_judges_are_parted_where_one_may_begin(judge: str, parts: list[str]) -> None:
    assert names(judge) == parts
    models = [chosen.model for chosen in find_judges(judge, SERVER)]
    assert models == [part.partition(":")[2] for part in parts]


@table(
    "judge, writer, like_others",
    ("openai:m", True, True),
    ("hf:m", True, True),
    ("lexical", False, False),
    ("none", False, False),
    ("openai:a+openai:b", True, True),
    ("openai:a+hf:/data/c++/m", True, True),
    ("lexical+openai:m", True, False),
    ("openai:m+lexical", True, False),
    (" openai:m+lexical ", True, False),
)
def test_what_several_can_do(judge: str, writer: bool, like_others: bool) -> None:
    found = backends_of(judge)
    assert any(each.writes for each in found) == writer
    assert all(each.comparable for each in found) == like_others


FREE = {"judge_samples": 3, "temperature": 0.7}


@table(
    "judge, changes, said",
    ("openai:gpt-4o-mini", {"openai_url": None}, "openai:gpt-4o-mini.*API_KEY.*OPENAI_BASE_URL"),
    *(
        (judge, {}, "add a model, such as openai:gpt")
        for judge in ("openai", "openai:", " openai: ")
    ),
    ("lexical:big", {}, "'lexical:big' cannot be used: it takes no model"),
    ("none:x", {}, "'none:x' cannot be used: it takes no model"),
    # the judge that is at fault is named
    ("openai:m+opnai:n", {}, "Unknown judge 'opnai:n'. Did you mean openai:MODEL?"),
    ("opnai:m+openai:n", {}, "Unknown judge 'opnai:m'. Did you mean openai:MODEL?"),
    ("openai:m+lexcal", {}, "Unknown judge 'lexcal'. Did you mean lexical?"),
    ("openai:m+turbo", {}, "Unknown judge 'turbo'."),
    ("+lexical", {}, "Unknown judge ''."),
    ("lexical+", {}, "Unknown judge 'lexical.'. Did you mean lexical?"),
    ("lexical++openai:m", {}, "Unknown judge 'lexical.'. Did you mean lexical?"),
    ("openai:m+openai:", {}, "'openai:' cannot be used: add a model"),
    ("openai:m+lexical:big", {}, "'lexical:big' cannot be used: it takes no model"),
    # judges that do not go together
    *((j, {}, "'none' cannot be one of several") for j in ("none+lexical", "openai:m+none")),
    ("openai:m+openai:m", {}, "names a judge twice.*LMMS_RPTS_JUDGE_SAMPLES"),
    ("lexical+openai:m+lexical", {}, "names a judge twice.*LMMS_RPTS_JUDGE_SAMPLES"),
    ("hf:a+openai:m+hf:b", {}, "hf:a and hf:b: one process can hold one"),
    # prices are one, or as many as judges
    ("openai:a", {"price": "1/2+3/4"}, "LMMS_RPTS_PRICE.*2 prices for 1 judges"),
    ("openai:a+openai:b+lexical", {"price": "1/2+3/4"}, "2 prices for 3 judges"),
    ("openai:a+openai:b", {"price": "1/2+3/4"}, None),
    ("openai:a+openai:b", {"price": "1/2"}, None),
    # judges that say the same each time are asked once
    *((j, FREE, None) for j in ("openai:m", "openai:a+openai:b", "none")),
    *((j, FREE, f"{j!r} always gives the same reply: .*SAMPLES") for j in ("lexical", "hf:m")),
    ("openai:m+hf:m", {"temperature": 0.3}, "'hf:m' always gives the same .* temperature"),
    *((j, {}, None) for j in ("openai:m+lexical", "openai:m+hf:a")),
)
def test_what_cannot_be_used_is_told(
    monkeypatch: pytest.MonkeyPatch, judge: str, changes: dict[str, Any], said: str | None
) -> None:
    monkeypatch.setitem(BACKENDS, "hf", replace(BACKENDS["hf"], **ALWAYS))
    settings = SERVER.model_copy(update=changes)
    if said is None:
        assert names(judge, settings) == judge.split("+")
        return
    with pytest.raises(JudgeConfigurationError, match=said):
        find_judges(judge, settings)


# ---- prices and budgets


@table(
    "price, cost",
    # each of the two judges gets one request: 1000 tokens in and 100 out; prices are per million
    ("", 0.0),
    ("1/10", 0.004),  # 2 x (0.001 + 0.001)
    ("1/10+2/20", 0.006),  # 0.002 + 0.004
    ("0/0+2/20", 0.004),
)
def test_each_judge_has_its_price(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, price: str, cost: float
) -> None:
    serve(lambda body: ServerReply("Score: 0.5", usage=(1000, 100)))
    monkeypatch.setenv("LMMS_RPTS_PRICE", price)
    with open_engine("openai:a+openai:b", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.5]
        assert judge.budget.usage == Usage(2000, 200)
        assert judge.budget.cost == pytest.approx(cost)


def test_a_budget_is_that_of_the_settings(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(constant("Score: 0.5"))
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1/2")
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_TOKENS", "1000")
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_COST", "3")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with open_engine("openai:m", progress=False) as judge:
        assert (judge.budget.max_tokens, judge.budget.max_cost) == (500, 1.5)
    monkeypatch.delenv("LMMS_RPTS_MAX_JUDGE_COST")
    mine = open_budget(Settings(max_judge_tokens=7))
    assert (mine.max_tokens, mine.max_cost) == (7, None)
    with open_engine("openai:m", progress=False, budget=mine) as judge:
        assert judge.budget is mine
        (verdict,) = judge.run([question("q")])
    assert "budget of 7 judge tokens" in str(verdict.error)


def test_several_judges_are_asked_and_their_mean_counts(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_model(body: Body) -> str:
        return {"a": "Score: 0.2", "b": "Score: 0.6"}[body["model"]]

    server = serve(by_model)
    monkeypatch.setenv("LMMS_RPTS_JUDGE_SAMPLES", "3")
    with open_engine("openai:a+openai:b", progress=False) as judge:
        (verdict,) = judge.run([question("q")])
    assert verdict.value == pytest.approx(0.4)
    assert verdict.spread == pytest.approx(0.2)
    assert judge.name == "openai:a+openai:b"
    assert sorted(body["model"] for body in server.requests) == ["a"] * 3 + ["b"] * 3
    assert {body["temperature"] for body in server.requests} == {0.7}


@table("judge", "lexical+openai:m", "openai:m+lexical")
def test_texts_go_to_a_judge_that_writes(serve: Serve, judge: str) -> None:
    server = serve(constant("a text"))
    with open_engine(judge, progress=False) as opened:
        assert values(opened.run([question("q", kind="answer")])) == ["a text"]
    assert server.calls == 1


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
    (backend,) = backends_of("fixed:0.25")
    assert (backend.writes, backend.comparable) == (False, True)
    with pytest.raises(JudgeConfigurationError, match=r"'fixed' cannot be used: name a score"):
        open_engine("fixed")
    monkeypatch.setenv("LMMS_RPTS_JUDGE_SAMPLES", "2")
    with pytest.raises(JudgeConfigurationError, match=r"'fixed:0.25' always gives the same"):
        open_engine("fixed:0.25")


def test_judges_of_other_packages_are_among_the_choices(offer: Offer) -> None:
    offer("otherjudges", fixed="backend", second="backend")
    offer("thirdjudges", third="backend")
    lines = [" ".join(line.split()) for line in choices().splitlines()]
    assert "fixed[:MODEL] offered by otherjudges_judges:backend" in lines
    assert "second[:MODEL] offered by otherjudges_judges:backend" in lines
    assert "third[:MODEL] offered by thirdjudges_judges:backend" in lines
    assert not any(name.endswith("_judges") for name in sys.modules), "listing judges loads none"
    with pytest.raises(JudgeConfigurationError, match=r"Did you mean fixed\[:MODEL\]\?") as caught:
        open_engine("fxied:0.25")
    assert choices() in str(caught.value)


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


def test_our_judges_are_not_replaced(offer: Offer) -> None:
    offer("otherjudges", lexical="backend", fixed="backend")
    (chosen,) = find_judges("lexical", Settings())
    assert chosen.backend is BACKENDS["lexical"]
    assert "lexical[:MODEL]" not in choices()
    assert "fixed[:MODEL]" in choices()


def test_of_two_packages_the_first_has_the_name(offer: Offer) -> None:
    offer("secondjudges", FIXED.replace("{self.score}", "0.75"), fixed="backend")
    offer("firstjudges", FIXED.replace("{self.score}", "0.25"), fixed="backend")
    with open_engine("fixed:x", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.25]
    assert "secondjudges" not in choices()
