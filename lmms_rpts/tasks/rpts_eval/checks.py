"""What must be there before an RPTS task runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lmms_rpts.filters.base import choose_judge
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.rpts_eval.dataset import check_rpts_eval


def _check(*languages: str) -> None:
    choose_judge(load_settings())
    for language in languages:
        check_rpts_eval(language)


CHECKS: dict[str, Callable[[], None]] = {
    "rpts_eval": partial(_check, "en", "zh"),
    "rpts_eval_en": partial(_check, "en"),
    "rpts_eval_zh": partial(_check, "zh"),
    "rpts_eval_en_free": partial(_check, "en"),
    "rpts_eval_zh_free": partial(_check, "zh"),
}
