"""Plan for scoring saved responses: which, as which tasks, in which calls of lmms-eval."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lmms_rpts.base.escaping import listed
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import SettingError
from lmms_rpts.host.correctness import choose, survey
from lmms_rpts.host.documents import SUFFIX, base_of
from lmms_rpts.runs.metadata import value_at
from lmms_rpts.runs.reading import model_name, read_results
from lmms_rpts.runs.responses import (
    LikelihoodError,
    ResponsesError,
    SavedResponse,
    SavedResponses,
    read_responses,
)
from lmms_rpts.runs.samples import SAMPLES, Grades, metric_names, read_task_grades
from lmms_rpts.tasks.benchmark import answered_tasks, read_documents, scored_tasks
from lmms_rpts.tasks.rpts_eval.data import DEMO_TASK

# A task name becomes an argument of lmms-eval: "--help", "a,b" and "../evil" must not pass.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_INDEX = re.compile(r"[0-9]{1,18}")  # int() refuses more than 4,300 digits
_LEAVE_WHOLE = {"take_first", "take_first_k", "lowercase", "uppercase", "remove_whitespace"}
"""Filters of lmms-eval that leave a response unchanged, or nearly so."""

ByDocument = Mapping[int, Sequence[SavedResponse]]
"""The responses to the documents of one task, by the document's number."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The documents of a task that have responses, from ``start`` to ``stop`` (exclusive).

    Attributes:
        total: documents of the whole task.
        repeats: responses per document.
    """

    task: str
    start: int
    stop: int
    total: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Part:
    """One call of lmms-eval.

    Attributes:
        tasks: tasks or a group, joined by commas.
        offset: the first document of each task.
        limit: maximum number of documents per task; None: all from ``offset`` on.
        repeats: responses per document.
    """

    tasks: str
    offset: int
    limit: int | None
    repeats: int

    def arguments(self) -> list[str]:
        """Arguments of lmms-eval."""
        return [
            *(["--offset", str(self.offset)] if self.offset else []),
            *(["--limit", str(self.limit)] if self.limit is not None else []),
            *(["--repeats", str(self.repeats)] if self.repeats > 1 else []),
        ]


@dataclass(frozen=True, slots=True)
class Rescoring:
    """Saved responses, ready to be scored.

    Attributes:
        parts: one call of lmms-eval each.
        passed_over: tasks with responses that are not scored.
        grades: for tasks of other packages, the results of their own metrics.
    """

    responses: Mapping[str, ByDocument]
    extents: tuple[Extent, ...]
    parts: tuple[Part, ...]
    files: tuple[Path, ...]
    passed_over: tuple[str, ...]
    grades: Mapping[str, Grades] = field(default_factory=dict)

    @property
    def needs_judge(self) -> bool:
        """Whether a judge must be set: a benchmark that grades answers asks for one itself."""
        grading = answered_tasks().keys() - scored_tasks().keys()
        return bool({*self.responses} - {DEMO_TASK} - grading)

    @property
    def default_judge(self) -> str:
        """The judge if none is set."""
        return "lexical" if DEMO_TASK in self.responses else "none"


def plan_score(
    paths: Sequence[str | Path],
    task: str | None = None,
    *,
    own: Mapping[str, Sequence[str]] = MappingProxyType({}),
    correct: str | None = None,
) -> Rescoring:
    """Read saved responses to any tasks and plan how lmms-eval scores them.

    Args:
        paths: files and folders that ``read_responses`` can read.
        task: the task or group, as the samples name it; None: those in the samples, of built-in
            tasks if there are any. ``NAME_rpts``: the steps of responses to the task NAME.
        own: custom tasks that RPTS scores directly, with the ids of their documents, if known.
        correct: the metric that decides whether an answer is correct, for tasks of other packages;
            see ``parse_criterion``.
    """
    known = answered_tasks()
    if task in known:
        return plan_rescoring(paths, task)
    if task is None:
        # Files of other tasks are not read: they may contain no responses at all.
        saved = read_responses(*paths, only=known)
        if saved.tasks:
            return plan_rescoring(paths, None, saved)
        return plan_any_run(paths, own=own, correct=correct)
    # A file without task names may belong to any task.
    saved = read_responses(*paths, only=[task], default_task=task)
    if task not in saved.tasks and task != base_of(task):
        task = base_of(task)
        saved = read_responses(*paths, only=[task])
    if task not in saved.tasks:
        return plan_rescoring(paths, task)  # fails with a list of known tasks
    return plan_any_run(paths, task, own=own, correct=correct, saved=saved)


def plan_rescoring(
    paths: Sequence[str | Path], task: str | None = None, saved: SavedResponses | None = None
) -> Rescoring:
    """The plan for built-in tasks; see ``plan_score``.

    Args:
        paths: files and folders.
        task: the task or group; None: those named by the responses.
        saved: the responses to all built-in tasks, if they were read already; for no task.
    """
    documents = {} if task is None else dict(read_documents(task))
    members = _members()
    if task is not None:
        single = next(iter(documents)) if len(documents) == 1 else task
        groups = {name for name, tasks in members.items() if tasks & {*documents}}
        saved = read_responses(*paths, only={*documents, *groups}, default_task=single)
    elif saved is None:
        saved = read_responses(*paths, only=answered_tasks())
    passed_over = tuple(sorted(saved.passed_over))
    if not saved.tasks:
        raise ResponsesError(_nothing(saved, [*documents], passed_over))
    for name in saved.tasks if task is None else ():
        documents |= dict(read_documents(name))
    responses = {name: by_document(saved, name, docs) for name, docs in documents.items()}
    if _check_groups(saved, documents):
        responses = {name: found for name, found in responses.items() if found}
    there = [name for name, found in responses.items() if found]
    empty = [name for name in responses if name not in there]
    if empty:
        raise ResponsesError(
            f"No responses to {' or '.join(empty)}, only to {' and '.join(there)}: score these "
            f"alone (--task {there[0]})"
        )
    totals = {name: len(documents[name]) for name in responses}
    whole = len(responses) == len(documents)
    return _planned(saved, responses, totals, task if whole else None, passed_over)


def plan_any_run(
    paths: Sequence[str | Path],
    task: str | None = None,
    *,
    own: Mapping[str, Sequence[str]] = MappingProxyType({}),
    correct: str | None = None,
    saved: SavedResponses | None = None,
) -> Rescoring:
    """The plan for tasks of other packages and custom ones, by the names of those that score them.

    Args:
        paths, task, own, correct: as for ``plan_score``; no task: all without a benchmark here.
        saved: the responses to ``task``, if they were read already.
    """
    if saved is None:
        try:
            saved = read_responses(*paths, only=task and [task], default_task=task)
        except LikelihoodError as error:
            if task is None and error.others:
                said = f"{error}. Set --task to one of: {listed(error.others)}"
                raise ResponsesError(said) from None
            raise
    tasks = [each for each in saved.tasks if each == task or each not in answered_tasks()]
    others = sorted({*saved.tasks, *saved.passed_over} - {*tasks})
    if not tasks:
        raise ResponsesError(
            f"{saved.path} contains no responses to {task or 'a task that can be scored'}; tasks "
            f"with responses: {', '.join(others) or 'none'}"
        )
    results = {file: read_results(file) for file in saved.files}
    names = {each: _scored_as(each, own) for each in tasks}
    for each in tasks:
        _refuse_filtered(results, each)
    grades = {names[each]: read_task_grades(saved.files, each) for each in tasks if each not in own}
    _check_correct(correct, grades)
    responses = {names[each]: _by_document(saved, each, own.get(each, ())) for each in tasks}
    totals = {
        names[each]: _total(results.values(), each) or len(own.get(each, ())) for each in tasks
    }
    return _planned(saved, responses, totals, ",".join(responses), others, grades)


def _planned(
    saved: SavedResponses,
    responses: Mapping[str, ByDocument],
    totals: Mapping[str, int],
    name: str | None,
    passed_over: Sequence[str],
    grades: Mapping[str, Grades] | None = None,
) -> Rescoring:
    extents = tuple(
        find_extent(task, {at: len(each) for at, each in found.items()}, totals[task])
        for task, found in responses.items()
    )
    parts, files = plan_parts(extents, name), tuple(saved.files)
    return Rescoring(responses, extents, parts, files, tuple(passed_over), grades or {})


def _members() -> dict[str, set[str]]:
    """The tasks of each group that can be scored."""
    return {
        name: {*(each.scored.get(name) or each.answered.get(name) or ())}
        for name, each in answered_tasks().items()
    }


def _check_groups(
    saved: SavedResponses, documents: Mapping[str, Sequence[Mapping[str, Any]]]
) -> bool:
    """Whether responses name a group."""
    numbered = sorted({name for name, _ in saved.by_doc_id if name not in documents})
    if numbered:
        raise ResponsesError(
            f'"doc_id" is the number in a task, and {numbered[0]} is a group: use "id", or name '
            f"the task ({listed(documents)})"
        )
    of_groups = {key for key in saved.by_id if key[0] not in documents}
    known = {
        key
        for task, docs in documents.items()
        for doc in docs
        for key in saved.keys_of(task, doc["id"])
    }
    stray = [f"{own_id} of {name}" for name, own_id in sorted(of_groups - known)]
    if stray:
        raise ResponsesError(f"No document of {listed(documents)} has the id {listed(stray)}")
    return bool(of_groups)


def _nothing(saved: SavedResponses, tasks: Sequence[str], passed_over: Sequence[str]) -> str:
    if not passed_over:
        return f"{saved.path} contains no responses"
    return (
        f"{saved.path} contains no responses to {' or '.join(tasks)}; tasks with responses: "
        f'{", ".join(passed_over)}. To score them as another task, set "task" in each line'
    )


def by_document(
    saved: SavedResponses, task: str, documents: Sequence[Mapping[str, Any]]
) -> dict[int, list[SavedResponse]]:
    """The responses to the documents of a task, by number."""
    own_ids = [str(doc["id"]) for doc in documents]
    numbers = {str(at) for at in range(len(documents))}
    known = {"doc_id": numbers, "id": set(own_ids)}
    tables = {"doc_id": saved.by_doc_id, "id": saved.by_id}
    stray = [
        f"{kind} {name}"
        for kind, table in tables.items()
        for of, name in table
        if of == task and name not in known[kind]
    ]
    if stray:
        benchmark = answered_tasks().get(task)
        variable = benchmark.data_variable if benchmark else "its own setting"
        raise ResponsesError(
            f"{task} has {len(documents)} documents, and these are not among them: "
            f"{listed(stray)}. Do the responses belong to other data? ({variable} selects the "
            'data; "doc_id" is an index from 0, "id" is the id in the data)'
        )
    twice = [
        f"doc_id {at} (id {own_id})"
        for at, own_id in enumerate(own_ids)
        if (task, str(at)) in saved.by_doc_id and (task, own_id) in saved.by_id
    ]
    if twice:
        raise ResponsesError(
            f'{task}: "doc_id" and "id" name the same document: {listed(twice)}; use one of '
            "them per document"
        )
    found = {at: saved.responses(task, at, own_id) for at, own_id in enumerate(own_ids)}
    return {at: each for at, each in found.items() if each}


def find_extent(task: str, counts: Mapping[int, int], total: int) -> Extent:
    """The range of documents that have responses.

    Args:
        task: the task of the documents.
        counts: responses by document; not empty.
        total: documents of the task.
    """
    start, stop = min(counts), max(counts) + 1
    missing = stop - start - len(counts)
    if missing:
        # Never all of them: one wrong doc_id can leave a gap of 10**17.
        absent = (str(at) for at in range(start, stop) if at not in counts)
        raise ResponsesError(
            f"{task}: there is no response to document {listed(absent, total=missing)} (doc_id, "
            f"from 0), but to others from {start} to {stop - 1}. lmms-eval scores ranges without "
            "gaps: add the missing responses, or remove those on one side of the gap"
        )
    repeats, _ = Counter(counts.values()).most_common(1)[0]
    others = [f"{at} ({count})" for at, count in sorted(counts.items()) if count != repeats]
    if others:
        raise ResponsesError(
            f"{task}: most documents have {repeats} responses, but these have a different number: "
            f"doc_id {listed(others)}. In brackets: responses. All documents need the same number"
        )
    return Extent(task, start, stop, total, repeats)


def plan_parts(extents: Sequence[Extent], name: str | None = None) -> tuple[Part, ...]:
    """One call for all tasks if lmms-eval can take them together, otherwise one per task.

    Args:
        extents: of all tasks.
        name: the requested task or group.
    """
    first, size = extents[0], max(each.stop - each.start for each in extents)
    whole = all(each.stop == each.total for each in extents)
    same_range = all((each.start, each.repeats) == (first.start, first.repeats) for each in extents)
    cut = all(whole or each.stop == min(each.start + size, each.total) for each in extents)
    if len(extents) == 1 or (same_range and cut):
        tasks = [each.task for each in extents]
        groups = (group for group, members in _members().items() if members == {*tasks})
        name = name or next(groups, ",".join(tasks))
        return (Part(name, first.start, None if whole else size, first.repeats),)
    return tuple(part for each in extents for part in plan_parts([each], each.task))


def write_responses(path: Path, responses: Mapping[str, ByDocument]) -> None:
    """Write responses of all tasks as JSONL that ``read_responses`` reads."""
    with path.open("w", encoding="utf-8") as out:
        for task, found in responses.items():
            for doc_id, each in found.items():
                entry: dict[str, Any] = {"task": task, "doc_id": doc_id}
                entry["response"] = [response.text for response in each]
                entry["token_counts"] = [response.tokens for response in each]
                out.write(json.dumps(entry) + "\n")


def guess_name(files: Sequence[Path]) -> str:
    """Name of the model, from the results next to the files, otherwise from the file names."""
    names = dict.fromkeys(model_name(read_results(file)) for file in files)
    models = [name for name in names if name]
    if len(models) > 1:
        raise ResponsesError(
            f"The responses are from several models: {', '.join(models)}. Score them one by one, "
            "or set --name if they are one model"
        )
    if models:
        return models[0]
    if len(files) == 1 and SAMPLES not in files[0].stem:
        return files[0].stem
    return files[0].resolve().parent.name or "model"


def safe_name(name: str) -> str:
    """A name that lmms-eval accepts in --model_args, which it splits at commas and "="."""
    kept = [each if each.isprintable() and each not in ",={}[]\"'" else " " for each in name]
    return " ".join("".join(kept).split()) or "model"


# --- tasks of other packages


def _scored_as(task: str, own: Container[str]) -> str:
    """The name under which lmms-eval scores the responses."""
    name = task if task in own or task.endswith(SUFFIX) else f"{task}{SUFFIX}"
    if not _NAME.fullmatch(name):
        raise ResponsesError(
            f"{shown(task)} is not a valid task name: use letters, digits, _ . and -"
        )
    if Path(name).is_file():
        raise ResponsesError(
            f"A file called {name!r} exists in this folder, and lmms-eval would take it for the "
            "task: run the command in another folder"
        )
    return name


def _check_correct(correct: str | None, grades: Mapping[str, Grades]) -> None:
    """Check that the samples have a metric of that name before any judge call."""
    for found in grades.values() if correct is not None else ():
        # Without the task's aggregations: their result is not known here.
        values = survey(list(found.values()), {}, correct)
        criterion, fault = choose([values], metric_names(found), {}, correct)
        if fault and not (criterion and criterion.field is None):
            raise SettingError(f"{fault[0].upper()}{fault[1:]}")


def _refuse_filtered(results: Mapping[Path, Mapping[str, Any]], task: str) -> None:
    """Raise if lmms-eval saved what the task's filters left of the responses.

    It does if it strips reasoning tags, its default.
    """
    if task.endswith(SUFFIX):
        return
    for file, found in results.items():
        # As lmms-eval does: the task's own value takes precedence.
        tags = value_at(found, "configs", task, "reasoning_tags")
        if tags is None:
            tags = value_at(found, "config", "resolved_cli_args", "reasoning_tags")
        chains = [
            value_at(each, "filter")
            for each in _list(value_at(found, "configs", task, "filter_list"))
        ]
        filters = {str(value_at(each, "function")) for chain in chains for each in _list(chain)}
        if (cut := sorted(filters - _LEAVE_WHOLE)) and tags not in (None, False, "none"):
            raise ResponsesError(
                f"{file} contains filtered responses to {task} ({', '.join(cut)}), not the model's "
                "output. Run the task with --reasoning_tags none, so that lmms-eval saves the "
                f"output (with --use_cache, from the cache of that run)"
            )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _by_document(saved: SavedResponses, task: str, ids: Sequence[str]) -> ByDocument:
    by_id = [own_id for of, own_id in saved.by_id if of == task]
    if by_id and ids:
        return by_document(saved, task, [{"id": each} for each in ids])
    if by_id:
        raise ResponsesError(
            f'{task}: a response identifies its document by "id" ({by_id[0]}); use "doc_id", '
            "the index in the task's data from 0"
        )
    found = {name: each for (of, name), each in saved.by_doc_id.items() if of == task}
    wrong = [name for name in found if not _INDEX.fullmatch(name)]
    if wrong:
        raise ResponsesError(
            f'{task}: {shown(wrong[0])} is not a valid "doc_id": use an index from 0'
        )
    return {int(name): found[name] for name in sorted(found, key=int)}


def _total(results: Iterable[Mapping[str, Any]], task: str) -> int:
    """Number of documents of the task, from the results next to the samples; 0: unknown."""
    for each in results:
        total = value_at(each, "n-samples", task, "original")
        if type(total) is int and total > 0:
            return total
    return 0
