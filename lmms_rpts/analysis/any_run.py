"""Plan for scoring saved responses to tasks of other packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.analysis.rescoring import (
    ByDocument,
    Rescoring,
    find_extent,
    plan_parts,
)
from lmms_rpts.escaping import listed, storable
from lmms_rpts.models.killed_runs import cached_responses
from lmms_rpts.models.responses import (
    LikelihoodError,
    ResponsesError,
    SavedResponses,
    read_responses,
)
from lmms_rpts.runs.reading import read_results
from lmms_rpts.runs.task_grades import Grades, metric_names, read_task_grades
from lmms_rpts.schema import shown
from lmms_rpts.settings import SettingError
from lmms_rpts.tasks.any_task.correctness import (
    greatest_value,
    no_scale,
    on_scale,
    parse_criterion,
    survey,
)
from lmms_rpts.tasks.any_task.names import SUFFIX, split_name
from lmms_rpts.tasks.benchmark import benchmark_of

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_INDEX = re.compile(r"[0-9]{1,18}")  # int() refuses more than 4,300 digits
_LEAVE_WHOLE = {"take_first", "take_first_k", "lowercase", "uppercase", "remove_whitespace"}
"""Filters of lmms-eval that leave a response unchanged, or nearly so."""


@dataclass(frozen=True, slots=True)
class AnyRun:
    """Saved responses to tasks of other packages, or to custom tasks, ready to be scored.

    Attributes:
        rescoring: what is scored, by the names of the tasks that score it.
        grades: results of the tasks' own metrics, by the same names; empty for custom tasks,
            which grade answers themselves.
    """

    rescoring: Rescoring
    grades: Mapping[str, Grades]


def plan_any_run(
    paths: Sequence[str | Path],
    task: str | None = None,
    *,
    own: Sequence[str] = (),
    correct: str | None = None,
    saved: SavedResponses | None = None,
) -> AnyRun:
    """Read saved responses to any tasks and plan how lmms-eval scores them.

    Args:
        paths: files and folders that ``read_responses`` can read.
        task: the task as the samples name it; None: all tasks without a benchmark here.
        own: names of custom tasks that RPTS scores directly.
        correct: the metric that decides whether an answer is correct, as for
            ``parse_criterion``.
        saved: the responses to ``task``, if they were read already.

    Raises:
        ResponsesError: if there are no responses, or some are missing.
        SettingError: if ``correct`` names no metric of the samples.
    """
    saved = saved or _read(paths, task)
    tasks = [each for each in saved.tasks if each == task or benchmark_of(each) is None]
    if not tasks:
        there = ", ".join(sorted({*saved.tasks, *saved.passed_over})) or "none"
        raise ResponsesError(
            f"{saved.path} contains no responses to {task or 'a task that can be scored'}; tasks "
            f"with responses: {there}"
        )
    results = {file: read_results(file) for file in saved.files}
    for each in tasks:
        _make_whole(saved, results, each)
    names = {each: _scored_as(each, own) for each in tasks}
    grades = {names[each]: read_task_grades(saved.files, each) for each in tasks if each not in own}
    _check_correct(correct, grades)
    responses = {names[each]: _by_number(saved, each) for each in tasks}
    totals = {names[each]: _total(results.values(), each) for each in tasks}
    extents = tuple(
        find_extent(name, {at: len(found[at]) for at in found}, totals[name])
        for name, found in responses.items()
    )
    parts = plan_parts(extents, ",".join(responses))
    others = sorted({*saved.tasks, *saved.passed_over} - {*tasks})
    rescoring = Rescoring(responses, extents, parts, tuple(saved.files), tuple(others))
    return AnyRun(rescoring, grades)


def _read(paths: Sequence[str | Path], task: str | None) -> SavedResponses:
    try:
        return read_responses(*paths, only=None if task is None else [task], default_task=task)
    except LikelihoodError as error:
        if task is None and error.others:
            raise ResponsesError(f"{error}. Set --task to one of: {listed(error.others)}") from None
        raise


def _scored_as(task: str, own: Sequence[str]) -> str:
    """The name under which lmms-eval scores the responses.

    Raises:
        ResponsesError: for a name that lmms-eval would read as something else: a pattern, several
            tasks, an option, or a file.
    """
    name = task if task in own or split_name(task) else f"{task}{SUFFIX}"
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
        criterion = parse_criterion(str(correct), metric_names(found))
        if criterion is None:
            continue
        # Without the task's aggregations: their result is not known here.
        greatest = greatest_value([survey(list(found.values()), {}, correct)], criterion)
        if greatest is None and criterion.field is not None:
            raise SettingError(
                f"No response has a number in the field {criterion.field!r} of "
                f"{criterion.metric!r} (--correct)"
            )
        if greatest is not None and on_scale(criterion, greatest) is None:
            raise SettingError(no_scale(criterion, greatest))


def _make_whole(
    saved: SavedResponses, results: Mapping[Path, Mapping[str, Any]], task: str
) -> None:
    """Replace what the task's filters left of the responses by those in lmms-eval's cache.

    lmms-eval saves the filtered responses if it strips reasoning tags.

    Args:
        saved: the responses; changed in place.
        results: lmms-eval's results by the samples file that they belong to.
        task: the task of the samples.

    Raises:
        ResponsesError: if the cache does not have the complete responses.
    """
    if split_name(task):
        return
    for file, found in results.items():
        # As lmms-eval does: the task's own value takes precedence.
        tags = _at(found, "configs", task, "reasoning_tags")
        if tags is None:
            tags = _at(found, "config", "resolved_cli_args", "reasoning_tags")
        cut = sorted(_filters(_at(found, "configs", task, "filter_list")) - _LEAVE_WHOLE)
        if not cut or tags in (None, False, "none"):
            continue
        why = _from_cache(saved, found, task)
        if why is not None:
            raise ResponsesError(
                f"{file} contains filtered responses to {task} ({', '.join(cut)}), not the model's "
                f"output{why}. Run the task with --reasoning_tags none, so that lmms-eval saves "
                f"the output, or run {task}{SUFFIX}"
            )


def _from_cache(saved: SavedResponses, results: Mapping[str, Any], task: str) -> str | None:
    """Take the responses from the cache that the run used; or why this is not possible."""
    root, model, arguments = (
        _at(results, "config", name) for name in ("use_cache", "model", "model_args")
    )
    if not (isinstance(root, str) and isinstance(model, str)):
        return ""
    folder = Path(root).expanduser()
    folder = folder.parent if folder.suffix == ".db" else folder
    if not folder.is_dir():
        return f", and its response cache {root} (--use_cache) does not exist here"
    try:
        found = cached_responses(folder, task, model, arguments or "")
    except OSError as error:
        return f", and its response cache cannot be read ({error})"
    ours = {doc_id: each for (of, doc_id), each in saved.by_doc_id.items() if of == task}
    unclear = [at for at, each in ours.items() if len(each) != 1 or len(found.get(at, ())) != 1]
    if unclear:
        return (
            f", and its response cache {folder} has no response, or several, to doc_id "
            f"{listed(unclear)}"
        )
    for doc_id, (response,) in ours.items():
        (text,) = found[doc_id]
        saved.by_doc_id[task, doc_id] = [replace(response, text=storable(text))]
    logger.info("{}: the responses are taken from lmms-eval's cache in {}", task, folder)
    return None


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _filters(pipelines: Any) -> set[str]:
    """Names of the filters in a task's pipelines, as recorded in the results."""
    chains = [_at(each, "filter") for each in _listed(pipelines)]
    return {str(_at(each, "function")) for chain in chains for each in _listed(chain)}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _by_number(saved: SavedResponses, task: str) -> ByDocument:
    by_id = [own_id for of, own_id in saved.by_id if of == task]
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
        counts: Any = each.get("n-samples")
        found = counts.get(task) if isinstance(counts, Mapping) else None
        total = found.get("original") if isinstance(found, Mapping) else None
        if type(total) is int and total > 0:
            return total
    return 0
