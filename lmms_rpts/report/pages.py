"""HTML of a report, rendered from its views."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from markupsafe import Markup

from lmms_rpts.analysis.overview import Overview, differing_in
from lmms_rpts.analysis.tables import Sheet, by_group, explanation, summary_sheets
from lmms_rpts.base.escaping import shorten
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.report.entries import FLAGS, GRADED_URGENCY, URGENCY, Answer, Entry, RptsView, View
from lmms_rpts.report.frame import SCRIPTS, STYLES, Frame, terms
from lmms_rpts.report.markup import HIDDEN, rich
from lmms_rpts.report.pictures import Gallery, Picture
from lmms_rpts.report.requests import asked_in, request_about, requests_of, rewriting_request
from lmms_rpts.report.trees import clue_label, draw_response
from lmms_rpts.report.wrapping import width_of
from lmms_rpts.runs.answers import Grade
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.runs.rounds import Figure
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.stats.figures import cut_middle, interval

_MAIN = '<main id="main">'
_CREDIT = "samples of lmms-eval. RPTS: Wang and Zhang, arXiv 2511.06899."
# Maximum number of options and gold answers of a question, and of rows of a table of numbers.
_MOST = {"options": 100, "gold": 20, "rows": 200}
# Of a label in a chart: characters, and pixels.
_LABEL_LENGTH, _LABEL_HEIGHT = 20, 14
# Left edge, width, upper edge and height of the chart of RPTS against accuracy, in pixels.
SCATTER = (50, 236, 12, 166)

_SHARE = re.compile(r"([01]\.\d+)(?: \[([\d.]+), ([\d.]+)\])?(?: ± [\d.]+)?")

# Maximum number of characters of a text of a graded answer.
LONGEST = 50_000
# Maximum number of characters of a record in the page.
MOST_RAW = 100_000


class Choice(NamedTuple):
    """A filter by the answers of a run.

    Attributes:
        name: its name in addresses.
        label: its label in the page.
        options: the words of the page by value.
        values: the values of an answer.
        unset: the word for no choice.
    """

    name: str
    label: str
    options: Mapping[str, str]
    values: Callable[[Answer], Iterable[str]]
    unset: str = "all"


def render(
    views: Sequence[View],
    title: str,
    *,
    no_image: str = "",
    longest_side: int = 480,
    gallery: Gallery = MappingProxyType({}),
) -> Iterator[str]:
    """The page in parts: begin, overviews, each question, and end.

    Args:
        views: of the RPTS runs, if there are any, then of each benchmark with graded answers.
        title: title of the report.
        no_image: text that is shown instead of a missing image.
        longest_side: longer side of the images as shown, in pixels; the files may be larger.
        gallery: pictures of the instances; those from a benchmark's own function by the anchor of
            the instance and an empty name.
    """
    once: dict[str, int] = {}
    graded = any(view.name or view.beside for view in views)
    styles = (*STYLES, "markup.css", *["graded.css"] * graded)
    frame = Frame(styles, (*SCRIPTS, "written.js"))
    frame.environment.globals.update(
        _names(), once=once, no_image=no_image, fitted=lambda image: _fitted(image, longest_side)
    )
    places: dict[str, str] = {}
    for view in views:
        own = {view.name: view.benchmark.title}
        places |= own if view.name else {"overview": "Overview", "instances": "Instances"}
    page = frame.page(
        title=title,
        body="",
        parts=[(f"#{place}", name) for place, name in places.items()],
        credit=_CREDIT,
    )
    # No text can contain this mark: all texts are escaped.
    before, mark, after = page.partition(_MAIN)
    yield before + mark
    for at, view in enumerate(views):
        yield frame.body("overview.jinja", view=view, title="" if at else title)
    for view in views:
        anchors = ["", *(entry.anchor for entry in view.entries), ""]
        for at, entry in enumerate(view.entries):
            keys = [(entry.task, name) if name else (entry.anchor, "") for name in entry.images]
            article = frame.body(
                "instance.jinja",
                view=view,
                entry=entry,
                previous=anchors[at],
                next=anchors[at + 2],
                images=[(key[1], gallery.get(key)) for key in keys],
            )
            # For browsers without scripts; others parse it when it is opened (core.js).
            yield f'<noscript data-entry="{entry.anchor}">\n{article}</noscript>\n'
    yield frame.body("shared.jinja")
    yield after


def _answers(view: View) -> Iterator[Answer]:
    return chain.from_iterable(entry.answers for entry in view.entries)


def _names() -> dict[str, Any]:
    """What the templates of all reports use."""
    return {
        "terms": terms(),
        "clue_label": clue_label,
        "most": _MOST,
        "metric_groups": by_group(METRICS.values()),
        "draw": draw_response,
        "raw": _raw,
        "requests_about": requests_of,
        "rewriting": rewriting_request,
        "asked_in": asked_in,
        "request_about": request_about,
        "spent_on": partial(spent_on, cost=cost_function()),
        "tenths": _tenths,
        "label_heights": label_heights,
        "label_length": _LABEL_LENGTH,
        "chart_of_runs": SCATTER,
        "heat": _heat,
        "choices": _choices,
        "words_by_run": _words_by_run,
        "numbered": lambda runs: [(at, cut_middle(run.label, 60)) for at, run in enumerate(runs)],
        "equal_to": lambda values: [(f"={value}", value) for value in values],
        "tags_of": _tags_of,
        "disagreement": _disagreement,
        "urgency": URGENCY.index,
        "graded_urgency": GRADED_URGENCY.index,
        "interval": interval,
        "grade_words": _grade_words,
        "bounded": bounded,
        "rich": _rich,
        "parts_of": _parts_of,
        "headline": _headline,
        "sheets_of": _sheets,
        "bar_of": _bar_of,
        "run_of": lambda view, cells: next(
            (at for at, run in enumerate(view.runs) if shorten(run.label, 40) in cells), 0
        ),
        "explanation": explanation,
        "cell_parts": cell_parts,
    }


def _headline(view: View) -> Mapping[str, str]:
    """The metrics of the cards with their words: of graded answers, those of the first columns."""
    if not view.name:
        return terms()["HEADLINE_WORDS"]
    found = {name: view.benchmark.metrics[name] for name in view.benchmark.columns}
    models = view.summary.models
    there = [
        name
        for name, each in found.items()
        if not each.optional or any(it.metrics[name].value is not None for it in models)
    ]
    return {name: found[name].title for name in there[:4]}


def _sheets(view: View) -> Sequence[Sheet]:
    """The tables of a view; of RPTS runs, what the cards have about all documents is left out."""
    if view.name:
        return summary_sheets(view.summary)
    sheets = summary_sheets(view.summary, ("n", "rpts", "accuracy"))
    return sheets[len({row.group for row in view.summary.of("task")}) < 2 :]


def _bar_of(cell: str) -> Figure | None:
    """The figure of a cell of a table, ``0.667 [0.35, 0.88]``, if it is a share."""
    found = _SHARE.fullmatch(cell)
    if not found:
        return None
    value, low, high = (None if each is None else float(each) for each in found.groups())
    return Figure(value, None, low, high)


def label_heights(overviews: Sequence[Overview], labels: Iterable[str]) -> list[float]:
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


def _heat(count: int, counts: Iterable[int]) -> int:
    """The class of a count, from 0 to 4, relative to the largest count."""
    most = max(counts, default=0)
    return -(-4 * count // most) if most else 0


def _choices(view: View) -> list[Choice]:
    """The filters by the answers of a run; all of them look at the same run."""
    words = terms()
    if isinstance(view, RptsView):
        return [
            Choice("outcome", "Outcome", words["OUTCOME_WORDS"], lambda answer: [answer.outcome]),
            Choice(
                "broken",
                "First error",
                words["MODALITY_WORDS"],
                lambda answer: [each.modality for each in [answer.record.first_error] if each],
                "any",
            ),
        ]
    there = {name for counts in view.outcomes for name in counts}
    grades = {name: text for name, text in words["GRADED_WORDS"].items() if name in there}
    flags = {name: words["FLAG_WORDS"][name] for name in FLAGS}
    return [
        Choice("outcome", "Grade", grades, lambda answer: [answer.outcome]),
        Choice("flag", "Check", flags, lambda answer: answer.flags),
    ]


def _words_by_run(view: View, entry: Entry) -> str:
    """The values of the answers of each run by filter, as JSON."""
    choices = _choices(view)
    found: list[dict[str, list[str]]] = [{} for _ in entry.by_run]
    for answer in entry.answers:
        for each in choices:
            own = found[answer.run].setdefault(each.name, [])
            own += [value for value in each.values(answer) if value not in own]
    return json.dumps(found, separators=(",", ":"))


def _tags_of(entry: Entry) -> list[str]:
    """Its values of all breakdowns, without the task, which is in the heading."""
    every = (value for name, values in entry.tags.items() for value in values[:20])
    return [value for value in dict.fromkeys(every) if value != entry.task]


def _disagreement(entry: Entry) -> tuple[Sequence[str], float | None]:
    """In what the runs differ, by the answers to check first, and by how much in RPTS."""
    records = [cell.worst.record for cell in entry.by_run if cell]
    scores = [each.rpts for each in records if each.rpts is not None]
    spread = max(scores) - min(scores) if len(scores) > 1 else None
    return differing_in(records), spread


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


def _rich(text: str, longest: int = LONGEST, block: bool = False) -> Markup:
    """A bounded text with its formulas and other markup."""
    return rich(bounded(text, longest), block=block)


def _grade_words(grade: Grade, scale: str) -> tuple[str, str]:
    """The class of a grade, and the grade in a word or two."""
    if grade.score is None:
        return "unscored", "failed" if grade.error else "undecided"
    if scale:
        return "value", f"{grade.score:.3f}"
    kind = {1.0: "right", 0.0: "wrong"}.get(grade.score, "partial")
    return kind, f"{grade.score:.3g}" if kind == "partial" else kind
