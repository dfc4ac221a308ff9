"""Checks of settings, judge and data before an RPTS task runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lmms_rpts.filters import AggregateFilter, TransformFilter
from lmms_rpts.tasks.rpts_eval.dataset import check_rpts_eval


def _check(*languages: str, judge: str | None = None) -> None:
    # Filters check their settings when they are made.
    TransformFilter(judge=judge)
    AggregateFilter()
    for language in languages:
        check_rpts_eval(language)


CHECKS: dict[str, Callable[[], None]] = {
    "rpts_eval": partial(_check, "en", "zh"),
    "rpts_eval_en": partial(_check, "en"),
    "rpts_eval_zh": partial(_check, "zh"),
    "rpts_eval_en_free": partial(_check, "en"),
    "rpts_eval_zh_free": partial(_check, "zh"),
    "rpts_demo": partial(_check, judge="lexical"),
}
