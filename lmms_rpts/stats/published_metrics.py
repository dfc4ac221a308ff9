"""The metrics reported by the authors of each set, under their published names.

For comparison with published figures. A step is wrong if its score is below the threshold, although
most authors ask for the number of the wrong step. Papers on process reward models tune the
threshold on part of the data; here it is 0.5. Their figures are closer to ``macro_f1_fitted`` and
``f1_first_fitted``. Steps and chains that an unscored step leaves undecided are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lmms_rpts.stats.intervals import Flags, Floats
from lmms_rpts.stats.measures import Measure, mean_over, ratio
from lmms_rpts.stats.step_labels import ScoredSteps, first_errors, solutions
from lmms_rpts.stats.step_measures import auc, confusion_measures, location_measures

Measures = Callable[[ScoredSteps, float], dict[str, Measure]]


def prmbench(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """Song et al. 2025: PRMScore, the mean of both F1 over pooled steps; and first errors.

    ``first-error accuracy`` is the share of first wrong steps that are flagged, whether or not
    earlier steps are flagged, unlike ``acc_err``.
    """
    errors = first_errors(steps)
    found = errors.at < threshold
    there = errors.located & errors.wrong & ~np.isnan(errors.at)
    return {
        "PRMScore": confusion_measures(steps, threshold)["macro_f1"],
        "first-error accuracy": ratio(found & there, there),
    }


def mr_score_parts(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """MR-GSM8K and MR-Ben (Zeng et al. 2024): two parts of MR-Score; the third needs reasons.

    ``MCC``: Matthews' correlation between correct solutions and solutions without a flagged step.
    ``ACC step``: the share of wrong solutions whose first flagged step is the first wrong one.
    MR-Ben averages over subjects; here subjects are pooled, as in MR-GSM8K.
    """
    return {
        "MCC": confusion_measures(solutions(steps), threshold)["mcc"],
        "ACC step": location_measures(steps, threshold)["acc_err"],
    }


def vlrmbench(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """Ruan et al. 2025: F1 of both classes, each weighted by the number of steps of the *other*."""
    parts = confusion_measures(steps, threshold)
    sound = steps.by_chain(steps.sound & steps.scored)
    share = ratio(sound, steps.by_chain(steps.scored))

    def of(weights: Floats) -> Floats:
        sound_share = share.of(weights)
        of_sound, of_wrong = parts["f1_sound"].of(weights), parts["f1_wrong"].of(weights)
        return of_sound * (1 - sound_share) + of_wrong * sound_share

    return {"weighted F1": Measure(of, parts["macro_f1"].counts)}


def reasoneval(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """Xia et al. 2024: macro F1 and AUC of steps up to the first error, and of whole solutions.

    The score of a solution is the lowest score of its steps: here only those up to the first error,
    as later steps have no label. A step is sound above their threshold, not at it.
    """
    whole = solutions(steps)
    return {
        "step macro F1": confusion_measures(steps, threshold)["macro_f1"],
        "step AUC": auc(steps),
        "solution macro F1": confusion_measures(whole, threshold)["macro_f1"],
        "solution AUC": auc(whole),
    }


def parc(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """Mukherjee et al. 2025: accuracy on error steps and on correct ones, by chain and then file.

    There, steps that only inherit an error are a class of their own. A judge of single steps cannot
    detect it, so they are in neither accuracy.
    """
    known = steps.scored & ~steps.inherited
    flagged = steps.score < threshold
    return {
        "accuracy of error steps": _mean_of_chains(steps, known & ~steps.sound, flagged),
        "accuracy of correct steps": _mean_of_chains(steps, known & steps.sound, ~flagged),
    }


def deltabench(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """He et al. 2025: precision, recall and F1 of wrong sections, means over rows with an error.

    Their metric also counts useless sections as wrong; here those are neutral. As in their code,
    flags after the last wrong section of a row do not count, and a row without flags has precision
    0.
    """
    known = steps.scored & steps.on_path
    last = np.full(steps.chains, -1)
    wrong = known & ~steps.sound
    np.maximum.at(last, steps.chain[wrong], steps.place[wrong])
    flagged = known & (steps.score < threshold) & (steps.place <= last[steps.chain])
    caught, called = steps.by_chain(flagged & wrong), steps.by_chain(flagged)
    true = steps.by_chain(wrong)
    rows = true > 0
    parts = {
        "macro precision": caught / np.maximum(called, 1),
        "macro recall": caught / np.maximum(true, 1),
        "macro F1": 2 * caught / np.maximum(called + true, 1),
    }
    return {name: ratio(values, rows, share=False) for name, values in parts.items()}


def best_of_n(steps: ScoredSteps, threshold: float) -> dict[str, Measure]:
    """Share of questions whose candidate with the highest score is right; ties count in parts."""
    best = np.full(steps.chains, -np.inf)
    np.maximum.at(best, steps.chain[steps.scored], steps.score[steps.scored])
    top = steps.scored & (steps.score == best[steps.chain])
    n = steps.by_chain(top)
    right = steps.by_chain(top & steps.sound) / np.maximum(n, 1)
    return {"best of N": ratio(right, n > 0, share=False)}


OWN_METRICS: Mapping[str, Measures] = {
    # Zheng et al. 2024: F1 of each subset, and their mean.
    "processbench": lambda steps, threshold: {
        "F1": mean_over(steps.stratum, location_measures(steps, threshold)["f1_first"])
    },
    # Wang et al. 2025: macro F1 over all steps except neutral ones, sources pooled.
    "visualprocessbench": lambda steps, threshold: {
        "macro F1": confusion_measures(steps, threshold)["macro_f1"]
    },
    # Tyen et al. 2023: share of traces located correctly, with or without a mistake; task mean.
    "bigbench_mistake": lambda steps, threshold: {
        "accuracy of location": mean_over(steps.stratum, _location(steps, threshold))
    },
    "prmbench": prmbench,
    "mr_gsm8k": mr_score_parts,
    "mr_ben": mr_score_parts,
    "vlrmbench": vlrmbench,
    "reasoneval": reasoneval,
    "parc": parc,
    # Daheim et al. 2024: share of solutions (all wrong) whose first error is located exactly.
    "stepverify": lambda steps, threshold: {"accuracy of location": _location(steps, threshold)},
    "deltabench": deltabench,
    # Xu et al. 2025 choose among whole solutions by the scores of their steps; here of the whole.
    "mpbench_answers": best_of_n,
    "mpbench_search": best_of_n,
}
"""The metrics of each layout that has any, by layout name."""


def _location(steps: ScoredSteps, threshold: float) -> Measure:
    errors = first_errors(steps)
    return ratio(errors.right(threshold), errors.known(threshold))


def _mean_of_chains(steps: ScoredSteps, counted: Flags, right: Flags) -> Measure:
    """Share of counted steps that are right, averaged over chains and then over strata."""
    n = steps.by_chain(counted)
    there = n > 0
    shares = np.where(there, steps.by_chain(counted & right) / np.maximum(n, 1), 0.0)
    return mean_over(steps.stratum, ratio(shares, there, share=False))
