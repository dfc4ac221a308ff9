"""Scoring of saved responses in this process: ``lmms-rpts score`` and ``lr.score``."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts import __version__
from lmms_rpts.analysis.correctness import choose_criterion
from lmms_rpts.base.escaping import did_you_mean, listed, storable
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.registry import open_budget
from lmms_rpts.runs.reading import RESULTS, SAMPLES, model_of, read_results
from lmms_rpts.runs.responses import (
    DocumentKey,
    ResponsesError,
    RunKey,
    SavedDocument,
    SavedResponse,
    SavedResponses,
    read_responses,
)
from lmms_rpts.runs.run import value_at
from lmms_rpts.runs.work import ordered, run_async
from lmms_rpts.runs.writing import RunWriter, Sample, Written, metric_results, open_run
from lmms_rpts.tasks.aggregation import mean_over_tasks
from lmms_rpts.tasks.own.rows import own_questions
from lmms_rpts.tasks.published_rows import LAYOUTS
from lmms_rpts.tasks.registry import TASKS, configuration, read_questions

if TYPE_CHECKING:
    from lmms_rpts.judging.client import Client
    from lmms_rpts.runs.record import Record
    from lmms_rpts.scoring.scorer import Scorer

# A task name becomes part of a file's name: "../evil" must not pass.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
SUFFIX = "_rpts"
"""Of the name of a run that scored the steps of responses to another task."""
_INDEX = re.compile(r"[0-9]{1,18}")  # int() refuses more than 4,300 digits
_LEAVE_WHOLE = {"take_first", "take_first_k", "lowercase", "uppercase", "remove_whitespace"}
"""Filters of lmms-eval that leave a response unchanged, or nearly so."""


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """The responses of one run to one task.

    Attributes:
        name: the task, as the samples name it: NAME_rpts for a task NAME of another package.
        scorer: scores a response.
        question: returns the question of a document by its number.
        documents: by number, where the responses are; None: the request of the model failed.
        total: documents of the whole task.
        is_right: whether an answer is right by the metrics that were logged; None: not known.
    """

    name: str
    scorer: Scorer
    question: Callable[[int], Any]
    documents: Mapping[int, SavedDocument | None]
    total: int
    is_right: Callable[[Mapping[str, Any]], bool | None] | None = None


@dataclass(slots=True)
class Scored:
    """What came of a run: how many records and judge requests have each outcome, and why judging
    stopped, if it did.

    Attributes:
        used: calls, tokens and cost of the judge, if any.
        trust: sentences about how far its judge can be trusted.
        results: in the form of lmms-eval; ``written``: its files; None: they are not written.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    used: dict[str, Any] | None = None
    trust: Sequence[str] = ()
    results: dict[str, Any] = field(default_factory=dict)
    written: Written | None = None


# --- what is scored ------------------------------------------------------------------------------


def find_responses(paths: Sequence[Path], task: str | None) -> SavedResponses:
    """The saved responses to a task or group (None: to all tasks) at these paths."""
    if task is None:
        saved = read_responses(*paths, layouts=LAYOUTS)
        if not saved.runs:
            raise ResponsesError(f"{saved.path} contains no responses")
        return saved
    if task in TASKS:
        members = members_of(task)
        # Files may name a task, or a group of it.
        groups = {name for name in TASKS if {*members} & {*members_of(name)}}
        alone, names = members[0] if len(members) == 1 else task, {*members, *groups, task}
    else:
        # NAME_rpts scores the steps of responses to NAME, and is the name of a run that did.
        alone = task.removesuffix(SUFFIX) or task
        names = {task, alone}
    saved = read_responses(*paths, only=names, default_task=alone, layouts=LAYOUTS)
    if not saved.runs:
        others = ", ".join(sorted(saved.passed_over)) or "none"
        hint = "" if task in TASKS else did_you_mean(task, {*TASKS, *saved.passed_over})
        raise ResponsesError(
            f"{saved.path} contains no responses to {task}; tasks with responses: {others}.{hint} "
            'To score them as another task, set "task" in each line'
        )
    return saved


def members_of(task: str) -> tuple[str, ...]:
    """The tasks of a group of ours; of any other name the name."""
    return TASKS[task].groups.get(task, (task,)) if task in TASKS else (task,)


def plan_run(
    saved: SavedResponses,
    run: RunKey,
    settings: Settings,
    *,
    task: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    include_path: Path | None = None,
    correct: str | None = None,
) -> list[TaskPlan]:
    """What is scored of one run, by task.

    Args:
        saved: as found by `find_responses`.
        task: the task or group that was asked for; None: all tasks with responses.
        limit, offset: at most ``limit`` documents of each task from number ``offset`` on.
        include_path: the folder of own task files.
        correct: the metric that decides whether an answer is right, for tasks of other packages.

    Raises:
        ResponsesError: if responses belong to no document.
    """
    named = {key.task for key in saved.runs[run]} if task is None else {task}
    if correct and named & TASKS.keys():
        raise ResponsesError("--correct is only for tasks of other packages: ours grade answers")
    selected = range(offset, sys.maxsize if limit is None else offset + limit)
    members: dict[str, Sequence[Any]] = {}
    for name in sorted(named & TASKS.keys()):
        members |= read_questions(name)
    plans = [_plan_own(saved, run, *member, settings) for member in sorted(members.items())]
    for name in sorted(named - TASKS.keys() - {""}):
        plans.append(_plan_other(saved, run, name, settings, include_path, correct, selected))
    used = {id(document) for plan in plans for document in plan.documents.values()}
    stray = [key for key, document in saved.runs[run].items() if id(document) not in used]
    if stray:
        _refuse_stray(saved, stray, [plan.name for plan in plans if plan.documents])
    chosen = [
        replace(plan, documents={at: plan.documents[at] for at in plan.documents if at in selected})
        for plan in plans
    ]
    if not any(plan.documents for plan in chosen):
        raise ResponsesError(f"{saved.path} contains no response to the documents asked for")
    return [plan for plan in chosen if plan.documents]


def _plan_own(
    saved: SavedResponses, run: RunKey, task: str, questions: Sequence[Any], settings: Settings
) -> TaskPlan:
    """The plan for a task of ours."""
    rounds = [each for each in saved.runs if run.round is not None and each.model == run.model]
    documents: dict[int, SavedDocument | None] = {}
    for at, question in enumerate(questions):
        document = saved.find(task, at, question.id, run)
        # A question that has a response in another round only is a failed request in this one.
        if document or any(saved.find(task, at, question.id, each) for each in rounds):
            documents[at] = document
    scorer = TASKS[task].scorer(task, settings, None)
    return TaskPlan(
        task, scorer, lambda at: scorer.question(questions[at]), documents, len(questions)
    )


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
    if not _NAME.fullmatch(task):
        raise ResponsesError(f"{shown(task)} is not a valid task name")
    _refuse_filtered(saved, task)
    from lmms_rpts.host.other_tasks import open_task

    base = task.removesuffix(SUFFIX) or task
    other = open_task(base, include_path, settings)
    numbers = {own_id: at for at, own_id in enumerate(other.ids)}
    documents: dict[int, SavedDocument | None] = {}
    for key, document in saved.runs[run].items():
        if key.task not in (task, base):
            continue
        if not other.ids and not _INDEX.fullmatch(key.name):
            raise ResponsesError(
                f'{task}: a response identifies its document by "id" ({shown(key.name)}); use '
                '"doc_id", the index in the task\'s data from 0'
            )
        at = int(key.name) if key.kind == "doc_id" else numbers.get(key.name, other.total)
        if at < other.total:
            documents[at] = document
            if at in selected and document.target is not None:
                other.check_target(at, document.target)
    is_right = None
    if not other.is_ours:  # its own filters grade answers
        logged = [document.metrics for document in documents.values() if document]
        criterion = choose_criterion(other.name, logged, other.aggregations, other.better, correct)
        is_right = criterion.is_right
    ordered_documents = dict(sorted(documents.items()))
    return TaskPlan(
        other.name, other.scorer, other.question, ordered_documents, other.total, is_right
    )


def _refuse_stray(
    saved: SavedResponses, stray: Sequence[DocumentKey], tasks: Sequence[str]
) -> None:
    """Raise for responses to documents that the tasks do not have."""
    groups = [key for key in stray if key.kind == "doc_id" and len(members_of(key.task)) > 1]
    if groups:
        raise ResponsesError(
            f'"doc_id" is the number in a task, and {groups[0].task} is a group: use "id", or name '
            f"the task ({listed(members_of(groups[0].task))})"
        )
    names = listed([f"{key.kind} {key.name} of {key.task or 'no task'}" for key in stray])
    variables = {TASKS[task].data_variable for task in tasks if task in TASKS} - {""}
    which = f" ({', '.join(sorted(variables))} selects the data)" if variables else ""
    raise ResponsesError(
        f"{saved.path}: no document of {listed(tasks) or 'the tasks'} is named by these responses, "
        f"or it has another response: {names}. Do they belong to other data?{which}"
    )


def _refuse_filtered(saved: SavedResponses, task: str) -> None:
    """Raise if lmms-eval saved what the task's filters left of the responses.

    It does if it strips reasoning tags, its default.
    """
    for file in saved.files:
        results = read_results(file)
        config = value_at(results, "configs", task) or {}
        # As lmms-eval does: the task's own value takes precedence.
        tags = config.get("reasoning_tags")
        if tags is None:
            tags = value_at(results, "config", "resolved_cli_args", "reasoning_tags")
        chains = [pipeline.get("filter") or [] for pipeline in config.get("filter_list") or []]
        filters = {str(each.get("function")) for chain in chains for each in chain}
        ours = any(name.startswith("rpts_") for name in filters)
        cut = sorted(filters - _LEAVE_WHOLE)
        if cut and not ours and tags not in (None, False, "none"):
            raise ResponsesError(
                f"{file} contains filtered responses to {task} ({', '.join(cut)}), not the model's "
                "output. Run the task with --reasoning_tags none, so that lmms-eval saves the "
                "output (with --use_cache, from the cache of that run)"
            )


def guess_name(files: Sequence[Path]) -> str:
    """Name of the model, from the results next to the files, otherwise from the file names."""
    if len(files) == 1 and SAMPLES not in files[0].stem:
        return files[0].stem
    models = list(dict.fromkeys(filter(None, (model_of(read_results(each))[1] for each in files))))
    if len(models) > 1:
        raise ResponsesError(
            f"The responses are from several models: {', '.join(models)}. Score them one by one"
        )
    return models[0] if models else files[0].resolve().parent.name or "model"


# --- scoring -------------------------------------------------------------------------------------


async def score_run(
    plans: Sequence[TaskPlan],
    model: str,
    settings: Settings,
    *,
    source: str,
    output: Path | None = None,
    requests: Path | None = None,
    **selection: int | None,
) -> Scored:
    """Score the responses of one run, and write its samples and results.

    Args:
        source: where the responses are, for the results.
        output: the folder for the files; None: nothing is written.
        requests: a file to which requests without a cached reply are written; nothing is asked.
        selection: the ``limit``, ``offset`` and ``round`` of what was selected, for the results.
    """
    scored, budget = Scored(), open_budget(settings)
    results: dict[str, Any] = {}
    parts, by_part = dict[str, Sequence[float | None]](), None
    judged: dict[tuple[str, str], None] = {}
    with open_run(output) if output else nullcontext() as writer:
        for plan in plans:
            async with open_client(
                plan.scorer.judge, settings, budget, requests=requests
            ) as client:
                values, of_sets = await _score_task(plan, client, scored, judged, writer)
                scored.stopped = scored.stopped or client.stopped
                scored.requests.update(client.outcomes)
            plan.scorer.report()
            benchmark = TASKS.get(plan.name)
            if benchmark and benchmark.scores_by_part:
                by_part = benchmark.scores_by_part
                parts[benchmark.tasks[plan.name]] = values["accuracy"]
            results[plan.name] = {"alias": plan.name, **metric_results(values, of_sets)}
        scored.results = {
            "results": results | (_groups(plans, results) if len(plans) > 1 else {}),
            "configs": {plan.name: {"task": plan.name} for plan in plans},
            "versions": {plan.name: 1.0 for plan in plans},
            "n-samples": {
                plan.name: {"original": plan.total, "effective": len(plan.documents)}
                for plan in plans
            },
            "config": {
                "model": "replay",
                "model_args": {"name": model, "samples": source},
                **selection,
                "resolved_cli_args": {"timezone": "UTC"},
                "lmms_rpts": configuration(),
                "lmms_rpts_version": __version__,
            },
            "model_source": "replay",
            "model_name": model,
        }
        if budget.calls or budget.found or scored.stopped:
            scored.used = {**budget.usage(), "stopped": scored.stopped}
            scored.results["usage"] = {"judges": scored.used}
        if judged:
            from lmms_rpts.runs.validity import judge_lines, validity_of

            measured = [entry for judging in judged for entry in validity_of(*judging, settings)]
            scored.trust = [line for judging in judged for line in judge_lines(*judging, measured)]
            if measured:
                usage = scored.results.setdefault("usage", {})
                usage["validity"] = [entry.model_dump() for entry in measured]
        if writer is not None:
            scored.written = writer.publish(scored.results, scored.stopped)
            if scored.written and by_part:
                place = scored.written.results
                file = place.with_name(place.name.replace(RESULTS, "_scores.json"))
                file.write_text(json.dumps(by_part(parts), indent=2), encoding="utf-8")
    return scored


async def _score_task(
    plan: TaskPlan,
    client: Client,
    scored: Scored,
    judged: dict[tuple[str, str], None],
    writer: RunWriter | None,
) -> tuple[dict[str, list[float | None]], dict[str, float | None]]:
    """Score the responses to a task in a stream; the values of its metrics.

    Those of the documents, by metric, and those of the whole set. ``judged`` gets the judge and
    the version of its prompts.
    """
    metrics = [each for each in plan.scorer.METRICS.values() if each.listed]
    metrics = [each for each in metrics if each.name not in plan.scorer.unasked]
    values: dict[str, list[float | None]] = {each.name: [] for each in metrics if each.value}
    whole: list[Record] = []  # for metrics of the set; else only what is written is held
    samples: list[Sample] = []  # of the current document, as its records
    records: list[Record] = []
    total = sum(len(each.rows) if each else 1 for each in plan.documents.values())
    work = _responses_of(plan, client)
    async for at, sample, record, is_last in ordered(work, client, total=total, label=plan.name):
        plan.scorer.note(record)
        scored.outcomes[record.outcome] += 1
        if record.SCORE == "rpts" and record.settings.comparable:
            judged |= {(record.settings.judge, record.settings.prompt_version): None}
        samples.append(sample)
        records.append(record)
        if not is_last:
            continue
        means: dict[str, float | None] = {}
        for metric in metrics:
            if metric.value:
                known = [v for v in map(metric.value, records) if v is not None]
                # Not fsum: as in lmms-eval's process_results, to the last bit.
                means[metric.name] = sum(known) / len(known) if known else None
                values[metric.name].append(means[metric.name])
        whole += records * any(metric.over for metric in metrics)
        if writer is not None:
            writer.add(plan.name, at, samples, means)
        samples, records = [], []
    return values, {metric.name: metric.over(whole) for metric in metrics if metric.over}


def _responses_of(plan: TaskPlan, client: Client) -> Iterator[Coroutine[Any, Any, Any]]:
    """The scoring of each response, see `_score_response`; rows are read when it is their turn."""
    for at, document in plan.documents.items():
        entries = list(document.entries()) if document else [({}, SavedResponse(None))]
        for number, (entry, response) in enumerate(entries, 1):
            # One value for several responses is that of the first and its duplicates: nearly all
            # pipelines of lmms-eval drop the others.
            is_first = response.text == entries[0][1].text
            metrics = document.metrics if document and is_first else None
            is_last = number == len(entries)
            yield _score_response(plan, client, at, entry, response, metrics, is_last)


async def _score_response(
    plan: TaskPlan,
    client: Client,
    at: int,
    entry: Mapping[str, Any],
    response: SavedResponse,
    metrics: Mapping[str, Any] | None,
    is_last: bool,
) -> tuple[int, Sample, Record, bool]:
    """The number of a document, a response, its record, and whether it is the document's last.

    ``metrics``: the logged metrics of the response; None: unknown.
    """
    question = plan.question(at)
    record = await plan.scorer.score(response.text, question, client)
    if plan.is_right is not None:
        record = record.graded(None if metrics is None else plan.is_right(metrics))
    sample = Sample(response.text, response.tokens, record.to_json(), question.gold, entry)
    return at, sample, record, is_last


def _groups(plans: Sequence[TaskPlan], results: Mapping[str, Any]) -> dict[str, Any]:
    """The means of groups of which all tasks were scored, weighted by their documents.

    None of benchmarks whose tasks are summarized separately: ``summarize`` has theirs.
    """
    sizes = {plan.name: len(plan.documents) for plan in plans}
    groups: dict[str, Any] = {}
    for group in TASKS:
        members = members_of(group)
        if len(members) > 1 and {*members} == {*sizes} and not TASKS[group].by_task:
            names = [name for name in results[members[0]] if "," in name and "_stderr" not in name]
            weights = [sizes[member] for member in members]
            groups[group] = {"alias": group} | {
                name: mean_over_tasks([results[member].get(name) for member in members], weights)
                for name in names
            }
    return groups


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
    chosen, listed_rows = load_settings(judge=judge, **settings), list(rows)
    texts = [_response(row, f"row {at}") for at, row in enumerate(listed_rows)]
    if task is None:
        pairs: Sequence[tuple[Scorer, Any]] = own_questions(listed_rows, chosen)
    else:
        pairs = _task_questions(listed_rows, task, chosen)
    return run_async(_score_rows(texts, pairs, chosen))


def _response(row: Any, place: str) -> str | None:
    """The response of a row of Python; None, as pandas' NaN, is a failed request."""
    if not isinstance(row, Mapping):
        raise ResponsesError(
            f"{place} should be a dictionary, not {shown(row)} (of a pandas DataFrame: "
            'frame.to_dict("records"))'
        )
    if "response" not in row:
        raise ResponsesError(f"{place} has no response: its fields are {listed(list(row))}")
    text = row["response"]
    if text is None or (isinstance(text, float) and math.isnan(text)):
        return None
    if not isinstance(text, str):
        raise ResponsesError(f"{place}: response should be a text or None, not {shown(text)}")
    return storable(text)


async def _score_rows(
    texts: Sequence[str | None], pairs: Sequence[tuple[Scorer, Any]], settings: Settings
) -> list[Record]:
    scorers = list(dict.fromkeys(scorer for scorer, _ in pairs))
    judge = scorers[0].judge if scorers else "none"
    async with open_client(judge, settings, budget=open_budget(settings)) as client:
        work = (
            scorer.score(text, question, client)
            for text, (scorer, question) in zip(texts, pairs, strict=True)
        )
        records: list[Record] = []
        async for record in ordered(work, client, total=len(pairs), label="Scoring"):
            pairs[len(records)][0].note(record)
            records.append(record)
    for scorer in scorers:
        scorer.report()
    return records


def _task_questions(
    rows: Sequence[Mapping[str, Any]], task: str, settings: Settings
) -> list[tuple[Scorer, Any]]:
    """The scorer and the question of each row of a task of ours."""
    members = read_questions(task)
    questions: dict[str, tuple[Scorer, Any]] = {}
    for member, own in members.items():
        scorer = TASKS[member].scorer(member, settings, None)
        for at, question in enumerate(own):
            # Records name their document.
            place = {"task": member, "doc_id": at}
            pair = (scorer, partial(question.model_copy, update=place))
            questions.setdefault(f"id {question.id}", pair)
            if len(members) == 1:
                questions[f"doc_id {at}"] = pair
    names = [
        f"doc_id {row['doc_id']}" if "doc_id" in row else f"id {row.get('id')}" for row in rows
    ]
    unknown = [f"row {at}: {name}" for at, name in enumerate(names) if name not in questions]
    if unknown:
        raise ResponsesError(f"{task} has no document for {listed(unknown)}")
    return [(scorer, scorer.question(make())) for scorer, make in map(questions.__getitem__, names)]
