"""Diagnosis of a response's chain against its document: evidence, restatements, weights."""

from __future__ import annotations

from functools import lru_cache

from lmms_rpts.judging.backends.lexical import restates
from lmms_rpts.reasoning import (
    Clue,
    Diagnosis,
    ReasoningTree,
    build_tree,
    diagnose,
    needed_evidence,
    parse_chain,
    repair_chain,
)
from lmms_rpts.reasoning.clues import Language

Texts = tuple[str, ...]


def diagnose_chain(
    tree: ReasoningTree,
    context: str,
    clues: Texts,
    n_images: int,
    gold: Texts,
    decay: float,
    focus_height: int,
) -> Diagnosis:
    """Compute the diagnosis of a response's chain.

    Args:
        tree: the tree of the repaired chain.
        context: the context of the document.
        clues: the textual clues of the document.
        n_images: number of images of the document.
        gold: the gold reasoning, one step per line; may be empty.
        decay: decay of the published score.
        focus_height: focus height of the published score.
    """
    needed = _needed(gold, clues, n_images, tree.chain.language)
    return diagnose(tree, needed, context, clues, restates, decay, focus_height)


@lru_cache(maxsize=4096)
def _needed(gold: Texts, clues: Texts, n_images: int, language: Language) -> frozenset[Clue]:
    """The evidence that an argument about a document must use."""
    chain = repair_chain(parse_chain(list(gold), language), clues, restates, n_images=n_images)
    return needed_evidence(build_tree(chain, n_images, len(clues)), n_images, len(clues))
