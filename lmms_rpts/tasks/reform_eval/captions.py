"""Caption metrics of a whole set by pycocoevalcap: BLEU, ROUGE-L, CIDEr."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

RAW = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "cider")


class Caption(NamedTuple):
    """A generated caption and its references, at least one."""

    prediction: str
    references: list[str]


def raw_scores(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """BLEU-1 to 4, ROUGE-L and CIDEr of the texts as they are; words are parted by spaces alone.

    Args:
        results: rows with ``prediction`` and ``references``. Rows without references are left
            out; a prediction that is no text counts as an empty one.

    Returns:
        The scores by the names in ``RAW``; NaN where no row is left.
    """
    return _scores(_captions(results))


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
    if not captions:
        return dict.fromkeys(RAW, math.nan)
    from pycocoevalcap.bleu.bleu import Bleu  # heavy
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    references = {index: each.references for index, each in enumerate(captions)}
    predictions = {index: [each.prediction] for index, each in enumerate(captions)}
    bleu, _ = Bleu(4).compute_score(references, predictions, verbose=0)
    rouge, _ = Rouge().compute_score(references, predictions)
    cider, _ = Cider().compute_score(references, predictions)
    return dict(zip(RAW, map(float, (*bleu, rouge, cider)), strict=True))
