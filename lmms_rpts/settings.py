"""What the environment says: the only module that reads environment variables."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

TransformMode = Literal["llm", "rule", "auto"]
TRANSFORM_MODES: tuple[TransformMode, ...] = get_args(TransformMode)

_PREFIX = "LMMS_RPTS_"
NAMES = (
    "LMMS_RPTS_CONCURRENCY",
    "LMMS_RPTS_DECAY",
    "LMMS_RPTS_FOCUS_HEIGHT",
    "LMMS_RPTS_JUDGE",
    "LMMS_RPTS_TIMEOUT",
    "LMMS_RPTS_TRANSFORM",
)
"""All settings of this project; LMMS_RPTS_REFERENCE belongs to its tests."""

_OF_TESTS = "LMMS_RPTS_REFERENCE"
_CHAT_PATH = "/chat/completions"


class SettingError(ValueError):
    """A setting has a value that can't be used; the message says which and what is allowed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One reading of the environment; None where a variable is not set.

    Attributes:
        judge: LMMS_RPTS_JUDGE, which judge scores the steps.
        concurrency: LMMS_RPTS_CONCURRENCY, judge calls at a time, for this process: the value is
            shared among the processes of a run.
        timeout: LMMS_RPTS_TIMEOUT, seconds that one judge call may take.
        transform: LMMS_RPTS_TRANSFORM, how free text becomes steps.
        decay: LMMS_RPTS_DECAY, in [0, 1].
        focus_height: LMMS_RPTS_FOCUS_HEIGHT, at least 0.
        rpts_path: RPTS_PATH, a local folder with RPTS-Eval in the publishers' layout.
        openai_url: base URL from OPENAI_API_URL or OPENAI_BASE_URL.
        openai_key: OPENAI_API_KEY; never shown.
        rank: number of this process in the run.
        processes: how many processes the run has.
    """

    judge: str | None = None
    concurrency: int = 32
    timeout: float = 120.0
    transform: TransformMode | None = None
    decay: float | None = None
    focus_height: int | None = None
    rpts_path: Path | None = None
    openai_url: str | None = field(default=None, repr=False)
    openai_key: str | None = field(default=None, repr=False)
    rank: int = 0
    processes: int = 1


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; an empty variable counts as not set.

    Raises:
        SettingError: naming the variable, its value and what is allowed.
    """
    env = _Environment(os.environ if environ is None else environ)
    env.refuse_unknown()
    concurrency = env.whole("LMMS_RPTS_CONCURRENCY", at_least=1)
    processes = env.whole("WORLD_SIZE", at_least=1) or 1
    path = env.text("RPTS_PATH")
    return Settings(
        judge=env.text("LMMS_RPTS_JUDGE"),
        concurrency=max(1, (32 if concurrency is None else concurrency) // processes),
        timeout=env.number("LMMS_RPTS_TIMEOUT", 1.0, 86400.0) or 120.0,
        transform=parse_transform_mode(env.text("LMMS_RPTS_TRANSFORM"), "LMMS_RPTS_TRANSFORM"),
        decay=env.number("LMMS_RPTS_DECAY", 0.0, 1.0),
        focus_height=env.whole("LMMS_RPTS_FOCUS_HEIGHT", at_least=0),
        rpts_path=Path(path).expanduser() if path else None,
        openai_url=env.base_url("OPENAI_API_URL") or env.base_url("OPENAI_BASE_URL"),
        openai_key=env.text("OPENAI_API_KEY"),
        rank=env.whole("RANK", at_least=0) or 0,
        processes=processes,
    )


def environment_without(*prefixes: str) -> dict[str, str]:
    """The environment for a process that shall not see variables with these beginnings."""
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def parse_transform_mode(value: str | None, name: str) -> TransformMode | None:
    """Check a transform mode that ``name`` was set to."""
    if value is None:
        return None
    for mode in TRANSFORM_MODES:
        if value == mode:
            return mode
    raise SettingError(f"{name}={value!r}: choose one of {', '.join(TRANSFORM_MODES)}")


@dataclass(frozen=True, slots=True)
class _Environment:
    variables: Mapping[str, str]

    def refuse_unknown(self) -> None:
        """A misspelt setting would change nothing and say nothing."""
        for name in self.variables:
            if name.startswith(_PREFIX) and name not in (*NAMES, _OF_TESTS):
                near = difflib.get_close_matches(name, NAMES, n=1)
                hint = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(NAMES)}"
                raise SettingError(f"{name} is no setting.{hint}")

    def text(self, name: str) -> str | None:
        return self.variables.get(name, "").strip() or None

    def base_url(self, name: str) -> str | None:
        url = self.text(name)
        if url is None:
            return None
        if not url.startswith(("http://", "https://")):
            raise SettingError(f"{name}: give a URL that begins with http:// or https://")
        if "?" in url or "#" in url:
            raise SettingError(f"{name}: give a URL without a query; a key goes to OPENAI_API_KEY")
        # lmms-eval's OPENAI_API_URL is the address of the chat end point, not the base URL.
        return url.rstrip("/").removesuffix(_CHAT_PATH)

    def whole(self, name: str, at_least: int) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = int(text)
        except ValueError:
            value = at_least - 1
        if value < at_least:
            raise SettingError(f"{name}={text!r}: give a whole number, at least {at_least}")
        return value

    def number(self, name: str, lowest: float, highest: float) -> float | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = lowest - 1
        if not lowest <= value <= highest:
            raise SettingError(f"{name}={text!r}: give a number from {lowest:g} to {highest:g}")
        return value
