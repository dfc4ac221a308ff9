"""Repair of a chain, the judge queries that score it, and combination of their answers.

Repair and plan are those of the published code (RPTS, arXiv 2511.06899).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lmms_rpts.reasoning.clues import Clue, Evidence, ReasoningChain, Step, parse_chain
from lmms_rpts.reasoning.tree import modality

SECOND_QUESTION_BELOW = 0.5
FALLBACK_FACTOR = 0.8

# Similarity above which a conclusion restates a text; for a clue as published.
RESTATES_ABOVE = 0.75
_SEPARATORS = re.compile(r"[^\w\u4e00-\u9fff]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_LONGEST_COMPARED = 4000
Restates = Callable[[str, str], bool]
"""Whether a conclusion only restates a text: ``restates(conclusion, text)``."""


def restates(conclusion: str, text: str) -> bool:
    """Whether a conclusion restates a text, by cosine similarity of their sets of 3 characters."""
    texts = conclusion[:_LONGEST_COMPARED], text[:_LONGEST_COMPARED]
    size = 2 if all(map(_CHINESE.search, texts)) else 3
    folded = (unicodedata.normalize("NFKC", each).lower() for each in texts)
    plain = (_SEPARATORS.sub(" ", each).strip() for each in folded)
    one, two = ({each[k : k + size] for k in range(len(each) - size + 1)} for each in plain)
    return bool(one and two) and len(one & two) / (len(one) * len(two)) ** 0.5 > RESTATES_ABOVE


def restating_steps(chain: ReasoningChain, context: str, clues: Sequence[str]) -> list[int]:
    """The steps that only restate a textual clue, the context or a conclusion that they cite."""
    given = [text for text in (context, *clues) if text.strip()]
    found = []
    for at, step in enumerate(chain.steps):
        if modality(step) == "visual":
            continue  # it describes images and restates nothing
        cited = [
            chain.steps[clue.index].conclusion
            for clue in dict.fromkeys(step.premises)
            if clue.kind == "conclusion" and clue.index is not None and clue.index < at
        ]
        if any(restates(step.conclusion, text) for text in (*given, *cited)):
            found.append(at)
    return found


def repair_chain(
    chain: ReasoningChain,
    textual_clues: Sequence[str],
    restates: Restates = restates,
    n_images: int | None = None,
) -> ReasoningChain:
    """Repair a chain as in the published code; n_images=None: as many as the chain names.

    - A premise without a number becomes all clues of its kind (conclusions: all earlier ones).
    - A step from one image alone is merged into an earlier one (conclusions joined with ``;``).
    - An image next to other premises is replaced by that image's conclusion, if there is one.
    - A step from one textual clue alone that restates it is dropped; references go to the clue.
    - A step without premises is dropped, together with references to it.

    Forward references and references to steps that never existed remain invalid.
    """
    if n_images is None:
        cited = [clue for step in chain.steps for clue in step.premises if clue.kind == "image"]
        n_images = 1 + max((clue.index for clue in cited if clue.index is not None), default=0)
    kept: list[tuple[list[Clue], list[str]]] = []  # premises and conclusions of the new steps
    became: list[Clue | None] = []  # for each old step, what a reference to it becomes
    of_image: dict[Clue, Clue] = {}  # the step from this image alone
    problems: list[str] = []
    for step in chain.steps:
        premises: list[Clue] = []
        for clue in step.premises:
            if clue.index is None and clue.kind != "context":
                counts = {"image": n_images, "text": len(textual_clues), "conclusion": len(kept)}
                premises += (Clue(clue.kind, at) for at in range(counts[clue.kind]))
            elif clue.kind == "conclusion" and clue.index is not None and clue.index < len(became):
                new = became[clue.index]
                premises += [] if new is None else [new]
            else:
                premises.append(clue)
        here = Clue("conclusion", len(kept))
        match premises:
            case []:
                problems.append(f"step {len(became)}: dropped, it cites no premise")
                became.append(None)
                continue
            case [Clue("image", int()) as image] if image in of_image:
                first = of_image[image]
                kept[first.index or 0][1].append(step.conclusion)
                became.append(first)
                continue
            case [Clue("image", int()) as image]:
                of_image[image] = here
            case [Clue("text", int(index)) as clue] if index < len(textual_clues) and restates(
                step.conclusion, textual_clues[index]
            ):
                became.append(clue)
                continue
            case [_, _, *_]:
                premises = [of_image.get(clue, clue) for clue in premises]
        kept.append((premises, [step.conclusion]))
        became.append(here)
    steps = tuple(Step(tuple(cites), ";".join(said)) for cites, said in kept)
    return ReasoningChain(steps, chain.language, chain.problems + tuple(problems))


@dataclass(frozen=True, slots=True)
class Query:
    """A question to a judge about a step.

    Attributes:
        kind: ``image``: does the conclusion agree with the evidence about the image? ``inference``:
            does it follow from the premises, in the situation that ``context`` describes?
        rounds: the evidence of the question, and of a second one. For an image, the conclusions of
            the gold reasoning from it; if there are several, each alone and all joined with ``; ``.
            For an inference, its premises; then these, all textual clues and earlier conclusions.
        images: numbers of the images that the judge sees.
    """

    kind: Literal["image", "inference"]
    conclusion: str
    rounds: tuple[tuple[str, ...], ...]
    images: tuple[int, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class FixedScore:
    """A step that needs no judge: its score, or why it has none, is known."""

    score: float | None
    reason: str


UNSEEN = FixedScore(None, "the question's images are not available")
StepQuery = Query | FixedScore


def plan_steps(
    chain: ReasoningChain, question: Mapping[str, Any], evidence: Evidence = "facts"
) -> list[StepQuery]:
    """Plan one query for each step of a repaired chain, in order.

    For a step from one image alone, one about the image, or a ``FixedScore``: 1 if the judge does
    not see the image and the gold reasoning does not use it, 0 if the image does not exist. For all
    other steps, one about the inference. Invalid references add no premise. A step from an image
    that is not at hand is ``UNSEEN``.

    Args:
        chain: a repaired chain.
        question: ``context``, ``textual_clue``, ``visual_clue`` and the gold ``reasoning``, as in
            the publishers' files; ``images_known`` is false if its images are not at hand.
        evidence: what claims about images are judged against; ``facts``: as published.
    """
    facts = {} if evidence == "image" else gold_facts(question["reasoning"])
    shows, n_images = evidence != "facts", len(question["visual_clue"])
    known = question.get("images_known", True)
    conclusions = [step.conclusion for step in chain.steps]
    plan: list[StepQuery] = []
    for at, step in enumerate(chain.steps):
        numbers = [clue.index for clue in step.premises if clue.kind == "image"]
        images = tuple(dict.fromkeys(n for n in numbers if n is not None and n < n_images))
        if numbers and not known:
            plan.append(UNSEEN)
            continue
        match step.premises:
            case (Clue("image", int(index)),):
                if not images:
                    reason = f"there is no image {index}; the instance has {n_images}"
                    plan.append(FixedScore(0.0, reason))
                elif not shows and index not in facts:
                    reason = f"the gold reasoning says nothing about image {index}"
                    plan.append(FixedScore(1.0, reason))
                else:
                    single = facts.get(index, [])
                    joined = ["; ".join(single)] if single else []
                    distinct = tuple(dict.fromkeys([*single, *joined]))
                    seen = images if shows else ()
                    plan.append(Query("image", step.conclusion, (distinct,), seen))
            case _:
                texts: list[str] = []  # what the premises stand for
                for clue in step.premises:
                    if clue.kind == "context":
                        texts.append(question["context"])
                    elif clue.index is None:
                        continue
                    elif clue.kind == "text":
                        texts.extend(question["textual_clue"][clue.index : clue.index + 1])
                    elif clue.kind == "image":
                        texts.extend(facts.get(clue.index, []))
                    elif clue.index < at:
                        texts.append(conclusions[clue.index])
                premises = tuple(dict.fromkeys(texts))
                more = (*premises, *question["textual_clue"], *conclusions[:at])
                rounds, seen = (premises, tuple(dict.fromkeys(more))), images if shows else ()
                context = question["context"]
                plan.append(Query("inference", step.conclusion, rounds, seen, context))
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
    """The score of a step: the greater of the first answer and 0.8 times the second.

    The latter is rounded to one decimal.
    """
    return first if second is None else max(first, round(second * FALLBACK_FACTOR, 1))
