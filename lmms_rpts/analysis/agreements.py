"""Agreement of judges' step scores with people's, or with those of another judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from lmms_rpts.analysis.frames import plain_frame, steps_frame
from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.rows import ReadError, Row, read_objects
from lmms_rpts.base.schema import Line, Model, Several
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run, name_runs
from lmms_rpts.scoring.question import cluster_of
from lmms_rpts.stats.figures import Interval
from lmms_rpts.stats.intervals import Floats, Indices, bootstrap, bootstrapped, numbered

if TYPE_CHECKING:
    import pandas as pd

STEP = ["task", "doc_id", "id", "repeat", "step"]
"""The columns that name a step."""
STATISTICS = ("mae", "spearman", "pearson", "kappa", "bias")
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of judges with a reference, over the steps that it and all judges scored.

    Attributes:
        reference: ``people`` (a step's mean over raters), or the label of the first run.
        table: one row per judge: ``run``, ``judge``, ``steps``, ``documents`` (a translation counts
            as its document), and an `Interval` for each of ``STATISTICS``.
        steps: one row per step: ``STEP``, ``modality``, ``conclusion``, ``reference``, and the
            score in each run, by its label.
        left_out: the number of steps that are not compared, by reason.
    """

    reference: str
    table: pd.DataFrame
    steps: pd.DataFrame
    left_out: Mapping[str, int]

    def frame(self) -> pd.DataFrame:
        """The table in plain numbers: a statistic M has ``M``, ``M_low``, ``M_high``, ``M_n``."""
        return plain_frame(self.table)


def agreement(
    runs: Sequence[Run], ratings: str | Path | Sequence[str | Path] | None = None
) -> Agreement:
    """Compare the step scores of runs of the same responses with people's, or with the first run's.

    Steps are the same if document, repeat, number and conclusion are. Intervals are 95% bootstrap
    intervals over documents, each with its translation.

    Args:
        ratings: files of people's ratings of the first run, see ``read_ratings``; None: the first
            run is the reference.
    """
    import pandas as pd

    runs = name_runs(runs)
    frames = [_scored_steps(run) for run in runs]
    reference, judges = runs[0].label, runs[1:]
    if ratings is not None:
        people, reference, judges = read_ratings(ratings, runs[0]), "people", runs
        rated = frames[0].assign(score=people.groupby(STEP)["score"].mean())
        rated["fault"] = rated["score"].map(lambda score: "not rated" if score != score else None)
        frames = [rated, *frames]
    # The reference is the first side, each judge a further one.
    joined = pd.concat(frames, axis=1, keys=range(len(frames))).sort_index()
    scores, words, faults = (
        joined.xs(name, axis=1, level=1) for name in ("score", "words", "fault")
    )
    reasons = faults.bfill(axis=1)[0]  # the first one
    reasons[words.nunique(axis=1) > 1] = "different conclusion"
    reasons[words.isna().any(axis=1)] = "only in one run"
    left_out = {str(reason): int(n) for reason, n in reasons.value_counts().items()}
    steps = scores[reasons.isna()].astype(float)
    if steps.empty:
        raise RunError(
            f"{', '.join(run.label for run in runs)}: no step can be compared: "
            f"{reasons_text(left_out)}. Pass runs of the same responses: lmms-rpts score scores "
            "saved responses again"
        )
    documents = numbered([cluster_of(task, own_id) for task, _, own_id, *_ in steps.index])
    counts = {"steps": len(steps), "documents": int(documents.max()) + 1}
    rows = [
        {"run": run.label, "judge": run.judges, **counts}
        | _intervals(steps[side].to_numpy(), steps[0].to_numpy(), documents)
        for side, run in enumerate(judges, 1)
    ]
    steps.columns = ["reference", *(run.label for run in judges)]
    described = joined[0].loc[steps.index, ["modality", "conclusion"]]
    table, compared = pd.DataFrame(rows), described.join(steps).reset_index()
    return Agreement(reference, table, compared, left_out)


def reasons_text(left_out: Mapping[str, int]) -> str:
    """Why steps were left out, with their numbers."""
    return ", ".join(f"{reason}: {n:,}" for reason, n in left_out.items())


def _scored_steps(run: Run) -> pd.DataFrame:
    """The steps of a run by ``STEP``; ``fault``: why a step has no score of the judge, or None."""
    frame = steps_frame([run]).set_index(STEP)
    if frame.empty:
        raise RunError(f"{run.label} has no steps: pass a run that RPTS scored")
    columns: pd.DataFrame = frame[["modality", "conclusion"]].assign(
        score=frame["score"].astype(float),
        words=frame["conclusion"].str.split().str.join(" "),
        fault=None,
    )
    columns.loc[frame["question"].isna(), "fault"] = "scored by a rule"
    columns.loc[frame["score"].isna(), "fault"] = f"no score in {run.label}"
    return columns


def statistics_of(scores: Floats, reference: Floats) -> Floats:
    """``STATISTICS`` of two sets of n scores from 0 to 1: (5,), NaN where they are undefined.

    ``mae``: mean absolute difference; ``spearman``, ``pearson``: correlations, undefined if a side
    is constant; ``kappa``: Cohen's, with quadratic weights (Cohen 1968), over 11 levels: scores are
    rounded to one decimal, halves to the even digit; undefined for one step, and if all scores have
    the same level; ``bias``: mean of ``scores`` minus ``reference``.
    """
    from scipy.stats import rankdata

    gaps = scores - reference
    # Means of raters that differ in the last bit are ties; 3.4999999 is level 4.
    one, two = scores.round(9), reference.round(9)
    spearman = pearson = kappa = np.nan
    if np.ptp(one) > 0 and np.ptp(two) > 0:
        spearman = np.corrcoef(rankdata(one), rankdata(two))[0, 1]
        pearson = np.corrcoef(one, two)[0, 1]
    one, two = (np.rint((each * 10).round(9)) for each in (scores, reference))
    # With quadratic weights, the sums over both raters' tables are moments: scikit-learn's
    # cohen_kappa_score gives the same and takes 1 ms, for each of the resamples.
    chance = (one**2).mean() + (two**2).mean() - 2 * one.mean() * two.mean()
    if len(gaps) > 1 and chance > 0:
        kappa = 1 - ((one - two) ** 2).mean() / chance
    return np.array([np.abs(gaps).mean(), spearman, pearson, kappa, gaps.mean()])


def _intervals(scores: Floats, reference: Floats, documents: Indices) -> dict[str, Interval]:
    """The statistics by name; ``documents``: that of each step, from 0."""

    def statistic(weights: Floats) -> Floats:
        drawn = [np.repeat(np.arange(len(scores)), row.astype(int)) for row in weights]
        return np.array([statistics_of(scores[steps], reference[steps]) for steps in drawn])

    n = int(documents.max()) + 1
    values, draws = bootstrap(statistic, len(scores), RESAMPLES * (n > 1), clusters=documents)
    return {
        name: bootstrapped(value, ends, n)
        for name, value, ends in zip(STATISTICS, values, draws, strict=True)
    }


# --- files of ratings

_Count = Annotated[int, Field(ge=0, lt=2**63)]


class RatingFile(Model):
    """What the rating mode of the report saves: the ratings of one person."""

    format: Literal["lmms-rpts-ratings"]
    version: Literal[1]
    rater: Line
    ratings: Several[dict[str, Any]]


class Rating(Model):
    """A person's rating of one step; ``human`` is None if it is not rated."""

    task: str = ""
    doc_id: _Count | None = None
    id: Annotated[str | None, BeforeValidator(lambda value: value and str(value))] = None
    repeat: _Count = 0
    step: _Count
    human: Annotated[float | None, Field(ge=0, le=1)] = None
    rater: str = ""
    conclusion: str = ""


def read_ratings(files: str | Path | Sequence[str | Path], run: Run) -> pd.DataFrame:
    """People's scores of the steps of ``run``, a row per score: ``STEP``, ``rater``, ``score``.

    A file is what the rating mode of the report saves, or a table with ``doc_id`` or ``id``,
    ``step`` (from 0), ``human`` (0 to 1, blank: not rated), and perhaps ``task``, ``repeat`` and
    ``rater``. A ReadError names file, row and remedy.
    """
    import pandas as pd

    paths = [files] if isinstance(files, str | Path) else files
    places = defaultdict[tuple[Any, ...], list[tuple[Any, str]]](list)
    conclusions: dict[Any, str] = _scored_steps(run)["conclusion"].to_dict()
    for step, conclusion in conclusions.items():
        task, doc_id, own_id, repeat, number = step
        for of, document in product(("", task), (doc_id, own_id)):
            places[of, document, repeat, number].append((step, conclusion))
    rated: dict[tuple[Any, ...], tuple[Row, float]] = {}
    for path in (Path(each).expanduser() for each in paths):
        before = len(rated)
        for row in _rating_rows(path):
            rating = row.parse(Rating, "docs/validation.md shows the columns")
            document = rating.id if rating.doc_id is None else rating.doc_id
            steps = places[rating.task, document, rating.repeat, rating.step]
            if len(steps) != 1:
                raise row.error(
                    f"{run.label} has {len(steps) or 'no'} steps of {rating.task or 'any task'} "
                    f"with document {document}, response {rating.repeat}, step {rating.step}"[:400],
                    "Pass the run that was rated; where several fit, add task or doc_id",
                )
            ((step, conclusion),) = steps
            if rating.conclusion and rating.conclusion.split() != conclusion.split():
                said = f"in {run.label}, the step is not “{shorten(rating.conclusion, 60)}”"
                raise row.error(said, "Pass the run that was rated")
            if rating.human is None:
                continue
            rater = rating.rater.strip() or ("" if len(paths) == 1 else str(path))
            first, _ = rated.setdefault((*step, rater), (row, rating.human))
            if first is not row:
                said = f"{shorten(rater) or 'the rater'} rated this step already in {first.where}"
                raise row.error(said, "Remove one of them")
        if len(rated) == before:
            remedy = (
                "pass a file of ratings, or a table with the scores of people in a column human"
            )
            raise ReadError(f"{path}: no step is rated: {remedy}")
    rows = [(*key, score) for key, (_, score) in rated.items()]
    people: pd.DataFrame = pd.DataFrame(rows, columns=[*STEP, "rater", "score"])
    return people


def _rating_rows(path: Path) -> list[Row]:
    """The rows of a table, or of the ratings in a file of the rating mode."""
    rows = list(read_objects(path))
    if len(rows) == 1 and "format" in rows[0].fields:
        saved = rows[0].parse(RatingFile, "Pass a file that the report's rating mode saved")
        return [
            Row(path, f"ratings[{at}]", at, {**it, "human": it.get("score"), "rater": saved.rater})
            for at, it in enumerate(saved.ratings)
        ]
    # A spreadsheet may have changed the conclusions, so they are not compared.
    return [replace(row, fields={**row.fields, "conclusion": ""}) for row in rows]
