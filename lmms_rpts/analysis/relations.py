"""Agreement of labellers of relations with each other and with a judge's proposals."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from lmms_rpts.analysis.agreement import RESAMPLES
from lmms_rpts.analysis.measured import Measured
from lmms_rpts.runs.rating_file import RELATIONS
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.agreement import nominal_statistics
from lmms_rpts.stats.intervals import Floats, bootstrap, bootstrapped
from lmms_rpts.tasks.rpts_eval.relations import PROPOSAL, RelationLabels
from lmms_rpts.tasks.rpts_eval.runs import Run


def agreement_on_relations(run: Run, labels: RelationLabels) -> Measured:
    """Agreement of labellers on the documents of a run, each with its translation.

    One row per pair of labellers: the share of equal labels and Cohen's kappa, with 95% intervals
    over documents; and the mean over all pairs of people (Light 1971). Labels are those that people
    gave before they saw the judge's proposal.

    Raises:
        RunError: if no document of the run has two labels.
    """
    instances = {each.instance.cluster: each.instance for each in run.responses}
    blind = [labels.of(each, first=True) for each in instances.values()]
    people = sorted({name for each in blind for name in each} - {PROPOSAL})
    codes = {
        name: np.array([RELATIONS.index(each[name]) if name in each else -1 for each in blind])
        for name in (*people, PROPOSAL)
    }
    shared = {
        pair: int(np.logical_and(*(codes[each] >= 0 for each in pair)).sum())
        for pair in combinations(codes, 2)
    }
    pairs = [pair for pair, documents in shared.items() if documents]
    if not pairs:
        raise RunError(
            f"{labels.place}: no document of {run.label} has labels of two people, or of one and "
            "of a judge: there is no agreement to measure"
        )
    of_people = [at for at, pair in enumerate(pairs) if PROPOSAL not in pair]
    # Of documents that two people or more labelled.
    shared["people", "people"] = sum(len({*each} - {PROPOSAL}) > 1 for each in blind)
    named = [*pairs, *([("people", "people")] if len(of_people) > 1 else [])]

    def statistic(weights: Floats) -> Floats:
        each = [nominal_statistics(codes[one], codes[two], weights) for one, two in pairs]
        if len(named) > len(pairs):
            each.append(np.mean([each[at] for at in of_people], axis=0))
        return np.hstack(each)

    values, draws = bootstrap(statistic, len(blind), RESAMPLES, size=len(pairs) * len(blind))
    estimates = [
        bootstrapped(value, own, shared[named[at // 2]])
        for at, (value, own) in enumerate(zip(values, draws, strict=True))
    ]
    rows = [
        {"labeller": one, "other": two, "documents": shared[one, two]}
        | {"equal": estimates[2 * at], "kappa": estimates[2 * at + 1]}
        for at, (one, two) in enumerate(named)
    ]
    final = Counter(str(labels.relation(each)) for each in instances.values() if labels.of(each))
    divided = final.pop("None", 0)
    found = ", ".join(f"{final[each]} {each}" for each in RELATIONS)
    return Measured(
        (
            f"{run.label}: {sum(map(bool, blind))} of {len(blind)} documents have labels: {found}, "
            f"{divided} undecided (as many labels for one relation as for another).",
        ),
        {"": rows},
        (
            "equal: share of equal labels. kappa: Cohen's kappa (Cohen 1960); of people and people "
            "the mean over all pairs of people (Light 1971). Labels of people are those that they "
            "gave before they saw the judge's proposal.",
        ),
    )
