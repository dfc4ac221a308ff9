"""The description of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.settings import Settings, Table
from lmms_rpts.judging.request_kinds import RequestKind
from lmms_rpts.runs.record import Record
from lmms_rpts.scoring.scorer import Scorer
from lmms_rpts.stats.metrics import Metrics
from lmms_rpts.tasks.questions import Questions

if TYPE_CHECKING:
    from lmms_rpts.grading.grader import Grade as RuleGrade
    from lmms_rpts.judging.prompts import Prompts
    from lmms_rpts.judging.types import Request


@dataclass(frozen=True, slots=True)
class AnswerGrader:
    """How a benchmark grades free-form answers, which ``lmms-rpts validate --answers`` measures.

    ``rules``: from question, reference and response; ``request``: asks a judge, given the prompts,
    question, reference and answer.
    """

    rules: Callable[[str, str, str], RuleGrade]
    request: Callable[[Prompts, str, str, str], Request]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: prefix of the names of its tasks.
        title: its name in messages and tables.
        folder: the folder of its task files, for lmms-eval's index.
        dataset: ``dataset_path`` of its task files.
        settings: its settings, whose ``TABLE`` is its name.
        tasks: its tasks, each with its ``dataset_name``: the part of the data that it asks.
        groups: its groups, each with its tasks.
        load: the questions of a part; read once a process.
            Raises DataError if they cannot be evaluated.
        check: checks a task before a run: settings, judge, questions, images.
            Raises DataError, JudgeConfigurationError or SettingError.
        scorer: how the responses to a task are scored, given the settings and the judge if these
            name none.
        filters: its filters by their names in task files, each with its scorer; those of RPTS are
            in the room ``filters``.
        record: the type of its records.
        metrics: its metrics; the first says which responses are scored.
        judge: its kinds of judge requests, in addition to those of RPTS.
        by: attributes of a question by which tables can be broken down; the first is always shown.
        by_task: each task is summarized separately.
        columns: the metrics that tables show by default.
        scored: its tasks and groups whose responses have steps that RPTS scores.
        scores_by_part: the scores by part as its publishers write them, which ``lmms-rpts score``
            writes too, from a score per document (None: unscored) of each part.
        remedy: the command that decides what the rules left undecided in the folder ``{}``.
        answers: its grader of free-form answers.
        foreign: reads third-party results, as ``runs.reading.Foreign``.
        predictions: reads a prediction file of its published code, whatever its name, given the
            task and how answers were given; returns what grades them, and the questions with their
            predictions.
        tokens: the maximum number of new tokens of answers to a part, where a setting replaces that
            of the task file; else None.
        images: the folder of the images of a part on this machine, or None; no downloads.
        picture: the Pillow image of a question that names no image file, or None; its arguments
            are the question and the folder of ``--images``, or None. No downloads.
    """

    name: str
    title: str
    folder: Path
    dataset: str
    settings: type[Table]
    tasks: Mapping[str, str]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    load: Callable[[str], Questions[Any]]
    check: Callable[[str], None]
    scorer: Callable[[str, Settings, str | None], Scorer]
    filters: Mapping[str, type[Scorer]] = field(default_factory=dict)
    record: type[Record]
    metrics: Metrics
    judge: tuple[RequestKind, ...] = ()
    by: tuple[str, ...] = ("task",)
    by_task: bool = False
    columns: tuple[str, ...] = ("accuracy", "grader_coverage")
    scored: bool = False
    scores_by_part: Callable[[Mapping[str, Sequence[float | None]]], dict[str, Any]] | None = None
    remedy: str = ""
    answers: AnswerGrader | None = None
    foreign: Callable[[Path, str | None], list[Any]] | None = None
    predictions: Callable[[Path, str, str], tuple[Scorer, Sequence[Any]]] | None = None
    tokens: Callable[[str], int | None] = lambda part: None
    images: Callable[[str], Path | None] = lambda part: None
    picture: Callable[[Any, Path | None], Any] | None = None

    @property
    def data_variable(self) -> str:
        """The variable with the path of its data."""
        return self.settings.VARIABLES["path"][0]
