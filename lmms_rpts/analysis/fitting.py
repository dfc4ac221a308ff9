"""Decay and focus height that fit human ratings of whole responses, cross-validated.

For each setting of a grid, the RPTS of a response is compared with the raters' mean score of the
response as a whole. The fitted setting is the one with the smallest mean absolute error. Its value
on the data that chose it is too good, so documents are divided into folds, and the responses of
each fold get the RPTS of the setting that fits the other folds best. The difference from the
default's RPTS of the same responses has an interval over documents, for the settings that were
chosen: that other data would choose others is not part of it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from lmms_rpts.analysis.agreement import RESAMPLES
from lmms_rpts.analysis.measured import Measured
from lmms_rpts.analysis.ratings import Ratings
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning import rpts_score
from lmms_rpts.reasoning.metric import DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.agreement import statistics_of
from lmms_rpts.stats.intervals import SEED, Floats, bootstrap, bootstrapped, numbered
from lmms_rpts.tasks.rpts_eval.runs import Run

DECAYS = tuple(each / 10 for each in range(1, 11))
FOCUS_HEIGHTS = (1, 2, 3, 4)
"""Focus height 0 gives the values of 1: the lowest step has height 1."""
FOLDS = 10
Setting = tuple[float, int]
_EXPLAINED = (
    "MAE: mean absolute difference of RPTS and the raters' mean score of the whole response. "
    "Spearman: rank correlation of the two. In brackets: 95% bootstrap intervals over documents, "
    "paired for the difference, with the settings that were chosen."
)
DEFAULT: Setting = (DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT)


def fit_settings(run: Run, ratings: Ratings) -> Measured:
    """Fit decay and focus height to the ratings of whole responses; see this module.

    Returns:
        Mean absolute error and rank correlation of the default, of the fitted settings on the
        documents that did not choose them, and their difference; and the error of each setting.

    Raises:
        RunError: if fewer than two documents have such a rating and an RPTS.
    """
    responses = {each.place: each for each in run.responses}
    rated = [
        (responses[each.task, each.doc_id, each.repeat], each.score) for each in ratings.overall
    ]
    scored = [(response, score) for response, score in rated if response.rpts is not None]
    documents = numbered([response.instance.cluster for response, _ in scored])
    count = len({*documents.tolist()})
    if count < 2:
        raise RunError(
            f"{ratings.source}: --fit needs ratings of whole responses to two documents or more, "
            f"of which {run.label} has an RPTS; there are {count}. Collect them with lmms-rpts "
            "rate --overall, or in a table with the columns doc_id and overall"
        )
    grid = list(dict.fromkeys([DEFAULT, *((d, h) for h in FOCUS_HEIGHTS for d in DECAYS)]))
    human = np.array([score for _, score in scored])
    values = np.array([[_rpts(response, each) for response, _ in scored] for each in grid])
    # Equal but for the last bit; the default comes first, and so wins a tie.
    errors = np.round(np.abs(values - human), 9)
    folds = min(FOLDS, count)
    fold_of = np.random.default_rng(SEED).permutation(count)[documents] % folds
    chosen = [int(errors[:, fold_of != fold].mean(axis=1).argmin()) for fold in range(folds)]
    held_out = values[np.array(chosen)[fold_of], np.arange(len(human))]

    def statistic(weights: Floats) -> Floats:
        own = weights[:, documents]
        default, fitted = (statistics_of(each, human, own)[:, :2] for each in (values[0], held_out))
        return np.hstack([default, fitted, fitted - default])

    found, draws = bootstrap(statistic, count, RESAMPLES, size=len(human))
    mae, rank, *others = (bootstrapped(*pair, count) for pair in zip(found, draws, strict=True))
    best, better = grid[int(errors.mean(axis=1).argmin())], others[2].high
    measures = [
        {"setting": _named(DEFAULT) + " (default)", "mae": mae, "spearman": rank},
        {"setting": "fitted, cross-validated", "mae": others[0], "spearman": others[1]},
        {"setting": "fitted - default", "mae": others[2], "spearman": others[3]},
    ]
    by_setting = dict(zip(grid, errors.mean(axis=1), strict=True))
    table = [
        {"decay": f"{decay:g}"} | {f"focus_height_{h}": by_setting[decay, h] for h in FOCUS_HEIGHTS}
        for decay in DECAYS
    ]
    votes = Counter(_named(grid[at]) for at in chosen).most_common()
    advice = (
        "The fitted setting is better on documents that did not choose it."
        if better is not None and better < 0
        else "These ratings give no reason to leave the default: the interval of the difference "
        "in MAE is not below 0."
    )
    unscored = len(rated) - len(scored)
    return Measured(
        (
            f"{run.label} and {ratings.source}: {len(scored):,} responses to {count:,} documents"
            + (f"; {unscored:,} rated responses have no RPTS" if unscored else ""),
            f"Smallest error on all of them: {_named(best)}. Chosen without one of the "
            f"{folds} folds: {', '.join(f'{setting} ({n})' for setting, n in votes)}.",
        ),
        {"": measures, "MAE on all responses": table},
        (advice, _EXPLAINED),
    )


def _named(setting: Setting) -> str:
    return f"decay {setting[0]:g}, focus height {setting[1]}"


def _rpts(response: RptsRecord, setting: Setting) -> float:
    scores = [step.score or 0.0 for step in response.steps]  # all are scored: it has an RPTS
    return rpts_score(response.tree(), scores, *setting)
