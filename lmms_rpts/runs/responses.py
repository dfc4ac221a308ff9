"""Reader of saved responses, by task and document."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import ReadError, Row, literal, read_rows, row_files
from lmms_rpts.base.schema import shown
from lmms_rpts.runs.samples import holds_record, task_of, unwrapped

# Lists in each other: options, responses to one, a likelihood and whether it is the largest.
_DEEPEST = 3
_LIKELIHOOD = re.compile(
    r"\([\w.(-]{1,40}\)?, (?:np\.)?(?:True|False)_?(?:, [-\w.]{1,40}, \d{1,9})?\)"
)
_FIRST_ROWS = 100
FAILED = "[LMMS_EVAL_REQUEST_FAILED] "
_NOT_THERE = f"{FAILED}the file has no response"
_PUBLISHED = {"problem_id": "id", "model_response": "response"}  # of CMMaTH's code
_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")

_PIPELINES = (
    ". (Or the outputs of several filter pipelines for one response: run the task with "
    "--reasoning_tags none, so that lmms-eval saves complete responses.)"
)


class ResponsesError(UserError):
    """Saved responses that cannot be read, or that lack requested documents."""


class LikelihoodError(ResponsesError):
    """Samples of a task that compares answer options by likelihood, without any text.

    Attributes:
        others: other tasks of the files, by the names of the files.
    """

    def __init__(self, message: str, others: Collection[str] = ()) -> None:
        super().__init__(message)
        self.others = tuple(others)


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """The text of a model, and its token counts: input_tokens, output_tokens, reasoning_tokens."""

    text: str
    tokens: Mapping[str, int] | None = None


Table = dict[tuple[str, str], list[SavedResponse]]


@dataclass
class SavedResponses:
    """Responses of one or several tasks.

    Each document has one response or one per repeat. A document is identified by its number in
    the data set (``doc_id``) or by its own ``id``; both may be mixed. With ``id``, the name of the
    task may be that of its group (``rome`` for ``rome_geo``), or missing.

    Attributes:
        path: the paths that were read, for messages.
        files: the files of the responses.
        passed_over: tasks whose responses were not requested.
    """

    path: str
    by_doc_id: Table = field(default_factory=dict)
    by_id: Table = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    passed_over: set[str] = field(default_factory=set)
    _used: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """The tasks that have responses."""
        return sorted({task for task, _ in (*self.by_doc_id, *self.by_id)})

    def responses(self, task: str, doc_id: int, own_id: object) -> list[SavedResponse]:
        """The responses to a document; empty if none were saved."""
        found = self.by_doc_id.get((task, str(doc_id))) or self.by_id.get((task, str(own_id)))
        if found:
            return found
        key = next((key for key in self.keys_of(task, own_id) if key in self.by_id), None)
        if key is None:
            return []
        first = self._used.setdefault(key, task)
        if first != task:
            named = f" of {key[0]}" if key[0] else ""
            raise ResponsesError(
                f"{self.path}: the id {key[1]}{named} is in {first} and in {task}: set "
                '"task" to one of them'
            )
        return self.by_id[key]

    def keys_of(self, task: str, own_id: object) -> list[tuple[str, str]]:
        """The keys of a document in ``by_id``: of its task, of groups, and without a task."""
        # rome_geo_en may be saved as rome_geo_en, rome_geo, rome or "".
        parts = task.split("_")
        names = ["_".join(parts[:end]) for end in range(len(parts), -1, -1)]
        return [(name, str(own_id)) for name in names]


def read_responses(
    *paths: str | Path, only: Collection[str] | None = None, default_task: str | None = None
) -> SavedResponses:
    """Read ``--log_samples`` files, rows of ``{"task", "doc_id" or "id", "response"}`` in any
    format of ``rows``, the predictions of ROME's publishers, or all JSONL files below folders.

    Args:
        paths: files and folders.
        only: the requested tasks; None: all.
        default_task: the task of responses if neither the line nor the file name contains it;
            "": only their ``id`` counts.
    """
    saved = SavedResponses(", ".join(str(path) for path in paths))
    reader = _Reader(saved, only)
    try:
        # Samples of lmms-eval name their task in the file name alone: DATE_samples_TASK.jsonl.
        found = [file for path in paths for file in response_files(Path(path))]
        files = {file: task_of(file) for file in found}
        for file, task in files.items():
            if only is not None and task is not None and task not in only:
                saved.passed_over.add(task)
                continue
            named = task if task is not None else default_task
            try:
                for row in read_rows(file):
                    reader.add(_entry(row), row.where, file, named)
            except LikelihoodError as error:
                others = {each for each in files.values() if each} - {task}
                raise LikelihoodError(str(error), sorted(others)) from None
    except ReadError as error:
        raise ResponsesError(str(error)) from None
    for document in reader.documents.values():
        if document.fault and not document.recorded:
            raise document.fault
    return saved


def response_files(path: Path) -> list[Path]:
    """The file, or those below a folder: the samples of lmms-eval if there are any."""
    if not path.expanduser().exists():
        raise ResponsesError(f"{path.expanduser()} does not exist: pass saved responses")
    files = row_files(path, [".jsonl"])
    return [each for each in files if task_of(each)] or files


def _entry(row: Row) -> Mapping[str, Any]:
    """The fields of a row; a blank cell of CSV is an empty response."""
    if row.fault:
        raise ResponsesError(f"{row.where} {row.fault}")
    if found := _prediction(row):
        return found
    fields = dict(row.fields)
    if _PUBLISHED.keys() <= fields.keys() and not {*_PUBLISHED.values()} & fields.keys():
        fields |= {name: fields[other] for other, name in _PUBLISHED.items()}
    return {"response": ""} | fields if "response" in row.cells else fields


def _prediction(row: Row) -> Mapping[str, Any] | None:
    """A row in a layout of ROME's publishers as a row of ours; else None.

    They are one object, a list, or objects by ``question_id``; files with scores have the response
    as ``raw_answer``. FlagEvalMM and the release BAAI/ROME-Evaluated hold all rounds of a question
    in one row, the latter as text, with ``model`` and ``usage``. Their ``task`` is a subtask, not a
    task of lmms-eval.
    """
    fields = row.fields
    if {"response", "resps"} & {*fields}:
        return None
    # {"question_id": 7, "answer": "B", "reason": "..."}, or {"7": {"answer": "B"}, ...}
    own_id = fields.get("question_id", row.key or None)
    if own_id is None:
        return None
    rounds = fields.get("num_inferences")
    answers = _each_round(fields.get("raw_answer", fields.get("answer")), rounds)
    answers = [_NOT_THERE if each is None else each for each in answers]
    if not answers or not all(isinstance(each, str) for each in answers):
        return None
    reasons, usages = (
        given if len(given := _each_round(fields.get(name), rounds)) == len(answers) else []
        for name in ("reason", "usage")
    )
    said = [
        _with_thinking(reason, answer)
        for reason, answer in zip_longest(reasons, answers, fillvalue=None)
    ]
    entry = {"id": own_id, "response": said, "token_counts": [_used(each) for each in usages]}
    model = fields.get("model")
    return entry | ({"model": model} if isinstance(model, str) and model.strip() else {})


def _each_round(value: object, rounds: object) -> list[Any]:
    """The values of a field, one for each round; ``rounds``: their number if the row has it.

    A field with several is a list, an object such as ``{"inference_0": "A"}``, or the text of one.
    """
    found = _decoded(value)
    if isinstance(found, dict) and {str(name)[:10] for name in found} == {"inference_"}:
        return [found[name] for name in sorted(found, key=lambda name: (len(name), name))]
    # A single answer may look like a list: "['A', 'B']".
    if isinstance(found, list) and (found is value or len(found) == rounds):
        return found
    return [] if value is None else [value]


def _decoded(value: object) -> Any:
    """The list or object whose text a value is; else the value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            return literal(value)
    return value


def _with_thinking(reason: object, answer: object) -> object:
    thinking = reason if isinstance(reason, str) and reason.strip() else ""
    # Tags as models write them, so that one splitter finds the thinking.
    if thinking and "</think>" not in thinking:
        thinking = f"<think>{thinking}</think>\n"
    return f"{thinking}{answer}"


def _used(usage: object) -> dict[str, Any] | None:
    """Token counts of lmms-eval, from those of an OpenAI-compatible server."""
    usage = _decoded(usage)
    if not isinstance(usage, dict):
        return None
    read, said, total = (usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total"))
    if isinstance(read, int) and isinstance(said, int) and isinstance(total, int):
        said = max(said, total - read)  # some servers count thinking in the total alone
    details = usage.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return {"input_tokens": read, "output_tokens": said, "reasoning_tokens": thought}


def split_rounds(paths: Sequence[Path], folder: Path) -> dict[str, list[Path]]:
    """Predictions of several models or rounds, written as one file of rows for each round.

    The k-th response of a model to a question is of its round k. A question without a response in
    a round, but with one in others, gets a failed request, which is left out of all means.

    Args:
        paths: files of predictions, such as the release BAAI/ROME-Evaluated, or one per round.
        folder: for the files.

    Returns:
        The files by model (empty: the rows do not name it). Empty for other files, and for a
        single file with one response to each question and no model.
    """
    files = [
        each for path in paths for each in sorted(path.rglob("*.parquet")) or response_files(path)
    ]
    # The first questions of a file may have no response.
    first = [
        next(filter(None, map(_prediction, islice(read_rows(file), _FIRST_ROWS))), {})
        for file in files
    ]
    if not all(first):
        return {}
    if len(files) == 1 and "model" not in first[0] and len(first[0]["response"]) == 1:
        return {}
    models: dict[str, dict[str, list[SavedResponse]]] = {}
    unnamed: set[tuple[Path, str]] = set()
    for row in chain.from_iterable(map(read_rows, files)):
        entry = _prediction(row)
        own_id = row.fields.get("question_id") if entry is None else entry["id"]
        if own_id is None:
            raise ResponsesError(f"{row.where} {row.fault or 'has no question_id'}")
        model = str((entry or row.fields).get("model") or "")
        question = (row.file, str(own_id))
        if not model and question in unnamed:
            raise ResponsesError(
                f"{row.where} has a second response to {own_id}, and no 'model' to tell them "
                "apart: name the field of the model's name 'model', or write a file per round"
            )
        unnamed.add(question)
        by_id = models.setdefault(model, {})
        known = by_id.setdefault(str(own_id), [])
        known += responses_of(entry, row.where) if entry else [SavedResponse(_NOT_THERE)]
    ids = list(dict.fromkeys(own_id for known in models.values() for own_id in known))
    found: dict[str, list[Path]] = {}
    for number, (model, said_by) in enumerate(models.items()):
        for at in range(max(map(len, said_by.values()))):
            path = folder / f"{number}-{at}.jsonl"
            with path.open("w", encoding="utf-8") as out:
                for own_id in ids:
                    (each,) = said_by.get(own_id, [])[at : at + 1] or [SavedResponse(_NOT_THERE)]
                    said = {"response": each.text, "token_counts": each.tokens}
                    out.write(json.dumps({"id": own_id, **said}) + "\n")
            found.setdefault(model, []).append(path)
    return found


@dataclass(slots=True)
class _Document:
    """The file of a document's responses, whether they are of a line with a record, and their
    fault, which counts unless there is such a line."""

    file: Path
    recorded: bool
    model: object = None
    fault: ResponsesError | None = None


@dataclass(slots=True)
class _Reader:
    """Adds the entries of files to the saved responses."""

    saved: SavedResponses
    only: Collection[str] | None
    documents: dict[tuple[str, str, str], _Document] = field(default_factory=dict)

    def add(self, entry: Mapping[str, Any], place: str, file: Path, task: str | None) -> None:
        """Add an entry of a file with responses to ``task``.

        lmms-eval saves a line for each filter pipeline. That with the record has the complete
        response; in the others, it saves the output of the task's own filters.
        """
        task = entry.get("task", task)
        if not isinstance(task, str):
            raise ResponsesError(
                f'{place} has no "task": add it to each line (for lmms-rpts score: or set --task)'
            )
        if self.only is not None and task not in self.only:
            self.saved.passed_over.add(task)
            return
        kind = next((name for name in ("doc_id", "id") if name in entry), None)
        if kind is None:
            raise ResponsesError(f'{place} has neither "doc_id" nor "id"')
        if not task and kind == "doc_id":
            raise ResponsesError(f'{place} has no "task", which "doc_id" needs; or use "id"')
        table = self.saved.by_doc_id if kind == "doc_id" else self.saved.by_id
        key, read = (task, str(entry[kind])), responses_of(entry, place)
        recorded = holds_record(entry)
        known = self.documents.get(document := (kind, *key))
        if known is None:
            self.documents[document] = _Document(file, recorded, entry.get("model"))
            table[key] = read
            if file not in self.saved.files:
                self.saved.files.append(file)
        elif known.file == file and "response" in entry:
            if entry.get("model") != known.model:
                raise ResponsesError(
                    f"{place}: responses of {shown(entry.get('model'))}, after those of "
                    f"{shown(known.model)}: lmms-rpts score separates several models (--model)"
                )
            table[key] += read
        elif known.file == file and recorded != known.recorded:
            if recorded:
                table[key], known.recorded = read, True
        elif known.file != file or read != table[key]:  # several processes write the same line
            fault = ResponsesError(
                f"{place}: document {key[1]} of {task} was already read from {known.file}, perhaps "
                "from another run. Pass one file, or a folder with one run"
                + (_PIPELINES if known.file == file else "")
            )
            if known.file != file:
                raise fault
            known.fault = known.fault or fault


def responses_of(entry: Mapping[str, Any], place: str) -> list[SavedResponse]:
    """The responses in the fields of a row; ``place`` is for messages.

    Raises:
        ResponsesError: if there are none.
    """
    # lmms-eval omits "resps" if the filters changed nothing.
    name = next((each for each in ("response", "resps") if each in entry), "filtered_resps")
    found = entry.get(name)
    if name == "filtered_resps" and holds_record(entry):
        raise ResponsesError(
            f'{place} has a scored record, but no "resps": the response itself is lost'
        )
    if name != "response" and _holds_likelihood(found):
        raise LikelihoodError(
            f"{place} holds likelihoods of answer options, not a response: only free text can be "
            "scored"
        )
    texts = unwrapped(found)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ResponsesError(f"{place} has no text as response or resps")
    counts = entry.get("token_counts")
    counts = counts if isinstance(counts, list) else [counts]
    return [
        SavedResponse(storable(text), _tokens(counts[at]) if at < len(counts) else None)
        for at, text in enumerate(texts)
    ]


def _holds_likelihood(found: object) -> bool:
    """Whether a value is what lmms-eval saves of likelihoods: ``["-1.5", "False"]``, or nested.

    lmms-eval 0.7.3 saves them as texts: ``["(1.5, False)"]``.
    """
    for _ in range(_DEEPEST):
        if not isinstance(found, list) or not found:
            return False
        if len(found) == 2 and found[1] in ("True", "False", True, False):
            with suppress(ValueError):
                return isinstance(found[0], str | float) and not float(found[0]) > 0
            return False
        found = found[0]
        if isinstance(found, str) and _LIKELIHOOD.fullmatch(found):
            return True
    return False


def _tokens(counts: object) -> Mapping[str, int] | None:
    if not isinstance(counts, dict):
        return None
    known = {name: counts.get(name) for name in _COUNTS}
    return {
        name: value for name, value in known.items() if type(value) is int and value >= 0
    } or None
