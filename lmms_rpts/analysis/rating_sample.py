"""Sample of a run's responses for human raters, without bias from the judge's scores."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.rpts_eval.runs import Run

STEPS = 100
LONGEST_TEXT = 20_000
"""Maximum number of characters that a rater is asked to read."""

_BROKEN, _SOUND, _UNSCORED = "broken", "sound", "unscored"


@dataclass(frozen=True, slots=True)
class RatingSample:
    """Whole responses to rate, in an order that reveals nothing about their scores.

    ``too_long``: number of responses left out because a text is too long.
    """

    responses: tuple[RptsRecord, ...]
    too_long: int

    @property
    def steps(self) -> int:
        """Number of steps to rate."""
        return sum(len(rated_steps(each)) for each in self.responses)


def rated_steps(response: RptsRecord) -> tuple[int, ...]:
    """The numbers of its judged steps."""
    return tuple(at for at, step in enumerate(response.steps) if step.questions)


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
            f"{run.label} has no judged step: score the run with a judge first (lmms-rpts score)"
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
        texts += [step.conclusion, *(step.questions[0].evidence if step.questions else ())]
    return max(map(len, texts))
