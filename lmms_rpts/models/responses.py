"""Reader of saved responses, by task and document."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import storable

CUT_SHORT = (
    "breaks off: the file was cut short while it was written or copied. Copy it again, or delete "
    "this last line to go on without it"
)
"""What is wrong with a last line that is no whole JSON, and what to do."""

_SAMPLES = "_samples_"
_SCHEMAS = "lmms_rpts."
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")

_PIPELINES = (
    ". (Or what several pipelines of filters left of one response: run the task with "
    "--reasoning_tags none, which has lmms-eval save responses whole.)"
)


class ResponsesError(UserError):
    """Saved responses that can't be read or that lack what is asked for."""


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """What a model wrote, and what it counted: input_tokens, output_tokens, reasoning_tokens."""

    text: str
    tokens: Mapping[str, int] | None = None


Table = dict[tuple[str, str], list[SavedResponse]]


@dataclass
class SavedResponses:
    """Responses of one or several tasks.

    Each document has one response or one for each repeat. A document is named by its number in
    the data set (``doc_id``) or by its own ``id``; both may be used side by side.

    Attributes:
        path: what was read, for messages.
        files: the files that the responses stand in.
        passed_over: tasks of responses that were not asked for.
    """

    path: str
    by_doc_id: Table = field(default_factory=dict)
    by_id: Table = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    passed_over: set[str] = field(default_factory=set)

    @property
    def tasks(self) -> list[str]:
        """The tasks that there are responses to."""
        return sorted({task for task, _ in (*self.by_doc_id, *self.by_id)})

    def responses(self, task: str, doc_id: int, own_id: object) -> list[SavedResponse]:
        """The responses to a document; none if none was saved."""
        found = self.by_doc_id.get((task, str(doc_id)))
        return found or self.by_id.get((task, str(own_id)), [])


def read_responses(
    *paths: str | Path, only: Collection[str] | None = None, default_task: str | None = None
) -> SavedResponses:
    """Read ``--log_samples`` files, JSONL of ``{"task", "doc_id" or "id", "response"}``, or all
    JSONL files below folders.

    Args:
        paths: files and folders.
        only: the tasks whose responses are wanted; None: all.
        default_task: the task of responses that name none, nor does their file.

    Raises:
        ResponsesError: naming the file and the line that can't be read.
    """
    saved = SavedResponses(", ".join(str(path) for path in paths))
    owners: dict[tuple[str, str, str], Path] = {}
    for file in dict.fromkeys(file for path in paths for file in _files(Path(path))):
        task = _task_of(file)
        if only is not None and task is not None and task not in only:
            saved.passed_over.add(task)
            continue
        reader = _Reader(saved, file, task or default_task, only, owners)
        for place, entry in _entries(file):
            reader.add(entry, place)
        reader.finish()
    return saved


def _files(path: Path) -> list[Path]:
    try:
        root = path.expanduser()
        if not root.exists():
            raise ResponsesError(f"{root} does not exist; name saved responses")
        files = sorted(root.rglob("*.jsonl")) if root.is_dir() else [root]
    except (OSError, RuntimeError) as error:
        raise ResponsesError(f"{path} can't be read: {error}") from None
    if not files:
        raise ResponsesError(f"there is no .jsonl file below {root}")
    return files


def _entries(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        # Not splitlines(): lmms-eval leaves line separators such as U+2028 inside its JSON.
        with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    place = f"{file}, line {number}"
                    yield place, _entry(line, place)
    except OSError as error:
        raise ResponsesError(f"{file} can't be read: {error.strerror}") from None


def _entry(line: str, place: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        if line.lstrip().startswith("{") and not line.endswith("\n"):
            raise ResponsesError(f"{place} {CUT_SHORT}") from None
        raise ResponsesError(
            f"{place} is no JSON ({error}): copy the file again, or correct that line"
        ) from None
    if not isinstance(entry, dict):
        raise ResponsesError(f"{place} holds no JSON object")
    return entry


def _task_of(file: Path) -> str | None:
    """lmms-eval names the task in the file's name only: DATE_samples_TASK.jsonl."""
    _, found, task = file.stem.partition(_SAMPLES)
    return task if found else None


@dataclass(slots=True)
class _Reader:
    """Adds the entries of one file.

    Attributes:
        owners: the file that each document was read from.
        lines: the documents that this file has a line of; ``recorded``: those with our record.
        faults: what is wrong with documents, unless our record follows.
    """

    saved: SavedResponses
    file: Path
    task: str | None
    only: Collection[str] | None
    owners: dict[tuple[str, str, str], Path]
    lines: set[tuple[str, str, str]] = field(default_factory=set)
    recorded: set[tuple[str, str, str]] = field(default_factory=set)
    faults: dict[tuple[str, str, str], ResponsesError] = field(default_factory=dict)

    def add(self, entry: Mapping[str, Any], place: str) -> None:
        task = entry.get("task", self.task)
        if not isinstance(task, str):
            raise ResponsesError(
                f'{place} names no "task": add it to each line (for lmms-rpts score: or give '
                "--task, with one task)"
            )
        if self.only is not None and task not in self.only:
            self.saved.passed_over.add(task)
            return
        kind = next((name for name in ("doc_id", "id") if name in entry), None)
        if kind is None:
            raise ResponsesError(f'{place} names neither "doc_id" nor "id"')
        table = self.saved.by_doc_id if kind == "doc_id" else self.saved.by_id
        key, read = (task, str(entry[kind])), _responses(entry, place)
        owner = self.owners.setdefault((kind, *key), self.file)
        if owner == self.file and self._is_of_another_pipeline(entry, (kind, *key)):
            if _holds_record(entry):
                table[key] = read
            return
        if owner != self.file or (key in table and "response" not in entry):
            if owner == self.file and table[key] == read:
                return  # written twice, as several processes do
            fault = ResponsesError(
                f"{place}: document {key[1]} of {task} was read already, from {owner}: another "
                "run? Name one file, or a folder that holds one run"
                + (_PIPELINES if owner == self.file else "")
            )
            if owner != self.file or "response" in entry:
                raise fault
            self.faults.setdefault((kind, *key), fault)
            return
        if _holds_record(entry):
            self.recorded.add((kind, *key))
        self.lines.add((kind, *key))
        table.setdefault(key, []).extend(read)
        if self.file not in self.saved.files:
            self.saved.files.append(self.file)

    def finish(self) -> None:
        """Raise for a document whose lines differ, as of several pipelines, and have no record."""
        for key, fault in self.faults.items():
            if key not in self.recorded:
                raise fault

    def _is_of_another_pipeline(self, entry: Mapping[str, Any], key: tuple[str, str, str]) -> bool:
        """Whether a line is a document's second, of a task with pipelines of its own beside ours.

        What the model wrote stands whole in the line with our record: lmms-eval saves what the
        task's own filters left of it in the others.
        """
        if key not in self.lines or "response" in entry:
            return False
        holds = _holds_record(entry)
        other = holds != (key in self.recorded)
        if other and holds:
            self.recorded.add(key)
        return other


def _holds_record(entry: Mapping[str, Any]) -> bool:
    found = entry.get("filtered_resps")
    return any(map(_is_record, found if isinstance(found, list) else [found]))


def _responses(entry: Mapping[str, Any], place: str) -> list[SavedResponse]:
    if "response" in entry:
        found = entry["response"]
    elif "resps" in entry:
        found = entry["resps"]
    else:
        # lmms-eval leaves "resps" out where the filters changed nothing.
        found = entry.get("filtered_resps")
        if _holds_record(entry):
            raise ResponsesError(
                f'{place} holds a scored record, but no "resps": what the model wrote was lost'
            )
    texts = found if isinstance(found, list) else [found]
    if len(texts) == 1 and isinstance(texts[0], list):
        texts = texts[0]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ResponsesError(f"{place} holds no text as response or resps")
    counts = entry.get("token_counts")
    counts = counts if isinstance(counts, list) else [counts]
    return [
        SavedResponse(storable(text), _tokens(counts[at]) if at < len(counts) else None)
        for at, text in enumerate(texts)
    ]


def _is_record(value: object) -> bool:
    try:
        record = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and str(record.get("schema")).startswith(_SCHEMAS)


def _tokens(counts: object) -> Mapping[str, int] | None:
    if not isinstance(counts, dict):
        return None
    known = {name: counts.get(name) for name in _COUNTS}
    return {
        name: value for name, value in known.items() if type(value) is int and value >= 0
    } or None
