"""``rpts_score``: repair the chain and let a judge score each step and the root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from loguru import logger

from lmms_rpts.base.settings import Settings, parse_choice
from lmms_rpts.filters.base import JudgingFilter
from lmms_rpts.filters.budget import note_validity
from lmms_rpts.filters.documents import Document, DocumentImages, images_of
from lmms_rpts.filters.isolation import Isolation
from lmms_rpts.filters.metrics import OF_THE_ROOT
from lmms_rpts.filters.record import Judged, Kind, Question, RptsRecord
from lmms_rpts.filters.responses import Doc, ScoredResponse, TransformedResponse
from lmms_rpts.judging import NO_JUDGE, Dialogue, JudgeConfigurationError, Verdict, find_judges
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.parsers import step_verdicts
from lmms_rpts.judging.prompts import Prompts, prompts_of
from lmms_rpts.judging.request_kinds import CHAIN
from lmms_rpts.judging.scoring import read_probabilities
from lmms_rpts.judging.types import JudgeRequest, Rebuilt
from lmms_rpts.reasoning import (
    FixedScore,
    ImageQuery,
    ReasoningChain,
    StepQuery,
    build_tree,
    combine_answers,
    plan_root,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.answer_lines import UNDETERMINED
from lmms_rpts.reasoning.clues import EVIDENCE, Evidence
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW, gold_facts
from lmms_rpts.runs.record import JudgeCall
from lmms_rpts.runs.validity import Judging, read_validity_file

UNASKED = Judged(score=None)
UNSEEN = "the document's images are not available"
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
        self.protocol = judges[0].protocol
        self.unasked = OF_THE_ROOT if self.protocol else frozenset()
        if self.evidence not in (None, "facts") and not self.sees:
            raise JudgeConfigurationError(
                f"evidence={self.evidence} (LMMS_RPTS_EVIDENCE) needs a judge with vision; "
                f"{self.judge!r} has none. {SEEING}"
            )
        version = self.protocol or self.prompts.version()
        self.validity = _validity(self.settings, self.judge, version)

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
        return self.map_responses(resps, docs, self._score_both)

    def _score_both(self, pairs: list[tuple[Any, Doc]]) -> list[ScoredResponse]:
        """Score the responses, and their thinking if both are scored."""
        thoughts = [
            (replace(each.thinking, answer=each.answer), doc)
            for each, doc in pairs
            if each.thinking
        ]
        scored = self._score_all([*pairs, *thoughts])
        thinking = iter(scored[len(pairs) :])
        return [
            replace(found, thinking=next(thinking)) if each.thinking else found
            for found, (each, _) in zip(scored, pairs, strict=False)
        ]

    def _score_all(self, pairs: list[tuple[Any, Doc]]) -> list[ScoredResponse]:
        with Isolation("judging a response's steps") as isolation:
            planned = [self._planned(transformed, doc, isolation) for transformed, doc in pairs]
            plans = list(zip(planned, [doc for _, doc in pairs], strict=True))
            asked = [
                partial(ask_about_step, query, doc, self.prompts)
                for plan, doc in plans
                for query in plan.queries
            ]
            rooted = [
                partial(ask_about_root, plan, doc, self.prompts)
                for plan, doc in plans
                if plan.has_root_question
            ]
            scores, fatal = [UNASKED] * (len(asked) + len(rooted)), None
            if self.protocol:
                chains = [
                    isolation.begin(partial(ask_about_chain, plan, doc), plan.failed)
                    for plan, doc in plans
                ]
                found, fatal = self.converse(chains, "Judging chains", "chains")
                scores = [step for steps in found for step in steps]
            elif self.judge != NO_JUDGE:
                dialogues = [isolation.begin(ask, partial(_failed, "inference")) for ask in asked]
                dialogues += [isolation.begin(ask, partial(_failed, "root")) for ask in rooted]
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
        return [
            ScoredResponse(
                plan.transformed.unscored(reason),
                plan.chain,
                tuple(next(results) for _ in plan.queries),
                self.judge,
                next(roots, None) if plan.has_root_question else None,
                plan.evidence,
                protocol=self.protocol,
            )
            for plan in planned
        ]

    def _planned(self, transformed: TransformedResponse, doc: Doc, isolation: Isolation) -> Plan:
        def otherwise(reason: str) -> Plan:
            nothing = ReasoningChain((), transformed.chain.language)
            return Plan(transformed.unscored(reason), nothing, (), self.evidence_for(doc))

        return isolation.run(partial(Plan.of, transformed, doc, self.evidence), otherwise)


def _validity(settings: Settings, judge: str, prompt_version: str) -> dict[str, Any] | None:
    """The figures in the file of LMMS_RPTS_VALIDITY, for a run's results; None: no file."""
    if settings.validity is None:
        return None
    found = read_validity_file(settings.validity)
    if judge != NO_JUDGE and settings.rank == 0:
        chosen = Judging(
            judge, prompt_version, settings.judge_samples, settings.jury, settings.scoring
        )
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
class Plan:
    """A response with its repaired chain, and the queries for its steps."""

    transformed: TransformedResponse
    chain: ReasoningChain
    queries: tuple[StepQuery, ...]
    evidence: Evidence

    @classmethod
    def of(cls, transformed: TransformedResponse, doc: Doc, chosen: Evidence | None) -> Plan:
        """The plan of a response; ``chosen`` as for ``evidence_for``."""
        clues, n_images = doc["textual_clue"], len(doc["visual_clue"])
        chain = repair_chain(transformed.chain, clues, restates, n_images=n_images)
        evidence = evidence_for(doc, chosen)
        return cls(transformed, chain, tuple(plan_steps(chain, doc, evidence)), evidence)

    def failed(self, reason: str) -> list[Judged]:
        """The steps, without scores for this reason."""
        return [_failed("chain", reason)] * len(self.queries)

    @property
    def has_root_question(self) -> bool:
        """Whether there is a last conclusion, and an answer that it may settle.

        An answer can be judged even if it was not extracted: a maths solution is compared as a
        whole.
        """
        answer = self.transformed.answer
        unfound = answer.value == UNDETERMINED and answer.correct is not False
        return bool(self.chain.steps) and answer.value is not None and not unfound


def _failed(kind: Kind, reason: str) -> Judged:
    return Judged(score=None, questions=(Question(kind=kind, score=None, error=reason),))


def ask_about_root(plan: Plan, doc: Doc, prompts: Prompts) -> Dialogue[Judged]:
    """The conversation about the root: whether the evidence leads to the answer.

    Nothing leads to an answer that takes no side, so it scores 0 without a request.
    """
    answer, language = plan.transformed.answer.value or "", doc["language"]
    if answer == UNDETERMINED:
        return Judged(score=0.0, note="the answer takes no side")
    tree = build_tree(plan.chain, len(doc["visual_clue"]), len(doc["textual_clue"]))
    query = plan_root(tree, doc, plan.evidence)
    shown = _images(doc, query.images)
    if shown is None:
        return _failed("root", UNSEEN)
    said = _ANSWERS.get(language, {}).get(answer, answer)
    verdict = yield prompts.request(
        "root",
        language,
        images=shown,
        n_images=len(shown),
        context=doc["context"],
        statement=doc["statement"],
        answer=said,
        known=query.evidence,
        steps=query.steps,
        conclusion=query.conclusion,
    )
    return _judged(_asked("root", query.evidence, verdict, query.images))


def ask_about_step(query: StepQuery, doc: Doc, prompts: Prompts) -> Dialogue[Judged]:
    """The conversation that scores one step: one question, and a second one below 0.5."""
    if isinstance(query, FixedScore):
        return Judged(score=query.score, note=query.reason)
    language, shown = doc["language"], _images(doc, query.images)
    if shown is None:
        return _failed("image" if isinstance(query, ImageQuery) else "inference", UNSEEN)
    if isinstance(query, ImageQuery):
        verdict = yield prompts.request(
            "image", language, images=shown, facts=query.facts, conclusion=query.conclusion
        )
        return _judged(_asked("image", query.facts, verdict, query.images))
    ask = partial(
        prompts.request,
        "inference",
        language,
        images=shown,
        context=query.context,
        conclusion=query.conclusion,
    )
    verdict = yield ask(premises=query.premises)
    first = _asked("inference", query.premises, verdict, query.images)
    if first.score is None or first.score >= SECOND_QUESTION_BELOW:
        return _judged(first)
    evidence = tuple(query.fallback_premises)
    verdict = yield ask(premises=evidence)
    second = _asked("second", evidence, verdict, query.images)
    score = None if second.score is None else combine_answers(first.score, second.score)
    return Judged(score=score, questions=(first, second))


def ask_about_chain(plan: Plan, doc: Doc) -> Dialogue[list[Judged]]:
    """The conversation that scores all steps at once, for a process reward model.

    The problem is the context, the textual clues, what is known of the images, and the statement.
    """
    fixed = [query if isinstance(query, FixedScore) else None for query in plan.queries]
    verdict = Verdict(None)
    numbers = tuple(range(len(doc["visual_clue"]))) if plan.evidence != "facts" else ()
    if not all(fixed):
        shown = _images(doc, numbers)
        if shown is None:
            return plan.failed(UNSEEN)
        known = gold_facts(doc["reasoning"]) if plan.evidence != "image" else {}
        facts = (f"Image {at}: {'; '.join(said).strip()}" for at, said in sorted(known.items()))
        problem = (doc["context"], *doc["textual_clue"], *facts, doc["statement"])
        verdict = yield JudgeRequest(
            CHAIN,
            (),
            tuple(filter(None, problem)),
            images=shown,
            steps=tuple(step.conclusion.strip() for step in plan.chain.steps),
        )
    return [
        Judged(score=known.score, note=known.reason)
        if known
        else _judged(_asked("chain", (), own, numbers))
        for known, own in zip(fixed, step_verdicts(verdict, len(fixed)), strict=True)
    ]


def _images(doc: Doc, numbers: tuple[int, ...]) -> tuple[JudgeImage, ...] | None:
    """The images with these numbers; None if the document's images are not available."""
    images = images_of(doc)
    if numbers and images is None:
        return None
    return tuple(images[number] for number in numbers) if images is not None else ()


def _judged(question: Question) -> Judged:
    return Judged(score=question.score, questions=(question,))


def _asked(
    kind: Kind, evidence: Sequence[str], verdict: Verdict, images: tuple[int, ...]
) -> Question:
    texts = filter(None, [verdict.text, *(each.text for each in verdict.opinions)])
    return Question(
        kind=kind,
        evidence=tuple(text.strip() for text in evidence),
        score=verdict.value if isinstance(verdict.value, float) else None,
        reply=verdict.text,
        error=verdict.error,
        call=JudgeCall.of(verdict),
        spread=verdict.spread,
        opinions=verdict.opinions,
        images=images,
        mass=min((found[1] for found in map(read_probabilities, texts) if found), default=None),
    )


def step_requests(record: RptsRecord) -> list[list[Rebuilt]]:
    """The requests about each step of a record, and then about the root.

    A process reward model gets no messages: its lists are empty.
    """
    settings, chain = record.settings, record.tree().chain
    doc = Document(record.instance.model_dump(by_alias=True))
    doc.images = DocumentImages(tuple, language=record.instance.language)
    queries = tuple(plan_steps(chain, doc, settings.evidence))
    read = TransformedResponse(chain, record.answer, record.transform)
    prompts = prompts_of(settings.prompt_version, "inference", settings.scoring)
    dialogues = [ask_about_step(query, doc, prompts) for query in queries]
    dialogues += [ask_about_root(Plan(read, chain, queries, settings.evidence), doc, prompts)]
    same = prompts.version() == settings.prompt_version
    return [
        [*_replayed(dialogue, each.questions if each else (), same)]
        for dialogue, each in zip(dialogues, [*record.steps, record.root], strict=True)
    ]


def _replayed(
    dialogue: Dialogue[Judged], questions: Sequence[Question], same: bool
) -> Iterator[Rebuilt]:
    """The requests of a conversation with these questions and replies."""
    answer: Any = None
    with suppress(StopIteration):  # the question is not asked any more
        for each in (question for question in questions if question.kind != "chain"):
            request = dialogue.send(answer)
            system, user = (message["content"] for message in request.messages)
            yield Rebuilt(system, user, same, [image.name for image in request.images])
            answer = Verdict(each.reply, each.score)
