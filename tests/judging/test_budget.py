"""Budget of a run: sums calculated manually, and a budget that stops the calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.settings import Price
from lmms_rpts.judging import Budget, JudgeEngine, JudgeRequest, Reply, Usage
from lmms_rpts.judging.budget import BudgetError, Call, guess_usage
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
    for task, usage, price in [
        ("t", Usage(500_000, 250_000), Price(1.0, 2.0)),  # 0.5 + 0.5
        ("t", Usage(100, 50, 30), Price(0.15, 0.60)),  # 0.000015 + 0.00003
        (None, Usage(1000, 1000), None),
        (None, None, Price(9.0, 9.0)),  # no reply
    ]:
        budget.task = task
        budget.end(begin(budget, price), usage)
    assert (budget.calls, budget.usage) == (4, Usage(501_100, 251_050, 30))
    assert budget.cost == pytest.approx(1.000045)
    assert (budget.guessed, budget.exhausted) == (False, None)
    assert budget.log == [
        ("t", "j", 500_000, 250_000, 0),
        ("t", "j", 100, 50, 30),
        (None, "j", 1000, 1000, 0),
    ]


def chat(*contents: str) -> JudgeRequest:
    return JudgeRequest("image", [{"role": "user", "content": content} for content in contents])


@table(
    "request_, said, usage",
    # four letters per token, one token per CJK character, 4 per message
    (chat("x" * 64, "x" * 8), "y" * 40, Usage(26, 10)),
    (chat("图片里有两只狗"), "得分：0.5", Usage(11, 4)),  # 得分： and round(3 / 4)
    (chat("图片 dogs"), "y", Usage(7, 0)),  # 2, round(5 / 4), 4; round(1 / 4)
    (chat(), "yyyy", Usage(0, 1)),
)
def test_a_guess_for_servers_that_do_not_count(
    request_: JudgeRequest, said: str, usage: Usage
) -> None:
    assert guess_usage(request_, Reply(said)) == usage


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
    "limit, taken, calls",
    *(
        ({"max_tokens": most}, None, calls)
        for most, calls in ((99, 0), (100, 1), (199, 1), (200, 2))
    ),
    *(
        ({"max_cost": most}, None, calls)
        for most, calls in ((0.00017, 0), (0.000181, 1), (0.001, 5))
    ),
    # What a first call took is expected of the others: all, half, the expected number, fewer.
    *(
        ({"max_tokens": 1000}, taken, calls)
        for taken, calls in ((1000, 0), (501, 0), (500, 1), (250, 3), (100, 9), (50, 19))
    ),
)
def test_calls_under_way_count_as_what_is_expected_of_them(
    limit: dict[str, Any], taken: int | None, calls: int
) -> None:
    budget = Budget(**limit)
    if taken is not None:
        spend(budget, taken)
    assert calls_begun(budget, PRICE) == calls


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
    for ended in (False, True):
        for request in (ASKED, chat("")):
            with pytest.raises(BudgetError) as caught:
                begin(budget, request=request)
            assert str(caught.value) == budget.exhausted
        if not ended:
            budget.end(first, None)
    assert (budget.calls, budget.usage) == (1, Usage())


@table(
    "budget, said",
    (Budget(max_tokens=12_345), "budget of 12,345 judge tokens leaves no room for another call ("),
    (Budget(max_tokens=12_345, max_cost=1.0), "(12,300 used, 0 expected"),
    (Budget(max_cost=0.02), "judge budget of 0.02 leaves no room for another call (0.01845 spent"),
    (Budget(max_tokens=1_000_000, max_cost=0.02), "judge budget of 0.02"),
    (Budget(max_tokens=12_345, share=" (my share)"), "12,345 judge tokens (my share) leaves"),
)
def test_the_budget_is_named(budget: Budget, said: str) -> None:
    spend(budget, 12_300, PRICE)  # 6150 + 2 x 6150 = 18450 millionths
    with pytest.raises(BudgetError) as caught:
        begin(budget, PRICE)
    assert said in str(caught.value)


@given(
    max_tokens=st.integers(1, 5000),
    at_a_time=st.integers(1, 8),
    # tokens of each call; the first estimate is 100
    took=st.lists(st.none() | st.integers(0, 1500), min_size=1, max_size=60),
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
        judge, name="j", concurrency=concurrency, progress=False, budget=budget, cache_dir=cache_dir
    )


def test_calls_stop_before_the_budget_of_all_engines_is_exceeded() -> None:
    judge, budget = judge_of(Usage(50, 50)), Budget(max_tokens=350)
    said = (
        "the budget of 350 judge tokens leaves no room for another call (300 used, 0 expected for "
        "calls in progress)"
    )
    with opened(judge_of(Usage(50, 50)), budget) as first, opened(judge, budget) as engine:
        assert values(first.run(texts(1))) == [0.5]
        verdicts = engine.run(texts(50))
        assert sorted(values(verdicts), key=str) == [0.5] * 2 + [None] * 48
        failed = {(each.error, each.attempts) for each in verdicts if each.value is None}
        assert failed == {(said, 0)}
        assert engine.fatal == budget.exhausted == said
        # Answers from before are still served, alone and mixed with new requests.
        again = engine.run(texts(51))
        assert values(again) == [*values(verdicts), None]
        assert all(verdict.cached for verdict in again if verdict.value is not None)
        assert first.fatal is None, "it has sent no request since"
        assert values(first.run(texts(1, 7))) == [None]
        assert first.fatal == said
    assert (len(judge.asked), budget.calls, budget.usage) == (2, 3, Usage(150, 150))


def test_calls_of_a_kind_run_alone_until_one_has_used_tokens() -> None:
    """1,500 tokens per call instead of 100, 32 at a time: the budget allows 13 calls."""
    judge = Gathering(in_order(RefusedError("no"), "Score: 0.5"), 4, alone=2)
    with opened(judge, Budget(max_tokens=10_000), 4) as engine:
        engine.run(texts(9))
    assert judge.most_at_once == 4
    thinking, budget = judge_of(Usage(50, 1450), pause=0.01), Budget(max_tokens=20_000)
    with opened(thinking, budget, 32) as engine:
        engine.run(texts(100))
    assert budget.usage.tokens == 19_500


def test_tokens_are_guessed_for_a_server_that_does_not_count() -> None:
    """20 in; "Score: 0.5" is 10 letters, 2 tokens: 22 per call instead of 100."""
    budget = Budget(max_tokens=100)
    with opened(judge_of(None), budget) as engine:
        verdicts = engine.run(texts(10))
    assert sorted(values(verdicts), key=str) == [0.5] * 4 + [None] * 6
    assert (budget.usage, budget.guessed) == (Usage(80, 8), True)
    assert budget.log == [(None, "j", 20, 2, 0)] * 4
    assert verdicts[0].usage is None, "a guess is not reported as the server's count"


def test_an_unreadable_reply_is_kept_when_the_budget_allows_no_retry() -> None:
    with opened(judge_of(Usage(50, 50), "no score"), Budget(max_tokens=150)) as engine:
        (verdict,) = engine.run(texts(1))
    assert (verdict.text, verdict.value, verdict.attempts) == ("no score", None, 1)
    assert "budget of 150 judge tokens" in str(verdict.error)


def test_answers_on_disk_are_served_without_a_budget(tmp_path: Path) -> None:
    judge = judge_of(Usage(50, 50))
    with opened(judge, Budget(), cache_dir=tmp_path) as engine:
        engine.run(texts(3))
    budget = Budget(max_tokens=1)
    with opened(judge, budget, cache_dir=tmp_path) as engine:
        verdicts = [*engine.run([*texts(1, 9), *texts(3)]), *engine.run(texts(3))]
    assert values(verdicts) == [None] + [0.5] * 6
    assert all(verdict.cached for verdict in verdicts[1:])
    assert len(judge.asked) == 3
    assert (budget.calls, budget.usage) == (0, Usage())
