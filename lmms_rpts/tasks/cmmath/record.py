"""The record of an answer to a problem of CMMaTH, its metrics, and how it is summarized."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from shlex import quote
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from lmms_rpts.base.schema import Flag, Model, Several, Share, Text, Whole
from lmms_rpts.reasoning.thinking import ReasoningSource
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.runs.record import Asked, FromJudge, JudgeGrade, Record, field_of, is_none, unset
from lmms_rpts.runs.rounds import Figure, figure_text
from lmms_rpts.runs.run import RunOf
from lmms_rpts.tasks.aggregation import document_metrics, metric_list, read_records
from lmms_rpts.tasks.cmmath.benchmark import CmmathGrader
from lmms_rpts.tasks.cmmath.knowledge import (
    THRESHOLDS,
    Point,
    figures_of_points,
    knowledge_points,
    mastery,
    ssr,
)
from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.grade_types import (
    Column,
    Counts,
    Display,
    Figures,
    Grading,
    Rounds,
    Sheet,
    ShownAnswer,
    ShownGrade,
    ShownQuestion,
    asked_in,
    judged_grade,
)
from lmms_rpts.tasks.graded import by_field
from lmms_rpts.tasks.rebuilding import Rebuilt
from lmms_rpts.tasks.sheets import subject_names

Mistake = Literal["perception", "reasoning", "calculation", "reject"]
MISTAKES: tuple[Mistake, ...] = get_args(Mistake)
"""The kinds of mistakes that a judge distinguishes."""


class RuleGrade(Model):
    """The grade by rules."""

    outcome: Literal["correct", "incorrect", "undecided"] = Field(description="the grade")
    answer: Text = Field(description="the final answer that was found; may be empty")
    rule: Text = Field(description="the rule that decided, or why none could")


class CmmathGrades(Model):
    """The grades of the answer."""

    rule: RuleGrade | None = Field(
        description="grade by rules, for every CMMATH_GRADER; null only if there is no response"
    )
    judge: JudgeGrade | None = Field(description="grade by the judge; null if it was not asked")


class MistakeEntry(FromJudge):
    """The kind of mistake in a wrong answer."""

    kind: Mistake | None = Field(description="kind of mistake; null if the judge failed")


class CmmathInstance(Asked):
    """The problem without its images."""

    id: Text = Field(description="id of the problem, the same in all tasks")
    question: Text = Field(description="the problem in the publishers' notation")
    reference: Text = Field(description="the reference answer in the same notation")
    form: Text = Field(description="form of the problem: choice, blank, parts or open")
    category: Text | None = Field(description="kind of picture; null if the data do not give it")
    grade_id: Whole | None = Field(description="school year, as published; null as above")
    grade_group: Whole | None = Field(
        description="school: 1 primary, 2 middle, 3 high; null as above"
    )
    knowledge_point: Text | None = Field(
        description="knowledge points, as published; null as above"
    )
    images: Several[Text] = Field(description="the file names of the images")
    caption: Text | None = Field(
        default=None,
        description="the caption shown in place of the images, empty if there was none; omitted in "
        "other tasks",
        exclude_if=is_none,
    )

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The knowledge points that it needs."""
        return knowledge_points(self.knowledge_point)


class CmmathGrading(Model):
    """How the answer was graded."""

    grader: CmmathGrader = Field(description="CMMATH_GRADER")
    mistakes: Flag = Field(default=False, description="the setting `errors`")
    named_judge: Text | None = Field(alias="judge", description="the judge; null if none is set")
    prompts: Text = unset("", "digest of the file of prompts that the model was asked with")
    prompt_version: Text = Field(description="version of the judge's prompts")
    rules_version: Text = Field(description="version of the grading rules")

    @property
    def model(self) -> str | None:
        """The judge that graded; None if only rules graded, even if a judge classified mistakes."""
        return None if self.grader == "rule" else self.named_judge

    @property
    def judge(self) -> str:
        """Who graded: ``rule``, the judge, or ``rule`` and the judge."""
        if self.grader == "rule":
            return "rule"
        judge = self.model or "no judge"
        return judge if self.grader == "judge" else f"rule+{judge}"


class CmmathRecord(Record):
    """The record of an answer to a problem of CMMaTH."""

    SCHEMA: ClassVar[str] = "lmms_rpts.cmmath"
    BENCHMARK: ClassVar[str] = "CMMaTH"
    FILTER: ClassVar[str] = "cmmath_grade"

    score: Share | None = Field(
        description="the grade that counts, 1 or 0; null if unscored (an undecided answer is "
        "never 0)"
    )
    grader: Literal["rule", "judge"] | None = Field(
        description="what gave the grade; null if there is none"
    )
    grades: CmmathGrades = Field(description="all grades of the answer")
    answer: Text = Field(
        description="the text that was graded: the response without its thinking; may be empty"
    )
    source: ReasoningSource = Field(description="where the reasoning is in the response")
    mistake: MistakeEntry | None = Field(
        description="the kind of mistake; null if this was not asked (errors = false, or the "
        "score is not 0)"
    )
    instance: CmmathInstance = Field(description="the problem, without its images")
    settings: CmmathGrading = Field(description="how the answer was graded")

    @property
    def scoring(self) -> CmmathGrading:
        """Its settings without those of mistakes, and without a judge asked only about mistakes."""
        changes = {"mistakes": False, "named_judge": self.settings.model}
        return self.settings.model_copy(update=changes)

    @property
    def outcome_by_rules(self) -> str | None:
        """The grade by rules; None if there is no response."""
        return None if self.grades.rule is None else self.grades.rule.outcome

    @property
    def ruled(self) -> float | None:
        """The grade by rules, 1 or 0; None if the rules did not decide."""
        return {"correct": 1.0, "incorrect": 0.0}.get(self.outcome_by_rules or "")

    @property
    def judged(self) -> float | None:
        """The judge's grade, 1 or 0; None if it was not asked, or failed."""
        return None if self.grades.judge is None else self.grades.judge.score

    @property
    def undecided(self) -> bool | None:
        """Whether the rules left it undecided; None if there is no response."""
        found = self.outcome_by_rules
        return None if found is None else found == "undecided"

    @property
    def disputed(self) -> bool:
        """Whether the rules and the judge disagree."""
        return None not in (self.ruled, self.judged) and self.ruled != self.judged


CmmathRun = RunOf[CmmathRecord]
"""The answers of one model in one evaluation of CMMaTH."""


Mastery = dict[str, Any]
"""A document's knowledge points: ``points`` (lists of names, from the top) and ``accuracy``. It is
not named ``score``, because lmms-eval would compute a standard error of it."""


def _share_above(threshold: float) -> Callable[[Sequence[Mastery | None]], float]:
    def share(items: Sequence[Mastery | None]) -> float:
        """The share of knowledge points whose accuracy exceeds the threshold; NaN without any."""
        there = [item for item in items if item is not None]
        pairs = [(map(tuple, item["points"]), item["accuracy"]) for item in there]
        found = ssr(mastery(pairs), threshold)
        return math.nan if found is None else found

    return share


METRICS = by_name(
    Metric("accuracy", lambda record: record.score, words="of the responses with a score"),
    # By the rules, whatever a judge decided afterwards.
    Metric(
        "undecided_rate",
        lambda record: record.undecided,
        higher_is_better=False,
        head="undecided",
        words="share that the rules left undecided",
        interval=False,
        tested=False,
    ),
    Metric(
        "grader_coverage",
        lambda record: record.score is not None,
        higher_is_better=None,
        head="coverage",
        words="share with a score",
        interval=False,
        tested=False,
    ),
    Metric(
        "accuracy_if_wrong",
        lambda record: 0.0 if record.score is None else record.score,
        words="accuracy if all responses without a score were wrong",
        listed=False,
        tested=False,
    ),
    Metric(
        "accuracy_if_right",
        lambda record: 1.0 if record.score is None else record.score,
        words="accuracy if all responses without a score were right",
        listed=False,
        tested=False,
    ),
    *(
        Metric(
            f"ssr_{threshold}",
            aggregation=_share_above(threshold),
            words=f"share of knowledge points with an accuracy above {threshold}",
        )
        for threshold in THRESHOLDS
    ),
)
METRIC_LIST = metric_list(METRICS)
_SSR = tuple(name for name, each in METRICS.items() if each.value is None)


def process_results(
    doc: Mapping[str, Any], results: Sequence[str]
) -> dict[str, float | Mastery | None]:
    """The metrics of one document; the means over its responses.

    Those of knowledge points are aggregated from the points of all documents.
    """
    records = read_records(CmmathRecord, results)
    means = document_metrics(records, METRICS)
    found, accuracy = None, means["accuracy"]
    # Without a score or a point, a document says nothing about any point.
    if accuracy is not None and (points := records[0].instance.points):
        found = {"points": [list(point) for point in points], "accuracy": accuracy}
    return {**means, **dict.fromkeys(_SSR, found)}


# --- summary -------------------------------------------------------------------------------------


def _more(rounds: Rounds, by: str, value: str | None) -> tuple[Mapping[str, Figure], Counts]:
    """SSR with the number of points (of an area in the breakdown by area), and the mistakes."""
    shares, points = figures_of_points(rounds, value if by == "area" else None)
    kinds = Counter(each.mistake.kind for records in rounds for each in records if each.mistake)
    return shares, {"mistakes": {kind: kinds[kind] for kind in MISTAKES}, "points": points}


def judging(folder: str, tasks: str = "cmmath") -> str:
    """The command that has a judge decide what the rules left undecided in a saved run."""
    return (
        "CMMATH_GRADER=both LMMS_RPTS_JUDGE=openai:MODEL lmms-eval --model replay --model_args "
        f"samples={folder} --tasks {tasks} --log_samples --output_path judged"
    )


def _remedy(run: CmmathRun) -> str:
    alone = [each for each in run.responses if each.settings.grader == "rule"]
    undecided = sum(bool(each.undecided) for each in alone)
    folder = quote(str(run.files[0].parent)) if run.files else "RESULTS"
    command = judging(folder, ",".join(run.tasks))
    return f". A judge decides the {undecided} undecided: {command}" if undecided else ""


def _notes(run: CmmathRun) -> Iterator[str]:
    missing = sum(each.instance.caption == "" for each in run.responses)
    if missing:
        yield (
            f"{run.label}: for {missing} of {len(run.responses)} responses to "
            f"{', '.join(run.tasks)}, there was no caption"
        )


def _range(figures: Figures) -> str:
    ends = (figures.metrics[f"accuracy_if_{each}"].value for each in ("wrong", "right"))
    return "–".join(f"{each:.3f}" for each in ends if each is not None)


def _sentence(figures: Figures) -> str:
    judged, compared, agreed = "", figures.counts["compared"], figures.counts["agreed"]
    if isinstance(compared, int) and isinstance(agreed, int) and compared:
        judged = (
            f" Rules and judge agree on {agreed} of the {compared} that both graded "
            f"({agreed / compared:.3f})."
        )
    rounds = f"{figures.rounds} round{'s' * (figures.rounds > 1)}"
    return f"{figures.model}, {figures.task}: {rounds}, {figures.responses} responses.{judged}"


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


# --- in a report ---------------------------------------------------------------------------------


def _question(record: CmmathRecord) -> ShownQuestion:
    instance = record.instance
    details = {
        "school year": instance.grade_id,
        "knowledge points": instance.knowledge_point,
        "caption": instance.caption,
    }
    return ShownQuestion(
        text=readable(instance.question),
        gold=(readable(instance.reference),),
        language="zh",
        images=instance.images,
        details={name: str(value) for name, value in details.items() if value is not None},
    )


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
            asked=asked_in(mistake.verdict),
            verdict=mistake.verdict,
            error=mistake.error,
        )


def _asked(record: CmmathRecord) -> Rebuilt | None:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.tasks.rebuilding import rebuilt_prompt

    return rebuilt_prompt(
        "compare",
        "en",
        record.settings.prompt_version,
        question=readable(record.instance.question),
        reference=readable(record.instance.reference),
        answer=record.answer,
    )


GRADING = Grading(
    title="CMMaTH",
    metrics=METRICS,
    breakdowns={
        "task": by_field("instance.task"),
        "category": by_field("instance.category"),
        "grade_group": by_field("instance.grade_group"),
        "grade_id": by_field("instance.grade_id"),
        "form": by_field("instance.form"),
        # A problem may belong to several.
        "area": lambda record: {point[0]: 0 for point in record.instance.points} or (None,),
    },
    first="task",
    by_task=True,
    questions="problems",
    order=tuple(
        f"cmmath{each}"
        for each in (*("", "_en_cot", "_clp", "_steps", "_text", "_ocr", "_image_ocr", "_caption"),)
    ),
    settings=("grader", "model", "prompt_version", "rules_version"),
    counts={
        "undecided": lambda record: bool(record.undecided),
        "compared": lambda record: None not in (record.ruled, record.judged),
        "agreed": lambda record: None not in (record.ruled, record.judged) and not record.disputed,
    },
    more=_more,
    notes=_notes,
    remedy=_remedy,
    asked={"what kind of mistake it is": lambda each: each.mistake and each.mistake.error},
    columns=(
        "accuracy",
        Column(
            "range",
            _range,
            lambda each: bool(each.unscored),
            words="accuracy if all responses without a score were wrong, and if they were right",
        ),
        "undecided_rate",
        "grader_coverage",
    ),
    explained={
        "SSR": "share of knowledge points with an accuracy above the threshold",
        "tokens": "per response",
        "( )": "number of problems with a score, or of mistakes",
        "[ ]": "95% interval over problems, of one round (exact; Student's t where several "
        "responses to a problem differ)",
        "±": "sample standard deviation over rounds",
    },
    sentence=_sentence,
    sheets=_sheets,
    flags={
        "undecided": lambda record: bool(record.undecided),
        "disagreements": lambda record: record.disputed,
    },
    display=Display(
        question=_question,
        answer=lambda record: ShownAnswer(
            final=field_of(record, "grades.rule.answer"), grades=tuple(_grades(record))
        ),
        by=("category", "grade_group", "form", "area"),
    ),
)
