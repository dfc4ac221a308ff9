"""Scoring of saved responses in this process: ``lmms-rpts score`` and ``lr.score``."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from loguru import logger

from lmms_rpts import __version__
from lmms_rpts.analysis.correctness import right_answers
from lmms_rpts.base.escaping import did_you_mean, listed, storable, visible
from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.host.task_files import SUFFIX, refuse_filtered
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.registry import open_budget
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.runs.reading import RESULTS, SAMPLES, model_of, read_results
from lmms_rpts.runs.responses import (
    DocumentKey,
    ResponsesError,
    RunKey,
    SavedDocument,
    SavedResponses,
    read_responses,
)
from lmms_rpts.runs.validity import judge_lines, stored_validity
from lmms_rpts.runs.writing import RunWriter, metric_results, open_run
from lmms_rpts.scoring.work import ordered, run_async
from lmms_rpts.tasks.aggregation import mean_over_tasks
from lmms_rpts.tasks.own.rows import own_questions
from lmms_rpts.tasks.published_rows import LAYOUTS
from lmms_rpts.tasks.registry import BENCHMARKS, TASKS, configuration, read_questions

if TYPE_CHECKING:
    from lmms_rpts.judging.client import Client
    from lmms_rpts.runs.record import Record, SavedResponse
    from lmms_rpts.scoring.scorer import Scorer


@dataclass(slots=True)
class TaskPlan:
    """The responses of one run to one task.

    Attributes:
        name: the task, as the samples name it: NAME_rpts for a task NAME of another package.
        scorer: scores a response.
        question: returns the question of a document by its number.
        ids: the ids of all documents of the task.
        documents: by number, where the responses are.
        right: by number, whether the answer is right by the metrics that were logged (None: not
            known); empty if answers are graded by the scorer.
    """

    name: str
    scorer: Scorer
    question: Callable[[int], Any]
    ids: Sequence[str]
    documents: Mapping[int, SavedDocument] = field(default_factory=dict)
    right: Mapping[int, bool | None] = field(default_factory=dict)


class RunPlan(NamedTuple):
    """What is scored of the responses of one model, or of one of its rounds.

    ``source``: where the responses are; ``selection``: which were chosen; both for the results.
    """

    model: str
    tasks: Sequence[TaskPlan]
    source: str
    selection: Mapping[str, int | None] = {}


@dataclass(slots=True)
class Scored:
    """What came of a run.

    Attributes:
        outcomes, requests: how many records and judge requests have each outcome.
        judgings: the judges of steps, each with the version of its prompts.
        trust: sentences about how far the judges can be trusted.
        results: in the form of lmms-eval; ``written``: their file; None: they are not written.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    judgings: dict[tuple[str, str], None] = field(default_factory=dict)
    trust: list[str] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    written: Path | None = None


# --- what is scored ------------------------------------------------------------------------------


def members_of(task: str) -> tuple[str, ...]:
    """The tasks of a group of ours; of any other name the name."""
    return TASKS[task].groups.get(task, (task,)) if task in TASKS else (task,)


def plan_runs(
    paths: Sequence[Path],
    settings: Settings,
    *,
    task: str | None = None,
    include_path: Path | None = None,
    correct: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[RunPlan]:
    """What is scored of saved responses: a plan for each model and round.

    The arguments are the options of ``lmms-rpts score``.

    Raises:
        ResponsesError: if there are no responses to the task, or some belong to no document.
    """
    only, alone = None, None
    if task is not None:
        members = members_of(task)
        # NAME_rpts scores the steps of responses to NAME, and is the name of a run that did.
        alone = (members[0] if len(members) == 1 else task).removesuffix(SUFFIX) or task
        # Files may name a task, or a group of it.
        groups = {name for name in TASKS if {*members} & {*members_of(name)}}
        only = {*members, *groups, task, alone}
    saved = read_responses(*paths, only=only, default_task=alone, layouts=LAYOUTS)
    if not saved.runs:
        others = ", ".join(sorted(saved.passed_over)) or "none"
        hint = did_you_mean(task or "", {*TASKS, *saved.passed_over} - {task})
        raise ResponsesError(
            f"{saved.path} contains no responses to {task or 'any task'}; tasks with responses: "
            f'{others}.{hint} To score them as another task, set "task" in each line'
        )
    for skipped in sorted(saved.passed_over):
        logger.info("Ignored: responses to {}", visible(skipped))
    models = list(dict.fromkeys(run.model for run in saved.runs))
    selected = range(offset, sys.maxsize if limit is None else offset + limit)
    runs = []
    for run in sorted(saved.runs, key=lambda run: (models.index(run.model), run.round or 0)):
        named = {key.task for key in saved.runs[run]} - {""} if task is None else {task}
        if correct and named & TASKS.keys():
            raise ResponsesError("--correct is only for tasks of other packages: we grade answers")
        own: dict[str, Sequence[Any]] = {}
        for name in named & TASKS.keys():
            own |= read_questions(name)
        plans = [_plan_own(name, questions, settings) for name, questions in sorted(own.items())]
        for plan in plans:
            plan.documents = _documents(saved, run, plan.ids, plan.name)
        for name in sorted(named - TASKS.keys()):
            plans.append(_plan_other(saved, run, name, settings, include_path, correct, selected))
        used = {id(document) for plan in plans for document in plan.documents.values()}
        stray = [key for key, document in saved.runs[run].items() if id(document) not in used]
        if stray:
            raise _stray_error(saved, stray, [plan.name for plan in plans])
        for plan in plans:
            plan.documents = {at: plan.documents[at] for at in plan.documents if at in selected}
        plans = [plan for plan in plans if plan.documents]
        if not plans:
            raise ResponsesError(f"{saved.path} contains no response to the documents asked for")
        selection = {"limit": limit, "offset": offset, "round": run.round}
        runs.append(RunPlan(run.model or guess_name([*saved.files]), plans, saved.path, selection))
    return runs


def plan_predictions(paths: Sequence[Path], task: str, formulation: str) -> RunPlan:
    """The plan for a prediction file of a benchmark's published code, which needs no other data.

    ``formulation``: how its answers were given.
    """
    read = TASKS[task].predictions if task in TASKS else None
    if read is None or len(paths) != 1:
        raise ResponsesError(
            "--formulation is for one prediction file of ReForm-Eval's published code: name its "
            "set with --task, such as reform_gqa"
        )
    path = paths[0]
    scorer, rows = read(path, task, formulation)
    documents = {
        at: SavedDocument([Row(path, f"row {at}", at, {"response": text})])
        for at, (_, text) in enumerate(rows)
    }
    ids = [question.id for question, _ in rows]
    plan = TaskPlan(rows[0][0].task, scorer, lambda at: rows[at][0], ids, documents)
    return RunPlan(guess_name([path]), [plan], str(path))


def _plan_own(task: str, questions: Sequence[Any], settings: Settings) -> TaskPlan:
    """The plan for a task of ours, without its documents."""
    scorer = TASKS[task].scorer(task, settings, None)

    def question(at: int) -> Any:
        place = {"task": task, "doc_id": at}  # records name their document
        return scorer.question(questions[at].model_copy(update=place))

    return TaskPlan(task, scorer, question, [each.id for each in questions])


def _plan_other(
    saved: SavedResponses,
    run: RunKey,
    task: str,
    settings: Settings,
    include_path: Path | None,
    correct: str | None,
    selected: range,
) -> TaskPlan:
    """The plan for a task of lmms-eval that is not ours."""
    from lmms_rpts.host.other_tasks import open_task

    refuse_filtered(saved.files, task)
    other = open_task(task, include_path, settings)
    ids = other.ids or [f"{task}#{at}" for at in range(other.total)]
    plan = TaskPlan(other.name, other.scorer, other.question, ids)
    plan.documents = _documents(saved, run, ids, task, task.removesuffix(SUFFIX))
    if not other.is_ours:  # its own filters grade answers
        for at, document in plan.documents.items():
            target = document.responses()[0].logged.get("target") if at in selected else None
            if isinstance(target, str):
                other.check_target(at, target)
        logged = [document.metrics() for document in plan.documents.values()]
        right = right_answers(other.name, logged, other.aggregations, other.better, correct)
        plan.right = dict(zip(plan.documents, right, strict=True))
    return plan


def _documents(
    saved: SavedResponses, run: RunKey, ids: Sequence[str], *tasks: str
) -> dict[int, SavedDocument]:
    """Where the responses to documents with these ids are, by number.

    ``tasks``: names that samples may have. A document that has a response in another round only is
    a failed request in this one.
    """
    rounds = [each for each in saved.runs if each.model == run.model and run.round is not None]
    documents: dict[int, SavedDocument] = {}
    for at, own_id in enumerate(ids):
        places = ((key, task) for key in (run, *rounds) for task in tasks)
        for key, task in places:
            if document := saved.find(task, at, own_id, key):
                documents[at] = document if key == run else SavedDocument()
                break
    return documents


def _stray_error(
    saved: SavedResponses, stray: Sequence[DocumentKey], tasks: Sequence[str]
) -> ResponsesError:
    """The error of responses to documents that the tasks do not have."""
    names = listed([f"{key.kind} {key.name} of {key.task or 'no task'}" for key in stray])
    variables = {TASKS[task].data_variable for task in tasks if task in TASKS}
    which = f" ({', '.join(sorted(variables))} selects the data)" if variables else ""
    return ResponsesError(
        f"{saved.path}: no document of {listed(tasks) or 'the tasks'} is named by these responses, "
        f"or it has another response: {names}. Do they belong to other data?{which} "
        '("doc_id" is the number in a task, not in a group, from 0; "id" is that in its data)'
    )


def guess_name(files: Sequence[Path]) -> str:
    """Name of the model, from the results next to the files, otherwise from the file names."""
    if len(files) == 1 and SAMPLES not in files[0].stem:
        return files[0].stem
    models = {model_of(read_results(file)).rpartition("/")[2] for file in files} - {""}
    if len(models) > 1:
        raise ResponsesError(
            f"The responses are from several models: {', '.join(sorted(models))}. Score them one "
            "by one"
        )
    return next(iter(models), files[0].resolve().parent.name or "model")


# --- scoring -------------------------------------------------------------------------------------


async def score_run(
    run: RunPlan, settings: Settings, *, output: Path | None = None, requests: Path | None = None
) -> Scored:
    """Score the responses of a run, and write its samples and results.

    Args:
        output: the folder for the files; None: nothing is written.
        requests: a file to which requests without a cached reply are written; nothing is asked.
    """
    scored, budget, stopped = Scored(), open_budget(settings), None
    tasks: dict[str, Any] = {}
    accuracies: dict[str, Sequence[float | None]] = {}
    with open_run(output) if output else nullcontext() as writer:
        for plan in run.tasks:
            judge = plan.scorer.judge
            async with open_client(judge, settings, budget, requests=requests) as client:
                values = await _score_task(plan, client, scored, writer)
            tasks[plan.name] = {"alias": plan.name, **metric_results(values)}
            accuracies[plan.name] = values.get("accuracy", [])
            stopped = stopped or client.stopped
            scored.requests.update(client.outcomes)
            plan.scorer.report()
        scored.results = _results_of(run, tasks)
        if budget.calls or budget.found or stopped:
            scored.results["usage"]["judges"] = {**budget.usage(), "stopped": stopped}
        if scored.judgings:
            measured = [it for it in stored_validity(settings) if it.judging in scored.judgings]
            scored.trust = judge_lines(scored.judgings, measured)
            scored.results["usage"]["validity"] = [entry.model_dump() for entry in measured]
        scored.written = writer.publish(scored.results, stopped) if writer else None
    for benchmark in BENCHMARKS.values():
        parts = {part: accuracies[t] for t, part in benchmark.tasks.items() if t in accuracies}
        if parts and benchmark.scores_by_part and (place := scored.written):
            file = place.with_name(place.name.replace(RESULTS, "_scores.json"))
            file.write_text(json.dumps(benchmark.scores_by_part(parts), indent=2), encoding="utf-8")
    return scored


def _results_of(run: RunPlan, tasks: Mapping[str, Any]) -> dict[str, Any]:
    """Results in the form of lmms-eval, from those of the tasks.

    A group of which all tasks were scored has their means, weighted by their documents; not in
    benchmarks whose tasks are summarized separately: ``summarize`` has theirs.
    """
    sizes = {plan.name: len(plan.documents) for plan in run.tasks}
    groups: dict[str, Any] = {}
    for group, benchmark in TASKS.items():
        members = members_of(group)
        if len(members) > 1 and {*members} == {*sizes} and not benchmark.by_task:
            names = [name for name in tasks[members[0]] if "," in name and "_stderr" not in name]
            weights = [sizes[member] for member in members]
            groups[group] = {"alias": group} | {
                name: mean_over_tasks([tasks[member].get(name) for member in members], weights)
                for name in names
            }
    return {
        "results": {**tasks, **groups},
        "configs": {name: {"task": name} for name in sizes},
        "versions": dict.fromkeys(sizes, 1.0),
        "n-samples": {
            each.name: {"original": len(each.ids), "effective": sizes[each.name]}
            for each in run.tasks
        },
        "config": {
            "model": "replay",
            "model_args": {"name": run.model, "samples": run.source},
            **run.selection,
            "resolved_cli_args": {"timezone": "UTC"},
            "lmms_rpts": configuration(),
            "lmms_rpts_version": __version__,
        },
        "model_source": "replay",
        "model_name": run.model,
        "usage": {},
    }


async def _score_task(
    plan: TaskPlan, client: Client, scored: Scored, writer: RunWriter | None
) -> dict[str, list[float | None]]:
    """Score the responses to a task in a stream.

    Returns the values of metrics, one per document; for a metric of a set of records, a single one.
    """
    unasked = plan.scorer.unasked
    metrics = [m for name, m in plan.scorer.METRICS.items() if m.listed and name not in unasked]
    values: dict[str, list[float | None]] = {each.name: [] for each in metrics}
    whole: list[Record] = []  # for metrics of the set; else only what is written is held

    async def of_response(at: int, response: SavedResponse, is_last: bool) -> Any:
        record = await plan.scorer.score(response.text, plan.question(at), client)
        return at, response, is_last, record

    def work() -> Iterator[Coroutine[Any, Any, Any]]:
        """The scoring of each response; rows are read when it is their turn."""
        for at, document in plan.documents.items():
            *others, last = document.responses()
            yield from (of_response(at, response, False) for response in others)
            yield of_response(at, last, True)

    responses: list[SavedResponse] = []  # of the current document
    records: list[Record] = []
    total = sum(max(len(document.rows), 1) for document in plan.documents.values())
    async for at, response, is_last, record in ordered(
        work(), client, total=total, label=plan.name
    ):
        responses.append(response)
        if plan.right:
            # One value for several responses is that of the first and its duplicates: nearly all
            # pipelines of lmms-eval drop the others.
            is_first = response.text == responses[0].text
            record = record.graded(plan.right[at] if is_first else None)
        plan.scorer.note(record)
        scored.outcomes[record.outcome] += 1
        if record.SCORE == "rpts" and record.settings.judge not in ("lexical", NO_JUDGE):
            scored.judgings[record.settings.judge, record.settings.prompt_version] = None
        records.append(record)
        if not is_last:
            continue
        means: dict[str, float | None] = {}
        for metric in metrics:
            if metric.value:
                known = [value for value in map(metric.value, records) if value is not None]
                # Not fsum: as in lmms-eval's process_results, to the last bit.
                means[metric.name] = sum(known) / len(known) if known else None
                values[metric.name].append(means[metric.name])
        if any(metric.over for metric in metrics):
            whole += records
        if writer is not None:
            writer.add(plan.name, at, responses, records, means)
        responses, records = [], []
    return values | {metric.name: [metric.over(whole)] for metric in metrics if metric.over}


# --- Python --------------------------------------------------------------------------------------


def score(
    rows: Iterable[Mapping[str, Any]], *, judge: str | None = None, task: str | None = None,
    **settings: Any,
) -> list[Record]:  # fmt: skip
    """Score responses in Python: the records, in the order of the rows.

    Works in a notebook, and inside Ray, Spark or a job array: nothing is written but the cache of
    judge replies.

    Args:
        rows: dictionaries with ``question`` (or ``statement``), ``response`` and, where there are,
            ``answer``, ``options``, ``images`` (paths or Pillow images), ``texts``, ``context``,
            ``reasoning``, ``id``; with ``task``: ``id`` or ``doc_id``, and ``response``.
        judge: such as ``openai:MODEL``; None: that of the settings.
        task: a task of a benchmark of ours; None: the rows have their questions.
        settings: settings by name, such as ``evidence="image"``; they come before variables.

    Raises:
        UserError: naming the rows, fields or settings that are wrong.
    """
    chosen, rows = load_settings(judge=judge, **settings), list(rows)
    texts = [_response(row, f"row {at}") for at, row in enumerate(rows)]
    pairs: Sequence[tuple[Scorer, Any]] = (
        own_questions(rows, chosen) if task is None else _task_questions(rows, task, chosen)
    )
    scorers = list(dict.fromkeys(scorer for scorer, _ in pairs))

    async def records_of_rows() -> list[Record]:
        async with open_client(scorers[0].judge if scorers else NO_JUDGE, chosen) as client:
            work = (
                scorer.score(text, question, client)
                for text, (scorer, question) in zip(texts, pairs, strict=True)
            )
            scoring = ordered(work, client, total=len(pairs), label="Scoring")
            return [record async for record in scoring]

    records = run_async(records_of_rows())
    for (scorer, _), record in zip(pairs, records, strict=True):
        scorer.note(record)
    for scorer in scorers:
        scorer.report()
    return records


def _response(row: Any, place: str) -> str | None:
    """The response of a row of Python; None, as pandas' NaN, is a failed request."""
    if not isinstance(row, Mapping) or "response" not in row:
        raise ResponsesError(
            f"{place} is no dictionary with a response: {shown(row)} (of a pandas DataFrame: "
            'frame.to_dict("records"))'
        )
    text = row["response"]
    if text is None or (isinstance(text, float) and math.isnan(text)):
        return None
    if not isinstance(text, str):
        raise ResponsesError(f"{place}: response should be a text or None, not {shown(text)}")
    return storable(text)


def _task_questions(
    rows: Sequence[Mapping[str, Any]], task: str, settings: Settings
) -> list[tuple[Scorer, Any]]:
    """The scorer and the question of each row of a task of ours."""
    (member, questions), *others = read_questions(task).items()
    if others:  # which may have the same ids
        raise ResponsesError(
            f"{task} is a group: name one of its tasks, {listed(members_of(task))}"
        )
    plan = _plan_own(member, questions, settings)
    numbers: dict[str, int] = {}
    for at, own_id in enumerate(plan.ids):
        numbers |= {f"id {own_id}": at, f"doc_id {at}": at}
    kinds = ["doc_id" if "doc_id" in row else "id" for row in rows]
    names = [f"{kind} {row.get(kind)}" for kind, row in zip(kinds, rows, strict=True)]
    unknown = [f"row {at}: {name}" for at, name in enumerate(names) if name not in numbers]
    if unknown:
        raise ResponsesError(f"{task} has no document for {listed(unknown)}")
    return [(plan.scorer, plan.question(numbers[name])) for name in names]
