"""A server with all kinds of failures: each instance is scored or has an error."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.judging import Budget, Dialogue, JudgeEngine, client, open_engine
from tests.judging.conftest import Serve
from tests.judging.questions import questions, values
from tests.support.fault_server import ANSWERED, PASSING, SHARES, Call, question_of, serving
from tests.support.judge_server import Body, ServerReply
from tests.support.score_gold import gold_chain, gold_docs, score
from tests.support.tables import table

ROOT = Path(__file__).parents[2]
CHAINS = 416
_AT_ONCE = 32
REFUSAL = "the judge's content filter refused the request"


class LateError(AssertionError):
    """A call was repeated although it was answered: the client did not wait long enough."""


@dataclass(frozen=True)
class Clean:
    """Results of a run without faults.

    Attributes:
        scores: of each chain.
        questions: of each step.
        patience: time limit of a call in seconds: many times the current duration of a call.
    """

    scores: list[list[float | None]]
    questions: list[list[list[str]]]
    patience: float

    @property
    def steps_asking(self) -> Counter[str]:
        """The number of steps that ask each question."""
        return Counter(asked for chain in self.questions for step in chain for asked in step)

    def patiently(self, work: Callable[[str], None]) -> None:
        """Calls ``work`` with a time limit; again with longer ones if an answer came too late.

        A busy machine may need longer for some answer than for any of the run without faults.
        """
        *shorter, longest = (str(times * self.patience) for times in (1, 4, 16))
        for limit in shorter:
            with contextlib.suppress(LateError):
                work(limit)
                return
        work(longest)

    def asked_where(self, answered: set[str]) -> set[str]:
        """Questions asked if only these are answered: without a first score, no second question."""
        return {
            asked
            for chain in self.questions
            for step in chain
            for at, asked in enumerate(step)
            if answered.issuperset(step[:at])
        }


class Listening:
    """An engine that records which questions each step asks."""

    def __init__(self, engine: JudgeEngine) -> None:
        self._engine = engine
        self.asked: list[list[str]] = []

    def converse(self, dialogues: Sequence[Dialogue[Any]]) -> list[Any]:
        self.asked = [[] for _ in dialogues]
        return self._engine.converse(
            [self._hear(*each) for each in zip(dialogues, self.asked, strict=True)]
        )

    def _hear(self, dialogue: Dialogue[Any], asked: list[str]) -> Dialogue[Any]:
        request = next(dialogue, None)
        try:
            while request is not None:
                asked.append(question_of(request.messages))
                request = dialogue.send((yield request))
        except StopIteration as end:
            return end.value


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Clean:
    folder = tmp_path_factory.mktemp("clean")
    docs = gold_docs()
    assert len(docs) == CHAINS
    with serving(folder / "log") as server, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with open_engine("openai:m", progress=False) as engine:
            listening, started = Listening(engine), time.monotonic()
            scored = score(docs, listening)  # type: ignore[arg-type]
            seconds = time.monotonic() - started
        calls = server.calls()
    assert not any(error for each in scored for error in each.errors)
    assert len(calls) == engine.budget.calls == sum(each.calls for each in scored)
    assert len({call.body for call in calls}) == len(calls), "a question was asked twice"
    steps = iter(listening.asked)
    found = Clean(
        scores=[each.scores for each in scored],
        questions=[[next(steps) for _ in each.scores] for each in scored],
        patience=max(1.0, 12 * seconds * _AT_ONCE / len(calls)),
    )
    assert set(found.steps_asking) == {call.question for call in calls}
    return found


def by_body(calls: Sequence[Call]) -> Iterable[list[Call]]:
    """Groups calls with equal bodies."""
    found: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        assert call.before == len(found[call.body])
        found[call.body].append(call)
    return found.values()


def check_answers(calls: Sequence[Call]) -> None:
    """Checks that no call was repeated after an answer; a refusal is not cached."""
    for same in by_body(calls):
        outcomes = [call.outcome for call in same]
        if any(outcome not in {*PASSING, "refused"} for outcome in outcomes[:-1]):
            raise LateError(f"asked again after an answer: {outcomes}")


def check_log(calls: Sequence[Call], clean: Clean) -> Counter[str]:
    """Checks that earlier faults explain each call; counts the outcomes.

    Raises:
        LateError: the time limit of a call was too short.
    """
    check_answers(calls)
    for same in by_body(calls):
        outcomes = [call.outcome for call in same]
        final = [outcome for outcome in outcomes if outcome not in PASSING]
        if outcomes[-1] in PASSING:
            throttled = outcomes.count("throttled")
            given_up = (len(outcomes) - throttled, throttled)
            assert given_up[0] == client.CALLS or given_up[1] == client.THROTTLED, outcomes
        elif final[-1] == "refused":  # a failure is not cached: another step asks again
            assert set(final) == {"refused"}
            assert len(final) <= clean.steps_asking[same[0].question]
        else:
            assert len(final) == 1, outcomes
    reminded = [call for call in calls if call.reminded]
    unread = Counter(call.question for call in calls if call.outcome == "unusable")
    answered = {call.question for call in calls if call.outcome == ANSWERED}
    assert {call.question for call in calls} == clean.asked_where(answered)
    assert {call.question for call in reminded} <= set(unread)
    for question, times in unread.items():
        bodies = {call.body for call in reminded if call.question == question}
        assert len(bodies) == min(times, client.ASKED_AGAIN), "not retried often enough"
    return Counter(call.outcome for call in calls)


def check_shares(outcomes: Counter[str]) -> None:
    """Checks that all faults occurred about as often as configured."""
    calls = outcomes.total()
    for name, share in SHARES.items():
        assert 0.4 * share < outcomes[name] / calls < 2 * share, (name, outcomes)
    assert outcomes["refused"] >= 8


def check_steps(
    steps: Iterable[tuple[list[float | None], list[str | None]]],
    calls: Sequence[Call],
    clean: Clean,
) -> None:
    """Checks that each step has its score from the run without faults, or the right error.

    A step has an error if one of its questions was never answered.
    """
    answered = {call.question for call in calls if call.outcome == ANSWERED}
    errors: set[str] = set()
    for (got, said), expected, asked in zip(steps, clean.scores, clean.questions, strict=True):
        assert len(got) == len(said) == len(expected)
        for number, (value, error) in enumerate(zip(got, said, strict=True)):
            if answered.issuperset(asked[number]):
                assert (value, error) == (expected[number], None)
            else:
                assert value is None
                assert error
                errors.add(error)
    assert errors == {REFUSAL}, "a question failed for another reason: use another seed"


@pytest.mark.slow
def test_the_filter_scores_all_that_can_be_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean: Clean
) -> None:
    from lmms_rpts.filters import budget
    from lmms_rpts.filters.record import Transform
    from lmms_rpts.filters.response_reading import NO_ANSWER
    from lmms_rpts.filters.responses import TransformedResponse
    from lmms_rpts.filters.score import ScoreFilter

    docs = gold_docs()
    read = Transform(read_by="rule", style="arrows", source="response")
    responses = [[TransformedResponse(gold_chain(doc), NO_ANSWER, read)] for doc in docs]
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.1)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:m")

    def work(limit: str) -> None:
        answers = tmp_path / limit
        budget.reset_spending()
        with serving(tmp_path / f"{limit}.log", faulty=True) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("LMMS_RPTS_TIMEOUT", limit)
            monkeypatch.setenv("LMMS_RPTS_CACHE", str(answers))
            scored = [each for (each,) in ScoreFilter().apply(responses, docs)]
            calls = server.calls()
            spent = budget.run_budget(ScoreFilter().settings)
            steps = check_scored(scored, calls, spent, clean)

            # A second run asks only unanswered questions, and score_gold sends the same requests.
            with open_engine("openai:m", progress=False, cache_dir=answers) as engine:
                again = score(docs, engine)
            later = server.calls(since=len(calls))
        failed = {call.question for call in calls if call.outcome == "refused"}
        assert {call.question for call in later} == failed
        assert len(later) == engine.budget.calls
        assert [each.scores for each in again] == steps

    clean.patiently(work)


def check_scored(
    scored: Sequence[Any], calls: Sequence[Call], spent: Budget, clean: Clean
) -> list[list[float | None]]:
    """Checks what the filter made of all replies; returns the scores."""
    outcomes = check_log(calls, clean)
    check_shares(outcomes)
    assert spent.calls == len(calls)
    assert spent.usage.output_tokens == 5 * (outcomes[ANSWERED] + outcomes["unusable"])
    steps = [
        (
            [step.score for step in each.steps],
            [step.questions[-1].error if step.questions else None for step in each.steps],
        )
        for each in scored
    ]
    check_steps(steps, calls, clean)
    assert [bool(each.error) for each in scored] == [any(said) for _, said in steps]
    return [values for values, _ in steps]


@table(
    "said, code",
    (
        "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy. Please modify your prompt and retry.",
        "content_filter",
    ),
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted "
        "in 9000 tokens.",
        "context_length_exceeded",
    ),
)
def test_a_refusal_of_one_question_changes_no_other(serve: Serve, said: str, code: str) -> None:
    """The first refusal by a server may concern the question alone, not the request format."""

    def answer(body: Body) -> str | ServerReply:
        if body["messages"][0]["content"] != "question 0":
            return "Score: 0.5"
        return ServerReply(status=400, body={"error": {"message": said, "code": code}})

    server = serve(answer)
    with open_engine("openai:m", concurrency=1, progress=False) as asked:
        verdicts = asked.run(questions(5))
    assert values(verdicts) == [None, 0.5, 0.5, 0.5, 0.5]
    assert said in str(verdicts[0].error)
    assert all("response_format" in body for body in server.requests[-4:])
    assert server.calls == asked.budget.calls
