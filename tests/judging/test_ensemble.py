"""Several judges and repeats: means, standard deviations and missing answers, worked manually."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from lmms_rpts.base.settings import Jury, Price
from lmms_rpts.judging import (
    FatalJudgeError,
    JudgeEngine,
    Member,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    client,
)
from lmms_rpts.judging.concurrency import StopSignal
from tests.judging.questions import Said, ScriptedJudge, in_order, question, questions, values
from tests.support.tables import table


def says(*said: Said, pause: float = 0.0) -> ScriptedJudge:
    return ScriptedJudge(in_order(*said), pause)


def scores(*score: float) -> ScriptedJudge:
    return says(*(f"Score: {each}" for each in score))


def ensemble(judges: Sequence[ScriptedJudge], samples: int = 1, **options: Any) -> JudgeEngine:
    """An engine with judges "a", "b", "c", each of which gets one request at a time."""
    members = [Member(name, judge) for name, judge in zip("abcdef", judges, strict=False)]
    options = {"concurrency": 1, "progress": False, "samples": samples, **options}
    return JudgeEngine(members, **options)


# ---- mean and standard deviation


@table(
    "said, mean, spread",
    ([0.0, 1.0], 0.5, 0.5),
    ([0.2, 0.4], 0.3, 0.1),
    ([0.7, 0.7], 0.7, 0.0),
    ([0.0, 0.0, 0.0], 0.0, 0.0),
    # deviations 0.3, 0, 0.3: square root of 0.18 / 3
    ([0.0, 0.3, 0.6], 0.3, 0.244949),
    # deviations 0.3, 0.1, 0.4: square root of 0.26 / 3
    ([0.2, 0.4, 0.9], 0.5, 0.294392),
    # deviations 0.75, 0.25, 0.25, 0.25: square root of 0.75 / 4
    ([0.0, 1.0, 1.0, 1.0], 0.75, 0.433013),
)
def test_the_mean_of_judges_and_of_samples(said: list[float], mean: float, spread: float) -> None:
    judges = [scores(each) for each in said]
    one = scores(*said)
    with ensemble(judges) as several, ensemble([one], samples=len(said)) as alone:
        (by_judges,), (by_samples,) = several.run([question("q")]), alone.run([question("q")])
    for verdict in (by_judges, by_samples):
        assert verdict.value == pytest.approx(mean)
        assert verdict.spread == pytest.approx(spread, abs=1e-6)
        assert verdict.error is None
        assert verdict.text is None
        assert verdict.attempts == len(said)
        assert [opinion.score for opinion in verdict.opinions] == said
    assert [opinion.judge for opinion in by_judges.opinions] == list("abcd")[: len(said)]
    assert [opinion.judge for opinion in by_samples.opinions] == ["a"] * len(said)
    assert [opinion.sample for opinion in by_judges.opinions] == [0] * len(said)
    assert [opinion.sample for opinion in by_samples.opinions] == list(range(len(said)))
    assert [len(judge.asked) for judge in judges] == [1] * len(said)
    assert [request.sample for request in one.asked] == list(range(len(said)))


# ---- one question, several requests


def test_samples_are_requests_of_their_own() -> None:
    judge = scores(0.1, 0.5, 0.9)
    with ensemble([judge], samples=3) as asked:
        (verdict,) = asked.run([question("q", evidence=("e",), claim="c", prompt_version="7")])
    assert verdict.cached is False
    assert len({request.key for request in judge.asked}) == 3
    for request in judge.asked:
        assert request.messages == [{"role": "user", "content": "q"}]
        assert (request.evidence, request.claim) == (("e",), "c")
        assert (request.prompt_version, request.reminder) == ("7", question("q").reminder)


def test_what_is_cached_in_part_is_not_called_cached() -> None:
    """One of two judges is asked again, because it failed at first."""
    a, b = scores(0.2), says(RefusedError("not now"), "Score: 0.6")
    with ensemble([a, b]) as asked:
        (failed,) = asked.run([question("q")])
        (mended,) = asked.run([question("q")])
    assert values([failed, mended]) == [None, pytest.approx(0.4)]
    assert (mended.cached, mended.attempts) == (False, 1)
    assert (len(a.asked), len(b.asked)) == (1, 2)


# ---- sums


def test_attempts_usage_and_cost_add_up(short_pauses: None) -> None:
    a = says(Reply("well", Usage(10, 2)), TransientError("busy"), Reply("Score: 0.2", Usage(20, 3)))
    b, c = says(Reply("Score: 0.4", Usage(100, 50, 40))), says("Score: 0.6")
    members = [Member("a", a, Price(1.0, 10.0)), Member("b", b, Price(2.0, 20.0)), Member("c", c)]
    with JudgeEngine(members, progress=False) as asked:
        (verdict,) = asked.run([question("q")])
    assert verdict.value == pytest.approx(0.4)
    assert verdict.attempts == asked.budget.calls == 5
    assert verdict.usage == Usage(130, 55, 40)
    # (30 + 50) + (200 + 1000) millionths
    assert asked.budget.cost == pytest.approx(0.00128)


# ---- missing opinions


@table(
    "judges, samples, error",
    (
        [scores(0.2), says(RefusedError("against the rules"))],
        1,
        "1 of 2 replies have no score; b: against the rules",
    ),
    (
        [says(RefusedError("not me")), says(RefusedError("nor me"))],
        1,
        "2 of 2 replies have no score; a: not me",
    ),
    (
        [scores(0.2), scores(0.4), says("no score in this")],
        1,
        "1 of 3 replies have no score; c: the judge's reply cannot be parsed as a score from 0 to "
        "1",
    ),
    (
        [says("Score: 0.1", RefusedError("once is enough"))],
        2,
        "1 of 2 replies have no score; a: once is enough",
    ),
    ([scores(0.2), says(KeyError("odd"))], 2, "2 of 4 replies have no score; b: KeyError: 'odd'"),
)
def test_a_missing_opinion_is_an_error_that_names_the_judge(
    judges: list[ScriptedJudge], samples: int, error: str
) -> None:
    with ensemble(judges, samples) as asked:
        (verdict,) = asked.run([question("q")])
    assert verdict.error == error
    assert (verdict.value, verdict.spread, verdict.text) == (None, None, None)
    assert len(verdict.opinions) == len(judges) * samples
    for opinion in verdict.opinions:
        assert (opinion.score is None) == (opinion.error is not None)
    assert verdict.attempts == sum(len(judge.asked) for judge in judges)
    assert asked.fatal is None


NO = RefusedError("against the rules")


@table(
    "jury, said, value, error",
    ("median", [0.1, 0.9, 0.3], 0.3, None),
    ("median", [0.1, 0.9, 0.3, 0.5], 0.4, None),
    ("median", [0.1, 0.9, NO], 0.5, None),
    ("median", [0.1, NO], None, "1 of 2 replies have no score; b: against the rules"),
    ("median", [0.1, 0.2, NO, NO], None, "2 of 4 replies have no score; c: against the rules"),
    ("mean", [0.1, 0.9, NO], None, "1 of 3 replies have no score; c: against the rules"),
)
def test_a_jury_joins_the_scores_of_its_quorum(
    jury: Jury, said: list[float | Exception], value: float | None, error: str | None
) -> None:
    judges = [says(f"Score: {each}" if isinstance(each, float) else each) for each in said]
    with ensemble(judges, jury=jury) as asked:
        (verdict,) = asked.run([question("q")])
    assert verdict.error == error
    assert verdict.value == (None if value is None else pytest.approx(value))
    assert [opinion.score for opinion in verdict.opinions] == [
        each if isinstance(each, float) else None for each in said
    ]
    assert [opinion.error for opinion in verdict.opinions] == [
        None if isinstance(each, float) else str(each) for each in said
    ]


# ---- texts


@table("kind", "transform", "answer")
@table(
    "writes, writer",
    ([True], 0),
    ([True, True], 0),
    ([False, True, True], 1),
    ([False, False, True], 2),
    ([False, False], 0),  # none of them writes: the first reports it
)
def test_texts_are_written_by_the_first_who_can(kind: str, writes: list[bool], writer: int) -> None:
    judges = [says(Reply(f" text {number} ", Usage(2, 1))) for number in range(len(writes))]
    members = [
        Member(name, judge, writes=each)
        for name, judge, each in zip("abc", judges, writes, strict=False)
    ]
    with JudgeEngine(members, progress=False, samples=3) as asked:
        (verdict,) = asked.run([question("q", kind=kind)])
    assert verdict.value == f"text {writer}"
    assert (verdict.attempts, verdict.usage) == (1, Usage(2, 1))
    assert (verdict.spread, verdict.opinions) == (None, ())
    assert [len(judge.asked) for judge in judges] == [
        int(number == writer) for number in range(len(writes))
    ]
    assert judges[writer].asked[0].sample == 0


@table("kind", "image", "inference")
def test_scores_are_given_by_those_who_can_not_write_as_well(kind: str) -> None:
    members = [Member("a", scores(0.2), writes=False), Member("b", scores(0.4))]
    with JudgeEngine(members, progress=False) as asked:
        (verdict,) = asked.run([question("q", kind=kind)])
    assert verdict.value == pytest.approx(0.3)


# ---- fatal failures


def test_the_fatal_failure_of_one_stops_the_others() -> None:
    sound = ScriptedJudge(lambda text, call: "Score: 0.5", pause=0.01)
    broken = ScriptedJudge(
        lambda text, call: "Score: 0.7" if call < 3 else FatalJudgeError("wrong key"), pause=0.01
    )
    with ensemble([sound, broken]) as asked:
        verdicts = asked.run(questions(200))
        (later,) = asked.run([question("later")])
        (known,) = asked.run([question("question 0")])
    assert values(verdicts) == [pytest.approx(0.6)] * 3 + [None] * 197
    assert len(broken.asked) == 4
    assert len(sound.asked) <= 6
    assert asked.fatal == "b: wrong key"
    assert all("wrong key" in str(verdict.error) for verdict in [*verdicts[3:], later])
    assert later.attempts == 0
    assert known.value == pytest.approx(0.6)


def test_a_fatal_failure_ends_the_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """One judge waits for a retry when the other fails for good."""
    busy = says(TransientError("busy", retry_after=client.PATIENCE, kind="throttled"))
    broken = says(FatalJudgeError("wrong key"), pause=0.05)
    ended, pause = [], StopSignal.pause

    async def noted(stop_signal: StopSignal, seconds: float) -> None:
        started = asyncio.get_running_loop().time()
        await pause(stop_signal, seconds)
        ended.append(asyncio.get_running_loop().time() < started + seconds)

    monkeypatch.setattr(StopSignal, "pause", noted)
    with ensemble([busy, broken]) as asked:
        verdicts = asked.run(questions(3))
    assert ended == [True]
    assert values(verdicts) == [None] * 3
    assert (len(busy.asked), len(broken.asked)) == (1, 1)


def test_each_judge_has_its_own_places() -> None:
    """A slow judge does not delay requests to a quick one."""
    quick, asked_meanwhile = scores(0.5), []

    def answer(text: str, call: int) -> str:
        asked_meanwhile.append(len(quick.asked))
        return "Score: 0.5"

    slow = ScriptedJudge(answer, pause=0.1)
    with ensemble([slow, quick]) as asked:
        asked.run(questions(4))
    assert asked_meanwhile == [4] * 4
    assert (slow.most_at_once, quick.most_at_once) == (1, 1)
