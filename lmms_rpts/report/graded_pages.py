"""HTML of graded answers in a report: a section for each benchmark, and its instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Environment

from lmms_rpts.report.graded_choice import URGENCY
from lmms_rpts.report.graded_view import GradedAnswer, GradedEntry, GradedView
from lmms_rpts.report.pictures import Picture
from lmms_rpts.tasks.display import ShownGrade

OUTCOME_NAMES = {
    "right": "right",
    "partial": "right in part",
    "value": "scored",
    "wrong": "wrong",
    "unscored": "not graded",
}
"""Names of outcomes on the page, in the order of the legend."""

FLAG_NAMES = {"disagreements": "graders disagree", "undecided": "undecided"}
"""Names on the page of lists of answers; other lists are shown with their own names."""

LONGEST = 50_000
"""Maximum number of characters of a text on a page."""
MOST_OPTIONS = 100
"""Maximum number of options of a question that are shown."""
MOST_GOLD = 20
"""Maximum number of gold answers to a question that are shown."""
MOST_ROWS = 200
"""Maximum number of rows of a table of numbers."""

Gallery = Mapping[tuple[str, str], Picture]
"""Pictures by task and file name; by anchor if the benchmark's own function provides them."""


class GradedPages:
    """Renders the graded benchmarks of one report.

    Args:
        views: views of the benchmarks.
        gallery: their pictures.
        no_image: text that is shown instead of a missing image.
    """

    def __init__(self, views: Sequence[GradedView], gallery: Gallery, no_image: str) -> None:
        self.views, self._gallery, self._no_image = views, gallery, no_image

    @property
    def places(self) -> dict[str, str]:
        """The names of the sections, by their links in the page."""
        return {f"#{view.name}": view.benchmark.title for view in self.views}

    @property
    def count(self) -> int:
        """The number of instances."""
        return sum(len(view.entries) for view in self.views)

    def sections(
        self, environment: Environment, title: str | None, link: Callable[[GradedEntry], str]
    ) -> Iterator[str]:
        """The section of each benchmark.

        Args:
            environment: of the templates.
            title: the heading of the page; None if the page already has one.
            link: gives the address of an entry's page.
        """
        for at, view in enumerate(self.views):
            yield environment.get_template("graded_overview.jinja").render(
                view=view,
                title=title if at == 0 else None,
                link=link,
                outcomes=OUTCOME_NAMES,
                flags=FLAG_NAMES,
                urgency=URGENCY.index,
                cell_parts=cell_parts,
                most_rows=MOST_ROWS,
                by_run=_by_run,
                kinds=_kinds,
                several_tasks=len({entry.task for entry in view.entries}) > 1,
            )

    def entries(self) -> Iterator[tuple[GradedView, GradedEntry, str | None, str | None]]:
        """Each entry with its view, and the anchors of the previous and the next entry."""
        for view in self.views:
            anchors = [None, *(entry.anchor for entry in view.entries), None]
            for at, entry in enumerate(view.entries):
                yield view, entry, anchors[at], anchors[at + 2]

    def instance(
        self, environment: Environment, view: GradedView, entry: GradedEntry, links: Any
    ) -> str:
        """The content of an entry's page."""
        return environment.get_template("graded_instance.jinja").render(
            view=view,
            entry=entry,
            links=links,
            outcomes=OUTCOME_NAMES,
            flags=FLAG_NAMES,
            grade_class=_grade_class,
            grade_text=_grade_text,
            bounded=bounded,
            most_options=MOST_OPTIONS,
            most_gold=MOST_GOLD,
            no_image=self._no_image,
            images=[(name, self._picture(entry, name)) for name in entry.images],
        )

    def _picture(self, entry: GradedEntry, name: str) -> Picture | None:
        return self._gallery.get((entry.task, name) if name else (entry.anchor, ""))


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


def _by_run(entry: GradedEntry, words_of: Callable[[GradedAnswer], Sequence[str]]) -> str:
    """Words of each run, for the filters: joined by ``+``, with a space between runs."""
    found: list[set[str]] = [set() for _ in entry.by_run]
    for answer in entry.answers:
        found[answer.run].update(words_of(answer))
    return " ".join("+".join(sorted(each)) or "-" for each in found)


_kinds: Mapping[str, Callable[[GradedAnswer], Sequence[str]]] = {
    "outcomes": lambda answer: [answer.outcome],
    "flags": lambda answer: answer.flags,
}
"""Properties of answers that the page can filter by."""


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
