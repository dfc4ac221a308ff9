"""Human ratings of steps: samples for raters; files of ratings, matched with a run."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lmms_rpts.base.escaping import did_you_mean, shorten
from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.judging import JudgeConfigurationError, find_judge, open_engine
from lmms_rpts.judging.parsers import parse_relation, stated_reason
from lmms_rpts.runs.rating_file import RatedItem, RatedRow, What, read_rating_file
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.rpts_eval.benchmark import RELATION
from lmms_rpts.tasks.rpts_eval.runs import Run

if TYPE_CHECKING:
    import pandas as pd

StepKey = tuple[str, int, int, int | None]
"""A step of a run: task, doc_id, repeat, step; None: the whole response."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A step with human scores, or, if ``step`` is None, a response as a whole.

    ``ratings``: the scores by rater; the name is empty if the file has none.
    """

    task: str
    doc_id: int
    repeat: int
    step: int | None
    ratings: Mapping[str, float]

    @property
    def score(self) -> float:
        """The raters' mean."""
        return math.fsum(self.ratings.values()) / len(self.ratings)


@dataclass(frozen=True, slots=True)
class Ratings:
    """Human scores of a run's steps, and of its responses as a whole.

    ``unrated``: number of rows with a blank score.
    """

    files: tuple[Path, ...]
    steps: tuple[Rated, ...]
    unrated: int
    overall: tuple[Rated, ...] = ()

    @property
    def source(self) -> str:
        """The files' names."""
        return ", ".join(map(str, self.files))

    @property
    def raters(self) -> tuple[str, ...]:
        """Their names, sorted."""
        rated = (*self.steps, *self.overall)
        return tuple(sorted({name for each in rated for name in each.ratings}))

    def frame(self) -> pd.DataFrame:
        """One row per rating: ``task``, ``doc_id``, ``repeat``, ``step``, ``rater``, ``score``."""
        import pandas as pd

        rows = [
            (each.task, each.doc_id, each.repeat, each.step, rater, score)
            for each in self.steps
            for rater, score in each.ratings.items()
        ]
        names = ["task", "doc_id", "repeat", "step", "rater", "score"]
        frame: pd.DataFrame = pd.DataFrame(rows, columns=names)
        return frame


def read_ratings(files: str | Path | Sequence[str | Path], run: Run) -> Ratings:
    """Read human scores of the steps and responses of ``run`` from one file or several.

    ``rating_file.read_rating_file`` describes the files. A table without rater names counts as one
    rater; it needs ``task`` if the run has several.

    Raises:
        RunError: with the file, the line and the problem; also if one rater scored a step twice.
    """
    paths = [
        Path(each).expanduser() for each in ([files] if isinstance(files, str | Path) else files)
    ]
    if not paths:
        raise RunError("No rating file was passed")
    documents = run.grouped(attrgetter("task", "doc_id"))
    scores: dict[StepKey, dict[str, float]] = {}
    rated_at: dict[tuple[StepKey, str], str] = {}
    unrated = 0
    for path in paths:
        found = [each for each in read_rating_file(path) if each.what != "relation"]
        rated_here = 0
        for each in found:
            key = _key(each.where, each.source, run, documents)
            if each.answer is None:
                continue
            rated_here += 1
            name = each.rater or ("" if len(paths) == 1 else str(path))
            first = rated_at.setdefault((key, name), each.where)
            if first != each.where:
                by = f" by {shorten(name)!r}" if name else ""
                what = "response" if key[3] is None else "step"
                raise RunError(f"{each.where}: this {what} was already scored{by} in {first}")
            scores.setdefault(key, {})[name] = each.answer
        if not rated_here:
            raise RunError(f"{path}: no step is rated")
        unrated += len(found) - rated_here
    every = [Rated(*key, own) for key, own in scores.items()]
    steps = tuple(each for each in every if each.step is not None)
    overall = tuple(each for each in every if each.step is None)
    return Ratings(tuple(paths), steps, unrated, overall)


def _key(
    where: str,
    rated: RatedRow | RatedItem,
    run: Run,
    documents: Mapping[tuple[str, int], Sequence[RptsRecord]],
) -> StepKey:
    """The step that is rated."""
    task = rated.task or (run.tasks[0] if len(run.tasks) == 1 else "")
    if task not in run.tasks:
        hint = did_you_mean(task, run.tasks) or f" It has: {', '.join(run.tasks)}"
        raise RunError(f"{where}: the run has no task {shorten(task)!r}.{hint}")
    doc_id = rated.doc_id
    if doc_id is None:
        firsts = [each[0].instance for (of, _), each in documents.items() if of == task]
        named = {each.doc_id for each in firsts if each.id == rated.id}
        if len(named) != 1:
            many = f"{len(named)} documents" if named else "no document"
            said = shorten(str(rated.id))
            raise RunError(f"{where}: the run has {many} of {task} with id {said!r}; use doc_id")
        (doc_id,) = named
    document, ours = f"document {doc_id} of {task}", f"the run {run.label} has"
    responses = {each.repeat: each for each in documents.get((task, doc_id), ())}
    if rated.repeat not in responses:
        raise RunError(f"{where}: {ours} no response {rated.repeat} to {document}")
    steps = responses[rated.repeat].steps
    if rated.step is None:
        return (task, doc_id, rated.repeat, None)
    if rated.step >= len(steps):
        raise RunError(
            f"{where}: {ours} no step {rated.step} in {document}: it has {len(steps)} steps, from 0"
        )
    said = rated.conclusion
    if said and said.split() != steps[rated.step].conclusion.split():
        raise RunError(
            f"{where}: step {rated.step} of {document} does not have the conclusion "
            f"“{shorten(said, 60)}”: these ratings belong to another run than {run.label}"
        )
    return (task, doc_id, rated.repeat, rated.step)


# --- a sample of a run for raters, without bias from the judge's scores

STEPS = 100
LONGEST_TEXT = 20_000
"""Maximum number of characters that a rater is asked to read."""

_BROKEN, _SOUND, _UNSCORED = "broken", "sound", "unscored"


class Proposal(NamedTuple):
    """A judge's proposal of a relation: the label, and the judge's reason."""

    relation: str
    reason: str


@dataclass(frozen=True, slots=True)
class RatingSample:
    """What to rate, in an order that reveals nothing about scores.

    Attributes:
        responses: whole responses; for relations one response per document, for its instance.
        too_long: number of responses left out because a text is too long.
        what: their steps; ``overall``: also each as a whole; ``relation``: only the relation of
            images and texts.
        proposals: the judge's proposals of relations, by document.
        failures: why a document has no proposal, if they were requested.
    """

    responses: tuple[RptsRecord, ...]
    too_long: int
    what: What = "step"
    proposals: Mapping[tuple[str, int], Proposal] = field(default_factory=dict)
    failures: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Number of questions to raters."""
        if self.what == "relation":
            return len(self.responses)
        steps = sum(len(rated_steps(each)) for each in self.responses)
        return steps + (len(self.responses) if self.what == "overall" else 0)


def rated_steps(response: RptsRecord) -> tuple[int, ...]:
    """The numbers of the steps that were judged by premises or images, which raters are shown."""
    return tuple(at for at, step in enumerate(response.steps) if step.questions)


def draw_sample(run: Run, steps: int = STEPS, seed: int = 0, overall: bool = False) -> RatingSample:
    """Sample whole responses until they have ``steps`` steps to rate, or none are left.

    Tasks and languages alternate, and within each, responses that the judge found broken and
    responses that it found sound. Unscored responses come last.

    Raises:
        RunError: nothing in the run can be rated.
    """
    rated = [each for each in run.responses if rated_steps(each)]
    if not rated:
        raise RunError(
            f"{run.label} has no judged step: score the run with a judge of steps first (lmms-rpts "
            "score)"
        )
    short = _readable(run, rated)
    generator = random.Random(seed)
    taken: list[RptsRecord] = []
    count = 0
    for response in _in_turn(short, generator):
        if count >= steps:
            break
        taken.append(response)
        count += len(rated_steps(response))
    generator.shuffle(taken)
    what: What = "overall" if overall else "step"
    return RatingSample(tuple(taken), len(rated) - len(short), what)


def draw_documents(run: Run, most: int | None = None, seed: int = 0) -> RatingSample:
    """Sample documents whose relation is to be labelled, all by default.

    A document and its translation are one: the first task in the order of names has it.

    Raises:
        RunError: nothing in the run can be labelled.
    """
    firsts = {each.instance.cluster: each for each in reversed(run.responses)}
    short = _readable(run, firsts.values())
    random.Random(seed).shuffle(short)
    return RatingSample(tuple(short[:most]), len(firsts) - len(short), "relation")


def _readable(run: Run, responses: Iterable[RptsRecord]) -> list[RptsRecord]:
    short = [each for each in responses if _longest_text(each) <= LONGEST_TEXT]
    if not short:
        raise RunError(
            f"{run.label} has no response to rate: each has a text of over {LONGEST_TEXT:,} "
            "characters"
        )
    return short


def with_proposals(sample: RatingSample, judge: str) -> RatingSample:
    """A sample with a judge's proposals: one request per document that has gold reasoning.

    The judge reads the gold reasoning in place of the images. Replies are cached.

    Raises:
        JudgeConfigurationError: if the judge cannot be used, or writes no text.
    """
    from lmms_rpts.judging.prompts import Prompts  # imports jinja2

    settings = load_settings()
    if not find_judge(judge, settings).backend.writes:
        raise JudgeConfigurationError(f"The judge {judge!r} writes no text: choose another one")
    prompts = Prompts(settings.prompts)
    instances = [each.instance for each in sample.responses if each.instance.reasoning]
    requests = [
        prompts.request(
            RELATION.name,
            each.language,
            parse=parse_relation,
            statement=each.statement,
            context=each.context,
            clues=each.textual_clue,
            reasoning=each.reasoning,
        )
        for each in instances
    ]
    with open_engine(judge, concurrency=settings.concurrency, cache_dir=settings.cache) as engine:
        verdicts = dict(zip((each.key for each in instances), engine.run(requests), strict=True))
    failed = [each.error for each in verdicts.values() if each.error]
    failed += ["it has no gold reasoning"] * (len(sample.responses) - len(instances))
    proposals = {
        key: Proposal(str(each.value), stated_reason(each.text or ""))
        for key, each in verdicts.items()
        if not each.error
    }
    return replace(sample, proposals=proposals, failures=tuple(failed))


def _in_turn(responses: Sequence[RptsRecord], generator: random.Random) -> Iterator[RptsRecord]:
    strata: dict[tuple[str, str, str], list[RptsRecord]] = {}
    for each in responses:
        verdict = _UNSCORED if each.rpts is None else _BROKEN if each.first_error else _SOUND
        stratum = (each.instance.task, each.instance.language, verdict)
        strata.setdefault(stratum, []).append(each)
    for listed in strata.values():
        generator.shuffle(listed)
    tasks = sorted({(task, language) for task, language, _ in strata})
    generator.shuffle(tasks)
    turns = [strata.get((*task, verdict), []) for task in tasks for verdict in (_BROKEN, _SOUND)]
    last = [strata.get((*task, _UNSCORED), []) for task in tasks]
    rounds = chain(zip_longest(*turns), zip_longest(*last))
    return (each for one in rounds for each in one if each is not None)


def _longest_text(response: RptsRecord) -> int:
    instance = response.instance
    texts = [instance.statement, instance.context, *instance.textual_clue]
    for step in response.steps:
        texts += [step.conclusion, *(step.questions[0].evidence if step.questions else ())]
    return max(map(len, texts))
