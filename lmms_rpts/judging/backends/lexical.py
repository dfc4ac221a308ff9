"""Judge backend: offline overlap of words and negations; a smoke baseline.

It needs no key, no network and no model, and always answers the same. It tells conclusions that
their premises speak of from ones about something else, and some that were turned round; that what
is said also follows, it can't see: it tells errors that others marked from sound steps about as
well as chance (docs/judging.md; ``lmms-rpts validate`` measures any judge). Its scores can't be
compared with those of a language model and must not be reported as RPTS-Eval results.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import JudgeRequest, RefusedError, Reply

_LETTERS = re.compile(r"[^\w\u4e00-\u9fff]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NUMBER = re.compile(r"\d{1,12}(?:[.:]\d{1,6})?")
_NEGATION = re.compile(
    r"\b(?:not(?! only)|no|never|without|none|cannot|nobody|nothing|neither|nor|unable)\b|n['’]t\b"
    r"|(?<!差)不(?![仅但过断])|[没未]|无(?!论)|非(?!常)",
    re.IGNORECASE,
)
_LONGEST = 4000

RESTATES_ABOVE = 0.75
"""Similarity above which a conclusion says no more than a text; for a clue as published."""

# What stands in any sentence tells nothing; negations are looked at by themselves.
_COMMON_ENGLISH = (
    "a an the this that these those there here it its he she they them him his her their i you we "
    "your our of in on at to for from by with as into about and or but if then so than because "
    "since thus therefore hence is are was were be been being am do does did has have had can "
    "could will would shall should may might must not no never also only just who whom whose which "
    "what when where how ca wo cannot"
)
_COMMON_CHINESE = (
    "的了是在和与及或也都就而着过把被给对从向为以于因此所则如果若但只这那其之个"
    "会能可要应该需有没不无未吗呢吧啊并且还又再"
)
_COMMON = frozenset(_COMMON_ENGLISH.split())
_CUT = str.maketrans(dict.fromkeys(_COMMON_CHINESE, " "))
_SHORTENED = re.compile(r"(?:n['’]t|['’](?:s|re|ll|ve|d|m))\b")
_RUN = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")

# Coverage at which a conclusion counts as unrelated, and as following.
_NOTHING, _ALL = 0.1, 0.9
# What the situation alone brings is not what the step draws on.
_SITUATION = 0.25
_MISMATCH = 0.5
# A negation out of nowhere is worse than one that is gone: premises often say what would not be.
_INVENTED, _LOST = 0.5, 0.75


class LexicalJudge:
    """Scores how much of a claim its evidence covers.

    Of a root it says how much of the statement it speaks of, whichever answer was given.
    """

    async def ask(self, request: JudgeRequest) -> Reply:
        if request.kind not in SCORED:
            raise RefusedError("the lexical judge only scores; it can't write or read for you")
        if request.kind == "root":
            score = _coverage(_content(request.claim), _contents(request.evidence))
        elif request.kind == "image":
            score = max((_agreement(request.claim, fact) for fact in request.evidence), default=0.0)
        else:
            score = _support(request.claim, request.evidence)
        return Reply(f"Score: {score:.1f}")


def similarity(first: str, second: str) -> float:
    """Cosine similarity of the character n-gram sets of two texts, in [0, 1]."""
    size = max(_size(first), _size(second))
    a, b = _grams(first, size), _grams(second, size)
    if not a or not b:
        return 0.0
    return float(len(a & b) / (len(a) * len(b)) ** 0.5)


def restates(conclusion: str, text: str) -> bool:
    """Whether a conclusion says no more than a text, by the rule of the clean-up."""
    return similarity(conclusion, text) > RESTATES_ABOVE


def _agreement(claim: str, fact: str) -> float:
    """How well a description fits a fact: other numbers or negations make it doubtful."""
    score = _coverage(_content(claim), _content(fact))
    if not _numbers(claim) <= _numbers(fact):
        score *= _MISMATCH
    if _negates(claim) != _negates(fact):
        score *= _MISMATCH
    return score


def _support(claim: str, evidence: Sequence[str]) -> float:
    """How well the situation, which comes first, and the premises carry a conclusion."""
    situation, premises = evidence[:1], evidence[1:] or evidence[:1]
    score = _coverage(_content(claim), _contents(premises), _contents(situation))
    if _negates(claim):
        return score if any(map(_negates, evidence)) else score * _INVENTED
    return score * _LOST if any(map(_negates, premises)) else score


def _coverage(claim: Set[str], known: Set[str], situation: Set[str] = frozenset()) -> float:
    """The share of the claim that is known, stretched to [0, 1]."""
    if not claim:
        return 0.0
    found = len(claim & known) + _SITUATION * len((claim & situation) - known)
    return min(1.0, max(0.0, (found / len(claim) - _NOTHING) / (_ALL - _NOTHING)))


def _contents(texts: Iterable[str]) -> Set[str]:
    return frozenset().union(*map(_content, texts))


def _content(text: str) -> Set[str]:
    """Pieces of the words that carry meaning: 3 letters, or 1 and 2 Chinese characters.

    Pieces, so that "walks" is much like "walked". All words, where none carries meaning.
    """
    folded = _SHORTENED.sub("", unicodedata.normalize("NFKC", text[:_LONGEST]).lower())
    words = [word for word in _RUN.findall(folded.translate(_CUT)) if word not in _COMMON]
    pieces: set[str] = set()
    for word in words or _RUN.findall(folded):
        if _CHINESE.match(word):
            pieces.update(word, (word[k : k + 2] for k in range(len(word) - 1)))
        else:
            whole = f" {word} "
            pieces.update(whole[k : k + 3] for k in range(len(whole) - 2))
    return pieces


def _negates(text: str) -> bool:
    return bool(_NEGATION.search(text[:_LONGEST]))


def _size(text: str) -> int:
    return 2 if _CHINESE.search(text[:_LONGEST]) else 3


# One conclusion is compared with many texts.
@lru_cache(maxsize=256)
def _grams(text: str, size: int) -> frozenset[str]:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).lower()
    words = _LETTERS.sub(" ", folded).strip()
    return frozenset(words[k : k + size] for k in range(len(words) - size + 1))


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", text[:_LONGEST])))
