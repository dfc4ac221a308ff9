"""What the judges of this run have cost: one budget for all tasks, in lmms-eval's summary too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from loguru import logger

from lmms_rpts.filters.processes import Processes
from lmms_rpts.judging import JudgeEngine, Ledger, Usage, open_ledger
from lmms_rpts.settings import Settings, load_settings

_TOPIC = "usage"


@dataclass
class _Spending:
    """The one run of this process; ``calls`` are task, judge, tokens in, out and for thinking."""

    ledger: Ledger = field(default_factory=Ledger)
    calls: list[tuple[str | None, str, int, int, int]] = field(default_factory=list)
    reported: int = 0


_spending = _Spending()


def reset_spending() -> None:
    """Begin another run: nothing was spent."""
    global _spending
    _spending = _Spending()


def run_ledger(settings: Settings) -> Ledger:
    """The ledger of this run."""
    ledger = _spending.ledger
    if (ledger.max_tokens, ledger.max_cost) != (settings.max_judge_tokens, settings.max_judge_cost):
        ledger = _spending.ledger = open_ledger(settings)
    return ledger


@contextmanager
def spending_on(task: str | None, engine: JudgeEngine) -> Iterator[None]:
    """What the engine uses inside the block is ``task``'s, also in lmms-eval's summary."""
    from lmms_eval.models.model_utils.usage_metrics import set_task_context

    def count(judge: str, usage: Usage) -> None:
        call = (
            *(task, judge),
            *(usage.input_tokens, usage.output_tokens, usage.reasoning_tokens),
        )
        _spending.calls.append(call)
        if judge not in engine.self_counting:
            _log(*call)

    engine.ledger.on_usage = count
    set_task_context(task)  # for judges that tell lmms-eval themselves
    try:
        yield
    finally:
        engine.ledger.on_usage = None
        set_task_context(None)


def tell_spending() -> None:
    """Tell the first process, which writes the results, what this one has used so far."""
    settings = load_settings()
    if settings.rank:
        Processes(settings.rank, settings.processes).tell(_TOPIC, _spending.calls)


def add_other_processes() -> None:
    """Count into lmms-eval's usage what the other processes told; for the first one, at the end."""
    settings = load_settings()
    if not settings.rank:
        for calls in Processes(settings.rank, settings.processes).heard(_TOPIC):
            for call in calls:
                _log(*call)


def report_spending(ledger: Ledger, settings: Settings) -> None:
    """Log what was spent so far, if that is news."""
    if settings.rank or ledger.calls == _spending.reported:
        return
    _spending.reported = ledger.calls
    usage = ledger.usage
    cost = f", {ledger.cost:.4g} in the currency of LMMS_RPTS_PRICE" if settings.prices else ""
    logger.info(
        "Judge calls so far{}: {:,}; {}{:,} tokens in, {:,} out{}",
        " (this process)" if settings.processes > 1 else "",
        ledger.calls,
        "about " if ledger.guessed else "",
        usage.input_tokens,
        usage.output_tokens,
        cost,
    )


def _log(task: str | None, judge: str, read: int, said: int, thought: int) -> None:
    from lmms_eval.models.model_utils.usage_metrics import log_usage

    # lmms-eval adds the three up, while servers count thinking as a part of the output.
    log_usage(
        model_name=judge,
        task_name=task,
        input_tokens=read,
        output_tokens=said - thought,
        reasoning_tokens=thought,
        source="judge",
    )
