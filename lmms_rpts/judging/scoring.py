"""Scores from the probabilities of one token, in place of a score that the judge writes.

The judge is asked for one mark: a word (``yes``) or a digit (``expected``). The score is the mean
of the marks' values over their probabilities, renormalised: P(yes) / (P(yes) + P(no)), or the
mean digit divided by 9. Means of the distribution of judgements: G-Eval (arXiv 2303.16634), Wang
et al. (arXiv 2503.03064).
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress

from lmms_rpts.base.settings import ScoringMode

# The most probable tokens that are asked for: the maximum of OpenAI and of vLLM's defaults.
TOP = 20

# Share of the probability that must be on the marks; the reply is off format below it.
LEAST_MASS = 0.5

# The value of each mark, by mode.
MARKS: Mapping[str, Mapping[str, float]] = {
    "yes": {"yes": 1.0, "是": 1.0, "no": 0.0, "否": 0.0},
    "expected": {str(digit): digit / 9 for digit in range(10)},
}
# " Yes", "▁Yes" and "ĠYes" (raw tokens of SentencePiece and byte-level BPE), "Yes.", "**Yes**"
_AROUND = " \t\r\n▁Ġ\"'`*.。"
_LONGEST_TOKEN, _LONGEST_TEXT = 40, 100_000
# Tokens that people are shown
_SHOWN = 10


def mark_of(token: str, scoring: str) -> str | None:
    """The mark that a token spells; None if it is none, such as ``10``."""
    spelled = unicodedata.normalize("NFKC", token[:_LONGEST_TOKEN]).strip(_AROUND).casefold()
    return spelled if spelled in MARKS[scoring] else None


def write_probabilities(scoring: ScoringMode, token: str, top: Iterable[tuple[str, float]]) -> str:
    """A reply: JSON of the judge's token and of the most probable ones with their probabilities."""
    # Significant digits, not decimals: 1 - 1e-9 and 1 must give different scores.
    kept = [
        [each[:_LONGEST_TOKEN], float(f"{share:.6g}")] for each, share in top if 0 < share < 1.01
    ]
    said = {"scoring": scoring, "said": token[:_LONGEST_TOKEN], "top": kept[:TOP]}
    return json.dumps(said, ensure_ascii=False)


def read_probabilities(text: str) -> tuple[float | None, float] | None:
    """The score in such a reply, None off format, and the probability of all marks together.

    None for any other text.
    """
    try:
        said = json.loads(text[:_LONGEST_TEXT])
        scoring, marks = said["scoring"], MARKS[said["scoring"]]
        # A token that is listed twice counts once.
        shares = {(str(token), float(share)) for token, share in said["top"]}
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
    usable = [(mark_of(token, scoring), share) for token, share in shares if 0 < share < math.inf]
    total = math.fsum(share for _, share in usable)
    found = [(marks[mark], share) for mark, share in usable if mark]
    mass = math.fsum(share for _, share in found)
    value = math.fsum(value * share for value, share in found) / mass if mass else 0.0
    mass = round(min(1.0, mass / max(1.0, total)), 6)
    return (min(1.0, value) if mass >= LEAST_MASS else None), mass


def in_words(reply: str) -> str:
    """A judge's reply for people: of probabilities the most probable tokens; of JSON the reason."""
    found = read_probabilities(reply)
    if found is None:
        with suppress(ValueError, RecursionError, KeyError, TypeError):
            if isinstance(reason := json.loads(reply)["reason"], str) and reason.strip():
                return reason
        return reply
    top = [(str(token), float(share)) for token, share in json.loads(reply)["top"]]
    top = sorted((each for each in top if math.isfinite(each[1])), key=lambda each: -each[1])
    listed = ", ".join(f"{share:.1%} {token!r}" for token, share in top[:_SHOWN])
    return f"Probabilities of the next token: {listed or 'none'}. On the marks: {found[1]:.1%}."
