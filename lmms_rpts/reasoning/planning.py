"""Plan of the judge queries that score a chain, and how their answers combine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_rpts.reasoning.clues import Clue, ReasoningChain, Step
from lmms_rpts.reasoning.parsing import parse_chain

SECOND_QUESTION_BELOW = 0.5
FALLBACK_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """Does ``conclusion`` agree with what is known to be in the image?

    ``facts``: what the gold reasoning concludes with the help of the image, each alone and, where
    there are several, all joined with ``; ``.
    """

    facts: tuple[str, ...]
    conclusion: str


@dataclass(frozen=True, slots=True)
class InferenceQuery:
    """Does ``conclusion`` follow from ``premises``, in the situation that ``context`` describes?

    ``clues``: all textual clues; ``conclusions``: of all steps, of which this one is number ``at``.
    """

    context: str
    premises: tuple[str, ...]
    conclusion: str
    clues: tuple[str, ...]
    conclusions: tuple[str, ...] = field(repr=False)
    at: int

    @property
    def fallback_premises(self) -> tuple[str, ...]:
        """For the second question: the premises, all textual clues and all earlier conclusions.

        Spelled out for every step, they would take quadratic time and memory.
        """
        return _distinct([*self.premises, *self.clues, *self.conclusions[: self.at]])


@dataclass(frozen=True, slots=True)
class FixedScore:
    """A step that needs no judge: its score is known, for the reason given."""

    score: float
    reason: str


StepQuery = ImageQuery | InferenceQuery | FixedScore


def plan_steps(chain: ReasoningChain, doc: Mapping[str, Any]) -> list[StepQuery]:
    """One query for each step of a repaired chain, in order.

    Args:
        chain: the repaired chain.
        doc: the instance, with ``context``, ``textual_clue``, ``visual_clue`` and the gold
            ``reasoning``, as in the publishers' files.

    Returns:
        For a step from one image alone an ``ImageQuery``; a ``FixedScore`` of 1 where the gold
        reasoning says nothing of that image, and of 0 where there is no such image. For all other
        steps an ``InferenceQuery``. References that lead nowhere bring no premise.
    """
    facts, clues = gold_facts(doc["reasoning"]), tuple(doc["textual_clue"])
    conclusions = tuple(step.conclusion for step in chain.steps)
    plan: list[StepQuery] = []
    for at, step in enumerate(chain.steps):
        match step.premises:
            case (Clue("image", int(index)),):
                plan.append(_plan_image(index, step.conclusion, facts, len(doc["visual_clue"])))
            case _:
                premises = _premises(step, at, doc, facts, conclusions)
                asked = (doc["context"], premises, step.conclusion)
                plan.append(InferenceQuery(*asked, clues, conclusions, at))
    return plan


def gold_facts(reasoning: Sequence[str]) -> dict[int, list[str]]:
    """For each image number, the conclusions of the gold steps that cite the image."""
    facts: dict[int, list[str]] = {}
    for step in parse_chain(list(reasoning)).steps:
        for clue in dict.fromkeys(step.premises):
            if clue.kind == "image" and clue.index is not None:
                facts.setdefault(clue.index, []).append(step.conclusion)
    return facts


def combine_answers(first: float, second: float | None = None) -> float:
    """The score of a step from the judge's answers to the first and the second question.

    The answer to the second question counts times 0.8, rounded to one decimal; the greater wins.
    """
    if second is None:
        return first
    return max(first, round(second * FALLBACK_FACTOR, 1))


def _plan_image(
    index: int, conclusion: str, facts: Mapping[int, list[str]], n_images: int
) -> StepQuery:
    if index >= n_images:
        return FixedScore(0.0, f"there is no image {index}; the instance has {n_images}")
    known = facts.get(index)
    if not known:
        return FixedScore(1.0, f"the gold reasoning says nothing of image {index}")
    return ImageQuery(_distinct([*known, "; ".join(known)]), conclusion)


def _premises(
    step: Step,
    at: int,
    doc: Mapping[str, Any],
    facts: Mapping[int, list[str]],
    conclusions: Sequence[str],
) -> tuple[str, ...]:
    """The texts that a step cites."""
    premises: list[str] = []
    for clue in step.premises:
        if clue.kind == "context":
            premises.append(doc["context"])
        elif clue.index is None:
            continue
        elif clue.kind == "text":
            premises.extend(doc["textual_clue"][clue.index : clue.index + 1])
        elif clue.kind == "image":
            premises.extend(facts.get(clue.index, []))
        elif clue.index < at:
            premises.append(conclusions[clue.index])
    return _distinct(premises)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
