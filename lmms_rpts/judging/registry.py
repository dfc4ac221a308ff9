"""Choice of judges by one string: ``BACKEND``, ``BACKEND:MODEL``, or several with ``+``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_rpts.judging.backends import hf, openai
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.progress import NO_BOARD, Board
from lmms_rpts.judging.types import (
    NO_JUDGE,
    NOT_JUDGED,
    Backend,
    JudgeConfigurationError,
    JudgeRequest,
    Member,
    RefusedError,
    Reply,
)
from lmms_rpts.settings import Price, Settings, load_settings

if TYPE_CHECKING:
    from lmms_rpts.judging.engine import JudgeEngine

ENTRY_POINTS = "lmms_rpts.judges"
"""The group of entry points in which other packages offer judges: NAME = "module:BACKEND"."""

_MODEL = re.compile(r"[-/0-9]")
"""What distinguishes the name of a model, such as gpt-4o, from that of a kind of judge."""

# A "+" begins another judge only if a judge may follow: paths and models contain it as well.
_JOINT = re.compile(r"\s*\+\s*(?=[A-Za-z][\w-]*(?::|\s*\+|\s*$))")


class NoJudge:
    """Refuses every request."""

    async def ask(self, request: JudgeRequest) -> Reply:
        raise RefusedError(NOT_JUDGED)


def _check_bare(model: str, settings: Settings) -> str | None:
    return f"it takes no model: remove {model!r}" if model else None


_free = partial(
    Backend, check=_check_bare, writes=False, comparable=False, samples=False, kept=False
)
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
"""The judges of this package by name, as in LMMS_RPTS_JUDGE."""


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """One judge that passed the checks: its ``backend`` and the part after the colon."""

    name: str
    backend: Backend
    model: str

    def member(self, settings: Settings, price: Price | None) -> Member:
        """Open the judge as a member of an engine."""
        backend = self.backend
        return Member(
            self.name,
            backend.open(self.model, settings),
            price if backend.kept else None,
            backend.writes,
            backend.kept,
            backend.sees(self.model, settings),
        )


def open_engine(
    judge: str,
    *,
    concurrency: int = 32,
    cache_dir: Path | None = None,
    progress: bool = True,
    budget: Budget | None = None,
    board: Board = NO_BOARD,
) -> JudgeEngine:
    """Open the judge or judges named in ``judge``, as in LMMS_RPTS_JUDGE, as a context manager.

    Args:
        judge: ``openai:MODEL``, ``lexical``, ``openai:A+hf:B``, ...
        concurrency: maximum number of concurrent calls to each judge.
        cache_dir: folder of the cache of replies; None: no cache.
        progress: whether to show a progress bar.
        budget: where calls are booked; None: a new one with the limits of the settings.
        board: shared progress of the processes of a run.

    Raises:
        JudgeConfigurationError: for an unknown judge or missing configuration, such as a key.
    """
    from lmms_rpts.judging.engine import JudgeEngine

    settings = load_settings()
    chosen = find_judges(judge, settings)
    prices = prices_of(chosen, settings)
    return JudgeEngine(
        [each.member(settings, price) for each, price in zip(chosen, prices, strict=True)],
        name=judge,
        concurrency=concurrency,
        progress=progress,
        samples=settings.judge_samples,
        jury=settings.jury,
        cache_dir=cache_dir,
        budget=budget or open_budget(settings),
        board=board,
    )


def prices_of(chosen: Sequence[ChosenJudge], settings: Settings) -> tuple[Price | None, ...]:
    """The price of each judge: one price for all, or one for each; None: unknown."""
    prices: tuple[Price | None, ...] = settings.prices or (None,)
    return prices if len(prices) == len(chosen) else prices * len(chosen)


def open_budget(settings: Settings) -> Budget:
    """A budget with the limits of the settings, and no usage yet."""
    share = " (this process's share)" if settings.processes > 1 else ""
    return Budget(settings.max_judge_tokens, settings.max_judge_cost, share=share)


def find_judges(judge: str, settings: Settings) -> tuple[ChosenJudge, ...]:
    """Find the judges named in ``judge``, and check that they can be used with these settings.

    Raises:
        JudgeConfigurationError: states the error and what to use instead.
    """
    chosen = tuple(_find(part, settings) for part in _parts(judge))
    names = [each.name for each in chosen]
    local = [each.name for each in chosen if each.backend is BACKENDS["hf"]]
    fixed = [each.name for each in chosen if not each.backend.samples and each.name != NO_JUDGE]
    fault = None
    if len(chosen) > 1 and NO_JUDGE in names:
        fault = f"{judge!r}: {NO_JUDGE!r} cannot be one of several judges"
    elif len(set(names)) < len(names):
        fault = f"{judge!r} names a judge twice; to repeat one, set LMMS_RPTS_JUDGE_SAMPLES"
    elif len(local) > 1:
        fault = (
            f"{' and '.join(local)}: one process can hold one hf: judge only; serve the others "
            "(vLLM, SGLang, ...) and use them as openai:MODEL"
        )
    elif len(settings.prices) > 1 and len(settings.prices) != len(chosen):
        fault = (
            f"LMMS_RPTS_PRICE has {len(settings.prices)} prices for {len(chosen)} judges: "
            "use one for all, or one for each"
        )
    elif settings.temperature > 0 and fixed:
        fault = (
            f"The judge {fixed[0]!r} always gives the same reply: unset "
            "LMMS_RPTS_JUDGE_SAMPLES and the setting temperature"
        )
    if fault:
        raise JudgeConfigurationError(fault)
    return chosen


def writes(judge: str) -> bool:
    """Whether a judge, or one of several, can write text; for a judge that passed the checks."""
    return any(each.writes for each in _backends(judge))


def sees(judge: str, settings: Settings) -> bool:
    """Whether a judge, or each of several judges, has vision, as far as known."""
    return all(each.backend.sees(each.model, settings) for each in find_judges(judge, settings))


def count_paid(judge: str) -> int:
    """The number of named judges that cost money; makes no call and needs no key."""
    return sum(each.kept for each in _backends(judge))


def comparable(judge: str) -> bool:
    """Whether a judge's scores are comparable with other judges'; for judges that passed checks."""
    return all(each.comparable for each in _backends(judge))


def caveats(judge: str) -> str:
    """Known, measured weaknesses of these judges; for judges that passed the checks."""
    return "; ".join(dict.fromkeys(each.caveat for each in _backends(judge) if each.caveat))


def choices() -> str:
    """The available judges, as lines for a message."""
    known = [(backend.usage, backend.purpose) for backend in BACKENDS.values()]
    known += [(_usage(name), f"offered by {_package(at)}") for name, at in _offered().items()]
    width = max(len(usage) for usage, _ in known)
    lines = [f"  {usage:<{width}}  {purpose}" for usage, purpose in known]
    return "Set LMMS_RPTS_JUDGE to one of:\n" + "\n".join(lines) + "\nor to several, as A+B"


def _parts(judge: str) -> list[str]:
    return [part.strip() for part in _JOINT.split(judge.strip())]


def _backends(judge: str) -> list[Backend]:
    return [_backend_of(part) for part in _parts(judge)]


def _find(judge: str, settings: Settings) -> ChosenJudge:
    backend = _backend_of(judge)
    model = judge.partition(":")[2]
    missing = backend.check(model, settings)
    if missing:
        raise JudgeConfigurationError(f"The judge {judge!r} cannot be used: {missing}")
    return ChosenJudge(judge, backend, model)


def _backend_of(judge: str) -> Backend:
    name = judge.partition(":")[0]
    if name in BACKENDS:
        return BACKENDS[name]
    found = _offered().get(name)
    if found is None:
        near = difflib.get_close_matches(name.lower(), [*BACKENDS, *_offered()], n=1)
        hint = f" Did you mean {_usage(near[0])}?" if near else ""
        if not near and _MODEL.search(judge) and ":" not in judge:
            hint = f" Did you mean {'hf' if '/' in judge else 'openai'}:{judge}?"
        raise JudgeConfigurationError(f"Unknown judge {judge!r}.{hint}\n{choices()}")
    try:
        loaded = found.load()
    except Exception as error:  # an error in another package, which the message names
        raise JudgeConfigurationError(
            f"The judge {name!r} of {_package(found)} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(loaded, Backend):
        raise JudgeConfigurationError(
            f"The judge {name!r} of {_package(found)} is not an lmms_rpts.judging.Backend "
            f"but {type(loaded).__name__}"
        )
    return loaded


def _offered() -> dict[str, EntryPoint]:
    """Judges of other packages, by name; a name belongs to us, or the first package that uses it.

    Reading them takes 20 ms.
    """
    found = reversed(entry_points(group=ENTRY_POINTS))
    return {each.name: each for each in found if each.name not in BACKENDS}


def _usage(name: str) -> str:
    return BACKENDS[name].usage if name in BACKENDS else f"{name}[:MODEL]"


def _package(found: EntryPoint) -> str:
    return found.dist.name if found.dist is not None else found.value
