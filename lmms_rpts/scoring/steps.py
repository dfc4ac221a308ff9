"""Judging of the steps of a response: repair the chain, plan the questions, ask the judge."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from lmms_rpts.judging.client import Client
from lmms_rpts.judging.types import NO_JUDGE, NOT_JUDGED, Verdict
from lmms_rpts.reasoning import (
    FixedScore,
    ReasoningChain,
    ReasoningTree,
    StepQuery,
    build_tree,
    combine_answers,
    modality,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.clues import Evidence
from lmms_rpts.reasoning.planning import SECOND_QUESTION_BELOW, UNSEEN
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import Question
from lmms_rpts.scoring.reading import Reading, internal_error
from lmms_rpts.scoring.record import JudgedStep


@dataclass(frozen=True, slots=True)
class Judged:
    """A response whose steps were judged.

    Attributes:
        reading: the response as it was read.
        tree: the tree of the repaired chain.
        steps: its steps with their scores.
        evidence: what claims about images were judged against.
        judge: the judge.
        reason: why the response has no score; None if it has one.
    """

    reading: Reading
    tree: ReasoningTree
    steps: tuple[JudgedStep, ...]
    evidence: Evidence
    judge: str
    reason: str | None


async def judge_steps(reading: Reading, judge: Client, options: Options) -> Judged:
    """Repair the chain of a response, and have the judge score each of its steps."""
    try:
        question = reading.question
        n_images, clues = len(question.visual_clue), question.textual_clue
        chain = repair_chain(reading.chain, clues, n_images=n_images)
        tree = build_tree(chain, n_images, len(clues))
        evidence = _evidence(question, options)
        fields = ("context", "textual_clue", "visual_clue", "reasoning", "images_known")
        asked = {name: getattr(question, name) for name in fields}
        plan = plan_steps(chain, asked, evidence)
        scores = await asyncio.gather(
            *(judge_step(each, question, judge, options) for each in plan)
        )
        steps = tuple(
            JudgedStep(
                premises=step.premises,
                conclusion=step.conclusion.strip(),
                height=tree.heights[at],
                counts=tree.uses[at] > 0,
                modality=modality(step),
                score=score,
                verdicts=verdicts,
                note=note,
            )
            for at, (step, (score, verdicts, note)) in enumerate(
                zip(chain.steps, scores, strict=True)
            )
        )
        failed = (f"step {at}: {step.error}" for at, step in enumerate(steps) if step.score is None)
        reason = reading.transform.error or next(failed, None)
        # Once judging has ended, responses without steps must not be the only ones with a score: 0.
        reason = reason or (None if steps else judge.stopped)
        reason = NOT_JUDGED if judge.name == NO_JUDGE else reason
        return Judged(reading, tree, steps, evidence, judge.name, reason)
    except Exception as error:
        reason = internal_error(error, "judging a response's steps")
        return unjudged(reading, judge.name, options, reason)


def unjudged(reading: Reading, judge: str, options: Options, reason: str) -> Judged:
    """A response that was read, and is left unscored for this reason, without its steps."""
    tree = build_tree(ReasoningChain((), reading.question.language), 0, 0)
    reading = replace(reading, transform=reading.transform.model_copy(update={"reason": reason}))
    return Judged(reading, tree, (), _evidence(reading.question, options), judge, reason)


def _evidence(question: Question, options: Options) -> Evidence:
    return options.evidence or ("facts" if question.reasoning else "image")


async def judge_step(
    query: StepQuery, question: Question, judge: Client, options: Options
) -> tuple[float | None, tuple[Verdict, ...], str | None]:
    """The score of one step, and what it is from: the judge's verdicts, or a note.

    One question to the judge, and for an inference a second one below 0.5.
    """
    if isinstance(query, FixedScore):
        return query.score, (), query.reason
    if query.images and question.images is None:
        return None, (), UNSEEN.reason

    images = tuple((question.images or ())[at] for at in query.images)
    fields: dict[str, Any] = {"conclusion": query.conclusion, "images": images}
    if query.kind == "inference":
        fields["context"] = query.context
    verdicts, scores = list[Verdict](), list[float]()
    for given in query.rounds:
        fields["facts" if query.kind == "image" else "premises"] = given
        request = options.prompts.request(query.kind, question.language, **fields)
        verdict = await judge.ask(request)
        texts = tuple(text.strip() for text in given)
        verdicts.append(verdict.model_copy(update={"evidence": texts, "images": query.images}))
        if not isinstance(verdict.value, float):
            return None, tuple(verdicts), None
        scores.append(verdict.value)
        if scores[-1] >= SECOND_QUESTION_BELOW:
            break
    return combine_answers(*scores), tuple(verdicts), None
