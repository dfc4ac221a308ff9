"""Tasks of lmms-eval that are not ours, and their questions.

A task is asked by its public methods alone: ``doc_to_text``, ``doc_to_visual``, ``doc_to_messages``
and ``doc_to_target``.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import Settings
from lmms_rpts.filters.base import RptsFilter, without_media
from lmms_rpts.filters.grading import GradingFilter
from lmms_rpts.filters.session import reset_session
from lmms_rpts.host.task_files import SUFFIX, image_name, load_task
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.reasoning.clues import language_of
from lmms_rpts.scoring.options import Options, blindness, choose_judge
from lmms_rpts.scoring.question import Question, as_text
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.scoring.scorer import Scorer
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import image_fault, messages_of, task_images, visuals_of


class OtherTask:
    """A task that is scored by RPTS after its run; raises DataError if it cannot be.

    Attributes:
        name: the name under which it is scored.
        docs: the documents without their media; ``total``: their number.
        ids: their ids in the data; empty if responses name them by number only.
        scorer: scores a response.
        is_ours: whether it has filters of ours, and grades itself.
        aggregations: the functions that turn values of its metrics into one, by metric.
        better: for metrics, whether more is better.
    """

    def __init__(self, task: Any, settings: Settings) -> None:
        self._task, self._settings = task, settings
        self.docs = without_media(task.task_docs)
        self.name, self.total = f"{task.config.task}{SUFFIX}", len(self.docs)
        self.ids: list[str] = []
        ours = [f for each in task._filters for f in each.filters if isinstance(f, RptsFilter)]
        self.is_ours = bool(ours)
        self.aggregations, self.better = task._aggregation_list, task.higher_is_better()
        if ours:
            self.name, self.scorer = task.config.task, _scorer_of(ours)
            columns = getattr(self.docs, "column_names", ())
            self.ids = [as_text(each) for each in self.docs["id"]] if "id" in columns else []
            return
        options = Options.of(settings, form="none")
        chosen = choose_judge(settings, None, options)
        self.scorer = RptsScorer(chosen.name, options=options)
        visuals = self._read(0, visuals_of) or []
        fault = next(filter(None, map(image_fault, visuals)), None)
        if visuals and options.evidence is None and not chosen.sees and chosen.name != NO_JUDGE:
            fault = blindness(chosen.name)
        if fault:
            raise DataError(f"The task {task.config.task!r} cannot be judged: {fault}.")

    def question(self, doc_id: int) -> Any:
        """The question of a document; its images are opened when a judge needs them."""
        place = {"task": self.name, "doc_id": doc_id}
        if self.is_ours:
            kind = getattr(self.scorer, "QUESTION", Question)
            question = kind.of(self.docs[doc_id]).model_copy(update=place)
            if kind is not Question:
                return question
        else:
            row, images = self._task.task_docs[doc_id], self._read(doc_id, visuals_of)
            text = as_text(self._task.doc_to_text(row)).strip()
            text = text or self._read(doc_id, _text_of) or ""
            names = [image_name(self.name, doc_id, at) for at in range(len(images or ()))]
            answer = _joined(self._read(doc_id, _target_of))
            doc: dict[str, Any] = {"id": None, "answer": answer, "language": language_of(text)}
            doc |= dict.fromkeys(("statement", "context"), text)
            doc |= {"textual_clue": [], "visual_clue": names, "reasoning": []}
            question = Question.of({**doc, "images_known": images is not None}, **place)
            if images is None:
                return question
        load = partial(task_images, self._task, doc_id)
        return question.with_images(load, self._settings.image_size)

    def check_target(self, doc_id: int, logged: str) -> None:
        """Raise a DataError if the responses were to a document with another gold answer."""
        target = self._read(doc_id, _target_of)
        gold = _joined(target)
        if not self.is_ours and _joined(logged) not in (gold, as_text(target)):
            raise DataError(
                f"{self.name}: the samples have the gold answer {shown(logged)} for document "
                f"{doc_id}, the task has {shown(gold)}: the responses belong to other data"
            )

    def _read(self, doc_id: int, read: Callable[[Any, Any], Any]) -> Any:
        """What the task says of a document; None if it fails, as where media are not at hand."""
        return _tried(lambda: read(self._task, self._task.task_docs[doc_id]))


def open_task(name: str, include_path: Path | None, settings: Settings) -> OtherTask:
    """A task of lmms-eval, to score responses to it; raises DataError if that is not possible."""
    reset_session(settings)
    return OtherTask(load_task(name, include_path, with_filters=True), settings)


def _scorer_of(filters: Sequence[Any]) -> Scorer:
    """The scorer of a task with our filters, whose order was checked when it was built."""
    if isinstance(filters[0], GradingFilter):
        return filters[0].scorer
    transform, score, last = (each.options for each in filters)
    options = replace(transform, evidence=score.evidence, decay=last.decay)
    options = replace(options, focus_height=last.focus_height)
    return RptsScorer(filters[1].judge, options=options)


def _joined(target: object) -> str:
    """A gold answer of a task as one text."""
    if isinstance(target, list | tuple):
        target = " | ".join(map(as_text, target))
    return "" if target is None else as_text(target)


def _target_of(task: Any, row: Any) -> Any:
    return task.doc_to_target(row)


def _text_of(task: Any, row: Any) -> str:
    """The texts of a chat, for tasks that have no other prompt."""
    parts = [part for each in messages_of(task, row) for part in each["content"]]
    return "\n".join(str(part["text"]) for part in parts if "text" in part).strip()


def _tried(call: Callable[[], Any]) -> Any:
    """What another package's function returns, without what it prints; None if it fails."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        return call()
    return None
