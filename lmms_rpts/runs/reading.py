"""Reader of runs: the samples files of lmms-eval (``--log_samples``) and their results files."""

from __future__ import annotations

import gc
import json
import os
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import listed, printable, storable, visible
from lmms_rpts.base.masking import mask
from lmms_rpts.base.schema import FieldError
from lmms_rpts.runs.record import Record, VersionError
from lmms_rpts.runs.run import Run, join_runs, name_runs, value_at

SAMPLES = "_samples_"
RESULTS = "_results.json"
# Arguments of wrappers that name what is loaded, the most telling first
_CHECKPOINTS = ("name", "pretrained", "model", "model_version", "model_name", "samples")
# What lmms-eval replaces by "__" in the folder that it makes for a model, as in "lab/model".
_NOT_IN_FOLDERS = re.compile(r'["<>:/\\|?*\[\]]+')
# The mark of a record, also of one that is no JSON any more
_SCHEMA = re.compile(r'"schema"\s{0,9}:\s{0,9}"([\w.]{1,80})"')
_CUT = (
    "The file was changed, or cut while it was written or copied: copy it again, pass the one that "
    f"lmms-eval wrote (*{SAMPLES}*.jsonl), or delete this line if it is the last"
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
    parts = defaultdict[tuple[str | None, Path, str, str], dict[Path, list[Record]]](dict)
    read_files: set[tuple[str | None, Path]] = set()
    for path in [paths] if isinstance(paths, str | Path) else paths:
        label, place = split_label(path)
        files = samples_files(place)
        # Predictions of third parties are JSON files, perhaps beside samples of lmms-eval.
        others = place.glob("*.json") if place.is_dir() else [place]
        asked = foreign if any(not each.name.endswith(RESULTS) for each in others) else ()
        published = [run for read in asked for run in read(place, label)]
        runs += published
        files = files if place.is_dir() or not published else []
        if not files and not published:
            raise RunError(
                f"No samples (*{SAMPLES}*.jsonl) in {place}: run lmms-eval with "
                "--log_samples --output_path FOLDER"
            )
        # As in "summarize results results/lab__model": the second is in the first.
        new = [file for file in files if (label, file.resolve()) not in read_files]
        read_files |= {(label, file.resolve()) for file in new}
        collects = gc.isenabled()
        gc.disable()  # it would look at the many new objects again and again: half of the time
        try:
            read = [each for file in new for each in _read_file(file, records, files != [place])]
        finally:
            if collects:
                gc.enable()
        for file, record in read:
            part = parts[label, file.parent, file.name.partition(SAMPLES)[0], record.SCHEMA]
            part.setdefault(file, []).append(record)
        if new and not read and not published:
            named = listed([file.name for file in files])
            raise RunError(f"The samples in {place} ({named}) {_no_record(records)}")
    runs += [_run(label, part) for (label, *_), part in parts.items()]
    if not runs:
        raise RunError("No run found: pass the folder that lmms-eval wrote (--output_path)")
    whole = _join(runs)
    by_kind = ([run for run in whole if schema == run.responses[0].SCHEMA] for schema in records)
    return [run for own in by_kind for run in name_runs(own)]


def _no_record(records: Records) -> str:
    return (
        f"hold no record of {', '.join(kind.BENCHMARK for kind in records.values())}. Score them "
        "with lmms-rpts score, or pass a run of a task with filters of lmms-rpts"
    )


def split_label(path: str | Path) -> tuple[str | None, Path]:
    """The label of ``LABEL=PATH``, or None, and the path."""
    label, mark, rest = str(path).partition("=")
    # A path may contain an equals sign itself; messages show the complete path.
    named = mark and label and rest and not os.path.exists(path)
    if named and ("/" not in label or os.path.exists(os.path.expanduser(rest))):
        return printable(storable(label)).strip() or None, Path(os.path.expanduser(rest))
    return None, Path(os.path.expanduser(path))


def samples_files(place: Path) -> list[Path]:
    """The samples files in a folder, of a results file, or the file itself; by name."""
    if not os.path.exists(place):
        raise RunError(
            f"{place} does not exist, or is out of reach: pass the folder that lmms-eval wrote "
            "(--output_path)"
        )
    start = "" if place.is_dir() else place.name.removesuffix(RESULTS) + SAMPLES
    if start and not place.name.endswith(RESULTS):
        return [place]
    files = place.parent.glob("*.jsonl") if start else place.rglob("*.jsonl")
    ours = (each for each in files if SAMPLES in each.name and each.name.startswith(start))
    return sorted(each for each in ours if not each.is_dir())


def _run(label: str | None, part: Mapping[Path, Sequence[Record]]) -> Run:
    """The run of one evaluation, from the records in its files."""
    files = tuple(part)
    results, folder = read_results(files[0]), files[0].absolute().parent
    checkpoint, model = model_of(results)
    model = label or model or _cleaned(folder.name) or "model"
    # lmms-eval makes "lab__model" for "pretrained=/data/lab/model".
    ending = "/".join(checkpoint.split("/")[-2:])
    source, path = _cleaned(checkpoint or folder.as_posix()), (_cleaned(folder.as_posix()), "")
    if label:  # by which parts with different checkpoints are joined
        source, path = "", ("", "")
    elif checkpoint and _NOT_IN_FOLDERS.sub("__", ending) == folder.name:
        path = (_cleaned(folder.parent.as_posix()), _cleaned(ending.strip("/")))
    responses = [record for own in part.values() for record in own]
    return join_runs([Run(model, model, (), results, files, source, path)], responses)


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


def model_of(results: Mapping[str, Any]) -> tuple[str, str]:
    """What was loaded by the arguments of the model, else lmms-eval's wrapper, and a short name.

    Both are empty if the results do not tell.
    """
    given = value_at(results, "config", "model_args")
    if isinstance(given, str):  # as lmms-eval records them: text, or values by name
        given = dict(part.partition("=")[::2] for part in given.split(","))
    pairs = given.items() if isinstance(given, Mapping) else ()
    texts = {name.strip(): value for name, value in pairs if isinstance(value, str)}
    named = (texts.get(name, "").strip(" \"'") for name in _CHECKPOINTS)
    # "." is a location, but not a name.
    checkpoint = next((value for value in named if value.strip("./\\")), None)
    source = checkpoint or results.get("model_source")
    source = source if isinstance(source, str) else ""
    return source, re.split(r"[/\\]", _cleaned(source))[-1]


def _cleaned(source: str) -> str:
    """A checkpoint, file or folder as text for tables; a secret may be in a URL."""
    source = mask(source) if {*"=:@"} & {*source} else source
    return printable(storable(source).rstrip("/\\").removesuffix(".jsonl"))


# --- samples files


def _read_file(file: Path, records: Records, pass_over: bool) -> list[tuple[Path, Record]]:
    """The scored responses of a file, without duplicates, each with the file.

    ``pass_over``: there are none in a file of another task, which is no error.
    """
    try:
        content = file.read_bytes().removeprefix(BOM_UTF8)
    except OSError as error:
        raise RunError(
            f"Cannot read {file} ({error.strerror}): check the path and its permissions"
        ) from None
    names_ours = any(schema.encode() in content for schema in records)
    if pass_over and not names_ours and content.rstrip().endswith(b"}"):
        return []
    responses: dict[tuple[int, str], list[Record]] = {}
    others: dict[int | None, str] = {}
    task = storable(file.stem.partition(SAMPLES)[2])
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{file}, line {number}"
        try:
            doc_id, read = _read_line(line, task, records)
        except FieldError as error:
            raise RunError(f"{place}: {error}") from None
        if not read:
            # A task with several pipelines has a line for each; only one has the record.
            others.setdefault(doc_id, f"{place}: samples of {task or 'no task'}")
        elif doc_id is not None:
            earlier = responses.setdefault((doc_id, read[0].SCHEMA), read)
            if earlier is not read and _uncounted(earlier) != _uncounted(read):
                raise RunError(
                    f"{place}: document {doc_id} occurs twice, with different responses: the file "
                    "contains several runs; use one file per run"
                )
    if not responses and not others:
        raise RunError(
            f"{file} is empty: the run ended before anything was scored. Run it again, or "
            "remove the file"
        )
    missing = others.keys() - {doc_id for doc_id, _ in responses}
    if missing and (responses or not pass_over):
        first = next(said for doc_id, said in others.items() if doc_id in missing)
        raise RunError(f"{first} {_no_record(records)}")
    return [(file, record) for read in responses.values() for record in read]


def _uncounted(responses: Sequence[Record]) -> list[Record]:
    return [record.model_copy(update={"tokens": None}) for record in responses]


def _read_line(line: bytes, task: str, records: Records) -> tuple[int | None, list[Record]]:
    """The number of a document, and its records, one per response; none: it is of another task.

    Raises:
        FieldError: with the remedy, if a record, or the line, cannot be read.
    """
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = visible(str(error)).replace("line 1 column", "column")
        raise FieldError(f"it is not a complete JSON object ({reason}). {_CUT}") from None
    written = entry.get("filtered_resps") if isinstance(entry, dict) else None
    values = [*written] if isinstance(written, list) else [written]
    # The record of a likelihood is in its first option; the others are empty.
    while len(values) > 1 and values[-1] == "":
        values.pop()
    schemas = [_SCHEMA.search(value) for value in values if isinstance(value, str)]
    kind = next((records[match[1]] for match in schemas if match and match[1] in records), None)
    if kind is None:
        doc_id = entry.get("doc_id") if isinstance(entry, dict) else None
        return doc_id if type(doc_id) is int else None, []
    # lmms-eval saves the list of a single request within a list.
    resps = entry.get("resps")
    texts = resps if isinstance(resps, list) else [resps]
    texts = texts[0] if len(texts) == 1 and isinstance(texts[0], list) else texts
    texts = [storable(text) if isinstance(text, str) else None for text in texts]
    # It keeps the count of the first response only; thinking is included.
    counts = entry.get("token_counts")
    counted = counts[0] if isinstance(counts, list) and counts else None
    tokens = counted.get("output_tokens") if isinstance(counted, dict) else None
    counts = [tokens if type(tokens) is int and 0 <= tokens < 2**63 else None]
    where = {"task": task or entry.get("task", "task"), "doc_id": entry.get("doc_id")}
    beside = zip_longest(values, texts[: len(values)], counts)
    try:
        # All values are records of one type, else parsing says what is wrong.
        read = [
            kind.parse(json.loads(str(value)), **where, repeat=at, text=text, tokens=count)
            for at, (value, text, count) in enumerate(beside)
        ]
    except VersionError:
        raise
    except (ValueError, TypeError, RecursionError) as error:  # FieldError, and those of JSON
        raise FieldError(
            f"{error}: the file was changed, or something else wrote it. Copy it again, or "
            f"{kind.AGAIN}"
        ) from None
    return read[0].instance.doc_id, read


# --- parts of runs


def _join(parts: Sequence[Run]) -> list[Run]:
    """Join parts of one run: same model and settings, no common document."""
    groups: list[tuple[Any, set[tuple[str, int]], dict[int, Run]]] = []
    # By date, since file names begin with it, so that the order of arguments doesn't matter.
    names = [sorted((file.name, file) for file in part.files) for part in parts]
    for at in sorted(range(len(parts)), key=names.__getitem__):
        part = parts[at]
        kind = (part.model, part.source, type(part.responses[0]), frozenset(part.scorings))
        documents = {record.place[:2] for record in part.responses}
        for other, taken, members in groups:
            if other == kind and not taken & documents:
                taken |= documents
                members[at] = part
                break
        else:
            groups.append((kind, documents, {at: part}))
    runs = []
    for _, _, members in sorted(groups, key=lambda group: min(group[2])):
        own = [*members.values()]
        _warn_of_missing(own)
        responses = [record for part in own for record in part.responses]
        runs.append(join_runs(own, responses) if len(own) > 1 else own[0])
    return runs


def _warn_of_missing(parts: Sequence[Run]) -> None:
    """Warn of documents that no part of a run has, by the sizes that their results tell."""
    for task in sorted({task for part in parts for task in part.tasks}):
        own = [part for part in parts if task in part.tasks]
        read = {each.place[1] for part in own for each in part.responses if each.place[0] == task}
        sizes = [value_at(part.results, "n-samples", task, "original") for part in own]
        expected = range(max((size for size in sizes if type(size) is int), default=0))
        if len(own) == 1:  # perhaps a part that was chosen with --offset and --limit
            first = value_at(own[0].results, "config", "offset") or 0
            number = value_at(own[0].results, "n-samples", task, "effective")
            # lmms-eval writes a limit of 8 as 8.0, and 0.1 of the documents as 0.1.
            whole = [int(n) for n in (first, number) if isinstance(n, int | float) and n % 1 == 0]
            expected = expected[whole[0] : sum(whole)] if len(whole) == 2 else range(0)
            if len(read) >= len(expected):
                continue
        missing = [number for number in expected if number not in read]
        spans = groupby(enumerate(missing), key=lambda pair: pair[1] - pair[0])
        numbers = [[number for _, number in span] for _, span in spans]
        if numbers:
            named = [str(n[0]) if len(n) == 1 else f"{n[0]} to {n[-1]}" for n in numbers]
            said = "{}: the samples lack documents of {}: {}. Is a part of the run missing?"
            logger.warning(said, parts[0].label, task, listed(named))


# --- prompts and gold answers, for reports

# Number of characters of a prompt that are read.
LONGEST = 20_000
# The line that stands for an image in a turn.
IMAGE = "[image]"


class Logged(NamedTuple):
    """What is logged of a document: its prompt as question, gold answer, and turns of the prompt.

    ``turns``: role and text of each turn of the prompt. Of a prompt without messages, the role is
    empty, and the images were passed beside the text.
    """

    question: str = ""
    target: str = ""
    turns: tuple[tuple[str, str], ...] = ()


def read_logged(
    files: Iterable[Path], wanted: Set[tuple[str, int]]
) -> dict[tuple[str, int], Logged]:
    """Read the prompts and gold answers of documents, by task and document.

    Lines that are not JSON objects are ignored.
    """
    found: dict[tuple[str, int], Logged] = {}
    for file in files:
        task = file.stem.partition(SAMPLES)[2]
        for line in file.read_bytes().split(b"\n"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            doc_id = entry.get("doc_id") if isinstance(entry, dict) else None
            if type(doc_id) is not int:  # not 1.0 and True, which equal 1
                continue
            key = (task or str(entry.get("task", "task")), doc_id)
            if key in wanted and key not in found:
                turns, target = _turns_of(entry.get("input")), entry.get("target")
                asked = "\n".join(text for _, text in turns)[:LONGEST]
                gold = storable(target[:LONGEST]) if isinstance(target, str) else ""
                found[key] = Logged(asked, gold, turns)
    return found


def _turns_of(prompt: object) -> tuple[tuple[str, str], ...]:
    """Role and text of each turn of a prompt, which is a string or messages."""
    if isinstance(prompt, str):
        return (("", storable(prompt)),)
    turns = []
    for message in prompt if isinstance(prompt, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text", IMAGE) if isinstance(part, dict) else part for part in parts]
        text = "\n".join(storable(each) for each in texts if isinstance(each, str))
        turns += [(storable(str(message.get("role", ""))), text)] if text else []
    return tuple(turns)
