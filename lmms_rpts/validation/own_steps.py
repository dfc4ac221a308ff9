"""Built-in labelled steps: the demo's instances, sound and with manually written errors.

``own_steps.jsonl`` has one variant of the gold reasoning per line. Each variant replaces the
sentence of one inference; see ``Variant``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import (
    InferenceQuery,
    ReasoningChain,
    parse_chain,
    plan_steps,
    repair_chain,
)
from lmms_rpts.runs.validity import BUILT_IN
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import Layout
from lmms_rpts.validation.loading import LoadedSet

GOLD = "gold"
REPHRASED = "rephrased"

KINDS: Mapping[str, str] = {
    "arithmetic": "a wrong sum, count or comparison from right premises",
    "condition": "a condition that is ignored or misread",
    "overreach": "more than the premises support: all for some, ever for once",
    "contradiction": "a statement that a premise contradicts",
    "mixup": "a value, name or day from another premise or row",
    "verdict": "right premises, but the opposite verdict",
    "invented": "a fact that is in no premise",
}
"""Kinds of errors."""

_PACKAGE = Path(__file__).parents[1]

LAYOUT = Layout(name=BUILT_IN, fixed_premises=True)


@dataclass(frozen=True, slots=True)
class Variant:
    """One line of ``own_steps.jsonl``.

    Attributes:
        instance: ``id`` of the demo's instance.
        step: number of the replaced step in its repaired gold chain, from 0.
        kind: the kind of error, one of ``KINDS``; ``rephrased`` for sound steps in other words.
        sound: whether the sentence follows from the premises of that step.
        text: the sentence, in the instance's language.
        why: for a wrong sentence, what is wrong with it.
    """

    instance: int
    step: int
    kind: str
    sound: bool
    text: str
    why: str = ""


def own_set() -> LoadedSet:
    """The demo's instances: their gold steps, and manually written wrong steps."""
    return LoadedSet(BUILT_IN, LAYOUT, own_chains())


@cache
def own_chains() -> tuple[LabelledChain, ...]:
    """The gold chain of each instance, and for each variant the same chain with one step replaced.

    Only inferences are labelled: a step that describes an image cannot be judged by premises. A
    wrong step is the first and only labelled error of its chain; steps after it have no label. A
    rephrased step means the same as the gold one, so its whole chain is sound. Premises are those
    that a run shows the judge, stripped of white space. No two instances of the demo are
    translations of each other, so each is a question of its own.
    """
    text = (_PACKAGE / "demo" / "instances.json").read_text(encoding="utf-8")
    golds = {doc["id"]: (doc, _repaired(doc)) for doc in json.loads(text)}
    chains = [_labelled(*gold, GOLD, None) for gold in golds.values()]
    numbers: Counter[tuple[int, str]] = Counter()
    for variant in own_variants():
        doc, gold = golds[variant.instance]
        numbers[variant.instance, variant.kind] += 1
        name = f"{variant.kind} {numbers[variant.instance, variant.kind]}"
        steps = list(gold.steps)
        steps[variant.step] = replace(steps[variant.step], conclusion=variant.text)
        wrong_at = None if variant.sound else variant.step
        chains.append(_labelled(doc, replace(gold, steps=tuple(steps)), name, wrong_at))
    return tuple(chains)


@cache
def own_variants() -> tuple[Variant, ...]:
    """The manually written steps, in the order of the file."""
    text = (_PACKAGE / "validation" / "own_steps.jsonl").read_text(encoding="utf-8")
    return tuple(Variant(**json.loads(line)) for line in text.splitlines())


def _repaired(doc: Mapping[str, Any]) -> ReasoningChain:
    """The gold chain as a run would clean it up."""
    chain = repair_chain(
        parse_chain(doc["reasoning"], doc["language"]),
        doc["textual_clue"],
        restates,
        n_images=len(doc["visual_clue"]),
    )
    # Parsing "A -> B" leaves the space before B.
    stripped = (replace(step, conclusion=step.conclusion.strip()) for step in chain.steps)
    return replace(chain, steps=tuple(stripped))


def _labelled(
    doc: Mapping[str, Any], chain: ReasoningChain, name: str, wrong_at: int | None
) -> LabelledChain:
    question = f"{doc['language']}-{doc['id']}"
    premises = [
        tuple(text.strip() for text in query.premises) if isinstance(query, InferenceQuery) else ()
        for query in plan_steps(chain, doc)
    ]
    sound = len(premises) if wrong_at is None else wrong_at
    return LabelledChain(
        id=f"{question} {name}",
        question=question,
        stratum=name.partition(" ")[0],
        language=doc["language"],
        context=doc["context"],
        steps=tuple(step.conclusion for step in chain.steps),
        # An inference has premises; a step about an image has none.
        labels=tuple(
            at < sound if given and at <= sound else None for at, given in enumerate(premises)
        ),
        premises=tuple(premises),
        first_error=wrong_at,
    )
