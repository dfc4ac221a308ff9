"""Saved responses of models: where each is, by model, round, task and document.

Files are read twice: first to find the rows, then each row when its document is scored, so that
memory does not grow with the length of the responses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import (
    SUFFIXES,
    ReadError,
    Row,
    literal,
    read_line_at,
    read_rows,
    row_files,
)
from lmms_rpts.base.schema import first_fault
from lmms_rpts.runs.reading import SAMPLES

# A likelihood, and whether it is the largest: ['-1.5', 'False'], or one text ['(1.5, False)'],
# perhaps in lists of options and of responses to one
_LIKELIHOOD = re.compile(
    r"\[+'?(?:-[\d.e+-]{1,40}|-inf|nan|0\.0)'?, '?(?:True|False)'?\]"
    r"|\[+'\([\w.(-]{1,40}\)?, (?:np\.)?(?:True|False)_?(?:, [-\w.]{1,40}, \d{1,9})?\)'\]"
)
_RECORD = re.compile(r'"schema"\s{0,9}:\s{0,9}"lmms_rpts\.')
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")
# What lmms-eval writes into a line beside the values of metrics
_NOT_METRICS = frozenset(
    {
        *("doc_id", "id", "task", "doc", "target", "arguments", "resps", "filtered_resps"),
        *("response", "token_counts", "doc_hash", "input_media", "input", "messages", "metadata"),
        *("prompt_hash", "target_hash", "filter", "metrics", "model", "round", "rounds"),
    }
)
_PUBLISHED = {"problem_id": "id", "model_response": "response"}  # of CMMaTH's code
_INFERENCE = re.compile(r"inference_\d{1,4}")
"""The name of a round in predictions of FlagEvalMM."""


class ResponsesError(UserError):
    """Saved responses that cannot be read, or that lack requested documents."""


class LikelihoodError(ResponsesError):
    """Samples of a task that compares answer options by likelihood, without any text."""


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """The text of a model, None if there is none, and its token counts: ``_COUNTS``."""

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
        rows: its rows, each with the number of its response if the row holds all rounds. Rows of
            JSON lines are without their fields, and are read again.
        metrics: the values of the metrics that were logged; ``target``: the logged gold answer.
        recorded: whether they hold a record of this package.
        texts: hash of the responses; ``fault``: counts unless a row with a record follows.
    """

    rows: list[tuple[Row, int | None]]
    recorded: bool = False
    metrics: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    texts: int = 0
    fault: ResponsesError | None = None

    def entries(self) -> Iterator[tuple[Mapping[str, Any], SavedResponse]]:
        """The responses, one per repeat, each with the fields of its row."""
        for row, at in self.rows:
            entry = _entry_of(row if row.offset is None else read_line_at(row.file, row.offset))
            responses = _responses_in(entry, row)
            for response in responses if at is None else responses[at : at + 1]:
                yield entry, response

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
    # The first round of a file with all rounds of each model, after those of the files before it
    _first: dict[tuple[Path, str], int] = field(default_factory=dict)

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


def read_responses(
    *paths: str | Path, only: Collection[str] | None = None, default_task: str | None = None
) -> SavedResponses:
    """Find the responses in ``--log_samples`` files, in rows of ``{"task", "doc_id" or "id",
    "response"}`` in any format of ``rows``, and in the predictions of ROME's publishers.

    Rows with ``model`` or ``round`` are of several runs; predictions of the publishers hold all
    rounds of a question.

    Args:
        paths: files, and folders whose JSONL files are read.
        only: the wanted tasks; None: all.
        default_task: the task of responses if neither the row nor the file name contains it;
            "": only their ``id`` counts.
    """
    saved = SavedResponses(", ".join(str(path) for path in paths))
    likelihoods: LikelihoodError | None = None
    try:
        files: list[Path] = []
        for path in (Path(path).expanduser() for path in paths):
            if not path.exists():
                raise ResponsesError(f"{path} does not exist: pass saved responses")
            suffixes = [".jsonl"] if path.is_dir() and any(path.rglob("*.jsonl")) else SUFFIXES
            own = [path] if path.is_file() else row_files(path, suffixes)
            # Of a folder with samples of lmms-eval, only these.
            files += [file for file in own if SAMPLES in file.stem] or own
        for file in files:
            # Samples of lmms-eval name their task in the file name alone.
            task = file.stem.partition(SAMPLES)[2] or None
            try:
                for row in read_rows(file) if only is None or task in (None, *only) else ():
                    _add(saved, row, default_task if task is None else task, only)
            except LikelihoodError as error:
                likelihoods = likelihoods or error
                saved.passed_over.add(task or file.name)
            if task and only is not None and task not in only:
                saved.passed_over.add(task)
    except ReadError as error:
        raise ResponsesError(str(error)) from None
    if likelihoods and not saved.runs:
        raise likelihoods
    for document in (each for documents in saved.runs.values() for each in documents.values()):
        if document.fault and not document.recorded:
            raise document.fault
    return saved


def _add(saved: SavedResponses, row: Row, task: object, only: Collection[str] | None) -> None:
    """Add the responses of a row.

    lmms-eval saves a row for each filter pipeline. That with the record has the complete response;
    in the others, it saves the output of the task's own filters.
    """
    entry = _entry_of(row)
    task = entry.get("task", task)
    if not isinstance(task, str):
        raise ResponsesError(
            f'{row.where} has no "task": add it to each line (for lmms-rpts score: or set --task)'
        )
    if only is not None and task not in only:
        saved.passed_over.add(task)
        return
    kind = next((name for name in ("doc_id", "id") if name in entry), None)
    if kind is None or (not task and kind == "doc_id"):
        lacks = 'neither "doc_id" nor "id"' if kind is None else 'no "task", which "doc_id" needs'
        raise ResponsesError(f"{row.where} has {lacks}")
    name = entry[kind]
    if isinstance(name, float) and name.is_integer():
        name = int(name)  # pandas writes whole numbers so, in a column with gaps
    key, responses = DocumentKey(task, kind, str(name)), _responses_in(entry, row)
    named = {name: entry[name] for name in RunKey._fields if entry.get(name) not in (None, "")}
    try:
        run = _RUN.validate_python(named) if named else RunKey()  # numbers may be texts
    except ValidationError as error:
        raise ResponsesError(f"{row.where}: {first_fault(error)}") from None
    if row.file not in saved.files:
        saved.files.append(row.file)
    metrics, target = {"accuracy": entry.get("accuracy")}, entry.get("target")
    if not (recorded := "filtered_resps" in entry and _holds_record(entry)):
        others = {name: value for name, value in entry.items() if name not in _NOT_METRICS}
        metrics = {name: v for name, v in others.items() if isinstance(v, int | float | dict)}
    document = SavedDocument(
        [(row if row.offset is None else replace(row, fields={}), None)],
        recorded,
        metrics,
        target if isinstance(target, str) else None,
        hash(tuple(response.text for response in responses)),
    )
    if "rounds" not in entry:
        earlier = saved.runs.setdefault(run, {}).setdefault(key, document)
        if earlier is not document:
            _join(earlier, document, key, row.where, "response" in entry)
        return
    # Not the first round without the question: one that a file lacks failed in its round.
    rounds = [each.round or 0 for each in saved.runs if each.model == run.model]
    first = saved._first.setdefault((row.file, run.model), max(rounds, default=-1) + 1)
    while key in saved.runs.get(RunKey(run.model, first), {}):
        first += 1  # a row for each round
        if not run.model:
            raise ResponsesError(
                f"{row.where} has a second response to {key.name}, and no 'model' to tell them "
                "apart: name the field of the model's name 'model', or write a file per round"
            )
    for at in range(len(responses)):
        part = replace(document, rows=[(document.rows[0][0], at)])
        saved.runs.setdefault(RunKey(run.model, first + at), {})[key] = part


def _join(
    earlier: SavedDocument, document: SavedDocument, key: DocumentKey, place: str, repeats: bool
) -> None:
    """Add responses to those of a document; ``repeats``: those of several rows are its repeats."""
    file = earlier.rows[0][0].file
    same_file = file == document.rows[0][0].file
    earlier.metrics = {**document.metrics, **earlier.metrics}
    if same_file and repeats:
        earlier.rows += document.rows
    elif same_file and document.recorded != earlier.recorded:
        if document.recorded:
            earlier.rows, earlier.recorded = document.rows, True
            earlier.texts = document.texts
    elif not same_file or document.texts != earlier.texts:  # several processes write the same line
        fault = ResponsesError(
            f"{place}: document {key.name} of {key.task} was already read from {file}, perhaps "
            "from another run. Pass one file, or a folder with one run. (Or the outputs of several "
            "filter pipelines for one response: run the task with --reasoning_tags none, so that "
            "lmms-eval saves complete responses.)"
        )
        if not same_file:
            raise fault
        earlier.fault = earlier.fault or fault


# --- the responses in a row


def _entry_of(row: Row) -> Mapping[str, Any]:
    """The fields of a row by the names of lmms-eval; a blank cell is a null, a failed request."""
    if row.fault:
        raise ResponsesError(f"{row.where} {row.fault}")
    fields = dict(row.fields)
    answered = {"raw_answer", "answer", "reason"} & {*fields, *row.cells}
    if ("question_id" in fields or row.key) and answered and not {"response", "resps"} & {*fields}:
        return _prediction(row)
    if _PUBLISHED.keys() <= fields.keys() and not {*_PUBLISHED.values()} & fields.keys():
        fields |= {name: fields[other] for other, name in _PUBLISHED.items()}
    return {"response": None} | fields if "response" in row.cells else fields


def _prediction(row: Row) -> Mapping[str, Any]:
    """A row in a layout of ROME's publishers as a row of ours.

    They are one object, a list, or objects by ``question_id``; files with scores have the response
    as ``raw_answer``. FlagEvalMM and the release BAAI/ROME-Evaluated hold all ``rounds`` of a
    question in one row, the latter as text, with ``model`` and ``usage``. Their ``task`` is a
    subtask, not a task of lmms-eval.
    """
    fields, rounds = row.fields, row.fields.get("num_inferences")
    answers = _each_round(fields.get("raw_answer", fields.get("answer")), rounds) or [None]
    if wrong := [each for each in answers if not isinstance(each, str | None)]:
        raise ResponsesError(f"{row.where}: an answer should be a text or null, not {wrong[0]!r}")
    columns = [_each_round(fields.get(name), rounds) for name in ("reason", "usage")]
    # Of another number of rounds: they belong to none.
    nothing = [None] * len(answers)
    reasons, usages = (each if len(each) == len(answers) else nothing for each in columns)
    texts = []
    for reason, answer in zip(reasons, answers, strict=True):
        thinking = reason if isinstance(reason, str) and reason.strip() else ""
        # Tags as models write them, so that one splitter finds the thinking.
        if thinking and "</think>" not in thinking:
            thinking = f"<think>{thinking}</think>\n"
        texts.append(None if answer is None else f"{thinking}{answer}")
    model = fields.get("model")
    return {
        "rounds": len(texts),
        "id": fields.get("question_id", row.key),
        "response": texts,
        "token_counts": [_tokens_in(usage) for usage in usages],
        **({"model": model} if isinstance(model, str) and model.strip() else {}),
    }


def _each_round(value: object, rounds: object) -> list[Any]:
    """The values of a field, one for each round; ``rounds``: their number if the row has it.

    A field with several is a list, an object such as ``{"inference_0": "A"}``, or the text of one.
    """
    values = _decoded(value)
    if isinstance(values, dict) and all(_INFERENCE.fullmatch(str(name)) for name in values):
        # A round that is not there keeps its place.
        numbered = {int(str(name).partition("_")[2]): each for name, each in values.items()}
        return [numbered.get(at) for at in range(max(numbered) + 1)] if numbered else []
    # A single answer may look like a list: "['A', 'B']".
    if isinstance(values, list) and (values is value or len(values) == rounds):
        return values
    return [] if value is None else [value]


def _decoded(value: object) -> Any:
    """The list or object whose text a value is; else the value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            return literal(value)
    return value


def _tokens_in(usage: object) -> dict[str, Any] | None:
    """Token counts of lmms-eval, from those of an OpenAI-compatible server."""
    usage = _decoded(usage)
    if not isinstance(usage, dict):
        return None
    read, written, total = (
        usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total")
    )
    if isinstance(read, int) and isinstance(written, int) and isinstance(total, int):
        written = max(written, total - read)  # some servers count thinking in the total alone
    details = usage.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return dict(zip(_COUNTS, (read, written, thought), strict=True))


def _responses_in(entry: Mapping[str, Any], row: Row) -> list[SavedResponse]:
    """The responses in the fields of a row; a null is a failed request.

    Raises:
        ResponsesError: if there are none.
    """
    # lmms-eval omits "resps" if the filters changed nothing.
    name = next((each for each in ("response", "resps") if each in entry), "filtered_resps")
    if name == "filtered_resps" and _holds_record(entry):
        raise ResponsesError(
            f'{row.where} has a scored record, but no "resps": the response itself is lost'
        )
    if name != "response" and _LIKELIHOOD.match(str(entry.get(name))):
        raise LikelihoodError(
            f"{row.where} holds likelihoods of answer options, not a response: only free text can "
            "be scored"
        )
    # lmms-eval saves the list of a single request within a list.
    texts = entry[name] if isinstance(entry.get(name), list) else [entry.get(name)]
    texts = texts[0] if len(texts) == 1 and isinstance(texts[0], list) else texts
    if name not in entry or not texts or not all(isinstance(each, str | None) for each in texts):
        raise ResponsesError(f"{row.where} has no text as response or resps")
    counts = entry.get("token_counts")
    tokens = [
        {name: n for name in _COUNTS if type(n := each.get(name)) is int and n >= 0}
        if isinstance(each, dict)
        else {}
        for each in (counts if isinstance(counts, list) else [counts])
    ]
    return [
        SavedResponse(None if text is None else storable(text), counted or None)
        for text, counted in zip_longest(texts, tokens[: len(texts)], fillvalue=None)
    ]


def _holds_record(entry: Mapping[str, Any]) -> bool:
    """Whether a row has a record of this package."""
    values = entry.get("filtered_resps")
    texts = values if isinstance(values, list) else [values]
    return any(isinstance(text, str) and _RECORD.search(text[:200]) for text in texts)
