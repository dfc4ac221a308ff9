"""Log messages as plain lines, in the output of ``lmms-rpts``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import wrapt
from loguru import logger

if TYPE_CHECKING:
    from loguru import Message, Record

_WARNING = 30
_say: Callable[[str], None] | None = None
_handler = 0  # loguru's own at first, which writes to standard error


def plain_log(say: Callable[[str], None]) -> None:
    """Show log messages as lines without time and place, for this process.

    Shown are warnings and errors, and information of this package.
    """
    global _say, _handler
    if _say is None:
        # Importing it replaces all handlers by one that writes to standard output.
        wrapt.register_post_import_hook(_restore, "lmms_eval.models")
    _say = say
    with suppress(ValueError):  # removed already
        logger.remove(_handler)
    _handler = logger.add(_show, level="INFO", format="{message}", filter=_is_wanted)


def _restore(module: object) -> None:
    logger.remove()
    if _say is not None:
        plain_log(_say)


def _is_wanted(record: Record) -> bool:
    own = (record["name"] or "").startswith("lmms_rpts")
    return own or record["level"].no >= _WARNING


def _show(message: Message) -> None:
    if _say is not None:
        warning = "Warning: " if message.record["level"].no >= _WARNING else ""
        _say(f"{warning}{message.rstrip()}")
