"""Metric groups: each metric is in exactly one group."""

from __future__ import annotations

from lmms_rpts.report.frame import terms
from lmms_rpts.tasks.rpts_eval.results import COUNTS, LOWER_IS_BETTER, METRICS
from lmms_rpts.tasks.rpts_eval.summary import GROUPS, NEITHER_IS_BETTER


def test_each_metric_is_in_one_group_and_has_its_words() -> None:
    # In the same order: terminals show the groups, files show all metrics.
    assert tuple(name for names in GROUPS.values() for name in names) == METRICS
    assert set(terms()["METRIC_WORDS"]) == set(METRICS)


def test_how_to_read_them() -> None:
    assert {*LOWER_IS_BETTER, *NEITHER_IS_BETTER, *COUNTS} <= set(METRICS)
    told = {name for name, words in terms()["METRIC_WORDS"].items() if "lower is better" in words}
    assert told == set(LOWER_IS_BETTER)
