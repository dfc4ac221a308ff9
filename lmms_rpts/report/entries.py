"""What a report shows: each question with the answers of all runs, the most urgent first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

from lmms_rpts.analysis.overview import outcome, overview_of
from lmms_rpts.analysis.published import Beside
from lmms_rpts.analysis.summary import Values, breakdowns, summarize
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.report.markup import marked
from lmms_rpts.report.trees import TreePicture, gold_tree
from lmms_rpts.runs.metadata import metadata_of
from lmms_rpts.runs.reading import Logged, read_logged
from lmms_rpts.runs.record import ShownQuestion
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.validity import validity_lines
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.registry import BENCHMARKS

# Outcomes of responses with steps, in the order in which they should be checked.
URGENCY = ("right_unsound", "wrong_unsound", "wrong_sound", "no_steps", "unjudged", "right_sound")
# The same of graded answers; ``value`` is a score that is neither right nor wrong.
GRADED_URGENCY = ("wrong", "unscored", "partial", "value", "right")
FLAGS: Mapping[str, str] = {"undecided": "undecided", "disagreements": "disputed"}
"""What graded answers can be filtered by: names, and the properties of records."""

# Maximum number of answers of a run to a question that are shown; files may hold any number.
MOST_ANSWERS = 20
# Maximum number of images of a graded question that are shown.
MOST_IMAGES = 20
# Maximum number of values of a breakdown in a filter, and in a record.
_MOST_VALUES = 60
# Maximum number of values of a breakdown in a table.
_MOST_GROUPS = 500
_LONGEST_TAG = 200


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer as a page shows it.

    Attributes:
        anchor: its anchor in the page.
        label: label of its run.
        run: index of its run.
        record: the whole record.
        question: the question in this answer's variant.
        variant: which variant of the question it answers, if there are several; else empty.
        outcome: how it was judged or graded.
        rank: lower ranks are shown first.
        scale: what the score measures, if it is not right or wrong.
        score: the score that counts; None if there is none.
        flags: those of ``FLAGS`` that hold for it.
        turns: what the model was asked, see `Logged`; empty: the samples do not contain it.
    """

    anchor: str
    label: str
    run: int
    record: Any
    question: ShownQuestion
    variant: str
    outcome: str
    rank: tuple[float, ...]
    scale: str
    score: float | None
    flags: tuple[str, ...]
    turns: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cell:
    """The answers of one run to one question: the one to check first, and how many there are.

    ``left_out``: number of answers that are not shown.
    """

    worst: Answer
    right: int
    of: int
    left_out: int


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
        tags: its values of the breakdowns of the benchmark, by breakdown.
    """

    anchor: str
    name: str
    images: Sequence[str]
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
        """The gold reasoning: picture, and ``lines`` with numbers of steps."""
        tree, lines, count = gold_tree(self.instance), [], 0
        for line in self.instance.reasoning:
            steps = len(parse_chain([line], self.instance.language).steps)
            lines.append((count if steps else None, line))
            count += steps
        return {"picture": TreePicture(tree), "lines": lines}


Case = tuple[str, list[tuple[int, Any]]]
"""Anchor of a question, and the answers to it, each with the index of its run."""


class View:
    """The questions of one benchmark, with the answers of its runs.

    Args:
        benchmark: the benchmark.
        runs: the runs.
        limit: maximum number of questions to show, the most urgent first, and the same number of
            each task as far as possible; None: all.
        given: anchors that are already used; those of this view are added.

    Attributes:
        name: the anchor of its section; empty: of the RPTS runs.
        entries: the questions that are shown, by urgency.
        total: the number of all questions.
        outcomes: for each run, the number of answers by outcome.
        tagged: the values of each breakdown that the shown questions have.
        filters: those that a reader can choose from.
        summary: the numbers, with tables of the breakdowns that divide the questions.
        figures: the numbers of each run, for each of its tasks that is summarized separately.
        agreement: how often the first run and another one, by its index, had these two outcomes.
        warnings: why numbers are not comparable or incomplete.
        metadata: how each run was made according to its results file.
        beside: published figures beside the runs; None: not wanted, or there are none.
    """

    beside: Beside | None = None

    _urgency: Sequence[str] = GRADED_URGENCY
    _flagged: Mapping[str, str] = FLAGS
    _most_images: int | None = MOST_IMAGES
    _most_answers: int | None = MOST_ANSWERS

    def __init__(
        self, benchmark: Benchmark, runs: Sequence[Run], limit: int | None, given: set[str]
    ) -> None:
        self.benchmark, self.runs = benchmark, runs
        self.name = f"graded-{_plain(benchmark.name)}"
        self.breakdowns = breakdowns(benchmark)
        cases: dict[object, Case] = {}
        for at, run in enumerate(runs):
            for record in run.responses:
                asked = _asked(record)
                if asked not in cases:
                    cases[asked] = (_make_anchor(record.instance, given), [])
                cases[asked][1].append((at, record))
        self.total = len(cases)
        self.agreement: Counter[tuple[int, str, str]] = Counter()
        for _, answers in cases.values():
            by_run = self._by_run(answers)
            one, *others = (min(map(self._rank, each)) if each else () for each in by_run)
            self.agreement.update(
                (at, self._urgency[int(one[0])], self._urgency[int(other[0])])
                for at, other in enumerate(others, start=1)
                if one and other
            )
        chosen = self._choose(cases.values(), limit)
        self._logged = self._read_logged(chosen)
        self.entries = [self._entry(*case) for case in chosen]
        self.outcomes = [Counter(map(self.outcome, run.responses)) for run in runs]
        self.tagged = {
            name: {value for entry in self.entries for value in entry.tags.get(name, ())}
            for name in self.breakdowns
        }
        self.filters = {
            name: sorted(each)
            for name, each in self.tagged.items()
            if 1 < len(each) <= _MOST_VALUES
        }
        self.metadata = [metadata_of(run.results) for run in runs]
        self._summarize()

    def _summarize(self) -> None:
        tables = [name for name in self.benchmark.by[1:] if self._divides(self.breakdowns[name])]
        self.summary = summarize(self.runs, tables)
        self.figures = [summarize([run]).models for run in self.runs]
        self.warnings = [*self.summary.warnings]

    def _divides(self, values_of: Values) -> bool:
        """Whether a breakdown divides the answers, or those of a task that is summarized alone.

        Not if all are alike, or each is alone.
        """
        found: dict[str, set[tuple[str | None, ...]]] = {}
        for each in chain.from_iterable(run.responses for run in self.runs):
            task = each.instance.task * self.benchmark.by_task
            found.setdefault(task, set()).add(tuple(values_of(each)))
        return any(1 < len(values) <= _MOST_GROUPS for values in found.values())

    def outcome(self, record: Any) -> str:
        """How an answer was graded."""
        score = self._score(record)
        if score is None:
            return "unscored"
        if record.scale:
            return "value"
        return "right" if score >= 1 else "partial" if score > 0 else "wrong"

    def _score(self, record: Any) -> float | None:
        """The value of the first metric, which says whether an answer is scored."""
        found = next(iter(self.benchmark.metrics.values())).of(record)
        return None if found is None else float(found)

    def _flags(self, record: Any) -> tuple[str, ...]:
        return tuple(name for name, of in self._flagged.items() if getattr(record, of))

    def _rank(self, record: Any) -> tuple[float, ...]:
        score, order = self._score(record), self._urgency.index(self.outcome(record))
        return (order, not self._flags(record), 1.0 if score is None else score)

    def _choose(self, cases: Iterable[Case], limit: int | None) -> list[Case]:
        """The cases by urgency; if there are too many, they are taken from the tasks in turn."""
        ordered = sorted(
            cases, key=lambda it: (min(self._rank(each) for _, each in it[1]), _key(it[1][0][1]))
        )
        seen: Counter[str] = Counter()
        turns = []
        for at, (_, answers) in enumerate(ordered):
            task = answers[0][1].instance.task
            turns.append((seen[task], at))
            seen[task] += 1
        return [ordered[at] for at in sorted(at for _, at in sorted(turns)[:limit])]

    def _read_logged(self, cases: Iterable[Case]) -> list[Mapping[tuple[str, int], Logged]]:
        """For each run, data about questions that is in the samples but not in their records."""
        wanted: list[set[tuple[str, int]]] = [set() for _ in self.runs]
        for run, record in (answer for _, answers in cases for answer in answers):
            wanted[run].add((record.instance.task, record.instance.doc_id))
        return [read_logged(run.files, own) for run, own in zip(self.runs, wanted, strict=True)]

    def _by_run(self, answers: Iterable[tuple[int, Any]]) -> list[list[Any]]:
        """The records of each run."""
        by_run: list[list[Any]] = [[] for _ in self.runs]
        for run, record in answers:
            by_run[run].append(record)
        return by_run

    def _entry(self, anchor: str, answers: Iterable[tuple[int, Any]]) -> Entry:
        by_run = self._by_run(answers)
        shown = [
            self._shown(f"{anchor}--m{run}", run, records) for run, records in enumerate(by_run)
        ]
        every = tuple(chain.from_iterable(shown))
        record = every[0].record
        images = self._images(every[0].question)
        return Entry(
            anchor=anchor,
            name=str(getattr(record.instance, "id", "")) or str(record.instance.doc_id),
            images=images[: self._most_images],
            images_left_out=len(images) - len(images[: self._most_images]),
            answers=every,
            by_run=tuple(map(self._cell, by_run, shown)),
            tags=self._tags(record),
        )

    def _shown(self, anchor: str, run: int, records: Sequence[Any]) -> list[Answer]:
        """The answers of a run that are shown."""
        variants = list(dict.fromkeys(record.instance.doc_id for record in records))
        return [
            self._answer(
                f"{anchor}-{at}" if at else anchor,
                run,
                record,
                f"variant {variants.index(record.instance.doc_id) + 1}" * (len(variants) > 1),
            )
            for at, record in enumerate(records[: self._most_answers])
        ]

    def _answer(self, anchor: str, run: int, record: Any, variant: str) -> Answer:
        asked = record.instance.shown
        logged = self._logged[run].get((record.instance.task, record.instance.doc_id), Logged())
        gold = tuple(asked.gold)
        if asked.right is None and not gold and logged.target:
            gold = (logged.target,)
        return Answer(
            anchor=anchor,
            label=self.runs[run].label,
            run=run,
            record=record,
            question=replace(asked, text=asked.text or logged.question, gold=gold),
            variant=variant,
            outcome=self.outcome(record),
            rank=self._rank(record),
            scale=getattr(record, "scale", ""),
            score=self._score(record),
            flags=self._flags(record),
            turns=logged.turns,
        )

    def _cell(self, records: Sequence[Any], shown: Sequence[Answer]) -> Cell | None:
        if not shown:
            return None
        worst = min(shown, key=lambda each: each.rank)
        right = sum(self.outcome(each) == "right" for each in records)
        return Cell(worst, right, len(records), len(records) - len(shown))

    def _images(self, question: ShownQuestion) -> Sequence[str]:
        """Each once; an empty name for the image from the benchmark's own function."""
        own = [""] if self.benchmark.picture else []
        return list(dict.fromkeys(question.images or own))

    def _tags(self, record: Any) -> Mapping[str, Sequence[str]]:
        """The values of a record by breakdown, as far as they fit on a page."""
        found: dict[str, list[str]] = {}
        for name, values_of in self.breakdowns.items():
            values = islice(values_of(record), _MOST_VALUES)
            found[name] = [marked(each[:_LONGEST_TAG]) for each in values if each is not None]
        return {name: values for name, values in found.items() if values}


class RptsView(View):
    """The questions of the runs that RPTS scored, with their trees.

    Attributes:
        overviews: the numbers of each run.
        validity: what was measured of the runs' judges on labelled steps.
    """

    _urgency = URGENCY
    _flagged = MappingProxyType({})
    _most_images = _most_answers = None  # steps cite images by number

    def __init__(self, runs: Sequence[Run], given: set[str] | None = None) -> None:
        super().__init__(BENCHMARKS["rpts"], runs, None, set() if given is None else given)
        self.name = ""
        self.overviews = [overview_of(run) for run in runs]
        self.warnings[:0] = _judge_warnings(runs)
        self.warnings += _data_warnings(self.entries)
        self.validity = validity_lines(runs)

    def outcome(self, record: RptsRecord) -> str:
        """Whether answer and reasoning are right."""
        return outcome(record)

    def _images(self, question: ShownQuestion) -> Sequence[str]:
        return question.images


def _key(record: Any) -> tuple[str, int, str]:
    """Task, number and id of a question, since other data number questions anew."""
    return (*record.instance.key, str(getattr(record.instance, "id", "")))


def _asked(record: Any) -> object:
    """What records of one question share: in other data, an index may mean another question."""
    if not isinstance(record, RptsRecord):
        return _key(record)
    asked = record.instance
    return (*asked.key, asked.statement, asked.context, asked.textual_clue, asked.visual_clue)


def _plain(text: str) -> str:
    """A text as part of an anchor: Latin letters, digits and hyphens, at most 60 of them."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)[:60].strip("-")


def _make_anchor(instance: Any, given: set[str]) -> str:
    """A readable anchor of a question, the same in every report; it is added to ``given``."""
    task, number = instance.key
    base = f"{_plain(task)}-{_plain(str(number))}"
    name, count = base, 1
    # Some file systems don't distinguish small letters from capitals.
    while name.lower() in given:
        count += 1
        name = f"{base}-x{count}"
    given.add(name.lower())
    return name


def _judge_warnings(runs: Sequence[Run]) -> Iterable[str]:
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


def _data_warnings(entries: Sequence[Entry]) -> Iterable[str]:
    changed = sum(count > 1 for count in Counter(entry.instance.key for entry in entries).values())
    for entry in entries:
        changed += len({each.record.instance for each in entry.answers}) > 1
    if changed:
        yield (
            f"The data changed between the runs: {changed} instances have different questions, "
            "abilities, gold answers or gold reasoning. Different questions are shown separately, "
            "other fields as in the first run."
        )
