"""Isolation of single responses: an internal error affects only the outcome of one response.

Bad model output is expected and is parsed without exceptions. An exception that is caught here is a
bug: the response is unscored, its reason names the exception, and the log shows the traceback of
the first one.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.judging.engine import Dialogue

T = TypeVar("T")

_LONGEST = 300
"""Maximum length of an exception's message in a reason."""

FAULT = "internal error"
"""Prefix of the reason of a response that a bug of this package left unscored."""


class Isolation:
    """Runs work on one response at a time; use it as a context manager around a stage.

    Every method takes a function that is called with the reason if the work raises, and returns
    the result.

    Args:
        stage: the work, for reasons and the log: ``reading a response``.
    """

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.faults = 0

    def __enter__(self) -> Isolation:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.faults > 1:
            logger.error("{}: {} internal errors in total", self.stage, self.faults)

    def run(self, work: Callable[[], T], otherwise: Callable[[str], T]) -> T:
        """The result of ``work``, or of ``otherwise`` if it raises."""
        try:
            return work()
        except Exception as error:
            return otherwise(self._caught(error))

    def begin(self, work: Callable[[], Dialogue[T]], otherwise: Callable[[str], T]) -> Dialogue[T]:
        """The conversation that ``work`` starts; code before its first question runs at once."""
        return self._isolated(self.run(work, lambda reason: _ended(otherwise(reason))), otherwise)

    def _isolated(self, dialogue: Dialogue[T], otherwise: Callable[[str], T]) -> Dialogue[T]:
        try:
            return (yield from dialogue)
        except Exception as error:
            return otherwise(self._caught(error))

    def _caught(self, error: Exception) -> str:
        self.faults += 1
        said = f"{FAULT} while {self.stage}: {type(error).__name__}: {error}"
        reason = visible(said[:_LONGEST])
        if self.faults == 1:
            # Not loguru's own traceback: it shows the values of variables, including keys.
            trace = "".join(traceback.format_exception(error))
            logger.error(
                "{}. The response is left unscored, the run continues. Please report this:\n{}",
                reason,
                "\n".join(map(visible, trace.split("\n"))),
            )
        return reason


def _ended(result: T) -> Dialogue[T]:
    yield from ()
    return result
