"""Summary of runs of CMMaTH: models and prompts side by side, with breakdowns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lmms_rpts.runs.rounds import (
    Figure,
    differing_coverage,
    differing_models,
    differing_settings,
    mean_tokens,
    rounds_of,
    same_rounds,
)
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.cmmath.knowledge_tree import CmmathTree, mastered, tree_of
from lmms_rpts.tasks.cmmath.listed_answers import CmmathAnswer, answers_of
from lmms_rpts.tasks.cmmath.record import MISTAKES, CmmathRecord, CmmathRun
from lmms_rpts.tasks.grades import (
    Breakdown,
    Group,
    check_breakdowns,
    figure_columns,
    figure_over,
    grouped,
    numeric_frame,
)

if TYPE_CHECKING:
    import pandas as pd

BREAKDOWNS: Mapping[str, Callable[[CmmathRecord], Collection[str | None]]] = {
    "task": lambda each: (each.instance.task,),
    "category": lambda each: (each.instance.category,),
    "grade_group": lambda each: (_number(each.instance.grade_group),),
    "grade_id": lambda each: (_number(each.instance.grade_id),),
    "answer_type": lambda each: (each.answer_type,),
    "form": lambda each: (each.instance.form,),
    "area": lambda each: tuple(dict.fromkeys(p[0] for p in each.instance.points)) or (None,),
}
"""What responses can be told apart by; a problem may belong to several areas of knowledge."""

METRICS: Mapping[str, Callable[[CmmathRecord], float | None]] = {
    "accuracy": lambda each: each.score,
    "undecided_rate": lambda each: each.undecided,
    "grader_coverage": lambda each: float(each.score is not None),
    "accuracy_if_wrong": lambda each: 0.0 if each.score is None else each.score,
    "accuracy_if_right": lambda each: 1.0 if each.score is None else each.score,
}
"""The value of a response in each metric; None where it has none."""

_TASKS = ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_ocr", "cmmath_steps")
_SETTINGS = ("grader", "model", "prompt_version", "rules_version")
_Rounds = Sequence[Sequence[CmmathRecord]]
_Subject = tuple[str, str]  # a task and a model
_Subjects = Mapping[_Subject, Sequence[CmmathRun]]


@dataclass(frozen=True, slots=True)
class CmmathFigures:
    """One model on some problems of one task.

    Attributes:
        rounds: how many runs of it cover any of them.
        problems: how many there are.
        responses: its responses to them, over all rounds.
        unscored: how many of these have no accuracy: rules left them undecided and no judge was
            asked, or it failed.
        undecided: how many the rules left undecided, whatever a judge said.
        compared: responses that rules and judge both graded.
        agreed: those that they graded alike.
        mistakes: how many mistakes are of each kind, of those that the judge told of.
        points: knowledge points with a score.
        metrics: by the names of ``METRICS``, and ``ssr_T``: the share of knowledge points with an
            accuracy above T; no interval.
        tokens: tokens that it wrote a response, where it reported them; no interval.
    """

    task: str
    model: str
    rounds: int
    problems: int
    responses: int
    unscored: int
    undecided: int
    compared: int
    agreed: int
    mistakes: Mapping[str, int]
    points: int
    metrics: Mapping[str, Figure]
    tokens: Figure


CmmathGroup = Group[CmmathFigures]
CmmathTable = Breakdown[CmmathFigures]


@dataclass(frozen=True, slots=True)
class CmmathSummary:
    """Models side by side, task by task: tasks ask the same problems, and have no mean.

    Attributes:
        tables: by task, over all problems, and by whatever else was asked for.
        trees: one a task and model.
        undecided: what the rules left undecided, in the order of the runs and their problems.
        disagreements: what rules and judge grade differently.
        warnings: why some numbers can't be compared, or leave something out.
    """

    tables: tuple[CmmathTable, ...]
    trees: tuple[CmmathTree, ...]
    undecided: tuple[CmmathAnswer, ...]
    disagreements: tuple[CmmathAnswer, ...]
    warnings: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """A row a group, task and model: ``by``, ``group`` (empty: the data don't say), ``task``,
        ``model``, ``rounds``, ``problems``, ``responses``, ``unscored``, ``undecided``,
        ``compared``, ``agreed``, ``points``, ``mistakes_K`` for each kind K, ``tokens``,
        ``tokens_sd``, and for each metric M ``M``, ``M_sd``, ``M_low``, ``M_high``, ``M_n`` (see
        ``Figure``).
        """
        groups = [(table.by, group) for table in self.tables for group in table.groups]
        rows = [_row(by, group, each) for by, group in groups for each in group.models]
        return numeric_frame(rows, ("by", "group", "task", "model"))


def summarize_cmmath(runs: Sequence[CmmathRun], by: Sequence[str] = ()) -> CmmathSummary:
    """Put runs of CMMaTH side by side; runs of one model on the same problems are its rounds.

    Accuracy is the mean over the problems that have a score; over several responses to a problem
    (``--repeats``) their mean comes first. Its bounds are those with all other responses wrong,
    or right. One round has a 95% interval over problems: Wilson's, or Student's t where several
    responses to a problem differ. Several rounds have their mean and sample standard deviation
    (n - 1).

    Args:
        by: names of ``BREAKDOWNS``; by task the problems are broken down in any case.

    Raises:
        RunError: if there is no run, or no such breakdown.
    """
    if not runs:
        raise RunError("there is no run to summarise")
    check_breakdowns(by, BREAKDOWNS)
    tasks = {task: rounds_of(parts) for task, parts in _by_task(runs).items()}
    subjects = {(task, model): of for task, models in tasks.items() for model, of in models.items()}
    return CmmathSummary(
        tables=tuple(_table(subjects, name) for name in dict.fromkeys(("task", *by))),
        trees=tuple(tree_of(*subject, rounds) for subject, rounds in subjects.items()),
        undecided=tuple(answers_of(runs, lambda each: bool(each.undecided))),
        disagreements=tuple(answers_of(runs, lambda each: each.disputed)),
        warnings=(*differing_settings(runs, _SETTINGS), *_incomparable(tasks), *_left_out(runs)),
    )


def _by_task(runs: Sequence[CmmathRun]) -> dict[str, list[CmmathRun]]:
    """The parts of the runs that belong to each task."""
    parts: dict[str, list[CmmathRun]] = {}
    for run in runs:
        found: dict[str, list[CmmathRecord]] = {}
        for each in run.responses:
            found.setdefault(each.instance.task, []).append(each)
        for task, responses in found.items():
            parts.setdefault(task, []).append(replace(run, responses=tuple(responses)))
    return {task: parts[task] for task in sorted(parts, key=_place)}


def _place(task: str) -> tuple[int, str]:
    """Our tasks stand in their usual order, others after them."""
    return (_TASKS.index(task) if task in _TASKS else len(_TASKS), task)


def _table(subjects: _Subjects, by: str) -> CmmathTable:
    groups = grouped(subjects, BREAKDOWNS[by])

    def order(value: str | None) -> tuple[object, ...]:
        if value is None:
            return (True, (0, ""))
        if by == "task":
            return (False, _place(value))
        return (False, (len(value) if by.startswith("grade") else 0, value))

    return Breakdown(
        by,
        tuple(
            Group(
                value,
                tuple(
                    _figures(*subject, groups[value][subject], value if by == "area" else None)
                    for subject in subjects
                    if subject in groups[value]
                ),
            )
            for value in sorted(groups, key=order)
        ),
    )


def _figures(task: str, model: str, rounds: _Rounds, area: str | None) -> CmmathFigures:
    responses = [each for responses in rounds for each in responses]
    compared = [each for each in responses if None not in (each.ruled, each.judged)]
    mistakes = Counter(each.mistake.kind for each in responses if each.mistake)
    metrics = {name: figure_over(rounds, value_of) for name, value_of in METRICS.items()}
    shares, points = mastered(rounds, area)
    return CmmathFigures(
        task=task,
        model=model,
        rounds=len(rounds),
        problems=len({each.instance.key for each in responses}),
        responses=len(responses),
        unscored=sum(each.score is None for each in responses),
        undecided=sum(bool(each.undecided) for each in responses),
        compared=len(compared),
        agreed=sum(not each.disputed for each in compared),
        mistakes={kind: mistakes[kind] for kind in MISTAKES},
        points=points,
        metrics=metrics | shares,
        tokens=mean_tokens([[each.tokens for each in responses] for responses in rounds]),
    )


def _incomparable(tasks: Mapping[str, Mapping[str, Sequence[CmmathRun]]]) -> Iterator[str]:
    told = [line for models in tasks.values() for line in same_rounds(models, lambda r: r.score)]
    yield from dict.fromkeys(told)
    problems = {
        task: {r.instance.id for of in models.values() for run in of for r in run.responses}
        for task, models in tasks.items()
    }
    for task, models in tasks.items():
        yield from differing_models(models, f"problems of {task}")
    yield from differing_coverage("tasks", problems, "problems")


def _left_out(runs: Sequence[CmmathRun]) -> Iterator[str]:
    for task, parts in _by_task(runs).items():
        for run in parts:
            every = len(run.responses)
            reasons = [each.reason for each in run.responses if each.score is None]
            if reasons:
                yield (
                    f"{run.label}: {len(reasons)} of {every} responses to {task} have no score, "
                    f"and are left out of accuracy (most often: {_most(reasons)})"
                )
            asked = [each.mistake for each in run.responses if each.mistake]
            failed = [each.error for each in asked if each.error]
            if failed:
                yield (
                    f"{run.label}: of {len(failed)} of {every} responses to {task} the judge did "
                    f"not tell the kind of mistake (most often: {_most(failed)})"
                )


def _most(reasons: Sequence[str | None]) -> str:
    return Counter(reasons).most_common(1)[0][0] or "no reason was given"


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _row(by: str, group: CmmathGroup, figures: CmmathFigures) -> dict[str, Any]:
    row: dict[str, Any] = {"by": by, "group": group.value or ""}
    names = ("task", "model", "rounds", "problems", "responses", "unscored", "undecided")
    row |= {name: getattr(figures, name) for name in (*names, "compared", "agreed", "points")}
    row |= {f"mistakes_{kind}": count for kind, count in figures.mistakes.items()}
    row |= {"tokens": figures.tokens.value, "tokens_sd": figures.tokens.sd}
    return row | figure_columns(figures.metrics)
