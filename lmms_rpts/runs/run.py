"""Runs: the scored responses of one model in one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import count, shorten


@dataclass(frozen=True)
class Run:
    """The scored responses of one model in one evaluation.

    Attributes:
        label: name in tables and reports, unique among the runs that were read together.
        model: the model, if the results name it; the same for all rounds of one model.
        responses: the responses, sorted by task, document in the data, duplicate and repeat.
        results: lmms-eval's own results; empty if there are none. For a joined run, those of the
            first part.
        files: the samples files that were read.
        source: distinguishes models of the same name: the checkpoint, else the folder; empty if
            the user named the run.
        path: the folder that the user chose, and the model if lmms-eval made a folder for it: the
            parts of the label; empty if the user named the run.
    """

    label: str
    model: str
    responses: tuple[Any, ...]
    results: Mapping[str, Any]
    files: tuple[Path, ...]
    source: str = ""
    path: tuple[str, str] = ("", "")

    def __repr__(self) -> str:
        responses = count(len(self.responses), "response")
        documents = count(len({each.instance.key for each in self.responses}), "document")
        tasks = shorten(", ".join(self.tasks) or "no task", 60)
        return (
            f"<Run {shorten(self.label, 60)}: {responses} to {documents} of {tasks}, "
            f"scored by {shorten(self.judges or 'nobody', 60)}>"
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the run, sorted by name."""
        return tuple(sorted({each.instance.task for each in self.responses}))

    @property
    def stopped(self) -> str | None:
        """Why judging stopped before its end; None if it did not."""
        usage = self.results.get("usage")
        judges = usage.get("judges") if isinstance(usage, Mapping) else None
        reason = judges.get("stopped") if isinstance(judges, Mapping) else None
        return reason if isinstance(reason, str) else None

    @property
    def scorings(self) -> tuple[Any, ...]:
        """The settings that the scores depend on; more than one if files were mixed."""
        return tuple(dict.fromkeys(each.scoring for each in self.responses))

    @property
    def judges(self) -> str:
        """The names of the judges of its scores, joined with ``+``, with their ways of scoring."""
        modes = (getattr(each, "scoring", "text") for each in self.scorings)
        named = zip(self.scorings, modes, strict=True)
        return "+".join(
            dict.fromkeys(f"{each.judge}{f' ({mode})' * (mode != 'text')}" for each, mode in named)
        )

    def documents(self) -> dict[tuple[str, int], list[Any]]:
        """The responses by task and document."""
        return self.grouped(attrgetter("key"))

    def grouped(self, key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
        """The responses by a property of their instances."""
        found: dict[Any, list[Any]] = {}
        for response in self.responses:
            found.setdefault(key(response.instance), []).append(response)
        return found


def of_task(run: Run, task: str | None) -> Run | None:
    """The part of a run that belongs to a task (None: all of it); None if there is no such part."""
    if task is None:
        return run
    kept = tuple(each for each in run.responses if each.instance.task == task)
    return replace(run, responses=kept) if kept else None
