"""The bundled labelled steps: complete, in the right format, without hints at the label."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lmms_rpts
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.own_steps import own_chains
from tests.support.tables import table

DOCS = {
    doc["id"]: doc
    for doc in json.loads(
        Path(lmms_rpts.__file__).parent.joinpath("demo", "instances.json").read_text("utf-8")
    )
}
GOLD, REPHRASED = "gold", "rephrased"
KINDS = (
    *("arithmetic", "condition", "overreach", "contradiction"),
    *("mixup", "verdict", "invented"),
)
VARIANTS = [
    json.loads(line)
    for line in Path(lmms_rpts.__file__)
    .parent.joinpath("validation", "own_steps.jsonl")
    .read_text("utf-8")
    .splitlines()
]
CHAINS = {chain.id: chain for chain in own_chains()}
GOLDS = {chain.question: chain for chain in own_chains() if chain.stratum == GOLD}
NEGATION = re.compile(r"\b(?:not|no|nobody|never|without|cannot)\b|[不没]")


def gold_of(instance: int) -> LabelledChain:
    return GOLDS[f"{DOCS[instance]['language']}-{instance}"]


def area(sound: Sequence[float], wrong: Sequence[float]) -> float:
    """The probability that a sound step has the greater value; ties count half."""
    wins = sum((a > b) + (a == b) / 2 for a in sound for b in wrong)
    return wins / (len(sound) * len(wrong))


def steps_labelled(label: bool, language: str, distinct: bool) -> list[tuple[str, int]]:
    """The labelled steps, each with its number; ``distinct``: each question only once."""
    steps = [
        (chain.context, chain.premises[at] if chain.premises else (), chain.steps[at], at)
        for chain in own_chains()
        for at in chain.asked
        if chain.labels[at] is label and language in ("both", chain.language)
    ]
    return [(text, at) for *_, text, at in (dict.fromkeys(steps) if distinct else steps)]


def test_counts() -> None:
    kinds = Counter(variant["kind"] for variant in VARIANTS)
    assert kinds == {**dict.fromkeys(KINDS, 12), REPHRASED: 29}
    wrong = Counter(variant["instance"] for variant in VARIANTS if not variant["sound"])
    assert wrong == dict.fromkeys(DOCS, 6)
    strata = Counter(chain.stratum for chain in own_chains())
    assert strata == {GOLD: 14, **kinds}
    assert Counter(chain.language for chain in own_chains()) == {"en": 64, "zh": 63}
    assert len(CHAINS) == len(own_chains()), "duplicate ids"
    inferences = {(instance, at) for instance in DOCS for at in gold_of(instance).asked}
    for sound in (True, False):  # each inference is replaced in both ways
        replaced = {(it["instance"], it["step"]) for it in VARIANTS if it["sound"] is sound}
        assert replaced == inferences


@table("variant", *VARIANTS)
def test_variants(variant: dict[str, Any]) -> None:
    gold, text = gold_of(variant["instance"]), variant["text"]
    assert variant["step"] in gold.asked
    assert text.strip() == text != gold.steps[variant["step"]]
    assert variant["sound"] is (variant["kind"] == REPHRASED)
    assert bool(variant.get("why")) is not variant["sound"]
    assert bool(re.search(r"[\u4e00-\u9fff]", text)) is (gold.language == "zh")
    assert text not in (*DOCS[variant["instance"]]["textual_clue"], *gold.steps)


@table("chain", *own_chains())
def test_chains(chain: LabelledChain) -> None:
    instance = int(chain.question.partition("-")[2])
    doc, gold = DOCS[instance], gold_of(instance)
    assert chain.id.startswith(f"{chain.question} {chain.stratum}")
    assert (chain.language, chain.context) == (doc["language"], doc["context"])
    assert chain.premises is not None
    assert len(chain.steps) == len(chain.labels) == len(chain.premises) == len(doc["reasoning"])
    assert chain.located
    assert (chain.stratum in KINDS) is (chain.first_error is not None)
    for at, label in enumerate(chain.labels):
        is_inference = at in gold.asked
        if chain.first_error is None or at < chain.first_error:
            assert label is (True if is_inference else None)
        else:
            assert label is (False if at == chain.first_error else None)
        assert bool(chain.premises[at]) is is_inference
        assert chain.steps[at] not in chain.premises[at]
    changed = [
        at
        for at, pair in enumerate(zip(chain.steps, gold.steps, strict=True))
        if pair[0] != pair[1]
    ]
    assert len(changed) == (chain.stratum != GOLD)
    if chain.first_error is not None:
        assert changed == [chain.first_error]


SUITCASE = "After weighing the suitcase Nora put her laptop of 1.9 kg into it, and changed "
CONTRACT = "合同约定，上半年只要有一个月的顾客人数比前一个月少，房东就不可以涨房租，否则可以涨"


@table(
    "name, step, label, premises",
    ("en-5 gold", 0, None, ()),
    (
        *("en-5 gold", 1, True),
        ("The scale shows that the suitcase weighs 8.4 kg.", f"{SUITCASE}nothing else."),
    ),
    # a wrong step is judged with the gold premises; later steps with the rephrased step
    ("zh-9 condition 1", 2, False, ("4月的顾客人数280比3月的顾客人数310少", CONTRACT)),
    ("zh-9 rephrased 1", 2, True, ("顾客人数从3月的310下降到了4月的280", CONTRACT)),
)
def test_steps_worked_by_hand(
    name: str, step: int, label: bool | None, premises: tuple[str, ...]
) -> None:
    chain = CHAINS[name]
    assert chain.premises is not None
    assert (chain.labels[step], chain.premises[step]) == (label, premises)


@table("distinct", False, True)
@table("language", "both", "en", "zh")
@table(
    "name, tell",
    ("shortness", lambda text, at: -len(text)),
    ("place", lambda text, at: -at),
    ("negation", lambda text, at: -bool(NEGATION.search(text))),
)
def test_labels_cannot_be_guessed_from_surface_features(
    name: str, tell: Callable[[str, int], float], language: str, distinct: bool
) -> None:
    """Neither length nor position nor negation reveals the wrong steps."""
    sound, wrong = (
        [tell(*step) for step in steps_labelled(label, language, distinct)]
        for label in (True, False)
    )
    assert 0.4 <= area(sound, wrong) <= 0.6, f"{name}: {area(sound, wrong):.3f}"
