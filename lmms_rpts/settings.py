"""Settings from environment variables: the only module that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from lmms_rpts.reasoning.evidence import EVIDENCE, Evidence
from lmms_rpts.variables import OFF, Price, SettingError, Variables, parse_choice

TransformMode = Literal["llm", "rule", "auto"]
TRANSFORM_MODES: tuple[TransformMode, ...] = get_args(TransformMode)
Jury = Literal["mean", "median", "majority"]
"""How the scores of several judges or replies are joined: their mean, their median, or the share of
them that is at least 0.5."""

__all__ = [
    "NAMES",
    "TRANSFORM_MODES",
    "Jury",
    "Price",
    "SettingError",
    "Settings",
    "TransformMode",
    "cache_folder",
    "environment_without",
    "judge_chosen",
    "load_settings",
    "parse_choice",
    "read_variables",
    "refuse_unknown",
    "validity_file",
]

NAMES = (
    "LMMS_RPTS_BATCH_SIZE",
    "LMMS_RPTS_CACHE",
    "LMMS_RPTS_CONCURRENCY",
    "LMMS_RPTS_CORRECT",
    "LMMS_RPTS_DECAY",
    "LMMS_RPTS_EVIDENCE",
    "LMMS_RPTS_FOCUS_HEIGHT",
    "LMMS_RPTS_GRADES",
    "LMMS_RPTS_IMAGE_SIZE",
    "LMMS_RPTS_JUDGE",
    "LMMS_RPTS_JUDGE_SAMPLES",
    "LMMS_RPTS_JURY",
    "LMMS_RPTS_MAX_JUDGE_COST",
    "LMMS_RPTS_MAX_JUDGE_TOKENS",
    "LMMS_RPTS_PRICE",
    "LMMS_RPTS_PROMPTS",
    "LMMS_RPTS_STRUCTURED",
    "LMMS_RPTS_TEMPERATURE",
    "LMMS_RPTS_TIMEOUT",
    "LMMS_RPTS_TRANSFORM",
    "LMMS_RPTS_VALIDITY",
)
"""All settings of this project; LMMS_RPTS_REFERENCE is for its tests only."""

_OF_TESTS = "LMMS_RPTS_REFERENCE"
_CACHE = "LMMS_RPTS_CACHE"
_VALIDITY = "LMMS_RPTS_VALIDITY"
_HEADERS = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings read from the environment; None if a variable is not set.

    Attributes:
        judge: LMMS_RPTS_JUDGE, the judge that scores the steps.
        concurrency: LMMS_RPTS_CONCURRENCY, concurrent judge calls of this process: the value of
            the variable is divided among the processes of a run.
        timeout: LMMS_RPTS_TIMEOUT, time limit of one judge call in seconds.
        cache: LMMS_RPTS_CACHE, the folder of cached judge replies; None: off.
        judge_samples: LMMS_RPTS_JUDGE_SAMPLES, replies per question; ``jury`` joins them.
        jury: LMMS_RPTS_JURY, how the scores of several judges or replies are joined.
        temperature: LMMS_RPTS_TEMPERATURE, temperature of judges; 0: greedy.
        structured: LMMS_RPTS_STRUCTURED, whether to request JSON with a schema from servers.
        prompts: LMMS_RPTS_PROMPTS, a folder with prompts that replace the built-in ones.
        prices: LMMS_RPTS_PRICE, one price for all judges or one for each of ``a+b+c``.
        max_judge_tokens: LMMS_RPTS_MAX_JUDGE_TOKENS, for this process: divided like
            ``concurrency``.
        max_judge_cost: LMMS_RPTS_MAX_JUDGE_COST, for this process: divided like ``concurrency``.
        batch_size: LMMS_RPTS_BATCH_SIZE, batch size of judges that run in this process.
        evidence: LMMS_RPTS_EVIDENCE, the evidence that claims about images are judged against.
        image_size: LMMS_RPTS_IMAGE_SIZE, maximum width and height in pixels of images for judges.
        correct: LMMS_RPTS_CORRECT, the metric of a task that grades an answer as right or wrong.
        grades: LMMS_RPTS_GRADES, a file with the grades of saved responses; set by
            ``lmms-rpts score``.
        transform: LMMS_RPTS_TRANSFORM, how free text is converted to steps.
        validity: LMMS_RPTS_VALIDITY, the file that ``lmms-rpts validate`` wrote for the judge.
        decay: LMMS_RPTS_DECAY, in [0, 1].
        focus_height: LMMS_RPTS_FOCUS_HEIGHT, at least 0.
        openai_url: base URL from OPENAI_API_URL or OPENAI_BASE_URL.
        openai_key: OPENAI_API_KEY; never shown.
        openai_headers: HTTP headers for OPENAI_ORG_ID and OPENAI_PROJECT_ID.
        rank: rank of this process in the run.
        local_rank: rank of this process on this machine.
        processes: number of processes of the run.
    """

    judge: str | None = None
    concurrency: int = 32
    timeout: float = 120.0
    cache: Path | None = None
    judge_samples: int = 1
    jury: Jury = "mean"
    temperature: float = 0.0
    structured: bool = True
    prompts: Path | None = None
    prices: tuple[Price, ...] = ()
    max_judge_tokens: int | None = None
    max_judge_cost: float | None = None
    batch_size: int = 8
    evidence: Evidence | None = None
    image_size: int = 1536
    correct: str | None = None
    grades: Path | None = None
    transform: TransformMode | None = None
    validity: Path | None = None
    decay: float | None = None
    focus_height: int | None = None
    openai_url: str | None = field(default=None, repr=False)
    openai_key: str | None = field(default=None, repr=False)
    openai_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    rank: int = 0
    local_rank: int = 0
    processes: int = 1


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; an empty variable counts as not set.

    Raises:
        SettingError: with the variable, its value and the allowed values.
    """
    refuse_unknown(environ)
    env = _variables(environ)
    concurrency = env.whole("LMMS_RPTS_CONCURRENCY", at_least=1)
    processes = env.whole("WORLD_SIZE", at_least=1) or 1
    samples = env.whole("LMMS_RPTS_JUDGE_SAMPLES", at_least=1) or 1
    max_tokens = env.whole("LMMS_RPTS_MAX_JUDGE_TOKENS", at_least=1)
    max_cost = env.number("LMMS_RPTS_MAX_JUDGE_COST", 0.0, 1e9)
    prices = env.prices("LMMS_RPTS_PRICE")
    if max_cost is not None and not prices:
        raise SettingError(
            "LMMS_RPTS_MAX_JUDGE_COST needs the price of tokens: set "
            "LMMS_RPTS_PRICE=INPUT/OUTPUT, per million tokens, such as 0.15/0.60"
        )
    return Settings(
        judge=env.text("LMMS_RPTS_JUDGE"),
        concurrency=max(1, (32 if concurrency is None else concurrency) // processes),
        timeout=env.number("LMMS_RPTS_TIMEOUT", 1.0, 86400.0) or 120.0,
        cache=env.cache_folder("LMMS_RPTS_CACHE"),
        judge_samples=samples,
        jury=env.choice("LMMS_RPTS_JURY", get_args(Jury)) or "mean",
        temperature=env.temperature("LMMS_RPTS_TEMPERATURE", samples),
        structured=env.choice("LMMS_RPTS_STRUCTURED", ("auto", OFF)) != OFF,
        prompts=env.folder("LMMS_RPTS_PROMPTS"),
        prices=prices,
        max_judge_tokens=max_tokens and max(1, max_tokens // processes),
        max_judge_cost=max_cost and max_cost / processes,
        batch_size=env.whole("LMMS_RPTS_BATCH_SIZE", at_least=1) or 8,
        evidence=env.choice("LMMS_RPTS_EVIDENCE", EVIDENCE),
        image_size=env.whole("LMMS_RPTS_IMAGE_SIZE", at_least=64, at_most=8192) or 1536,
        correct=env.text("LMMS_RPTS_CORRECT"),
        grades=env.path("LMMS_RPTS_GRADES"),
        transform=env.choice("LMMS_RPTS_TRANSFORM", TRANSFORM_MODES),
        validity=env.path(_VALIDITY),
        decay=env.number("LMMS_RPTS_DECAY", 0.0, 1.0),
        focus_height=env.whole("LMMS_RPTS_FOCUS_HEIGHT", at_least=0),
        openai_url=env.base_url("OPENAI_API_URL") or env.base_url("OPENAI_BASE_URL"),
        openai_key=env.text("OPENAI_API_KEY"),
        openai_headers={
            header: value for name, header in _HEADERS.items() if (value := env.text(name))
        },
        rank=env.whole("RANK", at_least=0) or 0,
        local_rank=env.whole("LOCAL_RANK", at_least=0) or 0,
        processes=processes,
    )


def refuse_unknown(environ: Mapping[str, str] | None = None) -> None:
    """Refuse misspelt settings, for commands that would ignore them.

    Raises:
        SettingError: with the variable and the nearest name, or all names.
    """
    _variables(environ).refuse_unknown(NAMES, others=(_OF_TESTS,))


def validity_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The file in LMMS_RPTS_VALIDITY, for commands that use no other setting."""
    return read_variables([_VALIDITY], environ).path(_VALIDITY)


def cache_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder in LMMS_RPTS_CACHE, for code that uses no other setting; None: off."""
    return read_variables([_CACHE], environ).cache_folder(_CACHE)


def read_variables(names: Sequence[str], environ: Mapping[str, str] | None = None) -> Variables:
    """Read the variables of a benchmark from the environment.

    Args:
        names: all variables of the benchmark.
        environ: the environment to read; None: the environment of the process.

    Raises:
        SettingError: for a variable that is probably a misspelt one of them.
    """
    env = _variables(environ)
    env.refuse_misspelt(names)
    return env


def _variables(environ: Mapping[str, str] | None) -> Variables:
    return Variables(os.environ if environ is None else environ)


@contextmanager
def judge_chosen(judge: str | None) -> Iterator[None]:
    """Context in which LMMS_RPTS_JUDGE is ``judge``, for code that reads it; None: unchanged."""
    name = "LMMS_RPTS_JUDGE"
    before = os.environ.get(name)
    if judge is not None:
        os.environ[name] = judge
    try:
        yield
    finally:
        if before is not None:
            os.environ[name] = before
        elif judge is not None:
            os.environ.pop(name, None)


def environment_without(*prefixes: str) -> dict[str, str]:
    """The environment without variables whose names start with ``prefixes``."""
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
