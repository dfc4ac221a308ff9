"""Budget of a run: sums calculated manually, and a budget that stops the calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.settings import Price
from lmms_rpts.judging import Budget, JudgeEngine, JudgeRequest, Member, Reply, Usage
from lmms_rpts.judging.budget import EXPECTED_OUTPUT, BudgetError, Call, cost_of, guess_usage
from lmms_rpts.judging.types import RefusedError
from tests.judging.questions import Gathering, ScriptedJudge, in_order, question, values
from tests.support.tables import table

# 64 letters are 16 tokens and a message adds 4; with 80 expected output tokens, a call takes 100.
ASKED = question("x" * 64)
PRICE = Price(1.0, 2.0)
"""Price of a million tokens, in and out."""


def begin(budget: Budget, price: Price | None = None, request: JudgeRequest = ASKED) -> Call:
    return budget.begin("j", price, request)


def spend(budget: Budget, tokens: int, price: Price | None = None) -> None:
    """Records a call that took this number of tokens, half of them in."""
    budget.end(begin(budget, price), Usage(tokens // 2, tokens - tokens // 2))


# ---- sums


def test_tokens_and_cost_add_up() -> None:
    budget = Budget()
    for usage, price in [
        (Usage(500_000, 250_000), Price(1.0, 2.0)),  # 0.5 + 0.5
        (Usage(100, 50, 30), Price(0.15, 0.60)),  # 0.000015 + 0.00003
        (Usage(1000, 1000), None),
        (Usage(), Price(9.0, 9.0)),
        (None, Price(9.0, 9.0)),  # no reply
    ]:
        budget.end(begin(budget, price), usage)
    assert budget.calls == 5
    assert budget.usage == Usage(501_100, 251_050, 30)
    assert budget.cost == pytest.approx(1.000045)
    assert budget.guessed is False
    assert budget.exhausted is None


@table(
    "usage, price, cost",
    (Usage(1_000_000, 0), Price(0.15, 0.60), 0.15),
    (Usage(0, 1_000_000), Price(0.15, 0.60), 0.60),
    (Usage(2_000, 500), Price(3.0, 15.0), 0.0135),  # 0.006 + 0.0075
    (Usage(2_000, 500, 400), Price(3.0, 15.0), 0.0135),  # thinking is part of the output
    (Usage(), Price(3.0, 15.0), 0.0),
    (Usage(2_000, 500), Price(0.0, 0.0), 0.0),
    (Usage(2_000, 500), None, 0.0),
)
def test_cost(usage: Usage, price: Price | None, cost: float) -> None:
    assert cost_of(usage, price) == pytest.approx(cost)


def chat(*contents: str) -> JudgeRequest:
    return JudgeRequest("image", [{"role": "user", "content": content} for content in contents])


@table(
    "request_, said, usage",
    # four letters per token, one token per CJK character, 4 per message
    (chat("x" * 64), "y" * 40, Usage(20, 10)),
    (chat("x" * 64, "x" * 8), "", Usage(26, 0)),
    (chat("图片里有两只狗"), "得分：0.5", Usage(11, 4)),  # 得分： and round(3 / 4)
    (chat("图片 dogs"), "y", Usage(7, 0)),  # 2, round(5 / 4), 4; round(1 / 4)
    (chat(), "yyyy", Usage(0, 1)),
)
def test_a_guess_where_no_server_counts(request_: JudgeRequest, said: str, usage: Usage) -> None:
    assert guess_usage(request_, Reply(said)) == usage


def test_the_log_has_the_calls_with_tokens() -> None:
    budget = Budget()
    for task, judge, usage in [
        ("t", "a", Usage(1, 2)),
        ("t", "b", None),
        (None, "b", Usage(3, 4, 1)),
    ]:
        budget.task = task
        budget.end(budget.begin(judge, None, ASKED), usage)
    assert budget.log == [("t", "a", 1, 2, 0), (None, "b", 3, 4, 1)]


# ---- the budget


def calls_begun(budget: Budget, price: Price | None = None) -> int:
    """The number of calls that can be in progress before the budget forbids another one."""
    for number in range(1000):
        try:
            begin(budget, price)
        except BudgetError:
            return number
    raise AssertionError("no end")


@table(
    "limit, calls",
    *(({"max_tokens": most}, calls) for most, calls in ((99, 0), (100, 1), (199, 1), (200, 2))),
    *(({"max_tokens": most}, calls) for most, calls in ((1, 0), (250, 2), (1000, 10))),
    *(({"max_cost": most}, calls) for most, calls in ((0.0, 0), (0.00017, 0), (0.000181, 1))),
    *(({"max_cost": most}, calls) for most, calls in ((0.0005, 2), (0.001, 5))),
)
def test_calls_under_way_count_as_what_is_expected_of_them(
    limit: dict[str, Any], calls: int
) -> None:
    assert EXPECTED_OUTPUT == 80
    assert begin(Budget()).guess == Usage(20, 80)
    assert calls_begun(Budget(**limit), PRICE) == calls


@table(
    "took, calls",
    # 1000 in all; the first call takes all of it, half, the expected number, fewer
    (1000, 0),
    (501, 0),
    (500, 1),
    (250, 3),
    (100, 9),
    (50, 19),
)
def test_what_a_call_takes_is_learnt(took: int, calls: int) -> None:
    budget = Budget(max_tokens=1000)
    spend(budget, took)
    assert calls_begun(budget) == calls


def test_what_a_call_costs_is_learnt_as_well() -> None:
    """A thinking judge writes far more than it reads, and output tokens cost more."""
    price, long = Price(1.0, 4.0), chat("x" * 1984)  # 500 tokens
    budget = Budget(max_cost=0.024)
    for _ in range(2):
        # 500 + 4 x 2000 millionths; the first estimate was 500 + 4 x 80
        budget.end(begin(budget, price, long), Usage(500, 2000))
    assert budget.cost == pytest.approx(0.017)
    with pytest.raises(BudgetError):  # otherwise identical calls would spend 0.0255
        begin(budget, price, long)


def test_a_budget_is_used_up_for_good() -> None:
    """Otherwise requests that happen to be short would still be sent."""
    budget = Budget(max_tokens=150)
    first = begin(budget)
    with pytest.raises(BudgetError) as caught:
        begin(budget)
    assert str(caught.value) == budget.exhausted
    budget.end(first, None)
    short = chat("")
    for request in (ASKED, short):
        with pytest.raises(BudgetError) as later:
            begin(budget, request=request)
        assert str(later.value) == str(caught.value)
    assert budget.calls == 1
    assert budget.usage == Usage()


@table(
    "budget, words",
    (Budget(max_tokens=12_345), ["budget of 12,345 judge tokens", "(12,300 used, "]),
    (Budget(max_cost=0.02), ["judge budget of 0.02", "(0.01845 spent, 0 expected for calls in"]),
    (Budget(max_tokens=12_345, max_cost=1.0), ["budget of 12,345 judge tokens"]),
    (Budget(max_tokens=1_000_000, max_cost=0.02), ["judge budget of 0.02"]),
)
def test_the_budget_is_named(budget: Budget, words: list[str]) -> None:
    spend(budget, 12_300, PRICE)  # 6150 + 2 x 6150 = 18450 millionths
    with pytest.raises(BudgetError) as caught:
        begin(budget, PRICE)
    for word in words:
        assert word in str(caught.value)


@table(
    "budget, new",
    (Budget(), False),  # nothing depends on the size of calls
    (Budget(max_tokens=1000), True),
    (Budget(max_cost=1.0), True),
    (Budget(max_tokens=1000, max_cost=1.0), True),
)
def test_a_kind_of_call_is_new_until_one_took_tokens(budget: Budget, new: bool) -> None:
    assert budget.is_new("j", ASKED.kind) is new
    budget.end(begin(budget), None)
    assert budget.is_new("j", ASKED.kind) is new, "a failed call gives no information"
    spend(budget, 100)
    assert budget.is_new("j", ASKED.kind) is False
    assert budget.is_new("other", ASKED.kind) is new
    assert budget.is_new("j", "answer") is new


TOOK = st.none() | st.integers(0, 1500)
"""Tokens of one call; the first estimate is 100."""


@given(
    max_tokens=st.integers(1, 5000),
    at_a_time=st.integers(1, 8),
    took=st.lists(TOOK, min_size=1, max_size=60),
)
def test_a_budget_is_exceeded_by_no_more_than_calls_under_way_do(
    max_tokens: int, at_a_time: int, took: list[int | None]
) -> None:
    budget = Budget(max_tokens)
    under_way: list[tuple[Call, int | None]] = []
    excess_when_last_begun = 0.0
    for tokens in took:
        if len(under_way) == at_a_time:
            call, used = under_way.pop(0)
            budget.end(call, None if used is None else Usage(used))
        try:
            under_way.append((begin(budget), tokens))
        except BudgetError:
            break
        excess_when_last_begun = sum(
            max(0.0, (used or 0) - call.tokens) for call, used in under_way
        )
    for call, used in under_way:
        budget.end(call, None if used is None else Usage(used))
    assert budget.usage.tokens <= max_tokens + excess_when_last_begun + 1e-6


# ---- an engine with a budget


def texts(count: int, first: int = 0) -> list[JudgeRequest]:
    """Different requests of 64 letters: 100 tokens each, also by the judge's count."""
    return [question(f"{number:064d}") for number in range(first, first + count)]


def judge_of(usage: Usage | None, text: str = "Score: 0.5", pause: float = 0.0) -> ScriptedJudge:
    return ScriptedJudge(lambda asked, call: Reply(text, usage), pause)


def opened(
    judge: ScriptedJudge, budget: Budget, concurrency: int = 1, cache_dir: Path | None = None
) -> JudgeEngine:
    return JudgeEngine(
        judge, concurrency=concurrency, progress=False, budget=budget, cache_dir=cache_dir
    )


def test_asking_stops_before_the_budget_is_exceeded() -> None:
    judge, budget = judge_of(Usage(50, 50)), Budget(max_tokens=350)
    with opened(judge, budget) as asked:
        verdicts = asked.run(texts(50))
        assert sorted(values(verdicts), key=str) == [0.5] * 3 + [None] * 47
        assert len(judge.asked) == budget.calls == 3
        assert budget.usage == Usage(150, 150)
        said = (
            "the budget of 350 judge tokens leaves no room for another call (300 used, 0 expected "
            "for calls in progress)"
        )
        failed = [verdict for verdict in verdicts if verdict.value is None]
        assert {verdict.error for verdict in failed} == {said}
        assert {verdict.attempts for verdict in failed} == {0}
        assert asked.fatal == budget.exhausted == said
        # Answers from before are still served, alone and mixed with new requests.
        again = asked.run(texts(51))
        assert values(again) == [*values(verdicts), None]
        assert all(verdict.cached for verdict in again if verdict.value is not None)
        assert again[-1].error == said
    assert len(judge.asked) == 3


def test_calls_of_a_kind_go_alone_until_one_has_used_tokens() -> None:
    judge = Gathering(in_order(RefusedError("no"), "Score: 0.5"), 4, alone=2)
    with opened(judge, Budget(max_tokens=10_000), 4) as asked:
        asked.run(texts(9))
    assert judge.most_at_once == 4


def test_a_judge_that_thinks_does_not_take_the_budget_by_surprise() -> None:
    """1,500 tokens per call instead of 100, 32 at a time: the budget allows 13 calls."""
    judge, budget = judge_of(Usage(50, 1450), pause=0.01), Budget(max_tokens=20_000)
    with opened(judge, budget, 32) as asked:
        asked.run(texts(100))
    assert budget.usage.tokens == 19_500


def test_a_judge_that_costs_nothing_is_not_booked() -> None:
    budget = Budget(max_tokens=1)
    free = Member("free", judge_of(None), kept=False)
    with JudgeEngine([free], progress=False, budget=budget) as asked:
        assert values(asked.run(texts(20))) == [0.5] * 20
    assert budget.calls == 0


def test_a_server_that_does_not_count_is_guessed_at() -> None:
    """20 in; "Score: 0.5" is 10 letters, 2 tokens: 22 per call instead of 100."""
    judge, budget = judge_of(None), Budget(max_tokens=100)
    with JudgeEngine([Member("j", judge)], concurrency=1, progress=False, budget=budget) as asked:
        verdicts = asked.run(texts(10))
    assert sorted(values(verdicts), key=str) == [0.5] * 4 + [None] * 6
    assert budget.usage == Usage(80, 8)
    assert budget.guessed is True
    assert budget.log == [(None, "j", 20, 2, 0)] * 4
    assert verdicts[0].usage is None, "a guess is not reported as the server's count"


def test_an_unreadable_reply_is_kept_when_the_budget_ends_the_asking_again() -> None:
    judge, budget = judge_of(Usage(50, 50), "no score"), Budget(max_tokens=150)
    with opened(judge, budget) as asked:
        (verdict,) = asked.run(texts(1))
    assert (verdict.text, verdict.value, verdict.attempts) == ("no score", None, 1)
    assert "budget of 150 judge tokens" in str(verdict.error)


def test_answers_on_disk_are_served_without_a_budget(tmp_path: Path) -> None:
    judge = judge_of(Usage(50, 50))
    with opened(judge, Budget(), cache_dir=tmp_path) as asked:
        asked.run(texts(3))
    budget = Budget(max_tokens=1)
    with opened(judge, budget, cache_dir=tmp_path) as asked:
        verdicts = asked.run([*texts(1, 9), *texts(3)])
        later = asked.run(texts(3))
    assert values(verdicts) == [None] + [0.5] * 3
    assert values(later) == [0.5] * 3
    assert all(verdict.cached for verdict in (*verdicts[1:], *later))
    assert len(judge.asked) == 3
    assert (budget.calls, budget.usage) == (0, Usage())


def test_engines_may_share_a_budget() -> None:
    budget = Budget(max_tokens=350)
    judges = [judge_of(Usage(50, 50)), judge_of(Usage(50, 50))]
    engines = [opened(judge, budget) for judge in judges]
    try:
        assert values(engines[0].run(texts(2))) == [0.5] * 2
        assert values(engines[1].run(texts(2))) == [0.5, None]
        assert engines[0].fatal is None, "it has sent no request since"
        assert values(engines[0].run(texts(1, 7))) == [None]
    finally:
        for engine in engines:
            engine.close()
    assert engines[0].fatal == engines[1].fatal == budget.exhausted
