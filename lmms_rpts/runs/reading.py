"""Reader of runs: samples files and their results files."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.masking import mask
from lmms_rpts.runs.record import R, Record
from lmms_rpts.runs.rounds import shortest_ends
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.samples import SAMPLES, RunError, holds_schema, read_samples_of

RESULTS = "_results.json"
# Arguments of wrappers that name what is loaded, the most telling first
_CHECKPOINTS = ("name", "pretrained", "model", "model_version", "model_name", "samples")


# What lmms-eval replaces by "__" in the folder that it makes for a model, as in "lab/model".
_NOT_IN_FOLDERS = re.compile(r'["<>:/\\|?*\[\]]+')


Foreign = Callable[[Path], Callable[[str | None], list[Run]] | None]
"""Finds the reader of third-party runs in a file or folder; None if it contains none."""


def read_runs_of(
    record: type[R], paths: Iterable[str | Path], foreign: Foreign | None = None
) -> list[Run]:
    """Read runs from samples files, or from output folders of lmms-eval.

    A folder may contain several runs. Runs of one model that share no document are parts of one run
    and are joined; those that share documents are rounds. ``LABEL=PATH`` sets the label of a run;
    see ``name_runs`` for the others. The result does not depend on the order of ``paths``.

    Args:
        record: the type of the records.
        paths: files and folders.
        foreign: finds readers of third-party results; None: third-party results are not supported.

    Raises:
        RunError: with the file, the line and the remedy, if something cannot be read.
    """
    parts: list[Run] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        label, place = split_label(path)
        others = foreign(place) if foreign else None
        if others:
            parts.extend(others(label))
        # A folder may hold samples of lmms-eval beside the results of third parties.
        if not others or (place.is_dir() and _files(place)):
            parts.extend(_read_place(record, place, label))
    if not parts:
        raise RunError("No run found: pass the folder that lmms-eval wrote (--output_path)")
    runs = _join(record, parts)
    return name_runs(runs)


def types_in(paths: Iterable[str | Path], types: Iterable[type[Record]]) -> list[type[Record]]:
    """The record types that occur in the samples at these paths."""
    files = [file for path in paths for file in _files(split_label(path)[1])]
    try:
        return [each for each in types if any(holds_schema(file, each.SCHEMA) for file in files)]
    except OSError as error:
        raise RunError(_unreadable(Path(str(error.filename)), error)) from None


def split_label(path: str | Path) -> tuple[str | None, Path]:
    """The label of ``LABEL=PATH``, or None, and the path."""
    label, found, rest = str(path).partition("=")
    # A path may contain an equals sign itself; messages show the complete path.
    named = found and label and rest and not os.path.exists(path)
    if named and ("/" not in label or os.path.exists(os.path.expanduser(rest))):
        return _plain(label) or None, Path(os.path.expanduser(rest))
    return None, Path(os.path.expanduser(path))


def _read_place(record: type[R], place: Path, label: str | None) -> list[Run]:
    files = _files(place)
    if files == [place]:
        return [_read_run(record, files, label, whole=False)]
    if not files:
        raise RunError(
            f"No samples (*{SAMPLES}*.jsonl) in {place}: run lmms-eval with "
            "--log_samples --output_path FOLDER"
        )
    groups: dict[tuple[Path, str], list[Path]] = {}
    for file in files:
        groups.setdefault((file.parent, file.name.partition(SAMPLES)[0]), []).append(file)
    runs = [_read_run(record, group, label, whole=True) for group in groups.values()]
    runs = [run for run in runs if run.responses]
    if not runs:
        raise RunError(
            f"The samples in {place} are of other tasks, not scored by {record.FILTER}: "
            f"{', '.join(file.name for file in files[:3])}. Pass a run of {record.BENCHMARK}; "
            "lmms-rpts summarize, report and compare read those of all benchmarks"
        )
    return runs


def _files(place: Path) -> list[Path]:
    """The samples files at ``place``, by name."""
    try:
        whole = stat.S_ISDIR(place.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise RunError(
            f"{place} does not exist: pass the folder that lmms-eval wrote (--output_path)"
        ) from None
    except OSError as error:
        raise RunError(_unreadable(place, error)) from None
    if not whole and not place.name.endswith(RESULTS):
        return [place]
    start = "" if whole else place.name.removesuffix(RESULTS) + SAMPLES
    found = place.rglob("*.jsonl") if whole else place.parent.glob("*.jsonl")
    names = (each for each in found if SAMPLES in each.name and each.name.startswith(start))
    return sorted(each for each in names if not each.is_dir())


def _unreadable(place: Path, error: OSError) -> str:
    return f"Cannot read {place} ({error.strerror}): check the path and its permissions"


def _read_run(record: type[R], files: Sequence[Path], label: str | None, whole: bool) -> Run:
    """Read one run; ``whole``: files of other tasks are part of it and are ignored."""
    read = {file: read_samples_of(record, file, pass_over=whole) for file in files}
    ours = {file: found for file, found in read.items() if found is not None}
    results = read_results(files[0]) if ours else {}
    folder, checkpoint = files[0].absolute().parent, _loaded_from(results)
    model = label or model_name(results) or _cleaned(folder.name) or "model"
    responses = _sorted(each for found in ours.values() for each in found)
    source = _cleaned(checkpoint or folder.as_posix())
    if label:
        return Run(label, model, responses, results, tuple(ours))
    path = _path_of(folder, checkpoint or "")
    return Run(model, model, responses, results, tuple(ours), source, path)


def _path_of(folder: Path, checkpoint: str) -> tuple[str, str]:
    """The folder that the user chose for a run, and its model if lmms-eval made a folder for it.

    lmms-eval makes ``lab__model`` for ``pretrained=/data/lab/model``: the last two parts.
    """
    parts = checkpoint.split("/")[-2:]
    if _NOT_IN_FOLDERS.sub("__", "/".join(parts)) != folder.name:
        return folder.as_posix(), ""
    return folder.parent.as_posix(), "/".join(filter(None, parts))


def results_beside(samples: Path) -> Path:
    """The path of the results of a samples file."""
    return samples.with_name(samples.name.partition(SAMPLES)[0] + RESULTS)


def read_results(samples: Path) -> Mapping[str, Any]:
    """Read the results of a samples file; empty if there are none."""
    path = results_beside(samples)
    remedy = "copy it again, or remove it: the samples can be read without it"
    if SAMPLES not in samples.name or not path.is_file():
        return {}
    try:
        results = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"Cannot read {path} ({error}): {remedy}") from None
    if not isinstance(results, dict):
        raise RunError(f"{path} should be a JSON object, not {type(results).__name__}: {remedy}")
    return results


def model_name(results: Mapping[str, Any]) -> str | None:
    """A short name of the model: its checkpoint, else lmms-eval's wrapper."""
    source = _loaded_from(results)
    if source is None:
        return None
    return re.split(r"[/\\]", _cleaned(source))[-1] or None


def _cleaned(source: str) -> str:
    """A checkpoint, file or folder as text for tables, without secrets."""
    return _plain(mask(source).rstrip("/\\").removesuffix(".jsonl"))


def _arguments(given: object) -> Mapping[str, Any]:
    """The arguments of a model, which lmms-eval records as text or by name."""
    if isinstance(given, str):
        return dict(part.partition("=")[::2] for part in given.split(","))
    return given if isinstance(given, Mapping) else {}


def _loaded_from(results: Mapping[str, Any]) -> str | None:
    config = results.get("config")
    arguments = _arguments(config.get("model_args") if isinstance(config, dict) else None)
    given = {
        name.strip(): value.strip(" \"'")
        for name, value in arguments.items()
        if isinstance(value, str)
    }
    for name in _CHECKPOINTS:
        # "." is a location, but not a name.
        if given.get(name, "").strip("./\\"):
            return given[name]
    source = results.get("model_source")
    return source if isinstance(source, str) and source else None


def _join(record: type[R], parts: Sequence[Run]) -> list[Run]:
    """Join parts of one run: same model and settings, no common document."""
    files = [frozenset(file.resolve() for file in part.files) for part in parts]

    # As in "summarize results results/lab__model": the second is in the first.
    def known(at: int) -> bool:
        """Whether another part contains all files of this one."""
        return any(
            (files[at] < files[other] or (files[at] == files[other] and other < at))
            and (parts[other].model, parts[other].source) == (parts[at].model, parts[at].source)
            for other in range(len(parts))
        )

    joined: dict[int, Run] = {}
    wanted = [at for at in range(len(parts)) if not known(at)]
    # By date, since file names begin with it, so that the order of arguments doesn't matter.
    for at in sorted(wanted, key=lambda at: sorted((file.name, file) for file in files[at])):
        part = parts[at]
        for first, run in joined.items():
            if (
                (run.model, run.source) == (part.model, part.source)
                and record.mergeable(frozenset(run.scorings), frozenset(part.scorings))
                and not _numbers(run) & _numbers(part)
            ):
                responses = _sorted((*run.responses, *part.responses))
                files_of_both = (*run.files, *part.files)
                path = _common(run.path, part.path)
                whole = replace(run, responses=responses, files=files_of_both, path=path)
                del joined[first]
                joined[min(first, at)] = whole
                break
        else:
            joined[at] = part
    return [joined[at] for at in sorted(joined)]


def join_rounds(rounds: Sequence[Run], label: str) -> Run:
    """The rounds of a model as one run: each has further responses to the same documents."""
    if len(rounds) == 1:
        return rounds[0]
    repeats, responses = Counter[tuple[str, int]](), list[Any]()
    for each in chain.from_iterable(run.responses for run in rounds):
        document = each.place[:2]
        responses.append(each.model_copy(update={"repeat": repeats[document]}))
        repeats[document] += 1
    files = tuple(chain.from_iterable(run.files for run in rounds))
    path = reduce(_common, (run.path for run in rounds))
    return replace(rounds[0], label=label, responses=_sorted(responses), files=files, path=path)


def _numbers(run: Run) -> set[tuple[str, int]]:
    """Tasks and numbers of documents."""
    return {each.place[:2] for each in run.responses}


def _sorted(responses: Iterable[R]) -> tuple[R, ...]:
    return tuple(sorted(responses, key=lambda each: (*each.instance.key, *each.place)))


def _common(one: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
    """The path of a run whose parts have these paths."""
    folder = os.path.commonpath([one[0], other[0]]) if one[0] else ""
    return folder, one[1] if one[1] == other[1] else ""


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
        (_cleaned(end) or run.model) if run.path[0] else run.label
        for run, end in zip(runs, ends, strict=True)
    ]
    # `lmms-rpts score` writes several models into one folder.
    several = _differing(labels, [run.model for run in runs])
    labels = [
        run.model if label in several else label for run, label in zip(runs, labels, strict=True)
    ]
    several = _differing(labels, [run.judges for run in runs])
    labels = [
        f"{label} ({_plain(run.judges)})" if label in several else label
        for run, label in zip(runs, labels, strict=True)
    ]
    counts = Counter(labels)
    taken = {label for label in labels if counts[label] == 1}
    named = []
    for run, label in zip(runs, labels, strict=True):
        number, own = 1, label
        while counts[label] > 1 and (own == label or own in taken):
            number, own = number + 1, f"{label} ({number})"
        taken.add(own)
        named.append(replace(run, label=own))
    return named


def _differing(labels: Sequence[str], values: Sequence[str]) -> set[str]:
    """The labels that stand with different values."""
    found = Counter(label for label, _ in {*zip(labels, values, strict=True)})
    return {label for label, number in found.items() if number > 1}


def _plain(text: str) -> str:
    """Text for one line of a terminal, a table or a file."""
    return " ".join("".join(c if c.isprintable() else " " for c in storable(text)).split())
