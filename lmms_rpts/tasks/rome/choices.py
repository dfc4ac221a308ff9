"""Letters of a label, and the clause of an answer that states it."""

from __future__ import annotations

import re

_NOT_BUT = re.compile(
    r"\b(?:not|neither)\s[^.;\n]{1,80}?[,\s]{1,3}but\b|不是[^。；\n]{1,40}?[,，]?\s?而是",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[,，;；]?\s{0,3}(?:\b(?:although|though|even\s{1,3}though|because|since|rather\s{1,3}than"
    r"|instead\s{1,3}of|not|neither|nor|cannot|unlike|except(?:ing)?|excluding|other\s{1,3}than"
    r"|apart\s{1,3}from|(?:all|(?:every|any)(?:thing|one|body))(?:\s{1,3}(?:the\s{1,3})?[a-z]{1,15})?"
    r"\s{1,3}but)\b|n['’]t\b|虽然|尽管|因为|而不是|而非|不是|不选|除了)[^.;；。\n]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[。！？!?\n]|\.(?=\s|$)")


def label_letters(label: str) -> frozenset[str]:
    """The letters of a label such as ``AC`` or ``a, c``; empty if it isn't a list of letters."""
    bare = re.sub(r"[\s,，、;/&()]+", "", label.upper())
    if re.fullmatch(r"[A-Z]{1,26}", bare) and len(set(bare)) == len(bare):
        return frozenset(bare)
    return frozenset()


def sentence(text: str) -> str:
    """The first sentence of a text, or all of it."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def main_clause(text: str) -> str:
    """The text without "not B but", and without clauses that deny or explain."""
    return _ASIDE.sub(" ", _NOT_BUT.sub(" ", text))
