"""An offline judge that compares character n-grams: a smoke baseline, no understanding.

It needs no key, no network and no model, and always answers the same. Its scores tell apart
conclusions that repeat what is known from ones that do not; they can't be compared with those of
a language model and must not be reported as RPTS-Eval results.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from lmms_rpts.judging.types import SCORED, JudgeRequest, RefusedError, Reply

_LETTERS = re.compile(r"[^\w\u4e00-\u9fff]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NUMBER = re.compile(r"\d{1,12}(?:[.:]\d{1,6})?")
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|none|cannot)\b|n['’]t\b|[不没无未非]", re.IGNORECASE
)
_LONGEST = 4000

# Coverage at which a conclusion counts as unrelated, and as following.
_NOTHING, _ALL = 0.35, 0.85
_MISMATCH = 0.5


class LexicalJudge:
    """Scores how much of a claim its evidence covers."""

    async def ask(self, request: JudgeRequest) -> Reply:
        if request.kind not in SCORED:
            raise RefusedError("the lexical judge only scores; it can't write or read for you")
        if request.kind == "image":
            score = max((_agreement(request.claim, fact) for fact in request.evidence), default=0.0)
        else:
            score = _coverage(request.claim, request.evidence)
        return Reply(f"Score: {score:.1f}")


def similarity(first: str, second: str) -> float:
    """Cosine similarity of the character n-gram sets of two texts, in [0, 1]."""
    size = max(_size(first), _size(second))
    a, b = _grams(first, size), _grams(second, size)
    if not a or not b:
        return 0.0
    return float(len(a & b) / (len(a) * len(b)) ** 0.5)


def _agreement(claim: str, fact: str) -> float:
    """How well a description fits a fact: other numbers or negations make it doubtful."""
    score = _coverage(claim, [fact])
    if not _numbers(claim) <= _numbers(fact):
        score *= _MISMATCH
    if bool(_NEGATION.search(claim)) != bool(_NEGATION.search(fact)):
        score *= _MISMATCH
    return score


def _coverage(claim: str, known: Iterable[str]) -> float:
    """The share of the claim's n-grams that are known, stretched to [0, 1]."""
    size = _size(claim)
    grams = _grams(claim, size)
    if not grams:
        return 0.0
    share = len(grams & set().union(*(_grams(text, size) for text in known))) / len(grams)
    return min(1.0, max(0.0, (share - _NOTHING) / (_ALL - _NOTHING)))


def _size(text: str) -> int:
    return 2 if _CHINESE.search(text[:_LONGEST]) else 3


def _grams(text: str, size: int) -> set[str]:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).lower()
    words = _LETTERS.sub(" ", folded).strip()
    return {words[k : k + size] for k in range(len(words) - size + 1)}


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", text[:_LONGEST])))
