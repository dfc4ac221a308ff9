"""Runs: the scored responses of one model in one evaluation; their names and their rounds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import commonpath
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import printable, storable
from lmms_rpts.base.masking import mask


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
    """

    label: str
    model: str
    responses: tuple[Any, ...] = field(repr=False)
    results: Mapping[str, Any] = field(repr=False)
    files: tuple[Path, ...]
    source: str = ""

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


def as_label(source: object) -> str:
    """A checkpoint, file or folder as text for tables; a secret may be in a URL."""
    text = storable(str(source).replace("\\", "/")).rstrip("/").removesuffix(".jsonl")
    return printable(mask(text) if {*"=:@"} & {*text} else text)


# --- names


def name_runs(runs: Sequence[Run]) -> list[Run]:
    """Label runs that were not named by the user, all labels being different.

    The label is the shortest end of the run's path that no other path has: ``small`` and ``large``,
    or ``a/ckpt`` and ``b/ckpt``. The path is that of its folder, with the checkpoint at its end if
    lmms-eval made a folder for it and it is not the same in all runs. Runs of several models with
    the same path have the names of these; rounds in one folder get their judge, if these differ,
    and a number.
    """
    places = [_place(run) for run in runs if run.source]
    # results/t0/lab__m and results/t1/lab__m are "t0" and "t1", not "t0/lab/m" and "t1/lab/m".
    folders, models = ({place[at] for place in places} for at in (0, 1))
    used = 1 if len(models) == 1 and len(folders) > 1 else 2
    paths = ["/".join(_place(run)[:used]) if run.source else run.label for run in runs]
    ends = zip(runs, shortest_ends([path.rstrip("/") for path in paths]), strict=True)
    labels = [end or run.model if run.source else run.label for run, end in ends]
    if len({*labels}) < len(runs):
        # `lmms-rpts score` writes several models into one folder.
        labels = _told_apart(labels, [run.model for run in runs])
        judged = [f"{label} ({run.judges})" for label, run in zip(labels, runs, strict=True)]
        labels = _told_apart(labels, judged)
    taken = {label for label, number in Counter(labels).items() if number == 1}
    for at, label in enumerate(labels):
        if label not in taken:
            numbered = (f"{label} ({number})" for number in itertools.count(1))
            labels[at] = next(name for name in numbered if name not in taken)
            taken.add(labels[at])
    return [replace(run, label=label) for run, label in zip(runs, labels, strict=True)]


def _place(run: Run) -> tuple[str, str]:
    """The folder of a run, and its model if lmms-eval made a folder for it therein."""
    # It makes "lab__model" for "pretrained=/data/lab/model".
    model = "/".join(run.source.split("/")[-2:])
    folders = [as_label(file.absolute().parent) for file in run.files]
    chosen = [folder.removesuffix(f"/{model.replace('/', '__')}") for folder in folders]
    return commonpath(chosen), model if chosen != folders else ""


def _told_apart(names: Sequence[str], longer: Sequence[str]) -> list[str]:
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
    named = zip(sets, models, strict=True)
    names = [rounds[0].label if len(rounds) == 1 else model for rounds, model in named]
    if len({*names}) < len(names):
        names = _told_apart(names, [f"{run.model} ({run.judges})" for run, *_ in sets])
        names = _told_apart(names, [run.label for run, *_ in sets])
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
    files = tuple(file for run in runs for file in run.files)
    return replace(runs[0], responses=tuple(ordered), files=files)
