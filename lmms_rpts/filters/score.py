"""``rpts_score``: repair the chain and let a judge score each step and the root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from loguru import logger

from lmms_rpts.filters.aligned_documents import DocumentImages, images_of
from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.budget import note_validity
from lmms_rpts.filters.responses import (
    Doc,
    Question,
    ScoredResponse,
    StepScore,
    TransformedResponse,
)
from lmms_rpts.judging import NO_JUDGE, Dialogue, JudgeConfigurationError, Verdict, find_judges
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.judging.isolation import Isolation
from lmms_rpts.judging.prompts import Prompts, image_request, inference_request, root_request
from lmms_rpts.reasoning import (
    FixedScore,
    ImageQuery,
    ReasoningChain,
    RootQuery,
    StepQuery,
    build_tree,
    combine_answers,
    plan_root,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.evidence import EVIDENCE, Evidence
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW
from lmms_rpts.runs.validity import Judging, read_validity_file
from lmms_rpts.settings import Settings, parse_choice

UNDETERMINED = "undetermined"
SEEING = "Choose openai:MODEL or hf:NAME_OR_PATH with a vision model"
_ANSWERS = {"zh": {"agree": "同意", "disagree": "不同意"}}
"""Answers as worded in a prompt, if the record has another word."""


class ScoreFilter(JudgingFilter):
    """Turns each ``TransformedResponse`` into a ``ScoredResponse``.

    Args:
        judge: the judge, if LMMS_RPTS_JUDGE is not set.
        evidence: the evidence that claims about images are judged against, if LMMS_RPTS_EVIDENCE
            is not set: ``facts``, ``image`` or ``both``; None: the facts of the gold reasoning, or
            the image if a document has no gold reasoning.

    Raises:
        JudgeConfigurationError: if no judge is configured or it cannot be used.
        SettingError: for an unknown kind of evidence.
        ValidityError: if the file in LMMS_RPTS_VALIDITY cannot be used.
    """

    takes = TransformedResponse
    gives = ScoredResponse

    def __init__(self, judge: str | None = None, evidence: str | None = None) -> None:
        super().__init__(judge)
        chosen = parse_choice("rpts_score: evidence", evidence, EVIDENCE)
        self.evidence = self.settings.evidence or chosen
        judges = find_judges(self.judge, self.settings)
        self.sees = self.judge == NO_JUDGE or all(each.sees for each in judges)
        if self.evidence not in (None, "facts") and not self.sees:
            raise JudgeConfigurationError(
                f"evidence={self.evidence} (LMMS_RPTS_EVIDENCE) needs a judge with vision; "
                f"{self.judge!r} has none. {SEEING}"
            )
        self.validity = _validity(self.settings, self.judge, self.prompts.version)

    def evidence_for(self, doc: Doc) -> Evidence:
        """The evidence that claims about the images of a document are judged against."""
        return evidence_for(doc, self.evidence)

    def document_faults(self, doc: Doc) -> Iterator[str]:
        """As in other filters; also documents with images that a text-only judge would need."""
        faults = list(super().document_faults(doc))
        yield from faults
        if not faults and self.is_blind_to(doc):
            yield self.blindness()

    def is_blind_to(self, doc: Doc) -> bool:
        """Whether the judge would need the images of a document but has no vision."""
        return not self.sees and bool(doc["visual_clue"]) and self.evidence_for(doc) != "facts"

    def blindness(self) -> str:
        """Why a text-only judge cannot judge a document without gold reasoning."""
        return (
            f"there is no gold reasoning, so claims about images are judged by the images, but "
            f"the judge {self.judge!r} has no vision. {SEEING}. Or set "
            "LMMS_RPTS_EVIDENCE=facts: claims about images then score 1 without being judged"
        )

    def apply(
        self, resps: Sequence[Sequence[TransformedResponse]], docs: Sequence[Doc]
    ) -> list[list[ScoredResponse]]:
        """Score all steps of all responses."""
        if self.judge != NO_JUDGE:
            note_validity(self.validity)
        return self.map_responses(resps, docs, self._score_all)

    def _score_all(self, pairs: list[tuple[Any, Doc]]) -> list[ScoredResponse]:
        with Isolation("judging a response's steps") as isolation:
            plans = [
                _planned(transformed, doc, self.evidence_for(doc), isolation)
                for transformed, doc in pairs
            ]
            asked = [
                (query, doc)
                for plan, (_, doc) in zip(plans, pairs, strict=True)
                for query in plan.queries
            ]
            rooted = [
                (plan, doc)
                for plan, (_, doc) in zip(plans, pairs, strict=True)
                if has_root_question(plan.transformed, plan.chain)
            ]
            scores, fatal = [StepScore(None)] * (len(asked) + len(rooted)), None
            if self.judge != NO_JUDGE:
                dialogues = [self._ask(query, doc, isolation) for query, doc in asked]
                dialogues += [self._ask_root(plan, doc, isolation) for plan, doc in rooted]
                scores, fatal = self.converse(dialogues, "Judging steps", "judgements")
        if fatal:
            logger.error(
                "Judging stopped: {}. Judge replies are cached (LMMS_RPTS_CACHE); responses are "
                "saved with --log_samples or --use_cache. Run the same command again to request "
                "only the missing replies.",
                fatal,
            )
        steps, roots = scores[: len(asked)], iter(scores[len(asked) :])
        # If nothing could be judged, responses without steps must not be the only scored ones, as
        # zeros. A judge that fails only on roots leaves the published score intact.
        judged = any(step.questions and step.score is not None for step in steps)
        failed = any(step.score is None for step in steps)
        reason = fatal if fatal and failed and not judged else None
        results = iter(steps)
        root_of = {id(plan): next(roots) for plan, _ in rooted}
        return [
            ScoredResponse(
                replace(plan.transformed, error=plan.transformed.error or reason),
                plan.chain,
                tuple(next(results) for _ in plan.queries),
                self.judge,
                root_of.get(id(plan)),
                plan.evidence,
            )
            for plan in plans
        ]

    def _ask(self, query: StepQuery, doc: Doc, isolation: Isolation) -> Dialogue[StepScore]:
        return isolation.begin(
            lambda: ask_about_step(query, doc["language"], self.prompts, images_of(doc)),
            _failed_step,
        )

    def _ask_root(self, plan: _Plan, doc: Doc, isolation: Isolation) -> Dialogue[StepScore]:
        answer = plan.transformed.answer or ""

        def ask() -> Dialogue[StepScore]:
            query = root_query(plan.chain, doc, plan.evidence)
            return ask_about_root(query, answer, doc, self.prompts, images_of(doc))

        return isolation.begin(ask, _failed_root)


def _validity(settings: Settings, judge: str, prompt_version: str) -> dict[str, Any] | None:
    """The figures in the file of LMMS_RPTS_VALIDITY, for a run's results; None: no file."""
    if settings.validity is None:
        return None
    found = read_validity_file(settings.validity)
    if judge != NO_JUDGE and settings.rank == 0:
        chosen = Judging(judge, prompt_version, settings.judge_samples, settings.jury)
        said = found.mismatch(chosen)
        if said:
            _warn(f"LMMS_RPTS_VALIDITY: {said}: its figures do not apply to this run's judge")
    return found.extract()


@lru_cache  # tasks are checked several times
def _warn(said: str) -> None:
    logger.warning("{}", said)


def evidence_for(doc: Doc, chosen: Evidence | None) -> Evidence:
    """The evidence for claims about the images of a document; ``chosen`` takes precedence."""
    return chosen or ("facts" if doc["reasoning"] else "image")


@dataclass(frozen=True, slots=True)
class _Plan:
    """A response with its repaired chain, and the queries for its steps."""

    transformed: TransformedResponse
    chain: ReasoningChain
    queries: tuple[StepQuery, ...]
    evidence: Evidence


def _planned(
    transformed: TransformedResponse, doc: Doc, evidence: Evidence, isolation: Isolation
) -> _Plan:
    def plan() -> _Plan:
        chain = repaired(transformed, doc)
        return _Plan(transformed, chain, tuple(plan_steps(chain, doc, evidence)), evidence)

    def otherwise(reason: str) -> _Plan:
        nothing = ReasoningChain((), transformed.chain.language)
        unplanned = replace(transformed, error=transformed.error or reason)
        return _Plan(unplanned, nothing, (), evidence)

    return isolation.run(plan, otherwise)


def _failed_step(reason: str) -> StepScore:
    return StepScore(None, (Question("inference", (), None, None, reason),))


def _failed_root(reason: str) -> StepScore:
    return StepScore(None, (Question("root", (), None, None, reason),))


def has_root_question(transformed: TransformedResponse, chain: ReasoningChain) -> bool:
    """Whether there is a last conclusion, and an answer that it may settle.

    An answer can be judged even if it was not extracted: a maths solution is compared as a whole.
    """
    unfound = transformed.answer == UNDETERMINED and transformed.correct is not False
    return bool(chain.steps) and transformed.answer is not None and not unfound


def root_query(chain: ReasoningChain, doc: Doc, evidence: Evidence) -> RootQuery:
    """The question about the root of a repaired chain with steps."""
    tree = build_tree(chain, len(doc["visual_clue"]), len(doc["textual_clue"]))
    return plan_root(tree, doc, evidence)


def ask_about_root(
    query: RootQuery,
    answer: str,
    doc: Doc,
    prompts: Prompts,
    images: DocumentImages | None = None,
) -> Dialogue[StepScore]:
    """The conversation about the root: whether the evidence leads to the answer.

    Nothing leads to an answer that takes no side, so it scores 0 without a request.
    """
    if answer == UNDETERMINED:
        return StepScore(0.0, note="the answer takes no side")
    if query.images and images is None:
        return _unseen("root", query.images)
    shown = tuple(images[number] for number in query.images) if images is not None else ()
    language = doc["language"]
    said = _ANSWERS.get(language, {}).get(answer, answer)
    verdict = yield root_request(
        prompts, language, doc["context"], doc["statement"], said, query, shown
    )
    question = _asked("root", query.evidence, verdict, query.images)
    return StepScore(question.score, (question,))


def ask_about_step(
    query: StepQuery, language: str, prompts: Prompts, images: DocumentImages | None = None
) -> Dialogue[StepScore]:
    """The conversation that scores one step: one question, and a second one below 0.5."""
    if isinstance(query, FixedScore):
        return StepScore(query.score, note=query.reason)
    if query.images and images is None:
        return _unseen("image" if isinstance(query, ImageQuery) else "inference", query.images)
    shown = tuple(images[number] for number in query.images) if images is not None else ()
    if isinstance(query, ImageQuery):
        verdict = yield image_request(prompts, language, query.facts, query.conclusion, shown)
        question = _asked("image", query.facts, verdict, query.images)
        return StepScore(question.score, (question,))
    verdict = yield inference_request(
        prompts, language, query.context, query.premises, query.conclusion, shown
    )
    first = _asked("inference", query.premises, verdict, query.images)
    if first.score is None or first.score >= SECOND_QUESTION_BELOW:
        return StepScore(first.score, (first,))
    evidence = tuple(query.fallback_premises)
    verdict = yield inference_request(
        prompts, language, query.context, evidence, query.conclusion, shown
    )
    second = _asked("second", evidence, verdict, query.images)
    if second.score is None:
        return StepScore(None, (first, second))
    return StepScore(combine_answers(first.score, second.score), (first, second))


def repaired(transformed: TransformedResponse, doc: Doc) -> ReasoningChain:
    """The chain of a response after the published repair."""
    return repair_chain(
        transformed.chain, doc["textual_clue"], restates, n_images=len(doc["visual_clue"])
    )


def _unseen(kind: Literal["image", "inference", "root"], images: tuple[int, ...]) -> StepScore:
    reason = "the document's images are not available"
    return StepScore(None, (Question(kind, (), None, None, reason, images=images),))


def _asked(
    kind: Any, evidence: Sequence[str], verdict: Verdict, images: tuple[int, ...] = ()
) -> Question:
    score = verdict.value if isinstance(verdict.value, float) else None
    return Question(
        kind,
        tuple(text.strip() for text in evidence),
        score,
        verdict.text,
        verdict.error,
        verdict.spread,
        verdict.opinions,
        images,
    )
