"""Matching of phrases as whole words, except where the answer denies them."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_KEPT_SYMBOLS = frozenset("%°#+")
_CLAUSE_END = re.compile(
    r"[.;。；!！?？\n,，:：]|\b(?:but|however|yet|whereas)\b|但是?|而是|只是|不过"
)
_HARMLESS = re.compile(
    r"\b(?:not only|not just|no doubt|no less than|without (?:a )?doubt)\b"
    r"|不仅|不但|不过|不只|不远|不错|不同|无疑",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|without|except|excluding|unlike|although|though"
    r"|despite|far (?:away )?from|nowhere near|apart from|aside from|excepting"
    r"|rather than|instead of|other than|as opposed to|mistaken for|confused with"
    r"|similar to|reminiscent of|rule[sd]? out|considered|either)\b|n['’]t\b"
    r"|不是|并非|没有|而非|除了|排除|远离|虽然|尽管|类似于?|要么|不",
    re.IGNORECASE,
)
# "The team that does not travel is Monterrey" does not deny Monterrey.
_STATES_AGAIN = re.compile(r"\b(?:is|are|was|were)\b|是|为", re.IGNORECASE)
_DOUBTS = re.compile(
    r"\s{0,3}(?:think|believe|sure|certain|say|认为|觉得|确定|会是|可能)", re.IGNORECASE
)
_DENIED_AFTER = re.compile(
    r"[\"'”’*)\s]{0,4}(?:(?:is|are|was|were)(?:(?:\s{1,3}not\b|n['’]t\b)\s{1,3}"
    r"(?:(?:the\s{1,3})?(?:correct|right|answer|one)|it)\b"
    r"|\s{1,3}(?:wrong|incorrect|excluded|ruled out)\b)"
    r"|[?？]\s{0,3}(?:no\b|不)|不是(?:正确)?答案|不对|不正确|是错|被排除|除外)",
    re.IGNORECASE,
)
# "Nothing but a cat" is a cat; "everything but a cat" is not.
_ALL_BUT = re.compile(
    r"\b(?:all|(?:every|any)(?:thing|one|body|where)?)"
    r"(?:\s{1,3}of\s{1,3}(?:them|these|those))?"
    r"(?:\s{1,3}(?!(?:is|are|was|were|but)\b)[a-z]{1,15})?\s{1,3}but\b",
    re.IGNORECASE,
)
_REACH = 80


class Folded(NamedTuple):
    """Text without case, accents, spaces and punctuation, and the places of its characters.

    ``places[i]`` is the index in ``source`` of ``text[i]``; ``edges`` holds the indices of
    ``text`` before which a word may begin or end.
    """

    source: str
    text: str
    places: list[int]
    edges: frozenset[int]


def fold(source: str) -> Folded:
    """Fold a text; decimal points, minus signs before numbers, and ``%°#+`` are kept."""
    source = unicodedata.normalize("NFC", source)
    characters: list[str] = []
    places: list[int] = []
    edges = {0}
    for place, character in enumerate(source):
        if _is_skipped(source, place):
            if not _joins(source, place):
                edges.add(len(characters))
            continue
        if place and _is_edge(source[place - 1], character):
            edges.add(len(characters))
        folded = unicodedata.normalize("NFKD", character).casefold()
        for part in folded:
            if not unicodedata.combining(part):
                characters.append(part)
                places.append(place)
    edges.add(len(characters))
    return Folded(source, "".join(characters), places, frozenset(edges))


def _around(source: str, place: int) -> tuple[str, str]:
    before = source[place - 1] if place else " "
    return before, source[place + 1 : place + 2] or " "


def _is_skipped(source: str, place: int) -> bool:
    character = source[place]
    if character.isalnum() or character in _KEPT_SYMBOLS:
        before = source[max(place - 1, 0) : place]
        after = source[place + 1 : place + 2]
        possessive = character in "sS" and before in ("'", "’") and place > 1
        return possessive and not after.isalnum()
    before, after = _around(source, place)
    if character == ".":
        return not (before.isdigit() and after.isdigit())
    if character in "-−":
        return not (after.isdigit() and not before.isalnum())
    return True


def _joins(source: str, place: int) -> bool:
    """Whether the skipped character is within a word or number: 1,000, O'Brien, U.S., in-law."""
    before, after = _around(source, place)
    character = source[place]
    if character == ",":
        following = source[place + 1 : place + 5]
        return before.isdigit() and following[:3].isdigit() and not following[3:].isdigit()
    if not (before.isalpha() and after.isalpha()):
        return False
    if character == ".":
        return place < 2 or not source[place - 2].isalpha()
    return character in "'’-‐‑"


def _is_edge(before: str, character: str) -> bool:
    """Whether a word may end between two characters: at Chinese ones, at symbols, and at aB."""
    if _is_wide(before) or _is_wide(character):
        return True
    if before in _KEPT_SYMBOLS or character in _KEPT_SYMBOLS:
        return True
    return before.islower() and character.isupper()


def _is_wide(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"


def says(answer: Folded, phrase: str) -> bool:
    """Whether the answer contains the phrase as whole words, somewhere without denying it."""
    wanted = fold(phrase).text
    if not wanted:
        return bool(phrase.strip()) and phrase.strip() in answer.source
    start = answer.text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        whole = start in answer.edges and end in answer.edges
        if whole and not _is_denied(answer.source, answer.places[start], answer.places[end - 1]):
            return True
        start = answer.text.find(wanted, start + 1)
    return False


def _is_denied(source: str, start: int, last: int) -> bool:
    before = _ALL_BUT.sub(" except ", source[max(0, start - _REACH) : start])
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    clause = _HARMLESS.sub(" ", before[ends[-1] if ends else 0 :])
    cues = list(_DENIED_BEFORE.finditer(clause))
    if cues:
        between = clause[cues[-1].end() :]
        if _DOUBTS.match(between) or not _STATES_AGAIN.search(between):
            return True
    return _DENIED_AFTER.match(source, last + 1) is not None
