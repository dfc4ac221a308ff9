"""Questions to the judge: about a step, and about the whole argument."""

from __future__ import annotations

from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import JudgeRequest
from lmms_rpts.reasoning import RootQuery


def image_request(
    prompts: Prompts,
    language: str,
    facts: tuple[str, ...],
    conclusion: str,
    images: tuple[JudgeImage, ...] = (),
) -> JudgeRequest:
    """The request for the score of a step's conclusion about an image.

    Args:
        language: language of the prompt, ``en`` or ``zh``.
        facts: what the gold reasoning concludes from the image.
        conclusion: the conclusion of the step.
        images: the image, for a judge with vision; then ``facts`` may be empty.
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
    """The request for the score of one inference.

    Args:
        language: language of the prompt, ``en`` or ``zh``.
        context: the situation.
        premises: the premises of the step; empty if it is the first of a chain.
        conclusion: the conclusion of the step.
        images: the images among the premises, for a judge with vision.
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
    prompts: Prompts,
    language: str,
    context: str,
    statement: str,
    answer: str,
    query: RootQuery,
    images: tuple[JudgeImage, ...] = (),
) -> JudgeRequest:
    """The request that asks whether the evidence leads to the answer of the model.

    Args:
        language: language of the prompt, ``en`` or ``zh``.
        context: the situation.
        statement: the statement to agree or disagree with, or another question.
        answer: the answer of the model.
        query: the evidence and the steps.
        images: the images among the evidence, for a judge with vision.
    """
    return prompts.request(
        "root",
        language,
        evidence=(query.conclusion, context, *query.evidence),
        claim=statement,
        images=images,
        context=context,
        statement=statement,
        answer=answer,
        known=query.evidence,
        steps=query.steps,
        conclusion=query.conclusion,
        n_images=len(images),
    )
