"""Rounds of a model, their figures, and warnings about runs that are not comparable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from lmms_rpts.base.escaping import listed
from lmms_rpts.runs.run import rounds_of as rounds_of
from lmms_rpts.stats.figures import NONE as NONE
from lmms_rpts.stats.figures import interval

if TYPE_CHECKING:
    from lmms_rpts.runs.record import R
    from lmms_rpts.runs.run import Run


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of one model; fields are None if undefined.

    Attributes:
        value: the mean over documents; with several rounds, the mean of their means.
        sd: the sample standard deviation (n - 1) over rounds; None for fewer than two values.
        low, high: with one round, the 95% interval over documents.
        n: number of rounds with a value; with one round, number of documents.
    """

    value: float | None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


def over_rounds(means: Sequence[float | None]) -> Figure:
    """The mean and sample standard deviation of one value per round."""
    values = there(means)
    sd = stdev(values) if len(values) > 1 else None
    return Figure(fmean(values) if values else None, sd, n=len(values))


def mean_tokens(rounds: Sequence[Iterable[int | None]]) -> Figure:
    """Mean tokens per response, over responses with reported tokens; no interval."""
    counts = [there(each) for each in rounds]
    means = [fmean(each) if each else None for each in counts]
    return Figure(means[0], n=len(counts[0])) if len(counts) == 1 else over_rounds(means)


def figure_text(figure: Figure) -> str:
    """A share with its interval or deviation."""
    if figure.value is not None and figure.sd is not None:
        return f"{figure.value:.3f} ± {figure.sd:.3f}"
    return interval(figure, ".3f", ".2f")


def token_text(figure: Figure) -> str:
    """A number of tokens with its deviation."""
    if figure.value is None:
        return NONE
    spread = "" if figure.sd is None else f" ± {figure.sd:,.0f}"
    return f"{figure.value:,.0f}{spread}"


def there(values: Iterable[float | None]) -> list[float]:
    """The values that are not None."""
    return [value for value in values if value is not None]


def document_means(values: Iterable[tuple[Hashable, float | None]]) -> list[float | None]:
    """One value per document, from pairs of a document and the value of one of its responses.

    It is the mean over the document's responses that have a value, as in ``process_results``; None
    if none has one.
    """
    found: dict[Hashable, list[float]] = {}
    for document, value in values:
        there = found.setdefault(document, [])
        if value is not None:
            there.append(value)
    # Not fsum: the mean must equal lmms-eval's to the last bit.
    return [sum(there) / len(there) if there else None for there in found.values()]


def differing_settings(runs: Sequence[Run]) -> list[str]:
    """Warnings about settings of the scores that differ between runs of one benchmark."""
    differing = []
    names = dict.fromkeys(
        name for run in runs for each in run.scorings for name in type(each).model_fields
    )
    names.pop("comparable", None)  # it follows from the judge
    for name in names:
        users: dict[object, list[str]] = {}
        for run in runs:
            for value in dict.fromkeys(getattr(each, name) for each in run.scorings):
                if value is not None:  # a setting that these scores don't depend on
                    users.setdefault(value, []).append(run.label)
        if len(users) > 1:
            shown = "; ".join(f"{value} in {listed(labels)}" for value, labels in users.items())
            differing.append(f"{name.replace('_', ' ')}: {shown}")
    if not differing:
        return []
    return [f"scored in different ways, not comparable side by side. {'. '.join(differing)}"]


def same_rounds(
    models: Mapping[str, Sequence[Run]], score: Callable[[R], float | None]
) -> list[str]:
    """Warnings about rounds that are copies of each other."""
    copies = []
    for rounds in models.values():
        seen: dict[object, str] = {}
        for run in rounds:
            said = tuple((each.instance.key, each.text, score(each)) for each in run.responses)
            if said in seen:
                copies.append(f"{seen[said]} and {run.label} have identical responses: copies?")
            seen.setdefault(said, run.label)
    return copies


def differing_coverage(
    who: str, covered: Mapping[str, Collection[Hashable]], documents: str
) -> list[str]:
    """Warnings if the subjects, such as ``models``, cover different documents."""
    every = [set(keys) for keys in covered.values()]
    if all(keys == every[0] for keys in every):
        return []
    counts = [f"{len(keys)} by {name}" for name, keys in zip(covered, every, strict=True)]
    return [
        f"the {who} cover different {documents}: {listed(counts)}; "
        f"{len(set.intersection(*every))} are common to all"
    ]
