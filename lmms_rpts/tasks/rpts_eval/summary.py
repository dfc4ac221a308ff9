"""Summary of runs that RPTS scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from lmms_rpts.runs.rounds import document_means, there
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.reading import CUT
from lmms_rpts.scoring.record import RptsRecord, Scoring
from lmms_rpts.scoring.score import undecided_note
from lmms_rpts.tasks.grade_types import Display, Figures, Grading, ShownAnswer, ShownQuestion
from lmms_rpts.tasks.graded import by_field
from lmms_rpts.tasks.rpts_eval.relations import relation_notes

_UNJUDGED = frozenset({"accuracy", "parse_rate"})
"""Metrics that need no judge."""


_ABILITIES = {
    "识别": "Recognition",
    "常识": "Commonsense",
    "空间感知": "Spatial awareness",
    "数学": "Math",
    "比较图像": "Compare images",
}
"""English names of the abilities in the Chinese texts of RPTS-Eval."""


def abilities_of(question: Question) -> tuple[str, ...]:
    """The abilities, in English if RPTS-Eval names them in both languages."""
    return tuple(dict.fromkeys(_ABILITIES.get(name, name) for name in question.ability))


def best(name: str, models: Sequence[Figures]) -> frozenset[str]:
    """The models with the best value of a metric, to the three digits that tables show.

    Empty if all are equal, if a higher value is not better, or if different shares of the responses
    were judged.
    """
    better = METRICS[name].higher_is_better
    if better is None or (name not in _UNJUDGED and not _equally_judged(models)):
        return frozenset()
    values = {
        each.model: round(value, 3)
        for each in models
        if (value := each.metrics[name].value) is not None
    }
    if len(set(values.values())) < 2:
        return frozenset()
    top = max(values.values()) if better else min(values.values())
    return frozenset(model for model, value in values.items() if value == top)


def _equally_judged(models: Sequence[Figures]) -> bool:
    shares = {each.metrics["judge_coverage"].value for each in models}
    return len({None if share is None else round(share, 3) for share in shares}) < 2


def undecided_notes(run: AnyRun) -> Iterator[str]:
    """The range of a run's accuracy, if its model stated answers that nobody could decide."""
    responses: Sequence[RptsRecord] = run.responses
    undecided = [each.undecided for each in responses]
    if not any(undecided):
        return

    def accuracy(otherwise: float) -> float:
        filled = (
            (each.instance.key, otherwise if each.undecided else each.metrics["accuracy"])
            for each in responses
        )
        return fmean(there(document_means(filled)))

    note = undecided_note(sum(undecided), len(responses), accuracy(0.0), accuracy(1.0))
    yield f"{run.label}: {note}"


def notes(run: AnyRun) -> Iterator[str]:
    """Warnings about a run: undecided answers, missing relations, and thinkings cut to passages."""
    yield from undecided_notes(run)
    yield from relation_notes(run)
    problems = [each.transform.problems for each in run.responses]
    cut = sum(any(said.startswith(CUT) for said in each) for each in problems)
    if cut:
        yield (
            f"{run.label}: the thinking of {cut} of {len(problems)} responses is too long: only "
            "passages of it are judged"
        )


GRADING = Grading(
    title="RPTS",
    metrics=METRICS,
    breakdowns={
        "task": by_field("instance.task"),
        "language": by_field("instance.language"),
        "relation": by_field("instance.relation"),
        "ability": lambda record: abilities_of(record.instance),
    },
    first="task",
    questions="documents",
    # ``comparable`` follows from the judge.
    settings=tuple(name for name in Scoring.model_fields if name != "comparable"),
    notes=notes,
    columns=("rpts", "accuracy", "right_for_wrong_reason", "judge_coverage"),
    best=best,
    display=Display(
        question=lambda record: ShownQuestion(
            text=record.instance.statement,
            gold=tuple(filter(None, (record.instance.gold,))),
            language=record.instance.language,
            images=record.instance.visual_clue,
        ),
        answer=lambda record: ShownAnswer(final=record.answer.value),
    ),
    explained={
        "tokens": "per response",
        "[ ]": "95% interval over documents, for a single round",
        "±": "sample standard deviation over rounds",
    },
)
