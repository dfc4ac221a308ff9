"""Questions to the judge: about a step, and about the whole argument.

``language`` is that of the prompt, ``en`` or ``zh``; ``images`` are for a judge with vision.
"""

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

    ``facts`` are what the gold reasoning concludes from the image; empty only with ``images``.
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
    """The request for the score of one inference; ``premises`` may be empty in a first step."""
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
    """The request that asks whether the evidence leads to the model's answer to ``statement``."""
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
