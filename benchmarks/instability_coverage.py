"""Coverage of the intervals of variance components, for made-up models with known variances.

Each model answers 100 questions in 5 wordings, with the right option at 4 positions, twice. Its
probability of a right answer, or its score, is a sum of effects, each uniform around 0 and drawn
anew in each simulation; a right answer is then drawn with this probability, and a score has an
error. So the variance of right answers that is left to sampling is 0.25 less the other parts.

- coverage: share of simulations whose interval contains the known variance, for each part; and for
  each part's share of the sum.
- estimate: the mean over simulations; truth: the known variance.
- told apart: share of simulations in which the parts that the model has are the largest and differ
  from 0 (the interval of the part, or of its main effect, is above 0); for a model of sampling
  only, in which no other part does.

Beside it: the level of tests of two models that are equal on average, the probability that a
ranking turns against its frequency, and the level and power of the exact test of positions.

Run: ``python -m benchmarks.instability_coverage`` (6 minutes). The tables are in
docs/instability.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ttest_1samp

from lmms_rpts.stats.components import Part, variance_parts
from lmms_rpts.stats.crossed import crossed_difference, ranking
from lmms_rpts.stats.instability import Answer, position_bias
from lmms_rpts.stats.intervals import Floats

SAMPLES, WORDINGS, POSITIONS, SEEDS = 100, 5, 4, 2
SIMULATIONS = 400
PARTS = ("sample", "wording", "position", "sampling")
_AXES = {
    "sample": (SAMPLES, 1, 1),
    "wording": (1, WORDINGS, 1),
    "sample x wording": (SAMPLES, WORDINGS, 1),
    "position": (1, 1, POSITIONS),
    "sample x position": (SAMPLES, 1, POSITIONS),
}


@dataclass(frozen=True, slots=True)
class Model:
    """A made-up model: the standard deviation of each effect.

    Attributes:
        effects: by the names in ``_AXES``.
        error: standard deviation of the error of scores; 0: answers are right or wrong.
        known: share of questions that are always answered right, the others never; 0: none.
    """

    name: str
    effects: Mapping[str, float] = field(default_factory=dict)
    error: float = 0.0
    known: float = 0.0

    def truth(self) -> dict[str, float]:
        """The variance of each part."""
        found = {
            part: sum(sd**2 for name, sd in self.effects.items() if name.endswith(part))
            for part in PARTS[1:3]
        }
        sample = self.effects.get("sample", 0.0) ** 2 + self.known * (1 - self.known)
        left = self.error**2 if self.error else 0.25 - sample - sum(found.values())
        return {"sample": sample, **found, "sampling": 0.0 if self.known else left}

    def answers(self, generator: np.random.Generator, samples: int = SAMPLES) -> Floats:
        """Values of (samples, wordings, positions, seeds)."""
        shape = (samples, WORDINGS, POSITIONS, SEEDS)
        if self.known:
            right = generator.random((samples, 1, 1, 1)) < self.known
            return np.broadcast_to(right, shape).astype(float)
        level = np.full(shape, 0.5)
        for name, sd in self.effects.items():
            size = tuple(samples if n == SAMPLES else n for n in _AXES[name])
            level += sd * uniform(generator, size)[..., None]
        if self.error:
            return level + self.error * uniform(generator, shape)
        return (generator.random(shape) < level).astype(float)


def uniform(generator: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Uniform draws with mean 0 and variance 1."""
    return generator.uniform(-(3**0.5), 3**0.5, size)


MIXED = {"sample": 0.11, "wording": 0.08, "sample x wording": 0.02, "position": 0.07}
MODELS = (
    Model("wording only, right or wrong", {"wording": 0.15, "sample x wording": 0.1}),
    Model("position only, right or wrong", {"position": 0.2, "sample x position": 0.08}),
    Model("seed only, right or wrong"),
    Model("question only, right or wrong", known=0.7),
    Model("mixed, right or wrong", {**MIXED, "sample x position": 0.005}),
    Model("wording only, scores", {"wording": 0.15, "sample x wording": 0.1}, error=0.02),
    Model("position only, scores", {"position": 0.2, "sample x position": 0.05}, error=0.02),
    Model("seed only, scores", error=0.2),
    Model("question only, scores", {"sample": 0.25}, error=0.02),
    Model("mixed, scores", {**MIXED, "sample": 0.09}, error=0.02),
)


def parts_of(values: Floats) -> dict[str, Part]:
    """The parts of values of (samples, wordings, positions, seeds)."""
    sample, wording, position, _ = np.indices(values.shape).reshape(4, -1).tolist()
    factors = {"wording": wording, "position": position}
    return variance_parts(values.ravel(), sample, factors, repeated=True)


def covered(part: Part, truth: float, share: float) -> tuple[bool, bool]:
    """Whether the intervals of a variance and of its share contain the truth."""
    found = []
    for estimate, known in ((part.variance, truth), (part.share, share)):
        low, high = estimate.low, estimate.high
        low, high = (estimate.value, estimate.value) if low is None or high is None else (low, high)
        found.append((low or 0.0) - 1e-9 <= known <= (high or 0.0) + 1e-9)
    return found[0], found[1]


def above_0(part: Part) -> bool:
    """Whether the interval of a part, or of its main effect, is above 0."""
    return any((each.low or 0.0) > 0 for each in (part.variance, part.main) if each)


def simulate(model: Model, simulations: int, samples: int = SAMPLES) -> dict[str, list[float]]:
    """For each part: coverage, coverage of the share, mean estimate, truth; and "told apart"."""
    truth, generator = model.truth(), np.random.default_rng(31)
    total = sum(truth.values())
    has = {name for name in PARTS[:3] if truth[name] > 0}
    rows: dict[str, list[tuple[bool, bool, float]]] = {name: [] for name in PARTS}
    apart = 0
    for _ in range(simulations):
        parts = parts_of(model.answers(generator, samples))
        for name, known in truth.items():
            value = parts[name].variance.value or 0.0
            rows[name].append((*covered(parts[name], known, known / total), value))
        seen = {name for name in PARTS[:3] if above_0(parts[name])}
        order = sorted(PARTS[:3], key=lambda name: parts[name].variance.value or 0.0)
        largest = set(order[len(order) - len(has) :])
        apart += has <= seen and largest == has and bool(has or not seen)
    table = {name: [*np.mean(row, axis=0).tolist(), truth[name]] for name, row in rows.items()}
    return {**table, "told apart": [apart / simulations]}


def two_models(of_levels: float, simulations: int) -> tuple[float, float]:
    """How often two models that are equal on average differ with p < 0.05: both ways of testing."""
    generator, found = np.random.default_rng(7), []
    for _ in range(simulations):
        table = 0.2 * generator.standard_normal((SAMPLES, 1))
        table = table + of_levels * generator.standard_normal((1, WORDINGS))
        table = table + 0.3 * generator.standard_normal((SAMPLES, WORDINGS))
        alone = ttest_1samp(table.mean(axis=1), 0).pvalue
        found.append(((crossed_difference(table).p or 1) < 0.05, alone < 0.05))
    crossed, of_samples = np.mean(found, axis=0).tolist()
    return crossed, of_samples


def rankings(simulations: int) -> tuple[list[float], list[float]]:
    """Predicted probability and frequency that three models change their order: levels, both."""
    generator, found = np.random.default_rng(8), []
    true = np.array([0.5, 0.52, 0.56])[:, None, None]
    for _ in range(simulations):
        of_samples = 0.1 * generator.standard_normal((2, 3, SAMPLES, 1))
        of_levels = 0.03 * generator.standard_normal((2, 3, 1, WORDINGS))
        noise = 0.1 * generator.standard_normal((3, 3, SAMPLES, WORDINGS))
        first = true + of_samples[0] + of_levels[0] + noise[0]
        others = true + of_samples[0] + of_levels[1] + noise[1]
        both = true + of_samples[1] + of_levels[1] + noise[2]
        orders = [np.argsort(each.mean(axis=(1, 2))).tolist() for each in (first, others, both)]
        ranked = ranking(dict(zip("abc", first, strict=True)))
        assert ranked is not None
        found.append((*ranked.turns_any, orders[1] != orders[0], orders[2] != orders[0]))
    means = np.mean(np.array(found, dtype=float), axis=0).tolist()
    return means[:2], means[2:]


def positions(first: float, simulations: int) -> float:
    """How often p < 0.05 for a model that takes the first position with this probability."""
    generator, found = np.random.default_rng(9), []
    for _ in range(simulations):
        answers = []
        for sample in range(SAMPLES):
            for order in (generator.permutation(POSITIONS).tolist() for _ in range(POSITIONS)):
                # Prefers option 1, whichever is right (option 0).
                option = 1 if generator.random() < 0.5 else int(generator.integers(POSITIONS))
                at = 0 if generator.random() < first else order.index(option)
                right = order.index(0)
                answers.append(
                    Answer(sample, 0, order[at], at == right, at, right, POSITIONS, tuple(order))
                )
        found.append(position_bias(answers).p < 0.05)
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    simulations = parser.parse_args().simulations
    print("| model | part | coverage | of the share | estimate | truth | told apart |")
    print("|---|---|---|---|---|---|---|")
    for model in MODELS:
        found = simulate(model, simulations)
        (apart,) = found.pop("told apart")
        for name, (coverage, of_share, estimate, truth) in found.items():
            told = f"{apart:.2f}" if name == PARTS[0] else ""
            row = f"{coverage:.3f} | {of_share:.3f} | {estimate:.4f} | {truth:.4f} | {told}"
            print(f"| {model.name if told else ''} | {name} | {row} |", flush=True)
    print("\n| two equal models, p < 0.05 | samples and wordings | samples alone |\n|---|---|---|")
    for of_levels in (0.0, 0.05, 0.1):
        crossed, alone = two_models(of_levels, 10 * simulations)
        print(f"| standard deviation of wordings {of_levels:g} | {crossed:.3f} | {alone:.3f} |")
    predicted, seen = rankings(5 * simulations)
    print("\n| another order of three models | predicted | seen |\n|---|---|---|")
    for name, mean, frequency in zip(
        ("other wordings", "other wordings and samples"), predicted, seen, strict=True
    ):
        print(f"| {name} | {mean:.3f} | {frequency:.3f} |")
    print("\n| takes the first position | share of p < 0.05 |\n|---|---|")
    for first in (0.0, 0.05, 0.1):
        print(f"| {first:g} | {positions(first, simulations // 2):.3f} |")


if __name__ == "__main__":
    main()
