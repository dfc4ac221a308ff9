"""Comparison of two judges on the same labelled steps, from their validity files."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import printable
from lmms_rpts.runs.validity import ValidatedSet, Validity
from lmms_rpts.stats.step_measures import PairedDifferences, paired_differences
from lmms_rpts.validation.figures import scored_steps


class ComparisonError(UserError):
    """Raised for two files that cannot be compared; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class SetComparison:
    """The comparison of both judges on one set.

    Attributes:
        name: name of the set, as in both files.
        chains: number of chains that are in both files, with the same question and labels.
        only: number of chains that are in one file only, or differ in question or labels.
        found: the differences, second minus first.
    """

    name: str
    chains: int
    only: int
    found: PairedDifferences


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """The comparison of two judges, by set; ``notes``: reasons other than the judges to differ."""

    judges: tuple[str, str]
    sets: tuple[SetComparison, ...]
    notes: tuple[str, ...]


def compare_judges(first: Validity, second: Validity) -> JudgeComparison:
    """Paired differences on the steps that both judges scored.

    Raises:
        ComparisonError: the files have no labelled chain in common, or one of them has two sets of
            the same name.
    """
    names = [[each.name for each in judged.sets] for judged in (first, second)]
    if any(len(set(each)) < len(each) for each in names):
        raise ComparisonError("One of the files has two sets of the same name")
    others = {(each.name, each.layout): each for each in second.sets}
    pairs = [(one, others.get((one.name, one.layout))) for one in first.sets]
    notes: list[str] = []
    sets = [found for one, two in pairs if two and (found := _compare(one, two, notes))]
    if not sets:
        told = "; ".join(", ".join(each) or "none" for each in names)
        raise ComparisonError(
            f"The two files have no labelled chain in common (sets: {told}): "
            "validate both judges with the same --data, --limit and --seed"
        )
    notes += [
        f"{each.name}: {each.only:,} chains are in only one file and are left out"
        for each in sets
        if each.only
    ]
    if missing := sorted({*names[0], *names[1]} - {each.name for each in sets}):
        notes.append(f"data sets that are in only one of the files: {', '.join(missing)}")
    if first.judge == second.judge:
        notes.append("both files are from the same judge")
    judges = (first.judge, second.judge)
    return JudgeComparison(judges, tuple(sets), tuple(map(printable, notes)))


_SAME = attrgetter("question", "labels", "first_error", "located", "path", "places")


def _compare(one: ValidatedSet, two: ValidatedSet, notes: list[str]) -> SetComparison | None:
    ours, theirs = (
        {(chain.stratum, chain.id): chain for chain in found.chains} for found in (one, two)
    )
    shared = [key for key in ours if key in theirs and _SAME(ours[key]) == _SAME(theirs[key])]
    if not shared:
        return None
    first, second = (
        scored_steps([table[key] for key in shared], [table[key].scores for key in shared])
        for table in (ours, theirs)
    )
    differing = {
        f"premises: {one.premises} for the first judge, {two.premises} for the second": (
            one.premises != two.premises
        ),
        "one judge saw the images, the other did not": one.blind != two.blind,
        "the labels were read from different files": one.sha256 != two.sha256,
    }
    notes += [f"{one.name}: {note}" for note, holds in differing.items() if holds]
    return SetComparison(
        one.name,
        len(shared),
        len(ours.keys() | theirs.keys()) - len(shared),
        paired_differences(first, second),
    )
