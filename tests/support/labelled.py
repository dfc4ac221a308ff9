"""Labelled chains with scores, in a short notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest

from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.stats.measures import estimate_measures
from lmms_rpts.stats.step_labels import ScoredSteps
from lmms_rpts.stats.step_measures import rank_measures, step_measures
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.figures import half_of, scored_steps

LABELS = {"+": True, "-": False, ".": None}


@dataclass(frozen=True)
class Judged:
    """A chain and the scores of its steps."""

    chain: LabelledChain
    scores: tuple[float | None, ...]


def judged(labels: str, *scores: float | None, question: str = "", **more: Any) -> Judged:
    """A chain of steps with labels such as ``++-..``; a dot is a step without a label.

    Its first error is the first minus. Without ``question`` it has a question of its own.
    """
    chain = LabelledChain(
        id="",
        question=question,
        stratum="",
        language="en",
        context="",
        steps=tuple(f"step {at}" for at in range(len(labels))),
        labels=tuple(LABELS[each] for each in labels),
        **more,
    )
    return Judged(chain, scores)


def chains(text: str) -> list[Judged]:
    """Chains such as ``++- .9 .8 ?; + .7``: labels, and scores (?: unscored)."""
    found = []
    for row in filter(str.strip, text.split(";")):
        labels, *scores = row.split()
        found.append(judged(labels, *(None if each == "?" else float(each) for each in scores)))
    return found


def figures(text: str) -> dict[str, float | None]:
    """Expected values such as ``auc=1/2 mcc=none``."""
    pairs = (each.split("=") for each in text.split())
    return {name: None if value == "none" else float(Fraction(value)) for name, value in pairs}


def assert_figures(found: Mapping[str, float | None], expected: str) -> None:
    for name, value in figures(expected).items():
        assert found[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


def steps_of(chains: Sequence[Judged]) -> ScoredSteps:
    """The arrays of chains; those without a question get their own, of both halves in turn."""
    named = [
        each.chain
        if each.chain.question
        else replace(each.chain, question=question_name(at % 2, at))
        for at, each in enumerate(chains)
    ]
    return scored_steps(named, [each.scores for each in chains])


@cache
def question_name(half: int, number: int) -> str:
    """A question name that belongs to this half."""
    names = (f"{number}-{at}" for at in count())
    return next(name for name in names if half_of(name) == half)


def estimate_all(steps: ScoredSteps, threshold: float = 0.5, **more: int) -> dict[str, Estimate]:
    return estimate_measures(step_measures(steps, threshold), steps.question, **more)


def baseline_estimates(steps: ScoredSteps, **more: int) -> dict[str, Estimate]:
    return estimate_measures(rank_measures(steps), steps.question, **more)


def values(steps: ScoredSteps, threshold: float = 0.5) -> dict[str, float | None]:
    return {name: each.value for name, each in estimate_all(steps, threshold, resamples=2).items()}


def simulated(
    seed: int, chains: int = 40, levels: int = 8, unscored: float = 0.0, questions: int = 0
) -> ScoredSteps:
    """Chains of one to six steps with noisy scores; each has an error with a chance of 0.6.

    Half of the chains have labels only up to their first error.
    """
    generator = np.random.default_rng(seed)
    found = []
    for number in range(chains):
        n = int(generator.integers(1, 7))
        sound = generator.random(n) > 0.3
        if generator.random() < 0.4:
            sound[:] = True
        labels = "".join("+" if each else "-" for each in sound)
        if generator.random() < 0.5 and "-" in labels:
            labels = labels[: labels.index("-") + 1].ljust(n, ".")
        score = np.clip(0.45 + 0.25 * sound + 0.25 * generator.normal(size=n), 0, 1)
        score = np.round(score * levels) / levels
        given = [None if generator.random() < unscored else float(each) for each in score]
        named = question_name(number % 2, number % questions) if questions else ""
        found.append(judged(labels, *given, question=named))
    return steps_of(found)


def drawn(generator: np.random.Generator, questions: int) -> ScoredSteps:
    """Two chains of four steps per question; a hard question lowers the scores of both."""
    m = 2 * questions
    chain, place = np.repeat(np.arange(m), 4), np.tile(np.arange(4), m)
    question = np.arange(m) // 2
    first = np.where(generator.random(m) < 0.5, generator.integers(0, 4, size=m), np.inf)
    sound = place != first[chain]
    hard = generator.normal(size=questions)[question][chain]
    noise = generator.normal(size=4 * m)
    score = 1 / (1 + np.exp(-(1.5 * sound - 0.2 + 0.8 * hard + noise)))
    return ScoredSteps(sound, score, chain, place, question, question % 2, first)


def width(each: Estimate) -> float:
    assert each.low is not None
    assert each.high is not None
    return each.high - each.low
