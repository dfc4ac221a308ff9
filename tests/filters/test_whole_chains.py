"""Judges of whole chains: one request per response, no question about the root, said everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lmms_rpts
from lmms_rpts.analysis.estimate import estimate_need
from lmms_rpts.base.settings import Settings
from lmms_rpts.cli import app
from lmms_rpts.commands.doctor.examination import plan
from lmms_rpts.commands.doctor.judge import check_judges
from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.questions import Plan, ask_about_chain
from lmms_rpts.filters.record import Answer, RptsRecord, Transform
from lmms_rpts.filters.responses import TransformedResponse
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.judging import BACKENDS, Backend, JudgeRequest, Reply, Verdict
from lmms_rpts.reasoning import Clue, ReasoningChain, Step
from tests.support.growth import assert_linear
from tests.support.instances import make_doc
from tests.support.lmms import run_lmms_eval
from tests.support.tables import table
from tests.support.tiny_prm import build_tiny_prm

ROOT_FREE = (
    "Conclusion 0: from Image 0, the clock shows nine.\n"
    "Conclusion 1: from Image 5, it is dark.\n"
    "Conclusion 2: from Conclusion 0 and Text 0, the shop is closed.\nFinal answer: agree"
)


class Scripted:
    """Gives the scores 0.1, 0.2, ... to the steps, null to those called null; keeps requests."""

    def __init__(self) -> None:
        self.requests: list[JudgeRequest] = []

    async def ask(self, request: JudgeRequest) -> Reply:
        self.requests.append(request)
        given = (None if "null" in each else at / 10 for at, each in enumerate(request.steps, 1))
        return Reply(json.dumps([*given]))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    judge = Scripted()
    backend = Backend(
        usage="chains",
        purpose="for tests",
        check=lambda model, settings: None,
        open=lambda model, settings: judge,
        writes=False,
        samples=False,
        sees=lambda model, settings: model == "sees",
        protocol=lambda model, settings: "test-1234",
    )
    monkeypatch.setitem(BACKENDS, "chains", backend)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "chains")
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    return judge


def records(*responses: str, doc: Any = None) -> list[RptsRecord]:
    docs = [doc or make_doc()] * len(responses)
    resps: Any = TransformFilter().apply([[each] for each in responses], docs)
    found = AggregateFilter().apply(ScoreFilter().apply(resps, docs), docs)
    return [RptsRecord.model_validate_json(str(each)) for each in found]


def test_a_chain_is_one_request_and_its_record_says_what_it_was(scripted: Scripted) -> None:
    (record,) = records(ROOT_FREE)
    (asked,) = scripted.requests
    assert (asked.kind, asked.messages, asked.images) == ("chain", (), ())
    assert asked.steps == ("the clock shows nine.", "it is dark.", "the shop is closed.")
    assert asked.evidence == (
        "Image 0 shows the clock above the shop.",
        "The shop closes at eight.",
        "The shop sells bread.",
        "Image 0: The clock shows nine.",
        "The shop is closed.",
    )
    # The image of the second step does not exist, so its score is known.
    assert [step.score for step in record.steps] == [0.1, 0.0, 0.3]
    assert [[each.kind for each in step.questions] for step in record.steps] == [
        ["chain"],
        [],
        ["chain"],
    ]
    assert record.outcome == "scored"
    said = record.settings
    assert (said.judge, said.scored_given) == ("chains", "all earlier steps")
    assert said.prompt_version == "test-1234"
    assert record.metrics["rpts"] is not None


def test_a_step_beyond_the_context_leaves_its_response_unscored(scripted: Scripted) -> None:
    cut, whole = records(ROOT_FREE.replace("closed.\n", "null.\n"), ROOT_FREE)
    assert (cut.outcome, cut.rpts, whole.outcome) == ("unscored", None, "scored")
    assert "step 2: the step lies beyond the context" in str(cut.reason)
    assert cut.steps[0].score == 0.1  # what was paid for is kept
    assert cut.metrics["judge_coverage"] == 0.0


@table(
    "reply, reason",
    ("[0.5]", "cannot be parsed as one score for each step"),
    ("no JSON", "cannot be parsed"),
    ("{}", "cannot be parsed"),
    ("[0.5, 0.5, true]", "cannot be parsed"),
    ("[0.5, 0.5, 1.5]", "cannot be parsed"),
    ("[0.5, 0.5, NaN]", "cannot be parsed"),
    ("[0.5, null, null]", "beyond the context"),
    ("[1, 0, 0.5]", None),
)
def test_a_damaged_reply_is_never_a_score(
    scripted: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    reply: str,
    reason: str | None,
) -> None:
    """Nor is it kept: the next run asks again."""

    async def ask(request: JudgeRequest) -> Reply:
        return Reply(reply)

    monkeypatch.setattr(scripted, "ask", ask)
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / reply.encode().hex()))
    scripted.requests.clear()
    (record,) = records(ROOT_FREE)
    if reason is None:
        assert [step.score for step in record.steps] == [1.0, 0.0, 0.5]
    else:
        assert (record.outcome, record.rpts) == ("unscored", None)
        assert reason in str(record.reason)
    monkeypatch.setattr(scripted, "ask", partial(Scripted.ask, scripted))
    records(ROOT_FREE)
    assert bool(scripted.requests) == ("cannot" in str(reason))


def test_planning_and_judging_10_000_steps_is_linear() -> None:
    doc = make_doc()

    def planned(size: int) -> Plan:
        steps = (Step((Clue("conclusion", max(0, at - 1)),), f"so {at}") for at in range(size))
        read = Transform(read_by="rule", style="arrow", source="response")
        answer = Answer(value="agree", correct=True)
        chain = ReasoningChain(tuple(steps), "en")
        return Plan.of(TransformedResponse(chain, answer, read), doc, None)

    def judge(plan: Plan) -> None:
        dialogue = ask_about_chain(plan, doc)
        request = next(dialogue)
        with pytest.raises(StopIteration) as end:
            dialogue.send(Verdict(None, json.dumps([0.5] * len(request.steps))))
        assert len(end.value.value) == len(plan.queries)

    assert_linear(judge, planned, size=1250)
    assert_linear(planned, lambda size: size, size=1250)


def test_the_estimate_counts_one_call_per_response() -> None:
    doc = make_doc()
    chains = estimate_need([doc] * 3, mode="rule", chains=True).typical
    steps = estimate_need([doc] * 3, mode="rule").typical
    assert (chains.calls, chains.usage.output_tokens) == (3, 0)
    assert steps.calls == 6
    assert 0 < chains.usage.input_tokens < steps.usage.input_tokens


# ---- a real model, as users run it


@pytest.fixture(scope="module")
def prm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_prm(tmp_path_factory.mktemp("prm") / "m", "qwen")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prm: Path) -> Callable[..., str]:
    """Runs a command with the model as the judge; returns what it prints."""
    monkeypatch.setenv("LMMS_RPTS_JUDGE", f"prm:{prm}")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    return run


@pytest.mark.slow
def test_a_run_of_lmms_eval_and_its_comparison_with_another_kind_of_judge(
    command: Callable[..., str], tmp_path: Path, prm: Path
) -> None:
    answers = Path(lmms_rpts.__file__).parent / "demo/responses/careful.jsonl"
    replay = ("--model", "replay", "--model_args", f"samples={answers}", "--tasks", "rpts_demo")
    found = {}
    for name, judge in {"chains": f"prm:{prm}", "steps": "lexical"}.items():
        env = {"LMMS_RPTS_JUDGE": judge, "LMMS_RPTS_CACHE": str(tmp_path / "cache")}
        run = run_lmms_eval(tmp_path / name, *replay, env=env)
        found[name] = {key.partition(",")[0] for key in run.results["rpts_demo"]}
    assert found["chains"] >= {"rpts", "accuracy", "judge_coverage"}
    refused = " ".join(command("compare", "chains", "steps", code=1).split())
    assert "scored given all earlier steps and cited premises, which are two measures" in refused
    assert "rpts" in command("compare", "chains", "chains")
    together = " ".join(command("summarize", "chains", "steps").split())
    assert "scored given: all earlier steps in" in together
    assert "; steps scored given all earlier steps)" in command("agreement", "chains", "steps")
    command("report", "chains", "-o", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "given the problem and all earlier steps" in page
    refused = command("rate", "chains", "-o", "rate.html", code=1)
    assert "score the run with a judge of steps first" in " ".join(refused.split())


def test_validate_asks_once_per_chain(
    command: Callable[..., str], prm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the figures in its file are those of this judge, as doctor says."""
    said = command("validate", "--judge", f"prm:{prm}", "--limit", "6", "-o", "v.json")
    found = json.loads(Path("v.json").read_text())
    (own,) = found["sets"]
    assert "About 6 calls" in said
    assert (own["usage"]["calls"], own["usage"]["output_tokens"]) == (6, 0)
    assert own["premises"] == "all"
    assert found["prompt_version"].startswith("qwen-")
    for chain in own["chains"]:
        asked = [label is not None for label in chain["labels"]]
        assert [score is not None for score in chain["scores"]] == asked
    assert own["metrics"]["unscored"]["value"] == 0
    again = command("validate", "--judge", f"prm:{prm}", "--limit", "6")
    assert "Usage: 0 calls" in again or "6 cached" in again
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", "v.json")
    (stage,) = (each for each in plan(offline=True) if each.name == "validity")
    (check,) = stage.perform()
    assert (check.state, "validated on" in check.said) == ("ok", True), check.said


def test_each_labelled_step_gets_its_own_score(
    command: Callable[..., str], scripted: Scripted
) -> None:
    command("validate", "--judge", "chains", "--limit", "6", "-o", "v.json")
    (own,) = json.loads(Path("v.json").read_text())["sets"]
    for chain in own["chains"]:
        expected = [(at + 1) / 10 for at in range(len(chain["labels"]))]
        assert [score for score in chain["scores"] if score is not None] == [
            score
            for score, label in zip(expected, chain["labels"], strict=True)
            if label is not None
        ]
    assert len(scripted.requests) == 6


def test_doctor_asks_about_a_valid_and_an_invalid_step(prm: Path) -> None:
    settings = Settings(judge=f"prm:{prm}")
    assert [each.state for each in check_judges(settings)] == ["not checked"]
    (check,) = check_judges(settings, load=True)
    said = check.said
    assert "for a plainly valid step" in said
