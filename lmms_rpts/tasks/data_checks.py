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
    """The result of one check.

    ``said`` is a message, possibly of several lines; ``remedy`` says what to do, and every
    problem has one.
    """

    name: str
    state: State
    said: str
    remedy: str | None = None


def problem(name: str, fault: object, remedy: str | None = None) -> Check:
    """A problem; if the message contains the remedy, it is split off."""
    said = str(fault).strip()
    if remedy is None:
        ends = [(said.find(mark), mark) for mark in ("\n", ". ", ": ", "; ") if mark in said]
        if not ends:
            return Check(name, "problem", said, "change that setting, or unset it")
        at, mark = min(ends)
        said, remedy = said[:at], said[at + len(mark) :].strip()
    return Check(name, "problem", said, remedy)


def examined(name: str, describe: Callable[[], str]) -> Check:
    """The result of ``describe`` for existing data; a problem if it raises an error."""
    try:
        return Check(name, "ok", describe())
    except DataError as error:
        return data_fault(name, error)
    except JudgeConfigurationError as error:
        return problem(name, error)


def data_fault(name: str, error: object) -> Check:
    """A fault of data; the last line of its message is the remedy."""
    said, _, remedy = str(getattr(error, "whole", error)).rpartition("\n")
    return problem(name, said, remedy) if said else problem(name, error)
