"""A task of lmms-eval that RPTS wraps: its configuration, documents, grades and records."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.documents import Document
from lmms_rpts.filters.grading import with_progress
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.filters.responses import REQUEST_FAILED
from lmms_rpts.host.correctness import Criterion, choose, is_right, parse_criterion, survey
from lmms_rpts.host.documents import (
    change_prompts,
    host_document,
    messages_with_steps,
    target_text,
    with_steps,
)
from lmms_rpts.host.task_index import WrappedName
from lmms_rpts.runs.samples import TARGET, load_task_grades
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import visuals_of
from lmms_rpts.tasks.rpts_eval.results import process_results

# Time after which another process that computes its task's own metrics counts as failed.
_PATIENCE = timedelta(minutes=10)

_evaluations: Counter[str] = Counter()


class OtherProcessError(UserError):
    """Another process of the run failed, and this one ends as well."""


class Exchange:
    """Exchanges results among all processes that have documents of the task.

    Each process sees only its own documents. Processes without documents do not run lmms-eval's
    code for documents: a collective of torch would wait for them forever.

    Args:
        task: name of the task.
        has_documents: whether this process has documents of the task. All processes must report it
            once in each evaluation.
    """

    def __init__(self, task: str, has_documents: bool) -> None:
        _evaluations[task] += 1
        self._key = f"lmms_rpts/{task}/{_evaluations[task]}"
        distributed: Any = sys.modules.get("torch.distributed")
        self._store: Any = None
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            self._store = distributed.distributed_c10d._get_default_store()
            self._rank, self._count = distributed.get_rank(), distributed.get_world_size()
            self._set("there", has_documents)

    def gather(self, found: Any) -> list[Any]:
        """The results of all processes with documents, in order; waits for them. Called once.

        Raises:
            OtherProcessError: if another process failed.
        """
        if self._store is None:
            return [found]
        self._set("found", found)
        try:
            there = [at for at in range(self._count) if self._get("there", at)]
            parts = [self._get("found", at) for at in there]
        except RuntimeError as error:  # of torch: another process took too long, or ended
            logger.warning("Processes could not agree on a task's metric: {}", error)
            return [found]
        if None in parts:
            raise OtherProcessError(
                f"Process {there[parts.index(None)]} of this run failed while it computed the "
                "task's own metrics; its error is above. This process ends as well"
            )
        return parts

    def fail(self) -> None:
        """Tell the other processes that this one failed and has no result."""
        if self._store is not None:
            with contextlib.suppress(RuntimeError):  # the store is gone: the others have ended
                self._set("found", None)

    def _set(self, kind: str, value: Any) -> None:
        self._store.set(f"{self._key}/{kind}/{self._rank}", json.dumps(value))

    def _get(self, kind: str, rank: int) -> Any:
        name = f"{self._key}/{kind}/{rank}"
        self._store.wait([name], _PATIENCE)
        return json.loads(self._store.get(name))


# Name of the pipeline, shown in the column ``Filter`` of lmms-eval's table.
FILTER = "rpts"

# The default filters of lmms-eval.
_OWN_PIPELINE = {"name": "none", "filter": [{"function": "take_first"}]}

# Tasks that want one letter allow 16 new tokens: steps need more
_STEPS_TOKENS = 2048

NO_GRADE = "the task's metrics don't say whether the answer is right"


class Documents(list[Document]):
    """The documents of some instances, in their order; ``task``: the task they belong to."""

    task: str | None = None


class HostTask:
    """The state of RPTS for a wrapped task.

    Args:
        task: lmms-eval's ConfigurableTask, built from `wrapped_config`.
        grades: file of ``write_task_grades``; None: the task's metrics are computed in this run.
    """

    def __init__(self, task: Any, grades: Path | None = None) -> None:
        self.task = task
        self.name: str = task.config.task
        self._own = add_metrics(task)
        self._lock = threading.Lock()
        self._metrics: dict[int, list[Mapping[str, Any]]] = {}
        self._chosen: list[Criterion | None] = []
        self._exchange: Exchange | None = None
        self.graded = grades is not None
        self._targets: dict[int, str] = {}
        if grades is not None:
            for doc_id, values in load_task_grades(grades, self.name).items():
                metrics = {name: value for name, value in values.items() if name != TARGET}
                self._metrics[doc_id] = [metrics]
                if TARGET in values:
                    self._targets[doc_id] = target_text(values[TARGET])

    def check_criterion(self) -> None:
        """Check before generation that the task has the metric that the setting names."""
        wanted = load_settings().correct
        if wanted is not None and not self.graded:
            parse_criterion(wanted, self._own)

    # --- prompts ---------------------------------------------------------------------------------

    def ask_for_steps(self) -> None:
        """Make the task's prompts ask for steps as well."""
        change_prompts(
            self.task,
            lambda doc, text: with_steps(text),
            lambda doc, messages: messages_with_steps(messages),
        )

    def first_visuals(self) -> list[Any]:
        """The media of the first document; empty if they are unknown."""
        try:
            return visuals_of(self.task, self.task.task_docs[0])
        except Exception as error:  # another package's function; lmms-eval will report it as well
            logger.debug("Cannot inspect the images of {}: {}", self.name, error)
            return []

    # --- documents -------------------------------------------------------------------------------

    def documents(self, instances: Sequence[Any]) -> Documents:
        """The documents of instances for the filters of RPTS; see `host_document`."""
        self._exchange = Exchange(self.name, bool(instances))
        settings = load_settings()
        found = Documents()
        found.task = self.name
        known: dict[int, Document] = {}
        for each in with_progress(instances, "Reading documents", settings.rank == 0):
            if each.doc_id not in known:
                first = each.args[0] if each.args else ""
                asked = first if isinstance(first, str) else ""
                known[each.doc_id] = host_document(
                    self.task, self.name, each.doc_id, asked, settings.image_size
                )
                self._check_target(known[each.doc_id])
            found.append(known[each.doc_id])
        return found

    def _check_target(self, doc: Document) -> None:
        """Check, before any judge request, that saved responses answer these questions."""
        saved = self._targets.get(doc["doc_id"])
        if saved is not None and saved not in (doc["answer"], doc["target"]):
            raise DataError(
                f"{self.name}: the samples have the gold answer {shown(saved)} for document "
                f"{doc['doc_id']}, the task has {shown(doc['answer'])}: the responses belong to "
                "other data, or the data have changed. Score them with the data that they belong "
                "to"
            )

    # --- grades ----------------------------------------------------------------------------------

    def remember(
        self,
        doc_id: int,
        metrics: Mapping[str, Any],
        repeats: Mapping[str, Any],
        responses: Sequence[Any] = (),
    ) -> None:
        """Store what the task's own pipelines say of a document; the first pipeline counts.

        ``repeats`` has one value per response by metric, if there are several responses.
        """
        count = max((len(each) for each in repeats.values()), default=0)
        each_repeat: list[Mapping[str, Any]] = [
            {name: values[at] for name, values in repeats.items()} for at in range(count)
        ]
        self._metrics.setdefault(doc_id, each_repeat or [metrics])
        self.settle_repeats(doc_id, responses)

    def fail(self) -> None:
        """Make the other processes of the run end: the task's own metrics failed in this one."""
        if self._exchange is not None:
            self._exchange.fail()

    def unlisted(self, values: Mapping[str, Any]) -> list[str]:
        """Names of RPTS metrics that are also unlisted metrics of the task."""
        ours = {metric_name(name, self._own) for name in METRICS}
        return [name for name in values if name in ours and name not in self._own]

    def settle_repeats(self, doc_id: int, responses: Sequence[Any]) -> None:
        """Assign a single value for several responses to the first response and to its duplicates.

        lmms-eval's ``take_first``, which nearly all pipelines use, drops the others.
        """
        known = self._metrics.get(doc_id)
        if known is not None and len(known) == 1 and len(responses) > 1:
            first = responses[0]
            self._metrics[doc_id] = [known[0] if each == first else {} for each in responses]

    def correct(self, doc_id: int, repeat: int) -> bool | None:
        """Whether a response is right by the task's own metric; None if it is undecided."""
        criterion = self._settle_criterion()
        known = self._metrics.get(doc_id, [])
        if criterion is None or repeat >= len(known):
            return None
        return is_right(known[repeat], criterion, self.task.aggregation())

    def _settle_criterion(self) -> Criterion | None:
        with self._lock:
            self._chosen = self._chosen or [self._choose()]
            return self._chosen[0]

    def _choose(self) -> Criterion | None:
        wanted = load_settings().correct
        firsts = [each[0] for each in self._metrics.values() if each]
        parts = [survey(firsts, self.task.aggregation(), wanted)]
        if not self.graded and self._exchange is not None:
            parts = self._exchange.gather(parts[0])
        found, warning = choose(parts, self._own, self.task.higher_is_better(), wanted)
        first = load_settings().rank == 0
        if first and warning:
            logger.warning("{}: {}", self.name, warning)
        elif first and found:
            logger.info("{}: answers are graded by {}", self.name, visible(str(found)))
        return found

    # --- records ---------------------------------------------------------------------------------

    def complete(self, requests: Sequence[Any]) -> None:
        """Write into the records of a document's responses whether their answers are right."""
        self._settle_criterion()  # also if no record can be read: other processes wait for it
        for repeat, request in enumerate(requests):
            written = request.filtered_resps.get(FILTER)
            texts = written if isinstance(written, list) else [written]
            done = [
                self._completed(text, request.doc_id, repeat + at) for at, text in enumerate(texts)
            ]
            request.filtered_resps[FILTER] = done if isinstance(written, list) else done[0]

    def _completed(self, text: Any, doc_id: int, repeat: int) -> Any:
        try:
            record = RptsRecord.parse(json.loads(text))
        except (TypeError, ValueError, RecursionError):
            return text
        if (record.transform.error or "").startswith(REQUEST_FAILED):
            return text  # the task's metric calls it wrong
        return with_grade(record, self.correct(doc_id, repeat)).to_json()

    def process_results(self, doc: Any, results: Any) -> dict[str, Any]:
        """The metrics of RPTS, under names that the task's own metrics don't use."""
        # Several responses to a document are one request, whose result is a list.
        several = [each if isinstance(each, list) else [each] for each in results]
        return results_beside(doc, [text for each in several for text in each], self._own)


def with_grade(record: RptsRecord, correct: bool | None) -> RptsRecord:
    """A record with the task's grade of its answer."""
    error = NO_GRADE if correct is None and record.answer.error is None else record.answer.error
    answer = record.answer.model_copy(update={"correct": correct, "by": "task", "error": error})
    return record.model_copy(update={"answer": answer})


# --- configuration --------------------------------------------------------------------------------


def wrapped_config(
    base: Mapping[str, Any], name: str, asked: WrappedName, *, graded: bool
) -> dict[str, Any]:
    """The configuration of ``NAME_rpts``.

    Args:
        base: configuration of the task, complete and unchanged.
        name: name of the wrapped task.
        asked: the parts of the requested name.
        graded: whether the grades of the responses are known already: then the task's own filters
            and metrics are left out, since they may use a grader that costs money.
    """
    config = copy.copy(dict(base))
    config["task"] = name
    ours = {
        "name": FILTER,
        "filter": [
            {"function": "rpts_any_transform", "mode": "auto", "variant": asked.variant},
            {"function": "rpts_score"},
            {"function": "rpts_aggregate"},
        ],
    }
    config["filter_list"] = [*(base.get("filter_list") or [_OWN_PIPELINE]), ours]
    if graded:
        config |= {
            "filter_list": [ours],
            "process_results": partial(results_beside, taken=_own_metrics(base)),
            # The first filter handles thinking.
            "reasoning_tags": "none",
        }
    if asked.variant == "steps":
        config["generation_kwargs"] = _room_for_steps(base.get("generation_kwargs"))
    for listing in ("tag", "group"):  # the new task is in none of the groups
        config.pop(listing, None)
    return config


def results_beside(doc: Any, results: Any, taken: Sequence[str]) -> dict[str, Any]:
    """The RPTS metrics of one document, under names that the task's own metrics don't use."""
    found = process_results({}, results)
    return {metric_name(name, taken): value for name, value in found.items()}


def metric_name(metric: str, taken: Any) -> str:
    """The name of an RPTS metric in a task: prefixed with ``rpts_`` if the task uses the name."""
    return f"rpts_{metric}" if metric in taken else metric


def add_metrics(task: Any) -> list[str]:
    """Make a task aggregate the metrics of RPTS next to its own.

    They cannot be in its ``metric_list``: if a task has no ``process_results``, lmms-eval computes
    each metric listed there from the response and the gold answer.

    Returns:
        The names of the task's own metrics.
    """
    own = list(task._aggregation_list)
    for metric in METRICS:
        name = metric_name(metric, own)
        task._aggregation_list[name] = mean_of_scored
        task._higher_is_better[name] = METRICS[metric].higher_is_better
    return own


def _own_metrics(base: Mapping[str, Any]) -> list[str]:
    """The names of the task's metrics; those of lmms-eval for a task that lists none."""
    if base.get("metric_list") is not None:
        named = [each["metric"] for each in base["metric_list"]]
        return [each if isinstance(each, str) else str(each.__name__) for each in named]
    from lmms_eval.api.registry import DEFAULT_METRIC_REGISTRY

    return list(DEFAULT_METRIC_REGISTRY["generate_until"])


def _room_for_steps(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments with enough tokens for steps, and without a stop at the first blank line."""
    given = dict(kwargs or {})
    most = given.get("max_new_tokens")
    enough = isinstance(most, int) and most >= _STEPS_TOKENS
    return {**given, "max_new_tokens": most if enough else _STEPS_TOKENS, "until": []}
