"""Settings of the test run."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# CI judges the change, not the luck of the day; runs at a desk go on exploring. No deadline for a
# single example: machines are shared.
settings.register_profile("lmms_rpts", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lmms_rpts")


@pytest.fixture(autouse=True)
def _no_answers_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests neither read nor write the answers of whoever runs them."""
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
