"""Checks of settings, judge and data before an RPTS task runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lmms_rpts.filters import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.tasks.rpts_eval.dataset import check_rpts_eval
from lmms_rpts.tasks.rpts_eval.documents import DEMO_TASK, LANGUAGES


def _check(*languages: str, judge: str | None = None) -> None:
    # Filters check their settings when they are created.
    TransformFilter(judge=judge)
    ScoreFilter(judge=judge)
    AggregateFilter()
    for language in languages:
        check_rpts_eval(language)


CHECKS: dict[str, Callable[[], None]] = {
    **{task: partial(_check, *languages) for task, languages in LANGUAGES.items()},
    DEMO_TASK: partial(_check, judge="lexical"),
}
