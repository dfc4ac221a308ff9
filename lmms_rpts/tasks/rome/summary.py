"""Summary of runs of ROME: models side by side, with breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_rpts.runs.rounds import (
    Figure,
    differing_models,
    differing_settings,
    mean_tokens,
    rounds_of,
    same_rounds,
)
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.grades import (
    Breakdown,
    Group,
    check_breakdowns,
    figure_columns,
    figure_over,
    grouped,
    numeric_frame,
)
from lmms_rpts.tasks.rome.record import RomeInstance, RomeRecord, RomeRun
from lmms_rpts.tasks.rome.source_format import SUBTASKS

if TYPE_CHECKING:
    import pandas as pd

BREAKDOWNS: Mapping[str, Callable[[RomeInstance], str | None]] = {
    "subtask": lambda instance: instance.subtask,
    "image_type": lambda instance: instance.image_type,
    "image_subtype": lambda instance: instance.image_subtype,
    "reasoning_type": lambda instance: instance.reasoning_type,
    "question_type": lambda instance: instance.question_type,
    "evaluator": lambda instance: instance.evaluator,
    "language": lambda instance: instance.language,
}
"""What questions can be told apart by."""

METRICS: Mapping[str, Callable[[RomeRecord], float | None]] = {
    "accuracy": lambda response: response.score,
    "accuracy_strict": lambda response: response.grades.strict,
    "thinking_answer_consistency": lambda response: response.consistent,
}
"""The value of a response in each metric; None where it has none."""

_PLACES = {name: at for at, name in enumerate(SUBTASKS)}
_SETTINGS = ("grader", "model", "prompt_version")
_Rounds = Sequence[Sequence[RomeRecord]]


@dataclass(frozen=True, slots=True)
class RomeFigures:
    """One model on some questions.

    Attributes:
        rounds: how many runs of it cover any of them.
        questions: how many there are.
        responses: its responses to them, over all rounds.
        unscored: how many of these have no accuracy, for the grader failed.
        metrics: by the names of ``METRICS``.
        tokens: tokens that it wrote a response, where it reported them; no interval.
        judged: responses that the judge graded.
        rule_strict: responses that the published rules and the strict ones grade differently.
        rule_llm: those that the published rules and the judge grade differently.
    """

    model: str
    rounds: int
    questions: int
    responses: int
    unscored: int
    metrics: Mapping[str, Figure]
    tokens: Figure
    judged: int
    rule_strict: int
    rule_llm: int


RomeGroup = Group[RomeFigures]
RomeTable = Breakdown[RomeFigures]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer that the published rules grade otherwise than the strict ones or the judge do."""

    run: str
    subtask: str
    id: str
    repeat: int
    evaluator: str
    reference: str
    answer: str
    rule: float | None
    strict: float | None
    llm: float | None


@dataclass(frozen=True, slots=True)
class RomeSummary:
    """Models side by side.

    Attributes:
        overall: over all questions, each counting the same whatever its subtask.
        tables: by subtask, and by whatever else was asked for.
        disagreements: in the order of the runs and their questions.
        warnings: why some numbers can't be compared, or leave something out.
    """

    overall: RomeGroup
    tables: tuple[RomeTable, ...]
    disagreements: tuple[Disagreement, ...]
    warnings: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """A row a group and model: ``by``, ``group`` (both empty: all questions; ``group`` alone:
        the data don't say), ``model``, ``rounds``, ``questions``, ``responses``, ``unscored``,
        ``judged``, ``rule_strict``, ``rule_llm``, ``tokens``, ``tokens_sd``, and for each metric M
        ``M``, ``M_sd``, ``M_low``, ``M_high``, ``M_n`` (see ``Figure``).
        """
        groups = [("", self.overall)]
        groups += [(table.by, group) for table in self.tables for group in table.groups]
        rows = [_row(by, group, each) for by, group in groups for each in group.models]
        return numeric_frame(rows, ("by", "group", "model"))


def summarize_rome(runs: Sequence[RomeRun], by: Sequence[str] = ()) -> RomeSummary:
    """Put runs of ROME side by side; runs of one model on the same questions are its rounds.

    Accuracy is the mean over questions, as on the publishers' leaderboard; over several responses
    to a question (``--repeats``) their mean comes first. One round has a 95% interval over
    questions: Wilson's where all its values are 0 or 1, Student's t where some have partial
    credit. Several rounds have their mean and sample standard deviation (n - 1).

    Args:
        by: names of ``BREAKDOWNS``; by subtask the questions are broken down in any case.

    Raises:
        RunError: if there is no run, or no such breakdown.
    """
    if not runs:
        raise RunError("there is no run to summarise")
    check_breakdowns(by, BREAKDOWNS)
    models = rounds_of(runs)
    names = dict.fromkeys(("subtask", *by))
    return RomeSummary(
        overall=_group(None, grouped(models, lambda each: (None,))[None]),
        tables=tuple(_table(models, name) for name in names),
        disagreements=tuple(each for run in runs for each in _disagreements(run)),
        warnings=(
            *differing_settings(runs, _SETTINGS),
            *same_rounds(models, lambda response: response.score),
            *differing_models(models, "questions"),
            *_left_out(runs),
        ),
    )


def _table(models: Mapping[str, Sequence[RomeRun]], by: str) -> RomeTable:
    value_of = BREAKDOWNS[by]
    groups = grouped(models, lambda each: (value_of(each.instance),))
    values = sorted(
        groups, key=lambda value: (value is None, _PLACES.get(str(value), 0), str(value))
    )
    return Breakdown(by, tuple(_group(value, groups[value]) for value in values))


def _group(value: str | None, models: Mapping[str, _Rounds]) -> RomeGroup:
    return Group(value, tuple(_figures(model, rounds) for model, rounds in models.items()))


def _figures(model: str, rounds: _Rounds) -> RomeFigures:
    responses = [each for run in rounds for each in run]
    return RomeFigures(
        model=model,
        rounds=len(rounds),
        questions=len({each.instance.key for each in responses}),
        responses=len(responses),
        unscored=sum(each.score is None for each in responses),
        metrics={name: figure_over(rounds, value_of) for name, value_of in METRICS.items()},
        tokens=mean_tokens([[each.tokens for each in run] for run in rounds]),
        judged=sum(each.llm is not None for each in responses),
        rule_strict=sum(each.disputed_by_strict for each in responses),
        rule_llm=sum(each.disputed_by_llm for each in responses),
    )


def _disagreements(run: RomeRun) -> Iterator[Disagreement]:
    for each in run.responses:
        if each.disputed_by_strict or each.disputed_by_llm:
            yield Disagreement(
                run=run.label,
                subtask=each.instance.subtask,
                id=each.instance.id,
                repeat=each.repeat,
                evaluator=each.instance.evaluator,
                reference=each.instance.reference,
                answer=each.answer,
                rule=each.grades.rule,
                strict=each.grades.strict,
                llm=each.llm,
            )


def _left_out(runs: Sequence[RomeRun]) -> Iterator[str]:
    for run in runs:
        every = len(run.responses)
        unscored = [each for each in run.responses if each.score is None]
        if unscored:
            yield (
                f"{run.label}: {len(unscored)} of {every} responses were not graded, and are left "
                f"out of accuracy ({unscored[0].reason or 'no reason was given'})"
            )
        asked = [each.consistency for each in run.responses if each.consistency]
        failed = [each.error for each in asked if each.error is not None]
        if failed:
            yield (
                f"{run.label}: of {len(failed)} of {every} responses the judge did not say whether "
                f"they are consistent ({failed[0]})"
            )


def _row(by: str, group: RomeGroup, figures: RomeFigures) -> dict[str, Any]:
    row: dict[str, Any] = {"by": by, "group": group.value or "", "model": figures.model}
    counts = ("rounds", "questions", "responses", "unscored", "judged", "rule_strict", "rule_llm")
    row |= {name: getattr(figures, name) for name in counts}
    row |= {"tokens": figures.tokens.value, "tokens_sd": figures.tokens.sd}
    return row | figure_columns(figures.metrics)
