"""Scoring of saved responses in this process: ``lmms-rpts score`` and ``lr.score``."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts import __version__
from lmms_rpts.analysis.correctness import choose_criterion
from lmms_rpts.base.escaping import did_you_mean, listed, storable
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.client import open_client
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import open_budget
from lmms_rpts.runs.reading import RESULTS, SAMPLES, model_name, read_results
from lmms_rpts.runs.responses import (
    DocumentKey,
    ResponsesError,
    RunKey,
    SavedDocument,
    SavedResponse,
    SavedResponses,
    read_responses,
)
from lmms_rpts.runs.work import ordered, run_async
from lmms_rpts.runs.writing import RunWriter, Sample, Written, metric_results, open_run
from lmms_rpts.tasks.aggregation import mean_over_tasks
from lmms_rpts.tasks.own.rows import own_questions
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
class Selection:
    """Which documents are scored: at most ``limit`` from number ``offset`` on, as in lmms-eval.

    ``ids``: only those with these ids (of a task of another package: numbers); empty: all;
    ``round``: only the responses of this round, if rows have one.
    """

    offset: int = 0
    limit: int | None = None
    ids: tuple[str, ...] = ()
    round: int | None = None

    def holds(self, at: int, own_id: str) -> bool:
        """Whether a document is selected, by its number and its id."""
        last = math.inf if self.limit is None else self.offset + self.limit
        return self.offset <= at < last and (not self.ids or own_id in self.ids)


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

    ``used``: calls, tokens and cost of the judge, if any; ``results``: in the form of lmms-eval;
    ``written``: its files; None: they are not written.
    """

    model: str
    outcomes: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    used: dict[str, Any] | None = None
    results: dict[str, Any] = field(default_factory=dict)
    written: Written | None = None


# --- what is scored ------------------------------------------------------------------------------


def find_responses(paths: Sequence[Path], task: str | None) -> SavedResponses:
    """The saved responses to a task or group (None: to all tasks) at these paths."""
    if task is None:
        saved = read_responses(*paths)
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
    saved = read_responses(*paths, only=names, default_task=alone)
    if not saved.runs:
        others = ", ".join(sorted(saved.passed_over)) or "none"
        raise ResponsesError(
            f"{saved.path} contains no responses to {task}; tasks with responses: {others}. To "
            'score them as another task, set "task" in each line'
        )
    return saved


def members_of(task: str) -> tuple[str, ...]:
    """The tasks of a group of ours; of any other name the name."""
    return TASKS[task].groups.get(task, (task,)) if task in TASKS else (task,)


def plan_run(
    saved: SavedResponses,
    run: RunKey,
    settings: Settings,
    selection: Selection,
    task: str | None = None,
    include_path: Path | None = None,
    correct: str | None = None,
) -> list[TaskPlan]:
    """What is scored of one run, by task.

    Args:
        saved: as found by `find_responses`.
        task: the task or group that was asked for; None: all tasks with responses.
        include_path: the folder of own task files.
        correct: the metric that decides whether an answer is right, for tasks of other packages.

    Raises:
        ResponsesError: if responses belong to no document.
    """
    ours = TASKS
    named = {key.task for key in saved.runs[run]} if task is None else {task}
    if correct and named & {*ours}:
        raise ResponsesError("--correct is only for tasks of other packages: ours grade answers")
    plans: list[TaskPlan] = []
    used = set[int]()
    documents: dict[str, Sequence[Any]] = {}
    for name in sorted(named & {*ours}):
        documents |= read_questions(name)
    known = {each.id for questions in documents.values() for each in questions}
    known |= {key.name for each in saved.runs.values() for key in each if key.task not in ours}
    if unknown := [each for each in selection.ids if each not in known]:
        hint = did_you_mean(unknown[0], known)
        raise ResponsesError(f"--ids: there is no document {listed(unknown)}.{hint}")
    for member, docs in sorted(documents.items()):
        plans += _plan_own(saved, run, member, docs, settings, selection, used)
    for name in sorted(named - {*ours, ""}):
        plans += _plan_other(saved, run, name, settings, include_path, correct, selection, used)
    stray = [key for key, each in saved.runs[run].items() if id(each) not in used]
    if stray:
        _refuse_stray(saved, stray, [plan.name for plan in plans])
    if not any(plan.documents for plan in plans):
        raise ResponsesError(f"{saved.path} contains no response to the documents asked for")
    return [plan for plan in plans if plan.documents]


def _plan_own(
    saved: SavedResponses,
    run: RunKey,
    task: str,
    questions: Sequence[Any],
    settings: Settings,
    selection: Selection,
    used: set[int],
) -> Iterator[TaskPlan]:
    """The plan for a task of ours, if it has responses."""
    rounds = [each for each in saved.runs if run.round is not None and each.model == run.model]
    found: dict[int, SavedDocument | None] = {}
    for at, question in enumerate(questions):
        document = saved.find(task, at, question.id, run)
        used |= {id(document)}
        # A question that has a response in another round only is a failed request in this one.
        there = document or any(saved.find(task, at, question.id, each) for each in rounds)
        if there and selection.holds(at, question.id):
            found[at] = document
    if found:
        scorer = TASKS[task].scorer(task, settings, None)
        yield TaskPlan(
            task, scorer, lambda at: scorer.question(questions[at]), found, len(questions)
        )


def _plan_other(
    saved: SavedResponses,
    run: RunKey,
    task: str,
    settings: Settings,
    include_path: Path | None,
    correct: str | None,
    selection: Selection,
    used: set[int],
) -> Iterator[TaskPlan]:
    """The plan for a task of lmms-eval that is not ours."""
    base = task.removesuffix(SUFFIX) or task
    documents = {key: each for key, each in saved.runs[run].items() if key.task in (task, base)}
    wrong = next((key.name for key in documents if not _INDEX.fullmatch(key.name)), None)
    if not _NAME.fullmatch(task):
        raise ResponsesError(f"{shown(task)} is not a valid task name")
    _refuse_filtered(saved, task)
    from lmms_rpts.host.other_tasks import open_task

    other = open_task(base, include_path, settings)
    if wrong is not None and not other.ids:
        raise ResponsesError(
            f'{task}: a response identifies its document by "id" ({shown(wrong)}); use "doc_id", '
            "the index in the task's data from 0"
        )
    numbers = {own_id: at for at, own_id in enumerate(other.ids)}
    found: dict[int, SavedDocument | None] = {}
    for key, each in documents.items():
        at = int(key.name) if key.kind == "doc_id" else numbers.get(key.name, other.total)
        if at < other.total:
            used |= {id(each)}
            if selection.holds(at, key.name):
                found[at] = each
    if found:
        for at, saved_at in sorted(found.items()):
            if saved_at is not None and saved_at.target is not None:
                other.check_target(at, saved_at.target)
        by_number = dict(sorted(found.items()))
        is_right = None
        if not other.is_ours:  # its own filters grade answers
            logged = [each.metrics for each in found.values() if each]
            aggregations, better = other.aggregations, other.better
            is_right = choose_criterion(other.name, logged, aggregations, better, correct).is_right
        yield TaskPlan(other.name, other.scorer, other.question, by_number, other.total, is_right)


def _refuse_stray(
    saved: SavedResponses, stray: Sequence[DocumentKey], tasks: Sequence[str]
) -> None:
    """Raise for responses to documents that the tasks do not have."""
    ours = TASKS
    groups = [each for each in stray if each.kind == "doc_id" and len(members_of(each.task)) > 1]
    if groups:
        raise ResponsesError(
            f'"doc_id" is the number in a task, and {groups[0].task} is a group: use "id", or name '
            f"the task ({listed(members_of(groups[0].task))})"
        )
    names = listed([f"{each.kind} {each.name} of {each.task or 'no task'}" for each in stray])
    variables = {ours[task].data_variable for task in tasks if task in ours} - {""}
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
        found = read_results(file)
        config = (found.get("configs") or {}).get(task) or {}
        # As lmms-eval does: the task's own value takes precedence.
        tags = config.get("reasoning_tags")
        if tags is None:
            given = (found.get("config") or {}).get("resolved_cli_args") or {}
            tags = given.get("reasoning_tags")
        chains = [each.get("filter") or [] for each in config.get("filter_list") or []]
        filters = {str(each.get("function")) for chain in chains for each in chain}
        ours = any(each.startswith("rpts_") for each in filters)
        if (
            (cut := sorted(filters - _LEAVE_WHOLE))
            and not ours
            and tags not in (None, False, "none")
        ):
            raise ResponsesError(
                f"{file} contains filtered responses to {task} ({', '.join(cut)}), not the model's "
                "output. Run the task with --reasoning_tags none, so that lmms-eval saves the "
                "output (with --use_cache, from the cache of that run)"
            )


def guess_name(files: Sequence[Path]) -> str:
    """Name of the model, from the results next to the files, otherwise from the file names."""
    if len(files) == 1 and SAMPLES not in files[0].stem:
        return files[0].stem
    models = list(dict.fromkeys(filter(None, (model_name(read_results(each)) for each in files))))
    if len(models) > 1:
        raise ResponsesError(
            f"The responses are from several models: {', '.join(models)}. Score them one by one, "
            "or set --name if they are one model"
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
    selection: Selection = Selection(),
) -> Scored:
    """Score the responses of one run, and write its samples and results.

    Args:
        source: where the responses are, for the results.
        output: the folder for the files; None: nothing is written.
        requests: a file to which requests without a cached reply are written; nothing is asked.
        selection: what was selected, for the results.
    """
    scored, budget = Scored(model), open_budget(settings)
    figures = None
    if settings.validity:
        from lmms_rpts.runs.validity import validity_for

        figures = validity_for(settings, plans[0].scorer.judge, Prompts(settings.prompts).version())
    results: dict[str, Any] = {}
    scores: dict[str, Sequence[float | None]] = {}
    with open_run(output) if output else nullcontext() as writer:
        for plan in plans:
            judge = plan.scorer.judge
            async with open_client(judge, settings, budget, requests=requests) as client:
                values, of_sets = await _score_task(plan, client, scored, writer)
                scored.stopped = scored.stopped or client.stopped
                scored.requests.update(client.outcomes)
            plan.scorer.report()
            if plan.name in TASKS and TASKS[plan.name].scores_by_part:
                scores[TASKS[plan.name].tasks[plan.name]] = values["accuracy"]
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
                **asdict(selection),
                "resolved_cli_args": {"timezone": "UTC"},
                "lmms_rpts": configuration(),
                "lmms_rpts_version": __version__,
            },
            "model_source": "replay",
            "model_name": model,
        }
        if budget.calls or budget.found or scored.stopped:
            scored.used = {**budget.usage(), "stopped": scored.stopped}
        usage = {"judges": scored.used, "validity": figures}
        if any(usage.values()):
            scored.results["usage"] = {name: each for name, each in usage.items() if each}
        if writer is not None:
            scored.written = writer.publish(scored.results, scored.stopped)
            if scored.written and scores:
                place = scored.written.results
                file = place.with_name(place.name.replace(RESULTS, "_scores.json"))
                file.write_text(json.dumps(scores_by_part(scores), indent=2), encoding="utf-8")
    return scored


def scores_by_part(values: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """The scores of the parts of a benchmark as the ``evaluate.py`` of FlagEval writes them.

    ``final_score`` is the sum of the scores and the number of questions, ``accuracy`` in percent; a
    subtask has sum, number, mean, and the same again as its only part. Unscored answers are left
    out.
    """
    found: dict[str, Any] = {}
    known = {part: [each for each in own if each is not None] for part, own in values.items()}
    for part, scores in known.items():
        if scores:
            own = [sum(scores), len(scores), sum(scores) / len(scores)]
            found[part] = [*own, {part: own}]
    total, count = (sum(each[at] for each in found.values()) for at in (0, 1))
    accuracy = round(100 * total / count, 2) if count else None
    return {"final_score": [total, count], "accuracy": accuracy, **found}


async def _score_task(
    plan: TaskPlan, client: Client, scored: Scored, writer: RunWriter | None
) -> tuple[dict[str, list[float | None]], dict[str, float | None]]:
    """Score the responses to a task in a stream; the values of metrics.

    Those of a document each, one per document, and those of the whole set.
    """
    asked = [each for each in plan.scorer.METRICS.values() if each.name not in plan.scorer.unasked]
    metrics = [each for each in asked if each.listed and each.value]
    of_sets = {each.name: each.over for each in asked if each.listed and each.over}
    values: dict[str, list[float | None]] = {each.name: [] for each in metrics}
    records: list[Record] = []  # of a metric of the set; else only what is written is held
    # Of the current document.
    current, rows, samples = -1, list[dict[str, Any]](), list[Sample]()

    def close() -> None:
        means: dict[str, float | None] = {}
        for each in metrics:
            known = [row[each.name] for row in rows if row[each.name] is not None]
            # Not fsum: as in lmms-eval's process_results, to the last bit.
            means[each.name] = sum(known) / len(known) if known else None
            values[each.name].append(means[each.name])
        if writer is not None:
            writer.add(plan.name, current, samples, means)

    total = sum(len(each.rows) if each else 1 for each in plan.documents.values())
    work = (
        _score_response(plan, client, at, document, entry, said)
        for at, document in plan.documents.items()
        for entry, said in (document.entries() if document else [({}, SavedResponse(None))])
    )
    async for at, sample, record in ordered(work, client, total=total, label=plan.name):
        if at != current and rows:
            close()
            rows, samples = [], []
        current = at
        plan.scorer.note(record)
        scored.outcomes[record.outcome] += 1
        rows.append({each.name: each.value(record) for each in metrics if each.value})
        samples.append(sample)
        records += [record] * bool(of_sets)
    if rows:
        close()
    return values, {name: over(records) for name, over in of_sets.items()}


async def _score_response(
    plan: TaskPlan,
    client: Client,
    at: int,
    document: SavedDocument | None,
    entry: Mapping[str, Any],
    said: SavedResponse,
) -> tuple[int, Sample, Record]:
    """The number of a document, one response with its record as text, and the record."""
    question = plan.question(at)
    record = await plan.scorer.score(said.text, question, client)
    if plan.is_right is not None:
        # One value for several responses is that of the first and its duplicates: nearly all
        # pipelines of lmms-eval drop the others.
        record = record.graded(
            plan.is_right(document.metrics) if document and said.is_first else None
        )
    return at, Sample(said.text, said.tokens, record.to_json(), question.gold, entry), record


def _groups(plans: Sequence[TaskPlan], results: Mapping[str, Any]) -> dict[str, Any]:
    """The means of groups of which all tasks were scored, weighted by their documents.

    None of benchmarks whose tasks are summarized separately: ``summarize`` has theirs.
    """
    sizes = {plan.name: len(plan.documents) for plan in plans}
    found: dict[str, Any] = {}
    for group in TASKS:
        members = members_of(group)
        if len(members) > 1 and {*members} == {*sizes} and not TASKS[group].by_task:
            names = [name for name in results[members[0]] if "," in name and "_stderr" not in name]
            found[group] = {"alias": group} | {
                name: mean_over_tasks(
                    [results[each].get(name) for each in members], [sizes[each] for each in members]
                )
                for name in names
            }
    return found


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
    texts = _responses(listed_rows)
    if task is None:
        pairs: Sequence[tuple[Scorer, Any]] = own_questions(listed_rows, chosen)
    else:
        pairs = _task_questions(listed_rows, task, chosen)
    return run_async(_score_rows(texts, pairs, chosen))


def _responses(rows: Sequence[Any]) -> list[str | None]:
    """The responses of rows of Python; None, as pandas' NaN, is a failed request."""
    found: list[str | None] = []
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ResponsesError(
                f"row {at} should be a dictionary, not {shown(row)} (of a pandas DataFrame: "
                'frame.to_dict("records"))'
            )
        if "response" not in row:
            raise ResponsesError(f"row {at} has no response: its fields are {listed(list(row))}")
        text = row["response"]
        if isinstance(text, float) and math.isnan(text):
            text = None
        if not isinstance(text, str | None):
            raise ResponsesError(f"row {at}: response should be a text or None, not {shown(text)}")
        found.append(None if text is None else storable(text))
    return found


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
    if task not in TASKS:
        hint = did_you_mean(task, TASKS)
        raise ResponsesError(f"Unknown task {task!r}.{hint}")
    found: dict[str, tuple[Scorer, Any]] = {}
    members = read_questions(task)
    for member, questions in members.items():
        scorer = TASKS[member].scorer(member, settings, None)
        for at, question in enumerate(questions):
            make = partial(_question, scorer, member, question, at)
            found.setdefault(f"id {question.id}", (scorer, make))
            if len(members) == 1:
                found[f"doc_id {at}"] = (scorer, make)
    names = [
        f"doc_id {row['doc_id']}" if "doc_id" in row else f"id {row.get('id')}" for row in rows
    ]
    if unknown := [f"row {at}: {name}" for at, name in enumerate(names) if name not in found]:
        raise ResponsesError(f"{task} has no document for {listed(unknown)}")
    return [(scorer, make()) for scorer, make in (found[name] for name in names)]


def _question(scorer: Scorer, task: str, question: Any, at: int) -> Any:
    # Records name their document.
    return scorer.question(question.model_copy(update={"task": task, "doc_id": at}))
