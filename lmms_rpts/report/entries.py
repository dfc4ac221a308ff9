"""What a report shows: each question with the answers of all runs, the most urgent first."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

from lmms_rpts.analysis.gold_match import match_steps, matched_by
from lmms_rpts.analysis.metrics import undecided_notes
from lmms_rpts.analysis.overview import outcome, overview_of
from lmms_rpts.analysis.validity import validity_notes
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.report.trees import TreePicture, gold_tree
from lmms_rpts.runs.logged import Logged, read_logged
from lmms_rpts.runs.metadata import metadata_of
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.validity_files import ValidityFile
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.display import ShownAnswer, ShownQuestion
from lmms_rpts.tasks.grade_types import Grading
from lmms_rpts.tasks.graded import summarize_grades
from lmms_rpts.tasks.rpts_eval.runs import Run

URGENCY = ("right_unsound", "wrong_unsound", "wrong_sound", "unjudged", "right_sound")
"""Outcomes of responses with steps, in the order in which they should be checked."""
GRADED_URGENCY = ("wrong", "unscored", "partial", "value", "right")
"""The same of graded answers; ``value`` is a score that is neither right nor wrong."""

MOST_ANSWERS = 20
"""Maximum number of answers of a run to a question that are shown; files may hold any number."""
MOST_IMAGES = 20
"""Maximum number of images of a graded question that are shown."""
_MOST_VALUES = 60
"""Maximum number of values of a breakdown in a filter, and in a record."""
_MOST_GROUPS = 500
"""Maximum number of values of a breakdown in a table."""
_LONGEST_TAG = 200

_NO_QUESTION, _NO_ANSWER = ShownQuestion(), ShownAnswer()

Rank = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer as a page shows it.

    Attributes:
        anchor: its anchor in the page.
        label: label of its run.
        run: index of its run.
        record: the whole record.
        outcome: how it was judged or graded.
        rank: lower ranks are shown first.
        question: the question in this answer's variant.
        shown: the answer and its grades.
        scale: what the score measures, if it is not right or wrong.
        score: the grade that counts; None if there is none.
        flags: the lists of the benchmark that contain it, such as ``disagreements``.
    """

    anchor: str
    label: str
    run: int
    record: Any
    outcome: str
    rank: Rank
    question: ShownQuestion = _NO_QUESTION
    shown: ShownAnswer = _NO_ANSWER
    scale: str = ""
    score: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """The answers of one run to one question: the one to check first, and how many there are.

    ``left_out``: number of answers that are not shown. ``facts``: facts about all, by name.
    """

    worst: Answer
    right: int
    of: int
    left_out: int
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """A question with the answers of all runs.

    Attributes:
        anchor: its anchor in the report.
        name: its own id.
        images: file names of its images; empty for an image from the benchmark's own function.
        images_left_out: number of images that are not shown.
        answers: the answers that are shown.
        by_run: the answers of each run; None if the run has none.
        tags: its values of the breakdowns of graded answers, by breakdown.
    """

    anchor: str
    name: str
    images: tuple[str, ...]
    images_left_out: int
    answers: tuple[Answer, ...]
    by_run: tuple[Cell | None, ...]
    tags: Mapping[str, Sequence[str]]

    @property
    def instance(self) -> Any:
        """The instance as the first answer has it."""
        return self.answers[0].record.instance

    @property
    def task(self) -> str:
        """Its task."""
        return str(self.instance.task)

    @property
    def question(self) -> ShownQuestion:
        """The question in the variant of the first answer."""
        return self.answers[0].question

    @cached_property
    def gold(self) -> Mapping[str, Any]:
        """The gold reasoning, and which steps of the answers match its steps by evidence.

        ``lines``: each line with the number of its step. ``matches``: for each answer, by its
        anchor, the matches of its steps. ``matched``: for each gold step, the answers that match.
        """
        tree, lines, count = gold_tree(self.instance), [], 0
        for line in self.instance.reasoning:
            steps = len(parse_chain([line], self.instance.language).steps)
            lines.append((count if steps else None, line))
            count += steps
        size = len(tree.heights)
        matches = {each.anchor: match_steps(each.record.tree(), tree) for each in self.answers}
        found = [(each, matched_by(matches[each.anchor], size)) for each in self.answers]
        matched = [[(each, steps[at]) for each, steps in found if steps[at]] for at in range(size)]
        return {
            "tree": tree,
            "picture": TreePicture(tree),
            "lines": lines,
            "matches": matches,
            "matched": matched,
        }


Case = tuple[str, tuple[Any, ...], Sequence[tuple[int, Any]]]
"""Anchor, task and question, and the answers to it, each with the index of its run."""


class View(ABC):
    """All that a report shows of the runs of one kind.

    Args:
        runs: the runs.
        given: anchors that are already used; those of this view are added.

    Attributes:
        name: the anchor of its section; empty: of the RPTS runs.
        entries: the questions that are shown, by urgency.
        total: the number of all questions.
    """

    name = ""
    most_images: int | None = None

    def __init__(self, runs: Sequence[AnyRun], given: set[str], limit: int | None = None) -> None:
        self.runs = runs
        cases: dict[object, Case] = {}
        for at, run in enumerate(runs):
            for record in run.responses:
                identity = self.identity(record)
                if identity not in cases:
                    anchor = _make_anchor(*record.instance.key, given)
                    cases[identity] = (anchor, _key(record), [])
                cases[identity][2].append((at, record))  # type: ignore[attr-defined]
        self.total = len(cases)
        chosen = self._choose(cases.values(), limit)
        self.prepare(chosen)
        self.entries = [self._entry(*case) for case in chosen]

    def identity(self, record: Any) -> object:
        """What records of the same question have in common."""
        return _key(record)

    @abstractmethod
    def answer(self, record: Any, **place: Any) -> Answer:
        """The answer of a record; ``place``: its anchor and run."""

    @abstractmethod
    def rank(self, record: Any) -> Rank:
        """The rank of an answer: lower ranks are shown first."""

    def _choose(self, cases: Iterable[Case], limit: int | None) -> Sequence[Case]:
        """The cases by urgency; ``limit``: maximum number, taken from the tasks in turn."""

        def place(case: Case) -> tuple[Any, ...]:
            return (min(self.rank(record) for _, record in case[2]), case[1])

        ordered, seen = sorted(cases, key=place), Counter[str]()
        turns = []
        for at, (_, key, _) in enumerate(ordered):
            turns.append((seen[key[0]], at))
            seen[key[0]] += 1
        return [ordered[at] for at in sorted(at for _, at in sorted(turns)[:limit])]

    def _entry(
        self, anchor: str, key: tuple[Any, ...], answers: Sequence[tuple[int, Any]]
    ) -> Entry:
        by_run: list[list[Any]] = [[] for _ in self.runs]
        for run, record in answers:
            by_run[run].append(record)
        shown = [
            [
                self.answer(
                    record,
                    anchor=f"{anchor}--m{run}" + (f"-{at}" if at else ""),
                    label=self.runs[run].label,
                    run=run,
                )
                for at, record in enumerate(records[:MOST_ANSWERS])
            ]
            for run, records in enumerate(by_run)
        ]
        every = tuple(chain.from_iterable(shown))
        images = self.images(every[0])
        shown_images = images[: self.most_images]
        return Entry(
            anchor=anchor,
            name=key[2] or str(key[1]),
            images=shown_images,
            images_left_out=len(images) - len(shown_images),
            answers=every,
            by_run=tuple(map(self._cell, by_run, shown)),
            tags=self.tags(answers[0][1]),
        )

    def _cell(self, records: Sequence[Any], shown: Sequence[Answer]) -> Cell | None:
        if not shown:
            return None
        worst = min(shown, key=lambda each: each.rank)
        right = sum(self.rank(each)[0] == GRADED_URGENCY.index("right") for each in records)
        facts = self.together(records[:MOST_ANSWERS]) if len(records) > 1 else {}
        return Cell(worst, right, len(records), len(records) - len(shown), facts)

    @abstractmethod
    def images(self, answer: Answer) -> tuple[str, ...]:
        """The names of the images of a question."""

    @abstractmethod
    def prepare(self, cases: Sequence[Case]) -> None:
        """Called once before the entries of these cases are made."""

    def tags(self, record: Any) -> Mapping[str, Sequence[str]]:
        """The values of a record by breakdown."""
        return {}

    def together(self, records: Sequence[Any]) -> Mapping[str, str]:
        """Facts about one run's answers to one question, by name."""
        return {}


class RptsView(View):
    """All that a report shows of the runs that RPTS scored.

    Args:
        validity: validity files that the user passed.

    Attributes:
        overviews: the numbers of each run.
        warnings: why numbers are not comparable or incomplete.
        validity: error rates of the runs' judges; empty if no file is set.
        metadata: how each run was made according to its results file.
    """

    def __init__(self, runs: Sequence[Run], validity: Sequence[ValidityFile] = ()) -> None:
        super().__init__(runs, set())
        self.overviews = [overview_of(run) for run in runs]
        self.warnings = [*_warnings(runs, self.entries)]
        self.validity = validity_notes(runs, validity)
        self.metadata = [metadata_of(run.results) for run in runs]

    def identity(self, record: RptsRecord) -> object:
        """All that a model was asked: in other data, an index may mean another question."""
        asked = record.instance
        clues = (asked.context, asked.textual_clue, asked.visual_clue)
        return (*asked.key, asked.statement, *clues)

    def prepare(self, cases: Sequence[Case]) -> None:
        """Nothing: the records hold all."""

    def rank(self, record: RptsRecord) -> Rank:
        """By outcome, then by RPTS."""
        return URGENCY.index(outcome(record)), 1.0 if record.rpts is None else record.rpts

    def answer(self, record: RptsRecord, **place: Any) -> Answer:
        """The answer of a record."""
        return Answer(record=record, outcome=outcome(record), rank=self.rank(record), **place)

    def images(self, answer: Answer) -> tuple[str, ...]:
        """All of them, since steps cite them by number."""
        return tuple(answer.record.instance.visual_clue)


class GradedView(View):
    """All that a report shows of the graded answers of one benchmark.

    Args:
        limit: maximum number of questions to show: wrong and unscored ones first, the same number
            of each task as far as possible; None: all.

    Attributes:
        summary: the numbers.
        outcomes: for each run, the number of answers by outcome.
        filters: the values of each breakdown that the shown questions have.

    Raises:
        RunError: if samples that must be read again cannot be read.
    """

    most_images = MOST_IMAGES

    def __init__(
        self,
        benchmark: Benchmark,
        grading: Grading,
        runs: Sequence[AnyRun],
        limit: int | None,
        given: set[str],
    ) -> None:
        self.benchmark, self.name = benchmark, f"graded-{_plain(benchmark.name)}"
        breakdowns = {name: _guarded(each) for name, each in grading.breakdowns.items()}
        self.grading = grading = replace(grading, breakdowns=breakdowns)
        by = grading.breakdowns if grading.display.by is None else grading.display.by
        self._filtered = [
            name
            for name in dict.fromkeys([grading.first, *by, *grading.display.filters])
            if name in breakdowns
        ]
        super().__init__(runs, given, limit)
        every = list(chain.from_iterable(run.responses for run in runs))
        tables = [
            name
            for name in self._filtered
            if name in by
            and name != grading.first
            # Not those in which all answers are alike, or each is alone.
            and 1 < len({breakdowns[name](each) for each in every}) <= _MOST_GROUPS
        ]
        self.summary = summarize_grades(grading, runs, tables)
        self.outcomes = [Counter(map(self.outcome, run.responses)) for run in runs]
        tagged = {
            name: {value for entry in self.entries for value in entry.tags.get(name, ())}
            for name in self._filtered
        }
        self.filters = {
            name: sorted(values)
            for name, values in tagged.items()
            if 1 < len(values) <= _MOST_VALUES
        }

    def score(self, record: Any) -> float | None:
        """The value of the first metric, which says whether an answer is scored."""
        found = next(iter(self.grading.metrics.values()))(record)
        return None if found is None else float(found)

    def outcome(self, record: Any) -> str:
        """How an answer was graded."""
        score = self.score(record)
        if score is None:
            return "unscored"
        if self.grading.display.scale(record):
            return "value"
        return "right" if score >= 1 else "partial" if score > 0 else "wrong"

    def rank(self, record: Any) -> Rank:
        """By outcome, then whether it is in a list, then by score."""
        score = self.score(record)
        order = GRADED_URGENCY.index(self.outcome(record))
        return (order, not self._flags(record), 1.0 if score is None else score)

    def answer(self, record: Any, **place: Any) -> Answer:
        """The answer of a record; what the record lacks of the question is from the samples."""
        asked = self.grading.display.question(record)
        logged = self._logged.get(_document(record), Logged())
        gold = tuple(asked.gold)
        if asked.right is None and not gold and logged.target:
            gold = (logged.target,)
        return Answer(
            record=record,
            outcome=self.outcome(record),
            rank=self.rank(record),
            question=replace(asked, text=asked.text or logged.question, gold=gold),
            shown=self.grading.display.answer(record),
            scale=self.grading.display.scale(record),
            score=self.score(record),
            flags=self._flags(record),
            **place,
        )

    def images(self, answer: Answer) -> tuple[str, ...]:
        """Each once; an empty name for the image from the benchmark's own function."""
        own = [""] if self.benchmark.picture else []
        return tuple(dict.fromkeys(answer.question.images or own))

    def tags(self, record: Any) -> Mapping[str, Sequence[str]]:
        """The values of a record by breakdown, as far as they fit on a page."""
        found = {
            name: [each[:_LONGEST_TAG] for each in values[:_MOST_VALUES] if each is not None]
            for name in self._filtered
            for values in [tuple(self.grading.breakdowns[name](record))]
        }
        return {name: values for name, values in found.items() if values}

    def together(self, records: Sequence[Any]) -> Mapping[str, str]:
        """Facts about one run's answers to one question, by name."""
        return self.grading.display.together(records)

    def _flags(self, record: Any) -> tuple[str, ...]:
        lists = self.grading.lists.items()
        return tuple(name for name, listing in lists if listing.wanted(record))

    def prepare(self, cases: Sequence[Case]) -> None:
        """Read data about questions that is in the samples but not in their records."""
        lacking = set()
        for record in (record for _, _, answers in cases for _, record in answers):
            asked = self.grading.display.question(record)
            if not asked.text or (asked.right is None and not asked.gold):
                lacking.add(_document(record))
        files = chain.from_iterable(run.files for run in self.runs)
        self._logged = read_logged(files, lacking) if lacking else {}


def _guarded(values_of: Callable[[Any], Iterable[str | None]]) -> Any:
    """The same breakdown, but if it fails on a record, it gives no value."""

    def values(record: Any) -> tuple[str | None, ...]:
        try:
            return tuple(values_of(record))
        except Exception:  # a function of another package, called with any file
            return (None,)

    return values


def _key(record: Any) -> tuple[str, Any, str]:
    """The task and question of a record, with the id, since other data number questions anew."""
    return (*record.instance.key, str(getattr(record.instance, "id", "")))


def _document(record: Any) -> tuple[str, int]:
    return (record.instance.task, record.instance.doc_id)


def _plain(text: str) -> str:
    """A text as part of an anchor: Latin letters, digits and hyphens, at most 60 of them."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)[:60].strip("-")


def _make_anchor(task: str, number: object, given: set[str]) -> str:
    """A readable anchor of a question, the same in every report; it is added to ``given``."""
    base = f"{_plain(task)}-{_plain(str(number))}"
    name, count = base, 1
    # Some file systems don't distinguish small letters from capitals.
    while name.lower() in given:
        count += 1
        name = f"{base}-x{count}"
    given.add(name.lower())
    return name


def _warnings(runs: Sequence[Run], entries: Sequence[Entry]) -> Iterable[str]:
    settings = {scoring for run in runs for scoring in run.scorings}
    for judge in sorted({each.judge for each in settings if not each.comparable}):
        lexical = ", and lexical detects wrong steps about as well as chance"
        if judge == "none":
            yield "The responses were not judged (judge “none”): score them with lmms-rpts score."
        else:
            yield (
                f"The judge “{judge}” is for testing only: its scores are not comparable with "
                f"those of other judges{lexical if 'lexical' in judge.split('+') else ''}."
            )
    if len(settings) > 1:
        yield (
            "The runs were scored with different settings (judge, prompt, decay or focus height): "
            "their differences are not due to the models alone."
        )
    for run in runs:
        unjudged = sum(outcome(response) == "unjudged" for response in run.responses)
        if unjudged:
            yield (
                f"{run.label}: {unjudged} of {len(run.responses)} responses could not be judged, "
                "or their answer could not be determined. They are left out of the means."
            )
        yield from (f"{note}." for note in undecided_notes(run.label, run.responses))
    asked = ({each.record.instance for each in entry.answers} for entry in entries)
    changed = sum(len(each) > 1 for each in asked)
    if changed:
        yield (
            f"The data changed between the runs: {changed} instances have different abilities, "
            "gold answers or gold reasoning. Those of the first run are shown."
        )
    if len(runs) > 1 and any(None in entry.by_run for entry in entries):
        yield "The runs cover different instances: their means are over different questions."
