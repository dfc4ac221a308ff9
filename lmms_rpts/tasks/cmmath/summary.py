"""Summary of runs of CMMaTH: models and prompts side by side, with breakdowns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lmms_rpts.runs.rounds import NONE, Figure, figure_text
from lmms_rpts.sheet import Sheet
from lmms_rpts.tasks.aggregation import Metrics
from lmms_rpts.tasks.cmmath.knowledge import figures_of_points, tree_of, tree_sheets
from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.cmmath.record import METRICS as _OF_DOCUMENTS
from lmms_rpts.tasks.cmmath.record import MISTAKES, CmmathRecord
from lmms_rpts.tasks.grade_types import (
    Column,
    Counts,
    Display,
    Figures,
    Grading,
    Listed,
    Listing,
    Rounds,
    ShownAnswer,
    ShownGrade,
    ShownQuestion,
    judged_grade,
)
from lmms_rpts.tasks.graded import by_field, summarize_grades
from lmms_rpts.tasks.sheets import end_of, metric_column, share_text, subject_names

METRICS: Metrics = {
    **_OF_DOCUMENTS,
    "accuracy_if_wrong": lambda record: 0.0 if record.score is None else record.score,
    "accuracy_if_right": lambda record: 1.0 if record.score is None else record.score,
}
"""The value of a record in each metric; None if it has none."""


def _areas(record: CmmathRecord) -> Iterable[str | None]:
    """A problem may belong to several areas of knowledge."""
    return tuple(dict.fromkeys(point[0] for point in record.instance.points)) or (None,)


def _more(rounds: Rounds, by: str, value: str | None) -> tuple[Mapping[str, Figure], Counts]:
    """SSR with the number of points (of an area in the breakdown by area), and the mistakes."""
    shares, points = figures_of_points(rounds, value if by == "area" else None)
    kinds = Counter(each.mistake.kind for records in rounds for each in records if each.mistake)
    return shares, {"mistakes": {kind: kinds[kind] for kind in MISTAKES}, "points": points}


def _range(figures: Figures) -> str:
    ends = (figures.metrics[f"accuracy_if_{each}"].value for each in ("wrong", "right"))
    return "–".join(f"{each:.3f}" for each in ends if each is not None)


def _sentence(figures: Figures) -> str:
    counts, judged = figures.counts, ""
    compared, agreed = counts["compared"], counts["agreed"]
    if isinstance(compared, int) and isinstance(agreed, int) and compared:
        judged = (
            f"; rules and judge agree on {agreed} of the {compared} that both graded "
            f"({agreed / compared:.3f})"
        )
    return (
        f"{figures.model}, {figures.task}: {figures.rounds} round{'s' * (figures.rounds > 1)}. Of "
        f"{figures.responses} responses, the rules left {counts['undecided']} undecided{judged}."
    )


def _sheets(models: Sequence[Figures]) -> Iterator[Sheet]:
    shares = [name for name in models[0].metrics if name.startswith("ssr_")]
    rows = [
        [*subject_names(each), str(each.counts["points"])]
        + [figure_text(each.metrics[name]) for name in shares]
        for each in models
        if each.counts["points"]
    ]
    if rows:
        heads = ["task", "model", "points", *(name.replace("ssr_", "> ") for name in shares)]
        yield Sheet("Knowledge points mastered (SSR)", heads, 2, [rows])
    rows = []
    for each in models:
        mistakes: Any = each.counts["mistakes"]
        every = sum(mistakes.values())
        if every:
            kinds = [f"{count / every:.3f} ({count})" for count in mistakes.values()]
            rows.append([*subject_names(each), str(every), *kinds])
    if rows:
        yield Sheet("Kinds of mistakes", ["task", "model", "n", *MISTAKES], 2, [rows])


_LISTED = (
    Listed("task", "instance.task", "task"),
    Listed("id", "instance.id", "problem"),
    Listed("repeat", "repeat"),
    Listed("answer_type", "answer_type", "type"),
    Listed("reference", "instance.reference", "reference"),
    Listed("answer", "answer", "answer", end_of),
    Listed("found", "grades.rule.answer"),
    Listed("rule", "grades.rule.rule", "why"),
    Listed(
        *("outcome", "outcome_by_rules", "rules"),
        lambda outcome: {"correct": "1", "incorrect": "0"}.get(outcome, NONE),
    ),
    Listed("judged", "judged", "judge"),
    Listed("score", "score"),
)


# --- in a report ---------------------------------------------------------------------------------


def _question(record: CmmathRecord) -> ShownQuestion:
    instance = record.instance
    details = {
        "school year": instance.grade_id,
        "knowledge points": instance.knowledge_point,
    }
    return ShownQuestion(
        text=readable(instance.question),
        gold=(readable(instance.reference),),
        language="zh",
        images=instance.images,
        details={name: str(value) for name, value in details.items() if value is not None},
    )


def _shown_answer(record: CmmathRecord) -> ShownAnswer:
    rule = record.grades.rule
    return ShownAnswer(final=rule.answer if rule else None, grades=tuple(_grades(record)))


def _grades(record: CmmathRecord) -> Iterator[ShownGrade]:
    rule, judge, mistake = record.grades.rule, record.grades.judge, record.mistake
    name = record.settings.named_judge or "judge"
    yield ShownGrade(
        grader="rules",
        value=record.ruled,
        word="undecided" if record.undecided else "",
        counts=record.grader == "rule",
        found=rule.answer if rule else None,
        reason=rule.rule if rule else "",
        error=None if rule else record.reason,
    )
    if judge is not None:
        yield judged_grade(name, judge, record.grader == "judge", partial(_asked, record))
    if mistake is not None:
        yield ShownGrade(
            grader=f"kind of mistake ({name})",
            value=None,
            word=mistake.kind or "",
            reply=mistake.reply,
            error=mistake.error,
        )


def _asked(record: CmmathRecord) -> str:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.judging.prompts import rebuilt_prompt

    return rebuilt_prompt(
        "compare",
        "en",
        record.settings.prompt_version,
        question=readable(record.instance.question),
        reference=readable(record.instance.reference),
        answer=record.answer,
    )


DISPLAY = Display(
    question=_question,
    answer=_shown_answer,
    by=("category", "grade_group", "answer_type", "form", "area"),
)
"""How a report shows them."""


GRADING = Grading(
    title="CMMaTH",
    metrics=METRICS,
    lower=("undecided_rate",),
    neither=("grader_coverage",),
    untested=("undecided_rate", "grader_coverage", "accuracy_if_wrong", "accuracy_if_right"),
    breakdowns={
        "task": by_field("instance.task"),
        "category": by_field("instance.category"),
        "grade_group": by_field("instance.grade_group"),
        "grade_id": by_field("instance.grade_id"),
        "answer_type": by_field("answer_type"),
        "form": by_field("instance.form"),
        "area": _areas,
    },
    first="task",
    by_task=True,
    questions="problems",
    places=("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_ocr", "cmmath_steps"),
    settings=("grader", "model", "prompt_version", "rules_version"),
    counts={
        "undecided": lambda record: bool(record.undecided),
        "compared": lambda record: None not in (record.ruled, record.judged),
        "agreed": lambda record: None not in (record.ruled, record.judged) and not record.disputed,
    },
    more=_more,
    asked={"what kind of mistake it is": lambda each: each.mistake and each.mistake.error},
    columns=(
        metric_column("accuracy"),
        Column("range", _range, lambda each: bool(each.unscored)),
        Column("undecided", share_text("undecided_rate")),
        Column("coverage", share_text("grader_coverage")),
    ),
    explained="n: problems. accuracy: of the responses with a score. range: accuracy if all "
    "responses without a score were wrong, and if they were right. undecided: share that the rules "
    "left undecided. coverage: share with a score. SSR: share of knowledge points with an accuracy "
    "above the threshold. tokens: per response. ( ): number of problems with a score, or of "
    "mistakes. [ ]: 95% interval over problems, of one round (exact; Student's t where several "
    "responses to a problem differ). ±: sample standard deviation over rounds.",
    sentence=_sentence,
    sheets=_sheets,
    lists={
        option: Listing(what=what, wanted=wanted, values=_LISTED, texts=7)
        for option, what, wanted in (
            (
                "undecided",
                "answers that the rules left undecided",
                lambda record: bool(record.undecided),
            ),
            (
                "disagreements",
                "answers on which rules and judge disagree",
                lambda record: record.disputed,
            ),
        )
    },
    tree=tree_of,
    tree_sheets=tree_sheets,
    display=DISPLAY,
)

summarize_cmmath = partial(summarize_grades, GRADING)
"""Compares runs, with the tables of further breakdowns: see ``summarize_grades``."""
