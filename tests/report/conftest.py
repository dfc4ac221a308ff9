"""Fixtures of tests of reports: a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.browser import launched


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A browser for one package: while Playwright runs, its thread can run no other event loop."""
    with launched() as running:
        yield running
