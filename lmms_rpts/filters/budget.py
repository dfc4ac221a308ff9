"""Budget of a run's judge calls: shared by all tasks, and shown in lmms-eval's usage summary."""

from __future__ import annotations

from typing import Any

from loguru import logger

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging import Budget, open_budget
from lmms_rpts.judging.progress import Board

_budget = Budget()
_validity: dict[str, Any] | None = None


def reset_spending() -> None:
    """Start another run, with no usage yet."""
    global _budget, _validity
    _budget, _validity = Budget(), None


def run_budget(settings: Settings) -> Budget:
    """The budget of the single run of this process."""
    global _budget
    limits = settings.max_judge_tokens, settings.max_judge_cost
    if (_budget.max_tokens, _budget.max_cost) != limits:
        _budget = open_budget(settings)
    return _budget


def note_validity(extract: dict[str, Any] | None) -> None:
    """Store the validity figures of this run's judge for its results: JSON values, or None."""
    global _validity
    _validity = _validity if extract is None else extract


def noted_validity() -> dict[str, Any] | None:
    """The stored validity figures."""
    return _validity


def send_usage() -> None:
    """Add the new calls to lmms-eval's usage, and send all usage to the process of the results."""
    from lmms_eval.models.model_utils.usage_metrics import log_usage

    for task, judge, read, written, thought in _budget.log:
        # lmms-eval adds the three, but servers include thinking in the output.
        log_usage(judge, task, read, written - thought, thought, source="judge")
    _budget.log.clear()
    settings = load_settings()
    if settings.rank:
        _board(settings).write(usage_so_far())


def close_accounts() -> dict[str, Any] | None:
    """The usage of the judges of all processes at the end of a run; None if none was used.

    Only the first process, which writes the results, knows it.
    """
    settings = load_settings()
    if settings.rank:
        return None
    total, *others = usage_so_far(), *_board(settings).read()
    for other in others:
        for name in ("guessed", "stopped"):
            total[name] = total[name] or other.pop(name)
        for name, value in other.items():
            total[name] += value
    if not total["calls"] and not total["found"] and not total["stopped"]:
        return None
    cost = (
        f"; {total['cost']:.4g} in the currency of LMMS_RPTS_PRICE" if settings.unit_price else ""
    )
    logger.info(
        "Judges in total: {:,} calls, {}{:,} tokens in, {:,} out{}; {:,} cached replies",
        total["calls"],
        "about " if total["guessed"] else "",
        total["input_tokens"],
        total["output_tokens"],
        cost,
        total["found"],
    )
    if not settings.unit_price:
        total["cost"] = None
    if total["stopped"] is None:
        del total["stopped"]
    return total


def _board(settings: Settings) -> Board:
    return Board("usage", settings.rank, settings.processes)


def usage_so_far() -> dict[str, Any]:
    """The usage of this process; ``stopped``: why judging stopped before its end."""
    budget = _budget
    return {
        "calls": budget.calls,
        "input_tokens": budget.usage.input_tokens,
        "output_tokens": budget.usage.output_tokens,
        "cost": budget.cost,
        "found": budget.found,
        "guessed": budget.guessed,
        "stopped": budget.stopped,
    }
