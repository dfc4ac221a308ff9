"""Dependence on wording and position: values worked manually, and simulated models."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Hashable, Sequence

import pytest

from lmms_rpts.stats.instability import (
    BY_SAMPLE,
    BY_WORDING,
    Answer,
    Turn,
    position_bias,
    round_statistics,
    wording_statistics,
)
from tests.support.tables import table


def one_sample(chosen: Sequence[Hashable | None], right: Hashable, options: int) -> list[Answer]:
    return [
        Answer("s", wording, each, each == right, options=options)
        for wording, each in enumerate(chosen)
    ]


def values_of(answers: Sequence[Answer]) -> dict[str, float | None]:
    found = wording_statistics(answers, resamples=10)
    return {name: estimate.value for name, estimate in found.items()}


H_3_2 = -(0.6 * math.log(0.6) + 0.4 * math.log(0.4))
H_4_1 = -(0.8 * math.log(0.8) + 0.2 * math.log(0.2))
H_2_2_1 = -(0.8 * math.log(0.4) + 0.2 * math.log(0.2))


@table(
    # accuracy, all right, majority, entropy, normalised entropy, agreement, same
    "chosen, options, expected",
    ("aaaaa", 4, (1, 1, 1, 0, 0, 1, 1)),
    ("bbbbb", 4, (0, 0, 0, 0, 0, 1, 1)),
    ("aaabb", 4, (0.6, 0, 1, H_3_2, H_3_2 / math.log(5), 0.6, 0)),
    ("bbbaa", 4, (0.4, 0, 0, H_3_2, H_3_2 / math.log(5), 0.6, 0)),
    # Two answers are tied for the majority, and one is right: a half.
    ("aabbc", 4, (0.4, 0, 0.5, H_2_2_1, H_2_2_1 / math.log(5), 0.4, 0)),
    # Yes and no: at most three classes, including unparsed answers.
    ("aaabb", 2, (0.6, 0, 1, H_3_2, H_3_2 / math.log(3), 0.6, 0)),
    (["a"] * 4 + [None], 1, (0.8, 0, 1, H_4_1, H_4_1 / math.log(2), 0.8, 0)),
    ("ab", 4, (0.5, 0, 0.5, math.log(2), 1, 0.5, 0)),
    # No option was found: one class, never right, and never an answer; nothing if that is all.
    ([None, None, "a", "a", "a"], 4, (0.6, 0, 1, H_3_2, H_3_2 / math.log(5), 0.6, 0)),
    ([None] * 5, 4, (0, 0, 0, None, None, None, None)),
    # Free text has no options.
    ("abcde", 0, (0.2, 0, 0.2, math.log(5), 1, 0.2, 0)),
    # Asked only once.
    ("a", 4, (1, 1, 1, None, None, None, None)),
)
def test_one_sample(
    chosen: Sequence[str | None], options: int, expected: tuple[float | None, ...]
) -> None:
    found = values_of(one_sample(chosen, "a", options))
    for name, value in zip(BY_SAMPLE, expected, strict=True):
        assert found[name] == (None if value is None else pytest.approx(value)), name


def test_several_samples() -> None:
    """Wording 0: 2 of 2 right; 1: 1 of 2; 2: 0 of 1, but with fewer samples than the others."""
    answers = [
        Answer(1, 0, "a", True, options=2),
        Answer(2, 0, "a", True, options=2),
        Answer(1, 1, "a", True, options=2),
        Answer(2, 1, "b", False, options=2),
        Answer(2, 2, "b", False, options=2),
    ]
    found = values_of(answers)
    assert found["accuracy"] == pytest.approx((1 + 1 / 3) / 2)
    assert found["accuracy_all"] == 0.5
    assert found["accuracy_best_prompt"] == 1
    assert found["accuracy_worst_prompt"] == 0.5


def test_nothing() -> None:
    found = wording_statistics([])
    assert set(found) == {*BY_SAMPLE, *BY_WORDING}
    assert all((each.value, each.n) == (None, 0) for each in found.values())
    bias = position_bias([])
    assert bias.n == 0
    assert math.isnan(bias.p)
    rounds = round_statistics([])
    assert (rounds.accuracy, rounds.correlation.value, rounds.slope.value) == ({}, None, None)


def test_intervals_resample_samples() -> None:
    """Asking each sample five times in the same wording makes no interval narrower."""
    generator = random.Random(1)
    right = [generator.random() < 0.5 for _ in range(60)]

    def ask(times: int) -> float:
        answers = [
            Answer(sample, wording, "a" if is_right else "b", is_right, options=4)
            for sample, is_right in enumerate(right)
            for wording in range(times)
        ]
        estimate = wording_statistics(answers, resamples=2000)["accuracy"]
        assert estimate.n == 60
        return (estimate.high or 0) - (estimate.low or 0)

    once, often = ask(1), ask(5)
    assert often == pytest.approx(once)
    assert once == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 60), rel=0.1)


def at(position: int, right: int, options: int = 2, sample: Hashable = None) -> Answer:
    return Answer(sample, 0, position, position == right, position, right, options)


def test_position_bias_by_hand() -> None:
    """Forty samples, half of them right at each position; 30 choose the first: 20 are expected."""
    pairs = [(0, 0)] * 15 + [(1, 0)] * 5 + [(0, 1)] * 15 + [(1, 1)] * 5
    bias = position_bias([at(*pair, sample=n) for n, pair in enumerate(pairs)])
    often = position_bias([at(*pair, sample=n) for n, pair in enumerate(pairs) for _ in range(5)])
    assert (often.statistic, often.n) == (pytest.approx(bias.statistic), 5 * bias.n)
    assert bias.chosen == (0.75, 0.25)
    assert bias.expected == (0.5, 0.5)
    assert bias.distance == 0.25
    assert bias.statistic == pytest.approx(10**2 / 20 + 10**2 / 20)
    assert bias.p == pytest.approx(0.00157, abs=1e-5)  # chi-square of 10, one degree of freedom


def test_right_answers_at_one_place_are_no_bias() -> None:
    """All right answers are first, and 80% are found: 80% of choices are expected there."""
    answers = [at(0, 0, sample=n) for n in range(32)] + [at(1, 0, sample=n) for n in range(32, 40)]
    bias = position_bias(answers)
    assert bias.expected == pytest.approx((0.8, 0.2))
    assert bias.statistic == pytest.approx(0)
    assert bias.p == pytest.approx(1)


@table(
    "answers, n",
    ([at(0, 0, 1)] * 30, 30),  # a single option is no choice
    ([at(0, 1, 4, sample=n) for n in range(12)], 12),  # three are expected at each position
    ([Answer(n, 0, None, False, None, 0, 2) for n in range(40)], 0),
    ([at(5, 0, 2)] * 40, 0),
)
def test_too_few_for_a_test(answers: list[Answer], n: int) -> None:
    bias = position_bias(answers)
    assert math.isnan(bias.p)
    assert bias.n == n


Model = Callable[[int, int, Sequence[int]], int]
"""Sample, wording and order of options to the position that is chosen."""


def asked(model: Model, samples: int = 80, options: int = 4, wordings: int = 4) -> list[Answer]:
    """Answers of a model; option 0 is right, and rotation puts it at each position once."""
    answers = []
    for sample in range(samples):
        for wording in range(wordings):
            order = [(place + sample + wording) % options for place in range(options)]
            position = model(sample, wording, order)
            chosen = order[position]
            right = order.index(0)
            answers.append(Answer(sample, wording, chosen, chosen == 0, position, right, options))
    return answers


def steady(sample: int, wording: int, order: Sequence[int]) -> int:
    """Knows three of four samples, and always chooses the same wrong option for the others."""
    return order.index(0 if sample % 4 else 1 + sample // 4 % 3)


def by_wording(sample: int, wording: int, order: Sequence[int]) -> int:
    """Knows all samples in wordings 0 to 2, and none in wording 3."""
    return order.index(0 if wording < 3 else 1 + sample % 3)


def by_position(sample: int, wording: int, order: Sequence[int]) -> int:
    """Knows half of the samples, and chooses the first option for the others."""
    return order.index(0) if sample // 4 % 2 else 0


def test_three_models_are_told_apart() -> None:
    found = {model.__name__: asked(model) for model in (steady, by_wording, by_position)}
    values = {name: values_of(answers) for name, answers in found.items()}
    bias = {name: position_bias(answers) for name, answers in found.items()}

    expected = {
        # No dependence on wording or position.
        "steady": {
            "accuracy": 0.75, "instability": 0, "consistent_rate": 1, "accuracy_all": 0.75,
            "accuracy_best_prompt": 0.75, "accuracy_worst_prompt": 0.75,
        },
        # One wording fails, no position is preferred.
        "by_wording": {
            "accuracy": 0.75, "accuracy_best_prompt": 1, "accuracy_worst_prompt": 0,
            "accuracy_all": 0, "majority_accuracy": 1,
        },
        # Unstable, equally good in each wording, and the first position is preferred.
        "by_position": {
            "instability": math.log(4) / 2, "accuracy_best_prompt": 0.625,
            "accuracy_worst_prompt": 0.625,
        },
    }  # fmt: skip
    for name, figures in expected.items():
        assert {each: values[name][each] for each in figures} == pytest.approx(figures), name
        assert (bias[name].p < 1e-3) if name == "by_position" else (bias[name].p > 0.9)
    assert bias["by_position"].chosen == pytest.approx((0.625, 0.125, 0.125, 0.125))
    assert bias["by_position"].expected == pytest.approx((0.25,) * 4)
    assert bias["by_position"].distance == pytest.approx(0.375)


@table(
    "scores, accuracy, correlation, slope",
    ({0: [1, 1], 1: [1, 0], 2: [0, 0]}, (1, 0.5, 0), -1, -0.5),
    ({1: [1, 0], 2: [0, 1]}, (0.5, 0.5), None, 0),
    ({3: [1, 1]}, (1,), None, 0),
    ({0: [0, 0], 1: [1, 1], 3: [1, 1]}, (0, 1, 1), 0.7559289460184544, 2 / 7),
)
def test_rounds(
    scores: dict[int, list[int]],
    accuracy: tuple[float, ...],
    correlation: float | None,
    slope: float,
) -> None:
    turns = [
        Turn(dialogue, number, score)
        for number, each in scores.items()
        for dialogue, score in enumerate(each)
    ]
    found = round_statistics(turns, resamples=200)
    assert tuple(each.value for each in found.accuracy.values()) == pytest.approx(accuracy)
    assert list(found.accuracy) == sorted(scores)
    wanted = None if correlation is None else pytest.approx(correlation)
    assert found.correlation.value == wanted
    assert found.slope.value == pytest.approx(slope)
    assert found.slope.n == 2


def test_rounds_have_intervals_over_dialogues() -> None:
    """Accuracy falls by 0.1 per round; a dialogue is a cluster, not its single rounds."""
    generator = random.Random(2)
    turns = [
        Turn(dialogue, number, generator.random() < 0.9 - 0.1 * number)
        for dialogue in range(200)
        for number in range(6)
    ]
    found = round_statistics(turns, resamples=1000)
    assert (found.slope.low or 0) < -0.1 < (found.slope.high or 0) < 0
    often = round_statistics([turn for turn in turns for _ in range(20)], resamples=1000)
    assert often.slope.low == pytest.approx(found.slope.low)


def dealt(first: float, rounds: int, samples: int = 60, seed: int = 3) -> list[Answer]:
    """Each sample in random orders; takes the first place with this probability."""
    generator, answers = random.Random(seed), []
    for sample in range(samples):
        favourite = generator.randrange(4)
        for number in range(rounds):
            order = generator.sample(range(4), 4)
            blind = favourite if generator.random() < 0.7 else generator.randrange(4)
            at_ = 0 if generator.random() < first else order.index(blind)
            wording = number % 2
            answers.append(
                Answer(sample, wording, order[at_], False, at_, order.index(0), 4, tuple(order))
            )
    return answers


def test_position_bias_is_exact_where_orders_are_known() -> None:
    """The model prefers options, not places; the chi-square test takes accuracy as its null."""
    blind, biased = position_bias(dealt(0.0, 8)), position_bias(dealt(0.3, 8))
    assert (blind.exact, biased.exact) == (True, True)
    assert blind.p > 0.05
    assert biased.p < 0.001
    assert biased.chosen[0] - biased.expected[0] > 0.1 > blind.distance
    assert math.fsum(blind.expected) == pytest.approx(1)
    # One unknown or damaged order, and all answers are tested by chi-square.
    for order in (None, (0, 1), (0, 0, 1, 2)):
        answers = dealt(0.0, 8)
        answers[0] = dataclasses.replace(answers[0], order=order)
        assert not position_bias(answers).exact


def test_position_bias_by_enumeration() -> None:
    """Two samples, always the first place: 2 of the 4 exchanges that are possible look like it."""
    orders = ((0, 1), (1, 0))
    swapped = [Answer(n, 0, each[0], False, 0, 1, 2, each) for n in (1, 2) for each in orders]
    found = position_bias(swapped)
    assert found.expected == (0.5, 0.5)
    # Of 4 exchanges, one leaves both samples as they are, one swaps both: 4 or 0 at the first.
    assert found.p == pytest.approx(0.5, abs=0.02)
    assert found.chosen == (1.0, 0.0)
    assert found.distance == 0.5


def test_position_bias_level() -> None:
    """Exact: at most 5% of blind models have p < 0.05, even with few answers."""
    p_values = [position_bias(dealt(0.0, 3, samples=8, seed=seed)).p for seed in range(100)]
    # 100 tests at 0.05: 13 or more have a probability of 0.0015.
    assert sum(p < 0.05 for p in p_values) <= 12


def test_exchange_within_wording_only() -> None:
    """If each wording was shown in one order, nothing can be exchanged: chi-square."""
    orders = list(enumerate(((0, 1), (1, 0))))
    answers = [Answer(n, at, at, False, 0, 1, 2, each) for n in range(20) for at, each in orders]
    together = [dataclasses.replace(each, wording=0) for each in answers]
    marks = [dataclasses.replace(each, wording=0, asked=each.wording) for each in answers]
    assert [position_bias(each).exact for each in (answers, together, marks)] == [
        False,
        True,
        False,
    ]
    assert position_bias(together).p < 0.01
