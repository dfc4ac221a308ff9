"""Agreement of a judge's step scores with human ratings or with another judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lmms_rpts.analysis.measured import Measured
from lmms_rpts.analysis.ratings import Ratings
from lmms_rpts.base.escaping import count
from lmms_rpts.reasoning.tree import Modality
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.question import cluster_of
from lmms_rpts.scoring.record import MODALITIES, JudgedStep, RptsRecord
from lmms_rpts.stats.agreement import STATISTICS, Reliability, estimate_groups, reliability_of
from lmms_rpts.stats.intervals import Indices, Interval, numbered

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 2_000
EVERY = "all"
BY_RULE = "scored by a rule, not by a judge"
UNRATED = "not rated"
DIFFERS = "different conclusion"
EXPLAINED = (
    "MAE: mean absolute difference. Spearman: rank correlation. kappa: Cohen's kappa with "
    "quadratic weights (Cohen 1968), scores rounded to one decimal (11 levels, 0.0 to 1.0)."
)
INTERVALS = "In brackets: 95% bootstrap intervals over documents."


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step with two scores: ``score`` of the run's judge, ``other`` of humans or a judge."""

    task: str
    doc_id: int
    id: str
    repeat: int
    step: int
    modality: Modality
    conclusion: str
    score: float
    other: float
    reply: str | None
    other_reply: str | None


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """Agreement over all steps, or over those of one modality.

    Values are None where they are undefined; intervals are also None if there is only one
    document. See ``stats.agreement.statistics_of`` for the formulas; ``bias`` is positive if the
    run's judge gives higher scores.
    """

    group: str
    steps: int
    responses: int
    mae: Interval
    spearman: Interval
    kappa: Interval
    bias: Interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two sets of step scores.

    Attributes:
        names: names of the two sides: judge and human, or first and second.
        sources: where the two come from, with their settings.
        groups: all steps, then each modality.
        left_out: number of steps that were not compared, by reason.
        reliability: agreement between the raters, if steps have several.
    """

    names: tuple[str, str]
    sources: tuple[str, str]
    groups: tuple[GroupAgreement, ...]
    pairs: tuple[StepPair, ...]
    left_out: Mapping[str, int]
    reliability: Reliability | None = None

    def worst(self, count: int) -> tuple[StepPair, ...]:
        """The steps with the strongest disagreement first; steps that agree are left out."""
        apart = [pair for pair in self.pairs if pair.score != pair.other]
        return tuple(sorted(apart, key=lambda pair: -abs(pair.score - pair.other))[:count])

    def frame(self) -> pd.DataFrame:
        """One row per group: its counts, and each statistic with ``_low`` and ``_high``."""
        return Measured((), {"": self.rows}, ()).frame()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per group: its counts and statistics."""
        return [
            {"group": each.group, "steps": each.steps, "responses": each.responses}
            | {"documents": each.mae.n}
            | {name: getattr(each, name) for name in STATISTICS}
            for each in self.groups
        ]


def agreement_with_humans(run: Run, ratings: Ratings, resamples: int = RESAMPLES) -> Agreement:
    """Compare a judge's step scores with human ratings; several raters of a step are averaged.

    Steps whose judge failed, and steps scored by a rule without a judge, are left out. Intervals
    are 95% percentile bootstrap intervals over documents, with ``resamples`` resamples and a fixed
    seed. ``run`` must be the run for which the ratings were read.
    """
    return agreement_of_several([run], ratings, resamples)[0]


def agreement_of_several(
    runs: Sequence[Run], ratings: Ratings, resamples: int = RESAMPLES
) -> list[Agreement]:
    """Compare several judges of the same responses with the same humans, as with one.

    All are compared on the same steps: those with human ratings that each judge scored. The
    ratings must have been read for the first run; steps of the others are matched as in
    ``agreement_of_judges``.

    Raises:
        RunError: no rated step has a score of all judges, or a run was passed twice.
    """
    _refuse_twice(runs)
    first = _by_response(runs[0])
    unrated = sum(len(each.steps) for each in runs[0].responses) - len(ratings.steps)
    left = [Counter({UNRATED: unrated}) for _ in runs]
    found: list[dict[int, StepPair]] = [{} for _ in runs]
    for run, own, reasons in zip(runs, found, left, strict=True):
        responses = _by_response(run)
        for number, rated in enumerate(ratings.steps):
            at, key = rated.step or 0, (rated.task, rated.doc_id, rated.repeat)
            response = responses.get(key)
            if response is None or at >= len(response.steps):
                reasons["not in this run"] += 1
                continue
            step = response.steps[at]
            same = _same(step, first[key].steps[at])
            reason = _unfit(step, "the judge") if same else DIFFERS
            if reason or step.score is None:
                reasons[reason] += 1
            else:
                own[number] = _pair(response, at, step.score, rated.score, None)
    common = sorted(set.intersection(*({*own} for own in found)))
    if not common:
        named, why = ", ".join(run.label for run in runs), "; ".join(map(_reasons, left))
        raise RunError(f"{ratings.source}: nothing to compare with {named}: {why}")
    for own, reasons in zip(found, left, strict=True):
        reasons["no score of another judge"] += len(own) - len(common)
    raters = count(len(ratings.raters), "rater")
    blank = f", {count(ratings.unrated, 'blank score')}" if ratings.unrated else ""
    return [
        Agreement(
            names=("judge", "human"),
            sources=(_described(run), f"{ratings.source} ({raters}{blank})"),
            groups=_groups([own[number] for number in common], resamples),
            pairs=tuple(own[number] for number in common),
            left_out=+reasons,
            reliability=reliability_of([each.ratings for each in ratings.steps]),
        )
        for run, own, reasons in zip(runs, found, left, strict=True)
    ]


def rank_judges(labels: Sequence[str], found: Sequence[Agreement]) -> Measured:
    """One row per judge of ``agreement_of_several``.

    ``mae_from_first``: how much larger its error is than that of the first judge.
    """
    pairs, rows = found[0].pairs, []
    errors = [np.array([abs(each.score - each.other) for each in one.pairs]) for one in found]
    for label, one, own in zip(labels, found, errors, strict=True):
        group = one.groups[0]
        # The bias of two sets of errors is the difference of their means.
        (more,) = estimate_groups(
            own, errors[0], _documents(pairs), [np.arange(len(pairs))], RESAMPLES
        )
        further = more["bias"] if own is not errors[0] else None
        rows.append(
            {"judge": label, "mae": group.mae, "mae_from_first": further}
            | {"spearman": group.spearman, "kappa": group.kappa, "bias": group.bias}
        )
    steps, documents = f"{len(pairs):,} steps", f"{found[0].groups[0].mae.n:,} documents"
    return Measured(
        (*(one.sources[0] for one in found), f"human: {found[0].sources[1]}"),
        {"": rows},
        (
            f"All judges are compared on the {steps} of {documents} that people rated and each of "
            "them scored.",
            *(
                f"Steps left out for {label}: {_reasons(one.left_out)}."
                for label, one in zip(labels, found, strict=True)
                if one.left_out
            ),
            f"{EXPLAINED} bias: mean of judge minus human. MAE - first: of the judge and the first "
            f"on the same steps. {INTERVALS}",
        ),
    )


def agreement_of_judges(a: Run, b: Run, resamples: int = RESAMPLES) -> Agreement:
    """Compare two judges' scores of the same steps (same conclusion, same position).

    Steps are matched by task, doc_id, repeat and step number; white space in conclusions is
    ignored. Modalities are those of ``a``. Left-out steps and intervals are as in
    ``agreement_with_humans``.

    Raises:
        RunError: nothing can be compared.
    """
    _refuse_twice([a, b])
    left: Counter[str] = Counter()
    pairs: list[StepPair] = []
    others = _by_response(b)
    for response in a.responses:
        other = others.pop(response.place, None)
        if other is None:
            left["response only in the first run"] += len(response.steps)
            continue
        if other.instance.statement != response.instance.statement:
            left["a different document with that number in the second run"] += len(response.steps)
            continue
        longer = len(other.steps) - len(response.steps)
        left[f"step only in the {'second' if longer > 0 else 'first'} run"] += abs(longer)
        for at, (one, two) in enumerate(zip(response.steps, other.steps, strict=False)):
            same = _same(one, two)
            reason = _unfit(one, "the first judge") or _unfit(two, "the second judge")
            if not same or reason or one.score is None or two.score is None:
                left[reason if same else DIFFERS] += 1
            else:
                pairs.append(_pair(response, at, one.score, two.score, _reply(two)))
    left["response only in the second run"] += sum(len(each.steps) for each in others.values())
    if not pairs:
        raise RunError(
            f"Nothing to compare between {_described(a)} and {_described(b)}: {_reasons(left)}. "
            "Pass two runs of the same responses; lmms-rpts score scores saved responses again"
        )
    return Agreement(
        names=("first", "second"),
        sources=(_described(a), _described(b)),
        groups=_groups(pairs, resamples),
        pairs=tuple(pairs),
        left_out=+left,
    )


def _refuse_twice(runs: Sequence[Run]) -> None:
    files = Counter(file for run in runs for file in {*run.files})
    for file in (file for file, times in files.items() if times > 1):
        raise RunError(f"{file} was passed twice: pass two runs of the same responses")


def _by_response(run: Run) -> dict[tuple[str, int, int], RptsRecord]:
    return {each.place: each for each in run.responses}


def _same(one: JudgedStep, two: JudgedStep) -> bool:
    """Whether two steps are equal; white space is ignored."""
    return one.conclusion.split() == two.conclusion.split()


def _unfit(step: JudgedStep, judge: str) -> str:
    """Why a step has no score of a judge; empty if it has one."""
    if step.score is None:
        return f"{judge} gave no score"
    return "" if step.verdicts else BY_RULE


def _pair(
    response: RptsRecord, at: int, score: float, other: float, other_reply: str | None
) -> StepPair:
    instance, step = response.instance, response.steps[at]
    place = (instance.task, instance.doc_id, instance.id, response.repeat, at)
    scores = (score, other, _reply(step), other_reply)
    return StepPair(*place, step.modality, step.conclusion, *scores)


def _reply(step: JudgedStep) -> str | None:
    return step.verdicts[-1].reply


def _documents(pairs: Sequence[StepPair]) -> Indices:
    return numbered([cluster_of(pair.task, pair.id) for pair in pairs])


def _groups(pairs: Sequence[StepPair], resamples: int) -> tuple[GroupAgreement, ...]:
    kinds = np.array([pair.modality for pair in pairs])
    members = {EVERY: np.arange(len(pairs))}
    members |= {kind: np.flatnonzero(kinds == kind) for kind in MODALITIES}
    found = estimate_groups(
        np.array([pair.score for pair in pairs]),
        np.array([pair.other for pair in pairs]),
        _documents(pairs),
        list(members.values()),
        resamples,
    )
    responses = [(pair.task, pair.doc_id, pair.repeat) for pair in pairs]
    return tuple(
        GroupAgreement(group, len(own), len({responses[at] for at in own.tolist()}), **estimates)
        for (group, own), estimates in zip(members.items(), found, strict=True)
    )


def _described(run: Run) -> str:
    judges = []
    for by in run.scorings:
        comparable = "" if by.comparable else "; not comparable with other judges"
        judges.append(
            f"{by.judge} (prompts {by.prompt_version}, temperature {by.temperature:g}{comparable})"
        )
    return f"{run.label}, judged by {'; '.join(dict.fromkeys(judges))}"


def _reasons(left: Mapping[str, int]) -> str:
    """Reasons why steps were left out, the most frequent first."""
    return "; ".join(f"{reason}: {n}" for reason, n in (+Counter(left)).most_common()) or "no steps"
