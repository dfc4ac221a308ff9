"""HTML of runs, records, trees, summaries and comparisons in a notebook; all texts are escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from markupsafe import Markup

from lmms_rpts.escaping import printable, shorten, visible
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning import ReasoningTree
from lmms_rpts.reasoning.outline import outline
from lmms_rpts.report.tree_svg import make_figure, standalone_svg
from lmms_rpts.report.trees import TreePicture, draw_response
from lmms_rpts.runs.record import Record
from lmms_rpts.runs.rounds import NONE
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.tasks.benchmark import benchmarks
from lmms_rpts.tasks.grade_types import Grading
from lmms_rpts.tasks.graded import GradeSummary, summarize_grades
from lmms_rpts.tasks.rpts_eval.summary import summarize
from lmms_rpts.tasks.sheets import summary_sheets

if TYPE_CHECKING:
    from lmms_rpts.analysis.comparison import Comparison

_WIDEST = 500
_MOST_STEPS = 100
"""Maximum number of steps of a drawn tree; larger trees are shown as an outline."""
_MOST_TEXT = 20_000


def run_html(run: AnyRun) -> str:
    """A run as one line and the table of its metrics; no table for benchmarks without a summary."""
    grading = _grading_of(run)
    if run.responses and isinstance(run.responses[0], RptsRecord):
        table = grades_html(summarize([run]))
    elif run.responses and grading is not None:
        table = grades_html(summarize_grades(grading, [run]))
    else:
        table = ""
    return Markup("<p>{}</p>{}").format(printable(repr(run)), Markup(table))  # noqa: S704


def _grading_of(run: AnyRun) -> Grading | None:
    kinds = {type(each) for each in run.responses}
    for each in benchmarks().values():
        if each.grades and each.record and resolve_name(each.record) in kinds:
            found: Grading = resolve_name(each.grades)
            return found
    return None


def grades_html(summary: GradeSummary) -> str:
    """A summary of graded answers as its tables."""
    parts = [
        _table(
            sheet.title,
            sheet.heads,
            [row for section in sheet.sections for row in section],
            sheet.texts,
        )
        for sheet in summary_sheets(summary)
    ]
    return str(Markup("").join([*parts, _notes(summary.warnings)]))


def comparison_html(comparison: Comparison) -> str:
    """A comparison as the table of its metrics."""
    rows = []
    for each in comparison.metrics:
        interval = (
            NONE if each.low is None or each.high is None else f"[{each.low:.3f}, {each.high:.3f}]"
        )
        numbers = (each.a, each.b, each.difference)
        tests = (each.p, each.p_holm)
        rows.append(
            [each.metric, *map(_number, numbers), interval, *map(_number, tests), str(each.n_both)]
        )
    heads = [
        *("", comparison.label_a, comparison.label_b, "difference", "95% interval"),
        *("p", "p (Holm)", "n"),
    ]
    return str(_table(repr(comparison), heads, rows, 1))


def record_html(record: Record) -> str:
    """A response: what a table of responses shows, and the drawing of its tree."""
    rows = [
        [name, "" if cell is None else shorten(str(cell), _WIDEST)]
        for name, cell in record.cells().items()
        if name != "tree"
    ]
    drawing = Markup("")
    if isinstance(record, RptsRecord):
        tree = record.tree()
        if _is_drawn(tree):
            drawing = _drawing(draw_response(record))
        else:
            drawing = _outline(tree, [step.score for step in record.steps])
    return str(Markup("{}{}").format(_table(repr(record), ["", ""], rows, 2), drawing))


def tree_html(tree: ReasoningTree) -> str:
    """The drawing of a tree without scores."""
    if _is_drawn(tree):
        return str(_drawing(TreePicture(tree)))
    return str(_outline(tree, [None] * len(tree.heights)))


def _is_drawn(tree: ReasoningTree) -> bool:
    return 0 < len(tree.heights) <= _MOST_STEPS


def _drawing(picture: TreePicture) -> Markup:
    """A tree as an image: its style and texts cannot affect the notebook."""
    svg = standalone_svg(make_figure([("", picture)]), "Reasoning tree").encode("utf-8", "replace")
    data = base64.b64encode(svg).decode("ascii")
    return Markup('<img alt="{}" src="data:image/svg+xml;base64,{}">').format(picture.summary, data)


def _outline(tree: ReasoningTree, scores: Sequence[float | None]) -> Markup:
    text = "\n".join(map(visible, outline(tree, scores).split("\n")))
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]}\n…"
    return Markup("<pre>{}</pre>").format(text)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int) -> Markup:
    """A table whose first columns hold texts, and the others numbers."""

    def line(cells: Sequence[str], tag: str) -> Markup:
        cell = Markup(f'<{tag} style="text-align:{{}}">{{}}</{tag}>')  # noqa: S704
        sides = ("left" if at < texts else "right" for at in range(len(cells)))
        made = (cell.format(*each) for each in zip(sides, map(printable, cells), strict=True))
        return Markup("<tr>{}</tr>").format(Markup("").join(made))

    body = Markup("").join(line(row, "td") for row in rows)
    return Markup("<table><caption>{}</caption><thead>{}</thead><tbody>{}</tbody></table>").format(
        shorten(title, _WIDEST), line(heads, "th"), body
    )


def _notes(lines: Sequence[str]) -> Markup:
    items = Markup("").join(Markup("<li>{}</li>").format(printable(each)) for each in lines)
    return Markup("<ul>{}</ul>").format(items) if lines else Markup("")
