"""Human ratings of steps: samples for raters; files of ratings, matched with a run."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_rpts.base.escaping import did_you_mean, shorten
from lmms_rpts.runs.rating_file import RatedItem, RatedRow, read_rating_file
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import RptsRecord

if TYPE_CHECKING:
    import pandas as pd

StepKey = tuple[str, int, int, int]
"""A step of a run: task, doc_id, repeat, step."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A step with human scores by rater; the name is empty if the file has none."""

    task: str
    doc_id: int
    repeat: int
    step: int
    ratings: Mapping[str, float]

    @property
    def score(self) -> float:
        """The raters' mean."""
        return math.fsum(self.ratings.values()) / len(self.ratings)


@dataclass(frozen=True, slots=True)
class Ratings:
    """Human scores of a run's steps; ``unrated``: number of rows with a blank score."""

    files: tuple[Path, ...]
    steps: tuple[Rated, ...]
    unrated: int

    @property
    def source(self) -> str:
        """The files' names."""
        return ", ".join(map(str, self.files))

    @property
    def raters(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted({name for each in self.steps for name in each.ratings}))

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
    """Read human scores of the steps of ``run`` from one file or several.

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
        found = read_rating_file(path)
        rated_here = 0
        for each in found:
            key = _key(each.where, each.source, run, documents)
            if each.source.score is None:
                continue
            rated_here += 1
            name = each.rater or ("" if len(paths) == 1 else str(path))
            first = rated_at.setdefault((key, name), each.where)
            if first != each.where:
                by = f" by {shorten(name)!r}" if name else ""
                raise RunError(f"{each.where}: this step was already scored{by} in {first}")
            scores.setdefault(key, {})[name] = each.source.score
        if not rated_here:
            raise RunError(f"{path}: no step is rated")
        unrated += len(found) - rated_here
    return Ratings(tuple(paths), tuple(Rated(*key, own) for key, own in scores.items()), unrated)


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


@dataclass(frozen=True, slots=True)
class RatingSample:
    """What to rate, in an order that reveals nothing about scores.

    ``responses``: whole responses; ``too_long``: number of those left out because a text is too
    long.
    """

    responses: tuple[RptsRecord, ...]
    too_long: int

    @property
    def steps(self) -> int:
        """Number of steps to rate."""
        return sum(len(rated_steps(each)) for each in self.responses)


def rated_steps(response: RptsRecord) -> tuple[int, ...]:
    """The numbers of the steps that were judged by premises or images, which raters are shown."""
    return tuple(at for at, step in enumerate(response.steps) if step.verdicts)


def draw_sample(run: Run, steps: int = STEPS, seed: int = 0) -> RatingSample:
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
    short = [each for each in rated if _longest_text(each) <= LONGEST_TEXT]
    if not short:
        raise RunError(
            f"{run.label} has no response to rate: each has a text of over {LONGEST_TEXT:,} "
            "characters"
        )
    generator = random.Random(seed)
    taken: list[RptsRecord] = []
    count = 0
    for response in _in_turn(short, generator):
        if count >= steps:
            break
        taken.append(response)
        count += len(rated_steps(response))
    generator.shuffle(taken)
    return RatingSample(tuple(taken), len(rated) - len(short))


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
        texts += [step.conclusion, *(step.verdicts[0].evidence if step.verdicts else ())]
    return max(map(len, texts))
