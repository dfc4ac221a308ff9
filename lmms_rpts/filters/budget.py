"""Budget of a run's judge calls: shared by all tasks, and shown in lmms-eval's usage summary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from loguru import logger

from lmms_rpts.filters.processes import Processes
from lmms_rpts.judging import Budget, JudgeEngine, Usage, open_budget
from lmms_rpts.settings import Settings, load_settings

_TOPIC = "usage"


@dataclass
class _Spending:
    """The single run of this process; ``calls``: task, judge, input, output and thinking tokens."""

    budget: Budget = field(default_factory=Budget)
    validity: dict[str, Any] | None = None
    calls: list[tuple[str | None, str, int, int, int]] = field(default_factory=list)


_spending = _Spending()


def reset_spending() -> None:
    """Start another run, with no usage yet."""
    global _spending
    _spending = _Spending()


def run_budget(settings: Settings) -> Budget:
    """The budget of this run."""
    budget = _spending.budget
    if (budget.max_tokens, budget.max_cost) != (settings.max_judge_tokens, settings.max_judge_cost):
        budget = _spending.budget = open_budget(settings)
    return budget


@contextmanager
def spending_on(task: str | None, engine: JudgeEngine) -> Iterator[None]:
    """Attribute the engine's usage inside the block to ``task``, also in lmms-eval's summary."""

    def count(judge: str, usage: Usage) -> None:
        call = (task, judge, usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
        _spending.calls.append(call)
        _log(*call)

    engine.budget.on_usage = count
    try:
        yield
    finally:
        engine.budget.on_usage = None


def note_validity(extract: dict[str, Any] | None) -> None:
    """Store the validity figures of this run's judge for its results: JSON values, or None."""
    if extract is not None:
        _spending.validity = extract


def noted_validity() -> dict[str, Any] | None:
    """The stored validity figures."""
    return _spending.validity


def tell_spending() -> None:
    """Send the usage of this process to the first one, which writes the results."""
    settings = load_settings()
    if settings.rank:
        told = asdict(_total(_spending.budget)) | {"log": _spending.calls}
        Processes(settings.rank, settings.processes).tell(_TOPIC, told)


def close_accounts() -> dict[str, Any] | None:
    """The usage of the judges of all processes at the end of a run; None if none was used.

    The first process, which writes the results, logs it and adds the calls of the other processes
    to lmms-eval's usage.
    """
    settings = load_settings()
    if settings.rank:
        return None
    total = _total(_spending.budget)
    for told in Processes(settings.rank, settings.processes).heard(_TOPIC):
        for call in told.pop("log"):
            _log(*call)
        total += Total(**told)
    if not total.calls and not total.found and not total.stopped:
        return None
    cost = f"; {total.cost:.4g} in the currency of LMMS_RPTS_PRICE" if settings.prices else ""
    logger.info(
        "Judges in total: {:,} calls, {}{:,} tokens in, {:,} out{}; {:,} cached replies",
        total.calls,
        "about " if total.guessed else "",
        total.input_tokens,
        total.output_tokens,
        cost,
        total.found,
    )
    found = asdict(total) | ({} if settings.prices else {"cost": None})
    if total.stopped is None:
        del found["stopped"]
    return found


@dataclass(frozen=True)
class Total:
    """The usage of judges in one process or several.

    Attributes:
        calls: number of calls, failed ones included.
        found: number of cached answers.
        guessed: whether some tokens were estimated.
        stopped: why judging stopped before its end; None: it did not.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    found: int
    guessed: bool
    stopped: str | None

    def __add__(self, other: Total) -> Total:
        return Total(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.found + other.found,
            self.guessed or other.guessed,
            self.stopped or other.stopped,
        )


def _total(budget: Budget) -> Total:
    usage = budget.usage
    return Total(
        budget.calls,
        usage.input_tokens,
        usage.output_tokens,
        budget.cost,
        budget.found,
        budget.guessed,
        budget.stopped,
    )


def _log(task: str | None, judge: str, read: int, said: int, thought: int) -> None:
    from lmms_eval.models.model_utils.usage_metrics import log_usage

    # lmms-eval adds the three, but servers include thinking in the output.
    log_usage(
        model_name=judge,
        task_name=task,
        input_tokens=read,
        output_tokens=said - thought,
        reasoning_tokens=thought,
        source="judge",
    )
