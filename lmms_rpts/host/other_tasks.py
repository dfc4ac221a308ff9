"""Tasks of lmms-eval that are not ours: their questions, and when an answer counts as right.

A task is asked by its public methods alone: ``doc_to_text``, ``doc_to_visual``, ``doc_to_messages``
and ``doc_to_target``. Whether an answer is right is known from the metrics that its run logged.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.base.schema import shown
from lmms_rpts.base.settings import SettingError, Settings
from lmms_rpts.filters.base import RptsFilter, without_media
from lmms_rpts.filters.grading import GradingFilter
from lmms_rpts.filters.session import reset_session
from lmms_rpts.host.task_files import SUFFIX, image_name, load_task
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import as_text
from lmms_rpts.scoring.options import Options, blindness, choose_judge
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.scoring.scorer import Scorer
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import image_fault, messages_of, task_images, visuals_of

NONE = "none"
"""For ``--correct``: no answer counts as right or wrong."""
# Fields of a metric's value that say whether an answer is right, the clearest first; "": itself.
_FIELDS = ("correct", "is_correct", "true_false", "score", "acc", "accuracy", "exact_match", "")


class OtherTask:
    """A task that is scored by RPTS after its run; raises DataError if it cannot be.

    Attributes:
        name: the name under which it is scored.
        docs: the documents without their media; ``total``: their number.
        ids: their ids in the data; empty if responses name them by number only.
        scorer: scores a response.
        is_right: whether a response is right by the metrics that were logged (None: not known);
            None for a task with filters of ours, which grades itself.
    """

    def __init__(self, task: Any, settings: Settings) -> None:
        self._task, self._settings = task, settings
        self._criterion: tuple[str, str, float] | None = None
        self.docs = without_media(task.task_docs)
        self.name, self.total = f"{task.config.task}{SUFFIX}", len(self.docs)
        self.ids: list[str] = []
        ours = [f for each in task._filters for f in each.filters if isinstance(f, RptsFilter)]
        self.is_ours = bool(ours)
        self.is_right = None if ours else self._is_right
        if ours:
            self.name, self.scorer = task.config.task, _scorer_of(ours)
            columns = getattr(self.docs, "column_names", ())
            self.ids = [as_text(each) for each in self.docs["id"]] if "id" in columns else []
            return
        options = Options.of(settings, answer="none")
        chosen = choose_judge(settings, None, options)
        self.scorer = RptsScorer(chosen.name, options=options)
        visuals = self._visuals(0) or []
        fault = next(filter(None, map(image_fault, visuals)), None)
        if visuals and options.evidence is None and not chosen.sees and chosen.name != NONE:
            fault = blindness(chosen.name)
        if fault:
            raise DataError(f"The task {task.config.task!r} cannot be judged: {fault}.")

    def question(self, doc_id: int) -> Any:
        """The question of a document; its images are opened when a judge needs them."""
        place = {"task": self.name, "doc_id": doc_id}
        if self.is_ours:
            found = self.scorer.question(self.docs[doc_id])
            if not isinstance(found, Question):
                return found
            question = found.model_copy(update=place)
        else:
            row, images = self._task.task_docs[doc_id], self._visuals(doc_id)
            text = as_text(self._task.doc_to_text(row)).strip() or self._chat_text(row)
            names = [image_name(self.name, doc_id, at) for at in range(len(images or ()))]
            doc: dict[str, Any] = {
                "id": None,
                "language": _language_of(text),
                "statement": text,
                "context": text,
            }
            doc |= {"textual_clue": [], "visual_clue": names, "reasoning": []}
            doc |= {"answer": self._targets(doc_id)[0], "images_known": images is not None}
            question = Question.of(doc, **place)
            if images is None:
                return question
        load = partial(task_images, self._task, doc_id)
        return question.with_images(load, self._settings.image_size)

    def check_target(self, doc_id: int, logged: str) -> None:
        """Raise a DataError if the responses were to a document with another gold answer."""
        known = self._targets(doc_id)
        if not self.is_ours and _joined(logged) not in known:
            raise DataError(
                f"{self.name}: the samples have the gold answer {shown(logged)} for document "
                f"{doc_id}, the task has {shown(known[0])}: the responses belong to other data"
            )

    def choose(self, logged: Sequence[Mapping[str, Any]], correct: str | None) -> None:
        """Choose the metric that says whether an answer is right; log a warning if there is none.

        Args:
            logged: the metrics of responses.
            correct: ``METRIC``, ``METRIC.FIELD``, ``METRIC.FIELD>=0.8``, ``none``; None: the first
                for which more is better and whose values are all from 0 to 1.
        """
        own = list(self._task._aggregation_list)
        names = list(dict.fromkeys([*own, *(name for each in logged for name in each)]))
        if correct == NONE or self.is_ours:
            return
        if correct is not None:
            self._criterion = self._named(logged, correct, names)
            return
        better = self._task.higher_is_better()
        rising = [name for name in names if better.get(name, True)]
        for name, field in ((name, field) for name in rising for field in _FIELDS):
            values = [*self._values(logged, name, field)]
            if values and all(value is not None and value <= 1.0 for value in values):
                self._criterion = (name, field, 0.5)
                logger.info("{}: answers are graded by {} {}", self.name, visible(name), field)
                return
        said = f"of its metrics ({visible(', '.join(names)) or NONE}), none says what is right"
        logger.warning("{}: {}; set --correct METRIC.FIELD", self.name, said)

    def _named(
        self, logged: Sequence[Mapping[str, Any]], correct: str, names: Sequence[str]
    ) -> tuple[str, str, float]:
        """The metric, field and minimum of ``--correct``."""
        path, _, least = correct.replace(" ", "").partition(">=")
        name = max(
            (each for each in names if f"{path}.".startswith(f"{each}.")), key=len, default=""
        )
        minimum = _number(least) if least else 0.5
        if not name or minimum is None:
            raise SettingError(
                f"--correct: {correct!r} is not a metric of the task. Use one of "
                f"{', '.join(names)}, or none. To set a minimum, write METRIC>=0.5"
            )
        field = path.removeprefix(name).removeprefix(".")
        values = [each for each in self._values(logged, name, field) if each is not None]
        if not values:
            logger.warning("{}: no response has a number as {}", self.name, visible(correct))
        if minimum <= 1.0 < max(values, default=0.0):
            raise SettingError(
                f"--correct: {path} has values up to {max(values):g}. Write the minimum of a right "
                f"answer on this scale, such as {path}>={max(values) / 2:g}"
            )
        return name, field, minimum

    def _is_right(self, metrics: Mapping[str, Any]) -> bool | None:
        name, field, least = self._criterion or ("", "", 0.0)
        value = next(self._values([metrics], name, field), None)
        return None if value is None else value >= least

    def _values(
        self, logged: Sequence[Mapping[str, Any]], name: str, field: str
    ) -> Iterator[float | None]:
        """The numbers of a metric, or of a field of it, where it has a value."""
        for value in (each[name] for each in logged if each.get(name) is not None):
            found = None if field else value
            if isinstance(value, Mapping):
                found = value.get(field)
                # The task's own mean of this response, if it needs nothing else.
                with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                    found = found if field else self._task._aggregation_list[name]([dict(value)])
            yield None if isinstance(found, str) else _number(found)

    def _visuals(self, doc_id: int) -> list[Any] | None:
        """The media of a document; None if they are not at hand."""
        with contextlib.suppress(Exception):  # of another package's function
            return visuals_of(self._task, self._task.task_docs[doc_id])
        return None

    def _targets(self, doc_id: int) -> tuple[str, str]:
        """The gold answer as one text, and as lmms-eval logs it."""
        target = ""
        with contextlib.suppress(Exception):  # another package's function
            target = self._task.doc_to_target(self._task.task_docs[doc_id])
        return _joined(target), as_text(target)

    def _chat_text(self, row: Any) -> str:
        """The texts of a chat, for tasks that have no other prompt."""
        with contextlib.suppress(Exception):  # another package's function
            parts = [part for each in messages_of(self._task, row) for part in each["content"]]
            return "\n".join(str(part["text"]) for part in parts if "text" in part).strip()
        return ""


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


def _language_of(text: str) -> Language:
    """``zh`` if at least three in ten letters of the beginning of a text are Chinese."""
    letters = [each for each in text[:4000] if each.isalpha()]
    wide = sum("\u4e00" <= each <= "\u9fff" for each in letters)
    return "zh" if letters and wide >= 0.3 * len(letters) else "en"


def _joined(target: object) -> str:
    """A gold answer of a task as one text."""
    if isinstance(target, list | tuple):
        target = " | ".join(map(as_text, target))
    return "" if target is None else as_text(target)


def _number(value: Any) -> float | None:
    """A value as a number of at least 0."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        return number if 0.0 <= (number := float(value)) < math.inf else None
    return None
