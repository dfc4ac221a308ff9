"""``lmms-rpts rome``: runs of ROME, over all questions and by what they ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lmms_rpts.commands.common import Runs, check_suffixes, spare, told, write_text
from lmms_rpts.commands.graded import (
    NONE,
    SUFFIXES,
    Sheet,
    draw,
    end_of,
    figure_text,
    notes_markdown,
    sheet_markdown,
    show_notes,
    summary_text,
    token_text,
)
from lmms_rpts.report.escaping import shorten

if TYPE_CHECKING:
    from lmms_rpts.tasks.rome.summary import (
        Disagreement,
        RomeFigures,
        RomeGroup,
        RomeSummary,
        RomeTable,
    )

_METRICS = {
    "accuracy": "accuracy",
    "accuracy_strict": "strict",
    "thinking_answer_consistency": "consistency",
}
_ALL, _UNSAID = "all questions", "(not given)"
_EXPLAINED = (
    "n: questions. accuracy: by the grader that counts. strict: by our rules. consistency: share "
    "of answers that agree with the thinking. tokens: a response. [ ]: 95% interval over "
    "questions, of one round (Wilson's where all grades are 0 or 1, Student's t with partial "
    "credit). ±: sample standard deviation over rounds."
)


def rome(
    runs: Runs,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Break the questions down by image_type, image_subtype, reasoning_type, "
            "question_type, evaluator or language, beside subtask. May be given again.",
        ),
    ] = None,
    disagreements: Annotated[
        int,
        typer.Option(
            "--disagreements",
            min=0,
            help="List so many answers on which the graders disagree.",
        ),
    ] = 0,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the numbers to a .csv, .json or .md file; .json has all disagreements as "
            "well. May be given again.",
        ),
    ] = None,
) -> None:
    """Summarise runs of ROME: accuracy over all questions and by subtask, models side by side.

    Runs of one model on the same questions are its rounds: their mean and sample standard
    deviation (n - 1) are shown. One round is shown with the 95% interval over its questions.
    """
    from lmms_rpts.tasks.rome.record import read_rome_runs
    from lmms_rpts.tasks.rome.summary import summarize_rome

    files = check_suffixes(output, SUFFIXES)
    with told(), Console(stderr=True).status("Reading the runs ..."):
        found = read_rome_runs(runs)
        spare(found, files)
        summary = summarize_rome(found, by or ())
    for path in files:
        # Before anything is shown: a pipe may be closed (| head).
        write_text(path, summary_text(summary, path.suffix.lower(), _markdown(summary)))
    _show(summary, disagreements)


def _show(summary: RomeSummary, most: int) -> None:
    console = Console()
    for sheet in _sheets(summary):
        draw(sheet, console)
    show_notes(_EXPLAINED, _counts(summary), summary.warnings, console)
    if most and summary.disagreements:
        draw(_listed(summary.disagreements, most), console)


def _sheets(summary: RomeSummary) -> Iterator[Sheet]:
    for table in summary.tables:
        shown = _Columns(summary, table)
        rows = [list(shown.rows(group)) for group in shown.groups]
        yield Sheet(f"ROME by {table.by}", shown.heads, shown.texts, rows)


class _Columns:
    """What a table shows: only what any model has a value of."""

    def __init__(self, summary: RomeSummary, table: RomeTable) -> None:
        everything = summary.overall.models
        self.groups: list[RomeGroup] = list(table.groups)
        if table is summary.tables[0]:
            self.groups.append(summary.overall)
        self._overall = summary.overall
        self._several = len(everything) > 1
        self._unscored = any(each.unscored for each in everything)
        self._tokens = any(each.tokens.value is not None for each in everything)
        self._metrics = [
            name
            for name in _METRICS
            if name == "accuracy" or any(each.metrics[name].n for each in everything)
        ]
        self.texts = 2 if self._several else 1
        self.heads = [
            table.by,
            *(["model"] if self._several else []),
            "n",
            *(_METRICS[name] for name in self._metrics),
            *(["tokens"] if self._tokens else []),
            *(["unscored"] if self._unscored else []),
        ]

    def rows(self, group: RomeGroup) -> Iterator[list[str]]:
        """A row a model, as text."""
        value = _UNSAID if group.value is None else shorten(group.value, 40)
        name = _ALL if group is self._overall else value
        for model in group.models:
            yield [name, *self._cells(model)]
            name = ""

    def _cells(self, model: RomeFigures) -> Iterator[str]:
        if self._several:
            yield shorten(model.model, 40)
        yield str(model.questions)
        for name in self._metrics:
            yield figure_text(model.metrics[name])
        if self._tokens:
            yield token_text(model.tokens)
        if self._unscored:
            yield str(model.unscored)


def _counts(summary: RomeSummary) -> Iterator[str]:
    for model in summary.overall.models:
        judged = ""
        if model.judged:
            judged = f"; published rules and the judge on {model.rule_llm} of {model.judged}"
        yield (
            f"{model.model}: {model.rounds} round{'s' * (model.rounds > 1)}. Of {model.responses} "
            f"responses, published and strict rules disagree on {model.rule_strict}{judged}."
        )


def _listed(found: Sequence[Disagreement], most: int) -> Sheet:
    rows = []
    for at in found[:most]:
        texts = (at.run, at.id, at.evaluator, at.reference, end_of(at.answer))
        grades = (NONE if each is None else f"{each:g}" for each in (at.rule, at.strict, at.llm))
        rows.append([*(shorten(text, 60) for text in texts), *grades])
    heads = ("run", "question", "evaluator", "reference", "answer", "rule", "strict", "LLM")
    title = f"{len(rows)} of {len(found)} answers on which graders disagree"
    return Sheet(title, heads, 5, [rows])


def _markdown(summary: RomeSummary) -> Iterator[str]:
    for sheet in _sheets(summary):
        yield from sheet_markdown(sheet)
    yield from notes_markdown(_EXPLAINED, (*_counts(summary), *summary.warnings))
