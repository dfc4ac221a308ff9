"""Caption metrics of a whole set with pycocoevalcap: BLEU, ROUGE-L, CIDEr, and METEOR (Java)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmms_rpts.tasks.reform_eval.java import JavaError, meteor_score, tokenise

RAW = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider")
TOKENISED = tuple(f"{name}_ptb" for name in RAW)
METEOR = "meteor"
SECONDS = 300.0
"""Time limit for Java; METEOR takes 10 s to start, 30 s on a busy machine."""
NO_REFERENCES = "no caption has a reference with words"


class Caption(NamedTuple):
    """A generated caption and its references, at least one."""

    prediction: str
    references: list[str]


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """The caption scores of a set.

    Attributes:
        values: scores by the names in ``RAW``, ``TOKENISED`` and ``METEOR``; NaN if undefined.
        missing: for each score that is NaN, the reason.
    """

    values: dict[str, float]
    missing: dict[str, str]


def caption_scores(
    results: Sequence[Mapping[str, Any]], *, meteor: bool = True, seconds: float = SECONDS
) -> CaptionScores:
    """Compute all caption metrics of a whole set.

    The metrics in ``RAW`` use the unchanged texts, as in ReForm-Eval's published scores; those in
    ``TOKENISED`` use Penn Treebank tokens, as in most papers. METEOR and the tokeniser need Java.

    Args:
        results: rows with ``prediction`` and ``references``, as for ``raw_scores``.
        meteor: whether to compute METEOR.
        seconds: time limit for each of the two Java programs.
    """
    captions = _captions(results)
    values = _scores(captions)
    missing: dict[str, str] = {}
    try:
        values |= dict(zip(TOKENISED, _tokenised_scores(captions, seconds), strict=True))
    except JavaError as error:
        missing |= dict.fromkeys(TOKENISED, str(error))
    if meteor:
        try:
            values[METEOR] = meteor_score(captions, seconds)
        except JavaError as error:
            missing[METEOR] = str(error)
    values |= dict.fromkeys(missing, math.nan)
    undefined = [name for name, value in values.items() if math.isnan(value)]
    return CaptionScores(values, dict.fromkeys(undefined, NO_REFERENCES) | missing)


def raw_scores(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """BLEU-1 to 4, ROUGE-L and CIDEr of the unchanged texts, split into words at spaces only.

    Args:
        results: rows with ``prediction`` and ``references``. Rows without references are left
            out; a prediction that is not a string counts as empty.

    Returns:
        The scores by the names in ``RAW``; NaN if no row has a reference with words.
    """
    return _scores(_captions(results))


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """ROUGE-L of one unchanged caption, from 0 to 1; 0 if no reference has words."""
    there = [each for each in references if each.split()]
    if not there:
        return 0.0
    from pycocoevalcap.rouge.rouge import Rouge

    return float(Rouge().calc_score([prediction], there))


def meteor_of(results: Sequence[Mapping[str, Any]], seconds: float = SECONDS) -> float:
    """METEOR of a set, with rows as in ``raw_scores``; NaN if Java fails or is not installed."""
    try:
        return meteor_score(_captions(results), seconds)
    except JavaError:
        return math.nan


def _captions(results: Sequence[Mapping[str, Any]]) -> list[Caption]:
    found = []
    for row in results:
        prediction, references = row.get("prediction"), row.get("references")
        listed = references if isinstance(references, list | tuple) else [references]
        texts = [each for each in listed if isinstance(each, str)]
        if texts:
            found.append(Caption(prediction if isinstance(prediction, str) else "", texts))
    return found


def _scores(captions: Sequence[Caption]) -> dict[str, float]:
    if not any(text.split() for each in captions for text in each.references):
        return dict.fromkeys(RAW, math.nan)  # pycocoevalcap would raise
    from pycocoevalcap.bleu.bleu import Bleu  # slow to import
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    references = {index: each.references for index, each in enumerate(captions)}
    predictions = {index: [each.prediction] for index, each in enumerate(captions)}
    bleu, _ = Bleu(4).compute_score(references, predictions, verbose=0)
    rouge, _ = Rouge().compute_score(references, predictions)
    cider, _ = Cider().compute_score(references, predictions)
    return dict(zip(RAW, map(float, (*bleu, rouge, cider)), strict=True))


def _tokenised_scores(captions: Sequence[Caption], seconds: float) -> list[float]:
    """The scores in the order of ``RAW``."""
    texts = [text for each in captions for text in (each.prediction, *each.references)]
    tokens = iter(tokenise(texts, seconds))
    tokenised = [
        Caption(next(tokens), [next(tokens) for _ in each.references]) for each in captions
    ]
    return list(_scores(tokenised).values())
