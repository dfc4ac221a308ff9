"""Comparison of two judges on the same labelled steps, from their validity files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_rpts.errors import UserError
from lmms_rpts.runs.validity import JudgedChain, ValidatedSet, Validity
from lmms_rpts.stats.step_measures import PairedDifferences, paired_differences
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.scored_steps import scored_steps

Key = tuple[str, str]


class ComparisonError(UserError):
    """Raised for two files that cannot be compared; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class SetComparison:
    """The comparison of both judges on one set.

    Attributes:
        name: name of the set, as in both files.
        chains: number of chains that are in both files, with the same question and labels.
        only: number of chains that are in one file only, or differ in question or labels.
        notes: reasons other than the judge why the figures may differ.
        found: the differences, second minus first.
    """

    name: str
    chains: int
    only: int
    notes: tuple[str, ...]
    found: PairedDifferences


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """The comparison of two judges, by set; ``missing``: sets that are in one file only."""

    first: Validity
    second: Validity
    sets: tuple[SetComparison, ...]
    missing: tuple[str, ...]


def compare_judges(first: Validity, second: Validity) -> JudgeComparison:
    """Paired differences on the steps that both judges scored.

    Raises:
        ComparisonError: the files have no labelled chain in common, or one of them has two sets of
            the same name.
    """
    for judged in (first, second):
        if len({each.name for each in judged.sets}) < len(judged.sets):
            raise ComparisonError("One of the files has two sets of the same name")
    others = {(each.name, each.layout): each for each in second.sets}
    sets = []
    for one in first.sets:
        two = others.pop((one.name, one.layout), None)
        if two is not None and (compared := _compare(one, two)) is not None:
            sets.append(compared)
    known = {each.name for each in sets}
    missing = {each.name for each in (*first.sets, *second.sets)} - known
    if not sets:
        names = [
            ", ".join(each.name for each in judged.sets) or "none" for judged in (first, second)
        ]
        raise ComparisonError(
            f"The two files have no labelled chain in common (sets: {names[0]}; {names[1]}): "
            "validate both judges with the same --data, --limit and --seed"
        )
    return JudgeComparison(first, second, tuple(sets), tuple(sorted(missing)))


def _compare(one: ValidatedSet, two: ValidatedSet) -> SetComparison | None:
    ours, theirs = _by_key(one), _by_key(two)
    shared = [key for key in ours if key in theirs and _same(ours[key], theirs[key])]
    if not shared:
        return None
    first, second = (
        scored_steps(
            [_as_chain(table[key]) for key in shared], [table[key].scores for key in shared]
        )
        for table in (ours, theirs)
    )
    return SetComparison(
        one.name,
        len(shared),
        len(ours.keys() | theirs.keys()) - len(shared),
        tuple(_notes(one, two)),
        paired_differences(first, second),
    )


def _notes(one: ValidatedSet, two: ValidatedSet) -> Sequence[str]:
    notes = []
    if one.premises != two.premises:
        notes.append(f"premises: {one.premises} for the first judge, {two.premises} for the second")
    if one.blind != two.blind:
        notes.append("one judge saw the images, the other did not")
    if one.sha256 != two.sha256:
        notes.append("the labels were read from different files")
    return notes


def _by_key(found: ValidatedSet) -> Mapping[Key, JudgedChain]:
    return {(chain.stratum, chain.id): chain for chain in found.chains}


def _same(one: JudgedChain, two: JudgedChain) -> bool:
    def labels(chain: JudgedChain) -> tuple[object, ...]:
        return (
            chain.question,
            chain.labels,
            chain.first_error,
            chain.located,
            chain.path,
            chain.places,
        )

    return labels(one) == labels(two)


def _as_chain(judged: JudgedChain) -> LabelledChain:
    """The chain without its texts, which do not affect the figures."""
    return LabelledChain(
        id=judged.id,
        question=judged.question,
        stratum=judged.stratum,
        language="",
        context="",
        steps=("",) * len(judged.labels),
        labels=judged.labels,
        first_error=judged.first_error,
        located=judged.located,
        places=judged.places,
        path=judged.path,
    )
