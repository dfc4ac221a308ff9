"""Data class of a check of ``lmms-rpts doctor``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.judging import JudgeConfigurationError
from lmms_rpts.tasks.data_errors import DataError

State = Literal["ok", "problem", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was found out about one thing.

    ``said`` is for people and may have several lines; ``remedy`` says what to do, and every
    problem has one.
    """

    name: str
    state: State
    said: str
    remedy: str | None = None


def problem(name: str, fault: object, remedy: str | None = None) -> Check:
    """A problem; of a message that tells the remedy itself, the part behind the fault is it."""
    said = str(fault).strip()
    if remedy is None:
        ends = [(said.find(mark), mark) for mark in ("\n", ". ", ": ", "; ") if mark in said]
        if not ends:
            return Check(name, "problem", said, "change that setting, or leave it out")
        at, mark = min(ends)
        said, remedy = said[:at], said[at + len(mark) :].strip()
    return Check(name, "problem", said, remedy)


def examined(name: str, describe: Callable[[], str]) -> Check:
    """What ``describe`` says of data that are there; a problem where it finds a fault."""
    try:
        return Check(name, "ok", describe())
    except DataError as error:
        return data_fault(name, error)
    except JudgeConfigurationError as error:
        return problem(name, error)


def data_fault(name: str, error: object) -> Check:
    """A fault of data; the last line of its message is the remedy."""
    said, _, remedy = str(error).rpartition("\n")
    return problem(name, said, remedy) if said else problem(name, error)
