"""Measures of judges by labels: values worked by hand, scikit-learn, properties, intervals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from lmms_rpts.stats.figures import Interval
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.measures import OF_ANSWERS, Scores, measure
from tests.support.tables import table

LABELS = {"+": True, "-": False, ".": None}
NAMES = {
    "auc": "AUC",
    "within": "AUC within chains",
    "sens": "sensitivity",
    "spec": "specificity",
    "f1": "macro F1",
    "located": "wrong chains located",
    "passed": "sound chains passed",
    "first": "F1 of first errors",
    "brier": "Brier score",
    "unscored": "unscored steps",
}


def judged(text: str) -> tuple[list[LabelledChain], Scores]:
    """Chains such as ``++- .9 .8 ?; + .7``: labels (.: none), and scores of all steps (?: none)."""
    chains: list[LabelledChain] = []
    scores: dict[tuple[int, int], float | None] = {}
    for at, row in enumerate(filter(str.strip, text.split(";"))):
        labels, *values = row.split()
        marks = tuple(LABELS[mark] for mark in labels)
        chains.append(LabelledChain("", f"q{at}", "", "", tuple(labels), marks))
        for step, value in enumerate(values):
            if marks[step] is not None:
                scores[at, step] = None if value == "?" else float(value)
    return chains, scores


@table(
    "why, text, expected",
    ("labels end at the first error: later scores never count", "++-.. .9 .2 .4 .9 .1",
     "auc=.5 sens=1 spec=.5 located=0 passed=none first=none unscored=0"),
    # Squares: 0.01, 0.04, 0.04, 0.01, 0.09
    ("always right", "++- .9 .8 .2; ++ .9 .7",
     "auc=1 within=1 f1=1 sens=1 spec=1 located=1 passed=1 first=1 brier=.038"),
    ("always wrong", "++- .1 .2 .8; ++ .1 .3",
     "auc=0 within=0 f1=0 sens=0 spec=0 located=0 passed=0 first=0"),
    ("0.5 always: by chance, and everything is sound", "+- .5 .5; ++ .5 .5",
     "auc=.5 within=.5 sens=0 spec=1 f1=3/7 located=0 passed=1 first=0 brier=.25"),
    ("no sound step", "- .1; - .7",
     "auc=none within=none f1=none spec=none sens=.5 located=.5 passed=none"),
    ("no wrong step", "++ .9 .1; + .7",
     "auc=none within=none f1=none sens=none spec=2/3 located=none passed=.5 first=none"),
    ("pairs within chains are pooled: 2 of 2, and 0.5 of 1; across, 0.3 beats no other",
     "++- .9 .8 .7; -+ .3 .3", "auc=3/4 within=5/6"),
    ("scores that differ in the last bit are ties", "+- .30000000000000004 .3", "auc=.5"),
    ("the harmonic mean of 1 and 0.5", "+- .9 .1; + .1; + .8", "located=1 passed=.5 first=2/3"),
    ("flagged late only, where steps after the error have labels", "+-+ .9 .8 .1",
     "located=0 spec=.5"),
    ("an unscored step before a decision", "+- ? .1; ++ .9 ?; +- .9 ?",
     "located=none passed=none first=none unscored=.5 sens=1 spec=1"),
    ("an unscored step after a decision", "++- .1 ? .1; ++ .1 ?",
     "located=0 passed=0 unscored=.4"),
    ("an unscored step after the first error, found or missed", "+-+ .9 .1 ?; +-+ .9 .9 ?",
     "located=.5 unscored=1/3"),
    ("no score at all", "+- ? ?", "auc=none f1=none brier=none located=none unscored=1"),
    ("a neutral step never counts", "+.- .9 .1 .1; .+ ? .9",
     "located=1 passed=1 spec=1 unscored=0"),
)  # fmt: skip
def test_values_worked_by_hand(why: str, text: str, expected: str) -> None:
    measures = measure(*judged(text))
    assert list(measures) == list(NAMES.values())
    for pair in expected.split():
        name, _, value = pair.partition("=")
        wanted = None if value == "none" else pytest.approx(float(Fraction(value)), abs=1e-12)
        assert measures[NAMES[name]].value == wanted, name


def test_chains_without_a_known_first_error_do_not_count_for_it() -> None:
    chains, scores = judged("- .1; + .9")
    measures = measure([replace(chain, located=False) for chain in chains], scores)
    assert measures["AUC"].value == 1
    assert measures["F1 of first errors"] == Interval(None)


@table(
    "hit, missed, alarm, passed, undecided, expected",
    # Cohen's kappa of 20, 5, 10, 15: observed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    (20, 5, 10, 15, 0, (0.7, 0.8, 0.6, 0.4, 0.0)),
    (1, 1, 1, 1, 4, (0.5, 0.5, 0.5, 0.0, 0.5)),
    (0, 2, 2, 0, 0, (0.0, 0.0, 0.0, -1.0, 0.0)),
    (3, 0, 0, 0, 1, (1.0, 1.0, None, None, 0.25)),
    (0, 0, 0, 0, 2, (None, None, None, None, 1.0)),
)
def test_graders_of_answers(
    hit: int, missed: int, alarm: int, passed: int, undecided: int, expected: tuple[Any, ...]
) -> None:
    counts = ((hit, "+ 1"), (missed, "+ 0"), (alarm, "- 1"), (passed, "- 0"), (undecided, "+ ?"))
    text = ";".join(row for number, row in counts for _ in range(number))
    measures = measure(*judged(text), OF_ANSWERS)
    assert [each.value for each in measures.values()] == [
        value if value is None else pytest.approx(value) for value in expected
    ]


@table("levels", 2, 8, 1_000_000)
def test_values_are_those_of_scikit_learn(levels: int) -> None:
    """Two chains of four steps per question; a hard question lowers the scores of both."""
    generator = np.random.default_rng(levels)
    chains: list[LabelledChain] = []
    scores: dict[tuple[int, int], float] = {}
    for at, hard in enumerate(np.repeat(generator.normal(size=30), 2)):
        error = int(generator.integers(0, 8))  # from 4 on: none
        labels = tuple(step != error for step in range(4))
        chains.append(LabelledChain("", f"q{at // 2}", "", "", ("s",) * 4, labels))
        for step, label in enumerate(labels):
            logit = 1.5 * label - 0.2 + 0.8 * hard + generator.normal()
            scores[at, step] = round(levels / (1 + np.exp(-logit))) / levels
    sound = [chains[at].labels[step] for at, step in scores]
    score: Any = list(scores.values())
    called = [value >= 0.5 for value in score]
    expected = {
        "AUC": sk.roc_auc_score(sound, score),
        "macro F1": sk.f1_score(sound, called, average="macro"),
        "sensitivity": sk.recall_score(sound, called, pos_label=False),
        "specificity": sk.recall_score(sound, called, pos_label=True),
        "Brier score": sk.brier_score_loss(sound, score),
    }
    values = {name: it.value for name, it in measure(chains, scores, resamples=2).items()}
    assert {name: values[name] for name in expected} == pytest.approx(expected, abs=1e-9)


STEPS = st.lists(st.tuples(st.sampled_from("+-."), st.none() | st.integers(0, 20)), min_size=1)


@given(st.lists(STEPS, min_size=1, max_size=8))
def test_any_scores_have_values_within_bounds(rows: list[list[tuple[str, int | None]]]) -> None:
    """Copies of chains under the same questions add no certainty."""
    scored = [["?" if score is None else f"{score / 20}" for _, score in row] for row in rows]
    labels = ["".join(label for label, _ in row) for row in rows]
    chains, scores = judged(
        ";".join(map(" ".join, map(lambda it, own: [it, *own], labels, scored)))
    )
    once = measure(chains, scores, resamples=20)
    copies = {(at + len(chains), step): score for (at, step), score in scores.items()}
    twice = measure(chains * 2, {**scores, **copies}, resamples=20)
    for name, each in once.items():
        assert each.value is None or 0 <= each.value <= 1, name
        assert each.low is None or each.low <= (each.high or 0), name
        assert twice[name].n == 2 * each.n, name
        pairs = ((each.value, twice[name].value), (each.low, twice[name].low))
        assert all(one == (two and pytest.approx(two, abs=1e-9)) for one, two in pairs), name


def test_a_share_of_all_has_the_exact_interval_over_questions() -> None:
    measures = measure(*judged("+ .9; + .9;" + "+- .9 .1;" * 40), resamples=50)
    # 0.025 to the power of 1 / n
    assert measures["sound chains passed"].low == pytest.approx(0.025 ** (1 / 2))
    assert measures["wrong chains located"].low == pytest.approx(0.025 ** (1 / 40))
    assert measures["AUC"] == Interval(1.0, None, None, 82)
