"""Saved responses of models: where each is, by model, round, task and document.

Files are read twice: first to find the rows, then each row when its document is scored, so that
memory does not grow with the length of the responses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import SUFFIXES, Row, read_line_at, read_objects, row_files
from lmms_rpts.base.schema import first_fault
from lmms_rpts.runs.reading import SAMPLES
from lmms_rpts.runs.record import SavedResponse, responses_in, schema_in

# A likelihood, and whether it is the largest: ['-1.5', 'False'], or one text ['(1.5, False)'],
# perhaps in lists of options and of responses to one
_LIKELIHOOD = re.compile(
    r"\[+'?(?:-[\d.e+-]{1,40}|-inf|nan|0\.0)'?, '?(?:True|False)'?\]"
    r"|\[+'\([\w.(-]{1,40}\)?, (?:np\.)?(?:True|False)_?(?:, [-\w.]{1,40}, \d{1,9})?\)'\]"
)
# What lmms-eval writes into a line as numbers or objects beside the values of metrics
_NOT_METRICS = {
    *("doc_id", "id", "doc", "target", "arguments", "input", "input_media", "metadata", "metrics"),
    *("resps", "filtered_resps", "response", "token_counts", "model", "round", "rounds"),
}
# Where responses are; lmms-eval omits "resps" if the filters changed nothing.
_FIELDS = ("response", "resps", "filtered_resps")

Layout = Callable[[Row], Mapping[str, Any] | None]
"""The fields of a publisher's row by our names, None of any other row.

With ``rounds``, each of its responses is one round of the model.
"""


class ResponsesError(UserError):
    """Saved responses that cannot be read, or that lack requested documents."""


class RunKey(NamedTuple):
    """The responses of one run: its model (empty: not named), and its round, if rows have one."""

    model: str = ""
    round: NonNegativeInt | None = None


_RUN = TypeAdapter(RunKey, config=ConfigDict(coerce_numbers_to_str=True))


class DocumentKey(NamedTuple):
    """A document as rows name it: by its number in the task (``doc_id``), or by its own ``id``."""

    task: str
    kind: str
    name: str


@dataclass(slots=True)
class SavedDocument:
    """Where the responses to a document are; without rows, the request of the model failed.

    Attributes:
        rows: its rows. Those of JSON lines are without their fields, and are read again.
    """

    rows: list[Row] = field(default_factory=list)

    def responses(self) -> list[SavedResponse]:
        """The responses; one per repeat."""
        entries = self._entries()
        if len(entries) > 1:
            entries = _logged(entries)[:1] or entries
        responses = [each for entry in entries for each in responses_in(entry, *_FIELDS)]
        return responses or [SavedResponse()]

    def metrics(self) -> dict[str, Any]:
        """The values of the metrics that were logged, by name: numbers, or objects with them."""
        values: dict[str, Any] = {}
        for entry in self._entries():
            # Beside a record of ours, the other metrics are ours.
            names = ["accuracy"] if schema_in(entry) else [*entry]
            for name in names:
                if name not in _NOT_METRICS and isinstance(entry.get(name), int | float | dict):
                    values.setdefault(name, entry[name])
        return values

    def check(self, key: DocumentKey) -> None:
        """Raise a ResponsesError if its rows are of several runs.

        Rows of one file are repeats, unless lmms-eval wrote them: those of several filter pipelines
        or processes have one response.
        """
        first, *others = self.rows
        other = next((row for row in others if row.file != first.file), None)
        if others and other is None:
            texts = [
                [each.text for each in responses_in(entry, *_FIELDS)]
                for entry in _logged(self._entries())
            ]
            other = others[-1] if any(each != texts[0] for each in texts) else None
        if other is not None:
            raise ResponsesError(
                f"{other.where}: document {key.name} of {key.task} was already read from "
                f"{first.file}, perhaps from another run. Pass one file, or a folder with one run. "
                "(Or the outputs of several filter pipelines for one response: run the task with "
                "--reasoning_tags none, so that lmms-eval saves complete responses.)"
            )

    def _entries(self) -> list[Mapping[str, Any]]:
        """The fields of its rows."""
        return [
            (row if row.offset is None else read_line_at(row.file, row.offset)).fields
            for row in self.rows
        ]


@dataclass
class SavedResponses:
    """Responses of one or several models to one or several tasks.

    Attributes:
        path: the paths that were read, for messages.
        runs: the documents with responses, by run.
        files: the files of the responses.
        passed_over: tasks with responses that are not wanted, or with likelihoods only.
    """

    path: str
    runs: dict[RunKey, dict[DocumentKey, SavedDocument]] = field(default_factory=dict)
    files: dict[Path, None] = field(default_factory=dict)
    passed_over: set[str] = field(default_factory=set)
    _used: dict[tuple[RunKey, DocumentKey], str] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """The tasks that have responses."""
        return sorted({key.task for documents in self.runs.values() for key in documents})

    def find(
        self, task: str, doc_id: int, own_id: object, run: RunKey | None = None
    ) -> SavedDocument | None:
        """The responses to a document; with ``id``, rows may name its group, or no task.

        Raises:
            ResponsesError: if they were used for a document of another task already.
        """
        run = run or next(iter(self.runs), RunKey())
        documents = self.runs.get(run, {})
        if document := documents.get(DocumentKey(task, "doc_id", str(doc_id))):
            return document
        # rome_geo_en may be saved as rome_geo_en, rome_geo, rome or "".
        parts = task.split("_")
        for end in range(len(parts), -1, -1):
            key = DocumentKey("_".join(parts[:end]), "id", str(own_id))
            if key not in documents:
                continue
            first = task if end == len(parts) else self._used.setdefault((run, key), task)
            if first != task:
                named = f" of {key.task}" if key.task else ""
                raise ResponsesError(
                    f"{self.path}: the id {key.name}{named} is in {first} and in {task}: set "
                    '"task" to one of them'
                )
            return documents[key]
        return None

    def add(self, row: Row, task: str) -> None:
        """Add a row of this task to the rows of its document."""
        entry, self.files[row.file] = row.fields, None
        kind = next((name for name in ("doc_id", "id") if name in entry), None)
        if kind is None or (not task and kind == "doc_id"):
            raise ResponsesError(f'{row.where} has neither "id" nor "doc_id" with a "task"')
        name = entry[kind]
        if isinstance(name, float) and name.is_integer():
            name = int(name)  # pandas writes whole numbers so, in a column with gaps
        key = DocumentKey(task, kind, str(name))
        named = {name: entry[name] for name in RunKey._fields if entry.get(name) not in (None, "")}
        try:
            run = _RUN.validate_python(named)  # numbers may be texts
        except ValidationError as error:
            raise row.error(first_fault(error)) from None
        if "rounds" not in entry:
            place = row if row.offset is None else replace(row, fields={})
            self.runs.setdefault(run, {}).setdefault(key, SavedDocument()).rows.append(place)
            return
        # Further rows for a question are further rounds.
        first = next(at for at in count() if key not in self.runs.get(RunKey(run.model, at), {}))
        if first and not run.model and self.runs[RunKey("", 0)][key].rows[0].file == row.file:
            raise ResponsesError(
                f"{row.where} has a second response to {key.name}, and no 'model' to tell them "
                "apart: name the field of the model's name 'model', or write a file per round"
            )
        for at, each in enumerate(responses_in(entry, *_FIELDS), first):
            place = replace(row, fields={"response": each.text, "token_counts": each.tokens})
            self.runs.setdefault(RunKey(run.model, at), {})[key] = SavedDocument([place])


def read_responses(
    *paths: str | Path,
    only: Collection[str] | None = None,
    default_task: str | None = None,
    layouts: Sequence[Layout] = (),
) -> SavedResponses:
    """Find the responses in ``--log_samples`` files, in rows of ``{"task", "doc_id" or "id",
    "response"}`` in any format of ``rows``, and in rows of these layouts of publishers.

    Rows with ``model`` or ``round`` are of several runs.

    Args:
        paths: files, and folders whose JSONL files are read.
        only: the wanted tasks; None: all.
        default_task: the task of responses if neither the row nor the file name contains it;
            "": only their ``id`` counts.
        layouts: further layouts of rows.
    """
    saved, unscorable = SavedResponses(", ".join(str(path) for path in paths)), ""
    files: list[Path] = []
    for path in (Path(path).expanduser() for path in paths):
        suffixes = [".jsonl"] if any(path.rglob("*.jsonl")) else SUFFIXES
        own = [path] if path.is_file() else row_files(path, suffixes)
        # Of a folder with samples of lmms-eval, only these.
        files += [file for file in own if SAMPLES in file.stem] or own
    for file in files:
        # Samples of lmms-eval name their task in the file name alone.
        task = file.stem.partition(SAMPLES)[2]
        if only is not None and task not in ("", *only):
            saved.passed_over.add(task)
            continue
        for line in read_objects(file):
            row = _checked(line, layouts)
            if row is None:
                unscorable = unscorable or line.where
                saved.passed_over.add(task or file.name)
                break
            own_task = row.fields.get("task", task or default_task)
            if not isinstance(own_task, str):
                raise ResponsesError(
                    f'{row.where} has no "task": add it to each line (for lmms-rpts score: '
                    "or set --task)"
                )
            if only is None or own_task in only:
                saved.add(row, own_task)
            else:
                saved.passed_over.add(own_task)
    if unscorable and not saved.runs:
        raise ResponsesError(
            f"{unscorable} holds likelihoods of answer options, not a response: only free text can "
            "be scored"
        )
    for documents in saved.runs.values():
        for key, document in documents.items():
            if len(document.rows) > 1:
                document.check(key)
    return saved


def _checked(row: Row, layouts: Sequence[Layout]) -> Row | None:
    """The row with the names of lmms-eval; a blank cell is a null, a failed request.

    None if it compares answer options by likelihood, without any text.

    Raises:
        ResponsesError: if it has no responses.
    """
    fields = {"response": None, **row.fields} if "response" in row.cells else row.fields
    names = {*_FIELDS} & {*fields}
    if not names:
        for layout in layouts:
            if published := layout(row):
                return replace(row, fields=published, offset=None)
    if "response" not in names and _LIKELIHOOD.match(
        str(fields.get("resps", fields.get("filtered_resps")))
    ):
        return None
    texts = [each.text for each in responses_in(fields, *_FIELDS)]
    if not names or not texts or not all(isinstance(text, str | None) for text in texts):
        raise ResponsesError(f"{row.where} has no text as response or resps")
    if names == {"filtered_resps"} and schema_in(fields):
        raise ResponsesError(
            f'{row.where} has a scored record, but no "resps": the response itself is lost'
        )
    return row if fields is row.fields else replace(row, fields=fields)


def _logged(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The entries with the responses to a document that lmms-eval wrote; none of other entries.

    It writes one for each filter pipeline, and several processes may write the same ones. That with
    a record has the complete response; the others have what the task's own filters left.
    """
    own = [entry for entry in entries if "response" not in entry]
    return [entry for entry in own if schema_in(entry)] or own
