"""Budget of a run's judge calls: shared by all tasks, and shown in lmms-eval's usage summary."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from loguru import logger

from lmms_rpts.judging import Budget, JudgeEngine, Usage, open_budget
from lmms_rpts.judging.progress import Board
from lmms_rpts.settings import Settings, load_settings

_TOPIC = "usage"


class Processes:
    """A shared store that each process of a distributed run writes to and all processes read.

    Without torch.distributed there is no store, and only this process is visible. If the store
    fails, nothing is written or read; no error is raised.
    """

    def __init__(self, rank: int, processes: int) -> None:
        self._rank = rank
        self._others = [other for other in range(processes) if other != rank]

    def topic(self, name: str) -> Board:
        """The entry of the store for one topic."""
        return Board(partial(self.tell, name), partial(self.heard, name))

    def tell(self, topic: str, said: Any) -> None:
        """Write ``said``, a JSON value; replaces the previous value of this process."""
        store = self._store()
        if store is not None:
            with contextlib.suppress(Exception):  # the store is optional
                store.set(f"lmms_rpts/{topic}/{self._rank}", json.dumps(said))

    def heard(self, topic: str) -> list[Any]:
        """The latest values of the other processes; processes without a value are left out."""
        store = self._store()
        found = []
        for other in self._others if store is not None else []:
            key = f"lmms_rpts/{topic}/{other}"
            with contextlib.suppress(Exception):
                if store.check([key]):  # get() would wait for the key
                    found.append(json.loads(store.get(key)))
        return found

    def _store(self) -> Any:
        # No import: if torch.distributed was not imported, it was not started.
        distributed = sys.modules.get("torch.distributed")
        if not self._others or distributed is None or not distributed.is_initialized():
            return None
        try:
            return distributed.distributed_c10d._get_default_store()
        except Exception:  # a private function of torch, which may change
            return None


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


@contextlib.contextmanager
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
        told = _total(_spending.budget) | {"log": _spending.calls}
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
        for name, value in told.items():
            either = name in ("guessed", "stopped")
            total[name] = total[name] or value if either else total[name] + value
    if not total["calls"] and not total["found"] and not total["stopped"]:
        return None
    cost = f"; {total['cost']:.4g} in the currency of LMMS_RPTS_PRICE" if settings.prices else ""
    logger.info(
        "Judges in total: {:,} calls, {}{:,} tokens in, {:,} out{}; {:,} cached replies",
        total["calls"],
        "about " if total["guessed"] else "",
        total["input_tokens"],
        total["output_tokens"],
        cost,
        total["found"],
    )
    if not settings.prices:
        total["cost"] = None
    if total["stopped"] is None:
        del total["stopped"]
    return total


def _total(budget: Budget) -> dict[str, Any]:
    """The usage of this process; ``stopped``: why judging stopped before its end."""
    usage = budget.usage
    return {
        "calls": budget.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": budget.cost,
        "found": budget.found,
        "guessed": budget.guessed,
        "stopped": budget.stopped,
    }


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
