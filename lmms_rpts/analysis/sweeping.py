"""RPTS of saved runs under other settings of decay and focus height.

The judge's scores are in the records, so no judge call is needed: the RPTS of each scored response
is ``rpts_score`` of its tree and its steps' scores (Wang and Zhang, RPTS, arXiv 2511.06899).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmms_rpts.base.errors import UserError
from lmms_rpts.reasoning import rpts_score
from lmms_rpts.reasoning.tree import is_sound
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord

if TYPE_CHECKING:
    import pandas as pd

DECAYS = (0.3, 0.5, 0.7, 0.9)
FOCUS_HEIGHTS = (1, 2, 3, 4)
_HIGHEST = 1000
"""No tree is this high, and the time to score grows with the focus height."""


def sweep(
    run: Run, decays: Sequence[float] = DECAYS, focus_heights: Sequence[int] = FOCUS_HEIGHTS
) -> pd.DataFrame:
    """The means of a run for each pair of decay and focus height, its own settings included.

    Means are computed as in lmms-eval's table: first over a document's responses, then over the
    documents that have a value. Unscored responses are left out.

    Args:
        decays: in [0, 1].
        focus_heights: integers from 0 to 1000.

    Returns:
        One row per pair, with the columns ``decay``, ``focus_height``; ``rpts``;
        ``accuracy_rpts``, the share of all responses that are correct with an RPTS of at least 0.5,
        as published (NaN if there is nothing to average); and ``own``: whether these are the run's
        own settings.

    Raises:
        UserError: for settings out of range, or if nothing in the run was scored.
    """
    import pandas as pd

    scored = [it for it in run.responses if isinstance(it, RptsRecord) and it.rpts is not None]
    if not scored:
        raise RunError(
            f"{run.label}: no response was scored by RPTS, so there is nothing to recompute. Score "
            "the responses first: lmms-rpts score"
        )
    own = {(it.settings.decay, it.settings.focus_height) for it in scored}
    all_decays = sorted({*map(float, decays), *(decay for decay, _ in own)})
    all_heights = sorted({*map(int, focus_heights), *(height for _, height in own)})
    _check("decay", all_decays, 1)
    _check("focus_height", all_heights, _HIGHEST)
    rows = []
    for record in scored:
        # A record with an RPTS has a score for each step: RptsRecord checks this.
        scores, tree = [step.score or 0.0 for step in record.steps], record.tree()
        right = record.answer.correct
        for decay in all_decays:
            for height in all_heights:
                value = rpts_score(tree, scores, decay, height)
                rows.append(
                    {
                        "document": record.instance.key,
                        "decay": decay,
                        "focus_height": height,
                        "rpts": value,
                        "accuracy_rpts": None
                        if right is None
                        else float(right and is_sound(value)),
                    }
                )
    keys = ["decay", "focus_height"]
    documents = pd.DataFrame(rows).groupby([*keys, "document"]).mean()
    means: pd.DataFrame = documents.groupby(keys).mean().reset_index()
    means["own"] = [pair in own for pair in zip(means[keys[0]], means[keys[1]], strict=True)]
    return means


def _check(name: str, values: Sequence[float], most: int) -> None:
    for value in values:
        if not 0 <= value <= most:
            raise UserError(f"{name} must be between 0 and {most}, not {value:g}")
