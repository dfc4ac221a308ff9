"""Description of how a benchmark's grades are summarized, and the figures of a summary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lmms_rpts.runs.record import field_of
from lmms_rpts.runs.rounds import NONE, Figure
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.tasks.display import Display
from lmms_rpts.tasks.results import Metrics

if TYPE_CHECKING:
    from lmms_rpts.sheet import Sheet

Rounds = Sequence[Sequence[Any]]
"""The responses of each round."""

Counts = Mapping[str, int | Mapping[str, int]]


class Subject(NamedTuple):
    """A model, on a task if each task is summarized separately."""

    task: str
    model: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one model on some questions.

    Attributes:
        task: the task, if each is summarized separately; else empty.
        rounds: number of its runs that cover any of them.
        questions: number of questions.
        responses: its responses to them, over all rounds.
        unscored: number of responses without a value of the first metric.
        counts: further counts, by name.
        metrics: figures of the metrics, by name.
        tokens: tokens per response, if reported; without an interval.
    """

    task: str
    model: str
    rounds: int
    questions: int
    responses: int
    unscored: int
    counts: Counts
    metrics: Mapping[str, Figure]
    tokens: Figure


@dataclass(frozen=True, slots=True)
class Group:
    """The models on the questions with one value of a breakdown; None: no value in the data."""

    value: str | None
    models: tuple[Figures, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The models on the questions grouped by the values of one breakdown."""

    by: str
    groups: tuple[Group, ...]


class Column(NamedTuple):
    """A column of numbers: its heading, a model's text, and whether it is informative.

    It is shown if it is informative for any model. ``best``: the models whose values are
    emphasized.
    """

    head: str
    text: Callable[[Figures], str]
    speaks: Callable[[Figures], bool] = lambda figures: True
    best: Callable[[Sequence[Figures]], Collection[str]] = lambda models: ()


def cell_text(value: Any) -> str:
    """A value of a listed answer as text: 1 or 0 for yes and no."""
    if value is None:
        return NONE
    return value if isinstance(value, str) else f"{value:g}"


class Listed(NamedTuple):
    """A value of a listed answer.

    Attributes:
        name: its name in JSON.
        path: the field of the record, such as ``instance.id``.
        head: heading of its column; empty: it is not in the table.
        text: its text in the table.
    """

    name: str
    path: str
    head: str = ""
    text: Callable[[Any], str] = cell_text


class Listing(NamedTuple):
    """Individual answers to list.

    Attributes:
        what: a word for them, in the plural.
        wanted: selects records.
        values: their values, after the label of the run.
        texts: number of columns with texts; the others have numbers.
    """

    what: str
    wanted: Callable[[Any], bool]
    values: Sequence[Listed]
    texts: int

    def entry(self, run: str, record: Any) -> dict[str, Any]:
        """The values of a record by name, for JSON."""
        return {"run": run} | {each.name: field_of(record, each.path) for each in self.values}

    def cells(self, entry: Mapping[str, Any]) -> dict[str, str]:
        """The texts of an entry by the headings of their columns."""
        shown = {each.head: each.text(entry[each.name]) for each in self.values if each.head}
        return {"run": entry["run"], **shown}


@dataclass(frozen=True, kw_only=True)
class Grading:
    """How the graded answers of a benchmark are summarized and shown.

    Attributes:
        title: title of the benchmark.
        metrics: the metrics, by name; the first says which responses are scored.
        breakdowns: functions that return the values of a record, by name; None: no value in the
            data.
        first: the breakdown that is always shown; empty: none.
        by_task: each task is summarized separately.
        same_questions: tasks that ask the same questions in other ways.
        questions: a word for them.
        places: order of values; other values come after them.
        settings: names of settings that must be the same in all runs.
        counts: predicates by name; the records for which one is true are counted.
        kinds: what a metric is, by its name: a share of responses, the mean of a score in [0, 1],
            or a mean count. Without: a share if all values are 0 or 1.
        lower, neither: metrics of which less, or neither more nor less, is better.
        untested: metrics that `compare` does not test: each tested one raises the corrected
            p-values of the others.
        more: further metrics and counts of some responses, for a name and value of a breakdown.
        asked: further questions to a judge, each with a function that returns why it failed.
        notes: further warnings about a run.
        columns: columns of a model between the number of questions and its tokens.
        groups: the columns of all metrics, by the title of their table; empty: ``columns``.
        explained: what the columns mean.
        sentence: a sentence about each model below the tables.
        sheets: further tables of the models, after the first.
        numbers: the values of these tables, by name, for JSON.
        lists: individual answers to list, by option.
        tree: a tree of a subject's runs.
        tree_sheets: tables of trees, down to a level.
        display: how a report shows its answers one by one.
    """

    title: str
    metrics: Metrics
    breakdowns: Mapping[str, Callable[[Any], Iterable[str | None]]] = field(default_factory=dict)
    first: str = ""
    by_task: bool = False
    same_questions: bool = True
    questions: str = "questions"
    places: Sequence[str] = ()
    settings: Sequence[str] = ()
    counts: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    kinds: Mapping[str, Literal["share", "score", "count"]] = field(default_factory=dict)
    lower: Collection[str] = ()
    neither: Collection[str] = ()
    untested: Collection[str] = ()
    more: Callable[[Rounds, str, str | None], tuple[Mapping[str, Figure], Counts]] | None = None
    asked: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    notes: Callable[[AnyRun], Iterable[str]] | None = None
    columns: Sequence[Column] = ()
    groups: Mapping[str, Sequence[Column]] = field(default_factory=dict)
    explained: str = ""
    sentence: Callable[[Figures], str] | None = None
    sheets: Callable[[Sequence[Figures]], Iterable[Sheet]] | None = None
    numbers: Callable[[Sequence[Figures]], Mapping[str, Any]] | None = None
    lists: Mapping[str, Listing] = field(default_factory=dict)
    tree: Callable[[Subject, Sequence[AnyRun]], Any] | None = None
    tree_sheets: Callable[[Sequence[Any], int], Iterable[Sheet]] | None = None
    display: Display = field(default_factory=Display)
