"""Choice of judges by one string: ``BACKEND``, ``BACKEND:MODEL``, or several with ``+``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_rpts.base.settings import Price, Settings, load_settings
from lmms_rpts.judging.backends import hf, openai
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.budget import Budget, shared_cost
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
    Usage,
)

if TYPE_CHECKING:
    from lmms_rpts.judging.engine import JudgeEngine

# The group of entry points in which other packages offer judges: NAME = "module:BACKEND".
ENTRY_POINTS = "lmms_rpts.judges"

# "gpt-4o", "org/model": the name of a model, and not of a kind of judge
_MODEL = re.compile(r"[-/0-9]")

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
# The judges of this package by name, as in LMMS_RPTS_JUDGE.
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


@dataclass(frozen=True, slots=True)
class ChosenJudge:
    """One judge that passed the checks: its ``backend`` and the part after the colon.

    ``name``: as in caches and records; ``sees``: whether it has vision, as far as known"""

    name: str
    backend: Backend
    model: str
    price: Price | None
    sees: bool

    def open(self, settings: Settings) -> Member:
        """Open the judge as a member of an engine."""
        backend, price = self.backend, self.price if self.backend.kept else None
        judge = backend.open(self.model, settings)
        return Member(self.name, judge, price, backend.writes, backend.kept, self.sees)


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
    return JudgeEngine(
        [each.open(settings) for each in find_judges(judge, settings)],
        name=judge,
        concurrency=concurrency,
        progress=progress,
        samples=settings.judge_samples,
        jury=settings.jury,
        cache_dir=cache_dir,
        budget=budget or open_budget(settings),
        board=board,
    )


def open_budget(settings: Settings) -> Budget:
    """A budget with the limits of the settings, and no usage yet."""
    share = " (this process's share)" if settings.processes > 1 else ""
    return Budget(settings.max_judge_tokens, settings.max_judge_cost, share=share)


def find_judges(judge: str, settings: Settings) -> tuple[ChosenJudge, ...]:
    """Find the judges named in ``judge``, and check that they can be used with these settings.

    A JudgeConfigurationError states the fault and what to use instead.
    """
    chosen: list[ChosenJudge] = []
    prices = prices_of(judge, settings) or (None,)
    for name, backend, price in zip(_names(judge), backends_of(judge), cycle(prices), strict=False):
        model = name.partition(":")[2]
        if missing := backend.check(model, settings):
            raise JudgeConfigurationError(f"The judge {name!r} cannot be used: {missing}")
        chosen.append(ChosenJudge(name, backend, model, price, backend.sees(model, settings)))
    names = [each.name for each in chosen]
    local = [each.name for each in chosen if each.backend.local]
    fixed = [each.name for each in chosen if not each.backend.samples and each.name != NO_JUDGE]
    unable = [
        each.name for each in chosen if not each.backend.probabilities and each.name != NO_JUDGE
    ]
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
    elif settings.scoring != "text" and settings.temperature > 0:
        fault = (
            f"LMMS_RPTS_SCORING={settings.scoring} reads the probabilities of one token, which are "
            "the same in every reply: unset LMMS_RPTS_JUDGE_SAMPLES and the setting temperature"
        )
    elif settings.scoring != "text" and unable:
        fault = (
            f"LMMS_RPTS_SCORING={settings.scoring} needs the probabilities of tokens, which the "
            f"judge {unable[0]!r} does not give: set it to text, or choose openai:MODEL or hf:MODEL"
        )
    elif settings.temperature > 0 and fixed:
        fault = (
            f"The judge {fixed[0]!r} always gives the same reply: unset "
            "LMMS_RPTS_JUDGE_SAMPLES and the setting temperature"
        )
    if fault:
        raise JudgeConfigurationError(fault)
    return tuple(chosen)


def backends_of(judge: str) -> list[Backend]:
    """The kinds of the judges named in ``judge``; makes no call and needs no key."""
    return [_backend(name) for name in _names(judge)]


def prices_of(judge: str | None, settings: Settings) -> tuple[Price, ...]:
    """The prices of the judges; empty if none is set."""
    number = len(backends_of(judge or NO_JUDGE))
    return tuple(islice(cycle(settings.prices), number if settings.prices else 0))


def cost_function() -> Callable[[Usage, str | None], float | None]:
    """The cost of the tokens of a judge by the prices in the settings, which are read once.

    None if the prices, or the judge, are unknown.
    """

    @cache
    def prices(judge: str | None) -> tuple[Price, ...]:
        with suppress(JudgeConfigurationError):  # of another package, which is not installed here
            return prices_of(judge, settings())
        return ()

    settings = cache(load_settings)
    return lambda usage, judge: shared_cost(usage, prices(judge))


def choices() -> str:
    """The available judges, as lines for a message."""
    known = {backend.usage: backend.purpose for backend in BACKENDS.values()}
    known |= {_usage(name): f"offered by {at.value}" for name, at in _offered().items()}
    width = max(map(len, known))
    lines = [f"  {usage:<{width}}  {purpose}" for usage, purpose in known.items()]
    return "Set LMMS_RPTS_JUDGE to one of:\n" + "\n".join(lines) + "\nor to several, as A+B"


def _names(judge: str) -> list[str]:
    return [name.strip() for name in _JOINT.split(judge.strip())]


def _backend(judge: str) -> Backend:
    name, colon, _ = judge.partition(":")
    if name in BACKENDS:
        return BACKENDS[name]
    offered = _offered()
    if name not in offered:
        near = difflib.get_close_matches(name.lower(), [*BACKENDS, *offered], n=1)
        meant = _usage(near[0]) if near else ""
        if not near and not colon and _MODEL.search(judge):
            meant = f"{'hf' if '/' in judge else 'openai'}:{judge}"
        hint = f" Did you mean {meant}?" if meant else ""
        raise JudgeConfigurationError(f"Unknown judge {judge!r}.{hint}\n{choices()}")
    try:
        backend = offered[name].load()
        if not isinstance(backend, Backend):
            raise TypeError(f"{type(backend).__name__} is not an lmms_rpts.judging.Backend")
    except Exception as error:  # an error in another package, which the message names
        raise JudgeConfigurationError(
            f"The judge {name!r} of {offered[name].value} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    return backend


def _offered() -> dict[str, EntryPoint]:
    """Judges of other packages, by name; a name belongs to us, or the first package that uses it.

    Reading them takes 20 ms.
    """
    found = reversed(entry_points(group=ENTRY_POINTS))
    return {each.name: each for each in found if each.name not in BACKENDS}


def _usage(name: str) -> str:
    return BACKENDS[name].usage if name in BACKENDS else f"{name}[:MODEL]"
