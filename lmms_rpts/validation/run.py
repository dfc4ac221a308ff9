"""Validation of a judge: requests scores for labelled steps and compares them with the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain as linked
from itertools import islice, zip_longest

from lmms_rpts import __version__
from lmms_rpts.errors import UserError
from lmms_rpts.judging import (
    NO_JUDGE,
    Budget,
    JudgeConfigurationError,
    JudgeEngine,
    Member,
    Usage,
    Verdict,
    count_paid,
    find_judges,
    open_engine,
)
from lmms_rpts.judging.backends.lexical import LexicalJudge
from lmms_rpts.judging.budget import EXPECTED_OUTPUT
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.tokens import guess_input_tokens
from lmms_rpts.runs.validity import JudgedChain, ValidatedSet, Validity
from lmms_rpts.runs.validity import Usage as UsageRecord
from lmms_rpts.settings import Settings
from lmms_rpts.stats.step_measures import THRESHOLD
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.figures import figures_of
from lmms_rpts.validation.loading import LoadedSet
from lmms_rpts.validation.questions import Premises, StepQuestion, questions_of
from lmms_rpts.validation.results import Miss, SetResult, Validation

MISSES = 20
"""Number of the worst errors per set that are reported with texts."""

LEXICAL = "lexical"

_WORDS = Member(LEXICAL, LexicalJudge(), kept=False)


class NothingScoredError(UserError):
    """Raised if no step was scored; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """The planned requests for one set.

    Attributes:
        loaded: the whole set.
        chains: chains that are used.
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
        opinions = count_paid(self.judge) * self.settings.judge_samples
        tokens_in = sum(map(guess_input_tokens, asked.values()))
        calls = len(asked) * opinions
        return calls, Usage(tokens_in * opinions, EXPECTED_OUTPUT * calls)


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
        limit: maximum number of chains per set; None: all.
        seed: seed for choosing chains.
        premises: ``given``: those in the data, if any, else all earlier steps.
        usable: whether to check that the judge can be used; False for an estimate only.

    Raises:
        JudgeConfigurationError: the judge cannot be used.
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
    return Plan(judge, tuple(planned), prompts.version, limit, seed, settings)


def validate(plan: Plan, *, progress: bool = True) -> Validation:
    """Request the judge's scores, set by set, and compute the figures.

    Cached answers are not requested again. If requests have to stop (no credit, no budget), the
    remaining steps count as unscored.

    Args:
        progress: whether to show a progress bar.

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
        results = tuple(_validate_set(each, engine, words, settings) for each in plan.sets)
        stopped = engine.fatal
        engine.warn_of_one_score()
    chains = [chain for result in results for chain in result.figures.chains]
    if all(score is None for chain in chains for score in chain.scores):
        error = stopped or next(filter(None, (result.error for result in results)), None)
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
        sets=tuple(result.figures for result in results),
    )
    return Validation(validity, results, stopped)


def _validate_set(
    planned: PlannedSet, engine: JudgeEngine, words: JudgeEngine, settings: Settings
) -> SetResult:
    spent = _spent(engine.budget)
    verdicts = _asked(planned, engine)
    usage = _usage(spent, _spent(engine.budget), priced=bool(settings.prices))
    # Word overlap needs no calls, so it is a baseline for every judge.
    by_words = verdicts if engine.name == LEXICAL else _asked(planned, words)
    scores = _scores(planned, verdicts)
    figures = figures_of(
        planned.loaded.layout, planned.chains, scores, {LEXICAL: _scores(planned, by_words)}
    )
    loaded, chains = planned.loaded, planned.chains
    labels = [label for chain in chains for label in chain.labels if label is not None]
    validated = ValidatedSet(
        name=loaded.name,
        layout=loaded.layout.name,
        licence=loaded.layout.licence,
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
        metrics=figures.metrics,
        own_metrics=figures.own_metrics,
        baselines=figures.baselines,
        thresholds=figures.thresholds,
        bins=figures.bins,
        published=figures.published,
        usage=usage,
        chains=tuple(_judged(chain, own) for chain, own in zip(chains, scores, strict=True)),
    )
    error = next((verdict.error for verdict in verdicts if verdict.error), None)
    return SetResult(validated, tuple(_worst(planned, verdicts)), error)


def _asked(planned: PlannedSet, engine: JudgeEngine) -> list[Verdict]:
    requests = [question.request for question in planned.questions]
    return engine.run(requests, f"Judging {planned.loaded.name}")


_Spent = tuple[int, Usage, float, int]


def _spent(budget: Budget) -> _Spent:
    return budget.calls, budget.usage, budget.cost, budget.found


def _usage(before: _Spent, after: _Spent, priced: bool) -> UsageRecord:
    return UsageRecord(
        calls=after[0] - before[0],
        input_tokens=after[1].input_tokens - before[1].input_tokens,
        output_tokens=after[1].output_tokens - before[1].output_tokens,
        cost=after[2] - before[2] if priced else None,
        found=after[3] - before[3],
    )


def _scores(planned: PlannedSet, verdicts: Sequence[Verdict]) -> list[list[float | None]]:
    scores: list[list[float | None]] = [[None] * len(chain.steps) for chain in planned.chains]
    for question, verdict in zip(planned.questions, verdicts, strict=True):
        scores[question.chain][question.step] = score_of(verdict)
    return scores


def score_of(verdict: Verdict) -> float | None:
    """The score of a verdict; None if it has none."""
    return verdict.value if isinstance(verdict.value, float) else None


def _judged(chain: LabelledChain, scores: Sequence[float | None]) -> JudgedChain:
    return JudgedChain(
        id=chain.id,
        question=chain.question,
        stratum=chain.stratum,
        labels=chain.labels,
        scores=tuple(scores),
        first_error=chain.first_error,
        located=chain.located,
        places=chain.places,
        path=chain.path,
    )


def _worst(planned: PlannedSet, verdicts: Sequence[Verdict]) -> Iterator[Miss]:
    """The errors with the largest gap between score and label, both kinds in turn."""
    kinds: dict[bool, list[tuple[float, int, Miss]]] = {True: [], False: []}
    for at, (question, verdict) in enumerate(zip(planned.questions, verdicts, strict=True)):
        score, chain = score_of(verdict), planned.chains[question.chain]
        sound = chain.labels[question.step] is True
        if score is not None and (score >= THRESHOLD) != sound:
            miss = Miss(chain, question.step, score, question.premises, _words(verdict))
            kinds[sound].append((-abs(score - sound), at, miss))
    turns = zip_longest(sorted(kinds[False]), sorted(kinds[True]))
    for _, _, miss in islice(filter(None, linked.from_iterable(turns)), MISSES):
        yield miss


def _words(verdict: Verdict) -> str | None:
    """The judge's reply; with several judges or samples, all replies."""
    if not verdict.opinions:
        return verdict.text
    return "\n\n".join(f"{each.judge}: {each.text or each.error}" for each in verdict.opinions)
