"""The judge's question about each labelled step: the same as for an inference of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.judging import JudgeRequest
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.questions import inference_request
from lmms_rpts.validation.chains import LabelledChain

Premises = Literal["given", "all"]

MOST_CHARACTERS = 60_000
"""Maximum length of all premises together (about 15,000 tokens); the oldest are dropped first."""


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """One labelled step as a request to the judge.

    ``chain`` and ``step`` are numbers from 0; ``shortened``: whether premises were left out.
    """

    chain: int
    step: int
    premises: tuple[str, ...]
    shortened: bool
    request: JudgeRequest


def questions_of(
    chains: Sequence[LabelledChain], which: Premises, prompts: Prompts
) -> Iterator[StepQuestion]:
    """A question for each labelled step, in order.

    Args:
        which: ``given``: the premises in the data, if any; ``all``: all earlier steps of the
            chain.
    """
    for number, chain in enumerate(chains):
        for step in chain.asked:
            premises, shortened = _within_limit(premises_of(chain, step, which))
            request = inference_request(
                prompts, chain.language, chain.context, premises, chain.steps[step]
            )
            yield StepQuestion(number, step, premises, shortened, request)


def premises_of(chain: LabelledChain, step: int, which: Premises) -> tuple[str, ...]:
    """The premises of a step."""
    if chain.premises is not None and which == "given":
        return chain.premises[step]
    place = chain.place(step)
    earlier = (chain.steps[at] for at in chain.on_path if chain.place(at) < place)
    return tuple(text for text in earlier if text.strip())


def _within_limit(premises: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """The latest premises that fit within the limit."""
    room, kept = MOST_CHARACTERS, len(premises)
    for text in reversed(premises):
        room -= len(text)
        if room < 0:
            break
        kept -= 1
    return premises[kept:], kept > 0
