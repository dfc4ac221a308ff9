"""Judge backend: offline overlap of words and negations, as a baseline for testing only.

It cannot see whether a conclusion follows: it separates steps that annotators marked as wrong from
sound steps about as well as chance (docs/judging.md). Its scores must not be reported as results.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from lmms_rpts.judging.request_kinds import SCORED
from lmms_rpts.judging.types import RefusedError, Reply, Request

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
_RUN = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")

# Coverage at or below which a conclusion counts as unrelated, and at or above which it follows.
_NOTHING, _ALL = 0.1, 0.9
# Weight of words that only the situation contains: they are not in a premise of the step.
_SITUATION = 0.25
_MISMATCH = 0.5
# An added negation is worse than a missing one: premises often state what is not the case.
_INVENTED, _LOST = 0.5, 0.75


@dataclass
class LexicalJudge:
    """Scores the share of a claim that its evidence covers; refuses all other kinds."""

    scores: Set[str] = SCORED
    refusal: str = "the lexical judge only scores; it cannot rewrite or parse text"

    async def ask(self, request: Request) -> Reply:
        """The score of a claim: how well it fits one of the facts, or follows from the premises."""
        if request.kind not in self.scores:
            raise RefusedError(self.refusal)
        fields: Mapping[str, Any] = request.fields
        claim, situation = fields["conclusion"][:_LONGEST], fields.get("context", "")[:_LONGEST]
        words, around = _content(claim), _content(situation)
        numbers = set(_NUMBER.findall(unicodedata.normalize("NFKC", claim)))
        negated, score = bool(_NEGATION.search(claim)), 0.0
        # One fact after another; premises count together.
        follows = "premises" in fields
        for source in [[*fields["premises"]] or [situation]] if follows else zip(fields["facts"]):
            texts = [text[:_LONGEST] for text in source]
            known = set[str]().union(*map(_content, texts))
            found = len(words & known) + _SITUATION * len((words & around) - known)
            share = (found / len(words) if words else 0.0) - _NOTHING
            fits = min(1.0, max(0.0, share / (_ALL - _NOTHING)))
            denied = any(map(_NEGATION.search, texts))
            if follows and negated and not denied:
                fits *= 1.0 if _NEGATION.search(situation) else _INVENTED
            elif negated != denied:
                fits *= _LOST if follows else _MISMATCH
            told = {*_NUMBER.findall(unicodedata.normalize("NFKC", texts[0]))}
            fits *= 1.0 if follows or numbers <= told else _MISMATCH
            score = max(score, fits)
        return Reply(f"Score: {score:.1f}", value=round(score, 1))


def _content(text: str) -> set[str]:
    """N-grams of content words: 3 letters, or 1 and 2 Chinese characters.

    N-grams make "walks" similar to "walked". If no word is a content word, all words are used.
    """
    folded = _SHORTENED.sub("", unicodedata.normalize("NFKC", text).lower())
    words = [word for word in _RUN.findall(folded.translate(_CUT)) if word not in _COMMON]
    pieces: set[str] = set()
    for word in words or _RUN.findall(folded):
        if _CHINESE.match(word):
            pieces.update(word, (word[k : k + 2] for k in range(len(word) - 1)))
        else:
            whole = f" {word} "
            pieces.update(whole[k : k + 3] for k in range(len(whole) - 2))
    return pieces
