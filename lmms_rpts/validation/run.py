"""Validation of a judge: requests scores for labelled steps and compares them with the labels."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from PIL import Image

from lmms_rpts import __version__
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.budget import EXPECTED_OUTPUT, guess_input_tokens
from lmms_rpts.judging.client import Client, open_client
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.registry import backend_of, find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError, Request, Usage, Verdict
from lmms_rpts.runs.validity import Usage as UsageRecord
from lmms_rpts.runs.validity import ValidatedSet, Validity
from lmms_rpts.runs.work import ordered, run_async
from lmms_rpts.scoring.question import judge_images
from lmms_rpts.tasks.images import FORMATS
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.figures import figures_of
from lmms_rpts.validation.loading import LoadedSet

MOST_CHARACTERS = 60_000
"""Maximum length of all premises together (about 15,000 tokens); the oldest are dropped first."""

LEXICAL = "lexical"


class NothingScoredError(UserError):
    """Raised if no step was scored; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """One labelled step as a request to the judge.

    ``chain`` and ``step`` are numbers from 0; ``shortened``: whether premises were left out.
    """

    chain: int
    step: int
    premises: tuple[str, ...]
    shortened: bool
    request: Request


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """The planned requests for one set.

    Attributes:
        questions: one for each labelled step.
        words: the same without images, for the baseline by word overlap.
        seen: number of chains whose images are shown.
    """

    loaded: LoadedSet
    chains: tuple[LabelledChain, ...]
    questions: tuple[StepQuestion, ...]
    words: tuple[StepQuestion, ...]
    seen: int

    @property
    def blind(self) -> bool:
        """Whether the questions have images that the judge is not shown."""
        return not self.seen and any(chain.images for chain in self.chains)

    async def ask(
        self, judge: Client, questions: Sequence[StepQuestion], progress: bool
    ) -> list[Verdict]:
        """The verdicts of a judge on the questions; equal requests are sent once."""
        verdicts = ordered(
            (judge.ask(question.request) for question in questions),
            judge,
            total=len(questions),
            label=f"Judging {self.loaded.name}",
            unit_name="requests",
            shown=progress,
        )
        return [verdict async for verdict in verdicts]

    def scores(self, verdicts: Sequence[Verdict]) -> tuple[tuple[float | None, ...], ...]:
        """The scores by chain and step; None: not asked, or no score."""
        scores: list[list[float | None]] = [[None] * len(chain.steps) for chain in self.chains]
        for question, verdict in zip(self.questions, verdicts, strict=True):
            if isinstance(verdict.value, float):
                scores[question.chain][question.step] = verdict.value
        return tuple(map(tuple, scores))


@dataclass(frozen=True, slots=True)
class Plan:
    """All planned requests, with their settings."""

    judge: str
    sets: tuple[PlannedSet, ...]
    prompt_version: str
    limit: int | None
    seed: int
    settings: Settings

    def need(self) -> tuple[int, Usage]:
        """Number of calls without cache hits, and their tokens, estimated from the texts.

        Equal requests are sent once.
        """
        # Not by their keys, for which all images would have to be decoded.
        asked = {
            (str(request.messages), request.images): request
            for each in self.sets
            for request in (question.request for question in each.questions)
        }
        calls = 0 if backend_of(self.judge).free else len(asked)
        tokens_in = sum(map(guess_input_tokens, asked.values())) if calls else 0
        return calls, Usage(tokens_in, EXPECTED_OUTPUT * calls)


@dataclass(frozen=True, slots=True)
class Validation:
    """Results of a judge on all sets; ``stopped``: why requests ended early, None: they did not."""

    validity: Validity
    stopped: str | None = None


def plan_validation(
    sets: Sequence[LoadedSet],
    judge: str,
    settings: Settings,
    *,
    limit: int | None = None,
    seed: int = 0,
    usable: bool = True,
) -> Plan:
    """Choose chains and build the questions.

    Images are shown if the judge has vision and the files of any are there.

    Args:
        usable: whether to check that the judge can be used; False for an estimate only.
    """
    prompts = Prompts(settings.prompts)
    sees = find_judge(judge, settings).sees if usable else not backend_of(judge).free
    if judge.strip() == NO_JUDGE:
        raise JudgeConfigurationError(f"The judge {NO_JUDGE!r} judges nothing: choose another one")
    planned = []
    for each in sets:
        shows = sees and any(chain.files for chain in each.chains)
        usable_set = _with_images(each) if shows else each
        chains = tuple(draw(usable_set.chains, limit, seed))
        words = tuple(questions_of(chains, prompts))
        longest = settings.image_size if shows else 0
        questions = tuple(questions_of(chains, prompts, longest))
        seen = sum(bool(chain.files) for chain in chains) if shows else 0
        planned.append(PlannedSet(usable_set, chains, questions, words, seen))
    return Plan(judge, tuple(planned), prompts.version(), limit, seed, settings)


def _with_images(found: LoadedSet) -> LoadedSet:
    """The set without chains whose images are missing."""
    chains = tuple(each for each in found.chains if each.files or not each.images)
    missing = len(found.chains) - len(chains)
    left_out = {"an image is missing": missing} if missing else {}
    return replace(found, chains=chains, left_out={**found.left_out, **left_out})


def questions_of(
    chains: Sequence[LabelledChain], prompts: Prompts, longest: int = 0
) -> Iterator[StepQuestion]:
    """A question for each labelled step, in order: the same as for a step of a run.

    Args:
        longest: maximum of the longer side of images for the judge, in pixels; 0: without images.
    """
    for number, chain in enumerate(chains):
        images = _images(chain, longest) if longest else ()
        for step in chain.asked:
            premises = premises_of(chain, step)
            room, dropped = MOST_CHARACTERS, len(premises)
            while dropped and (room := room - len(premises[dropped - 1])) >= 0:
                dropped -= 1
            kept = premises[dropped:]
            given = {"context": chain.context, "premises": kept}
            # As in a run: a step from the image alone is a claim about it.
            claims = bool(images) and chain.premises is not None and not premises
            request = prompts.request(
                "image" if claims else "inference",
                chain.language,
                images=images,
                conclusion=chain.steps[step],
                **({"facts": ()} if claims else given),
            )
            yield StepQuestion(number, step, kept, dropped > 0, request)


def _images(chain: LabelledChain, longest: int) -> tuple[JudgeImage, ...]:
    """The images of a question as a run shows them; their sizes are known, for the estimate."""
    images = judge_images(
        lambda: [Image.open(path, formats=FORMATS) for path in chain.files],
        *(len(chain.files), longest, chain.language),
    )
    for image, path in zip(images, chain.files, strict=True):
        # Any error of Pillow for a broken file, which the client reports.
        with suppress(Exception), Image.open(path, formats=FORMATS) as opened:
            scale = min(1.0, longest / max(opened.size))
            image.known_size = (round(opened.width * scale), round(opened.height * scale))
    return images


def premises_of(chain: LabelledChain, step: int) -> tuple[str, ...]:
    """The premises of a step: those in the data, if any, else all earlier steps."""
    if chain.premises is not None:
        return chain.premises[step]
    return tuple(text for text in chain.steps[:step] if text.strip())


def validate(plan: Plan, *, progress: bool = True) -> Validation:
    """Request the judge's scores, set by set, and compute the figures.

    Cached answers are not requested again. If requests have to stop (no credit, no budget), the
    remaining steps count as unscored.

    Raises:
        JudgeConfigurationError: the judge cannot be used.
        NothingScoredError: no step was scored.
    """
    settings = plan.settings

    async def work() -> tuple[list[tuple[ValidatedSet, Sequence[Verdict]]], str | None]:
        baseline = open_client(LEXICAL, settings.model_copy(update={"temperature": 0.0}))
        async with open_client(plan.judge, settings) as judge, baseline as words:
            sets = [await _validate_set(each, judge, words, progress) for each in plan.sets]
            return sets, judge.stopped

    asked, stopped = run_async(work())
    verdicts = [verdict for _, own in asked for verdict in own]
    if all(verdict.value is None for verdict in verdicts):
        error = stopped or next((each.error for each in verdicts if each.error), None)
        raise NothingScoredError(f"The judge {plan.judge} scored no step: {error}")
    validity = Validity(
        format="lmms-rpts-validity",
        judge=plan.judge,
        temperature=settings.temperature,
        prompt_version=plan.prompt_version,
        created=datetime.now(timezone.utc).date().isoformat(),
        lmms_rpts=__version__,
        seed=plan.seed,
        limit=plan.limit,
        sets=tuple(found for found, _ in asked),
    )
    return Validation(validity, stopped)


async def _validate_set(
    planned: PlannedSet, judge: Client, words: Client, progress: bool
) -> tuple[ValidatedSet, Sequence[Verdict]]:
    """The figures of a set, and the judge's verdicts."""
    spent, begun = judge.budget.usage(), time.monotonic()
    verdicts = await planned.ask(judge, planned.questions, progress)
    seconds, usage = time.monotonic() - begun, judge.budget.usage()
    names = ("calls", "input_tokens", "output_tokens", "found", "cost")
    used: dict[str, Any] = {name: usage[name] - spent[name] for name in names}
    used["cost"] = used["cost"] or None  # without a price
    # Word overlap needs no calls, so it is a baseline for every judge.
    by_words = verdicts if judge.name == LEXICAL else await planned.ask(words, planned.words, False)
    loaded, chains, scores = planned.loaded, planned.chains, planned.scores(verdicts)
    labels = [label for chain in chains for label in chain.labels if label is not None]
    validated = ValidatedSet(
        name=loaded.name,
        layout=loaded.layout.name,
        n_chains=len(chains),
        n_steps=len(labels),
        n_wrong=labels.count(False),
        n_questions=len({chain.question for chain in chains}),
        available=len(loaded.chains),
        skipped=loaded.skipped,
        left_out=loaded.left_out,
        blind=planned.blind,
        seen=planned.seen,
        shortened=sum(question.shortened for question in planned.questions),
        usage=UsageRecord(**used, seconds=round(seconds, 3)),
        **figures_of(chains, scores, {LEXICAL: planned.scores(by_words)}),
    )
    return validated, verdicts
