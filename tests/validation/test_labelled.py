"""The labelled sets of the package: complete, as a run asks, without hints at the label."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lmms_rpts
from lmms_rpts.reasoning import InferenceQuery, parse_chain, plan_steps, repair_chain
from lmms_rpts.reasoning.planning import restates
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.loading import OWN, load_set
from tests.support.tables import table

KINDS = ("arithmetic", "condition", "overreach", "contradiction", "mixup", "verdict", "invented")
PACKAGE = Path(lmms_rpts.__file__).parent
DOCS = json.loads((PACKAGE / "demo" / "instances.json").read_text("utf-8"))
ROWS = [json.loads(line) for line in OWN["built-in"].read_text("utf-8").splitlines()]
CHAINS = load_set(OWN["built-in"], "built-in").chains
GOLDS = {chain.question: chain for chain in CHAINS if chain.stratum == "gold"}
NEGATION = re.compile(r"\b(?:not|no|nobody|never|without|cannot)\b|[不没]")


def test_counts() -> None:
    kinds = Counter(chain.stratum for chain in CHAINS)
    assert kinds == {**dict.fromkeys(KINDS, 12), "rephrased": 29, "gold": 14}
    assert Counter(chain.language for chain in CHAINS) == {"en": 64, "zh": 63}
    assert len({chain.id for chain in CHAINS}) == len(ROWS) == 127
    drawings = load_set(OWN["drawings"]).chains
    assert len(drawings) == 2 * len({chain.question for chain in drawings}) == 20
    assert all(chain.files for chain in drawings)
    assert Counter(label for chain in drawings for label in chain.labels)[False] == 15


@table("doc", *DOCS)
def test_gold_steps_are_those_of_the_demo_as_a_run_asks_about_them(doc: dict[str, Any]) -> None:
    parsed = parse_chain(doc["reasoning"], doc["language"])
    clues, images = doc["textual_clue"], len(doc["visual_clue"])
    chain = repair_chain(parsed, clues, restates, n_images=images)
    gold = GOLDS[f"{doc['language']}-{doc['id']}"]
    assert (gold.context, gold.language) == (doc["context"], doc["language"])
    assert gold.steps == tuple(step.conclusion.strip() for step in chain.steps)
    queries = plan_steps(chain, doc)
    assert gold.premises == tuple(
        tuple(text.strip() for text in it.premises) if isinstance(it, InferenceQuery) else ()
        for it in queries
    )
    assert gold.asked == tuple(at for at, given in enumerate(gold.premises or ()) if given)


@table("row, chain", *zip(ROWS, CHAINS, strict=True))
def test_a_variant_replaces_one_inference(row: dict[str, Any], chain: LabelledChain) -> None:
    gold = GOLDS[chain.question]
    changed = [at for at, text in enumerate(chain.steps) if text != gold.steps[at]]
    is_wrong = chain.stratum in KINDS
    assert bool(row.get("why")) is is_wrong is (False in chain.labels)
    assert len(changed) == (chain.stratum != "gold")
    assert set(changed) <= set(gold.asked)
    last = changed[0] if is_wrong else len(chain.steps)
    for at, label in enumerate(chain.labels):
        sound = True if at in gold.asked and at < last else None
        assert label is (False if is_wrong and at == last else sound)
        assert chain.premises is not None
        assert chain.steps[at] not in chain.premises[at]
    for at in changed:
        assert bool(re.search(r"[\u4e00-\u9fff]", chain.steps[at])) is (chain.language == "zh")


@table("is_distinct", False, True)
@table("language", "both", "en", "zh")
@table(
    "name, tell",
    ("shortness", lambda text, at: -len(text)),
    ("place", lambda text, at: -at),
    ("negation", lambda text, at: -bool(NEGATION.search(text))),
)
def test_labels_cannot_be_guessed_from_the_surface(
    name: str, tell: Callable[[str, int], float], language: str, is_distinct: bool
) -> None:
    """Neither length nor position nor negation reveals the wrong steps."""
    values: dict[bool | None, Sequence[float]] = {}
    for label in (True, False):
        steps = [
            (chain.context, (chain.premises or ())[at], chain.steps[at], at)
            for chain in CHAINS
            for at in chain.asked
            if chain.labels[at] is label and language in ("both", chain.language)
        ]
        values[label] = [tell(*it[2:]) for it in (dict.fromkeys(steps) if is_distinct else steps)]
    wins = sum((a > b) + (a == b) / 2 for a in values[True] for b in values[False])
    area = wins / (len(values[True]) * len(values[False]))
    assert 0.4 <= area <= 0.6, f"{name}: {area:.3f}"
