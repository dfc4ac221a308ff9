"""Options of a question, and the places where a text names them, by mark or by their text."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from lmms_rpts.grading.plain_text import WIDE, normal, plain

Values = Callable[[str], "frozenset[str] | None"]
"""The marks of the options that have the value of a text; None if the text has no value."""

# Marks that may be chosen if the options are unknown.
WITHOUT_OPTIONS = "ABCDEFGHIJ"
# A character of a masked text that stands for an option.
TOKEN = "[\ue000-\uefff]"  # noqa: S105
TOKENS = re.compile(TOKEN)

# Tokens are characters of the private use area, which no answer has
_FIRST = 0xE000
_MOST_TOKENS = 2_000
# options that say that something is not so: "none of these", "cannot be determined", 无法判断
_DOUBTFUL = re.compile(
    r"\b(?:not|no|cannot|(?:can|isn|aren|don|doesn|didn|wasn|couldn)'?t|none|neither|unsure|uncertain|unknown|maybe|undetermined|unclear)\b"
    "|不|无法|没有|未知|可能"
)
_OPEN, _CLOSE = "([{<【「〔❴\"'", ")]}>】」〕❵\"'"
# Not part of a word, formula, name or range: AB, A', B=3, B+, ∠B, B-shaped, B.C.
_ALONE_BEFORE = r"(?<![A-Za-z0-9_'′\\∠△⊙#$=+×÷])(?<![=+×÷]\s)(?<![A-Za-z]\.)(?<![A-Za-z0-9]-)"
_ALONE_AFTER = r"(?![A-Za-z0-9_′'’+#^%=]|-[A-Za-z0-9]|\.[A-Za-z]\.|\s?[=≠±×÷+])"
# "A cat", "I think": an article and a pronoun; but "A is right"
_NOT_A_MARK = re.compile(
    r"\bA (?!(?:is|was|are|and|or|because|since|as|would|must|should|fits|seems?|looks|best"
    r"|correctly|rather|instead|but|not|it|if|though|although)\b)(?=[a-z])"
    r"|\bI (?=[a-z])|\bI'(?=[a-z])"
)
# Small letters and numbers are marks only after these words, or at the start
_CHOOSING = (
    r"(?:(?<=option )|(?<=answer is )|(?<=answer: )|(?<=choose )|(?<=choice )|(?<=选)|(?<=选项)|^)"
)
# "A, B and C", A、B和C, "(A)(B)", "option A or option B"
_JOIN = (
    r"(?:[\s,、/&+]|\b(?:and|or|und)\b|[和与及或]|或者|还是|(?<=[)\]】])(?=[(\[【])"
    r"|\b[Oo]ptions?\b|选项){1,8}"
)
# "A or B", "A/B", A还是B
_EITHER = re.compile(r"\bor\b|[/或]|还是", re.IGNORECASE)
# Options that are answers only as the first or only word: "I have no idea" does not choose "no"
VERDICTS = frozenset(
    ("yes", "no", "maybe", "not", "none", "neither", "both", "true", "false", *"是否有无对错不")
)
# the mark in an option "A. a dog", "(B) a cat"
_OWN_MARK = re.compile(r"\s{0,4}[(\[]?([A-Za-z])[)\].:：、]\s{0,4}(?=\S)")
# the marks in a row "A, B and C"; "and" is none
_ONE = re.compile(r"(?<![A-Za-z0-9])(?!(?i:and|or)\b)[A-Za-z0-9]{1,3}(?![A-Za-z0-9])")

# between mark and text: "B. Paris", "B (Paris)"
_BESIDE = re.compile(r"[\s.:：,)、\-–—\"'*]{0,4}(?:\(\s?)?")


class Named(NamedTuple):
    """What a token stands for.

    Attributes:
        marks: the marks of the options that are named together.
        kind: ``mark``, ``row`` (several marks), ``either`` (alternatives), ``text``, or ``clash``
            (a mark beside the text of another option).
        soft: letters that may be no marks, such as AB.
        bracketed: whether the mark is in brackets.
        own: a mark with the text of its option.
        long: a text of more than one word.
    """

    marks: frozenset[str]
    kind: str
    soft: bool = False
    bracketed: bool = False
    own: bool = False
    long: bool = False


class Masked(NamedTuple):
    """A text in which tokens stand for the options that it names."""

    text: str
    tokens: list[Named]

    def named(self, text: str) -> list[Named]:
        """What the tokens in a part of the text stand for."""
        return [self.tokens[ord(each) - _FIRST] for each in TOKENS.findall(text)]

    @property
    def marks(self) -> frozenset[str]:
        """The marks of all options that the text names."""
        return frozenset().union(*(each.marks for each in self.tokens))


_Span = tuple[int, int, Named]


@dataclass(frozen=True)
class Options:
    """The options of a question: one mark for each, and their texts in normal form."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]
    shown: tuple[str, ...] = ()
    given: bool = False
    values: Values | None = field(default=None, compare=False)

    def of_text(self, text: str) -> frozenset[str]:
        """The marks of the options with this text, in plain characters."""
        said = {normal(text), normal(text.strip(" .。"))} - {""}
        return frozenset(
            mark for mark, own in zip(self.marks, self.texts, strict=False) if own in said
        )

    def of_value(self, text: str) -> frozenset[str]:
        """The marks of the options with the value of a text."""
        return (self.values(text) if self.values else None) or frozenset()

    @cached_property
    def mark_of(self) -> dict[str, str]:
        """The marks by their lower-case forms."""
        return {mark.casefold(): mark for mark in self.marks}

    def shielded(self, response: str) -> str:
        """The response with marks in place of options that say that something is not so.

        As options, "not sure" and "cannot be determined" are neither a hedge nor a refusal.
        """
        _, texts = _patterns(self.marks, self.texts)
        if texts is None or not any(map(_DOUBTFUL.search, self.texts)):
            return response

        def mark(found: re.Match[str]) -> str:
            marks = self.of_text(plain(found[0]))
            doubtful = len(marks) == 1 and _DOUBTFUL.search(found[0].lower())
            return f"({min(marks)})" if doubtful else found[0]

        return texts.sub(mark, response)

    def mask(self, text: str) -> Masked:
        """The text with tokens for marks and options."""
        text = TOKENS.sub(" ", text)
        texts = list(self._texts(text))
        spans = texts + [
            span
            for span in self._marks(text)
            if not any(span[0] < end and start < span[1] for start, end, _ in texts)
        ]
        parts: list[str] = []
        tokens: list[Named] = []
        at = 0
        for start, end, named in _joined(text, sorted(spans, key=lambda span: span[:2])):
            parts += [text[at:start], chr(_FIRST + len(tokens))]
            tokens.append(named)
            at = end
        return Masked("".join([*parts, text[at:]]), tokens)

    def _texts(self, text: str) -> Iterator[_Span]:
        _, pattern = _patterns(self.marks, self.texts)
        for found in pattern.finditer(text) if pattern else ():
            around = text[max(0, found.start() - 1) : found.end() + 1]
            if self.mark_of.get(found[0].casefold()) and re.fullmatch(_BRACKETED, around):
                continue  # "(3)" is a mark, even if an option says 3
            bare = re.sub(r"(?i)^(?:an?|the)\s", "", found[0])
            marks = self.of_text(bare) or self.of_text(found[0])
            long = len(bare.split()) > 1 or len(re.findall(f"[{WIDE}]", bare)) > 2
            if marks:
                yield (*found.span(), Named(marks, "text", long=long))

    def _marks(self, text: str) -> Iterator[_Span]:
        pattern, _ = _patterns(self.marks, self.texts)
        for found in pattern.finditer(_NOT_A_MARK.sub(lambda found: found[0].lower(), text)):
            letters = found["compact"] or ""
            said = list(letters) or _ONE.findall(found[0])
            marks = frozenset(filter(None, (self.mark_of.get(each.casefold()) for each in said)))
            kind = "mark" if len(marks) == 1 else "row"
            if kind == "row" and _EITHER.search(found[0]):
                kind = "either"
            if marks and (not letters or len(marks) == len(letters)):
                bracketed = found[0][0] in _OPEN
                yield (*found.span(), Named(marks, kind, bool(letters), bracketed))


def read_options(
    options: Sequence[str], marks: Sequence[str] = (), values: Values | None = None
) -> Options:
    """The options of a question; marks that stand before all of their own texts are dropped."""
    shown = [plain(option) for option in options]
    own = [_OWN_MARK.match(option) for option in shown]
    if "".join(each[1].upper() for each in own if each) == string.ascii_uppercase[: len(shown)]:
        shown = [each.string[each.end() :] for each in own if each]
    names = tuple(map(str, marks or string.ascii_uppercase[: len(shown)] or WITHOUT_OPTIONS))
    return Options(names, tuple(map(normal, shown)), tuple(shown), bool(marks), values)


def gold_marks(gold: str, options: Options) -> frozenset[str]:
    """The marks of a gold answer: a mark, several of them, or the text of one option."""
    text, same = plain(gold[:2_000]).strip(), options.mark_of
    if options.given and text.casefold() in same:
        return frozenset({same[text.casefold()]})
    named = set(options.of_text(text))
    leading = re.match(r"[(\[<{]?\s?([A-Za-z0-9]{1,3})\s?[)\]>}]?(?:[.:,)、]\s?(.*))?$", text)
    mark = same.get(leading[1].casefold()) if leading else None
    if leading and mark and (not leading[2] or mark in options.of_text(leading[2])):
        named.add(mark)
    if not named:
        letters = re.sub(r"[\s,，、;/&()]+", "", text).casefold()
        return frozenset(map(same.__getitem__, letters)) if {*letters} <= {*same} else frozenset()
    return frozenset(named) if len(named) == 1 else frozenset()


_BRACKETED = rf"[{re.escape(_OPEN)}].*[{re.escape(_CLOSE)}]"


@lru_cache(maxsize=256)
def _patterns(
    marks: tuple[str, ...], texts: tuple[str, ...]
) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """The pattern of marks and that of option texts."""
    one = "|".join(sorted(map(re.escape, marks), key=len, reverse=True))
    alone = one if marks[0].isupper() else one.upper() if marks[0].isalpha() else "(?!)"
    single = (
        rf"(?:[{re.escape(_OPEN)}]\s?(?i:{one})\s?[{re.escape(_CLOSE)}]"
        rf"|{_ALONE_BEFORE}(?:{alone}){_ALONE_AFTER}"
        rf"|(?i:{_CHOOSING}(?:{one})(?=[\s.):,!。]{{0,4}}$|[):.](?=\s)|\)(?=\w))))"
    )
    letters = "".join(mark for mark in marks if len(mark) == 1 and mark.isalpha())
    compact = f"[{letters}]{{2,10}}" if letters else "(?!)"
    compact = rf"(?<![A-Za-z0-9_\\∠△])(?P<compact>{compact})(?![A-Za-z0-9_'=^])"
    words = filter(None, map(_words, sorted(set(texts), key=len, reverse=True)))
    alternatives = "|".join(words)
    return (
        re.compile(rf"{single}(?:{_JOIN}{single}){{0,30}}|{compact}", re.MULTILINE),
        re.compile(alternatives, re.IGNORECASE) if alternatives else None,
    )


def _words(text: str) -> str:
    """The pattern of an option's text in a sentence; empty if it is too short to be found there."""
    if not text or (len(text) == 1 and text.isascii() and text.isalpha()):
        return ""
    # The normal form of "can't" has no apostrophe.
    words = (re.sub(r"(?<=[a-z]{2})t$", "['’]?t", re.escape(word)) for word in text.split())
    inner = r"[\s\W]{1,3}(?:(?:an?|the)\s)?".join(words)
    if text in VERDICTS:
        return rf"(?:(?<=^)|(?<=[:：)\].]\s)|(?<=\bis\s)|(?<=\bsay\s)){inner}(?![A-Za-z])"
    if not re.match(f"[{WIDE}]", text):
        inner = rf"(?<![\w.$€£#+])(?<![\w]-)(?:\b(?:an?|the)\s)?{inner}"
    return inner if re.search(f"[{WIDE}]$", text) else rf"{inner}(?![\w%°]|['’]\w|[.,]\d|-\w)"


def plain_lines(text: str) -> str:
    """A text in plain characters, line by line."""
    return "\n".join(plain(line) for line in text[-8_000:].split("\n") if line.strip())


def _joined(text: str, spans: list[_Span]) -> list[_Span]:
    """Marks with the text of an option beside them as one token: "not A. London"."""
    joined: list[_Span] = []
    for start, end, named in spans[:_MOST_TOKENS]:
        begin, stop, before = joined[-1] if joined else (0, 0, named)
        gap = text[stop:start]
        if {before.kind, named.kind} == {"mark", "text"} and _BESIDE.fullmatch(gap[:9]):
            shared, sign = before.marks & named.marks, gap.strip()[:1]
            if shared or (before.kind == "mark" and sign != ",") or sign == "(":
                mark = before if before.kind == "mark" else named
                kind = "mark" if shared else "clash"
                joined[-1] = (begin, end, mark._replace(kind=kind, own=True))
                continue
        joined.append((start, end, named))
    return joined
