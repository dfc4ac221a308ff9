"""Validation of a judge: requests scores for labelled steps and compares them with the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain as linked
from itertools import islice, zip_longest
from typing import Literal

from lmms_rpts import __version__
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import Settings
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
from lmms_rpts.judging.budget import EXPECTED_OUTPUT, guess_input_tokens
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.validity import JudgedChain, ValidatedSet, Validity
from lmms_rpts.runs.validity import Usage as UsageRecord
from lmms_rpts.stats.step_measures import THRESHOLD
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.figures import figures_of
from lmms_rpts.validation.loading import LoadedSet

Premises = Literal["given", "all"]

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
    """

    loaded: LoadedSet
    chains: tuple[LabelledChain, ...]
    premises: Premises
    questions: tuple[StepQuestion, ...]

    @property
    def blind(self) -> bool:
        """Whether the questions have images, which are not shown to any judge yet."""
        return any(chain.images for chain in self.chains)

    def ask(self, engine: JudgeEngine) -> list[Verdict]:
        """The verdicts of a judge on the questions."""
        requests = [question.request for question in self.questions]
        return engine.run(requests, f"Judging {self.loaded.name}")

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
        asked = {q.request.key: q.request for each in self.sets for q in each.questions}
        opinions = sum(each.kept for each in backends_of(self.judge)) * self.settings.judge_samples
        tokens_in = sum(map(guess_input_tokens, asked.values()))
        calls = len(asked) * opinions
        return calls, Usage(tokens_in * opinions, EXPECTED_OUTPUT * calls)


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
    usable: bool = True,
) -> Plan:
    """Choose chains and build the questions.

    Args:
        premises: ``given``: those in the data, if any, else all earlier steps.
        usable: whether to check that the judge can be used; False for an estimate only.
    """
    if usable:
        find_judges(judge, settings)
    if judge.strip() == NO_JUDGE:
        raise JudgeConfigurationError(f"The judge {NO_JUDGE!r} judges nothing: choose another one")
    prompts = Prompts(settings.prompts)
    planned = []
    for each in sets:
        chains = tuple(draw(each.chains, limit, seed))
        named = any(chain.premises is not None for chain in chains)
        wanted = premises == "given" or each.layout.fixed_premises
        which: Premises = "given" if wanted and named else "all"
        questions = tuple(questions_of(chains, which, prompts))
        planned.append(PlannedSet(each, chains, which, questions))
    return Plan(judge, tuple(planned), prompts.version(), limit, seed, settings)


def questions_of(
    chains: Sequence[LabelledChain], which: Premises, prompts: Prompts
) -> Iterator[StepQuestion]:
    """A question for each labelled step, in order: the same as for an inference of a run."""
    for number, chain in enumerate(chains):
        for step in chain.asked:
            premises = premises_of(chain, step, which)
            room, dropped = MOST_CHARACTERS, len(premises)
            while dropped and (room := room - len(premises[dropped - 1])) >= 0:
                dropped -= 1
            kept = premises[dropped:]
            request = prompts.request(
                "inference",
                chain.language,
                context=chain.context,
                premises=kept,
                conclusion=chain.steps[step],
            )
            yield StepQuestion(number, step, kept, dropped > 0, request)


def premises_of(chain: LabelledChain, step: int, which: Premises) -> tuple[str, ...]:
    """The premises of a step."""
    if chain.premises is not None and which == "given":
        return chain.premises[step]
    place = chain.place(step)
    earlier = (chain.steps[at] for at in chain.on_path if chain.place(at) < place)
    return tuple(text for text in earlier if text.strip())


def validate(plan: Plan, *, progress: bool = True) -> Validation:
    """Request the judge's scores, set by set, and compute the figures.

    Cached answers are not requested again. If requests have to stop (no credit, no budget), the
    remaining steps count as unscored.

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
    if all(_score(verdict) is None for verdict in verdicts):
        error = stopped or next((each.error for each in verdicts if each.error), None)
        raise NothingScoredError(f"The judge {plan.judge} scored no step: {error}")
    validity = Validity(
        format="lmms-rpts-validity",
        judge=plan.judge,
        judge_samples=settings.judge_samples,
        jury=settings.jury,
        temperature=settings.temperature,
        prompt_version=plan.prompt_version,
        created=datetime.now(timezone.utc).date().isoformat(),
        lmms_rpts=__version__,
        seed=plan.seed,
        limit=plan.limit,
        sets=tuple(found for found, _ in asked),
    )
    misses = (tuple(_worst(each, own)) for each, (_, own) in zip(plan.sets, asked, strict=True))
    return Validation(validity, tuple(misses), stopped)


def _validate_set(
    planned: PlannedSet, engine: JudgeEngine, words: JudgeEngine, settings: Settings
) -> tuple[ValidatedSet, Sequence[Verdict]]:
    """The figures of a set, and the judge's verdicts."""
    spent = _spent(engine.budget)
    verdicts = planned.ask(engine)
    *counts, cost = (now - then for now, then in zip(_spent(engine.budget), spent, strict=True))
    calls, read, said, cached = map(int, counts)
    # Word overlap needs no calls, so it is a baseline for every judge.
    by_words = verdicts if engine.name == LEXICAL else planned.ask(words)
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
        shortened=sum(question.shortened for question in planned.questions),
        published=loaded.layout.about.anchors,
        usage=UsageRecord(
            calls=calls,
            input_tokens=read,
            output_tokens=said,
            cost=cost if settings.prices else None,
            found=cached,
        ),
        chains=tuple(
            JudgedChain(scores=own, **{name: getattr(chain, name) for name in _CHAIN_FIELDS})
            for chain, own in zip(chains, scores, strict=True)
        ),
        **figures_of(loaded.layout.name, chains, scores, {LEXICAL: planned.scores(by_words)}),
    )
    return validated, verdicts


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
        replies = [f"{each.judge}: {each.text or each.error}" for each in verdict.opinions]
        reply = "\n\n".join(replies) if replies else verdict.text
        misses.append(Miss(chain, question.step, score, question.premises, reply))
    misses.sort(key=lambda miss: -abs(miss.score - miss.sound))
    kinds = ([miss for miss in misses if miss.sound is sound] for sound in (False, True))
    yield from islice(filter(None, linked.from_iterable(zip_longest(*kinds))), MISSES)
