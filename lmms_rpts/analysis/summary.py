"""Summary of several models: the mean of each metric over documents or over rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.metrics import GROUPS, NEITHER_IS_BETTER, UNJUDGED, undecided_notes
from lmms_rpts.analysis.sweeping import of_task
from lmms_rpts.escaping import did_you_mean, listed, shorten
from lmms_rpts.filters.record import Scoring
from lmms_rpts.notebook import html_of
from lmms_rpts.runs.rounds import (
    Figure,
    differing_models,
    differing_settings,
    documents_of,
    mean_tokens,
    rounds_of,
    same_rounds,
)
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.intervals import numbered
from lmms_rpts.tasks.groups import figure_columns, figure_over, numeric_frame
from lmms_rpts.tasks.rpts_eval.results import COUNTS, LOWER_IS_BETTER, METRICS, SHARES
from lmms_rpts.tasks.rpts_eval.runs import Run

if TYPE_CHECKING:
    import pandas as pd

# ``comparable`` follows from the judge.
_SETTINGS = tuple(name for name in Scoring.model_fields if name != "comparable")


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """One model in one task, or over all tasks.

    Attributes:
        rounds: number of its runs.
        documents: number of documents that any of its rounds covers.
        metrics: values by the names of ``METRICS``.
        tokens: generated tokens per response, over the responses with token counts; no
            interval.
    """

    model: str
    rounds: int
    documents: int
    metrics: Mapping[str, Figure]
    tokens: Figure


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """The models in one task; ``task`` is None for all tasks together."""

    task: str | None
    models: tuple[ModelSummary, ...]

    def equally_covered(self, name: str) -> bool:
        """Whether the judges scored the same share of all models' responses for a metric."""
        coverage = "guarded_coverage" if name in GROUPS["guarded"] else "judge_coverage"
        shares = {each.metrics[coverage].value for each in self.models}
        return len({None if share is None else round(share, 3) for share in shares}) < 2

    def best(self, name: str) -> frozenset[str]:
        """The models with the best value of a metric, to the three digits that tables show.

        Empty if all are equal, if a higher value is not better, or if different shares of
        the
        responses were judged.
        """
        if name in NEITHER_IS_BETTER or (name not in UNJUDGED and not self.equally_covered(name)):
            return frozenset()
        values = {
            each.model: round(value, 3)
            for each in self.models
            if (value := each.metrics[name].value) is not None
        }
        if len(set(values.values())) < 2:
            return frozenset()
        best = min(values.values()) if name in LOWER_IS_BETTER else max(values.values())
        return frozenset(model for model, value in values.items() if value == best)


@dataclass(frozen=True, slots=True)
class Summary:
    """Models side by side.

    Attributes:
        tables: one per task, and a last one over all documents if there are several tasks.
        warnings: why some numbers cannot be compared or are incomplete.
    """

    tables: tuple[TaskSummary, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        models = shorten(", ".join(each.model for each in self.overall.models), 120)
        tasks = shorten(", ".join(each.task for each in self.tables if each.task), 60)
        return f"<Summary of {tasks}: {models}>"

    def _repr_html_(self) -> str:
        return html_of("summary_html", self)

    @property
    def overall(self) -> TaskSummary:
        """The table over all tasks."""
        return self.tables[-1]

    def frame(self) -> pd.DataFrame:
        """One row per task and model: ``task`` (empty: all), ``model``, ``rounds``, ``documents``,
        ``tokens``, ``tokens_sd``, and for each metric M ``M``, ``M_sd``, ``M_low``,
        ``M_high``,
        ``M_n`` (see ``Figure``).
        """
        rows = [_row(table.task, model) for table in self.tables for model in table.models]
        return numeric_frame(rows, ("task", "model"))


def summarize(runs: Sequence[Run], task: str | None = None) -> Summary:
    """Compare runs in a table; several runs of one model are its rounds.

    The numbers of a round are those in lmms-eval's table: means over a document's responses
    first,
    then over the documents that have a value. Over several tasks the mean is over all their
    documents.

    Raises:
        RunError: if there is no run, or none that has the task.
    """
    kept = [part for run in runs if (part := of_task(run, task)) is not None]
    if not kept:
        known = sorted({name for run in runs for name in run.tasks})
        hint = did_you_mean(str(task), known)
        raise RunError(
            f"No run has the task {task}.{hint} Tasks of the runs: {', '.join(known) or 'none'}"
        )
    models = rounds_of(kept)
    tasks: list[str | None] = list(dict.fromkeys(name for run in kept for name in run.tasks))
    tables = [_table(models, name) for name in (sorted(filter(None, tasks)))]
    if len(tables) > 1:
        tables.append(_table(models, None))
    left_out = [run.label for run in runs if of_task(run, task) is None]
    return Summary(
        tuple(tables),
        (
            *([f"{listed(left_out)}: no responses to the task {task}"] if left_out else []),
            *differing_settings(kept, _SETTINGS),
            *same_rounds(models, lambda response: response.rpts),
            *differing_models(models, "documents"),
            *_uncovered(kept),
            *(note for run in kept for note in undecided_notes(run.label, run.responses)),
        ),
    )


def _table(models: Mapping[str, Sequence[Run]], task: str | None) -> TaskSummary:
    found = []
    for model, runs in models.items():
        rounds = [part for run in runs if (part := of_task(run, task)) is not None]
        if rounds:
            found.append(_model(model, rounds))
    return TaskSummary(task, tuple(found))


def _model(model: str, rounds: Sequence[Run]) -> ModelSummary:
    return ModelSummary(
        model=model,
        rounds=len(rounds),
        documents=len(documents_of(rounds)),
        metrics={name: _figure(rounds, name) for name in METRICS},
        tokens=mean_tokens([[each.tokens for each in run.responses] for run in rounds]),
    )


def _figure(rounds: Sequence[Run], name: str) -> Figure:
    instances = {each.instance.key: each.instance for each in rounds[0].responses}
    clusters = numbered([each.cluster for each in instances.values()])
    responses = [run.responses for run in rounds]
    return figure_over(
        responses,
        lambda each: each.metrics[name],
        clusters,
        share=name in SHARES,
        bounded=name not in COUNTS,
    )


def _uncovered(runs: Sequence[Run]) -> list[str]:
    told = []
    for run in runs:
        reasons = Counter(each.reason for each in run.responses if each.rpts is None)
        unscored = reasons.total()
        if unscored:
            share = 1 - unscored / len(run.responses)
            told.append(
                f"{run.label}: {unscored} of {len(run.responses)} responses were not judged "
                f"(judge_coverage {share:.3f}) and are left out of the means (most often: "
                f"{reasons.most_common(1)[0][0]})"
            )
        failed = sum(
            each.rpts is not None and each.root is not None and each.root.score is None
            for each in run.responses
        )
        if failed:
            told.append(
                f"{run.label}: {failed} of {len(run.responses)} responses have no guarded score, "
                "because the judge failed on the question about the root, and are left out of its "
                "means (guarded_coverage)"
            )
    return told


def _row(task: str | None, model: ModelSummary) -> dict[str, Any]:
    return {
        "task": task or "",
        "model": model.model,
        "rounds": model.rounds,
        "documents": model.documents,
        "tokens": model.tokens.value,
        "tokens_sd": model.tokens.sd,
        **figure_columns(model.metrics),
    }
