"""Registry of judge backends; each backend is imported when it is opened."""

from __future__ import annotations

import re

from lmms_rpts.judging.types import Backend, Judge
from lmms_rpts.settings import Settings

NO_JUDGE = "none"
"""The name for no judge: responses are saved and scored later."""


def _check_openai(model: str, settings: Settings) -> str | None:
    if not model:
        return "add a model, such as openai:gpt-4o-mini"
    if not settings.openai_key and not settings.openai_url:
        return (
            "set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server (vLLM, SGLang, Ollama, ...)"
        )
    if settings.openai_key and not re.fullmatch(r"[\x21-\x7e]+", settings.openai_key):
        return (
            "OPENAI_API_KEY contains a character that keys do not have: a space, a line break or a "
            "curly quote. Copy the key again"
        )
    return None


def _open_openai(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.openai import OpenAIJudge

    return OpenAIJudge(
        model,
        settings.openai_url,
        settings.openai_key or "none",  # the client requires a key; your own server need not
        settings.timeout,
        temperature=settings.temperature,
        structured=settings.structured,
        headers=settings.openai_headers,
    )


def _may_see(model: str, settings: Settings) -> bool:
    """Assume vision support: it is known only from a server's replies, which handle refusals."""
    return True


def _check_lmms(model: str, settings: Settings) -> str | None:
    from lmms_rpts.judging.backends.lmms import check_lmms

    return check_lmms(model)


def _open_lmms(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.lmms import LmmsJudge

    api_type, _, name = model.partition(":")
    return LmmsJudge(
        api_type,
        name,
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        openai_url=settings.openai_url,
        openai_key=settings.openai_key,
        temperature=settings.temperature,
    )


def _check_hf(model: str, settings: Settings) -> str | None:
    from lmms_rpts.judging.backends.hf import check_hf

    return check_hf(model)


def _sees_hf(model: str, settings: Settings) -> bool:
    from lmms_rpts.judging.backends.hf import sees_hf

    return sees_hf(model)


def _open_hf(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.hf import HFJudge

    return HFJudge(model, batch_size=settings.batch_size, device=_device(settings))


def _device(settings: Settings) -> str | None:
    """The GPU of a process of a distributed run; None for a single process, which uses all."""
    if settings.processes == 1:
        return None
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{settings.local_rank % torch.cuda.device_count()}"


def _check_bare(model: str, settings: Settings) -> str | None:
    return f"it takes no model: remove {model!r}" if model else None


def _open_lexical(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.lexical import LexicalJudge

    return LexicalJudge()


def _open_none(model: str, settings: Settings) -> Judge:
    from lmms_rpts.judging.backends.none import NoJudge

    return NoJudge()


BACKENDS: dict[str, Backend] = {
    "openai": Backend(
        usage="openai:MODEL",
        purpose="a model behind an OpenAI-compatible server (OPENAI_API_KEY, OPENAI_BASE_URL)",
        check=_check_openai,
        sees=_may_see,
        open=_open_openai,
    ),
    "lmms": Backend(
        usage="lmms:API_TYPE:MODEL",
        purpose="a model behind one of lmms-eval's judge providers: azure, bedrock, local, ...",
        check=_check_lmms,
        open=_open_lmms,
    ),
    "hf": Backend(
        usage="hf:NAME_OR_PATH",
        purpose="a chat model run by transformers, in this process: no key, no server",
        samples=False,
        check=_check_hf,
        sees=_sees_hf,
        open=_open_hf,
    ),
    "lexical": Backend(
        usage="lexical",
        purpose="offline word overlap, for testing only; its scores are not comparable",
        writes=False,
        comparable=False,
        samples=False,
        kept=False,
        caveat=(
            "it detects wrong steps about as well as chance (AUC 0.48 to 0.58 on ProcessBench, "
            "BIG-Bench Mistake, PARC and MR-Ben; docs/judging.md)"
        ),
        check=_check_bare,
        open=_open_lexical,
    ),
    NO_JUDGE: Backend(
        usage=NO_JUDGE,
        purpose="no judging: the responses are saved and can be scored later",
        writes=False,
        comparable=False,
        samples=False,
        kept=False,
        check=_check_bare,
        open=_open_none,
    ),
}
"""The judges of this package by name, as in LMMS_RPTS_JUDGE."""
