"""Reading saved responses, by task and document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SAMPLES = "_samples_"


class ResponsesError(ValueError):
    """Saved responses that can't be read or that lack what is asked for."""


@dataclass
class SavedResponses:
    """Responses of one or several tasks.

    Each document has one response or one for each repeat. A document is named by its number in
    the data set (``doc_id``) or by its own ``id``; both may be used side by side.
    """

    path: str
    by_doc_id: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    by_id: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """The tasks that there are responses to."""
        return sorted({task for task, _ in (*self.by_doc_id, *self.by_id)})

    def find(self, task: str, doc_id: int, own_id: object) -> list[str] | None:
        """The responses to a document, None if none was saved."""
        found = self.by_doc_id.get((task, str(doc_id)))
        return found or self.by_id.get((task, str(own_id)))


def read_responses(path: str | Path) -> SavedResponses:
    """Read a ``--log_samples`` file, a JSONL of ``{"task", "doc_id" or "id", "response"}``, or all
    JSONL files below a folder.

    Raises:
        ResponsesError: naming the file and the line that can't be read.
    """
    root = Path(path).expanduser()
    if not root.exists():
        raise ResponsesError(f"replay: {root} does not exist; set samples=FILE to saved responses")
    files = sorted(root.rglob("*.jsonl")) if root.is_dir() else [root]
    if not files:
        raise ResponsesError(f"replay: there is no .jsonl file below {root}")
    saved = SavedResponses(str(root))
    for file in files:
        for place, entry in _entries(file):
            _add(saved, entry, place, _task_of(file))
    return saved


def _entries(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    # Not splitlines(): lmms-eval leaves line separators such as U+2028 inside its JSON.
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            place = f"{file}, line {number}"
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise ResponsesError(f"replay: {place} is no JSON: {error}") from None
            if not isinstance(entry, dict):
                raise ResponsesError(f"replay: {place} holds no JSON object")
            yield place, entry


def _task_of(file: Path) -> str | None:
    """lmms-eval names the task in the file's name only: DATE_samples_TASK.jsonl."""
    _, found, task = file.stem.partition(_SAMPLES)
    return task if found else None


def _add(
    saved: SavedResponses, entry: Mapping[str, Any], place: str, file_task: str | None
) -> None:
    task = entry.get("task", file_task)
    if not isinstance(task, str):
        raise ResponsesError(f'replay: {place} names no "task"')
    responses = [_clean(text) for text in _responses(entry, place)]
    if "doc_id" in entry:
        table, key = saved.by_doc_id, (task, str(entry["doc_id"]))
    elif "id" in entry:
        table, key = saved.by_id, (task, str(entry["id"]))
    else:
        raise ResponsesError(f'replay: {place} names neither "doc_id" nor "id"')
    if key in table and "response" not in entry:
        raise ResponsesError(
            f"replay: {place}: document {key[1]} of {task} was read already, from another run? "
            "Name one file, or a folder that holds one run"
        )
    table.setdefault(key, []).extend(responses)


def _responses(entry: Mapping[str, Any], place: str) -> list[str]:
    if "response" in entry:
        found = entry["response"]
    else:
        # lmms-eval leaves "resps" out where the filters changed nothing.
        found = entry.get("resps", entry.get("filtered_resps"))
    texts = found if isinstance(found, list) else [found]
    if len(texts) == 1 and isinstance(texts[0], list):
        texts = texts[0]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ResponsesError(f"replay: {place} holds no text as response or resps")
    return texts


def _clean(text: str) -> str:
    """Lone surrogates can be written as JSON escapes, but no file can hold them."""
    return text.encode("utf-8", "replace").decode("utf-8")
