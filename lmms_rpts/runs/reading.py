"""Reader of runs: the samples files of lmms-eval (``--log_samples``) and their results files."""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed, printable, storable, visible
from lmms_rpts.runs.record import Record, SavedResponse, responses_in, schema_in
from lmms_rpts.runs.run import Run, as_label, join_runs, name_runs, value_at

SAMPLES = "_samples_"
RESULTS = "_results.json"
# Arguments of wrappers that name what is loaded, the most telling first
_CHECKPOINTS = ("name", "pretrained", "model", "model_version", "model_name", "samples")
_DAMAGED = (
    "The file was changed, or cut while it was written or copied: copy it again, score the "
    "responses again (lmms-rpts score), or delete this line if it is the last"
)

Records = Mapping[str, type[Record]]
"""The types of records by their ``SCHEMA``."""
Foreign = Callable[[Path, str | None], list[Run]]
"""Reads third-party runs in a file or folder, given their label; none if it contains none."""


class RunError(UserError):
    """A run that cannot be read; the message names the file, the line and the remedy."""


def read_runs(
    paths: str | Path | Iterable[str | Path], records: Records, foreign: Sequence[Foreign] = ()
) -> list[Run]:
    """Read runs from samples files, or from output folders of lmms-eval; each file is read once.

    A folder may contain several runs. Each has the records of one benchmark; samples of other tasks
    in a folder are passed over. Runs of one model that share no document are parts of one run and
    are joined; those that share documents are rounds. ``LABEL=PATH`` sets the label of a run; see
    ``name_runs`` for the others. The result does not depend on the order of ``paths``.

    Raises:
        RunError: with the file, the line and the remedy, if something cannot be read.
    """
    runs: list[Run] = []
    # As in "summarize results results/lab__model": the second is in the first.
    read: dict[tuple[str | None, Path], list[Record]] = {}
    # One evaluation: the label, the folder, what the names of its files begin with, the benchmark
    parts = defaultdict[tuple[str | None, Path, str, str], dict[Path, list[Record]]](dict)
    for path in [paths] if isinstance(paths, str | Path) else paths:
        label, place = split_label(path)
        files = samples_files(place)
        # Predictions of third parties are JSON files, perhaps beside samples of lmms-eval.
        others = place.glob("*.json") if place.is_dir() else [place]
        asked = foreign if any(not file.name.endswith(RESULTS) for file in others) else ()
        published = [run for read_foreign in asked for run in read_foreign(place, label)]
        runs += published
        if not files and not published:
            raise RunError(
                f"No samples (*{SAMPLES}*.jsonl) in {place}: run lmms-eval with "
                "--log_samples --output_path FOLDER"
            )
        for file in files:
            if (label, file.resolve()) not in read:
                own = read[label, file.resolve()] = _read_file(file, records)
                stem = file.name.partition(SAMPLES)[0]
                for record in own:
                    part = parts[label, file.parent, stem, record.SCHEMA]
                    part.setdefault(file, []).append(record)
        if not published and not any(read[label, file.resolve()] for file in files):
            raise RunError(
                f"The samples in {place} ({listed([file.name for file in files])}) hold no record "
                f"of {', '.join(kind.BENCHMARK for kind in records.values())}. Score them with "
                "lmms-rpts score, or pass a run of a task with filters of lmms-rpts"
            )
    whole = _join_parts([*runs, *(_run(label, part) for (label, *_), part in parts.items())])
    by_kind = ([run for run in whole if schema == run.responses[0].SCHEMA] for schema in records)
    return [run for own in by_kind for run in name_runs(own)]


def split_label(path: str | Path) -> tuple[str | None, Path]:
    """The label of ``LABEL=PATH``, or None, and the path, which may contain an equals sign."""
    label, _, rest = str(path).partition("=")
    if rest and not os.path.exists(path) and os.path.exists(os.path.expanduser(rest)):
        return printable(storable(label)).strip() or None, Path(os.path.expanduser(rest))
    return None, Path(os.path.expanduser(path))


def samples_files(place: Path) -> list[Path]:
    """The samples files in a folder, of a results file, or the file itself; by name."""
    if not os.path.exists(place):
        raise RunError(
            f"{place} does not exist, or is out of reach: pass the folder that lmms-eval wrote "
            "(--output_path)"
        )
    if place.is_dir():
        return sorted(file for file in place.rglob(f"*{SAMPLES}*.jsonl") if file.is_file())
    if not place.name.endswith(RESULTS):
        return [place]
    start = place.name.removesuffix(RESULTS) + SAMPLES
    return sorted(file for file in place.parent.glob("*.jsonl") if file.name.startswith(start))


def _run(label: str | None, part: Mapping[Path, Sequence[Record]]) -> Run:
    """The run of one evaluation, from the records in its files."""
    files, responses = tuple(part), tuple(record for own in part.values() for record in own)
    results = read_results(files[0])
    source = model_of(results) or as_label(files[0].absolute().parent)
    model = source.rpartition("/")[2] or "model"
    if label:  # by which parts with different checkpoints are joined
        model, source = label, ""
    return join_runs([Run(model, model, responses, results, files, source)])


# --- results files


def results_beside(samples: Path) -> Path:
    """The path of the results of a samples file."""
    return samples.with_name(samples.name.partition(SAMPLES)[0] + RESULTS)


def read_results(samples: Path) -> Mapping[str, Any]:
    """Read the results of a samples file; empty if there are none."""
    path = results_beside(samples)
    if SAMPLES not in samples.name or not path.is_file():
        return {}
    try:
        results = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(results, dict):
            raise ValueError(f"a JSON object is expected, not {type(results).__name__}")
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            f"Cannot read {path} ({error}): copy it again, or remove it: the samples can be read "
            "without it"
        ) from None
    return results


def model_of(results: Mapping[str, Any]) -> str:
    """What was loaded by the arguments of the model, else lmms-eval's wrapper; may be empty.

    Its name is what follows the last slash.
    """
    given = value_at(results, "config", "model_args")
    if isinstance(given, str):  # as lmms-eval records them: text, or values by name
        given = dict(part.partition("=")[::2] for part in given.split(","))
    pairs = given.items() if isinstance(given, Mapping) else ()
    texts = {name.strip(): value.strip(" \"'") for name, value in pairs if isinstance(value, str)}
    named = [*(texts.get(name, "") for name in _CHECKPOINTS), results.get("model_source")]
    # "." is a location, but not a name.
    sources = (value for value in named if isinstance(value, str) and value.strip("./\\"))
    return as_label(next(sources, ""))


# --- samples files


def _read_file(file: Path, records: Records) -> list[Record]:
    """The scored responses of a file, without duplicates; none of a file of another task."""
    try:
        content = file.read_bytes().removeprefix(BOM_UTF8)
    except OSError as error:
        raise RunError(
            f"Cannot read {file} ({error.strerror}): check the path and its permissions"
        ) from None
    if not any(schema.encode() in content for schema in records):
        return []
    documents: dict[tuple[str, int], list[Record]] = {}
    task = storable(file.stem.partition(SAMPLES)[2])
    for number, line in enumerate(content.splitlines(), 1):
        try:
            responses = _records_in(line, task, records) if line.strip() else []
        except (ValueError, TypeError, RecursionError) as error:  # of JSON, and FieldError
            reason = visible(str(error)).replace("line 1 column", "column")
            raise RunError(f"{file}, line {number} cannot be read: {reason}. {_DAMAGED}") from None
        if responses:
            document = (responses[0].SCHEMA, responses[0].place[1])
            # Several processes may write the same line.
            if documents.setdefault(document, responses) != responses:
                raise RunError(
                    f"{file}, line {number}: document {document[1]} occurs twice, with different "
                    "responses: the file contains several runs; use one file per run"
                )
    return [record for responses in documents.values() for record in responses]


def _records_in(line: bytes, task: str, records: Records) -> list[Record]:
    """The records of a line, one per response; none: it is of another task, or of a filter pipeline
    that makes none.
    """
    entry = json.loads(line)
    kind = records.get(schema_in(entry)) if isinstance(entry, dict) else None
    if kind is None:
        return []
    # The record of a likelihood is in its first option; the others are empty.
    written = [each.text for each in responses_in(entry, "filtered_resps") if each.text != ""]
    saved = chain(responses_in(entry, "resps"), repeat(SavedResponse()))
    return [
        kind.parse(
            json.loads(text),
            task=task or entry.get("task", "task"),
            doc_id=entry.get("doc_id"),
            repeat=at,
            text=response.text if isinstance(response.text, str) else None,
            # lmms-eval counts the tokens of the first response only; thinking is included.
            tokens=None if at else response.tokens.get("output_tokens"),
            logged=response,
        )
        for at, (text, response) in enumerate(zip(written, saved, strict=False))
    ]


# --- parts of runs


def _join_parts(parts: Sequence[Run]) -> list[Run]:
    """Join parts of one run: same model and settings, no common document."""
    kinds = [
        (part.model, part.source, type(part.responses[0]), frozenset(part.scorings))
        for part in parts
    ]
    documents = [{record.place[:2] for record in part.responses} for part in parts]
    # By date, since file names begin with it, so that the order of arguments doesn't matter.
    names = [sorted((file.name, file) for file in part.files) for part in parts]
    groups: list[list[int]] = []
    for at in sorted(range(len(parts)), key=names.__getitem__):
        for group in groups:
            same = all(kinds[member] == kinds[at] for member in group)
            if same and all(documents[member].isdisjoint(documents[at]) for member in group):
                group.append(at)
                break
        else:
            groups.append([at])
    runs = [[parts[at] for at in sorted(group)] for group in sorted(groups, key=min)]
    for own in runs:
        _warn_of_missing(own)
    return [join_runs(own) for own in runs]


def _warn_of_missing(parts: Sequence[Run]) -> None:
    """Warn of documents that no part of a run has, by the sizes that their results tell."""
    places = {record.place[:2] for part in parts for record in part.responses}
    for task, number in sorted(Counter(task for task, _ in places).items()):
        own = [part.results for part in parts if task in part.tasks]
        sizes = [value_at(own[0], "n-samples", task, name) for name in ("original", "effective")]
        sizes.append(value_at(own[0], "config", "offset") or 0)
        if not all(isinstance(size, int | float) for size in sizes):
            continue
        size, effective, offset = sizes
        if len(own) == 1:  # perhaps chosen with --offset and --limit, which may be a share
            size = min(effective, size - offset)
        if number < size:
            warning = "{}: the samples have {} of {:.0f} documents of {}: is a part of it missing?"
            logger.warning(warning, parts[0].label, number, size, task)
