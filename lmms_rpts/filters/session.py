"""What the filters of one run share: its settings, the budget of its judge, and its validity."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.registry import open_budget
from lmms_rpts.runs.validity import Validity


@dataclass
class Session:
    """One run of lmms-eval in this process.

    Attributes:
        settings: the settings, read once.
        budget: the budget of judge calls, shared by all tasks.
        validity: what was measured of the judge on labelled steps; None: not looked up.
    """

    settings: Settings
    budget: Budget
    validity: list[Validity] | None = None


_session: Session | None = None


def session() -> Session:
    """The run of this process; its settings are read when it is first asked for."""
    global _session
    if _session is None:
        settings = load_settings()
        _session = Session(settings, open_budget(settings))
    return _session


def has_session() -> bool:
    """Whether this process has a run: it built a task with filters of ours."""
    return _session is not None


def reset_session(settings: Settings | None = None) -> None:
    """Start another run with these settings; None: they are read again when first asked for."""
    global _session
    _session = None if settings is None else Session(settings, open_budget(settings))
