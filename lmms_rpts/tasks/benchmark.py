"""The description of a benchmark.

Anything slow to import is given as ``package.module:name``, and is imported on first access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from lmms_rpts.base.settings import Settings, Table
from lmms_rpts.judging.request_kinds import RequestKind

if TYPE_CHECKING:
    from lmms_rpts.scoring.scorer import Scorer
    from lmms_rpts.tasks.data import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark.

    Attributes:
        name: prefix of the names of its tasks.
        title: its name in messages and tables.
        folder: the folder of its task files, for lmms-eval's index.
        settings: its settings, whose ``TABLE`` is its name. None: it has none.
        checks: the checks before a task or group runs, by its name: functions that raise DataError,
            JudgeConfigurationError or SettingError. None: no checks.
        examine: checks of its data for ``lmms-rpts doctor``; must not make large downloads.
        filters: lmms-eval filters, by their names in YAML files.
        scorer: returns the `Scorer` of a task, given its name, the settings and the judge if the
            settings name none.
        record: the type of its records; None: it has none of its own.
        grades: a `Grading`: how ``lmms-rpts summarize`` summarizes runs with such records.
        answers: an `AnswerGrader` of free-form answers, which ``lmms-rpts validate`` measures.
        foreign: reads third-party results, as ``runs.reading.Foreign``.
        request_kinds: its kinds of judge requests, in addition to those of RPTS.
        scored: its tasks and groups that RPTS scores, with the tasks of a group; ``lmms-rpts
            score`` accepts responses to them.
        answered: its tasks and groups whose answers it grades itself, as ``scored``, for
            ``lmms-rpts score``.
        documents: returns the documents of one of ``scored`` or ``answered``, without images, by
            task.
        images: returns the folder of a task's images on this machine, or None; no downloads.
        picture: returns the Pillow image of an instance whose record names no image, or None; its
            arguments are the instance and the folder of ``--images``, else of ``images``, or None.
            No downloads.
    """

    name: str
    title: str
    folder: Path
    settings: type[Table] | None = None
    checks: str | None = None
    examine: str | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    scorer: str | None = None
    record: str | None = None
    grades: str | None = None
    answers: str | None = None
    foreign: str | None = None
    request_kinds: tuple[RequestKind, ...] = ()
    scored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    documents: str | None = None
    images: str | None = None
    picture: str | None = None

    @property
    def data_variable(self) -> str:
        """The variable with the path of its data; empty if there is none."""
        if self.settings is None or "path" not in self.settings.model_fields:
            return ""
        return self.settings.variables("path")[0]

    def task_checks(self) -> Mapping[str, Callable[[], None]]:
        """The checks by task and group."""
        return {} if self.checks is None else dict(resolve_name(self.checks))

    def scorer_of(self, task: str, settings: Settings, judge: str | None = None) -> Scorer:
        """How responses to a task are scored; ``judge``: if the settings name none."""
        scorer: Scorer = resolve_name(str(self.scorer))(task, settings, judge)
        return scorer

    def data_checks(self) -> list[Check]:
        """The results of the checks of its data."""
        return [] if self.examine is None else list(resolve_name(self.examine)())
