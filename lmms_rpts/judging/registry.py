"""Choice of the judge by one string: ``BACKEND`` or ``BACKEND:MODEL``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.backends import hf, openai
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.budget import Budget, cost_of
from lmms_rpts.judging.types import (
    NO_JUDGE,
    NOT_JUDGED,
    Backend,
    JudgeConfigurationError,
    RefusedError,
    Reply,
    Request,
    Usage,
)

# "gpt-4o", "org/model": the name of a model, and not of a kind of judge
_MODEL = re.compile(r"[-/0-9]")


class NoJudge:
    """Refuses every request."""

    async def ask(self, request: Request) -> Reply:
        raise RefusedError(NOT_JUDGED)


_free = partial(
    Backend,
    check=lambda model, settings: f"it takes no model: remove {model!r}" if model else None,
    writes=False,
    comparable=False,
    samples=False,
    kept=False,
)
# The kinds of judges by name, as in LMMS_RPTS_JUDGE.
BACKENDS: dict[str, Backend] = {
    "openai": openai.BACKEND,
    "hf": hf.BACKEND,
    "lexical": _free(
        usage="lexical",
        purpose="offline word overlap, for testing only; its scores are not comparable",
        open=lambda model, settings: LexicalJudge(),
        caveat=(
            "it detects wrong steps about as well as chance (AUC 0.48 to 0.58 on ProcessBench, "
            "BIG-Bench Mistake, PARC and MR-Ben; docs/judging.md)"
        ),
    ),
    NO_JUDGE: _free(
        usage=NO_JUDGE,
        purpose="no judging: the responses are saved and can be scored later",
        open=lambda model, settings: NoJudge(),
    ),
}


class ChosenJudge(NamedTuple):
    """A judge that passed the checks; ``model``: the part of its name after the colon."""

    name: str
    backend: Backend
    model: str
    sees: bool


def open_budget(settings: Settings) -> Budget:
    """A budget with the limits of the settings, and no usage yet."""
    share = " (this process's share)" if settings.processes > 1 else ""
    return Budget(settings.max_judge_tokens, settings.max_judge_cost, share=share)


def find_judge(judge: str, settings: Settings, asks: bool = True) -> ChosenJudge:
    """The judge named in ``judge``; a JudgeConfigurationError if it cannot be used.

    ``asks``: whether it is to be asked, and not only requests to be written.
    """
    name, backend = judge.strip(), backend_of(judge)
    model = name.partition(":")[2]
    if (asks or not model) and (missing := backend.check(model, settings)):
        raise JudgeConfigurationError(f"The judge {name!r} cannot be used: {missing}")
    if settings.temperature > 0 and not backend.samples and name != NO_JUDGE:
        raise JudgeConfigurationError(
            f"The judge {name!r} always gives the same reply: unset the setting temperature"
        )
    return ChosenJudge(name, backend, model, backend.sees(model, settings))


def backend_of(judge: str) -> Backend:
    """The kind of the judge named in ``judge``; makes no call and needs no key."""
    name, colon, _ = judge.strip().partition(":")
    if name in BACKENDS:
        return BACKENDS[name]
    near = difflib.get_close_matches(name.lower(), BACKENDS, n=1)
    meant = BACKENDS[near[0]].usage if near else ""
    if not near and not colon and _MODEL.search(name):
        meant = f"{'hf' if '/' in name else 'openai'}:{name}"
    hint = f" Did you mean {meant}?" if meant else ""
    raise JudgeConfigurationError(f"Unknown judge {judge.strip()!r}.{hint}\n{choices()}")


def cost_function() -> Callable[[Usage], float | None]:
    """The cost of tokens by the price in the settings, which are read once; None without one."""
    price = cache(lambda: load_settings().unit_price)
    return lambda usage: None if price() is None else cost_of(usage, price())


def choices() -> str:
    """The available judges, as lines for a message."""
    width = max(len(backend.usage) for backend in BACKENDS.values())
    lines = [f"  {each.usage:<{width}}  {each.purpose}" for each in BACKENDS.values()]
    return "\n".join(["Set LMMS_RPTS_JUDGE to one of:", *lines])
