"""Published metrics of each set: manually worked values, and those of scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sk

from lmms_rpts.stats.published_metrics import OWN_METRICS
from tests.support.labelled import Judged, chains, estimate_all, judged, own_estimates, steps_of
from tests.support.tables import table

# In a: acc_err 1 / 2, acc_ok 1, so F1 2 / 3; three of four right.
# In b: acc_err 0, acc_ok 1 / 2, so F1 0; one of three right.
STRATA = "+- .9 .1 @a; +- .9 .8 @a; ++ .9 .8 @a; + .8 @a; +- .1 .1 @b; + .1 @b; + .9 @b"
INHERITED = judged("+-+", 0.9, 0.1, 0.1, stratum="a", inherited=frozenset({2}))


@table(
    "layout, given, expected",
    ("processbench", STRATA, {"F1": 1 / 3}),
    # A subset without sound chains has no F1: the mean of the others is not that of the whole set.
    ("processbench", f"{STRATA}; - .1 @c", {"F1": None}),
    ("bigbench_mistake", STRATA, {"accuracy of location": (3 / 4 + 1 / 3) / 2}),
    # An unscored stratum is left out.
    ("bigbench_mistake", f"{STRATA}; - ? @c", {"accuracy of location": (3 / 4 + 1 / 3) / 2}),
    ("stepverify", "+- .9 .1; - .7", {"accuracy of location": 0.5}),
    ("stepverify", "", {"accuracy of location": None}),
    # caught 1, missed 1, alarms 1, passed 2; the neutral step is not counted.
    ("visualprocessbench", "+-.+ .9 .1 .1 .2; -+ .6 .5", {"macro F1": (1 / 2 + 2 / 3) / 2}),
    # The first error of the second chain is flagged, though a step before it is too.
    ("prmbench", "+-+ .9 .8 .9; +-- .1 .1 .9",
     {"PRMScore": (2 / 5 + 4 / 7) / 2, "first-error accuracy": 0.5}),
    # An unscored first error is left out, one after an unscored step is not.
    ("prmbench", "+- .9 ?; +- ? .1; ++ .9 .9", {"first-error accuracy": 1}),
    ("prmbench", "- .5", {"PRMScore": None, "first-error accuracy": 0}),
    # Right 2, one of them flagged; wrong 3, two of them flagged, one of these at its error.
    # MCC = (2 * 1 - 1 * 1) / sqrt(3 * 3 * 2 * 2).
    ("mr_gsm8k", "+-.. .9 .1 .1 .1; +-.. .1 .9 .1 .1; +-.. .9 .9 .1 .1; ++ .9 .2; ++ .9 .5",
     {"MCC": 1 / 6, "ACC step": 1 / 3}),
    ("mr_ben", "+- .9 .1", {"MCC": None, "ACC step": 1}),
    # caught 1, missed 1, alarms 1, passed 3: F1 of wrong 1 / 2 weighs 4 / 6, of sound 3 / 4.
    ("vlrmbench", "+-+ .9 .1 .2; -++ .6 .5 .9", {"weighted F1": 1 / 2 * 4 / 6 + 3 / 4 * 2 / 6}),
    ("vlrmbench", "++ .9 .1", {"weighted F1": None}),
    # Solutions: 0.2 and 0.6 wrong, 0.4 and 0.7 right. Steps: one pair of eight is a half.
    ("reasoneval", "+-. .7 .2 0; -.. .6 0 0; ++ .4 .7; + .7",
     {"step macro F1": (2 / 4 + 6 / 8) / 2, "step AUC": 7 / 8, "solution macro F1": 1 / 2,
      "solution AUC": 3 / 4}),
    # Errors: chains 1 and 1 / 2 in a, 0 in b. Sound: chains 1, 0 in a, 1 / 2 in b. The inherited
    # step, flagged or not, counts in neither.
    ("parc", [INHERITED, *chains("-+- .1 .1 .9 @a; ++- .9 .1 .8 @b")],
     {"accuracy of error steps": (3 / 4 + 0) / 2, "accuracy of correct steps": 1 / 2}),
    # A file without errors has no figure for them, and is left out.
    ("parc", "+- .9 .1 @a; ++ .9 .1 @b",
     {"accuracy of error steps": 1, "accuracy of correct steps": 3 / 4}),
    # The best candidate: right; wrong; one of two tied ones right; unscored ones do not count.
    ("mpbench_answers", "+- .9 .1; +-- .2 .1 .8; +- .5 .5; +- ? .3; - ?",
     {"best of N": (1 + 0 + 1 / 2 + 0) / 4}),
    ("mpbench_search", "- ?", {"best of N": None}),
    # Rows: precision 1 / 2, recall 1, F1 2 / 3 (flags after the last wrong section are ignored);
    # 0, 0, 0 (nothing flagged); 1, 1 / 2, 2 / 3. The sound row doesn't count.
    ("deltabench", "+-+ .1 .1 .1; +- .9 .9; --+ .1 .9 .9; ++ .1 .9",
     {"macro precision": 1 / 2, "macro recall": 1 / 2, "macro F1": 4 / 9}),
    # An unscored wrong section does not count as missed.
    ("deltabench", "+-- .9 .1 ?", {"macro precision": 1, "macro recall": 1, "macro F1": 1}),
    ("folio", "+ .9", {}),
)  # fmt: skip
def test_values_worked_by_hand(
    layout: str, given: str | list[Judged], expected: dict[str, float | None]
) -> None:
    steps = steps_of(chains(given) if isinstance(given, str) else given)
    found = {name: each.value for name, each in own_estimates(layout, steps, resamples=2).items()}
    assert found.keys() >= expected.keys()
    for name, value in expected.items():
        assert found[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


def random_chains(seed: int) -> list[Judged]:
    generator = np.random.default_rng(seed)
    found = []
    for number in range(60):
        n = int(generator.integers(1, 6))
        labels = "".join("+" if each else "-" for each in generator.random(n) > 0.25)
        scores = np.round(generator.random(n), 1).tolist()
        found.append(judged(labels, *scores, stratum=f"s{number % 3}"))
    return found


@table("seed", *range(4))
def test_values_are_those_of_scikit_learn(seed: int) -> None:
    drawn = random_chains(seed)
    steps = steps_of(drawn)
    sound, called = steps.sound, steps.score >= 0.5
    share = sound.mean()
    lowest = [min(each.scores, default=1.0) for each in drawn]
    right = [False not in each.chain.labels for each in drawn]
    fine = [each is not None and each >= 0.5 for each in lowest]
    expected = {
        "weighted F1": sk.f1_score(sound, called) * (1 - share)
        + sk.f1_score(~sound, ~called) * share,
        "macro F1": sk.f1_score(sound, called, average="macro"),
        "PRMScore": sk.f1_score(sound, called, average="macro"),
        "step macro F1": sk.f1_score(sound, called, average="macro"),
        "step AUC": sk.roc_auc_score(sound, steps.score),
        "solution macro F1": sk.f1_score(right, fine, average="macro"),
        "solution AUC": sk.roc_auc_score(right, lowest),
        "MCC": sk.matthews_corrcoef(right, fine),
    }
    layouts = ("vlrmbench", "visualprocessbench", "prmbench", "reasoneval", "mr_gsm8k")
    found = {
        name: each.value
        for layout in layouts
        for name, each in own_estimates(layout, steps, resamples=2).items()
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)


def test_intervals_are_of_the_same_resamples() -> None:
    steps = steps_of(random_chains(5))
    ours = estimate_all(steps, resamples=60)
    assert own_estimates("visualprocessbench", steps, resamples=60)["macro F1"] == ours["macro_f1"]
    one = replace(steps, stratum=np.zeros_like(steps.stratum))
    assert own_estimates("processbench", one, resamples=60)["F1"] == ours["f1_first"]


def test_every_metric_has_an_interval() -> None:
    steps = steps_of(random_chains(6))
    for layout in OWN_METRICS:
        for name, each in own_estimates(layout, steps, resamples=60).items():
            assert each.n > 0, (layout, name)
            assert (each.low or 0) < (each.value or 0) < (each.high or 0), (layout, name)


def test_the_threshold_can_be_another() -> None:
    steps = steps_of(chains("+- .9 .7; + .75"))
    found = own_estimates("bigbench_mistake", steps, threshold=0.8, resamples=2)
    assert found["accuracy of location"].value == 0.5
