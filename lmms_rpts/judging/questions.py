"""Questions about reasoning: of a step, and of the last conclusion."""

from __future__ import annotations

from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import JudgeRequest


def image_request(
    prompts: Prompts,
    language: str,
    facts: tuple[str, ...],
    conclusion: str,
    images: tuple[JudgeImage, ...] = (),
) -> JudgeRequest:
    """The request that asks for the score of what a step says about an image.

    Args:
        language: of the prompt, ``en`` or ``zh``.
        facts: that the gold reasoning concludes from the image.
        conclusion: what the step says.
        images: the image, where the judge is shown it; then there may be no facts.
    """
    return prompts.request(
        "image_seen" if images else "image",
        language,
        evidence=facts,
        claim=conclusion,
        images=images,
        facts=facts,
        conclusion=conclusion,
    )


def inference_request(
    prompts: Prompts,
    language: str,
    context: str,
    premises: tuple[str, ...],
    conclusion: str,
    images: tuple[JudgeImage, ...] = (),
) -> JudgeRequest:
    """The request that asks for the score of one inference.

    Args:
        language: of the prompt, ``en`` or ``zh``.
        context: the situation.
        premises: what the step rests on; none where it is the first of a chain.
        conclusion: what the step says.
        images: those that it rests on, where the judge is shown them.
    """
    return prompts.request(
        "inference_seen" if images else "inference",
        language,
        evidence=(context, *premises),
        claim=conclusion,
        images=images,
        context=context,
        premises=premises,
        conclusion=conclusion,
    )


def root_request(
    prompts: Prompts, language: str, context: str, statement: str, answer: str, conclusion: str
) -> JudgeRequest:
    """The request that asks whether the last conclusion settles the question as it was answered.

    Args:
        language: of the prompt, ``en`` or ``zh``.
        context: the situation.
        statement: what was to be agreed or disagreed with, or another question.
        answer: that was given.
        conclusion: the last one.
    """
    return prompts.request(
        "root",
        language,
        evidence=(conclusion,),
        claim=statement,
        context=context,
        statement=statement,
        answer=answer,
        conclusion=conclusion,
    )
