"""Typed parsing of environment variables, with errors that list the allowed values."""

from __future__ import annotations

import contextlib
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lmms_rpts.errors import UserError

T = TypeVar("T", bound=str)
N = TypeVar("N", int, float)

OFF = "off"
"""The value that turns a setting off."""

_PREFIX = "LMMS_RPTS_"
_CHAT_PATH = "/chat/completions"
_SAMPLING = 0.7
"""Temperature of judges that answer a question several times."""


class SettingError(UserError):
    """A setting has an invalid value; the message contains it and the allowed values."""


def parse_choice(name: str, text: str | None, choices: tuple[T, ...]) -> T | None:
    """The choice that ``name`` is set to; None if it is not set."""
    for each in choices:
        if text == each:
            return each
    if text is not None:
        raise SettingError(f"{name}={text!r}: choose one of {', '.join(choices)}")
    return None


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in any currency."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables of an environment; an empty or blank one counts as not set.

    Most methods parse the variable with a given name. They return None or a default if it is not
    set. For an invalid value they raise a SettingError with the name, the value and the allowed
    values.
    """

    variables: Mapping[str, str]

    def refuse_unknown(self, names: Sequence[str], others: Sequence[str] = ()) -> None:
        """Refuse misspelt settings, which would otherwise be ignored silently.

        Args:
            names: all settings with the prefix of this project.
            others: further names with this prefix, which messages do not list.

        Raises:
            SettingError: with the variable and the nearest name, or all names.
        """
        for name in self.variables:
            if name.startswith(_PREFIX) and name not in (*names, *others):
                ends = [each.removeprefix(_PREFIX) for each in names]
                near = difflib.get_close_matches(name.removeprefix(_PREFIX), ends, n=1)
                there = f" Known settings: {', '.join(names)}"
                hint = f" Did you mean {_PREFIX}{near[0]}?" if near else there
                raise SettingError(f"Unknown setting {name}.{hint}")

    def refuse_misspelt(self, names: Sequence[str]) -> None:
        """As ``refuse_unknown``, but refuse only near misses, since others may use the same prefix.

        Raises:
            SettingError: with the variable and the nearest name.
        """
        beginnings = tuple({name.partition("_")[0] + "_" for name in names})
        for name in self.variables:
            if name.startswith(beginnings) and name not in names:
                near = difflib.get_close_matches(name, names, n=1, cutoff=0.85)
                if near:
                    raise SettingError(f"Unknown setting {name}. Did you mean {near[0]}?")

    def text(self, name: str) -> str | None:
        return self.variables.get(name, "").strip() or None

    def path(self, name: str) -> Path | None:
        return self.folder(name)

    def folder(self, name: str) -> Path | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return Path(text).expanduser()
        except RuntimeError as error:
            raise SettingError(f"{name}={text!r}: {error}") from None

    def cache_folder(self, name: str) -> Path | None:
        if self.text(name) == OFF:
            return None
        folder = self.folder(name)
        if folder is not None:
            return folder
        try:
            home = self.folder("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        except RuntimeError:
            raise SettingError(
                f"No home directory for the cache of judge replies: set {name} to a folder, or to "
                "off"
            ) from None
        return home / "lmms_rpts"

    def choice(self, name: str, choices: tuple[T, ...]) -> T | None:
        return parse_choice(name, self.text(name), choices)

    def temperature(self, name: str, samples: int) -> float:
        value = self.number(name, 0.0, 2.0)
        if value == 0.0 and samples > 1:
            raise SettingError(
                f"{name}=0 gives the same reply every time: LMMS_RPTS_JUDGE_SAMPLES={samples} "
                "needs a temperature above 0 (unset it for the default)"
            )
        return value if value is not None else (_SAMPLING if samples > 1 else 0.0)

    def prices(self, name: str) -> tuple[Price, ...]:
        text = self.text(name)
        if text is None:
            return ()
        try:
            pairs = [[float(part) for part in price.split("/")] for price in text.split("+")]
            prices = tuple(Price(*pair) for pair in pairs)
        except (ValueError, TypeError):
            prices = ()
        if not prices or any(not 0 <= each < 1e6 for p in prices for each in (p.input, p.output)):
            raise SettingError(
                f"{name}={text!r}: use the price of a million input and output tokens, such as "
                "0.15/0.60; for several judges, one price or one per judge, such as 0.15/0.60+3/15"
            )
        return prices

    def base_url(self, name: str) -> str | None:
        url = self.text(name)
        if url is None:
            return None
        if not url.startswith(("http://", "https://")):
            raise SettingError(f"{name}: use a URL that begins with http:// or https://")
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise SettingError(
                f"{name}: use a URL without user and password; set OPENAI_API_KEY to the key"
            )
        if "?" in url or "#" in url:
            raise SettingError(f"{name}: use a URL without a query; set OPENAI_API_KEY to the key")
        # lmms-eval's OPENAI_API_URL is the URL of the chat endpoint, not the base URL.
        return url.rstrip("/").removesuffix(_CHAT_PATH)

    def whole(self, name: str, at_least: int, at_most: int | None = None) -> int | None:
        wanted = f"a whole number, at least {at_least}"
        if at_most is not None:
            wanted = f"a whole number from {at_least} to {at_most}"
        most = math.inf if at_most is None else at_most
        return self._parsed(name, int, lambda value: at_least <= value <= most, wanted)

    def number(self, name: str, lowest: float, highest: float) -> float | None:
        wanted = f"a number from {lowest:g} to {highest:g}"
        return self._parsed(name, float, lambda value: lowest <= value <= highest, wanted)

    def _parsed(
        self, name: str, parse: Callable[[str], N], fits: Callable[[N], bool], wanted: str
    ) -> N | None:
        text = self.text(name)
        if text is None:
            return None
        with contextlib.suppress(ValueError):
            if fits(value := parse(text)):
                return value
        raise SettingError(f"{name}={text!r}: use {wanted}")
