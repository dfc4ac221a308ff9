"""Summary of runs of ReForm-Eval: sets, dimensions, averages, ranks, and effects of wordings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lmms_rpts.runs.rounds import NONE, Figure, figure_text, over_rounds
from lmms_rpts.stats.instability import (
    BY_SAMPLE,
    BY_WORDING,
    Answer,
    Turn,
    position_bias,
    round_statistics,
    wording_statistics,
)
from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.tasks.grade_types import Column, Counts, Figures, Grading, Listing, Rounds
from lmms_rpts.tasks.graded import GradeSummary, summarize_grades
from lmms_rpts.tasks.groups import by_field
from lmms_rpts.tasks.reform_eval.captions import raw_scores
from lmms_rpts.tasks.reform_eval.dimensions import dimension_numbers, dimension_sheets
from lmms_rpts.tasks.reform_eval.display import DISPLAY
from lmms_rpts.tasks.reform_eval.record import ReformRecord, ReformRun
from lmms_rpts.tasks.reform_eval.results import CHOICE, answers_of, instability_over
from lmms_rpts.tasks.reform_eval.sets import TASKS, data_sets
from lmms_rpts.tasks.results import Metrics
from lmms_rpts.tasks.sheets import Sheet, end_of, metric_column, share_text, subject_names

RESAMPLES = 2_000
"""Number of bootstrap resamples over samples, for each set and model."""

_CAPTIONS = ("cider", "bleu_4", "rouge_l")
_WORDING = tuple(
    name for name in (*BY_SAMPLE, *BY_WORDING) if name not in ("accuracy", "instability")
)
_SHOWN = {
    "instability_norm": "norm.",
    "agreement": "agreement",
    "consistent_rate": "same",
    "accuracy_all": "all right",
    "majority_accuracy": "majority",
    "accuracy_worst_prompt": "worst",
    "accuracy_best_prompt": "best",
}


def _accuracy(record: ReformRecord) -> float | None:
    return None if record.instance.kind == "caption" else record.score


METRICS: Metrics = {"score": lambda record: record.score, **CHOICE, "accuracy": _accuracy}
"""Functions from a record to its value in each metric; None if it has none."""


def summarize_reform(runs: Sequence[ReformRun], by: Sequence[str] = ()) -> GradeSummary:
    """Compare runs of ReForm-Eval by task: see ``summarize_grades``.

    Args:
        by: names of ``GRADING.breakdowns``; the breakdown by task is always included.

    Raises:
        RunError: without runs, or for an unknown breakdown.
    """
    return summarize_grades(GRADING, runs, by)


def _dimension(record: ReformRecord) -> Iterable[str | None]:
    found = data_sets().get(record.instance.set)
    return (found.dimension if found else None,)


# --- effects of wordings, positions and rounds ---------------------------------------------------


def _more(rounds: Rounds, by: str, value: str | None) -> tuple[Mapping[str, Figure], Counts]:
    """Metrics defined only for a set of samples; a single run has intervals over its samples."""
    each = [_of_round(records, RESAMPLES if len(rounds) == 1 else 1) for records in rounds]
    if len(each) == 1:
        figures = {name: Figure(e.value, None, e.low, e.high, e.n) for name, e in each[0].items()}
    else:
        figures = {name: over_rounds([found[name].value for found in each]) for name in each[0]}
    duplicates = len({record.instance.duplicate for records in rounds for record in records})
    return figures, {"duplicates": duplicates}


def _of_round(records: Sequence[ReformRecord], resamples: int) -> dict[str, Estimate]:
    scored = [each for each in records if each.score is not None]
    answers = [_answer(each) for each in scored if each.instance.kind != "caption"]
    asked_again = len({each.wording for each in answers}) > 1
    found = wording_statistics(answers if asked_again else (), resamples)
    figures = {name: found[name] for name in _WORDING}
    figures["instability_strict"] = found["instability"]
    chosen = [answers_of(str(each.instance.sample), [each]) for each in scored]
    figures["instability"] = _just(instability_over(chosen) if asked_again else None)
    bias = position_bias(answers)
    figures["position_distance"] = _just(bias.distance)
    figures["position_p"] = _just(bias.p)
    return figures | _rounds_of_dialogues(scored, resamples) | _captions(scored)


def _just(value: float | None) -> Estimate:
    known = value is not None and not math.isnan(value)
    return Estimate(value if known else None, None, None, int(known))


def _answer(record: ReformRecord) -> Answer:
    instance, grade = record.instance, record.strict
    if instance.kind != "choice":
        said = " ".join(record.prediction.casefold().split())
        return Answer(instance.sample, instance.duplicate, said or None, bool(grade.correct))
    shown = bool(instance.marks)
    return Answer(
        sample=instance.sample,
        wording=instance.duplicate,
        # Not the index: duplicates may have different wrong options.
        chosen=instance.option(grade.chosen),
        correct=bool(grade.correct),
        position=grade.chosen if shown else None,
        right_position=instance.right if shown else None,
        options=len(instance.options),
    )


def _rounds_of_dialogues(records: Sequence[ReformRecord], resamples: int) -> dict[str, Estimate]:
    turns = [
        Turn(each.instance.id.rpartition("_")[0], each.instance.round, each.score or 0.0)
        for each in records
        if each.instance.round is not None
    ]
    found = round_statistics(turns, resamples)
    return {"round_correlation": found.correlation, "round_slope": found.slope}


def _captions(records: Sequence[ReformRecord]) -> dict[str, Estimate]:
    rows = [
        {"prediction": each.prediction, "references": each.instance.answers}
        for each in records
        if each.instance.kind == "caption"
    ]
    scores = raw_scores(rows) if rows else {}
    return {name: _just(scores.get(name)) for name in _CAPTIONS}


# --- tables and lists ----------------------------------------------------------------------------


def _plain(metric: str, head: str) -> Column:
    return Column(head, share_text(metric), lambda each: each.metrics[metric].value is not None)


def _sheets(models: Sequence[Figures]) -> Iterator[Sheet]:
    yield from _wording_sheet(models)
    yield from _round_sheet(models)
    yield from dimension_sheets(models)


def _wording_sheet(models: Sequence[Figures]) -> Iterator[Sheet]:
    rows = [
        [
            *subject_names(each),
            str(each.counts["duplicates"]),
            *(share_text(name)(each) for name in (*_SHOWN, "position_p")),
        ]
        for each in models
        if each.metrics["agreement"].value is not None
    ]
    if rows:
        heads = ["task", "model", "N", *_SHOWN.values(), "place p"]
        yield Sheet("The N duplicates of a sample, by strict rules", heads, 2, [rows])


def _round_sheet(models: Sequence[Figures]) -> Iterator[Sheet]:
    rows = [
        [*subject_names(each), *(figure_text(each.metrics[f"round_{name}"]) for name in _TRENDS)]
        for each in models
        if each.metrics["round_slope"].value is not None
    ]
    if rows:
        yield Sheet("Accuracy over the rounds of dialogues", ["task", "model", *_TRENDS], 2, [rows])


_TRENDS = ("slope", "correlation")


def _differing(run: str, record: ReformRecord) -> dict[str, Any]:
    instance = record.instance
    return {
        "run": run,
        "task": instance.task,
        "id": instance.id,
        "duplicate": instance.duplicate,
        "reference": "; ".join(instance.gold),
        "answer": record.prediction,
        "published": record.published.correct,
        "strict": record.strict.correct,
        "rule": record.strict.rule,
    }


def _cells(entry: Mapping[str, Any]) -> dict[str, str]:
    marks = {True: "1", False: "0", None: NONE}
    return {
        "run": entry["run"],
        "task": entry["task"],
        "sample": entry["id"],
        "reference": entry["reference"],
        "answer": end_of(entry["answer"]),
        "why": entry["rule"],
        "published": marks[entry["published"]],
        "strict": marks[entry["strict"]],
    }


GRADING = Grading(
    title="ReForm-Eval",
    metrics=METRICS,
    breakdowns={
        "task": by_field("instance.task"),
        "dimension": _dimension,
        "kind": by_field("instance.kind"),
        "method": by_field("instance.method"),
        "round": by_field("instance.round"),
        "duplicate": by_field("instance.duplicate"),
    },
    first="task",
    by_task=True,
    same_questions=False,
    questions="samples",
    places=tuple(name for name, task in TASKS.items() if task.history == "gold"),
    settings=(
        *("instructions", "instructions_sha256", "times_asked", "wording", "order", "marks"),
        *("in_context", "length", "reduction", "seed"),
    ),
    numbers=dimension_numbers,
    more=_more,
    columns=(
        metric_column("score"),
        metric_column("accuracy_strict", "strict"),
        _plain("format_hit_rate", "hit rate"),
        _plain("instability", "instability"),
        _plain("cider", "CIDEr"),
        _plain("bleu_4", "BLEU-4"),
    ),
    explained="n: samples. score: accuracy by the published rules; captions: ROUGE-L. strict: by "
    "strict rules. hit rate: share of answers with a mark in round brackets. instability: mean "
    "entropy (nats) of the answers to one sample, as published. norm.: divided by its maximum. "
    "agreement: mean share of the most frequent answer. same, all right: share of samples whose "
    "duplicates all choose the same, or the right option. majority: accuracy of the most frequent "
    "answer. worst, best: accuracy of the worst and the best duplicate number. "
    "place p: p-value of a test for position bias. Dimensions: mean over their sets; captions: "
    "CIDEr x 100; (k of n): over k of the n sets; online: dialogues with the model's own answers. "
    "average: mean over dimensions. rank: mean over the dimensions that all models have. "
    "[ ]: 95% interval over samples, of one run. ±: sample standard deviation over runs.",
    sheets=_sheets,
    lists={
        "disagreements": Listing(
            what="answers that the published and the strict rules grade differently",
            wanted=lambda record: record.published.correct != record.strict.correct,
            entry=_differing,
            cells=_cells,
            texts=6,
        )
    },
    display=DISPLAY,
)
