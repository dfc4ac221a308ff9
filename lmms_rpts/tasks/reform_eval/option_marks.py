"""Option marks in an answer: where they are named, and whether the text denies them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from lmms_rpts.answers.final_statement import denies

_OPEN, _CLOSE = r"[(\[{【「〔]\s{0,2}", r"\s{0,2}[)\]}】」〕]"
_JOIN = (
    r"\s{0,3}(?:[,、/&]|\b(?:and|or|nor)\b|[和与及或]|还是){1,2}\s{0,3}(?:(?:option|选项)\s{0,2})?"
)
# "Option B", "I'd go with B", "选B", "it is B"
_BEFORE = (
    r"(?:(?<![a-z])(?:options?|choices?|answers?|letters?|numbers?|is|are|be|it's|choose|chose|select"
    r"|pick|think|believe|say|guess|go(?:ing)?\s{1,3}with|so|hence|thus|therefore|both|either"
    r"|neither|not|nor|than|of|but|rather)|选项|选择|[选是为非]|答案|[:=→])[\s:,–—-]{0,3}"
)
# What may follow a bare mark: "A dog" does not name A.
_AFTER = (
    r"(?=\s{0,3}(?:$|[;:,!?)\]。、→=\n]|\.(?!\d)|[-–—](?=\s)"
    r"|(?:is|are|isn't|aren't|was|because|since|as|due|seems?|looks?|matches|match|fits?|would|can"
    r"|cannot|can't|does|doesn't|best|correctly|but|not|rather|instead|\(no)(?![a-z])|[选项是为不错正对因而但都均]))"
)
# "B is right", "B项正确", as the first sentence or a later one
_JUDGED = (
    r"(?=\s{0,3}(?:(?:is|are|isn't|aren't|was|seems?|looks|would|can't|cannot|best|fits|matches)(?![a-z])"
    r"|选?项|[是不都均]?正确|[不错都均]))"
)
_CLAUSE_END = re.compile(
    r"[.;!?,。；!\n:]|(?<![a-z])(?:but|so|because|since|therefore|hence|thus|while|whereas)(?![a-z])"
    r"|而是|但|所以|因此|因为",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    r"(?<![a-z])(?:neither|nor|rather\s{1,3}than|instead\s{1,3}of|other\s{1,3}than|unlike|without"
    r"|exclud\w{1,5}|eliminat\w{1,5}|rul\w{1,5}\s{1,3}out|discard\w{0,4})(?![a-z])|而非|[不非]\s?选?$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"\s{0,3}(?:(?:option|choice)s?\s{0,3}|选?项)?(?:(?:both|all|都|均)\s{0,3})?(?:(?:is|are|was|were|can"
    r"|could|does|do|would)(?:\s{1,3}(?:both|all|clearly|also))?(?:n't|\s{1,3}not|not)(?![a-z])"
    r"|(?:is|are|was|were|seems?|looks?)\s{1,3}(?:both\s|all\s|clearly\s|also\s)?"
    r"(?:wrong|incorrect|false|out|excluded|eliminated|ruled|impossible)|是?不(?!错)|是?错|并非|被?排除)",
    re.IGNORECASE,
)
_REACH = 120


class Named(NamedTuple):
    """Options that are named together, as in "A and B".

    Attributes:
        indices: indices of the options.
        start, end: position in the text.
        bracketed: whether the marks are in brackets.
    """

    indices: frozenset[int]
    start: int
    end: int
    bracketed: bool


class Marks:
    """The offered marks: letters or numbers; the case of letters is ignored."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._indices = {mark.casefold(): index for index, mark in enumerate(marks)}
        longest_first = sorted(self._indices, key=len, reverse=True)
        one = f"(?:{'|'.join(map(re.escape, longest_first))})"
        single = rf"{one}(?![A-Za-z0-9_'’]|[.,]\d|-[A-Za-z0-9])"
        item = f"{_OPEN}{one}{_CLOSE}"
        any_item = f"(?:{item}|{single}\\)?)"
        row = f"(?:{_JOIN}{any_item}){{0,30}}"
        self._bracketed = re.compile(rf"(?<![A-Za-z0-9_\\]){item}{row}", re.IGNORECASE)
        bare = rf"(?<![A-Za-z0-9_'’.$\-]){single}\)?{row}"
        first = r"(?:^[^\w\n([{【「〔]{0,8})"
        self._bare = re.compile(
            rf"(?:{first}|{_BEFORE})(?P<row>{bare}){_AFTER}"
            rf"|(?:(?<=[\s,。,;])|^)(?P<judged>{bare}){_JUDGED}"
            # "Not A. B."
            rf"|(?<=[.;!]\s)(?P<last>{bare})(?=[\s.!]{{0,4}}$)",
            re.IGNORECASE | re.MULTILINE,
        )
        self._alone = re.compile(
            rf"[\W_]{{0,8}}(?:(?:the\s)?(?:option|choice|选项|选)\s{{0,3}})?(?P<one>{one})"
            r"(?:[\W_]{1,8}(?P=one)){0,20}[\W_]{0,8}",
            re.IGNORECASE,
        )
        self._each = re.compile(rf"(?<![A-Za-z0-9_]){one}(?![A-Za-z0-9_])", re.IGNORECASE)

    def alone(self, text: str) -> int | None:
        """The option if the text is only a mark, with or without brackets."""
        found = self._alone.fullmatch(text) if len(text) < 60 else None
        return self._indices[found["one"].casefold()] if found else None

    def named(self, text: str) -> Iterator[Named]:
        """The options that a text names and does not deny, bracketed ones first."""
        taken: list[tuple[int, int]] = []
        for found in self._bracketed.finditer(text):
            taken.append(found.span())
            yield from self._kept(text, *found.span(), bracketed=True)
        for found in self._bare.finditer(text):
            start, end = found.span(found.lastgroup or 0)
            if not any(start < stop and begin < end for begin, stop in taken):
                yield from self._kept(text, start, end, bracketed=False)

    def _kept(self, text: str, start: int, end: int, *, bracketed: bool) -> Iterator[Named]:
        if not is_denied(text, start, end):
            each = (found[0].casefold() for found in self._each.finditer(text, start, end))
            yield Named(frozenset(self._indices[mark] for mark in each), start, end, bracketed)


@lru_cache(maxsize=256)
def marks_of(marks: tuple[str, ...]) -> Marks:
    """The marks of a question, compiled once."""
    return Marks(marks)


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether the clause denies the text in this range: "not (B)", "(B) is wrong"."""
    before = text[max(0, start - _REACH) : start]
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    clause = before[ends[-1] if ends else 0 :].rstrip(" ([{")
    # "The best choice would be (C)" is not a denial.
    if denies(clause.replace("would be", "is")) or _EXCLUDED.search(clause):
        return True
    return _DENIED_AFTER.match(text, end) is not None
