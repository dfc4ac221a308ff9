"""HTML pages of a report, rendered from its view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from lmms_rpts.analysis.differences import APART, clue_label
from lmms_rpts.analysis.gold_match import LEAST
from lmms_rpts.analysis.overview import DIMENSIONS, Dimension, Group, Overview
from lmms_rpts.analysis.validity import EXPLAINED
from lmms_rpts.filters.record import RIGHT_REASON
from lmms_rpts.report.charts import accuracy_against_rpts, estimate_bar, rpts_histogram
from lmms_rpts.report.frame import STYLES, Frame
from lmms_rpts.report.graded_view import URGENCY as GRADED_URGENCY
from lmms_rpts.report.graded_view import GradedEntry, GradedView
from lmms_rpts.report.pictures import Picture
from lmms_rpts.report.terms import (
    DIFFERING_MARKS,
    DIFFERING_WORDS,
    FLAG_WORDS,
    GRADED_WORDS,
    HEADLINE_WORDS,
    METRIC_WORDS,
    MODALITY_WORDS,
    OUTCOME_WORDS,
    QUESTION_WORDS,
)
from lmms_rpts.report.view import URGENCY, Answer, Entry, Gallery, View
from lmms_rpts.runs.validity import decimal, percent, set_title
from lmms_rpts.tasks.display import ShownGrade
from lmms_rpts.tasks.rpts_eval.results import COUNTS
from lmms_rpts.tasks.rpts_eval.summary import GROUPS

_IMAGES = "images/"
_MAIN = '<main id="main">'
_CREDIT = "samples of lmms-eval. RPTS: Wang and Zhang, arXiv 2511.06899."

LONGEST = 50_000
"""Maximum number of characters of a text of a graded answer."""
MOST_OPTIONS = 100
"""Maximum number of options of a question that are shown."""
MOST_GOLD = 20
"""Maximum number of gold answers to a question that are shown."""
MOST_ROWS = 200
"""Maximum number of rows of a table of numbers."""


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
        graded: the benchmarks with graded answers.
        gallery: pictures of the graded instances; those from a benchmark's own function by the
            anchor of the instance and an empty name.
    """

    def __init__(
        self,
        view: View,
        title: str,
        no_image: str,
        longest_side: int = 480,
        graded: Sequence[GradedView] = (),
        gallery: Gallery = MappingProxyType({}),
    ) -> None:
        self.view, self.title, self.graded = view, title, graded
        self._gallery = gallery
        self._frame = Frame((*STYLES, "graded.css") if graded else STYLES)
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
            set_title=set_title,
            corrected_explained=EXPLAINED,
            graded_outcomes=GRADED_WORDS,
            graded_urgency=GRADED_URGENCY.index,
            flags=FLAG_WORDS,
            kinds=_KINDS,
            grade_class=_grade_class,
            grade_text=_grade_text,
            bounded=bounded,
            cell_parts=cell_parts,
            most_options=MOST_OPTIONS,
            most_gold=MOST_GOLD,
            most_rows=MOST_ROWS,
        )

    @property
    def count(self) -> int:
        """The number of instances of all kinds."""
        return len(self.view.entries) + sum(len(view.entries) for view in self.graded)

    @property
    def frame_parts(self) -> int:
        """Number of parts of ``single`` that are not instances: begin, overviews and end."""
        return 2 + bool(self.view.runs) + len(self.graded)

    def single(self) -> Iterator[str]:
        """The page of a one-file report in parts, one for each entry."""
        # No text can contain this mark: all texts are escaped.
        before, mark, after = self._page(self.title, Links(), Markup("")).partition(_MAIN)
        yield before + mark
        yield from self._overviews(lambda entry: f"#{entry.anchor}")
        for view, entry, previous, following in self._entries():
            links = Links(previous=previous and f"#{previous}", next=following and f"#{following}")
            article = self._instance(view, entry, links)
            # For browsers without scripts; others parse it when it is opened (core.js).
            yield f'<noscript data-entry="{entry.anchor}">\n{article}</noscript>\n'
        yield after

    def index(self) -> str:
        """The overview of a report in a folder."""
        body = "".join(self._overviews(lambda entry: f"instances/{entry.anchor}.html"))
        return self._page(self.title, Links(), Markup(body))  # noqa: S704 - rendered

    def instances(self) -> Iterator[tuple[str, str]]:
        """File names and pages of the instances of a report in a folder."""
        for view, entry, previous, following in self._entries():
            links = Links(
                overview="../index.html",
                images=f"../{_IMAGES}",
                previous=previous and f"{previous}.html",
                next=following and f"{following}.html",
            )
            body = Markup(self._instance(view, entry, links, opened=True))  # noqa: S704 - rendered
            name = (
                f"{entry.task} {entry.name}"
                if isinstance(entry, GradedEntry)
                else f"{entry.instance.task} {entry.instance.id}"
            )
            page = self._page(f"{name} · {self.title}", links, body, "'self' file: data:")
            yield f"{entry.anchor}.html", page

    def _entries(
        self,
    ) -> Iterator[tuple[View | GradedView, Entry | GradedEntry, str | None, str | None]]:
        """Each entry with its view, and the anchors of the previous and the next entry."""
        views: Sequence[View | GradedView] = (self.view, *self.graded)
        for view in views:
            anchors = [None, *(entry.anchor for entry in view.entries), None]
            entries: Sequence[Entry | GradedEntry] = view.entries
            for at, entry in enumerate(entries):
                yield view, entry, anchors[at], anchors[at + 2]

    def _overviews(self, link: Callable[[Entry | GradedEntry], str]) -> Iterator[str]:
        """The overview of the RPTS runs, where there are any, and of each graded benchmark."""
        if self.view.runs:
            yield self._overview(Links(), link)
        for at, view in enumerate(self.graded):
            yield self._environment.get_template("graded_overview.jinja").render(
                view=view,
                title=None if at or self.view.runs else self.title,
                link=link,
                several_tasks=len({entry.task for entry in view.entries}) > 1,
            )

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

    def _instance(
        self,
        view: View | GradedView,
        entry: Entry | GradedEntry,
        links: Links,
        opened: bool = False,
    ) -> str:
        if isinstance(entry, GradedEntry):
            keys = [(entry.task, name) if name else (entry.anchor, "") for name in entry.images]
            images = [
                (name, self._gallery.get(key)) for name, key in zip(entry.images, keys, strict=True)
            ]
            template, fields = "graded_instance.jinja", {"view": view, "images": images}
        else:
            template, fields = "instance.jinja", {}
        body = self._environment.get_template(template).render(entry=entry, links=links, **fields)
        kind = "instance open" if opened else "instance"
        return f'<article class="{kind}" id="{entry.anchor}">\n{body}</article>\n'

    def _page(self, title: str, links: Links, body: Markup, images: str = "data:") -> str:
        places = {"#overview": "Overview", "#instances": "Instances"} if self.view.runs else {}
        places |= {f"#{view.name}": view.benchmark.title for view in self.graded}
        parts = [(links.overview + place, name) for place, name in places.items()]
        return self._frame.page(title, body, parts=parts, credit=_CREDIT, images=images)


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


def _by_run(entry: Entry | GradedEntry, kind: str) -> str:
    """Words of each run, for the filters: joined by ``+``, with a space between runs."""
    words: list[set[str]] = [set() for _ in entry.by_run]
    for answer in entry.answers:
        words[answer.run].update(_WORDS[kind](answer))
    return " ".join("+".join(sorted(each)) or "-" for each in words)


def _broken_at(answer: Answer) -> Iterable[str]:
    error = answer.response.first_error
    return [error.modality] if error else []


_KINDS = ("outcomes", "flags")
"""Properties of graded answers that the page can filter by."""
_WORDS: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "outcome": lambda answer: [answer.outcome],
    "broken": _broken_at,
    "apart": lambda answer: ["apart"] * answer.apart,
    "outcomes": lambda answer: [answer.outcome],
    "flags": lambda answer: answer.flags,
}
"""Properties that the page can filter by: outcome, kind of the first error, differing scores."""


def cell_parts(text: str) -> tuple[str, str]:
    """The value of a cell of a table, and its interval or deviation."""
    for mark in (" [", " ±"):
        value, found, rest = text.partition(mark)
        if found:
            return value, (found + rest).strip()
    return text, ""


def bounded(text: str, longest: int = LONGEST) -> str:
    """A text; if it is too long for a page, its middle is left out."""
    if len(text) <= longest:
        return text
    half = longest // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n\n[… {left_out:,} characters left out …]\n\n{text[-half:]}"


def _grade_text(grade: ShownGrade, scale: str = "") -> str:
    """A grade in a word or two."""
    if grade.word:
        return grade.word
    if grade.value is None:
        return "failed" if grade.error else "none"
    if scale:
        return f"{grade.value:.3f}"
    words = {1.0: "right", 0.0: "wrong"}
    return words.get(grade.value, f"{grade.value:.3g}")


def _grade_class(grade: ShownGrade, scale: str = "") -> str:
    if grade.value is None:
        return "g-unscored"
    if scale:
        return "g-value"
    return {1.0: "g-right", 0.0: "g-wrong"}.get(grade.value, "g-partial")
