"""View model of graded answers: the instances of one benchmark with the answers of its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal

from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.report.anchors import make_anchor, plain_name
from lmms_rpts.runs.logged import Logged, read_logged
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.display import ShownAnswer, ShownQuestion
from lmms_rpts.tasks.grade_types import Grading
from lmms_rpts.tasks.graded import GradeSummary, summarize_grades
from lmms_rpts.tasks.sheets import Sheet, summary_sheets

Graded = Literal["wrong", "unscored", "partial", "value", "right"]
"""How an answer was graded: ``value`` is a score that is neither right nor wrong."""

URGENCY: tuple[Graded, ...] = ("wrong", "unscored", "partial", "value", "right")
"""Outcomes in the order in which answers should be checked."""

MOST_ANSWERS = 20
"""Maximum number of answers of a run to a question that are shown; files may hold any number."""
MOST_IMAGES = 20
"""Maximum number of images of a question that are shown."""
MOST_VALUES = 60
"""Maximum number of values of a breakdown in a filter, and in a record."""
MOST_GROUPS = 500
"""Maximum number of values of a breakdown in a table."""
LONGEST_TAG = 200


@dataclass(frozen=True)
class GradedAnswer:
    """One graded answer as a page shows it.

    Attributes:
        anchor: its anchor in the page.
        label: label of its run.
        run: index of its run.
        record: the whole record.
        question: the question in this answer's variant.
        shown: the answer and its grades.
        outcome: how it was graded.
        scale: what the score measures, if it is not right or wrong.
        score: the grade that counts; None if there is none.
        flags: the lists of the benchmark that contain it, such as ``disagreements``.
    """

    anchor: str
    label: str
    run: int
    record: Any
    question: ShownQuestion
    shown: ShownAnswer
    outcome: Graded
    scale: str
    score: float | None
    flags: tuple[str, ...]

    @cached_property
    def parts(self) -> tuple[str, str | None]:
        """The text outside the thinking, and the thinking (None if there is none)."""
        spoken, thinking, _ = split_thinking(self.record.text or "")
        return spoken.strip(), thinking

    @property
    def repeat(self) -> int:
        """The index among the responses to one document, from 0."""
        return int(self.record.repeat)


@dataclass(frozen=True)
class RunCell:
    """The answers of one run to one question, for the table.

    Attributes:
        worst: the answer to check first.
        right: the number of right answers.
        of: the number of answers.
        left_out: the number of answers that are not shown.
        facts: facts about all these answers, by name.
    """

    worst: GradedAnswer
    right: int
    of: int
    left_out: int
    facts: Mapping[str, str]


@dataclass(frozen=True)
class GradedEntry:
    """A question with the answers of all runs.

    Attributes:
        anchor: its anchor in the report.
        task: its task.
        name: its own id.
        question: the question in the variant of the first answer.
        images: file names of its images; empty for an image from the benchmark's own function.
        images_left_out: the number of images that are not shown.
        tags: its values of the breakdowns, by breakdown.
        answers: the answers that are shown.
        by_run: the answers of each run; None if the run has none.
    """

    anchor: str
    task: str
    name: str
    question: ShownQuestion
    images: tuple[str, ...]
    images_left_out: int
    tags: Mapping[str, tuple[str, ...]]
    answers: tuple[GradedAnswer, ...]
    by_run: tuple[RunCell | None, ...]


@dataclass(frozen=True)
class GradedView:
    """All that a report shows of one benchmark.

    Attributes:
        benchmark: the benchmark.
        grading: how its answers are summarised and shown.
        runs: its runs.
        summary: the numbers.
        outcomes: for each run, the number of answers by outcome.
        entries: the questions that are shown, by urgency.
        total: the number of all questions.
        filters: the values of each breakdown that the shown questions have.
    """

    benchmark: Benchmark
    grading: Grading
    runs: tuple[AnyRun, ...]
    summary: GradeSummary
    outcomes: tuple[Mapping[str, int], ...]
    entries: tuple[GradedEntry, ...]
    total: int
    filters: Mapping[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """The benchmark's name in anchors."""
        return f"graded-{plain_name(self.benchmark.name)}"

    @property
    def sheets(self) -> list[Sheet]:
        """The tables of ``lmms-rpts summarize``."""
        return summary_sheets(self.summary)

    @property
    def sentences(self) -> list[str]:
        """A sentence about each model."""
        say = self.grading.sentence
        return [say(each) for each in self.summary.models] if say else []


def make_graded(
    benchmark: Benchmark,
    grading: Grading,
    runs: Sequence[AnyRun],
    limit: int | None,
    given: set[str],
) -> GradedView:
    """Merge the runs of one benchmark by question.

    Args:
        limit: maximum number of questions to show: wrong and unscored ones first, the same number
            of each task as far as possible; None: all.
        given: anchors that are already used; those of this view are added.

    Raises:
        RunError: if samples that must be read again cannot be read.
    """
    safe = _guarded(grading)
    by = [
        name
        for name in _shown_breakdowns(safe)
        if name != safe.first and _differs(safe.breakdowns[name], runs)
    ]
    found: dict[tuple[object, ...], list[tuple[int, Any]]] = {}
    for at, run in enumerate(runs):
        for record in run.responses:
            found.setdefault(identity(record), []).append((at, record))
    cases = [
        Case(str(key[0]), key, tuple(answers), min(rank_of(safe, each) for _, each in answers))
        for key, answers in found.items()
    ]
    chosen = choose(cases, limit)
    builder = _Builder(benchmark, safe, runs, _logged(safe, runs, chosen), given)
    entries = tuple(builder.entry(case) for case in chosen)
    return GradedView(
        benchmark=benchmark,
        grading=safe,
        runs=tuple(runs),
        summary=summarize_grades(safe, runs, by),
        outcomes=tuple(Counter(outcome_of(safe, each) for each in run.responses) for run in runs),
        entries=entries,
        total=len(cases),
        filters=_filters(safe, entries),
    )


def _guarded(grading: Grading) -> Grading:
    """The same grading, but a breakdown that fails on a record gives no value."""

    def guard(values_of: Callable[[Any], Iterable[str | None]]) -> Any:
        def values(record: Any) -> tuple[str | None, ...]:
            try:
                return tuple(values_of(record))
            except Exception:  # a function of another package, called with any file
                return (None,)

        return values

    safe = {name: guard(values_of) for name, values_of in grading.breakdowns.items()}
    return replace(grading, breakdowns=safe)


def _shown_breakdowns(grading: Grading) -> list[str]:
    """The names of the breakdowns that a report shows."""
    by = grading.breakdowns if grading.display.by is None else grading.display.by
    return _known(grading, [grading.first, *by])


def _filtered(grading: Grading) -> list[str]:
    """The names of the breakdowns that a report filters by."""
    return _known(grading, [*_shown_breakdowns(grading), *grading.display.filters])


def _known(grading: Grading, names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name in grading.breakdowns))


def _differs(values_of: Callable[[Any], Iterable[str | None]], runs: Iterable[AnyRun]) -> bool:
    """Whether a breakdown has several values, but at most ``MOST_GROUPS``."""
    every = {tuple(values_of(record)) for run in runs for record in run.responses}
    return 1 < len(every) <= MOST_GROUPS


@dataclass(frozen=True)
class Case:
    """The answers to one question, before they are prepared.

    Attributes:
        task: its task.
        key: identifies the question.
        answers: for each answer, the index of the run and the record.
        rank: lower ranks are shown first.
    """

    task: str
    key: tuple[object, ...]
    answers: tuple[tuple[int, Any], ...]
    rank: tuple[float, ...]


def identity(record: Any) -> tuple[object, ...]:
    """The task and question of a record, with the id, since other data number questions anew."""
    return (*record.instance.key, str(getattr(record.instance, "id", "")))


def score_of(grading: Grading, record: Any) -> float | None:
    """The value of the first metric, which says whether an answer is scored."""
    found = next(iter(grading.metrics.values()))(record)
    return None if found is None else float(found)


def outcome_of(grading: Grading, record: Any) -> Graded:
    """How an answer was graded."""
    score = score_of(grading, record)
    if score is None:
        return "unscored"
    if grading.display.scale(record):
        return "value"
    return "right" if score >= 1 else "partial" if score > 0 else "wrong"


def flags_of(grading: Grading, record: Any) -> tuple[str, ...]:
    """The lists of the benchmark that contain an answer."""
    return tuple(name for name, listing in grading.lists.items() if listing.wanted(record))


def rank_of(grading: Grading, record: Any) -> tuple[float, ...]:
    """The rank of an answer: lower ranks are shown first."""
    score = score_of(grading, record)
    order = URGENCY.index(outcome_of(grading, record))
    return (order, not flags_of(grading, record), 1.0 if score is None else score)


def choose(cases: Sequence[Case], limit: int | None) -> list[Case]:
    """The cases to show, by urgency, then by task and question.

    Args:
        limit: maximum number of cases, taken from the tasks in turn; None: all.
    """
    ordered = sorted(cases, key=lambda case: (case.rank, *map(_sortable, case.key)))
    if limit is None or len(ordered) <= limit:
        return ordered
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for place, case in enumerate(ordered):
        turns.append((seen[case.task], place))
        seen[case.task] += 1
    return [ordered[place] for place in sorted(place for _, place in sorted(turns)[:limit])]


def _sortable(part: object) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (0, str(part))


# --- entries -------------------------------------------------------------------------------------


def _logged(
    grading: Grading, runs: Sequence[AnyRun], cases: Sequence[Case]
) -> Mapping[tuple[str, int], Logged]:
    """Data about questions that is in the samples but not in their records."""
    lacking: set[tuple[str, int]] = set()
    for case in cases:
        for _, record in case.answers:
            asked = grading.display.question(record)
            if not asked.text or (asked.right is None and not asked.gold):
                lacking.add((record.instance.task, record.instance.doc_id))
    if not lacking:
        return {}
    return read_logged((file for run in runs for file in run.files), lacking)


class _Builder:
    """Prepares the entries of one benchmark."""

    def __init__(
        self,
        benchmark: Benchmark,
        grading: Grading,
        runs: Sequence[AnyRun],
        logged: Mapping[tuple[str, int], Logged],
        given: set[str],
    ) -> None:
        self._benchmark, self._grading, self._runs = benchmark, grading, runs
        self._logged, self._given = logged, given

    def entry(self, case: Case) -> GradedEntry:
        """The entry of one question."""
        record = case.answers[0][1]
        anchor = make_anchor(case.task, str(case.key[1]), self._given)
        by_run = [
            [each for at, each in case.answers if at == number] for number in range(len(self._runs))
        ]
        shown = [
            [self._answer(anchor, number, at, each) for at, each in enumerate(own[:MOST_ANSWERS])]
            for number, own in enumerate(by_run)
        ]
        question = next(each for answers in shown for each in answers).question
        names = question.images or ([""] if self._benchmark.picture else [])
        images = tuple(dict.fromkeys(names))
        return GradedEntry(
            anchor=anchor,
            task=case.task,
            name=str(case.key[2]) or str(case.key[1]),
            question=question,
            images=images[:MOST_IMAGES],
            images_left_out=len(images[MOST_IMAGES:]),
            tags=self._tags(record),
            answers=tuple(each for answers in shown for each in answers),
            by_run=tuple(map(self._cell, by_run, shown)),
        )

    def _answer(self, anchor: str, run: int, at: int, record: Any) -> GradedAnswer:
        return GradedAnswer(
            anchor=f"{anchor}--m{run}" + (f"-{at}" if at else ""),
            label=self._runs[run].label,
            run=run,
            record=record,
            question=self._question(record),
            shown=self._grading.display.answer(record),
            outcome=outcome_of(self._grading, record),
            scale=self._grading.display.scale(record),
            score=score_of(self._grading, record),
            flags=flags_of(self._grading, record),
        )

    def _question(self, record: Any) -> ShownQuestion:
        asked = self._grading.display.question(record)
        logged = self._logged.get((record.instance.task, record.instance.doc_id), Logged())
        gold = tuple(asked.gold)
        if asked.right is None and not gold and logged.target:
            gold = (logged.target,)
        return replace(asked, text=asked.text or logged.question, gold=gold)

    def _cell(self, records: Sequence[Any], shown: Sequence[GradedAnswer]) -> RunCell | None:
        if not shown:
            return None
        worst = min(shown, key=lambda each: rank_of(self._grading, each.record))
        right = sum(outcome_of(self._grading, each) == "right" for each in records)
        together = self._grading.display.together
        facts = together(records[:MOST_ANSWERS]) if len(records) > 1 else {}
        return RunCell(worst, right, len(records), len(records) - len(shown), facts)

    def _tags(self, record: Any) -> dict[str, tuple[str, ...]]:
        found = {
            name: tuple(
                each[:LONGEST_TAG]
                for each in islice(self._grading.breakdowns[name](record), MOST_VALUES)
                if each is not None
            )
            for name in _filtered(self._grading)
        }
        return {name: values for name, values in found.items() if values}


def _filters(grading: Grading, entries: Collection[GradedEntry]) -> dict[str, tuple[str, ...]]:
    """The values that the table can be filtered by, if there are several, but not too many."""
    filters = {}
    for name in _filtered(grading):
        values = _values(name, entries)
        if 1 < len(values) <= MOST_VALUES:
            filters[name] = tuple(sorted(values))
    return filters


def _values(name: str, entries: Iterable[GradedEntry]) -> list[str]:
    def every() -> Iterator[str]:
        for entry in entries:
            yield from entry.tags.get(name, ())

    return list(islice(dict.fromkeys(every()), MOST_VALUES + 1))
