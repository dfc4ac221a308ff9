"""Judge backend: offline overlap of words and negations, as a baseline for testing only.

It cannot see whether a conclusion follows: it separates steps that annotators marked as wrong from
sound steps about as well as chance (docs/judging.md). Its scores must not be reported as results.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any

from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import RefusedError, Reply, Request

# What separates words: all but letters, digits and Chinese characters
_LETTERS = re.compile(r"[^\w\u4e00-\u9fff]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
# 3, 10:30, 2.5: numbers that a description must share with its fact
_NUMBER = re.compile(r"\d{1,12}(?:[.:]\d{1,6})?")
# "isn't", "unable", 不, 没; not "not only", 不仅, 差不多, 无论, 非常
_NEGATION = re.compile(
    r"\b(?:not(?! only)|no|never|without|none|cannot|nobody|nothing|neither|nor|unable)\b|n['’]t\b"
    r"|(?<!差)不(?![仅但过断])|[没未]|无(?!论)|非(?!常)",
    re.IGNORECASE,
)
_LONGEST = 4000

# Similarity above which a conclusion restates a text; for a clue as published.
RESTATES_ABOVE = 0.75

# Words of any sentence are ignored; negations are compared separately.
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
# "isn't", "they're", "it’s": the part after the word
_SHORTENED = re.compile(r"(?:n['’]t|['’](?:s|re|ll|ve|d|m))\b")
# A run of Chinese characters, or a word of other letters
_RUN = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")

# Coverage at or below which a conclusion counts as unrelated, and at or above which it follows.
_NOTHING, _ALL = 0.1, 0.9
# Weight of words that only the situation contains: they are not in a premise of the step.
_SITUATION = 0.25
_MISMATCH = 0.5
# An added negation is worse than a missing one: premises often state what is not the case.
_INVENTED, _LOST = 0.5, 0.75


class LexicalJudge:
    """Scores the share of a claim that its evidence covers."""

    async def ask(self, request: Request) -> Reply:
        """The score of a claim: how well it fits one of the facts, or follows from the premises."""
        if request.kind not in SCORED:
            raise RefusedError("the lexical judge only scores; it cannot rewrite or parse text")
        fields: Mapping[str, Any] = request.fields
        claim: str = fields["conclusion"]
        content, negated = _content(claim), _negates(claim)
        score = 0.0
        if "facts" in fields:
            numbers = set(_NUMBER.findall(unicodedata.normalize("NFKC", claim[:_LONGEST])))
            for fact in fields["facts"]:
                fits = _coverage(content, _content(fact))
                # Differing numbers or negations make it doubtful.
                known = unicodedata.normalize("NFKC", fact[:_LONGEST])
                fits *= 1.0 if numbers <= {*_NUMBER.findall(known)} else _MISMATCH
                fits *= 1.0 if negated == _negates(fact) else _MISMATCH
                score = max(score, fits)
            return Reply(f"Score: {score:.1f}", value=round(score, 1))
        situation = fields["context"]
        premises = [*fields["premises"]] or [situation]
        known_words = frozenset[str]().union(*map(_content, premises))
        score = _coverage(content, known_words, _content(situation))
        if negated:
            score *= 1.0 if any(map(_negates, [situation, *premises])) else _INVENTED
        elif any(map(_negates, premises)):
            score *= _LOST
        return Reply(f"Score: {score:.1f}", value=round(score, 1))


def similarity(first: str, second: str) -> float:
    """Cosine similarity of the character n-gram sets of two texts, in [0, 1]."""
    chinese = _CHINESE.search(first[:_LONGEST]) and _CHINESE.search(second[:_LONGEST])
    size = 2 if chinese else 3
    a, b = _grams(first, size), _grams(second, size)
    if not a or not b:
        return 0.0
    return float(len(a & b) / (len(a) * len(b)) ** 0.5)


def restates(conclusion: str, text: str) -> bool:
    """Whether a conclusion restates a text, by the rule that chain repair uses."""
    return similarity(conclusion, text) > RESTATES_ABOVE


def _coverage(claim: Set[str], known: Set[str], situation: Set[str] = frozenset()) -> float:
    """The share of the claim that is known, stretched to [0, 1]."""
    if not claim:
        return 0.0
    found = len(claim & known) + _SITUATION * len((claim & situation) - known)
    return min(1.0, max(0.0, (found / len(claim) - _NOTHING) / (_ALL - _NOTHING)))


def _content(text: str) -> Set[str]:
    """N-grams of content words: 3 letters, or 1 and 2 Chinese characters.

    N-grams make "walks" similar to "walked". If no word is a content word, all words are used.
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


# One conclusion is compared with many texts.
@lru_cache(maxsize=256)
def _grams(text: str, size: int) -> frozenset[str]:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).lower()
    words = _LETTERS.sub(" ", folded).strip()
    return frozenset(words[k : k + size] for k in range(len(words) - size + 1))
