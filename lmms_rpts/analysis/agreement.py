"""Agreement of a judge's step scores with human ratings or with another judge."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lmms_rpts.analysis.ratings import Ratings
from lmms_rpts.base.escaping import count
from lmms_rpts.filters.record import MODALITIES, JudgedStep, RptsRecord, cluster_of
from lmms_rpts.reasoning.tree import Modality
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.agreement import STATISTICS, Reliability, estimate_groups, reliability_of
from lmms_rpts.stats.intervals import Estimate, numbered
from lmms_rpts.tasks.rpts_eval.runs import Run

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 2_000
EVERY = "all"
BY_RULE = "scored by a rule, not by a judge"
UNRATED = "not rated"
DIFFERS = "different conclusion"


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
    mae: Estimate
    spearman: Estimate
    kappa: Estimate
    bias: Estimate


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
        import pandas as pd

        rows = []
        for group in self.groups:
            counts = {"steps": group.steps, "responses": group.responses, "documents": group.mae.n}
            row: dict[str, Any] = {"group": group.group, **counts}
            for name in STATISTICS:
                found: Estimate = getattr(group, name)
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
            rows.append({key: math.nan if each is None else each for key, each in row.items()})
        frame: pd.DataFrame = pd.DataFrame(rows)
        return frame


def agreement_with_humans(run: Run, ratings: Ratings, resamples: int = RESAMPLES) -> Agreement:
    """Compare a judge's step scores with human ratings; several raters of a step are averaged.

    Steps whose judge failed, and steps scored by a rule without a judge, are left out. Intervals
    are 95% percentile bootstrap intervals over documents, with ``resamples`` resamples and a fixed
    seed. ``run`` must be the run for which the ratings were read.

    Raises:
        RunError: no rated step has a score of the judge.
    """
    responses = {(*each.instance.key, each.repeat): each for each in run.responses}
    rest = sum(len(each.steps) for each in run.responses) - len(ratings.steps)
    left, pairs = Counter({UNRATED: rest}), []
    for rated in ratings.steps:
        response = responses[rated.task, rated.doc_id, rated.repeat]
        score = response.steps[rated.step].score
        if (reason := _unfit(response.steps[rated.step], "the judge")) or score is None:
            left[reason] += 1
        else:
            pairs.append(_pair(response, rated.step, score, rated.score, None))
    if not pairs:
        raise RunError(f"{ratings.source}: nothing to compare with {run.label}: {_reasons(left)}")
    raters = count(len(ratings.raters), "rater")
    blank = f", {count(ratings.unrated, 'blank score')}" if ratings.unrated else ""
    return Agreement(
        names=("judge", "human"),
        sources=(_described(run), f"{ratings.source} ({raters}{blank})"),
        groups=_groups(pairs, resamples),
        pairs=tuple(pairs),
        left_out=+left,
        reliability=reliability_of([each.ratings for each in ratings.steps]),
    )


def agreement_of_judges(a: Run, b: Run, resamples: int = RESAMPLES) -> Agreement:
    """Compare two judges' scores of the same steps (same conclusion, same position).

    Steps are matched by task, doc_id, repeat and step number; white space in conclusions is
    ignored. Modalities are those of ``a``. Left-out steps and intervals are as in
    ``agreement_with_humans``.

    Raises:
        RunError: nothing can be compared.
    """
    if set(a.files) & set(b.files):
        raise RunError(f"{a.files[0]} was passed twice: pass two runs of the same responses")
    left: Counter[str] = Counter()
    pairs: list[StepPair] = []
    others = {(*each.instance.key, each.repeat): each for each in b.responses}
    for response in a.responses:
        other = others.pop((*response.instance.key, response.repeat), None)
        if other is None:
            left["response only in the first run"] += len(response.steps)
            continue
        if other.instance.statement != response.instance.statement:
            left["a different document with that number in the second run"] += len(response.steps)
            continue
        longer = len(other.steps) - len(response.steps)
        left[f"step only in the {'second' if longer > 0 else 'first'} run"] += abs(longer)
        for at, (one, two) in enumerate(zip(response.steps, other.steps, strict=False)):
            same = one.conclusion.split() == two.conclusion.split()
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


def _unfit(step: JudgedStep, judge: str) -> str:
    """Why a step has no score of a judge; empty if it has one."""
    if step.score is None:
        return f"{judge} gave no score"
    return "" if step.questions else BY_RULE


def _pair(
    response: RptsRecord, at: int, score: float, other: float, other_reply: str | None
) -> StepPair:
    instance, step = response.instance, response.steps[at]
    place = (instance.task, instance.doc_id, instance.id, response.repeat, at)
    scores = (score, other, _reply(step), other_reply)
    return StepPair(*place, step.modality, step.conclusion, *scores)


def _reply(step: JudgedStep) -> str | None:
    """The judge's last reply; replies of several judges or samples follow each other."""
    last = step.questions[-1]
    if last.reply is not None:
        return last.reply
    return " | ".join(f"{each.judge}: {each.text}" for each in last.opinions if each.text) or None


def _groups(pairs: Sequence[StepPair], resamples: int) -> tuple[GroupAgreement, ...]:
    kinds = np.array([pair.modality for pair in pairs])
    members = {EVERY: np.arange(len(pairs))}
    members |= {kind: np.flatnonzero(kinds == kind) for kind in MODALITIES}
    found = estimate_groups(
        np.array([pair.score for pair in pairs]),
        np.array([pair.other for pair in pairs]),
        numbered([cluster_of(pair.task, pair.id) for pair in pairs]),
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
        replies = "1 reply" if by.judge_samples == 1 else f"{by.judge_samples} replies"
        comparable = "" if by.comparable else "; not comparable with other judges"
        judges.append(
            f"{by.judge} (prompts {by.prompt_version}, {replies} at temperature "
            f"{by.temperature:g}{comparable})"
        )
    return f"{run.label}, judged by {'; '.join(dict.fromkeys(judges))}"


def _reasons(left: Counter[str]) -> str:
    """Reasons why steps were left out, the most frequent first."""
    return "; ".join(f"{reason}: {n}" for reason, n in (+left).most_common()) or "no steps"
