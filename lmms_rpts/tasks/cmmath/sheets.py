"""Tables of CMMaTH's grades: by prompt, by what is asked and by knowledge points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lmms_rpts.escaping import shorten
from lmms_rpts.tasks.cmmath.knowledge import Node
from lmms_rpts.tasks.cmmath.knowledge_tree import CmmathTree
from lmms_rpts.tasks.cmmath.listed_answers import CmmathAnswer
from lmms_rpts.tasks.cmmath.record import CmmathRun
from lmms_rpts.tasks.cmmath.summary import (
    CmmathFigures,
    CmmathSummary,
    CmmathTable,
    summarize_cmmath,
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

_EXPLAINED = (
    "n: problems. accuracy: of the responses with a score. range: accuracy if all others were "
    "wrong, and if they were right. undecided: share that the rules left undecided. coverage: "
    "share with a score. SSR: share of knowledge points with an accuracy above the threshold. "
    "tokens: a response. ( ): how many problems have a score, or how many mistakes there are. "
    "[ ]: 95% interval over problems, of one round (Wilson's; Student's t where several responses "
    "to a problem differ). ±: sample standard deviation over rounds."
)


def grade_page(runs: Sequence[CmmathRun], by: Sequence[str] = ()) -> GradePage:
    """The page of these runs; ``by`` and errors as of ``summarize_cmmath``."""
    summary = summarize_cmmath(runs, by)
    undecided = "answers that the rules left undecided"
    disputed = "answers on which rules and judge disagree"
    return GradePage(
        summary=summary,
        sheets=tuple(_sheets(summary)),
        explained=_EXPLAINED,
        counts=tuple(_counts(summary)),
        warnings=summary.warnings,
        lists={
            "undecided": lambda most: _listed(undecided, summary.undecided, most),
            "disagreements": lambda most: _listed(disputed, summary.disagreements, most),
        },
        trees=lambda depth: _trees(summary.trees, depth),
    )


def _sheets(summary: CmmathSummary) -> Iterator[Sheet]:
    first, *others = summary.tables
    shown = _Columns(summary)
    yield shown.sheet(first)
    everything = [each for group in first.groups for each in group.models]
    points = [each for each in everything if each.points]
    if points:
        yield _mastered(points)
    mistaken = [each for each in everything if any(each.mistakes.values())]
    if mistaken:
        yield _mistaken(mistaken)
    for table in others:
        yield shown.sheet(table)


class _Columns:
    """What tables of accuracy show: only what any model has a value of."""

    def __init__(self, summary: CmmathSummary) -> None:
        everything = [each for group in summary.tables[0].groups for each in group.models]
        self._tasks = len(summary.tables[0].groups) > 1
        self._models = len({each.model for each in everything}) > 1
        self._unscored = any(each.unscored for each in everything)
        self._tokens = any(each.tokens.value is not None for each in everything)

    def sheet(self, table: CmmathTable) -> Sheet:
        """A table's rows as texts."""
        tasks = self._tasks and table.by != "task"
        texts = [table.by, *["task"] * tasks, *["model"] * self._models]
        numbers = ["n", "accuracy", *["range"] * self._unscored, "undecided", "coverage"]
        numbers += [*["tokens"] * self._tokens, *["unscored"] * self._unscored]
        sections = []
        for group in table.groups:
            name = NOT_GIVEN if group.value is None else shorten(group.value, 40)
            rows = [[*self._names(each, tasks), *self._numbers(each)] for each in group.models]
            sections.append([["" if at else name, *row] for at, row in enumerate(rows)])
        return Sheet(f"CMMaTH by {table.by}", [*texts, *numbers], len(texts), sections)

    def _names(self, model: CmmathFigures, tasks: bool) -> Iterator[str]:
        if tasks:
            yield shorten(model.task, 40)
        if self._models:
            yield shorten(model.model, 40)

    def _numbers(self, model: CmmathFigures) -> Iterator[str]:
        yield str(model.problems)
        yield figure_text(model.metrics["accuracy"])
        if self._unscored:
            ends = (model.metrics[f"accuracy_if_{each}"].value for each in ("wrong", "right"))
            yield "–".join(f"{each:.3f}" for each in ends if each is not None)
        for name in ("undecided_rate", "grader_coverage"):
            value = model.metrics[name].value
            yield NONE if value is None else f"{value:.3f}"
        if self._tokens:
            yield token_text(model.tokens)
        if self._unscored:
            yield str(model.unscored)


def _mastered(found: Sequence[CmmathFigures]) -> Sheet:
    names = [name for name in found[0].metrics if name.startswith("ssr_")]
    rows = [
        [
            *(shorten(each.task, 40), shorten(each.model, 40), str(each.points)),
            *(figure_text(each.metrics[name]) for name in names),
        ]
        for each in found
    ]
    heads = ["task", "model", "points", *(name.replace("ssr_", "> ") for name in names)]
    return Sheet("Knowledge points mastered (SSR)", heads, 2, [rows])


def _mistaken(found: Sequence[CmmathFigures]) -> Sheet:
    rows = []
    for each in found:
        every = sum(each.mistakes.values())
        shares = (f"{count / every:.3f} ({count})" for count in each.mistakes.values())
        rows.append([shorten(each.task, 40), shorten(each.model, 40), str(every), *shares])
    return Sheet("Kinds of mistakes", ["task", "model", "n", *found[0].mistakes], 2, [rows])


def _trees(trees: Sequence[CmmathTree], depth: int) -> Iterator[Sheet]:
    for task in dict.fromkeys(tree.task for tree in trees):
        of_task = [tree for tree in trees if tree.task == task]
        areas = [{node.name: node for node in tree.nodes} for tree in of_task]
        yield Sheet(
            f"Accuracy by knowledge points: {shorten(task, 40)}",
            ["knowledge", *(shorten(tree.model, 24) for tree in of_task)],
            1,
            [list(_branches(areas, depth))],
        )


def _branches(
    forests: Sequence[Mapping[str, Node]], depth: int, level: int = 0
) -> Iterator[list[str]]:
    """The rows of some nodes, one a model, and of what lies below them."""
    if level == depth:
        return
    for name in dict.fromkeys(name for forest in forests for name in forest):
        nodes = [forest.get(name) for forest in forests]
        yield [f"{'· ' * level}{shorten(name, 40)}", *map(_branch, nodes)]
        below = [{each.name: each for each in node.children} if node else {} for node in nodes]
        yield from _branches(below, depth, level + 1)


def _branch(node: Node | None) -> str:
    if node is None or node.accuracy is None:
        return NONE
    return f"{node.accuracy:.3f} ({node.scored})"


def _counts(summary: CmmathSummary) -> Iterator[str]:
    for group in summary.tables[0].groups:
        for each in group.models:
            judged = ""
            if each.compared:
                share = each.agreed / each.compared
                judged = (
                    f"; rules and judge agree on {each.agreed} of the {each.compared} that both "
                    f"graded ({share:.3f})"
                )
            yield (
                f"{each.model}, {each.task}: {each.rounds} round{'s' * (each.rounds > 1)}. Of "
                f"{each.responses} responses, the rules left {each.undecided} undecided{judged}."
            )


def _listed(what: str, found: Sequence[CmmathAnswer], most: int) -> Sheet | None:
    if not found:
        return None
    tasks = len({at.task for at in found}) > 1
    heads = ["run", *["task"] * tasks, "problem", "type", "reference", "answer", "why"]
    rows = []
    for at in found[:most]:
        texts = (at.run, *[at.task] * tasks, at.id, at.answer_type, at.reference)
        ruled = {"correct": "1", "incorrect": "0"}.get(at.outcome or "", NONE)
        judged = NONE if at.judged is None else f"{at.judged:g}"
        cells = [shorten(text, 60) for text in (*texts, end_of(at.answer), at.rule)]
        rows.append([*cells, ruled, judged])
    title = f"{len(rows)} of {len(found)} {what}"
    return Sheet(title, [*heads, "rules", "judge"], len(heads), [rows])
