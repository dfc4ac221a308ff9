"""Questions about reasoning that need no images: of a step, and of the last conclusion."""

from __future__ import annotations

from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import JudgeRequest


def inference_request(
    prompts: Prompts, language: str, context: str, premises: tuple[str, ...], conclusion: str
) -> JudgeRequest:
    """The request that asks for the score of one inference.

    Args:
        language: of the prompt, ``en`` or ``zh``.
        context: the situation.
        premises: what the step rests on; none where it is the first of a chain.
        conclusion: what the step says.
    """
    return prompts.request(
        "inference",
        language,
        evidence=(context, *premises),
        claim=conclusion,
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
