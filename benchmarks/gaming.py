"""What responses without reasoning gain by the published and the guarded score, on RPTS-Eval.

Two judges are used, each at two depths: an ideal one that knows the gold reasoning (its rules: see
``benchmarks.ideal_judge``), and a noisy one that inverts a tenth of these answers. They score

- strategies for a high score without reasoning (``benchmarks.gaming_strategies``);
- honest chains of other shapes: the gold reasoning unchanged, reordered, split and merged;
- five models of graded quality: the gold reasoning with a share of its steps corrupted;
- the honest chains of ``honest_chains.json``, written and judged manually, because no rule can
  judge them: their loss is what the guarded score costs honest reasoning.

Prints the means of both scores, the mean of the guarded score over wrong answers only, and the
share of right answers that each score calls unsound; for the graded models how well each score
separates them: Cohen's d and the probability of superiority (that a response of the better model
scores higher; ties count half).

Run: ``python -m benchmarks.gaming``.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, variance
from typing import Any

from benchmarks.gaming_strategies import DISAGREEING, SECOND_SET, STRATEGIES, Strategy
from benchmarks.gaming_variety import CORRUPTED, SHAPES, corrupted
from benchmarks.ideal_judge import (
    AGREE,
    DEPTHS,
    DISAGREE,
    GOLD_STEPS,
    IdealJudge,
    Instance,
    Judge,
    NoisyJudge,
)
from lmms_rpts.filters.metrics import is_sound
from lmms_rpts.filters.record import diagnose_chain
from lmms_rpts.reasoning import (
    Diagnosis,
    FixedScore,
    ImageQuery,
    ReasoningChain,
    ReasoningTree,
    RootQuery,
    StepQuery,
    build_tree,
    combine_answers,
    guarded_score,
    parse_chain,
    plan_root,
    plan_steps,
    rpts_score,
)
from lmms_rpts.reasoning.clues import LANGUAGES, Language
from lmms_rpts.reasoning.metric import DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW
from tests.support.reference import find_reference

NOISE = 0.1
HONEST = Path(__file__).parent / "honest_chains.json"


@dataclass(frozen=True)
class Response:
    """A chain, prepared as in an evaluation, with the answer that it claims to support."""

    instance: Instance
    tree: ReasoningTree
    queries: tuple[StepQuery, ...]
    root: RootQuery | None
    diagnosis: Diagnosis
    answer: str

    @property
    def correct(self) -> bool:
        """Whether the answer is the gold one."""
        return bool(self.answer == self.instance.doc["answer"])

    @property
    def wrong(self) -> bool:
        """Whether the answer is wrong by the gold answer and by the gold reasoning."""
        return not self.correct and not self.instance.contradicts_itself


@dataclass(frozen=True)
class Scores:
    """Both scores of a response."""

    published: float
    guarded: float
    correct: bool
    wrong: bool


@dataclass(frozen=True)
class Row:
    """Means over a group of responses; 0 for an empty group.

    Attributes:
        published: the published score.
        guarded: the guarded score.
        guarded_wrong: the guarded score of responses with a wrong answer, without instances whose
            gold reasoning concludes the statement that their gold answer rejects.
        accuracy: the share of right answers.
        wrong_reason: the share of the right answers that the published score calls unsound.
        wrong_reason_guarded: the share of the right answers that the guarded score calls unsound.
    """

    published: float
    guarded: float
    guarded_wrong: float
    accuracy: float
    wrong_reason: float
    wrong_reason_guarded: float


def load_instances(language: Language, limit: int | None = None) -> list[Instance]:
    """The instances of a language, or ``limit`` of them, evenly spaced.

    Raises:
        FileNotFoundError: if the reference data is missing.
    """
    other: Language = "zh" if language == "en" else "en"
    here, there = (_load(find_reference("rpts_eval", f"texts_{x}.json")) for x in (language, other))
    instances = [Instance(*docs, language) for docs in zip(here, there, strict=True)]
    if limit is None:
        return instances
    # Neighbours share a story and alternate in the answer: an even stride would select one answer.
    return instances[:: math.ceil(len(instances) / limit) | 1]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def prepare(instance: Instance, chain: ReasoningChain, answer: str) -> Response:
    """Repair a chain, and plan the questions to the judge about it."""
    doc = instance.doc
    repaired = instance.repaired(chain)
    tree = build_tree(repaired, instance.n_images, len(instance.clues))
    diagnosis = diagnose_chain(
        tree,
        instance.context,
        tuple(instance.clues),
        instance.n_images,
        tuple(doc["reasoning"]),
        DEFAULT_DECAY,
        DEFAULT_FOCUS_HEIGHT,
    )
    root = plan_root(tree, doc) if repaired.steps else None
    return Response(instance, tree, tuple(plan_steps(repaired, doc)), root, diagnosis, answer)


def grade(response: Response, judge: Judge) -> Scores:
    """Both scores of a response, given by a judge."""
    scores = [ask_about_step(query, judge) for query in response.queries]
    root = judge.root(response.root, response.answer) if response.root else 0.0
    return scores_of(response, scores, root)


def scores_of(response: Response, scores: Sequence[float], root: float) -> Scores:
    """Both scores of a response, from its step scores and ``root_bears``."""
    return Scores(
        rpts_score(response.tree, scores),
        guarded_score(response.tree, scores, response.diagnosis, root),
        response.correct,
        response.wrong,
    )


def ask_about_step(query: StepQuery, judge: Judge) -> float:
    """The score of a step, as ``lmms_rpts.filters.score`` asks for it."""
    if isinstance(query, FixedScore):
        return query.score
    if isinstance(query, ImageQuery):
        return judge.image(query.facts, query.conclusion)
    first = judge.inference((query.context, *query.premises), query.conclusion)
    if first >= SECOND_QUESTION_BELOW:
        return first
    evidence = (query.context, *query.fallback_premises)
    return combine_answers(first, judge.inference(evidence, query.conclusion))


def judges_of(
    instances: Iterable[Instance], noise: float, seed: int, depth: int = GOLD_STEPS
) -> dict[Instance, Judge]:
    """The ideal judge of each instance; with ``noise``, a judge with this error rate."""
    judges: dict[Instance, Judge] = {}
    for instance in instances:
        judge: Judge = IdealJudge(instance, depth)
        if noise:
            name = f"{seed} {instance.language} {instance.doc['id']}"
            judge = NoisyJudge(judge, noise, name)
        judges[instance] = judge
    return judges


def play(strategy: Strategy, instances: Sequence[Instance]) -> list[Response]:
    """The responses that a strategy produces."""
    answer = DISAGREE if strategy in DISAGREEING else AGREE
    return [
        prepare(instance, parse_chain(strategy(instance), instance.language), answer)
        for instance in instances
    ]


def shaped(name: str, instances: Sequence[Instance], seed: int = 0) -> list[Response]:
    """Honest chains of one shape, each with the gold answer."""
    return [
        prepare(
            instance,
            SHAPES[name](instance, random.Random(f"{seed} {instance.doc['id']}")),
            instance.doc["answer"],
        )
        for instance in instances
    ]


def graded(share: float, instances: Sequence[Instance], seed: int = 0) -> list[Response]:
    """Gold chains with a share of corrupted steps, each with the gold answer."""
    return [
        prepare(instance, corrupted(instance, share, str(seed)), instance.doc["answer"])
        for instance in instances
    ]


def row_of(responses: Sequence[Response], judges: dict[Instance, Judge]) -> Row:
    """The means of a group of responses."""
    scores = [grade(response, judges[response.instance]) for response in responses]
    right = [each for each in scores if each.correct]
    return Row(
        published=_mean(each.published for each in scores),
        guarded=_mean(each.guarded for each in scores),
        guarded_wrong=_mean(each.guarded for each in scores if each.wrong),
        accuracy=_mean(each.correct for each in scores),
        wrong_reason=_mean(not is_sound(each.published) for each in right),
        wrong_reason_guarded=_mean(not is_sound(each.guarded) for each in right),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def superiority(better: Sequence[float], worse: Sequence[float]) -> float:
    """The probability that a value of the first exceeds one of the second; ties count half."""
    below = sorted(worse)
    wins = sum(bisect_left(below, value) + bisect_right(below, value) for value in better)
    return wins / 2 / len(better) / len(worse)


def cohens_d(better: Sequence[float], worse: Sequence[float]) -> float:
    """The difference of the means in pooled standard deviations; infinite if these are 0."""
    spread = math.sqrt((variance(better) + variance(worse)) / 2)
    difference = fmean(better) - fmean(worse)
    return difference / spread if spread else math.copysign(math.inf, difference)


def pairs_of(models: Sequence[Sequence[float]], adjacent: bool) -> list[tuple[int, int]]:
    """Pairs of models to compare, the better one first."""
    count = len(models)
    return [(a, b) for a in range(count) for b in range(a + 1, a + 2 if adjacent else count)
            if b < count]  # fmt: skip


def effect(
    measure: Callable[[Sequence[float], Sequence[float]], float],
    models: Sequence[Sequence[float]],
    adjacent: bool,
) -> float:
    """The mean of an effect size over pairs of models."""
    return fmean(measure(models[a], models[b]) for a, b in pairs_of(models, adjacent))


# --- tables


def show_strategies(instances: Sequence[Instance], seed: int) -> None:
    """Print one row per strategy: its scores from each judge."""
    for strategies in (STRATEGIES, SECOND_SET):
        _show({name: play(strategy, instances) for name, strategy in strategies.items()}, seed)


def show_shapes(instances: Sequence[Instance], seed: int) -> None:
    """Print one row per shape of honest chains."""
    _show({name: shaped(name, instances, seed) for name in SHAPES}, seed)


def _show(groups: dict[str, list[Response]], seed: int) -> None:
    instances = [response.instance for response in next(iter(groups.values()))]
    judges = [judges_of(instances, noise, seed, depth)
              for noise in (0.0, NOISE) for depth in DEPTHS]  # fmt: skip
    kinds = [f"{kind}, depth {depth}" for kind in ("ideal", "noisy") for depth in DEPTHS]
    columns = f"{'publ.':>6} {'guard.':>6} {'g. wrong':>8}"
    print(f"{'':42} {''.join(f'{kind:^26}' for kind in kinds)} unsound, by ideal judge")
    print(f"{'':42} {'    '.join([columns] * len(kinds))}    publ. guard. accuracy")
    for name, responses in groups.items():
        rows = [row_of(responses, each) for each in judges]
        cells = "    ".join(
            f"{row.published:6.3f} {row.guarded:6.3f} {row.guarded_wrong:8.3f}" for row in rows
        )
        first = rows[0]
        unsound = f"{first.wrong_reason:6.3f} {first.wrong_reason_guarded:6.3f}"
        print(f"{name:42} {cells}   {unsound} {first.accuracy:8.3f}", flush=True)


def show_graded(instances: Sequence[Instance], seed: int) -> None:
    """Print means and effect sizes of the graded models, by the noisy judge."""
    judges = judges_of(instances, NOISE, seed)
    scores = [
        [grade(response, judges[response.instance]) for response in graded(share, instances, seed)]
        for share in CORRUPTED
    ]
    print(f"{'':10} means at {', '.join(f'{share:.0%}' for share in CORRUPTED)} corrupted steps")
    for name in ("published", "guarded"):
        models = [[getattr(each, name) for each in model] for model in scores]
        means = [fmean(model) for model in models]
        ranked = all(a > b for a, b in pairwise(means))
        print(f"{name:10} {' '.join(f'{x:.3f}' for x in means)}  ranked correctly: {ranked}")
        for title, measure in (("Cohen's d", cohens_d), ("superiority", superiority)):
            near = [f"{measure(models[a], models[b]):.3f}" for a, b in pairs_of(models, True)]
            print(
                f"{'':10} {title:12} {' '.join(near)}  mean {effect(measure, models, True):.3f}, "
                f"of all pairs {effect(measure, models, False):.3f}"
            )


def honest(instances: Sequence[Instance], language: Language) -> list[tuple[Response, Scores]]:
    """The manually written chains, scored by manual verdicts.

    Raises:
        ValueError: if the verdicts belong to other steps than those to be judged.
    """
    by_id = {instance.doc["id"]: instance for instance in instances}
    scored = []
    for row in _load(HONEST):
        if row["language"] != language or row["id"] not in by_id:
            continue
        chain = parse_chain(row["lines"], language)
        response = prepare(by_id[row["id"]], chain, row["answer"])
        judged = [text.strip() for text in row["repaired"]]
        if judged != [step.conclusion.strip() for step in response.tree.chain.steps]:
            raise ValueError(f"the verdicts of {row['id']} ({language}) belong to other steps")
        scores = [combine_answers(step["first"], step["second"]) for step in row["steps"]]
        scored.append((response, scores_of(response, scores, row["root"])))
    return scored


def show_honest(instances: Sequence[Instance], language: Language) -> None:
    """Print how far the guarded score lowers manually written chains."""
    found = honest(instances, language)
    responses, scores = [each for each, _ in found], [each for _, each in found]
    far = _mean(abs(each.guarded - each.published) for each in scores)
    print(
        f"{len(found)} chains: published {_mean(each.published for each in scores):.3f}, "
        f"guarded {_mean(each.guarded for each in scores):.3f}, mean difference {far:.3f}, "
        f"coverage {_mean(each.diagnosis.coverage for each in responses):.3f}, "
        f"right answers {_mean(each.correct for each in scores):.3f}"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=int, help="number of instances per language")
    parser.add_argument("--language", choices=LANGUAGES, help="one language only")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for language in [given.language] if given.language else LANGUAGES:
        try:
            instances = load_instances(language, given.limit)
        except FileNotFoundError as error:
            sys.exit(str(error))
        print(f"\n{language}: strategies, {len(instances)} instances")
        show_strategies(instances, given.seed)
        print(f"\n{language}: honest chains")
        show_shapes(instances, given.seed)
        print(f"\n{language}: graded models, noisy judge")
        show_graded(instances, given.seed)
        if HONEST.exists():
            print(f"\n{language}: manually written chains")
            show_honest(load_instances(language), language)


if __name__ == "__main__":
    main()
