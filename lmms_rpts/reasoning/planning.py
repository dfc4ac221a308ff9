"""Plan of the judge queries that score a chain, and combination of their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain as chain_of
from typing import Any, overload

from lmms_rpts.reasoning.clues import Clue, Evidence, ReasoningChain, Step
from lmms_rpts.reasoning.parsing import parse_chain

SECOND_QUESTION_BELOW = 0.5
FALLBACK_FACTOR = 0.8


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """Does ``conclusion`` agree with the evidence about the image?

    Attributes:
        conclusion: the conclusion to be judged.
        facts: the conclusions of the gold reasoning from the image; if there are several, each
            alone and all joined with ``; ``.
        images: numbers of the images that the judge sees.
    """

    facts: tuple[str, ...]
    conclusion: str
    images: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InferenceQuery:
    """Does ``conclusion`` follow from ``premises``, in the situation that ``context`` describes?

    ``fallback_premises`` are the premises of the second question: the premises, all textual clues
    and all earlier conclusions. ``images``: numbers of the images that the judge sees as premises.
    """

    context: str
    premises: tuple[str, ...]
    conclusion: str
    fallback_premises: Sequence[str]
    images: tuple[int, ...] = ()


class _Joined(Sequence[str]):
    """The distinct texts of several sequences, joined on access.

    Storing the earlier conclusions of every step would take quadratic time and memory.
    """

    def __init__(self, *parts: Sequence[str], last: int) -> None:
        self._parts, self._last = parts, last

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        *whole, cut = self._parts
        return _distinct([*chain_of(*whole), *cut[: self._last]])

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._texts[at]

    def __len__(self) -> int:
        return len(self._texts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._texts == tuple(other)

    def __hash__(self) -> int:
        return hash(self._texts)

    def __repr__(self) -> str:
        return repr(self._texts)


@dataclass(frozen=True, slots=True)
class FixedScore:
    """A step that needs no judge: its score is known for the given ``reason``."""

    score: float
    reason: str


StepQuery = ImageQuery | InferenceQuery | FixedScore


def plan_steps(
    chain: ReasoningChain, doc: Mapping[str, Any], evidence: Evidence = "facts"
) -> list[StepQuery]:
    """Plan one query for each step of a repaired chain, in order.

    Args:
        chain: the repaired chain.
        doc: the instance, with ``context``, ``textual_clue``, ``visual_clue`` and the gold
            ``reasoning``, as in the publishers' files.
        evidence: the evidence that claims about images are judged against; ``facts``: as
            published.

    Returns:
        For a step from one image alone, an ``ImageQuery``, or a ``FixedScore``: 1 if the judge
        does not see the image and the gold reasoning does not use it, 0 if the image does not
        exist. For all other steps, an ``InferenceQuery``. Invalid references add no premise.
    """
    facts = {} if evidence == "image" else gold_facts(doc["reasoning"])
    shows = evidence != "facts"
    conclusions = [step.conclusion for step in chain.steps]
    plan: list[StepQuery] = []
    for at, step in enumerate(chain.steps):
        match step.premises:
            case (Clue("image", int(index)),):
                images = len(doc["visual_clue"])
                plan.append(_plan_image(index, step.conclusion, facts, images, shows))
            case _:
                query = _plan_inference(step, at, doc, facts, conclusions)
                images = len(doc["visual_clue"]) if shows else 0
                plan.append(replace(query, images=_cited_images(step, images)))
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
    """Combine the judge's answers to the first and the second question into the score of a step.

    The answer to the second question is multiplied by 0.8 and rounded to one decimal; the greater
    of the two is the score.
    """
    if second is None:
        return first
    return max(first, round(second * FALLBACK_FACTOR, 1))


def _plan_image(
    index: int, conclusion: str, facts: Mapping[int, list[str]], n_images: int, shows: bool
) -> StepQuery:
    if index >= n_images:
        return FixedScore(0.0, f"there is no image {index}; the instance has {n_images}")
    known = facts.get(index, [])
    joined = ["; ".join(known)] if known else []
    if shows:
        return ImageQuery(_distinct([*known, *joined]), conclusion, (index,))
    if not known:
        return FixedScore(1.0, f"the gold reasoning says nothing about image {index}")
    return ImageQuery(_distinct([*known, *joined]), conclusion)


def _cited_images(step: Step, n_images: int) -> tuple[int, ...]:
    """The numbers of the images among a step's premises, limited to those that exist."""
    numbers = (clue.index for clue in step.premises if clue.kind == "image")
    return tuple(dict.fromkeys(at for at in numbers if at is not None and at < n_images))


def _plan_inference(
    step: Step,
    at: int,
    doc: Mapping[str, Any],
    facts: Mapping[int, list[str]],
    conclusions: Sequence[str],
) -> InferenceQuery:
    clues: Sequence[str] = doc["textual_clue"]
    context: str = doc["context"]
    premises: list[str] = []
    for clue in step.premises:
        if clue.kind == "context":
            premises.append(context)
        elif clue.index is None:
            continue
        elif clue.kind == "text":
            premises.extend(clues[clue.index : clue.index + 1])
        elif clue.kind == "image":
            premises.extend(facts.get(clue.index, []))
        elif clue.index < at:
            premises.append(conclusions[clue.index])
    own = _distinct(premises)
    fallback = _Joined(own, clues, conclusions, last=at)
    return InferenceQuery(context, own, step.conclusion, fallback)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
