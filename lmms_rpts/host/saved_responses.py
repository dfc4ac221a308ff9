"""Saved responses to any task of lmms-eval, scored by ``lmms-rpts score`` as the task NAME_rpts.

The task has the documents, prompts and images of NAME, and the filters and metrics of RPTS. Whether
an answer is right is known from the metrics that were logged with the responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from loguru import logger

from lmms_rpts.base.escaping import did_you_mean, visible
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.filters.documents import Document
from lmms_rpts.filters.grading import with_progress
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.filters.responses import Doc, TransformedResponse, missing_response
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.host.correctness import Criterion, choose, is_right, survey
from lmms_rpts.host.documents import SUFFIX, host_document, target_text
from lmms_rpts.host.task_files import read_simply
from lmms_rpts.runs.samples import TARGET, Grades
from lmms_rpts.tasks.aggregation import mean_of_scored
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import image_fault, visuals_of

PIPELINE = "rpts"
"""Name of the filter pipeline, shown in the column ``Filter`` of lmms-eval's table."""
NO_GRADE = "the task's metrics don't say whether the answer is right"
_OUTPUT = "generate_until"
_YAML = """\
include: {base}
task: {name}
tag: null
group: null
process_results: !function lmms_rpts.tasks.rpts_eval.results.process_results
# The first filter handles thinking.
reasoning_tags: none
filter_list:
  - name: {pipeline}
    filter:
      - function: !function lmms_rpts.host.saved_responses.SavedTransform
        mode: auto
      - function: rpts_score
      - function: rpts_aggregate
"""


class SavedTransform(TransformFilter):
    """``rpts_transform`` for saved responses to a task whose grades are known."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(answer="none", **arguments)
        self._grades: dict[int, list[Mapping[str, Any]]] = {}
        self._targets: dict[int, str] = {}
        self._aggregations: dict[str, Any] = {}
        self._criterion: Criterion | None = None

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """No faults: the documents are another task's, and `documents` converts them."""
        return iter(())

    def join(self, task: Any, filters: Sequence[RptsFilter]) -> None:
        """Take the grades of the task, whose metrics become those of RPTS.

        Args:
            task: lmms-eval's ConfigurableTask, as it was built.
            filters: all of its filters.

        Raises:
            DataError: if a text-only judge would need images, or the task shows models media other
                than images.
        """
        name = task.config.task
        for doc_id, values in _grades().get(name, {}).items():
            metrics = {metric: value for metric, value in values.items() if metric != TARGET}
            self._grades[doc_id] = [metrics]
            if TARGET in values:
                self._targets[doc_id] = target_text(values[TARGET])
        self._choose(task)
        task._aggregation_list = dict.fromkeys(METRICS, mean_of_scored)
        task._higher_is_better = {each: METRICS[each].higher_is_better for each in METRICS}
        visuals = _first_visuals(task)
        for each in filters:
            blind = isinstance(each, ScoreFilter) and not each.sees and each.evidence != "facts"
            if blind and visuals:
                raise DataError(f"The task {name!r} cannot be judged: {each.blindness()}.")
        if fault := next(filter(None, map(image_fault, visuals)), None):
            raise DataError(f"The task {name!r} cannot be judged: {fault}.")

    def _choose(self, task: Any) -> None:
        wanted = None
        self._aggregations = dict(task._aggregation_list)
        values = [each for each, *_ in self._grades.values() if each]
        parts = [survey(values, self._aggregations, wanted)]
        found = choose(parts, list(self._aggregations), task.higher_is_better(), wanted)
        self._criterion, warning = found
        if warning:
            logger.warning("{}: {}", task.config.task, warning)
        elif self._criterion:
            said = visible(str(self._criterion))
            logger.info("{}: answers are graded by {}", task.config.task, said)

    def documents(self, task: Any, instances: Sequence[Any]) -> Sequence[Document]:
        """The documents of instances in the form of RPTS; see `host_document`."""
        settings = load_settings()
        name, known = task.config.task, dict[int, Document]()
        for each in with_progress(instances, "Reading documents", settings.rank == 0):
            if each.doc_id not in known:
                first = each.args[0] if each.args else ""
                asked = first if isinstance(first, str) else ""
                doc = host_document(task, name, each.doc_id, asked, settings.image_size)
                self._check_target(name, doc)
                known[each.doc_id] = doc
        return _Documents(name, [known[each.doc_id] for each in instances])

    def _check_target(self, name: str, doc: Document) -> None:
        """Check, before any judge request, that saved responses answer these questions."""
        saved = self._targets.get(doc["doc_id"])
        if saved is not None and saved not in (doc["answer"], doc["target"]):
            raise DataError(
                f"{name}: the samples have the gold answer {shown(saved)} for document "
                f"{doc['doc_id']}, the task has {shown(doc['answer'])}: the responses belong to "
                "other data, or the data have changed. Score them with the data that they belong "
                "to"
            )

    def _read_all(self, pairs: list[tuple[Any, Doc]]) -> list[TransformedResponse]:
        results = super()._read_all(pairs)
        by_document: dict[int, list[Any]] = {}
        for response, doc in pairs:
            by_document.setdefault(doc["doc_id"], []).append(response)
        for doc_id, responses in by_document.items():
            self._settle_repeats(doc_id, responses)
        seen: Counter[int] = Counter()
        graded = []
        for (response, doc), result in zip(pairs, results, strict=True):
            doc_id = doc["doc_id"]
            correct = self._correct(doc_id, seen[doc_id])
            seen[doc_id] += 1
            if missing_response(response):  # the task's metric calls it wrong
                graded.append(result)
                continue
            error = NO_GRADE if correct is None else result.answer.error
            found = {"correct": correct, "by": "task", "error": error}
            graded.append(replace(result, answer=result.answer.model_copy(update=found)))
        return graded

    def _settle_repeats(self, doc_id: int, responses: Sequence[Any]) -> None:
        """Assign a single value for several responses to the first response and its duplicates.

        lmms-eval's ``take_first``, which nearly all pipelines use, drops the others.
        """
        known = self._grades.get(doc_id)
        if known is not None and len(known) == 1 and len(responses) > 1:
            first = responses[0]
            self._grades[doc_id] = [known[0] if each == first else {} for each in responses]

    def _correct(self, doc_id: int, repeat: int) -> bool | None:
        known = self._grades.get(doc_id, [])
        if self._criterion is None or repeat >= len(known):
            return None
        return is_right(known[repeat], self._criterion, self._aggregations)


class _Documents(list[Document]):
    """Documents of the responses; ``task``: the task that they belong to."""

    def __init__(self, task: str, documents: Sequence[Document]) -> None:
        super().__init__(documents)
        self.task = task


def _grades() -> dict[str, Grades]:
    """The grades of the responses that are scored in this process, by task."""
    return {}


def _first_visuals(task: Any) -> list[Any]:
    """The media of the first document; empty if they are unknown."""
    try:
        return visuals_of(task, task.task_docs[0])
    except Exception as error:  # another package's function; lmms-eval will report it as well
        logger.debug("Cannot inspect the images of {}: {}", task.config.task, error)
        return []


# --- the index of tasks --------------------------------------------------------------------------


def saved_entries(manager: Any, index: Mapping[str, Any]) -> dict[str, Any]:
    """Index entries of the tasks that ``lmms-rpts score`` scores in this process.

    Their files are written beside the file of grades, which that command made.

    Raises:
        DataError: if a task is unknown or cannot be scored; the message says why.
    """
    entries: dict[str, Any] = {}
    for name in _grades():
        base = name.removesuffix(SUFFIX)
        if fault := _fault(manager, index, base):
            raise DataError(f"Responses to {base!r} cannot be scored: {fault}")
        place = Path().with_name(f"{name}.yaml")
        written = _YAML.format(
            base=yaml.safe_dump(str(index[base]["yaml_path"])).removesuffix("\n...\n"),
            name=name,
            pipeline=PIPELINE,
        )
        place.write_text(written, encoding="utf-8")
        entries[name] = {"type": "task", "yaml_path": str(place)}
    return entries


def _fault(manager: Any, index: Mapping[str, Any], base: str) -> str | None:
    """Why responses to a task cannot be scored."""
    entry = index.get(base)
    if entry is None:
        hint = did_you_mean(base, index)
        if getattr(manager, "include_path", None) is None:
            hint += " Use --include_path FOLDER for your own tasks"
        return f"lmms-eval has no task {base!r}.{hint}"
    if entry["type"] == "python_task":
        return "it is a task written in Python"
    if entry["type"] != "task":
        return f"it is a {entry['type']} of several tasks: name its tasks (--task)"
    kind = read_simply(entry["yaml_path"]).get("output_type", _OUTPUT)
    if kind != _OUTPUT:
        return f"it has the output type {kind!r}; only free text ({_OUTPUT}) contains reasoning"
    return None
