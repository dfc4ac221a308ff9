"""Caption metrics of a whole set by pycocoevalcap: BLEU, ROUGE-L, CIDEr; METEOR by Java."""

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
"""How long Java may take; METEOR starts in 10 s, on a busy machine in 30 s."""
NO_REFERENCES = "no caption has a reference with words"


class Caption(NamedTuple):
    """A generated caption and its references, at least one."""

    prediction: str
    references: list[str]


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """The scores of a set.

    Attributes:
        values: by the names in ``RAW``, ``TOKENISED`` and ``METEOR``; NaN where there is none.
        missing: why a score is NaN, by its name.
    """

    values: dict[str, float]
    missing: dict[str, str]


def caption_scores(
    results: Sequence[Mapping[str, Any]], *, meteor: bool = True, seconds: float = SECONDS
) -> CaptionScores:
    """All caption metrics of a whole set.

    Those by the names in ``RAW`` are of the texts as they are, as ReForm-Eval published them;
    those in ``TOKENISED`` of texts in Penn Treebank tokens, as others publish them. METEOR and
    the tokeniser need Java.

    Args:
        results: rows with ``prediction`` and ``references``, as for ``raw_scores``.
        meteor: whether METEOR is wanted.
        seconds: how long each of the two Java programs may take.
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
    """BLEU-1 to 4, ROUGE-L and CIDEr of the texts as they are; words are parted by spaces alone.

    Args:
        results: rows with ``prediction`` and ``references``. Rows without references are left
            out; a prediction that is no text counts as an empty one.

    Returns:
        The scores by the names in ``RAW``; NaN where no row has a reference with words.
    """
    return _scores(_captions(results))


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """ROUGE-L of one caption as it is, from 0 to 1; 0 where no reference has words."""
    there = [each for each in references if each.split()]
    if not there:
        return 0.0
    from pycocoevalcap.rouge.rouge import Rouge

    return float(Rouge().calc_score([prediction], there))


def meteor_of(results: Sequence[Mapping[str, Any]], seconds: float = SECONDS) -> float:
    """METEOR of a set, as for ``raw_scores``; NaN where Java fails or is absent."""
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
    from pycocoevalcap.bleu.bleu import Bleu  # heavy
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
