"""Fixtures for all judging tests: a clean environment, short pauses, and the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from ssl import SSLContext

import pytest
from loguru import logger

from lmms_rpts.judging import client


@pytest.fixture(scope="session", autouse=True)
def _no_certificates() -> Iterator[None]:
    """Skips loading certificates, 30 ms per client; no test server uses TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SSLContext, "load_verify_locations", lambda *given, **named: None)
        yield


@pytest.fixture(autouse=True)
def _clean_environment(no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow at once: for tests that do not check the pauses."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(client, "LONGEST_PAUSE", 0.002)
    monkeypatch.setattr(client, "LONGEST_HOLD", 0.002)


@pytest.fixture
def messages() -> Iterator[list[str]]:
    """The warnings and errors logged during a test."""
    found: list[str] = []
    sink = logger.add(lambda line: found.append(line.record["message"]), level="WARNING")
    yield found
    with suppress(ValueError):  # a command that set up its log has removed all
        logger.remove(sink)
