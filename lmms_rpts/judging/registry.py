"""Choosing a judge by one string, ``BACKEND`` or ``BACKEND:MODEL``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.judging.engine import JudgeEngine
from lmms_rpts.judging.types import Judge, JudgeConfigurationError
from lmms_rpts.settings import Settings, load_settings

NO_JUDGE = "none"
"""The judge that is none: responses are saved, to be scored later."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One kind of judge.

    Attributes:
        usage: how it is written, for messages.
        purpose: what it is for, in a few words.
        writes: whether it can rewrite free text into steps and tell an answer.
        comparable: whether its scores may stand beside those of language models.
        check: says what is missing for a judge of this kind, given what stands after the colon;
            None if nothing.
        open: makes the judge.
    """

    usage: str
    purpose: str
    writes: bool
    comparable: bool
    check: Callable[[str, Settings], str | None]
    open: Callable[[str, Settings], Judge]


def open_engine(
    judge: str,
    *,
    concurrency: int = 32,
    cache_dir: Path | None = None,
    progress: bool = True,
) -> JudgeEngine:
    """Open the judge that ``judge`` names, ready to be asked; a context manager.

    Args:
        judge: ``openai:MODEL``, ``lexical`` or ``none``.
        concurrency: calls at a time.
        cache_dir: where answers are kept from one run to the next; not supported yet.
        progress: whether to show a progress bar.

    Raises:
        JudgeConfigurationError: for an unknown judge or one that lacks something, a key say.
    """
    if cache_dir is not None:
        raise JudgeConfigurationError("judges keep no cache on disk yet: leave cache_dir out")
    settings = load_settings()
    backend, model = find_backend(judge, settings)
    return JudgeEngine(
        backend.open(model, settings), name=judge, concurrency=concurrency, progress=progress
    )


def find_backend(judge: str, settings: Settings) -> tuple[Backend, str]:
    """The backend that ``judge`` names and the model for it, checked to be usable.

    Raises:
        JudgeConfigurationError: naming what is wrong and what to write instead.
    """
    name, _, model = judge.strip().partition(":")
    backend = BACKENDS.get(name)
    if backend is None:
        near = difflib.get_close_matches(name.lower(), BACKENDS, n=1)
        hint = f" Did you mean {BACKENDS[near[0]].usage}?" if near else ""
        raise JudgeConfigurationError(f"unknown judge {judge!r}.{hint}\n{choices()}")
    missing = backend.check(model, settings)
    if missing:
        raise JudgeConfigurationError(f"the judge {judge!r} can't be used: {missing}")
    return backend, model


def find_kind(judge: str) -> Backend:
    """The backend of a judge that was found to be usable before."""
    return BACKENDS[judge.strip().partition(":")[0]]


def choices() -> str:
    """The judges that can be chosen, as lines for a message."""
    width = max(len(backend.usage) for backend in BACKENDS.values())
    lines = [f"  {backend.usage:<{width}}  {backend.purpose}" for backend in BACKENDS.values()]
    return "Set LMMS_RPTS_JUDGE to one of:\n" + "\n".join(lines)


def _check_openai(model: str, settings: Settings) -> str | None:
    if not model:
        return "name a model, as in openai:gpt-4o-mini"
    if not settings.openai_key and not settings.openai_url:
        return (
            "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own "
            "(vLLM, SGLang, Ollama, ...)"
        )
    if settings.openai_key and not re.fullmatch(r"[\x21-\x7e]+", settings.openai_key):
        return (
            "OPENAI_API_KEY holds a character that no key has: a space, a line break or a curly "
            "quote, perhaps from copying it"
        )
    return None


def _open_openai(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.openai import OpenAIJudge

    # The client insists on a key; servers of one's own take any.
    key = settings.openai_key or "none"
    return OpenAIJudge(model, settings.openai_url, key, settings.timeout)


def _check_bare(model: str, settings: Settings) -> str | None:
    return f"it takes no model, leave out {model!r}" if model else None


def _open_lexical(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.lexical import LexicalJudge

    return LexicalJudge()


def _open_none(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.passing import NoJudge

    return NoJudge()


BACKENDS: dict[str, Backend] = {
    "openai": Backend(
        usage="openai:MODEL",
        purpose="a model behind an OpenAI-compatible server (OPENAI_API_KEY, OPENAI_BASE_URL)",
        writes=True,
        comparable=True,
        check=_check_openai,
        open=_open_openai,
    ),
    "lexical": Backend(
        usage="lexical",
        purpose="offline n-gram overlap, to try things out; its scores are not comparable",
        writes=False,
        comparable=False,
        check=_check_bare,
        open=_open_lexical,
    ),
    NO_JUDGE: Backend(
        usage=NO_JUDGE,
        purpose="no judging now: the responses are saved, to be scored later",
        writes=False,
        comparable=False,
        check=_check_bare,
        open=_open_none,
    ),
}
