"""Tables of ROME's grades: models over all questions and by what they ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_rpts.escaping import shorten
from lmms_rpts.tasks.rome.record import RomeRun
from lmms_rpts.tasks.rome.summary import (
    Disagreement,
    RomeFigures,
    RomeGroup,
    RomeSummary,
    RomeTable,
    summarize_rome,
)
from lmms_rpts.tasks.sheets import (
    NONE,
    NOT_GIVEN,
    GradePage,
    Sheet,
    end_of,
    figure_text,
    token_text,
)

_METRICS = {
    "accuracy": "accuracy",
    "accuracy_strict": "strict",
    "thinking_answer_consistency": "consistency",
}
_ALL = "all questions"
_EXPLAINED = (
    "n: questions. accuracy: by the grader that counts. strict: by our rules. consistency: share "
    "of answers that agree with the thinking. tokens: a response. [ ]: 95% interval over "
    "questions, of one round (Wilson's where all grades are 0 or 1, Student's t with partial "
    "credit). ±: sample standard deviation over rounds."
)


def grade_page(runs: Sequence[RomeRun], by: Sequence[str] = ()) -> GradePage:
    """The page of these runs; ``by`` and errors as of ``summarize_rome``."""
    summary = summarize_rome(runs, by)
    found = summary.disagreements
    return GradePage(
        summary=summary,
        sheets=tuple(_sheets(summary)),
        explained=_EXPLAINED,
        counts=tuple(_counts(summary)),
        warnings=summary.warnings,
        lists={"disagreements": lambda most: _listed(found, most)},
    )


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
        value = NOT_GIVEN if group.value is None else shorten(group.value, 40)
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


def _listed(found: Sequence[Disagreement], most: int) -> Sheet | None:
    if not found:
        return None
    rows = []
    for at in found[:most]:
        texts = (at.run, at.id, at.evaluator, at.reference, end_of(at.answer))
        grades = (NONE if each is None else f"{each:g}" for each in (at.rule, at.strict, at.llm))
        rows.append([*(shorten(text, 60) for text in texts), *grades])
    heads = ("run", "question", "evaluator", "reference", "answer", "rule", "strict", "LLM")
    title = f"{len(rows)} of {len(found)} answers on which graders disagree"
    return Sheet(title, heads, 5, [rows])
