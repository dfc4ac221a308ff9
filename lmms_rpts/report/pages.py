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
from lmms_rpts.report.frame import STYLES, Frame
from lmms_rpts.report.graded_pages import GradedPages
from lmms_rpts.report.graded_view import GradedEntry
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
_CREDIT = "samples of lmms-eval. RPTS: Wang and Zhang, arXiv 2511.06899."


@dataclass(frozen=True, slots=True)
class Links:
    """Links of a page; an empty ``overview`` or ``images`` is in the page itself."""

    overview: str = ""
    images: str = ""
    previous: str | None = None
    next: str | None = None


class Pages:
    """Renders one report: as one page, or as an overview and a page for each instance.

    Args:
        title: title of the report.
        no_image: text that is shown instead of a missing image.
        longest_side: longer side of the images as shown, in pixels; the files may be larger.
        graded: the benchmarks with graded answers; None: there are none.
    """

    def __init__(
        self,
        view: View,
        title: str,
        no_image: str,
        longest_side: int = 480,
        graded: GradedPages | None = None,
    ) -> None:
        self.view, self.title = view, title
        self.graded = graded or GradedPages((), {}, no_image)
        self._frame = _frame(bool(self.graded.views))
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

    @property
    def count(self) -> int:
        """The number of instances of all kinds."""
        return len(self.view.entries) + self.graded.count

    @property
    def frame_parts(self) -> int:
        """Number of parts of ``single`` that are not instances: begin, overviews and end."""
        return 2 + bool(self.view.runs) + len(self.graded.views)

    def single(self) -> Iterator[str]:
        """The page of a one-file report in parts, one for each entry."""
        # No text can contain this mark: all texts are escaped.
        before, mark, after = self._page(self.title, Links(), Markup("")).partition(_MAIN)
        yield before + mark
        yield from self._overviews(lambda entry: f"#{entry.anchor}")
        order = self.view.entries
        for at, entry in enumerate(order):
            links = Links(
                previous=f"#{order[at - 1].anchor}" if at else None,
                next=f"#{order[at + 1].anchor}" if at + 1 < len(order) else None,
            )
            yield _folded(entry.anchor, self._instance(entry, links))
        for view, graded, previous, following in self.graded.entries():
            links = Links(previous=previous and f"#{previous}", next=following and f"#{following}")
            body = self.graded.instance(self._environment, view, graded, links)
            yield _folded(graded.anchor, self._article(graded.anchor, body))
        yield after

    def index(self) -> str:
        """The overview of a report in a folder."""
        body = "".join(self._overviews(lambda entry: f"instances/{entry.anchor}.html"))
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
        for view, graded, before, after in self.graded.entries():
            links = Links(
                overview="../index.html",
                images=f"../{_IMAGES}",
                previous=before and f"{before}.html",
                next=after and f"{after}.html",
            )
            text = self.graded.instance(self._environment, view, graded, links)
            body = Markup(self._article(graded.anchor, text, opened=True))  # noqa: S704 - rendered
            title = f"{graded.task} {graded.name} · {self.title}"
            yield f"{graded.anchor}.html", self._page(title, links, body, "'self' file: data:")

    def _overviews(self, link: Callable[[Entry | GradedEntry], str]) -> Iterator[str]:
        """The overview of the RPTS runs, where there are any, and of each graded benchmark."""
        if self.view.runs:
            yield self._overview(Links(), link)
        title = None if self.view.runs else self.title
        yield from self.graded.sections(self._environment, title, link)

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
            kinds_given=any(
                entry.instance.abilities or entry.instance.relation for entry in self.view.entries
            ),
            several_tasks=len({entry.instance.task for entry in self.view.entries}) > 1,
            group_names=partial(_group_names, self.view.overviews),
            group_of=_group_of,
            histogram=lambda run: rpts_histogram(run.responses, run.label),
            scatter=lambda: accuracy_against_rpts(seen),
        )

    def _instance(self, entry: Entry, links: Links, opened: bool = False) -> str:
        body = self._environment.get_template("instance.jinja").render(entry=entry, links=links)
        return self._article(entry.anchor, body, opened)

    def _article(self, anchor: str, body: str, opened: bool = False) -> str:
        kind = "instance open" if opened else "instance"
        return f'<article class="{kind}" id="{anchor}">\n{body}</article>\n'

    def _page(self, title: str, links: Links, body: Markup, images: str = "data:") -> str:
        places = {"#overview": "Overview", "#instances": "Instances"} if self.view.runs else {}
        places |= self.graded.places
        parts = [(links.overview + place, name) for place, name in places.items()]
        return self._frame.page(title, body, parts=parts, credit=_CREDIT, images=images)


def _frame(graded: bool) -> Frame:
    """The frame of the pages, with the style of graded benchmarks if there are any."""
    return Frame((*STYLES, "graded.css") if graded else STYLES)


def _folded(anchor: str, article: str) -> str:
    """An instance for browsers without scripts; others parse it when it is opened (core.js)."""
    return f'<noscript data-entry="{anchor}">\n{article}</noscript>\n'


def _fitted(picture: Picture, longest: int) -> tuple[int, int]:
    """Width and height of a picture on the page."""
    scale = min(1.0, longest / max(picture.width, picture.height))
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale))


def _heights(seen: Overview) -> Sequence[int]:
    return sorted({height for height, _ in seen.origins})


def _heat(count: int, seen: Overview) -> int:
    """The class of a count, from 0 to 4, relative to the largest count."""
    most = max(seen.origins.values(), default=0)
    return -(-4 * count // most) if most else 0


def _group_names(overviews: Sequence[Overview], dimension: Dimension) -> list[str | None]:
    names = {group.name for seen in overviews for group in seen.breakdowns.get(dimension, ())}
    return sorted(names, key=lambda name: (name is None, name))


def _group_of(seen: Overview, dimension: Dimension, name: str | None) -> Group | None:
    groups = seen.breakdowns.get(dimension, ())
    return next((group for group in groups if group.name == name), None)


def _by_run(entry: Entry, what: str) -> str:
    """One word per run, for the filters; ``what`` is a key of ``_WORDS``."""
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
"""Properties that the page can filter by: outcome, kind of the first error, differing scores."""
