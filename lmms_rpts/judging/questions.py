"""The question about a step of reasoning that needs no images: does it follow from its premises?"""

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
