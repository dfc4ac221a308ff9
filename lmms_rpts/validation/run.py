"""Validation of a judge: requests scores for labelled steps and compares them with the labels."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import chain as linked
from itertools import islice, zip_longest
from typing import Literal

from PIL import Image

from lmms_rpts import __version__
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import Settings
from lmms_rpts.filters.documents import DocumentImages
from lmms_rpts.judging import (
    NO_JUDGE,
    Budget,
    JudgeConfigurationError,
    JudgeEngine,
    JudgeRequest,
    Member,
    Usage,
    Verdict,
    backends_of,
    find_judges,
    open_engine,
)
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.budget import expected_output, guess_input_tokens
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.scoring import in_words
from lmms_rpts.runs.validity import Interval, JudgedChain, ValidatedSet, Validity
from lmms_rpts.runs.validity import Usage as UsageRecord
from lmms_rpts.stats.step_measures import THRESHOLD
from lmms_rpts.tasks.images import FORMATS
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.figures import compare_sets, figures_of
from lmms_rpts.validation.loading import LoadedSet

Premises = Literal["given", "all"]
Images = Literal["shown", "hidden", "both"]
"""Whether the judge sees the images of the questions; both: once with and once without them."""

MOST_CHARACTERS = 60_000
"""Maximum length of all premises together (about 15,000 tokens); the oldest are dropped first."""

MISSES = 20
"""Number of the worst errors per set that are reported with texts."""

LEXICAL = "lexical"

_WORDS = Member(LEXICAL, LexicalJudge(), kept=False)
_CHAIN_FIELDS = (
    *("id", "question", "stratum", "labels"),
    *("first_error", "located", "places", "path"),
)


class UnseenError(UserError):
    """Raised if the images of the questions cannot be shown; the message gives the reason."""


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
    request: JudgeRequest


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """The planned requests for one set.

    Attributes:
        premises: which premises the questions contain.
        questions: one for each labelled step.
        words: the same without images, for the baseline by word overlap.
        seen: number of chains whose images are shown.
    """

    loaded: LoadedSet
    chains: tuple[LabelledChain, ...]
    premises: Premises
    questions: tuple[StepQuestion, ...]
    words: tuple[StepQuestion, ...]
    seen: int

    @property
    def blind(self) -> bool:
        """Whether the questions have images that the judge is not shown."""
        return not self.seen and any(chain.images for chain in self.chains)

    def ask(self, engine: JudgeEngine, questions: Sequence[StepQuestion]) -> list[Verdict]:
        """The verdicts of a judge on the questions; the engine sends equal requests once."""
        return engine.run([each.request for each in questions], f"Judging {self.loaded.name}")

    def scores(self, verdicts: Sequence[Verdict]) -> tuple[tuple[float | None, ...], ...]:
        """The scores by chain and step; None: not asked, or no score."""
        scores: list[list[float | None]] = [[None] * len(chain.steps) for chain in self.chains]
        for question, verdict in zip(self.questions, verdicts, strict=True):
            scores[question.chain][question.step] = _score(verdict)
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
            (str(request.messages), request.evidence, request.images): request
            for each in self.sets
            for request in (question.request for question in each.questions)
        }
        opinions = sum(each.kept for each in backends_of(self.judge)) * self.settings.judge_samples
        tokens_in = sum(map(guess_input_tokens, asked.values()))
        calls = len(asked) * opinions
        tokens_out = sum(map(expected_output, asked.values()))
        return calls, Usage(tokens_in * opinions, tokens_out * opinions)


@dataclass(frozen=True, slots=True)
class Miss:
    """A step for which the judge's score, in [0, 1], contradicts the label.

    ``premises``: those shown to the judge; ``reply``: its complete reply, or all replies of several
    judges or samples.
    """

    chain: LabelledChain
    step: int
    score: float
    premises: tuple[str, ...]
    reply: str | None

    @property
    def sound(self) -> bool:
        """The label of the step."""
        return self.chain.labels[self.step] is True


@dataclass(frozen=True, slots=True)
class Validation:
    """Results of a judge on all sets.

    Attributes:
        misses: for each set, the judge's worst errors, worst first.
        stopped: why requests ended early; None if they did not.
    """

    validity: Validity
    misses: tuple[tuple[Miss, ...], ...]
    stopped: str | None = None


def plan_validation(
    sets: Sequence[LoadedSet],
    judge: str,
    settings: Settings,
    *,
    limit: int | None = None,
    seed: int = 0,
    premises: Premises = "given",
    images: Images | None = None,
    usable: bool = True,
) -> Plan:
    """Choose chains and build the questions.

    Args:
        premises: ``given``: those in the data, if any, else all earlier steps.
        images: None: shown if the judge has vision and the files of any are there.
        usable: whether to check that the judge can be used; False for an estimate only.

    Raises:
        UnseenError: the images cannot be shown.
    """
    prompts = Prompts(settings.prompts, settings.scoring)
    if usable:
        judges = find_judges(judge, settings)
        sees = all(each.sees for each in judges)
    else:
        sees = all(each.writes for each in backends_of(judge))
    if not sees and images in ("shown", "both"):
        raise UnseenError(f"The judge {judge} has no vision: use --images hidden, or another judge")
    if judge.strip() == NO_JUDGE:
        raise JudgeConfigurationError(f"The judge {NO_JUDGE!r} judges nothing: choose another one")
    planned = []
    for each in sets:
        found = any(chain.files for chain in each.chains)
        shows = images in ("shown", "both") or (images is None and sees and found)
        usable_set = _with_images(each, images) if shows else each
        chains = tuple(draw(usable_set.chains, limit, seed))
        named = any(chain.premises is not None for chain in chains)
        wanted = premises == "given" or each.layout.fixed_premises
        which: Premises = "given" if wanted and named else "all"
        # Word overlap is no probability of a token.
        words = tuple(questions_of(chains, which, Prompts(settings.prompts)))
        build = partial(questions_of, chains, which, prompts)
        questions = tuple(build())
        blind = PlannedSet(usable_set, chains, which, questions, words, seen=0)
        n_seen = sum(bool(chain.files) for chain in chains)
        if shows and n_seen:
            shown = tuple(build(settings.image_size))
            planned.append(replace(blind, questions=shown, seen=n_seen))
        if images == "both" or not (shows and n_seen):
            planned.append(blind)
    return Plan(judge, tuple(planned), prompts.version(), limit, seed, settings)


def _with_images(found: LoadedSet, images: Images | None) -> LoadedSet:
    """The set without chains whose images are missing; with images only to compare both ways."""
    missing = {chain.id for chain in found.chains if chain.images and not chain.files}
    plain = {chain.id for chain in found.chains if images == "both" and not chain.images}
    if len(missing) + len(plain) == len(found.chains):
        places = ", ".join(folder or "." for folder in found.layout.folders)
        raise UnseenError(
            f"{found.name}: no image of its questions was found. Extract them "
            f"({found.layout.about.source}) into one of these folders, relative to that of the "
            f"questions: {places}; or use --images hidden"
            if missing
            else f"{found.name}: its questions have no images: leave out --images both"
        )
    left_out = {"an image is missing": len(missing), "the question has no image": len(plain)}
    return replace(
        found,
        chains=tuple(each for each in found.chains if each.id not in missing | plain),
        left_out={**found.left_out, **{reason: n for reason, n in left_out.items() if n}},
    )


def questions_of(
    chains: Sequence[LabelledChain], which: Premises, prompts: Prompts, longest: int = 0
) -> Iterator[StepQuestion]:
    """A question for each labelled step, in order: the same as for a step of a run.

    Args:
        longest: maximum of the longer side of images for the judge, in pixels; 0: without images.
    """
    for number, chain in enumerate(chains):
        images = _images(chain, longest) if longest else ()
        for step in chain.asked:
            premises = premises_of(chain, step, which)
            room, dropped = MOST_CHARACTERS, len(premises)
            while dropped and (room := room - len(premises[dropped - 1])) >= 0:
                dropped -= 1
            kept = premises[dropped:]
            given = {"context": chain.context, "premises": kept}
            # As in a run: a step from the image alone is a claim about it.
            claims = bool(images) and which == "given" and not premises
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
    found = DocumentImages(
        lambda: [Image.open(path, formats=FORMATS) for path in chain.files], longest, chain.language
    )
    images = tuple(found[at] for at in range(len(chain.files)))
    for image, path in zip(images, chain.files, strict=True):
        # Any error of Pillow for a broken file, which the engine reports.
        with suppress(Exception), Image.open(path, formats=FORMATS) as opened:
            scale = min(1.0, longest / max(opened.size))
            image.known_size = (round(opened.width * scale), round(opened.height * scale))
    return images


def premises_of(chain: LabelledChain, step: int, which: Premises) -> tuple[str, ...]:
    """The premises of a step."""
    if chain.premises is not None and which == "given":
        return chain.premises[step]
    place = chain.place(step)
    earlier = (chain.steps[at] for at in chain.on_path if chain.place(at) < place)
    return tuple(text for text in earlier if text.strip())


def validate(plan: Plan, *, progress: bool = True, required: bool = True) -> Validation:
    """Request the judge's scores, set by set, and compute the figures.

    Cached answers are not requested again. If requests have to stop (no credit, no budget), the
    remaining steps count as unscored.

    Args:
        required: whether a judge that scored no step is an error.

    Raises:
        JudgeConfigurationError: the judge cannot be used.
        NothingScoredError: no step was scored.
    """
    settings = plan.settings
    with (
        open_engine(
            plan.judge,
            concurrency=settings.concurrency,
            cache_dir=settings.cache,
            progress=progress,
        ) as engine,
        JudgeEngine([_WORDS], name=LEXICAL, progress=False) as words,
    ):
        asked = [_validate_set(each, engine, words, settings) for each in plan.sets]
        stopped = engine.fatal
        engine.warn_of_one_score()
    verdicts = [verdict for _, own in asked for verdict in own]
    if required and all(_score(verdict) is None for verdict in verdicts):
        error = stopped or next((each.error for each in verdicts if each.error), None)
        raise NothingScoredError(f"The judge {plan.judge} scored no step: {error}")
    validity = Validity(
        format="lmms-rpts-validity",
        judge=plan.judge,
        judge_samples=settings.judge_samples,
        jury=settings.jury,
        scoring=settings.scoring,
        temperature=settings.temperature,
        prompt_version=plan.prompt_version,
        created=datetime.now(timezone.utc).date().isoformat(),
        lmms_rpts=__version__,
        seed=plan.seed,
        limit=plan.limit,
        sets=tuple(_with_gain([found for found, _ in asked])),
    )
    misses = (tuple(_worst(each, own)) for each, (_, own) in zip(plan.sets, asked, strict=True))
    return Validation(validity, tuple(misses), stopped)


def _validate_set(
    planned: PlannedSet, engine: JudgeEngine, words: JudgeEngine, settings: Settings
) -> tuple[ValidatedSet, Sequence[Verdict]]:
    """The figures of a set, and the judge's verdicts."""
    spent, begun = _spent(engine.budget), time.monotonic()
    verdicts = planned.ask(engine, planned.questions)
    seconds = time.monotonic() - begun
    *counts, cost = (now - then for now, then in zip(_spent(engine.budget), spent, strict=True))
    calls, read, said, cached = map(int, counts)
    # Word overlap needs no calls, so it is a baseline for every judge.
    by_words = verdicts if engine.name == LEXICAL else planned.ask(words, planned.words)
    loaded, chains, scores = planned.loaded, planned.chains, planned.scores(verdicts)
    labels = [label for chain in chains for label in chain.labels if label is not None]
    validated = ValidatedSet(
        name=loaded.name,
        layout=loaded.layout.name,
        licence=loaded.layout.about.licence,
        sha256=loaded.sha256,
        n_chains=len(chains),
        n_steps=len(labels),
        n_wrong=labels.count(False),
        n_questions=len({chain.question for chain in chains}),
        available=len(loaded.chains),
        skipped=loaded.skipped,
        left_out=loaded.left_out,
        premises=planned.premises,
        blind=planned.blind,
        seen=planned.seen,
        shortened=sum(question.shortened for question in planned.questions),
        published=loaded.layout.about.anchors,
        usage=UsageRecord(
            calls=calls,
            input_tokens=read,
            output_tokens=said,
            cost=cost if settings.prices else None,
            found=cached,
            seconds=round(seconds, 3),
        ),
        chains=tuple(
            JudgedChain(scores=own, **{name: getattr(chain, name) for name in _CHAIN_FIELDS})
            for chain, own in zip(chains, scores, strict=True)
        ),
        **figures_of(loaded.layout.name, chains, scores, {LEXICAL: planned.scores(by_words)}),
    )
    return validated, verdicts


def _with_gain(sets: Sequence[ValidatedSet]) -> Iterator[ValidatedSet]:
    """The sets; one with images that is followed by itself without them has the differences."""
    for found, other in zip_longest(sets, sets[1:]):
        gain: Mapping[str, Interval] = {}
        if found.seen and other is not None and (other.name, other.blind) == (found.name, True):
            compared = compare_sets(other, found)
            if compared is not None:
                gain = {
                    name: Interval(value=each.value, low=each.low, high=each.high)
                    for name, each in compared.found.differences.items()
                }
        yield found.model_copy(update={"gain": gain})


def _spent(budget: Budget) -> tuple[float, ...]:
    usage = budget.usage
    return budget.calls, usage.input_tokens, usage.output_tokens, budget.found, budget.cost


def _score(verdict: Verdict) -> float | None:
    return verdict.value if isinstance(verdict.value, float) else None


def _worst(planned: PlannedSet, verdicts: Sequence[Verdict]) -> Iterator[Miss]:
    """The errors with the largest gap between score and label, both kinds in turn."""
    misses: list[Miss] = []
    for question, verdict in zip(planned.questions, verdicts, strict=True):
        score, chain = _score(verdict), planned.chains[question.chain]
        if score is None or (score >= THRESHOLD) == (chain.labels[question.step] is True):
            continue
        replies = [
            f"{each.judge}: {in_words(each.text) if each.text else each.error}"
            for each in verdict.opinions
        ]
        reply = "\n\n".join(replies) if replies else verdict.text and in_words(verdict.text)
        misses.append(Miss(chain, question.step, score, question.premises, reply))
    misses.sort(key=lambda miss: -abs(miss.score - miss.sound))
    kinds = ([miss for miss in misses if miss.sound is sound] for sound in (False, True))
    yield from islice(filter(None, linked.from_iterable(zip_longest(*kinds))), MISSES)
