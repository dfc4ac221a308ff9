"""Budget of a run: sums calculated by hand, and a budget that stops the calls."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from lmms_rpts.base.settings import Price
from lmms_rpts.judging.budget import Budget, guess_input_tokens, guess_tokens
from lmms_rpts.judging.types import FatalJudgeError, RefusedError, Reply, Request, Usage, Verdict
from tests.judging.questions import ScriptedJudge, client_of, question, questions
from tests.support.tables import table

# With 80 expected output tokens
ASKED = question("q")
EXPECTED = guess_input_tokens(ASKED) + 80


def spend(
    budget: Budget, usage: Usage | None, price: Price | None = None, request: Request = ASKED
) -> None:
    with budget.call(price, request) as replies:
        if usage is None:
            raise RefusedError("no")
        replies.append(Reply("x", usage))


def test_tokens_and_cost_add_up() -> None:
    budget = Budget()
    for usage, price in [
        (Usage(500_000, 250_000), Price(1.0, 2.0)),  # 0.5 + 0.5
        (Usage(100, 50), Price(0.15, 0.60)),  # 0.000015 + 0.00003
        (Usage(1000, 1000), None),
    ]:
        spend(budget, usage, price)
    with pytest.raises(RefusedError):
        spend(budget, None, Price(9.0, 9.0))
    assert budget.usage() == {
        "calls": 4,
        "input_tokens": 501_100,
        "output_tokens": 251_050,
        "cost": pytest.approx(1.000045),
        "found": 0,
        "guessed": False,
        "stopped": None,
    }


@table(
    "text, tokens",
    ("x" * 64, 16),
    ("图片里有两只狗", 7),
    ("得分：0.5", 4),
    ("图片 dogs", 3),
    ("", 0),
)
def test_a_guess_for_servers_that_do_not_count(text: str, tokens: int) -> None:
    assert guess_tokens(text) == tokens
    budget = Budget()
    with budget.call(None, ASKED) as replies:
        replies.append(Reply(text))
    assert budget.guessed
    assert budget.used == Usage(guess_input_tokens(ASKED), tokens)


def test_calls_under_way_count_as_expected() -> None:
    budget = Budget(max_tokens=3 * EXPECTED)
    calls = [budget.call(None, ASKED) for _ in range(4)]
    for call in calls[:3]:
        call.__enter__()
    with pytest.raises(FatalJudgeError, match=rf"{3 * EXPECTED:,} .judge tokens. .*0 used"):
        calls[3].__enter__()


@table("limit, calls", (5_000, 10), (10, 0))
def test_a_budget_ends_judging_and_a_cache_costs_nothing(
    tmp_path: Path, limit: int, calls: int
) -> None:
    judge = ScriptedJudge(lambda text, call: Reply("Score: 0.5", Usage(450, 50)), pause=0.001)

    async def work(most: int | None) -> tuple[list[Verdict], Budget, str | None]:
        budget = Budget(max_tokens=most)
        async with aclosing(client_of(judge, 8, budget, cache=tmp_path)) as client:
            verdicts = await asyncio.gather(*map(client.ask, questions(40)))
            return verdicts, budget, client.stopped

    verdicts, budget, stopped = asyncio.run(work(limit))
    assert len(judge.asked) == sum(verdict.value is not None for verdict in verdicts)
    assert abs(len(judge.asked) - calls) <= 1
    assert budget.used.input_tokens + budget.used.output_tokens <= limit
    assert f"budget of {limit:,} (judge tokens)" in str(stopped)
    verdicts, budget, stopped = asyncio.run(work(None))
    assert (len(judge.asked), budget.calls + budget.found, stopped) == (40, 40, None)


def test_a_cost_limit_with_a_price() -> None:
    budget = Budget(max_cost=0.001)
    spend(budget, Usage(1000, 0), Price(0.9, 0.0))  # 0.0009
    with pytest.raises(FatalJudgeError, match=r"budget of 0.001 .judge cost. .*0.0009 used"):
        spend(budget, Usage(1000, 0), Price(0.9, 0.0))
