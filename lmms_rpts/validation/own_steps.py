"""Built-in labelled steps: the demo's instances, sound and with manually written errors.

Each line of ``own_steps.jsonl`` is a variant of a gold reasoning: ``text`` replaces the conclusion
of inference number ``step`` of the demo's ``instance`` (its repaired gold chain, from 0). It is
wrong in one of seven ways (``kind``; ``why`` says what is wrong), or ``rephrased``: sound, in other
words. The kinds are ``arithmetic`` (a wrong sum, count or comparison), ``condition`` (ignored or
misread), ``overreach`` (more than the premises support), ``contradiction`` (of a premise),
``mixup`` (a value, name or day from elsewhere), ``verdict`` (the opposite one) and ``invented`` (a
fact that is in no premise).

Each line of ``drawn/chains.jsonl`` is a chain about a drawing in the same folder. ``label`` of a
step: 1 sound, -1 wrong, 0 not counted, as it only depends on a wrong one. ``premises``: numbers of
steps, from 0; none: a claim about the drawing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lmms_rpts.reasoning import (
    InferenceQuery,
    ReasoningChain,
    parse_chain,
    plan_steps,
    repair_chain,
)
from lmms_rpts.reasoning.planning import restates
from lmms_rpts.runs.validity import BUILT_IN, DRAWN
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import Layout
from lmms_rpts.validation.loading import LoadedSet

_PACKAGE = Path(__file__).parents[1]


def own_set() -> LoadedSet:
    """The demo's instances: their gold steps, and manually written wrong steps."""
    return LoadedSet(BUILT_IN, Layout(name=BUILT_IN), own_chains())


def drawn_set() -> LoadedSet:
    """Chains about drawings: right and wrong claims about them, and inferences from these."""
    folder = _PACKAGE / "validation" / "drawn"
    rows = (folder / "chains.jsonl").read_text(encoding="utf-8").splitlines()
    return LoadedSet(
        DRAWN, Layout(name=DRAWN), tuple(_drawn(json.loads(row), folder) for row in rows)
    )


def _drawn(row: Mapping[str, Any], folder: Path) -> LabelledChain:
    steps, image = row["steps"], row["image"]
    labels = tuple({1: True, 0: None, -1: False}[step["label"]] for step in steps)
    return LabelledChain(
        id=row["id"],
        question=image,
        stratum=row["language"],
        language=row["language"],
        context=row["question"],
        steps=tuple(step["text"] for step in steps),
        labels=labels,
        premises=tuple(tuple(steps[at]["text"] for at in step["premises"]) for step in steps),
        images=(image,),
        files=(folder / image,),
    )


@cache
def own_chains() -> tuple[LabelledChain, ...]:
    """The gold chain of each instance, and for each variant the same chain with one step replaced.

    Only inferences are labelled: a step that describes an image cannot be judged by premises. A
    wrong step is the first and only labelled error of its chain; steps after it have no label. A
    rephrased step means the same as the gold one, so its whole chain is sound. Premises are those
    that a run shows the judge, stripped of white space. No two instances of the demo are
    translations of each other, so each is a question of its own.
    """
    instances = json.loads((_PACKAGE / "demo" / "instances.json").read_text(encoding="utf-8"))
    golds = {doc["id"]: (doc, _repaired(doc)) for doc in instances}
    chains = [_labelled(*gold, "gold", None) for gold in golds.values()]
    numbers: Counter[tuple[int, str]] = Counter()
    text = (_PACKAGE / "validation" / "own_steps.jsonl").read_text(encoding="utf-8")
    for variant in map(json.loads, text.splitlines()):
        number, step, kind = variant["instance"], variant["step"], variant["kind"]
        doc, gold = golds[number]
        numbers[number, kind] += 1
        steps = list(gold.steps)
        steps[step] = replace(steps[step], conclusion=variant["text"])
        chain = replace(gold, steps=tuple(steps))
        wrong_at = None if variant["sound"] else step
        chains.append(_labelled(doc, chain, f"{kind} {numbers[number, kind]}", wrong_at))
    return tuple(chains)


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
    )
