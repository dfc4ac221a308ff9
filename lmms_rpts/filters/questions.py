"""The questions to the judge about the steps of a response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from lmms_rpts.filters.documents import Document, DocumentImages, images_of
from lmms_rpts.filters.record import Kind, Question, RptsRecord
from lmms_rpts.filters.responses import Doc, Judged, TransformedResponse
from lmms_rpts.judging import Dialogue, Verdict
from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts, prompts_of
from lmms_rpts.judging.types import Rebuilt
from lmms_rpts.reasoning import (
    FixedScore,
    ImageQuery,
    ReasoningChain,
    StepQuery,
    combine_answers,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.clues import Evidence
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW
from lmms_rpts.runs.record import JudgeCall

UNSEEN = "the document's images are not available"


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


def unjudged(kind: Kind, reason: str) -> Judged:
    """A step without a score for this reason."""
    return Judged(score=None, questions=(Question(kind=kind, score=None, error=reason),))


def ask_about_step(query: StepQuery, doc: Doc, prompts: Prompts) -> Dialogue[Judged]:
    """The conversation that scores one step: one question, and a second one below 0.5."""
    if isinstance(query, FixedScore):
        return Judged(score=query.score, note=query.reason)
    language, shown = doc["language"], _images(doc, query.images)
    if shown is None:
        return unjudged("image" if isinstance(query, ImageQuery) else "inference", UNSEEN)
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
    return Question(
        kind=kind,
        evidence=tuple(text.strip() for text in evidence),
        score=verdict.value if isinstance(verdict.value, float) else None,
        reply=verdict.text,
        error=verdict.error,
        call=JudgeCall.of(verdict),
        images=images,
    )


def step_requests(record: RptsRecord) -> list[list[Rebuilt]]:
    """The requests about each step of a record."""
    settings, chain = record.settings, record.tree().chain
    doc = Document(record.instance.model_dump(by_alias=True))
    doc.images = DocumentImages(tuple, language=record.instance.language)
    queries = plan_steps(chain, doc, settings.evidence)
    prompts = prompts_of(settings.prompt_version, "inference")
    dialogues = [ask_about_step(query, doc, prompts) for query in queries]
    same = prompts.version() == settings.prompt_version
    return [
        [*_replayed(dialogue, step.questions, same)]
        for dialogue, step in zip(dialogues, record.steps, strict=True)
    ]


def _replayed(
    dialogue: Dialogue[Judged], questions: Sequence[Question], same: bool
) -> Iterator[Rebuilt]:
    """The requests of a conversation with these questions and replies."""
    answer: Any = None
    with suppress(StopIteration):  # the question is not asked any more
        for each in questions:
            request = dialogue.send(answer)
            system, user = (message["content"] for message in request.messages)
            yield Rebuilt(system, user, same, [image.name for image in request.images])
            answer = Verdict(each.reply, each.score)
