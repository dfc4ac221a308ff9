"""HTML of runs, records, trees, summaries and comparisons in a notebook; all texts are escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from markupsafe import Markup

from lmms_rpts.base.escaping import printable, shorten, visible
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning import ReasoningTree
from lmms_rpts.reasoning.tree import outline
from lmms_rpts.report.trees import TreePicture, draw_response, figure_svg
from lmms_rpts.runs.record import Record
from lmms_rpts.runs.rounds import NONE
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.all_runs import summarize
from lmms_rpts.tasks.graded import GradeSummary
from lmms_rpts.tasks.sheets import summary_sheets

if TYPE_CHECKING:
    from lmms_rpts.analysis.comparison import Comparison
    from lmms_rpts.analysis.measured import Measured
    from lmms_rpts.base.sheet import Sheet

_WIDEST = 500
# Maximum number of steps of a drawn tree; larger trees are shown as an outline.
_MOST_STEPS = 100
_MOST_TEXT = 20_000


def run_html(run: AnyRun) -> str:
    """A run as one line and the table of its metrics; no table for benchmarks without a summary."""
    table = ""
    with suppress(RunError):  # no responses, or those of a benchmark without a summary
        table = grades_html(summarize([run]))
    return line_html(repr(run)) + table


def runs_html(runs: Sequence[AnyRun]) -> str:
    """Runs below each other."""
    return "".join(map(run_html, runs))


def line_html(value: object) -> str:
    """What a value is as text, as a paragraph."""
    return str(Markup("<p>{}</p>").format(printable(str(value))))


def grades_html(summary: GradeSummary) -> str:
    """A summary of graded answers as its tables."""
    return _sheets(summary_sheets(summary), summary.warnings)


def measured_html(measured: Measured) -> str:
    """Tables of measures."""
    return _sheets(measured.sheets(), measured.notes)


def comparison_html(comparison: Comparison) -> str:
    """A comparison as the table of its metrics."""
    rows = []
    for each in comparison.metrics:
        a, b, by, p, holm = map(_number, (each.a, each.b, each.difference, each.p, each.p_holm))
        none = each.low is None or each.high is None
        interval = NONE if none else f"[{each.low:.3f}, {each.high:.3f}]"
        rows.append([each.metric, a, b, by, interval, p, holm, str(each.n_both)])
    labels = comparison.label_a, comparison.label_b
    heads = ["", *labels, "difference", "95% interval", "p", "p (Holm)", "n"]
    return str(_table(repr(comparison), heads, rows, 1))


def record_html(record: Record) -> str:
    """A response: what a table of responses shows, and the drawing of its tree."""
    rows = [
        [name, "" if cell is None else shorten(str(cell), _WIDEST)]
        for name, cell in record.cells().items()
        if name != "tree"
    ]
    html = _table(repr(record), ["", ""], rows, 2)
    if isinstance(record, RptsRecord):
        html += _drawing(record.tree(), [step.score for step in record.steps], record)
    return str(html)


def tree_html(tree: ReasoningTree) -> str:
    """The drawing of a tree without scores."""
    return str(_drawing(tree, [None] * len(tree.heights)))


def _drawing(
    tree: ReasoningTree, scores: Sequence[float | None], record: RptsRecord | None = None
) -> Markup:
    """A tree as an image, whose style and texts cannot affect the notebook, or as an outline."""
    if not 0 < len(tree.heights) <= _MOST_STEPS:
        text = "\n".join(map(visible, outline(tree, scores).split("\n")))
        cut = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}\n…"
        return Markup("<pre>{}</pre>").format(cut)
    picture = draw_response(record) if record else TreePicture(tree)
    svg = figure_svg([("", picture)], "Reasoning tree").encode("utf-8", "replace")
    data = base64.b64encode(svg).decode("ascii")
    return Markup('<img alt="{}" src="data:image/svg+xml;base64,{}">').format(picture.summary, data)


def _sheets(sheets: Iterable[Sheet], notes: Sequence[str]) -> str:
    parts = [
        _table(sheet.title, sheet.heads, chain.from_iterable(sheet.sections), sheet.texts)
        for sheet in sheets
    ]
    return str(Markup("").join([*parts, _notes(notes)]))


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
