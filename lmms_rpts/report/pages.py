"""HTML pages of a report, rendered from its views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from lmms_rpts.analysis import differences
from lmms_rpts.analysis.overview import DIMENSIONS, Dimension, Group, Overview
from lmms_rpts.analysis.validity import EXPLAINED
from lmms_rpts.base.escaping import HIDDEN, cut_middle, interval
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.report.entries import GRADED_URGENCY, URGENCY, Answer, Entry, GradedView, RptsView
from lmms_rpts.report.frame import STYLES, Frame, terms
from lmms_rpts.report.pictures import Gallery, Picture
from lmms_rpts.report.trees import draw_response
from lmms_rpts.report.wrapping import width_of
from lmms_rpts.runs.validity import set_title
from lmms_rpts.tasks.grade_types import ShownGrade
from lmms_rpts.tasks.rpts_eval.summary import GRADING
from lmms_rpts.tasks.sheets import explanation, summary_sheets

_MAIN = '<main id="main">'
_CREDIT = "samples of lmms-eval. RPTS: Wang and Zhang, arXiv 2511.06899."
_LINKS: Mapping[str, str] = {"overview": "", "images": "", "previous": "", "next": ""}
"""Links of a page; an empty ``overview`` or ``images`` is in the page itself."""
_MOST = {"options": 100, "gold": 20, "rows": 200}
"""Maximum number of options and gold answers of a question, and of rows of a table of numbers."""

_LABEL_LENGTH, _LABEL_HEIGHT = 20, 14
"""Of a label in a chart: characters, and pixels."""
SCATTER = (50, 236, 12, 166)
"""Left edge, width, upper edge and height of the chart of RPTS against accuracy, in pixels."""

LONGEST = 50_000
"""Maximum number of characters of a text of a graded answer."""
MOST_RAW = 100_000
"""Maximum number of characters of a record in the page."""


class Pages:
    """Renders one report: as one page, or as an overview and a page for each instance.

    Args:
        views: of the RPTS runs, if there are any, then of each benchmark with graded answers.
        title: title of the report.
        no_image: text that is shown instead of a missing image.
        longest_side: longer side of the images as shown, in pixels; the files may be larger.
        gallery: pictures of the instances; those from a benchmark's own function by the anchor of
            the instance and an empty name.
    """

    def __init__(
        self,
        views: Sequence[RptsView | GradedView],
        title: str,
        no_image: str = "",
        longest_side: int = 480,
        gallery: Gallery = MappingProxyType({}),
    ) -> None:
        self.views, self.title, self.gallery = views, title, gallery
        is_graded = any(view.name for view in views)
        self._frame = Frame((*STYLES, "graded.css") if is_graded else STYLES)
        self._frame.environment.globals.update(
            terms=terms(),
            differences=differences,
            difference_of=_difference_of,
            most=_MOST,
            metric_groups=GRADING.groups,
            metrics=GRADING.metrics,
            no_image=no_image,
            fitted=partial(_fitted, longest=longest_side),
            draw=draw_response,
            raw=_raw,
            tenths=_tenths,
            label_heights=label_heights,
            chart_of_runs=SCATTER,
            label_length=_LABEL_LENGTH,
            heat=_heat,
            by_run=_by_run,
            disagreement=_disagreement,
            urgency=URGENCY.index,
            graded_urgency=GRADED_URGENCY.index,
            interval=interval,
            set_title=set_title,
            corrected_explained=EXPLAINED,
            grade_class=_grade_class,
            grade_text=_grade_text,
            bounded=bounded,
            parts_of=_parts_of,
            sheets_of=summary_sheets,
            explanation=explanation,
            cell_parts=cell_parts,
        )

    @property
    def count(self) -> int:
        """The number of instances of all kinds."""
        return sum(len(view.entries) for view in self.views)

    def single(self) -> Iterator[str]:
        """The page of a one-file report in parts: begin, overviews, each entry, and end."""
        # No text can contain this mark: all texts are escaped.
        before, mark, after = self._page(self.title, _LINKS, "").partition(_MAIN)
        yield before + mark
        yield from self._overviews(lambda entry: f"#{entry.anchor}")
        for view, entry, links in self._entries("#", ""):
            article = self._instance(view, entry, links)
            # For browsers without scripts; others parse it when it is opened (core.js).
            yield f'<noscript data-entry="{entry.anchor}">\n{article}</noscript>\n'
        yield after

    def index(self) -> str:
        """The overview of a report in a folder."""
        body = "".join(self._overviews(lambda entry: f"instances/{entry.anchor}.html"))
        return self._page(self.title, _LINKS, body)

    def instances(self) -> Iterator[tuple[str, str]]:
        """File names and pages of the instances of a report in a folder."""
        there = {"overview": "../index.html", "images": "../images/"}
        for view, entry, links in self._entries("", ".html"):
            body = self._instance(view, entry, links | there, opened=True)
            title = f"{entry.task} {entry.name} · {self.title}"
            page = self._page(title, links | there, body, "'self' file: data:")
            yield f"{entry.anchor}.html", page

    def _entries(
        self, before: str, after: str
    ) -> Iterator[tuple[RptsView | GradedView, Entry, dict[str, str]]]:
        """Each entry with its view, and links to the previous and the next entry."""
        for view in self.views:
            places = [f"{before}{entry.anchor}{after}" for entry in view.entries]
            for entry, previous, following in zip(
                view.entries, ["", *places], [*places[1:], ""], strict=False
            ):
                yield view, entry, {**_LINKS, "previous": previous, "next": following}

    def _overviews(self, link: Callable[[Entry], str]) -> Iterator[str]:
        """The overview of the RPTS runs, where there are any, and of each graded benchmark."""
        for at, view in enumerate(self.views):
            name = "graded_overview.jinja" if view.name else "overview.jinja"
            yield self._frame.body(
                name,
                view=view,
                title=None if at else self.title,
                link=link,
                several_tasks=len({entry.task for entry in view.entries}) > 1,
                **({} if isinstance(view, GradedView) else _overview_fields(view)),
            )

    def _instance(
        self,
        view: RptsView | GradedView,
        entry: Entry,
        links: Mapping[str, str],
        opened: bool = False,
    ) -> str:
        keys = [(entry.task, name) if name else (entry.anchor, "") for name in entry.images]
        images = [(key[1], self.gallery.get(key)) for key in keys]
        name = "graded_instance.jinja" if view.name else "instance.jinja"
        body = self._frame.body(name, view=view, entry=entry, links=links, images=images)
        kind = "instance open" if opened else "instance"
        return f'<article class="{kind}" id="{entry.anchor}">\n{body}</article>\n'

    def _page(self, title: str, links: Mapping[str, str], body: str, images: str = "data:") -> str:
        places: dict[str, str] = {}
        for view in self.views:
            if isinstance(view, GradedView):
                places[f"#{view.name}"] = view.benchmark.title
            else:
                places |= {"#overview": "Overview", "#instances": "Instances"}
        parts = [(links["overview"] + place, name) for place, name in places.items()]
        content = Markup(body)  # noqa: S704 - rendered
        return self._frame.page(
            title=title, body=content, parts=parts, credit=_CREDIT, images=images
        )


def _overview_fields(view: RptsView) -> dict[str, Any]:
    instances = [entry.instance for entry in view.entries]
    return {
        "breakdowns": {each: _groups(view.overviews, each) for each in DIMENSIONS},
        "kinds_given": any(each.abilities or each.relation for each in instances),
    }


def _groups(
    overviews: Sequence[Overview], dimension: Dimension
) -> list[tuple[str | None, list[Group | None]]]:
    """The values of a dimension, each with the group of each run."""
    found = [{each.name: each for each in it.breakdowns.get(dimension, ())} for it in overviews]
    names = sorted({name for own in found for name in own}, key=lambda name: (name is None, name))
    return [(name, [own.get(name) for own in found]) for name in names]


def label_heights(overviews: Sequence[Overview], labels: Sequence[str]) -> list[float]:
    """Baselines of the labels in the chart of RPTS against accuracy, so that none overlap."""
    left, across, top, up = SCATTER
    placed: list[tuple[float, float, float]] = []
    heights = []
    for seen, label in zip(overviews, labels, strict=True):
        x, y = seen.metrics["accuracy"].value, seen.metrics["rpts"].value
        if x is None or y is None:
            heights.append(0.0)
            continue
        width = width_of(cut_middle(label, _LABEL_LENGTH), 12, bold=True) + 10
        start = left + across * x - (width if x > 0.5 else 0)
        wanted = max(top + up * (1 - y) - 9, top)
        near = [at + by for _, _, at in placed for by in (-_LABEL_HEIGHT, _LABEL_HEIGHT)]
        free = [
            at
            for at in (wanted, *near)
            if top <= at <= top + up
            and not any(
                abs(at - other) < _LABEL_HEIGHT and start < end and begin < start + width
                for begin, end, other in placed
            )
        ]
        heights.append(min(free, key=lambda at: abs(at - wanted), default=wanted))
        placed.append((start, start + width, heights[-1]))
    return heights


def _fitted(picture: Picture, longest: int) -> tuple[int, int]:
    """Width and height of a picture on the page."""
    scale = min(1.0, longest / max(picture.width, picture.height))
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale))


def _raw(record: RptsRecord) -> str | None:
    """The record as JSON in one line; None if it is too long for a page."""
    text = HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", record.to_json())
    return text if len(text) <= MOST_RAW else None


def _parts_of(text: str) -> tuple[str, str | None]:
    """The text outside the thinking, and the thinking (None if there is none)."""
    spoken, thinking, _ = split_thinking(text)
    return spoken.strip(), thinking


def _tenths(responses: Iterable[RptsRecord], correct: bool) -> list[int]:
    """Numbers of right or wrong answers by tenths of the RPTS, of which the last includes 1."""
    counts = [0] * 10
    for response in responses:
        if response.rpts is not None and response.answer.correct is correct:
            counts[min(9, int(response.rpts * 10 + 1e-9))] += 1
    return counts


def _heat(count: int, seen: Overview) -> int:
    """The class of a count, from 0 to 4, relative to the largest count."""
    most = max(seen.origins.values(), default=0)
    return -(-4 * count // most) if most else 0


_WORDS: Mapping[str, Callable[[Answer], Iterable[str]]] = {
    "outcome": lambda answer: [answer.outcome],
    "flags": lambda answer: answer.flags,
    "broken": lambda answer: [each.modality for each in [answer.record.first_error] if each],
    "apart": lambda answer: ["apart"] * differences.is_apart(answer.record),
}
"""What filters look for: outcome, lists, kind of the first error, scores that differ."""


def _by_run(entry: Entry, kind: str) -> str:
    """Words of each run, for the filters: joined by ``+``, with a space between runs."""
    words: list[set[str]] = [set() for _ in entry.by_run]
    for answer in entry.answers:
        words[answer.run].update(_WORDS[kind](answer))
    return " ".join("+".join(sorted(each)) or "-" for each in words)


def _disagreement(entry: Entry) -> tuple[Sequence[str], float | None]:
    """In what the runs differ, by the answers to check first, and by how much in RPTS."""
    records = [cell.worst.record for cell in entry.by_run if cell]
    scores = [each.rpts for each in records if each.rpts is not None]
    spread = max(scores) - min(scores) if len(scores) > 1 else None
    return differences.differing_in(records), spread


def _difference_of(record: RptsRecord) -> float | None:
    """RPTS minus guarded score; None if one of them is missing."""
    if record.rpts is None or record.guarded is None:
        return None
    return record.rpts - record.guarded


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
    return {1.0: "right", 0.0: "wrong"}.get(grade.value, f"{grade.value:.3g}")


def _grade_class(grade: ShownGrade, scale: str = "") -> str:
    if grade.value is None:
        return "g-unscored"
    return "g-value" if scale else {1.0: "g-right", 0.0: "g-wrong"}.get(grade.value, "g-partial")
