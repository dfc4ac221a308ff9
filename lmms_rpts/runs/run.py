"""Runs: the scored responses of one model in one evaluation; their names and their rounds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import commonpath
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
        documents = count(len({record.instance.key for record in self.responses}), "document")
        tasks = shorten(", ".join(self.tasks) or "no task", 60)
        return (
            f"<Run {shorten(self.label, 60)}: {responses} to {documents} of {tasks}, "
            f"scored by {shorten(self.judges or 'nobody', 60)}>"
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the run, sorted by name."""
        return tuple(sorted({record.instance.task for record in self.responses}))

    @property
    def scorings(self) -> tuple[Any, ...]:
        """The settings that the scores depend on; more than one if files were mixed."""
        return tuple(dict.fromkeys(record.scoring for record in self.responses))

    @property
    def judges(self) -> str:
        """The names of the judges of its scores, joined with ``+``."""
        return "+".join(dict.fromkeys(scoring.judge for scoring in self.scorings))

    @property
    def stopped(self) -> str | None:
        """Why judging stopped before its end; None if it did not."""
        reason = value_at(self.results, "usage", "judges", "stopped")
        return reason if isinstance(reason, str) else None


def of_task(run: Run, task: str | None) -> Run | None:
    """The part of a run that belongs to a task (None: all of it); None if there is no such part."""
    if task is None:
        return run
    part = tuple(record for record in run.responses if record.instance.task == task)
    return replace(run, responses=part) if part else None


def value_at(results: Any, *names: str) -> Any:
    """The value at these names in results, which may hold anything; None where one is missing."""
    for name in names:
        results = results.get(name) if isinstance(results, Mapping) else None
    return results


# --- names


def name_runs(runs: Sequence[Run]) -> list[Run]:
    """Label runs that were not named by the user, all labels being different.

    The label is the shortest end of the run's path that no other path has: ``small`` and ``large``,
    or ``a/ckpt`` and ``b/ckpt``. The path is that of its folder, with the checkpoint at its end if
    lmms-eval made a folder for it and it is not the same in all runs. Runs of several models with
    the same path have the names of these; rounds in one folder get their judge, if these differ,
    and a number.
    """
    # results/t0/lab__m and results/t1/lab__m are "t0" and "t1", not "t0/lab/m" and "t1/lab/m".
    folders, models = ({run.path[at] for run in runs if run.path[0]} for at in (0, 1))
    used = 1 if len(models) == 1 and len(folders) > 1 else 2
    ends = shortest_ends(["/".join(filter(None, run.path[:used])) or run.label for run in runs])
    labels = [
        end or run.model if run.path[0] else run.label for run, end in zip(runs, ends, strict=True)
    ]
    if len({*labels}) < len(runs):
        # `lmms-rpts score` writes several models into one folder.
        labels = _distinguish(labels, [run.model for run in runs])
        judged = [f"{own} ({run.judges})" for own, run in zip(labels, runs, strict=True)]
        labels = _distinguish(labels, judged)
    counts = Counter(labels)
    taken = {label for label in labels if counts[label] == 1}
    named = []
    for run, label in zip(runs, labels, strict=True):
        if counts[label] > 1:
            free = (f"{label} ({number})" for number in itertools.count(1))
            label = next(name for name in free if name not in taken)
            taken.add(label)
        named.append(replace(run, label=label))
    return named


def _distinguish(names: Sequence[str], longer: Sequence[str]) -> list[str]:
    """The names; one that stands with different longer ones is replaced by these."""
    pairs = [*zip(names, longer, strict=True)]
    several = Counter(name for name, _ in {*pairs})
    return [other if several[name] > 1 else name for name, other in pairs]


def shortest_ends(paths: Sequence[str]) -> list[str]:
    """For each path, its shortest end that no other path has; equal paths have equal ends.

    "runs/a/ckpt" and "runs/b/ckpt" end in "a/ckpt" and "b/ckpt"; with "runs/c/last", in "last".
    """
    ends = []
    for path in paths:
        parts, others = path.split("/"), {*paths} - {path}
        own = ("/".join(parts[-n:]) for n in range(1, len(parts)))
        free = (end for end in own if not any(f"/{other}".endswith(f"/{end}") for other in others))
        ends.append(next(free, path))
    return ends


# --- rounds


def rounds_of(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Rounds by name: runs with the same model, judge, settings and documents.

    Several rounds have the name of their model, a single one has its label.
    """
    kinds: dict[Hashable, list[Run]] = {}
    for run in runs:
        documents = frozenset((*each.instance.key, each.instance.id) for each in run.responses)
        kind = (run.model, run.source, frozenset(run.scorings), documents)
        kinds.setdefault(kind, []).append(run)
    sets = [*kinds.values()]
    models = shortest_ends([rounds[0].source or rounds[0].model for rounds in sets])
    names = [
        rounds[0].label if len(rounds) == 1 else model
        for rounds, model in zip(sets, models, strict=True)
    ]
    if len({*names}) < len(names):
        names = _distinguish(names, [f"{run.model} ({run.judges})" for run, *_ in sets])
        names = _distinguish(names, [run.label for run, *_ in sets])
    return dict(zip(names, sets, strict=True))


def join_rounds(rounds: Sequence[Run], label: str) -> Run:
    """The rounds of a model as one run: each has further responses to the same documents."""
    if len(rounds) == 1:
        return rounds[0]
    joined, repeats, responses = join_runs(rounds), Counter[tuple[str, int]](), list[Any]()
    for record in joined.responses:
        document = record.place[:2]
        responses.append(record.model_copy(update={"repeat": repeats[document]}))
        repeats[document] += 1
    return replace(joined, label=label, responses=tuple(responses))


def join_runs(runs: Sequence[Run]) -> Run:
    """One run of the responses of these runs of one model."""
    responses = (record for run in runs for record in run.responses)
    ordered = sorted(responses, key=lambda record: (*record.instance.key, *record.place))
    folders, models = ([run.path[at] for run in runs] for at in (0, 1))
    path = (commonpath(folders) if folders[0] else "", models[0] if len({*models}) == 1 else "")
    files = tuple(file for run in runs for file in run.files)
    return replace(runs[0], responses=tuple(ordered), files=files, path=path)
