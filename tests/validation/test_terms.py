"""Terms of a validation: why a metric has no value, and which judges are doubtful."""

from __future__ import annotations

from typing import Any

from lmms_rpts.base.escaping import cost, figure
from lmms_rpts.runs.validity import Interval, JudgedChain
from lmms_rpts.validation.terms import METRICS, doubts, in_order, title_of, why_missing
from tests.support.tables import table
from tests.support.validations import VALUES, interval, make_set

WRONG = JudgedChain(id="w", question="w", stratum="", labels=(False,), scores=(0.2,), first_error=0)
SOUND = JudgedChain(id="s", question="s", stratum="", labels=(True,), scores=(0.2,))
NOWHERE = SOUND.model_copy(update={"located": False})


@table(
    "metric, fields, reason",
    ("auc", {"n_wrong": 0}, "no wrong steps"),
    ("auc", {"n_wrong": 2081}, "no sound steps"),
    ("auc", {"n_steps": 0, "n_wrong": 0}, "no labelled steps"),
    ("auc", {"metrics": {"unscored": Interval(value=1)}}, "no step has a score"),
    ("auc", {}, ""),
    ("sensitivity", {"n_wrong": 0}, "no wrong steps"),
    ("sensitivity", {"n_wrong": 2081}, ""),
    ("specificity", {"n_wrong": 2081}, "no sound steps"),
    ("mcc", {"n_wrong": 0}, "no wrong steps"),
    ("acc_ok", {"chains": (WRONG,)}, "no sound chains"),
    ("acc_ok", {"chains": (WRONG, SOUND)}, ""),
    ("acc_err", {"chains": (SOUND,)}, "no wrong chains"),
    ("f1_first", {"chains": (WRONG,)}, "no sound chains"),
    ("f1_first", {"chains": (SOUND,)}, "no wrong chains"),
    ("f1_first", {"chains": (NOWHERE,)}, "first errors are not labelled"),
    ("acc_ok", {"chains": ()}, ""),
    ("brier", {"n_wrong": 0}, ""),
    ("of nobody", {}, ""),
)
def test_why_a_metric_has_no_value(metric: str, fields: dict[str, Any], reason: str) -> None:
    assert why_missing(metric, make_set(**fields)) == reason


@table(
    "auc, baselines, rival, is_beaten, doubted",
    (interval(0.8), {"shortness": 0.7, "place": 0.6}, ("shortness", 0.7), False, False),
    (interval(0.7), {"shortness": 0.7, "place": 0.6}, ("shortness", 0.7), True, True),
    (interval(0.65), {"shortness": 0.6, "place": 0.64}, ("place", 0.64), False, True),
    # lexical is a kind of judge, not a trivial baseline
    (interval(0.8), {"lexical": 0.9}, None, False, False),
    (interval(0.48), {"place": 0.4}, ("place", 0.4), True, True),
    (interval(0.52), {}, None, False, True),
    (Interval(value=0.8), {"shortness": 0.7}, ("shortness", 0.7), False, False),
    (Interval(value=None), {"shortness": 0.7}, ("shortness", 0.7), False, False),
)
def test_judges_to_doubt(
    auc: Interval,
    baselines: dict[str, float],
    rival: tuple[str, float] | None,
    is_beaten: bool,
    doubted: bool,
) -> None:
    figures = {name: {"auc": interval(value)} for name, value in baselines.items()}
    found = make_set(metrics={"auc": auc}, baselines=figures)
    assert found.rival == rival
    assert bool(found.doubt) is is_beaten
    assert bool(doubts(found)) is doubted


def test_every_metric_is_explained_in_a_line() -> None:
    assert set(METRICS) == set(VALUES)
    for name, metric in METRICS.items():
        assert 10 < len(metric.help) < 100, name
    assert title_of("some_new_metric") == "some new metric"


def test_known_names_come_first() -> None:
    assert in_order(["x", "place", "y", "shortness", "x"], ("shortness", "place")) == [
        "shortness",
        "place",
        "x",
        "y",
    ]


@table(
    "value, shown",
    (None, "–"),
    (0.0, "0.000"),
    (-0.0001, "0.000"),
    (0.12345, "0.123"),
    (87.9, "87.900"),
)
def test_numbers(value: float | None, shown: str) -> None:
    assert figure(value) == shown


@table("value, shown", (None, "–"), (0.0, "0"), (0.0123, "0.012"), (12.5, "12.50"))
def test_costs(value: float | None, shown: str) -> None:
    assert cost(value) == shown
