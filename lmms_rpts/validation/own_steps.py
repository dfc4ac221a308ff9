"""Built-in labelled steps: the demo's instances, sound and with manually written errors.

``own_steps.jsonl`` has one variant of the gold reasoning per line. Each variant replaces the
sentence of one inference:

- ``instance`` and ``step``: the ``id`` of the demo's instance, and the number of the step in its
  repaired gold chain, from 0.
- ``kind``: the kind of error, one of ``KINDS``; ``rephrased`` for sound steps in other words.
- ``sound``: whether the sentence follows from the premises of that step.
- ``text``: the sentence, in the instance's language.
- ``why``: for a wrong sentence, what is wrong with it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import (
    InferenceQuery,
    ReasoningChain,
    StepQuery,
    parse_chain,
    plan_steps,
    repair_chain,
)
from lmms_rpts.validation.chains import LabelledChain

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


@dataclass(frozen=True, slots=True)
class Variant:
    """One line of ``own_steps.jsonl``; see the module docstring for its fields."""

    instance: int
    step: int
    kind: str
    sound: bool
    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Gold:
    """An instance of the demo, with its repaired gold chain."""

    doc: Mapping[str, Any]
    chain: ReasoningChain

    @property
    def name(self) -> str:
        return f"{self.doc['language']}-{self.doc['id']}"


@cache
def own_chains() -> tuple[LabelledChain, ...]:
    """The gold chain of each instance, and for each variant the same chain with one step replaced.

    Only inferences are labelled: a step that describes an image cannot be judged by premises. A
    wrong step is the first and only labelled error of its chain; steps after it have no label. A
    rephrased step means the same as the gold one, so its whole chain is sound. Premises are those
    that a run shows the judge, stripped of white space. No two instances of the demo are
    translations of each other, so each is a question of its own.
    """
    golds = _read_golds()
    chains = [_labelled(gold, GOLD, gold.chain, None) for gold in golds.values()]
    numbers: Counter[tuple[int, str]] = Counter()
    for variant in own_variants():
        gold = golds[variant.instance]
        numbers[variant.instance, variant.kind] += 1
        name = f"{variant.kind} {numbers[variant.instance, variant.kind]}"
        wrong_at = None if variant.sound else variant.step
        chains.append(_labelled(gold, name, _concluding(gold.chain, variant), wrong_at))
    return tuple(chains)


@cache
def own_variants() -> tuple[Variant, ...]:
    """The manually written steps, in the order of the file."""
    text = (_PACKAGE / "validation" / "own_steps.jsonl").read_text(encoding="utf-8")
    return tuple(Variant(**json.loads(line)) for line in text.splitlines())


def _read_golds() -> dict[int, _Gold]:
    text = (_PACKAGE / "demo" / "instances.json").read_text(encoding="utf-8")
    return {doc["id"]: _Gold(doc, _repaired(doc)) for doc in json.loads(text)}


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


def _concluding(chain: ReasoningChain, variant: Variant) -> ReasoningChain:
    """The chain with the variant's sentence as the conclusion of its step."""
    steps = list(chain.steps)
    steps[variant.step] = replace(steps[variant.step], conclusion=variant.text)
    return replace(chain, steps=tuple(steps))


def _labelled(gold: _Gold, name: str, chain: ReasoningChain, wrong_at: int | None) -> LabelledChain:
    queries = plan_steps(chain, gold.doc)
    return LabelledChain(
        id=f"{gold.name} {name}",
        question=gold.name,
        stratum=name.partition(" ")[0],
        language=gold.doc["language"],
        context=gold.doc["context"],
        steps=tuple(step.conclusion for step in chain.steps),
        labels=tuple(_labels(queries, wrong_at)),
        premises=tuple(_premises(query) for query in queries),
        first_error=wrong_at,
    )


def _labels(queries: Sequence[StepQuery], wrong_at: int | None) -> Iterator[bool | None]:
    for at, query in enumerate(queries):
        if not isinstance(query, InferenceQuery):
            yield None
        elif wrong_at is None or at < wrong_at:
            yield True
        else:
            yield False if at == wrong_at else None


def _premises(query: StepQuery) -> tuple[str, ...]:
    """Premises that a run shows the judge with the context; none for a step about an image."""
    if not isinstance(query, InferenceQuery):
        return ()
    return tuple(text.strip() for text in query.premises)
