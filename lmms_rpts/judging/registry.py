"""Choice of the judge by one string: ``BACKEND`` or ``BACKEND:MODEL``."""

from __future__ import annotations

from typing import NamedTuple

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import SettingError, Settings
from lmms_rpts.judging.backends import hf, openai
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED, Backend, JudgeConfigurationError

# The kinds of judges by name, as in LMMS_RPTS_JUDGE.
BACKENDS: dict[str, Backend] = {
    "openai": openai.BACKEND,
    "hf": hf.BACKEND,
    "lexical": Backend(
        free=True,
        usage="lexical",
        purpose="word overlap, for testing only: it detects wrong steps about as well as chance "
        "(AUC 0.48 to 0.58 on four sets; docs/judging.md)",
        open=lambda model, settings: LexicalJudge(),
    ),
    NO_JUDGE: Backend(
        free=True,
        usage=NO_JUDGE,
        purpose="no judging: the responses are saved and can be scored later",
        open=lambda model, settings: LexicalJudge(frozenset(), NOT_JUDGED),
    ),
}


class ChosenJudge(NamedTuple):
    """A judge that passed the checks; ``model``: the part of its name after the colon."""

    name: str
    backend: Backend
    model: str
    sees: bool


def open_budget(settings: Settings) -> Budget:
    """A budget with the limits of the settings; a SettingError without the price that it needs."""
    if settings.max_judge_cost is not None and settings.price is None:
        raise SettingError(
            f"{settings.origin('max_judge_cost')}: needs the price of a million tokens: set "
            "LMMS_RPTS_PRICE, such as 0.15/0.60"
        )
    return Budget(settings.max_judge_tokens, settings.max_judge_cost)


def find_judge(judge: str, settings: Settings, asks: bool = True) -> ChosenJudge:
    """The judge named in ``judge``; a JudgeConfigurationError if it cannot be used.

    ``asks``: whether it is to be asked, and not only requests to be written.
    """
    name, backend = judge.strip(), backend_of(judge)
    model = name.partition(":")[2]
    fault = backend.check(model, settings) if asks or not model else None
    if backend.free and model:
        fault = f"it takes no model: remove {model!r}"
    greedy = backend.local or (backend.free and name != NO_JUDGE)
    if not fault and settings.temperature > 0 and greedy:
        fault = "it always gives the same reply: unset the setting temperature"
    if fault:
        raise JudgeConfigurationError(f"The judge {name!r} cannot be used: {fault}")
    return ChosenJudge(name, backend, model, backend.sees(model, settings))


def backend_of(judge: str) -> Backend:
    """The kind of the judge named in ``judge``; makes no call and needs no key."""
    name = judge.strip().partition(":")[0]
    if name in BACKENDS:
        return BACKENDS[name]
    hint = did_you_mean(name.lower(), [*BACKENDS])
    if not hint and name == judge.strip() and set(name) & set("-/0123456789"):  # a model's name
        hint = f" Did you mean {'hf' if '/' in name else 'openai'}:{name}?"
    raise JudgeConfigurationError(f"Unknown judge {judge.strip()!r}.{hint}\n{choices()}")


def choices() -> str:
    """The available judges, as lines for a message."""
    lines = [f"  {each.usage:<15}  {each.purpose}" for each in BACKENDS.values()]
    return "\n".join(["Set LMMS_RPTS_JUDGE to one of:", *lines])
