"""``rpts_aggregate``: compute the Reasoning Process Tree Score and write the record as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from loguru import logger

from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.base import RptsFilter
from lmms_rpts.filters.documents import instance_of
from lmms_rpts.filters.isolation import Isolation
from lmms_rpts.filters.record import (
    Diagnosis,
    Fault,
    FirstError,
    JudgedStep,
    RptsInstance,
    RptsRecord,
    Scoring,
)
from lmms_rpts.filters.responses import (
    CUT,
    READ_BY_RULES,
    REQUEST_FAILED,
    Doc,
    Judged,
    ScoredResponse,
)
from lmms_rpts.judging import NO_JUDGE, backend_of
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.reasoning import (
    Clue,
    ReasoningChain,
    ReasoningTree,
    StepError,
    build_tree,
    evidence_of,
    format_chain,
    locate_error,
    modality,
    needed_evidence,
    parse_chain,
    repair_chain,
    restating_steps,
    rpts_score,
)
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.reasoning.tree import DEFAULT_DECAY, DEFAULT_FOCUS_HEIGHT


class AggregateFilter(RptsFilter):
    """Turns each ``ScoredResponse`` into one JSON string (``lmms-rpts export --schema``).

    Args:
        decay: in [0, 1]; the setting ``decay`` overrides it.
        focus_height: at least 0; the setting ``focus_height`` overrides it.
    """

    takes = ScoredResponse

    def __init__(
        self, decay: float = DEFAULT_DECAY, focus_height: int = DEFAULT_FOCUS_HEIGHT
    ) -> None:
        super().__init__()
        settings = load_settings()
        chosen = settings.focus_height
        if settings.decay is None and not 0.0 <= decay <= 1.0:
            raise ValueError(f"rpts_aggregate: decay must lie in [0, 1], got {decay}")
        self.scoring = Scoring(
            judge=NO_JUDGE,
            comparable=False,
            decay=decay if settings.decay is None else settings.decay,
            focus_height=focus_height if chosen is None else chosen,
            prompt_version=Prompts(settings.prompts).version(),
            temperature=settings.temperature,
            source=settings.source,
        )

    def apply(
        self, resps: Sequence[Sequence[ScoredResponse]], docs: Sequence[Doc]
    ) -> list[str | list[str]]:
        """One string per instance; a list of strings for an instance with several responses."""
        records = self.map_responses(resps, docs, self._aggregate)
        return [record[0] if len(record) == 1 else record for record in records]

    def _aggregate(self, pairs: list[tuple[Any, Doc]]) -> list[str]:
        _report([scored for scored, _ in pairs])
        with Isolation("aggregating a response's scores") as isolation:
            return [self._write(scored, doc, isolation) for scored, doc in pairs]

    def _write(self, scored: ScoredResponse, doc: Doc, isolation: Isolation) -> str:
        def write(scored: ScoredResponse) -> str:
            return build_record(scored, doc, self.scoring).to_json()

        def otherwise(reason: str) -> str:
            nothing = ReasoningChain((), scored.chain.language)
            unread = replace(scored.transformed.unscored(reason), chain=nothing)
            return write(ScoredResponse(unread, nothing, (), scored.judge))

        return isolation.run(lambda: write(scored), otherwise)


def _report(responses: Sequence[ScoredResponse]) -> None:
    """Log warnings that the table of results does not show."""
    if not responses:
        return
    total, judge = len(responses), responses[0].judge
    caveat = backend_of(judge).caveat
    if judge != NO_JUDGE and not backend_of(judge).comparable:
        logger.warning(
            "Judge {!r}: its scores cannot be compared with those of others{}",
            judge,
            caveat and f"; {caveat}",
        )
    _report_stepless(responses, judge)
    failures = (scored.error for scored in responses if scored.error)
    errors = Counter(each for each in failures if not each.startswith(REQUEST_FAILED))
    if errors and judge != NO_JUDGE:
        logger.warning(
            "{} of {} responses could not be judged and are left out of the means (judge_coverage);"
            " most often: {}",
            sum(errors.values()),
            total,
            errors.most_common(1)[0][0],
        )
    _report_thinking(responses)
    by_rule = sum(
        any(each.startswith(READ_BY_RULES) for each in scored.transformed.transform.problems)
        for scored in responses
    )
    if by_rule:
        logger.warning(
            "{} of {} responses could not be rewritten by the judge and were parsed by rules",
            by_rule,
            total,
        )


def _report_stepless(responses: Sequence[ScoredResponse], judge: str) -> None:
    """Log a warning if most of the responses have an RPTS of 0 because no step can be read."""
    stepless = sum(not (scored.error or scored.chain.steps) for scored in responses)
    if 2 * stepless <= len(responses) or judge == NO_JUDGE:
        return
    free = not backend_of(judge).writes
    logger.warning(
        "{} of {} responses have no readable step (parse_rate), so that their RPTS is 0{}",
        stepless,
        len(responses),
        f": {judge!r} cannot divide free text into steps; a judge that writes text (openai:, hf:) "
        "can" * free,
    )


def _report_thinking(responses: Sequence[ScoredResponse]) -> None:
    problems = (each.transformed.transform.problems for each in responses)
    cut = sum(any(said.startswith(CUT) for said in each) for each in problems)
    if cut:
        logger.warning(
            "Of {} of {} responses, the thinking is too long: only passages of it are judged "
            "(`problems` in the records says which share)",
            cut,
            len(responses),
        )


def build_record(scored: ScoredResponse, doc: Doc, scoring: Scoring) -> RptsRecord:
    """The complete record of one response, sufficient for scoring it again and for showing it.

    Args:
        scored: the scored response.
        doc: its document.
        scoring: the settings; the judge is taken from the response.
    """
    instance = instance_of(RptsInstance, doc, {})
    tree = build_tree(scored.chain, len(instance.visual_clue), len(instance.textual_clue))
    scores = [step.score for step in scored.steps if step.score is not None]
    read, reason = scored.transformed, scored.error
    error = locate_error(tree, scores) if reason is None else None
    return RptsRecord(
        outcome="scored" if reason is None else "unscored",
        reason=reason,
        diagnosis=_diagnosis(tree, instance),
        rpts=None if reason else rpts_score(tree, scores, scoring.decay, scoring.focus_height),
        answer=read.answer,
        first_error=None if error is None else _first_error(error),
        chain=tuple(format_chain(scored.chain)),
        steps=tuple(_step(tree, at, step) for at, step in enumerate(scored.steps)),
        invalid_references=tuple(
            Fault(step=each.step, kind=each.clue.kind, index=each.clue.index, reason=each.reason)
            for each in tree.invalid
        ),
        transform=read.transform.model_copy(
            update={
                "chain": tuple(format_chain(read.chain)),
                "problems": tuple(
                    dict.fromkeys([*read.transform.problems, *scored.chain.problems])
                ),
            }
        ),
        instance=instance,
        settings=scoring.model_copy(
            update={
                "judge": scored.judge,
                "comparable": backend_of(scored.judge).comparable,
                "evidence": scored.evidence,
            }
        ),
    )


def _diagnosis(tree: ReasoningTree, instance: RptsInstance) -> Diagnosis:
    clues, n_images = instance.textual_clue, len(instance.visual_clue)
    needed = _needed(instance.reasoning, clues, n_images, instance.language)
    used = evidence_of(tree) & needed
    return Diagnosis(
        restating=tuple(restating_steps(tree.chain, instance.context, clues, restates)),
        needed=tuple(sorted(needed, key=_place_of)),
        used=tuple(sorted(used, key=_place_of)),
        coverage=len(used) / len(needed) if needed else 1.0,
    )


@lru_cache(maxsize=4096)
def _needed(
    gold: tuple[str, ...], clues: tuple[str, ...], n_images: int, language: Language
) -> frozenset[Clue]:
    """The evidence that an argument about a document must use; ``gold`` may be empty."""
    chain = repair_chain(parse_chain(list(gold), language), clues, restates, n_images=n_images)
    return needed_evidence(build_tree(chain, n_images, len(clues)), n_images, len(clues))


def _place_of(clue: Clue) -> tuple[str, int]:
    return clue.kind, clue.index or 0


def _step(tree: ReasoningTree, at: int, scored: Judged) -> JudgedStep:
    step = tree.chain.steps[at]
    return JudgedStep(
        premises=step.premises,
        conclusion=step.conclusion.strip(),
        height=tree.heights[at],
        counts=tree.uses[at] > 0,
        modality=modality(step),
        score=scored.score,
        note=scored.note,
        questions=scored.questions,
    )


def _first_error(error: StepError) -> FirstError:
    return FirstError(
        step=error.step,
        height=error.height,
        modality=error.modality,
        score=error.score,
        path=error.path,
        invalid=tuple(fault.clue for fault in error.invalid),
    )
