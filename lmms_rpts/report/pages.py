"""HTML pages of a report, rendered from its view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from lmms_rpts.analysis.overview import DIMENSIONS, Dimension, Group, Overview
from lmms_rpts.escaping import cut_middle
from lmms_rpts.filters.record import RIGHT_REASON
from lmms_rpts.report.charts import accuracy_against_rpts, estimate_bar, rpts_histogram
from lmms_rpts.report.frame import (
    EARLY,
    make_environment,
    policy_of,
    script_element,
    source_of,
    style_element,
)
from lmms_rpts.report.terms import METRIC_WORDS, MODALITY_WORDS, OUTCOME_WORDS, QUESTION_WORDS
from lmms_rpts.report.trees import clue_label
from lmms_rpts.report.view import URGENCY, Entry, View

_IMAGES = "images/"
_LABEL = 61
_MAIN = '<main id="main">'


@dataclass(frozen=True, slots=True)
class Links:
    """Where a page leads to: empty names are places in the page itself."""

    overview: str = ""
    images: str = ""
    previous: str | None = None
    next: str | None = None


class Pages:
    """Renders one report: as one page, or as an overview and a page for each instance.

    Args:
        title: of the report.
        no_image: what stands where an image is not shown.
    """

    def __init__(self, view: View, title: str, no_image: str) -> None:
        self.view, self.title = view, title
        self._environment = make_environment()
        self._environment.filters.update(cut=_cut, name=partial(cut_middle, length=_LABEL))
        self._environment.globals.update(
            right_reason=RIGHT_REASON,
            outcomes=OUTCOME_WORDS,
            outcome_order=list(OUTCOME_WORDS),
            modalities=MODALITY_WORDS,
            questions=QUESTION_WORDS,
            metrics=METRIC_WORDS,
            no_image=no_image,
            score_class=_score_class,
            figure=_figure,
            clue_label=clue_label,
            bar=estimate_bar,
            heat=_heat,
            heights=_heights,
            by_run=_by_run,
            urgency=URGENCY.index,
        )
        self._style = source_of(self._environment, "report.css")
        self._script = source_of(self._environment, "report.js")

    def single(self) -> Iterator[str]:
        """The one page, in parts, the entries each for itself."""
        # No text can hold this mark: all others are escaped.
        before, mark, after = self._frame(self.title, Links(), Markup("")).partition(_MAIN)
        yield before + mark
        yield self._overview(Links(), lambda entry: f"#{entry.anchor}")
        order = self.view.entries
        for at, entry in enumerate(order):
            links = Links(
                previous=f"#{order[at - 1].anchor}" if at else None,
                next=f"#{order[at + 1].anchor}" if at + 1 < len(order) else None,
            )
            yield self._instance(entry, links)
        yield after

    def index(self) -> str:
        """The overview of a report in a folder."""
        body = self._overview(Links(), lambda entry: f"instances/{entry.anchor}.html")
        return self._frame(self.title, Links(), Markup(body))  # noqa: S704 - rendered

    def instances(self) -> Iterator[tuple[str, str]]:
        """File names and pages of the instances of a report in a folder."""
        order = self.view.entries
        for at, entry in enumerate(order):
            links = Links(
                overview="../index.html",
                images=f"../{_IMAGES}",
                previous=f"{order[at - 1].anchor}.html" if at else None,
                next=f"{order[at + 1].anchor}.html" if at + 1 < len(order) else None,
            )
            body = Markup(self._instance(entry, links, opened=True))  # noqa: S704 - rendered
            title = f"{entry.instance.task} {entry.instance.id} · {self.title}"
            yield f"{entry.anchor}.html", self._frame(title, links, body, "'self' file: data:")

    def _overview(self, links: Links, link: Any) -> str:
        seen = dict(zip((run.label for run in self.view.runs), self.view.overviews, strict=True))
        dimensions = [
            each for each in DIMENSIONS if any(each in it.breakdowns for it in seen.values())
        ]
        return self._environment.get_template("overview.jinja").render(
            view=self.view,
            title=self.title,
            links=links,
            link=link,
            dimensions=dimensions,
            several_tasks=len({entry.instance.task for entry in self.view.entries}) > 1,
            group_names=partial(_group_names, self.view.overviews),
            group_of=_group_of,
            histogram=lambda run: rpts_histogram(run.responses, run.label),
            scatter=lambda: accuracy_against_rpts(seen),
        )

    def _instance(self, entry: Entry, links: Links, opened: bool = False) -> str:
        body = self._environment.get_template("instance.jinja").render(entry=entry, links=links)
        kind = "instance open" if opened else "instance"
        return f'<article class="{kind}" id="{entry.anchor}">\n{body}</article>\n'

    def _frame(self, title: str, links: Links, body: Markup, images: str = "data:") -> str:
        return self._environment.get_template("page.jinja").render(
            title=title,
            links=links,
            policy=policy_of((EARLY, self._script), images),
            body=body,
            style=style_element(self._style),
            early=script_element(EARLY),
            script=script_element(self._script),
        )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _figure(value: float | None, digits: int) -> str:
    """A number for people; what lies below the mark is not rounded up to it."""
    if value is None:
        return "–"
    while value < RIGHT_REASON <= round(value, digits) and digits < 6:
        digits += 1
    return f"{value + 0.0:.{digits}f}"


def _score_class(score: float | None) -> str:
    return "sx" if score is None else f"s{round(score * 10)}"


def _heights(seen: Overview) -> Sequence[int]:
    return sorted({height for height, _ in seen.origins})


def _heat(count: int, seen: Overview) -> int:
    """From 0 to 4: how much of the most."""
    most = max(seen.origins.values(), default=0)
    return -(-4 * count // most) if most else 0


def _group_names(overviews: Sequence[Overview], dimension: Dimension) -> list[str | None]:
    names = {group.name for seen in overviews for group in seen.breakdowns.get(dimension, ())}
    return sorted(names, key=lambda name: (name is None, name))


def _group_of(seen: Overview, dimension: Dimension, name: str | None) -> Group | None:
    groups = seen.breakdowns.get(dimension, ())
    return next((group for group in groups if group.name == name), None)


def _by_run(entry: Entry, what: str) -> str:
    """One word a run, for the script: outcomes of its responses, or where they first broke."""
    words: list[set[str]] = [set() for _ in entry.by_run]
    for answer in entry.answers:
        error = answer.response.first_error
        if what == "outcome":
            words[answer.run].add(answer.outcome)
        elif error:
            words[answer.run].add(error.modality)
    return " ".join("+".join(sorted(each)) or "-" for each in words)
