"""RPTS of saved runs under other settings of decay and focus height.

The judge's scores are in the records, so no judge call is needed. Definitions, for one decay and
one focus height:

- The RPTS of each scored response is ``rpts_score`` of its tree and its steps' scores (Wang and
  Zhang, RPTS, arXiv 2511.06899). A response passes if its RPTS is at least the threshold.
- ``rpts``: its mean.
- ``filtered_accuracy``: share of all responses that are correct and pass, as published; at the
  run's own settings it is ``accuracy_rpts``.
- ``accuracy_passing``: accuracy among the responses that pass.
- ``share_filtered``: share of the scored responses that do not pass.

Means are computed as in lmms-eval's table: first over a document's responses, then over the
documents that have a value. Unscored responses are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.reasoning import rpts_score
from lmms_rpts.reasoning.tree import RIGHT_REASON, is_sound
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.rounds import document_means
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.aggregation import mean_of_scored

if TYPE_CHECKING:
    import pandas as pd

DECAYS = (0.3, 0.5, 0.7, 0.9)
FOCUS_HEIGHTS = (1, 2, 3, 4)
QUANTITIES = ("rpts", "filtered_accuracy", "accuracy_passing", "share_filtered")
_HIGHEST = 1000
"""No tree is this high, and the time to score grows with the focus height."""


def sweep(
    run: Run,
    decays: Sequence[float] = DECAYS,
    focus_heights: Sequence[int] = FOCUS_HEIGHTS,
    threshold: float = RIGHT_REASON,
) -> pd.DataFrame:
    """The means of a run for each pair of decay and focus height, as defined in this module.

    Args:
        run: a run; its own settings are added to the grid.
        decays: in [0, 1].
        focus_heights: integers from 0 to 1000.
        threshold: minimum RPTS of a response that passes, in [0, 1].

    Returns:
        One row per pair, by decay and focus height, with the columns ``decay``, ``focus_height``,
        those of ``QUANTITIES`` (in [0, 1]; NaN if there is nothing to average), and ``own``:
        whether these are the run's own settings.

    Raises:
        UserError: for settings out of range.
        RunError: if nothing in the run was scored.
    """
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(sweep_rows(run, decays, focus_heights, threshold))
    return frame


def sweep_rows(
    run: Run,
    decays: Sequence[float] = DECAYS,
    focus_heights: Sequence[int] = FOCUS_HEIGHTS,
    threshold: float = RIGHT_REASON,
) -> list[dict[str, Any]]:
    """The rows of ``sweep``, without pandas."""
    check_settings(decays, focus_heights, threshold)
    scored = [each for each in run.responses if each.rpts is not None]
    if not scored:
        raise RunError(
            f"{run.label}: no response was scored, so there is nothing to recompute. Score the "
            "responses first: lmms-rpts score"
        )
    own = {(each.settings.decay, each.settings.focus_height) for each in scored}
    check_settings([decay for decay, _ in own], [height for _, height in own], threshold)
    return [
        {"decay": decay, "focus_height": height}
        | _means(scored, decay, height, threshold)
        | {"own": (decay, height) in own}
        for decay in sorted({*map(float, decays), *(decay for decay, _ in own)})
        for height in sorted({*map(int, focus_heights), *(height for _, height in own)})
    ]


def check_settings(
    decays: Sequence[float], focus_heights: Sequence[int], threshold: float = RIGHT_REASON
) -> None:
    """Refuse invalid settings."""
    if not decays or not focus_heights:
        raise UserError("At least one decay and one focus height are needed")
    for height in focus_heights:
        if not isinstance(height, Integral) or isinstance(height, bool):
            raise UserError(f"Focus height must be an integer, not {height}")
    for name, values, most in (
        ("Decay", decays, 1),
        ("Focus height", focus_heights, _HIGHEST),
        ("Threshold", [threshold], 1),
    ):
        for value in values:
            if not 0 <= value <= most:
                raise UserError(f"{name} must be between 0 and {most}, not {value}")


def _means(
    scored: Sequence[RptsRecord], decay: float, height: int, threshold: float
) -> dict[str, float]:
    """The means by the names in ``QUANTITIES``."""
    columns: dict[str, list[float | None]] = {name: [] for name in QUANTITIES}
    for each in scored:
        # A record with an RPTS has a score for each step: RptsRecord checks this.
        scores = [step.score or 0.0 for step in each.steps]
        value, right = rpts_score(each.tree(), scores, decay, height), each.answer.correct
        passed = is_sound(value, threshold)
        both = None if right is None else float(right and passed)
        passing = None if right is None or not passed else float(right)
        for name, found in zip(QUANTITIES, (value, both, passing, float(not passed)), strict=True):
            columns[name].append(found)
    return {name: _mean(scored, values) for name, values in columns.items()}


def _mean(responses: Sequence[RptsRecord], values: Sequence[float | None]) -> float:
    documents = (each.instance.key for each in responses)
    return mean_of_scored(document_means(zip(documents, values, strict=True)))
