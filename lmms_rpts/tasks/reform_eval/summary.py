"""Summary of runs of ReForm-Eval: sets, dimensions, averages, ranks, duplicates and rounds.

Source of the averages: README of github.com/FudanDISC/ReForm-Eval (df1cfa7), arXiv 2310.02569: a
dimension's score is the mean over its sets, in percent, with CIDEr x 100 for captions; the average
is the mean over dimensions; the average rank is the mean over dimensions of a model's rank in each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from types import MappingProxyType
from typing import Any

from lmms_rpts.base.escaping import shorten
from lmms_rpts.runs.rounds import NONE, Figure, over_rounds
from lmms_rpts.tasks.grade_types import (
    Counts,
    Display,
    Figures,
    Grading,
    Rounds,
    Sheet,
    ShownAnswer,
    ShownGrade,
    ShownQuestion,
)
from lmms_rpts.tasks.graded import by_field
from lmms_rpts.tasks.reform_eval.benchmark import (
    DIMENSIONS,
    METHODS,
    TASKS,
    Method,
    data_sets,
    groups,
)
from lmms_rpts.tasks.reform_eval.duplicates import agreement
from lmms_rpts.tasks.reform_eval.published import multi_round, raw_scores
from lmms_rpts.tasks.reform_eval.record import ReformGrade, ReformInstance, ReformRecord
from lmms_rpts.tasks.reform_eval.results import (
    DUPLICATES,
    METRICS,
    ROUNDS,
    answers_of,
    instability_over,
)
from lmms_rpts.tasks.sheets import metric_column, subject_names


def _dimension(record: ReformRecord) -> Iterable[str | None]:
    found = data_sets().get(record.instance.set)
    return (found.dimension if found else None,)


# --- duplicates and rounds -----------------------------------------------------------------------


def _more(rounds: Rounds, by: str, value: str | None) -> tuple[Mapping[str, Figure], Counts]:
    """Metrics defined only for a set of samples."""
    each = [_of_round(records) for records in rounds]
    figures = {name: over_rounds([found[name] for found in each]) for name in each[0]}
    duplicates = len({record.instance.duplicate for records in rounds for record in records})
    return figures, {"duplicates": duplicates}


def _of_round(records: Sequence[ReformRecord]) -> dict[str, float | None]:
    scored = [each for each in records if each.score is not None]
    answers = [(each.instance.sample, *_said(each)) for each in scored]
    samples = [answers_of(str(each.instance.sample), [each]) for each in scored]
    by_round: dict[int, list[float]] = {}
    for each in scored:
        if each.instance.round is not None:
            by_round.setdefault(each.instance.round, []).append(each.score or 0.0)
    correlation, slope = multi_round(by_round)
    captions = [
        (each.prediction, each.instance.answers)
        for each in scored
        if each.instance.kind == "caption"
    ]
    scores = raw_scores(captions) if captions else {}
    asked_again = len({each.instance.duplicate for each in scored}) > 1
    found = {
        **agreement(answers if asked_again and not captions else ()),
        "instability": instability_over(samples) if asked_again else None,
        "round_correlation": correlation,
        "round_slope": slope,
        **{name: scores.get(name) for name in ("cider", "bleu_4", "rouge_l")},
    }
    return {
        name: None if value is None or math.isnan(value) else value for name, value in found.items()
    }


def _said(record: ReformRecord) -> tuple[str | None, bool]:
    """The answer, and whether it is right: choices by strict rules, texts by the published ones."""
    if record.instance.kind == "choice":
        # Not the index: duplicates may have different wrong options.
        return record.instance.option(record.strict.chosen), bool(record.strict.correct)
    return " ".join(record.prediction.casefold().split()) or None, bool(record.published.correct)


# --- dimensions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """A model's mean over the sets of a dimension, in percent, with its 95% interval.

    The interval combines the intervals of the sets, assumed independent, separately below and above
    (a single set keeps its interval); None if a set has none.

    Attributes:
        sets: number of sets; ``of``: of the dimension.
        online: number of sets whose score is that of the dialogue with the model's own answers.
    """

    value: float
    low: float | None
    high: float | None
    sets: int
    of: int
    online: int = 0

    @property
    def text(self) -> str:
        """The score with its interval and, in brackets, what it does not cover."""
        partial = f"{self.sets} of {self.of}" if self.sets < self.of else ""
        online = "online" if self.online == self.sets else f"{self.online} online"
        note = ", ".join(filter(None, (partial, online * bool(self.online))))
        interval = "" if self.low is None else f" [{self.low:.0f}, {self.high:.0f}]"
        return f"{self.value:.1f}{interval}{f' ({note})' if note else ''}"


Scores = Mapping[str, Mapping[str, DimensionScore]]
"""The scores of each model by the name of the dimension in ``DIMENSIONS``."""


def dimension_scores(models: Sequence[Figures], method: Method) -> Scores:
    """The scores by dimension.

    Where a dialogue was also run online, its online score counts: the publishers run dialogues
    online.
    """
    found: dict[str, dict[str, dict[str, tuple[bool, Figure]]]] = {}
    names = {dimension: name for name, dimension in DIMENSIONS.items()}
    for each in models:
        task = TASKS.get(each.task)
        if task is None or task.method != method:
            continue
        chosen, online = task.set, task.history == "online"
        figure = each.metrics["cider" if chosen.kind == "caption" else "accuracy"]
        if figure.value is not None:
            of_model = found.setdefault(each.model, {})
            sets = of_model.setdefault(names[chosen.dimension], {})
            if online or chosen.name not in sets:
                sets[chosen.name] = online, figure
    sizes = _sizes(method)
    return {
        model: {name: _mean([*sets.values()], sizes[name]) for name, sets in by_name.items()}
        for model, by_name in found.items()
    }


def _sizes(method: Method) -> dict[str, int]:
    """The number of sets of each dimension that has any with this method."""
    end = "_likelihood" if method == "likelihood" else ""
    found = {name: len(groups().get(f"reform_{name}{end}", ())) for name in DIMENSIONS}
    return {name: size for name, size in found.items() if size}


def _mean(sets: Sequence[tuple[bool, Figure]], of: int) -> DimensionScore:
    online = sum(online for online, _ in sets)
    value = 100 * fmean(each.value or 0.0 for _, each in sets)
    errors = [
        (each.value - each.low, each.high - each.value)
        for _, each in sets
        if each.value is not None and each.low is not None and each.high is not None
    ]
    low = high = None
    if len(errors) == len(sets):
        below, above = (100 * math.hypot(*each) / len(sets) for each in zip(*errors, strict=True))
        low, high = max(0.0, value - below), min(100.0, value + above)
    return DimensionScore(value, low, high, len(sets), of, online)


def average_ranks(scores: Scores) -> dict[str, float]:
    """The mean over dimensions of each model's rank, 1 for the best; ties share the mean rank.

    Only dimensions that all models have count; empty without any, or with a single model.
    """
    common = _common(scores)
    if len(scores) < 2 or not common:
        return {}

    def rank(name: str, own: float) -> float:
        values = [each[name].value for each in scores.values()]
        return sum(value > own for value in values) + (values.count(own) + 1) / 2

    return {
        model: fmean(rank(name, of[name].value) for name in common) for model, of in scores.items()
    }


def _common(scores: Scores) -> list[str]:
    """The dimensions that all models have."""
    return [name for name in DIMENSIONS if scores and all(name in each for each in scores.values())]


def dimension_numbers(models: Sequence[Figures]) -> dict[str, Any]:
    """Dimension scores and average ranks by method, for JSON."""
    found = {method: dimension_scores(models, method) for method in METHODS}
    numbers = {
        method: {
            "dimensions": {
                model: {name: asdict(score) for name, score in of.items()}
                for model, of in scores.items()
            },
            "average_ranks": average_ranks(scores),
        }
        for method, scores in found.items()
        if scores
    }
    return {"dimensions": numbers} if numbers else {}


def dimension_sheets(models: Sequence[Figures]) -> Iterator[Sheet]:
    """A table for each method that has results."""
    for method in METHODS:
        scores, sizes = dimension_scores(models, method), _sizes(method)
        if not scores:
            continue
        ranks, common = average_ranks(scores), len(_common(scores))
        shown = [name for name in DIMENSIONS if any(name in each for each in scores.values())]
        heads = [name.replace("crossmodal", "cross-modal") for name in shown]
        rank = "rank" if common == len(sizes) else f"rank ({common} of {len(sizes)})"
        rows = [
            [
                shorten(model, 40),
                *(of[name].text if name in of else NONE for name in shown),
                _average(of, shown, sizes),
                *([f"{ranks[model]:.2f}"] if ranks else []),
            ]
            for model, of in scores.items()
        ]
        title = f"ReForm-Eval by dimension, {method} (percent)"
        yield Sheet(title, ["model", *heads, "average", *[rank] * bool(ranks)], 1, [rows])


def _average(
    scores: Mapping[str, DimensionScore], shown: Sequence[str], sizes: Mapping[str, int]
) -> str:
    """The mean over dimensions; none if the model lacks a dimension that others have."""
    if len(scores) < len(shown):
        return NONE
    value = f"{fmean(each.value for each in scores.values()):.1f}"
    sets, of = sum(each.sets for each in scores.values()), sum(sizes.values())
    if sets == of:
        return value
    return f"{value} ({len(scores)} of {len(sizes)} dimensions, {sets} of {of} sets)"


def _averages(models: Sequence[Figures]) -> Mapping[tuple[str, str], Mapping[str, Figure]]:
    """The averages over dimensions by method and model, if all sets of all dimensions count."""
    found: dict[tuple[str, str], Mapping[str, Figure]] = {}
    for method in METHODS:
        sizes = _sizes(method)
        for model, of in dimension_scores(models, method).items():
            whole = all(name in of and of[name].sets == size for name, size in sizes.items())
            value = fmean(each.value for each in of.values()) if whole else None
            found[method, model] = {"average": Figure(value)}
    return found


# --- tables --------------------------------------------------------------------------------------


def _sheets(models: Sequence[Figures]) -> Iterator[Sheet]:
    worded = [each for each in models if each.metrics["consistent_rate"].value is not None]
    if worded:
        numbers = [str(each.counts["duplicates"]) for each in worded]
        title = "The N duplicates of a sample"
        yield _sheet(title, worded, DUPLICATES, {"N": numbers})
    talked = [each for each in models if each.metrics["round_slope"].value is not None]
    if talked:
        yield _sheet("Accuracy over the rounds of dialogues", talked, ROUNDS)
    yield from dimension_sheets(models)


def _sheet(
    title: str,
    models: Sequence[Figures],
    metrics: Iterable[str],
    first: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Sheet:
    """A table of metrics; ``first``: the texts of its first columns."""
    columns = [metric_column(GRADING, each) for each in metrics]
    rows = [
        [*subject_names(each), *more, *(column.text(each) for column in columns)]
        for each, *more in zip(models, *first.values(), strict=True)
    ]
    heads = ["task", "model", *first, *(column.head for column in columns)]
    return Sheet(title, heads, 2, [rows])


# --- samples and answers for reports -------------------------------------------------------------


def _question(record: ReformRecord) -> ShownQuestion:
    instance = record.instance
    known = data_sets().get(instance.set)
    details = {
        "set": known.title if known else instance.set,
        "method": instance.method,
        "round": "" if instance.round is None else str(instance.round),
    }
    return ShownQuestion(
        text="\n".join(filter(None, (instance.instruct, instance.question))),
        options=instance.options,
        marks=instance.marks,
        right=instance.right,
        gold=instance.answers,
        details={name: text for name, text in details.items() if text},
    )


def _answer(record: ReformRecord) -> ShownAnswer:
    instance, correct = record.instance, record.strict.correct
    choice = instance.kind == "choice"
    published = ShownGrade(
        grader="published rules",
        value=record.score,
        counts=True,
        found=_option(record.published, instance) if choice else None,
        reason=record.published.rule,
        error=record.reason,
    )
    strict = ShownGrade(
        grader="strict rules",
        value=None if correct is None else float(correct),
        word="undecided" if correct is None else "",
        found=_option(record.strict, instance) if choice else None,
        reason=record.strict.rule,
    )
    by_option = {"negative log-likelihood": record.losses, "per token": record.means}
    return ShownAnswer(
        final=_option(record.strict, instance) if choice else record.prediction,
        grades=(published,) if instance.kind == "caption" else (published, strict),
        variant=f"wording {instance.duplicate + 1}",
        chosen=record.published.chosen,
        by_option={name: values for name, values in by_option.items() if values},
    )


def _option(grade: ReformGrade, instance: ReformInstance) -> str:
    """The chosen option with its mark."""
    if grade.chosen is None:
        return ""
    text = instance.option(grade.chosen)
    if text is None:
        return f"option {grade.chosen + 1}, which was not offered"
    marked = grade.chosen < len(instance.marks)
    return f"({instance.marks[grade.chosen]}) {text}" if marked else text


DISPLAY = Display(
    question=_question,
    answer=_answer,
    scale=lambda record: "ROUGE-L" if record.instance.kind == "caption" else "",
    by=(),  # the sheets have a table by dimension
    filters=("dimension",),
)


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
    order=tuple(name for name, task in TASKS.items() if task.history == "gold"),
    settings=(
        *("instructions", "instructions_sha256", "times_asked", "wording", "order", "marks"),
        *("in_context", "length", "reduction", "seed"),
    ),
    numbers=dimension_numbers,
    beside=_averages,
    more=_more,
    columns=(
        "score",
        "accuracy_strict",
        "strict_coverage",
        "format_hit_rate",
        "instability",
        "cider",
        "bleu_4",
    ),
    explained={
        "Dimensions": "mean over their sets; captions: CIDEr x 100; (k of n): over k of the n "
        "sets; online: dialogues with the model's own answers",
        "average": "mean over dimensions",
        "rank": "mean over the dimensions that all models have",
        "[ ]": "95% interval over samples, of one run",
        "±": "sample standard deviation over runs",
    },
    sheets=_sheets,
    flags={
        "disagreements": lambda record: (
            record.strict.correct not in (None, record.published.correct)
        )
    },
    display=DISPLAY,
)
