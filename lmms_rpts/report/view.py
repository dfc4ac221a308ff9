"""View model of a report: runs and instances prepared for the templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lmms_rpts.analysis.differences import (
    Differing,
    difference_of,
    differences_of,
    differing_in,
    idle_steps,
    is_apart,
)
from lmms_rpts.analysis.gold_match import GoldMatch, match_steps, matched_by
from lmms_rpts.analysis.overview import OUTCOMES, Outcome, Overview, outcome, overview_of
from lmms_rpts.analysis.validity import ValidityNote, validity_notes
from lmms_rpts.filters.record import RptsInstance, RptsRecord
from lmms_rpts.reasoning import ReasoningTree, parse_chain
from lmms_rpts.report.anchors import make_anchor
from lmms_rpts.report.pictures import Picture
from lmms_rpts.report.trees import TreePicture, draw_response, gold_tree
from lmms_rpts.runs.metadata import metadata_of
from lmms_rpts.runs.validity import ValidityFile
from lmms_rpts.tasks.rpts_eval.runs import Run
from lmms_rpts.tasks.rpts_eval.summary import undecided_notes

_LEXICAL = ", and lexical detects wrong steps about as well as chance"

URGENCY: tuple[Outcome, ...] = (
    "right_unsound",
    "wrong_unsound",
    "wrong_sound",
    "unjudged",
    "right_sound",
)
assert set(URGENCY) == set(OUTCOMES)

MOST_RAW = 100_000
"""Maximum number of characters of a record in the page."""


@dataclass(frozen=True)
class Shown:
    """One image of an instance; ``picture`` is None if it is missing or images are left out."""

    number: int
    name: str
    picture: Picture | None


@dataclass(frozen=True)
class Answer:
    """One response as the page shows it; ``anchor``: its anchor in the page.

    ``of``: number of responses of the run to this instance.
    """

    anchor: str
    label: str
    run: int
    of: int
    response: RptsRecord
    outcome: Outcome

    @property
    def difference(self) -> float | None:
        """RPTS minus guarded score."""
        return difference_of(self.response)

    @property
    def apart(self) -> bool:
        """Whether RPTS and guarded score differ by more than 0.3."""
        return is_apart(self.response)

    @cached_property
    def reasons(self) -> Sequence[str]:
        """Why the two scores differ; empty if they do not."""
        return differences_of(self.response) if self.apart else ()

    @cached_property
    def idle(self) -> frozenset[int]:
        """The steps that only restate."""
        return idle_steps(self.response)

    @cached_property
    def tree(self) -> TreePicture:
        """The drawing of its reasoning."""
        return draw_response(self.response)

    @cached_property
    def raw(self) -> str | None:
        """The record as JSON in one line; None if it is too long for a page."""
        text = self.response.to_json()
        return text if len(text) <= MOST_RAW else None


@dataclass(frozen=True)
class Entry:
    """An instance with the responses of all runs.

    ``by_run``: for each run, the response to check first; None if it has none.
    """

    anchor: str
    instance: RptsInstance
    images: tuple[Shown, ...]
    answers: tuple[Answer, ...]
    by_run: tuple[Answer | None, ...]

    @cached_property
    def gold_lines(self) -> tuple[tuple[int | None, str], ...]:
        """The lines of the gold reasoning, each with the number of its step."""
        count, lines = 0, []
        for line in self.instance.reasoning:
            steps = len(parse_chain([line], self.instance.language).steps)
            lines.append((count if steps else None, line))
            count += steps
        return tuple(lines)

    @cached_property
    def gold_tree(self) -> ReasoningTree:
        """The gold reasoning, as far as it can be parsed."""
        return gold_tree(self.instance)

    @cached_property
    def matches(self) -> dict[str, tuple[GoldMatch | None, ...]]:
        """For each answer, by its anchor, the gold steps that its steps match by evidence."""
        return {
            each.anchor: match_steps(each.response.tree(), self.gold_tree) for each in self.answers
        }

    @cached_property
    def matched(self) -> tuple[tuple[tuple[Answer, tuple[int, ...]], ...], ...]:
        """For each gold step the answers with steps that match it, and those steps."""
        count = len(self.gold_tree.heights)
        found = [(each, matched_by(self.matches[each.anchor], count)) for each in self.answers]
        return tuple(
            tuple((answer, steps[number]) for answer, steps in found if steps[number])
            for number in range(count)
        )

    @cached_property
    def spread(self) -> float | None:
        """The highest minus the lowest RPTS in ``by_run``; None if fewer than two have one."""
        found = (each.response.rpts for each in self.by_run if each)
        scores = [score for score in found if score is not None]
        return max(scores) - min(scores) if len(scores) > 1 else None

    @cached_property
    def differing(self) -> tuple[Differing, ...]:
        """In what the runs differ, by the responses in ``by_run``."""
        return differing_in([each.response for each in self.by_run if each])

    @cached_property
    def gold(self) -> TreePicture:
        """The gold reasoning as a picture."""
        return TreePicture(self.gold_tree)


@dataclass(frozen=True)
class View:
    """All that a report shows.

    ``entries``: right for the wrong reason first, then by the lowest RPTS. ``validity``: error
    rates of the runs' judges; empty if no file is set. ``metadata``: for each run, how it was made
    according to its results file; empty if there is no such file.
    """

    runs: tuple[Run, ...]
    overviews: tuple[Overview, ...]
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]
    validity: tuple[ValidityNote, ...] = ()
    metadata: tuple[Mapping[str, str], ...] = ()

    @property
    def metadata_names(self) -> tuple[str, ...]:
        """The names in ``metadata``, each once, in the order to show them."""
        return tuple(dict.fromkeys(name for each in self.metadata for name in each))


Gallery = Mapping[tuple[str, str], Picture]
"""Pictures by task and file name."""


def make_view(runs: Sequence[Run], gallery: Gallery, validity: Sequence[ValidityFile] = ()) -> View:
    """Merge runs by instance; ``validity``: validity files that the user passed."""
    found: dict[tuple[object, ...], list[tuple[int, RptsRecord]]] = {}
    for at, run in enumerate(runs):
        for response in run.responses:
            found.setdefault(_asked(response.instance), []).append((at, response))
    given: set[str] = set()
    entries = [_entry(given, runs, responses, gallery) for responses in found.values()]
    return View(
        runs=tuple(runs),
        overviews=tuple(overview_of(run) for run in runs),
        entries=tuple(sorted(entries, key=_urgency)),
        warnings=tuple(_warnings(runs, entries)),
        validity=validity_notes(runs, validity),
        metadata=tuple(metadata_of(run.results) for run in runs),
    )


def _asked(instance: RptsInstance) -> tuple[object, ...]:
    """All that a model was asked: in other data, an index may mean another question."""
    clues = (instance.context, instance.textual_clue, instance.visual_clue)
    return (*instance.key, instance.statement, *clues)


def _entry(
    given: set[str],
    runs: Sequence[Run],
    responses: Sequence[tuple[int, RptsRecord]],
    gallery: Gallery,
) -> Entry:
    instance = responses[0][1].instance
    counts = Counter(run for run, _ in responses)
    anchor = make_anchor(instance.task, str(instance.doc_id), given)
    answers = tuple(
        Answer(
            anchor=f"{anchor}--m{run}" + (f"-{response.repeat}" if response.repeat else ""),
            label=runs[run].label,
            run=run,
            of=counts[run],
            response=response,
            outcome=outcome(response),
        )
        for run, response in responses
    )
    return Entry(
        anchor=anchor,
        instance=instance,
        images=tuple(
            Shown(number, name, gallery.get((instance.task, name)))
            for number, name in enumerate(instance.visual_clue)
        ),
        answers=answers,
        by_run=tuple(
            min((each for each in answers if each.run == at), key=_rank, default=None)
            for at in range(len(runs))
        ),
    )


def _rank(answer: Answer) -> tuple[int, float]:
    rpts = answer.response.rpts
    return URGENCY.index(answer.outcome), 1.0 if rpts is None else rpts


def _urgency(entry: Entry) -> tuple[int, float, str, int]:
    return (*min(map(_rank, entry.answers)), *entry.instance.key)


def _warnings(runs: Sequence[Run], entries: Iterable[Entry]) -> Iterable[str]:
    settings = {scoring for run in runs for scoring in run.scorings}
    for judge in sorted({each.judge for each in settings if not each.comparable}):
        if judge == "none":
            yield "The responses were not judged (judge “none”): score them with lmms-rpts score."
        else:
            yield (
                f"The judge “{judge}” is for testing only: its scores are not comparable with "
                f"those of other judges{_LEXICAL if 'lexical' in judge.split('+') else ''}."
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
        yield from (f"{note}." for note in undecided_notes(run))
    changed = sum(len({each.response.instance for each in entry.answers}) > 1 for entry in entries)
    if changed:
        yield (
            f"The data changed between the runs: {changed} instances have different abilities, "
            "gold answers or gold reasoning. Those of the first run are shown."
        )
    if len(runs) > 1 and any(None in entry.by_run for entry in entries):
        yield "The runs cover different instances: their means are over different questions."
