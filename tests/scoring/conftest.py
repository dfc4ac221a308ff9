"""The log of a scored run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from loguru import logger

from tests.support.filtered import filtered
from tests.support.instances import make_doc


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The warnings, with the tracebacks of exceptions."""
    filtered([["x"]], [make_doc()], "lexical")  # this imports lmms-eval, which replaces handlers
    lines: list[str] = []
    handler = logger.add(
        lambda line: lines.append(str(line).strip()),
        format="{message}",
        level="WARNING",
        diagnose=False,
    )
    yield lines
    logger.remove(handler)
