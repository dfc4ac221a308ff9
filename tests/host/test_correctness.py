"""Correctness of an answer by a metric of another package's task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmms_rpts.base.settings import SettingError
from lmms_rpts.host.correctness import Criterion, choose, is_right, parse_criterion, survey
from tests.support.tables import table

METRICS = ("acc", "acc.norm", "f1 score")
HOSTILE = ("İ", "ſ", "ß", "٣", "\ud800", "\0", "a" * 100_000, "=" * 100_000, " " * 100_000)


def chosen_of(metrics: Any, order: Sequence[str], aggregations: Any) -> Criterion | None:
    found = survey(metrics, aggregations)
    return choose([{name: found[name] for name in order if name in found}], order, {}, None)[0]


def settled(metrics: Any, criterion: Criterion, aggregations: Any) -> Criterion | None:
    """The criterion on the scale of these values."""
    seen = survey(metrics, aggregations, str(criterion))
    return choose([seen], [criterion.metric], {}, str(criterion))[0]


@table(
    "text, metric, field, least",
    ("acc", "acc", None, 0.5),
    (" acc ", "acc", None, 0.5),
    ("acc>=0.8", "acc", None, 0.8),
    ("acc >= 1", "acc", None, 1.0),
    ("acc>=0", "acc", None, 0.0),
    ("acc.hit", "acc", "hit", 0.5),
    ("acc.hit>=.25", "acc", "hit", 0.25),
    # The longest metric name wins; the rest is a field.
    ("acc.norm", "acc.norm", None, 0.5),
    ("acc.norm.x", "acc.norm", "x", 0.5),
    ("acc.normal", "acc", "normal", 0.5),
    ("acc.a.b", "acc", "a.b", 0.5),
    ("f1 score>=0.3", "f1 score", None, 0.3),
    ("acc.", "acc", None, 0.5),
    ("acc>=3", "acc", None, 3.0),
)
def test_a_criterion(text: str, metric: str, field: str | None, least: float) -> None:
    assert parse_criterion(text, METRICS) == Criterion(metric, field, least)


@table("text", "none", " none ")
def test_no_criterion(text: str) -> None:
    assert parse_criterion(text, METRICS) is None
    assert parse_criterion(text, []) is None


@table(
    "text",
    *("", "accuracy", "acc>0.5", "acc>=", "acc>=-1", "acc>=1e3", "acc>=0.5.5"),
    *("acc<=0.5", "acc=0.5", "ACC", "None", "acc>=0.5>=0.5", "acc>=٠", "acc>=nan", *HOSTILE),
)
def test_what_is_no_criterion(text: str) -> None:
    with pytest.raises(SettingError, match="is not a metric of the task"):
        parse_criterion(text, METRICS)


def test_the_message_names_the_metrics() -> None:
    with pytest.raises(
        SettingError, match=r"Use one of a, b, or none\. To set a minimum, write it as in a>=0\.5"
    ):
        parse_criterion("c", ["a", "b"])
    with pytest.raises(SettingError, match=r"as in METRIC>=0\.5"):
        parse_criterion("c", [])


@given(
    st.sampled_from(METRICS),
    st.none() | st.text("abc_", min_size=1, max_size=9),
    st.integers(0, 100),
)
def test_a_criterion_is_read_as_it_is_written(metric: str, field: str | None, least: int) -> None:
    criterion = Criterion(metric, field, least / 100)
    read = parse_criterion(str(criterion), METRICS)
    assert read == criterion or f"{metric}.{field}" in METRICS


@given(st.text(), st.lists(st.text(max_size=5), max_size=4))
@example(">=", ["", "a"])
@example(".", [""])
def test_any_text_is_a_criterion_or_refused(text: str, metrics: list[str]) -> None:
    try:
        found = parse_criterion(text, metrics)
    except SettingError:
        return
    assert found is None or (found.metric in metrics and found.least >= 0.0)


def share(rows: Sequence[Mapping[str, Any]]) -> float:
    return sum(row["said"] == row["gold"] for row in rows) / len(rows)


def prints(rows: Sequence[Mapping[str, Any]]) -> float:
    print("noise")
    return 1.0


def raises(rows: Sequence[Mapping[str, Any]]) -> float:
    raise KeyError("said")


def submits(rows: Sequence[Mapping[str, Any]], args: Any = None) -> float:
    raise AssertionError("it writes a file for a submission")


def of_two(rows: Any, others: Any) -> float:
    return 1.0


def with_default(rows: Sequence[Any], scale: int = 1) -> float:
    return 0.25 * scale


RIGHT = {"said": "A", "gold": "A"}
WRONG = {"said": "B", "gold": "A"}


@table(
    "value, field, least, aggregation, right",
    (1, None, 0.5, None, True),
    (0, None, 0.5, None, False),
    (True, None, 0.5, None, True),
    (0.5, None, 0.5, None, True),
    (0.49, None, 0.5, None, False),
    (0.49, None, 0.4, None, True),
    (0, None, 0.0, None, True),
    # A value above 1 is a percentage.
    (100.0, None, 0.5, None, True),
    (49.0, None, 0.5, None, False),
    (80, None, 0.8, None, True),
    (101.0, None, 0.5, None, True),
    # Not known.
    (None, None, 0.5, None, None),
    (-1, None, 0.5, None, None),
    (math.nan, None, 0.5, None, None),
    (math.inf, None, 0.5, None, None),
    ("1", None, 0.5, None, None),
    (b"1", None, 0.5, None, None),
    ([1], None, 0.5, None, None),
    (10**400, None, 0.5, None, None),
    (1j, None, 0.5, None, None),
    # A field of an object.
    ({"hit": 1}, "hit", 0.5, None, True),
    ({"hit": 0}, "hit", 0.5, None, False),
    ({"hit": 1}, "miss", 0.5, None, None),
    ({"hit": "yes"}, "hit", 0.5, None, None),
    (1, "hit", 0.5, None, None),
    # An object alone, through the task's aggregation.
    (RIGHT, None, 0.5, share, True),
    (WRONG, None, 0.5, share, False),
    (RIGHT, None, 0.5, None, None),
    (RIGHT, None, 0.5, prints, True),
    (RIGHT, None, 0.5, raises, None),
    (RIGHT, None, 0.5, submits, None),
    (RIGHT, None, 0.5, of_two, None),
    (RIGHT, None, 0.3, with_default, False),
    (RIGHT, None, 0.2, with_default, True),
)
def test_whether_an_answer_is_right(
    capsys: pytest.CaptureFixture[str],
    value: Any,
    field: str | None,
    least: float,
    aggregation: Callable[..., Any] | None,
    right: bool | None,
) -> None:
    aggregations = {"m": aggregation} if aggregation else {}
    criterion, metrics = Criterion("m", field, least), {"m": value}
    scaled = settled([metrics], criterion, aggregations)
    assert scaled is not None
    assert is_right(metrics, scaled, aggregations) is right
    assert capsys.readouterr().out == ""


@table(
    "values, least, right",
    # One scale for all values of a metric: among percentages, 1 is one percent.
    ([0.5, 1.0, 0.0], 0.5, [True, True, False]),
    ([1.0, 49.0, 85.0], 0.5, [False, False, True]),
    ([1.0, 49.0, 85.0], 0.01, [True, True, True]),
    # Grades up to 5 are neither shares nor percentages: only a criterion on their own scale works.
    ([1.0, 5.0, 3.0], 0.5, None),
    ([1.0, 5.0, 3.0], 3.0, [False, True, True]),
    ([1.0, 20.0], 0.5, None),
    ([1.0, 20.1], 0.2, [False, True]),
    ([None, None], 0.5, [None, None]),
)
def test_all_values_of_a_metric_have_one_scale(
    values: list[Any], least: float, right: list[bool | None] | None
) -> None:
    criterion, metrics = Criterion("m", None, least), [{"m": value} for value in values]
    scaled = settled(metrics, criterion, {})
    found = None if scaled is None else [is_right(each, scaled, {}) for each in metrics]
    assert found == right


def test_an_absent_metric_says_nothing() -> None:
    assert is_right({}, Criterion("m"), {}) is None
    assert is_right({"n": 1}, Criterion("m"), {"m": share}) is None


def test_an_aggregation_cannot_change_the_value() -> None:
    def greedy(rows: list[dict[str, Any]]) -> float:
        rows[0].clear()
        return 1.0

    value = dict(RIGHT)
    assert is_right({"m": value}, Criterion("m"), {"m": greedy})
    assert value == RIGHT


@table(
    "metrics, chosen",
    ([], None),
    ([{}], None),
    ([{"a": 1}, {"a": 0}], Criterion("a")),
    # A length, or a value on another scale, is ignored.
    ([{"a": 12, "b": 1}, {"a": 1, "b": 0}], Criterion("b")),
    ([{"a": "x", "b": 1}], Criterion("b")),
    ([{"a": 100.0}, {"a": 0.0}], None),
    # If some values are missing, the others decide.
    ([{"a": None, "b": 1}, {"a": 1, "b": 0}], Criterion("a")),
    ([{"b": 1}, {"a": 1, "b": 0}], Criterion("a")),
    # Fields, the most explicit name first; then the aggregation.
    ([{"a": {"score": 1, "correct": True}}], Criterion("a", "correct")),
    ([{"a": {"score": 3, "hit": 1}}, {"a": {"score": 1, "hit": 0}}], Criterion("a", "hit")),
    ([{"a": {"score": 1}}, {"a": {}}], None),
    ([{"a": {"x": 1}, "b": 1}], Criterion("b")),
    ([{"s": RIGHT}, {"s": WRONG}], Criterion("s")),
    ([{"s": {**RIGHT, "score": "1"}}], Criterion("s")),
)
def test_the_first_metric_that_says_it(
    metrics: list[dict[str, Any]], chosen: Criterion | None
) -> None:
    assert chosen_of(metrics, ["a", "b", "s"], {"s": share}) == chosen
    assert chosen_of(metrics, [], {}) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["score", "acc", "hit", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), VALUES), max_size=4))
def test_any_values_are_taken(metrics: list[dict[str, Any]]) -> None:
    aggregations = {"a": share, "b": raises}
    chosen = chosen_of(metrics, "ab", aggregations)
    for each in metrics:
        found = is_right(each, chosen or Criterion("a"), aggregations)
        assert found in (None, True, False)
        if chosen is not None and each.get(chosen.metric) is not None:
            assert found is not None
