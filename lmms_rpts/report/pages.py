"""HTML pages of a report, rendered from its view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from lmms_rpts.analysis.differences import APART, clue_label
from lmms_rpts.analysis.gold_match import LEAST
from lmms_rpts.analysis.metrics import COUNTS, GROUPS
from lmms_rpts.analysis.overview import DIMENSIONS, Dimension, Group, Overview
from lmms_rpts.analysis.validity import EXPLAINED
from lmms_rpts.filters.record import RIGHT_REASON
from lmms_rpts.report.charts import accuracy_against_rpts, estimate_bar, rpts_histogram
from lmms_rpts.report.frame import Frame
from lmms_rpts.report.pictures import Picture
from lmms_rpts.report.terms import (
    DIFFERING_MARKS,
    DIFFERING_WORDS,
    HEADLINE_WORDS,
    METRIC_WORDS,
    MODALITY_WORDS,
    OUTCOME_WORDS,
    QUESTION_WORDS,
)
from lmms_rpts.report.view import URGENCY, Answer, Entry, View
from lmms_rpts.runs.validity_figures import decimal, percent, title_of

_IMAGES = "images/"
_MAIN = '<main id="main">'
_CREDIT = "what lmms-eval logged. RPTS: Wang and Zhang, arXiv 2511.06899."


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
        no_image: what is shown instead of a missing image.
        longest_side: of the images as the page shows them, in pixels; they may hold more.
    """

    def __init__(self, view: View, title: str, no_image: str, longest_side: int = 480) -> None:
        self.view, self.title = view, title
        self._frame = Frame()
        self._environment = self._frame.environment
        self._environment.globals.update(
            right_reason=RIGHT_REASON,
            outcomes=OUTCOME_WORDS,
            outcome_order=list(OUTCOME_WORDS),
            modalities=MODALITY_WORDS,
            questions=QUESTION_WORDS,
            metric_groups=GROUPS,
            headline=HEADLINE_WORDS,
            counts=COUNTS,
            metrics=METRIC_WORDS,
            apart=APART,
            no_image=no_image,
            differing=DIFFERING_WORDS,
            differing_marks=DIFFERING_MARKS,
            least_overlap=LEAST,
            fitted=partial(_fitted, longest=longest_side),
            clue_label=clue_label,
            bar=estimate_bar,
            heat=_heat,
            heights=_heights,
            by_run=_by_run,
            urgency=URGENCY.index,
            percent=percent,
            decimal=decimal,
            set_title=title_of,
            corrected_explained=EXPLAINED,
        )

    def single(self) -> Iterator[str]:
        """The one page, in parts, the entries each for itself."""
        # No text can hold this mark: all others are escaped.
        before, mark, after = self._page(self.title, Links(), Markup("")).partition(_MAIN)
        yield before + mark
        yield self._overview(Links(), lambda entry: f"#{entry.anchor}")
        order = self.view.entries
        for at, entry in enumerate(order):
            links = Links(
                previous=f"#{order[at - 1].anchor}" if at else None,
                next=f"#{order[at + 1].anchor}" if at + 1 < len(order) else None,
            )
            # Without scripts it is shown; with them it is parsed when it is opened (core.js).
            body = self._instance(entry, links)
            yield f'<noscript data-entry="{entry.anchor}">\n{body}</noscript>\n'
        yield after

    def index(self) -> str:
        """The overview of a report in a folder."""
        body = self._overview(Links(), lambda entry: f"instances/{entry.anchor}.html")
        return self._page(self.title, Links(), Markup(body))  # noqa: S704 - rendered

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
            yield f"{entry.anchor}.html", self._page(title, links, body, "'self' file: data:")

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

    def _page(self, title: str, links: Links, body: Markup, images: str = "data:") -> str:
        places = {"#overview": "Overview", "#instances": "Instances"}
        parts = [(links.overview + place, name) for place, name in places.items()]
        return self._frame.page(title, body, parts=parts, credit=_CREDIT, images=images)


def _fitted(picture: Picture, longest: int) -> tuple[int, int]:
    """Width and height at which a picture is shown."""
    scale = min(1.0, longest / max(picture.width, picture.height))
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale))


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
    """One word a run, for the script; ``_WORDS`` says what of."""
    words: list[set[str]] = [set() for _ in entry.by_run]
    for answer in entry.answers:
        words[answer.run].update(_WORDS[what](answer))
    return " ".join("+".join(sorted(each)) or "-" for each in words)


def _broken_at(answer: Answer) -> Iterable[str]:
    error = answer.response.first_error
    return [error.modality] if error else []


_WORDS: Mapping[str, Callable[[Answer], Iterable[str]]] = {
    "outcome": lambda answer: [answer.outcome],
    "broken": _broken_at,
    "apart": lambda answer: ["apart"] * answer.apart,
}
"""What the script chooses by: outcomes, where responses first broke, whether scores differ."""
