"""From labelled chains to figures: samples, questions, arrays, comparisons, and words for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.validity import Interval, JudgedChain, ValidityError, read_validity_file
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.figures import ComparisonError, compare_judges, half_of, scored_steps
from lmms_rpts.validation.run import MOST_CHARACTERS, Premises, premises_of, questions_of
from lmms_rpts.validation.terms import METRICS, doubts, in_order, title_of, why_missing
from tests.support.labelled import judged
from tests.support.tables import table
from tests.support.validations import VALUES, interval, make_set

# ---- samples


def chain(number: int, stratum: str, wrong: bool) -> LabelledChain:
    return LabelledChain(f"{stratum}-{number}", f"q{number}", stratum, "c", ("x",), (not wrong,))


SET = [chain(at, "ab"[at % 5 == 0], at % 3 == 0) for at in range(300)]


@table("limit", None, 1, 7, 100, 299, 300, 10_000)
def test_a_sample_keeps_the_shares_of_strata(limit: int | None) -> None:
    drawn = draw(SET, limit, 0)
    size = min(limit or len(SET), len(SET))
    assert len(drawn) == size
    assert drawn == [each for each in SET if each in drawn]  # in order, without duplicates
    assert set(draw(SET[::-1], limit, 0)) == set(drawn), "it depends on the seed alone"
    assert size > 200 or size < 50 or set(draw(SET, limit, 1)) != set(drawn)
    whole = Counter((each.stratum, each.has_error) for each in SET)
    got = Counter((each.stratum, each.has_error) for each in drawn)
    for stratum, count in whole.items():
        assert abs(got[stratum] - count * size / len(SET)) < 1


def test_the_rest_goes_to_the_largest_remainders() -> None:
    strata = [chain(at, name, False) for at, name in enumerate("a" * 50 + "b" * 30 + "c" * 20)]
    # shares of 4: 2.0, 1.2 and 0.8
    assert [each.stratum for each in draw(strata, 4, 0)] == ["a", "a", "b", "c"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40), st.integers(1, 50))
def test_any_sample_has_the_size_of_its_limit(kinds: list[tuple[str, bool]], limit: int) -> None:
    chains = [chain(at, *kind) for at, kind in enumerate(kinds)]
    assert len(draw(chains, limit, 3)) == min(limit, len(chains))


# ---- questions

PLAIN = LabelledChain(
    "i", "q", "s", "How many?", ("one", " ", "three", "four"), (True, None, False, None)
)
GIVEN = replace(PLAIN, premises=((), ("p",), ("one", "p"), ("three",)))
# Two completions at place 1; the second one is on the path.
FORKED = replace(
    PLAIN,
    steps=("one", "bad two", "two", "three"),
    labels=(True, False, True, True),
    places=(0, 1, 1, 2),
    path=(0, 2, 3),
)


@table(
    "chain, which, step, expected",
    (PLAIN, "all", 0, ()),
    (PLAIN, "given", 2, ("one",)),
    (PLAIN, "all", 3, ("one", "three")),
    (GIVEN, "given", 2, ("one", "p")),
    (GIVEN, "given", 0, ()),
    (GIVEN, "all", 2, ("one",)),
    (FORKED, "all", 1, ("one",)),
    (FORKED, "all", 2, ("one",)),
    (FORKED, "all", 3, ("one", "two")),
)
def test_premises(
    chain: LabelledChain, which: Premises, step: int, expected: tuple[str, ...]
) -> None:
    assert premises_of(chain, step, which) == expected


def test_questions_are_about_labelled_steps_as_in_a_run() -> None:
    asked = list(questions_of([PLAIN, GIVEN], "given", Prompts()))
    assert [(each.chain, each.step) for each in asked] == [(0, 0), (0, 2), (1, 0), (1, 2)]
    request = asked[3].request
    assert (request.kind, request.claim) == ("inference", "three")
    assert request.evidence == ("How many?", "one", "p")
    shown = request.messages[1]["content"]
    assert "How many?" in shown
    assert shown.index("one") < shown.index("p>>>") < shown.index("three")


@table(
    "texts, premises, shortened",
    (("a", "LONG", "LONG", "end"), ("LONG", "LONG"), True),
    (("a", "LONG", "b", "end"), ("a", "LONG", "b"), False),
    (("a", "b", "LONGLONGLONG", "e"), (), True),
)
def test_the_oldest_premises_are_dropped_if_all_are_too_long(
    texts: tuple[str, ...], premises: tuple[str, ...], shortened: bool
) -> None:
    steps, expected = (
        tuple(each.replace("LONG", "x" * (MOST_CHARACTERS // 2)) for each in given)
        for given in (texts, premises)
    )
    labelled = replace(PLAIN, steps=steps, labels=(None, None, None, True))
    (asked,) = questions_of([labelled], "all", Prompts())
    assert (asked.premises, asked.shortened) == (expected, shortened)


# ---- arrays

CHAINS = [
    judged("+.-", 0.9, 0.1, None, question="q", stratum="s"),
    judged("++-", 0.3, 0.2, 0.1, question="r", stratum="s", places=(0, 1, 1), path=(0, 2)),
    judged("++", 1, 0, question="q", stratum="t", inherited=frozenset({1})),
    judged("-", 0.5, question="r", stratum="t", located=False),
]


def test_arrays() -> None:
    found = scored_steps([each.chain for each in CHAINS], [each.scores for each in CHAINS])
    expected = {
        "sound": [True, False, True, True, False, True, True, False],
        "score": [0.9, np.nan, 0.3, 0.2, 0.1, 1, 0, 0.5],
        "chain": [0, 0, 1, 1, 1, 2, 2, 3],
        "place": [0, 2, 0, 1, 1, 0, 1, 0],
        "on_path": [True, True, True, False, True, True, True, True],
        "inherited": [False] * 6 + [True, False],
        "question": [0, 1, 0, 1],
        "stratum": [0, 0, 1, 1],
        "half": [half_of("q"), half_of("r"), half_of("q"), half_of("r")],
        "first_error": [2, 1, np.inf, np.nan],
    }
    for name, values in expected.items():
        np.testing.assert_equal(getattr(found, name), values, err_msg=name)


@table(
    "labels, fields",
    ("+..", {"first_error": 1}),
    ("+-+", {"first_error": 1, "places": (0, 1, 1), "path": (0, 2)}),
    ("+-", {"located": False}),
)
def test_an_error_at_no_asked_step_of_the_chain_is_not_located(
    labels: str, fields: dict[str, object]
) -> None:
    each = judged(labels, *[0.5] * len(labels), **fields)
    assert np.isnan(scored_steps([each.chain], [each.scores]).first_error).all()


def test_rounding_and_halves() -> None:
    """Scores that differ in the last bit are ties; halves depend on the name of the question."""
    each = judged("++", 0.1 + 0.2, 0.3)
    one, two = scored_steps([each.chain], [each.scores]).score
    assert one == two == 0.3
    assert [half_of(name) for name in ("q", "r", "s", "", "\ud800", "题")] == [0, 1, 0, 1, 1, 1]
    assert 450 < sum(half_of(f"question {at}") for at in range(1000)) < 550


# ---- two judges

Change = Callable[[dict[str, Any]], None]


def content() -> dict[str, Any]:
    """Two chains, the second with an error at its second step."""
    chain = {"stratum": "", "scores": [0.9, 0.2, None]}
    chains = [
        chain | {"id": "a", "question": "a", "labels": [True, True, True]},
        chain | {"id": "b", "question": "b", "labels": [True, False, None], "first_error": 1},
    ]
    counts = dict.fromkeys(("n_chains", "n_steps", "n_wrong", "n_questions", "available"), 2)
    found = {"name": "s", "layout": "l", "metrics": {}, "chains": chains, **counts}
    return {"format": "lmms-rpts-validity", "judge": "j", "sets": [found]}


def write(path: Path, change: Change) -> Path:
    found = content()
    change(found)
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def of_second(**fields: Any) -> Change:
    return lambda found: found["sets"][0]["chains"][1].update(fields)


@table(
    "fields, said",
    ({}, None),
    ({"scores": [0.9]}, "scores than labels"),
    ({"places": [0]}, "places than labels"),
    ({"places": [0, 1, 3]}, "a step that does not exist"),
    ({"places": [0, 1, 2**63]}, "a whole number"),
    ({"path": [3]}, "a step that does not exist"),
    ({"first_error": 3}, "a step that does not exist"),
    ({"first_error": -1}, "a whole number"),
    ({"first_error": None}, "first error that contradicts its labels"),
    ({"first_error": 0}, "first error that contradicts its labels"),
    ({"first_error": 2}, "first error that contradicts its labels"),
    ({"first_error": None, "located": False}, None),
    ({"first_error": None, "path": [0], "places": [0, 0, 1]}, None),
    ({"first_error": 2, "labels": [True, True, None]}, None),
    ({"scores": [0.9, 1e308, None]}, "a number from 0 to 1"),
    ({"id": "a"}, "two chains with the same id"),
)
def test_chains_that_contradict_themselves_are_refused(
    fields: dict[str, Any], said: str | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "v.json", of_second(**fields))
    if said is None:
        read_validity_file(path)
        return
    with pytest.raises(ValidityError, match=said):
        read_validity_file(path)


def test_only_the_same_chains_of_sets_are_compared(tmp_path: Path) -> None:
    long = {"labels": [True] * 20_000, "scores": [0.5] * 20_000, "first_error": None}
    first, second, large = (
        read_validity_file(write(tmp_path / f"{at}.json", of_second(**fields))).validity
        for at, fields in enumerate(({}, {"question": "a"}, long))
    )
    (found,) = compare_judges(first, second).sets
    assert (found.chains, found.only) == (1, 1)
    (found,) = compare_judges(large, large).sets
    assert found.found.steps == 20_002

    def twice(content: dict[str, Any]) -> None:
        content["sets"].append(content["sets"][0] | {"layout": "other"})

    both = read_validity_file(write(tmp_path / "both.json", twice)).validity
    with pytest.raises(ComparisonError, match="two sets of the same name"):
        compare_judges(both, both)


# ---- words

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


def test_titles_and_order_of_metrics() -> None:
    assert set(METRICS) == set(VALUES)
    for name, metric in METRICS.items():
        assert 10 < len(metric.help) < 100, name
    assert title_of("some_new_metric") == "some new metric"
    names = in_order(["x", "place", "y", "shortness", "x"], ("shortness", "place"))
    assert names == ["shortness", "place", "x", "y"]
