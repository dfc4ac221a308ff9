"""Saved responses of models: where each is, by model, round, task and document.

Files are read twice: first to find the rows, then each row when its document is scored, so that
memory does not grow with the length of the responses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import SUFFIXES, Row, read_line_at, read_rows, row_files
from lmms_rpts.base.schema import first_fault
from lmms_rpts.runs.reading import SAMPLES
from lmms_rpts.runs.record import responses_of

# A likelihood, and whether it is the largest: ['-1.5', 'False'], or one text ['(1.5, False)'],
# perhaps in lists of options and of responses to one
_LIKELIHOOD = re.compile(
    r"\[+'?(?:-[\d.e+-]{1,40}|-inf|nan|0\.0)'?, '?(?:True|False)'?\]"
    r"|\[+'\([\w.(-]{1,40}\)?, (?:np\.)?(?:True|False)_?(?:, [-\w.]{1,40}, \d{1,9})?\)'\]"
)
_RECORD = re.compile(r'"schema"\s{0,9}:\s{0,9}"lmms_rpts\.')
# What lmms-eval writes into a line as numbers or objects beside the values of metrics
_NOT_METRICS = frozenset(
    {
        *("doc_id", "id", "doc", "target", "arguments", "resps", "filtered_resps", "response"),
        *(
            "token_counts",
            "input_media",
            "input",
            "metadata",
            "metrics",
            "model",
            "round",
            "rounds",
        ),
    }
)

# Where responses are; lmms-eval omits "resps" if the filters changed nothing.
_FIELDS = ("response", "resps", "filtered_resps")

Layout = Callable[[Row], Mapping[str, Any] | None]
"""The fields of a publisher's row by our names, None of any other row.

With ``rounds``, each of its responses is one round of the model.
"""


class ResponsesError(UserError):
    """Saved responses that cannot be read, or that lack requested documents."""


class LikelihoodError(ResponsesError):
    """Samples of a task that compares answer options by likelihood, without any text."""


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """The text of a model, None if there is none, and its token counts as lmms-eval names them."""

    text: str | None
    tokens: Mapping[str, int] | None = None


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
    """Where the responses to a document are, and what else was logged of it.

    Attributes:
        rows: its rows. Those of JSON lines are without their fields, and are read again.
        metrics: the values of the metrics that were logged; ``target``: the logged gold answer.
        is_logged: whether lmms-eval wrote them; ``has_record``: with a record of this package.
        texts: hash of the responses.
    """

    rows: list[Row]
    metrics: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    is_logged: bool = False
    has_record: bool = False
    texts: int = 0

    def entries(self) -> Iterator[tuple[Mapping[str, Any], SavedResponse]]:
        """The responses, one per repeat, each with the fields of its row."""
        for row in self.rows:
            entry = (row if row.offset is None else read_line_at(row.file, row.offset)).fields
            for text, tokens in responses_of(entry, *_FIELDS):
                yield entry, SavedResponse(text, tokens or None)

    def responses(self) -> list[SavedResponse]:
        """The responses; one per repeat."""
        return [response for _, response in self.entries()]


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
    files: list[Path] = field(default_factory=list)
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


_Groups = dict[RunKey, dict[DocumentKey, list[SavedDocument]]]
"""For each document of a run, what its rows hold of it."""


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
    saved, groups = SavedResponses(", ".join(str(path) for path in paths)), _Groups()
    likelihoods: LikelihoodError | None = None
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
        try:
            for row in read_rows(file):
                row = _checked(row, layouts)
                own_task = row.fields.get("task", task or default_task)
                if not isinstance(own_task, str):
                    raise ResponsesError(
                        f'{row.where} has no "task": add it to each line (for lmms-rpts score: '
                        "or set --task)"
                    )
                if only is not None and own_task not in only:
                    saved.passed_over.add(own_task)
                    continue
                _add(groups, row, own_task)
                saved.files += [file] * (file not in saved.files)
        except LikelihoodError as error:
            likelihoods = likelihoods or error
            saved.passed_over.add(task or file.name)
    if likelihoods and not groups:
        raise likelihoods
    for run, documents in groups.items():
        saved.runs[run] = {
            key: _join(key, parts) if len(parts) > 1 else parts[0]
            for key, parts in documents.items()
        }
    return saved


def _add(groups: _Groups, row: Row, task: str) -> None:
    """Add a row to those of the same document of the same run."""
    entry = row.fields
    kind = next((name for name in ("doc_id", "id") if name in entry), None)
    if kind is None or (not task and kind == "doc_id"):
        lacks = 'neither "doc_id" nor "id"' if kind is None else 'no "task", which "doc_id" needs'
        raise ResponsesError(f"{row.where} has {lacks}")
    name = entry[kind]
    if isinstance(name, float) and name.is_integer():
        name = int(name)  # pandas writes whole numbers so, in a column with gaps
    key, responses = DocumentKey(task, kind, str(name)), responses_of(entry, *_FIELDS)
    named = {name: entry[name] for name in RunKey._fields if entry.get(name) not in (None, "")}
    try:
        run = _RUN.validate_python(named)  # numbers may be texts
    except ValidationError as error:
        raise ResponsesError(f"{row.where}: {first_fault(error)}") from None
    metrics, target = {"accuracy": entry.get("accuracy")}, entry.get("target")
    if not (has_record := "filtered_resps" in entry and _has_record(entry)):
        others = {name: value for name, value in entry.items() if name not in _NOT_METRICS}
        metrics = {name: v for name, v in others.items() if isinstance(v, int | float | dict)}
    document = SavedDocument(
        [row if row.offset is None else replace(row, fields={})],
        metrics,
        target if isinstance(target, str) else None,
        is_logged="response" not in entry,
        has_record=has_record,
        texts=hash(tuple(text for text, _ in responses)),
    )
    if "rounds" not in entry:
        groups.setdefault(run, {}).setdefault(key, []).append(document)
        return
    # Further rows for a question are further rounds.
    first = next(at for at in count() if key not in groups.get(RunKey(run.model, at), {}))
    if first and not run.model and groups[RunKey("", 0)][key][0].rows[0].file == row.file:
        raise ResponsesError(
            f"{row.where} has a second response to {key.name}, and no 'model' to tell them "
            "apart: name the field of the model's name 'model', or write a file per round"
        )
    for at, (text, tokens) in enumerate(responses, first):
        fields = {"response": text, "token_counts": tokens}
        part = replace(document, rows=[replace(row, fields=fields)])
        groups.setdefault(RunKey(run.model, at), {})[key] = [part]


def _join(key: DocumentKey, parts: Sequence[SavedDocument]) -> SavedDocument:
    """A document of these rows. They are repeats, unless lmms-eval wrote them.

    It writes a row for each filter pipeline, and several processes may write the same ones. The row
    with a record has the complete response; in the others, there is the output of the task's own
    filters.
    """
    first, chosen = parts[0], [*parts]
    if first.is_logged:
        chosen = [part for part in parts if part.has_record] or chosen
    places = [part.rows[0] for part in parts]
    other = next((row for row in places if row.file != places[0].file), None)
    if other is None and first.is_logged and len({part.texts for part in chosen}) > 1:
        other = places[-1]
    if other is not None:
        raise ResponsesError(
            f"{other.where}: document {key.name} of {key.task} was already read from "
            f"{places[0].file}, perhaps from another run. Pass one file, or a folder with one run. "
            "(Or the outputs of several filter pipelines for one response: run the task with "
            "--reasoning_tags none, so that lmms-eval saves complete responses.)"
        )
    rows = [row for part in chosen for row in part.rows]
    metrics = {name: value for part in reversed(parts) for name, value in part.metrics.items()}
    return replace(first, rows=rows[:1] if first.is_logged else rows, metrics=metrics)


def _checked(row: Row, layouts: Sequence[Layout]) -> Row:
    """The row with the names of lmms-eval; a blank cell is a null, a failed request.

    Raises:
        ResponsesError: if it has no responses.
    """
    if row.fault:
        raise ResponsesError(f"{row.where} {row.fault}")
    fields = {"response": None, **row.fields} if "response" in row.cells else row.fields
    name = next((name for name in _FIELDS if name in fields), None)
    if name is None:
        for layout in layouts:
            if published := layout(row):
                return replace(row, fields=published, offset=None)
    if name == "filtered_resps" and _has_record(fields):
        raise ResponsesError(
            f'{row.where} has a scored record, but no "resps": the response itself is lost'
        )
    if name != "response" and _LIKELIHOOD.match(str(fields.get(name or ""))):
        raise LikelihoodError(
            f"{row.where} holds likelihoods of answer options, not a response: only free text can "
            "be scored"
        )
    responses = responses_of(fields, *_FIELDS) if name else []
    if not responses or not all(isinstance(text, str | None) for text, _ in responses):
        raise ResponsesError(f"{row.where} has no text as response or resps")
    return row if fields is row.fields else replace(row, fields=fields)


def _has_record(entry: Mapping[str, Any]) -> bool:
    """Whether a row has a record of this package."""
    texts = (text for text, _ in responses_of(entry, "filtered_resps"))
    return any(isinstance(text, str) and _RECORD.search(text[:200]) for text in texts)
