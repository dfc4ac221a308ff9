"""A response reduced to its final statement, and a reference with its type and its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from lmms_rpts.grading.maths.reading import (
    RANGE_ASKED,
    TWICE,
    Question,
    equations_of,
    points_of,
    quantity_of,
    region_of,
    with_signs,
)
from lmms_rpts.grading.measures import same_measure
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import Statement, find_statement
from lmms_rpts.grading.words import BLANK, CRITERIA, circled_of, is_nothing, truth_of

EDGES = ' \t\n.。,;:*_#、“”"'
_LEAD = re.compile(  # 所以 x=2, "so x=2"
    r"^(?:所以|因此|因而|从而|综上(?:所述)?|最终|最后|故|即|则|得|∴|又|且|应?填|so|hence|thus|therefore)[,:\s]{0,3}",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s{0,8}[-•+*>]\s{1,3}(?=\S)")  # "- 26", "> 26"


def bare(text: str) -> str:
    """A text without punctuation and markup around it."""
    return _LEAD.sub("", _BULLET.sub("", text).strip(EDGES)).strip(EDGES)


# The response

_LONGEST = 600
_VERB = re.compile(  # what gives a value: "面积为", "共有", "答:", "the area is"
    r"(?:应该?是|[只就仅]有|约为|等于|得到|可得|化简得|解得|分别[是为]|表示[成为]|[是为得即共有了]|[\u4e00-\u9fff]:|[a-z]{3}:)"
    r"(?!否|不是|什么)|(?<![A-Za-z])(?:is|are|equals?|be|gives?|get|obtain|has|have|measures?)(?![A-Za-z])"
)
_EQUALS = re.compile(r"(?<![<>≤≥≠])[=≡]")  # the last one of a chain gives the value
# the last formula of a sentence
_DOLLARS = re.compile(r"\$\$?([^$]{1,300})\$\$?|\\\(([^\n]{1,300}?)\\\)")
# …,所以…; "…, so …"; ⇒
_CLAUSE = re.compile(r"[,;。]\s?(?=[\u4e00-\u9fff∴]|\b(?:so|hence|thus|then|therefore)\b)|\n|⇒|∴")
# 1小时30分, which a verb or a comma must not split
_COMPOUND = re.compile(
    r"(?<![\d度°])(?:\d{1,9}(?:\.\d{1,9})?\s?(?:小时|分钟?|秒|天|厘米|分米|千米|米|元|角|千克|克|吨|时)\s?){2,4}"
)
_ASIDE = re.compile(  # 4n+1(n为正整数), y=60-2x(0<x<30)
    r"\s{0,3}\([^()]{0,60}[\u4e00-\u9fff<>≤≥≠∈][^()]{0,60}\)\s{0,3}$"
)
_MATHS = re.compile(r"[^\u4e00-\u9fff\n。、“”\"?]{1,400}")  # a run without Chinese words
# "and", "cats", but also "sin": a run with such words is a sentence, not a formula
_WORDS = re.compile(r"[A-Za-z]{3,}")
_FUNCTION_WORDS = frozenset({"sin", "cos", "tan", "cot", "log", "sqrt", "frac", "max", "min"})
# No character may be in both classes: with overlap, matching takes exponential time.
_RELATION_RUN = re.compile(r"(?:[^\u4e00-\u9fff。\n]|[或且和]){1,200}$")
_CONCLUDES = re.compile(  # 所以…, "so …": the text before it is working
    r"[\s.,;:*_#>、“”\"]{0,9}(?:所以|因此|因而|从而|综上|最终|最后|故|得|∴|(?:so|hence|thus|therefore)(?![a-z]))",
    re.IGNORECASE,
)
_LISTED_BELOW = re.compile(  # "所以点P的坐标为：" above "- (4,0)" and "- (-4,0)"
    r"(?:^|[\n，。])(?P<lead>[^\n，。]{0,60}(?:坐标|解|根|值|答案|结果)[^\n，。]{0,8})[:：]\**\s{0,3}\n{1,2}"
    r"(?P<items>(?:[ \t]{0,4}(?:[-•*+]|[1-6][.、)])[ \t]{1,3}"
    r"[^\u4e00-\u9fff\n]{1,80}或?[ ]{0,3}(?:\n{1,2}|$)){2,6})$"
)
# "- " and "1. " before an item, 或 and ; behind it
_ITEM = re.compile(r"^[ \t]{0,4}(?:[-•*+]|[1-6][.、)])[ \t]{1,3}|[或。；;，]?\s{0,3}$")


@dataclass(frozen=True)
class Response:
    """A response, or a part of one, reduced to its final statement."""

    statement: Statement

    @cached_property
    def text(self) -> str:
        """The final statement, cleaned."""
        return clean(self.statement.text)

    @cached_property
    def boxed(self) -> str:
        """The content of the boxes in it, cleaned."""
        return clean(self.statement.boxed)

    @cached_property
    def clause(self) -> str:
        """The last clause of the final statement."""
        return _CLAUSE.split(self.text)[-1]

    @cached_property
    def concludes(self) -> bool:
        """Whether the last clause is marked as the conclusion."""
        return _CONCLUDES.match(self.clause) is not None

    @cached_property
    def conclusion(self) -> str:
        """The last clause if it draws the conclusion, else the whole statement."""
        return self.clause if self.concludes else self.text

    def values(self, *, rounded: bool = False) -> list[str]:
        """The possible values of the statement, the likeliest first.

        In "1/3≈0.33" the exact value comes first, unless a rounded one is asked for.
        """
        text = self.text[-_LONGEST:]
        found = [*_of_text(self.boxed, rounded)] if self.boxed else []
        found += [each[0] for each in reversed(list(_COMPOUND.finditer(text)))]
        found += _of_text(text, rounded)
        for formula in _DOLLARS.findall(self.statement.text[-_LONGEST:])[-1:]:
            found += _of_text(clean("".join(formula)), rounded)
        return _forms(found)

    @cached_property
    def relations(self) -> list[str]:
        """As ``values``, for texts that contain signs of equality or order themselves."""
        lines = [] if self.statement.marked else self.statement.block.split("\n")
        system = 1 < len(lines) < 5 and all("=" in line for line in lines)  # x=1 above y=-1
        found = [clean(",".join(lines))] if system else []
        for text in filter(None, (self.boxed, self.text[-_LONGEST:])):
            said = with_signs(text)
            clause = _CLAUSE.split(said)[-1]
            run = _RELATION_RUN.search(said)
            last = "" if run and re.search("[或且]", run[0]) else _last_maths(said, unit=False)
            tails = [_after_last(_VERB, said), _after_last(_VERB, clause)]
            found += [*tails, clause, run[0] if run else "", said, last]
        return _forms(found)


def _forms(texts: Iterable[str]) -> list[str]:
    """The texts without what is around them, and without an aside behind them, each once."""
    forms = (bare(form) for text in texts for form in (text, _ASIDE.sub("", text)))
    return [*filter(None, dict.fromkeys(forms))]


def read_response(response: str) -> Response:
    """The final statement of a response."""
    found = find_statement(response)
    listed = None if found.marked else _LISTED_BELOW.search(found.spoken[-_LONGEST:])
    if listed is not None:
        values = [_ITEM.sub("", line).strip(EDGES) for line in listed["items"].split("\n")]
        text = f"{listed['lead']}{'，'.join(filter(None, values))}"
        found = replace(found, text=text, block=text)
    return Response(found)


def part_of(text: str) -> Response:
    """A piece of an answer, taken as a statement."""
    return Response(Statement(text, True, "", text, text, revised=False))


def value_tail(clause: str) -> str:
    """The value of a cleaned clause: the text after its last verb and equals sign."""
    return _after_last(_EQUALS, _after_last(_VERB, clause))


def _of_text(text: str, rounded: bool) -> Iterator[str]:
    for whole in (_CLAUSE.split(text)[-1], text):
        for tail in (_after_last(_VERB, whole), whole):
            yield from _exact_and_rounded(_after_last(_EQUALS, tail), rounded)
            yield tail
    yield from _exact_and_rounded(_after_last(_EQUALS, _last_maths(text)), rounded)


def _exact_and_rounded(text: str, rounded: bool) -> list[str]:
    exact, about, value = text.rpartition("≈")
    if not about or not bare(exact) or not bare(value):
        return [text]
    return [value] if rounded else [exact, value]


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    found = list(pattern.finditer(text))
    tail = text[found[-1].end() :] if found else text
    return tail if bare(tail) else text


def _last_maths(text: str, *, unit: bool = True) -> str:
    """The last run without Chinese words that holds a digit or a letter, and what follows it."""
    for found in reversed(list(_MATHS.finditer(text))[-6:]):
        words = set(_WORDS.findall(found[0])) - _FUNCTION_WORDS
        if not words and re.search(r"[0-9A-Za-zα-ω∅∞]", found[0]):
            behind = re.match(r"[\u4e00-\u9fff/]{0,8}", text[found.end() : found.end() + 8])
            return bare(found[0] + (behind[0] if behind and unit else ""))
    return ""


# The reference

AnswerType = Literal[
    "choice_single", "choice_multi", "true_false", "number", "number_unit", "fraction",
    "expression", "equation", "coordinate", "interval", "set", "circled", "statement",
    "multi_blank", "multi_part",
]  # fmt: skip
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)
# Ａ and A are one mark
HALF_WIDTH = str.maketrans("ＡＢＣＤＥＦＧＨ", "ABCDEFGH")
_NOT_ONLY = re.compile(  # AC=DF（答案不唯一）
    r"[(（]\s?(?:答案不唯一|不唯一|任意一个即可|符合[^()（）]{0,12}即可)[^()（）]{0,12}[)）]"
)
_PART = re.compile(r"(?:^|[\n;；。.．，, ])\s{0,3}[(（]([1-6])[)）]")  # (1)7．(2)9．
_ALTERNATE = re.compile(r"\s/\s?|/\s|(?<=[°\u4e00-\u9fff])/(?=\d)")  # 80°/80度
_INTERVAL = re.compile(r"[<>≤≥≠∪∞]|❴[^❵]{0,40}\||^\[|\]$|实数$|^R$")  # x>2, [1,3)
_MOST_BLANKS = 30
# "A, C", A、C, "$A$和$C$"
_BETWEEN_LETTERS = re.compile(r"[\s,，、;；.。和$&/]+")


@dataclass(frozen=True)
class Target:
    """A parsed reference.

    Attributes:
        type: the type of the answer.
        text: all of it, cleaned.
        question: what is asked.
        alternatives: ways to write its value, any of which is right.
        letters: the letters of a choice.
        parts: its blanks or parts; empty if it has only one.
    """

    type: AnswerType
    text: str
    question: Question
    alternatives: tuple[str, ...] = ()
    letters: frozenset[str] = frozenset()
    parts: tuple[Target, ...] = ()

    @property
    def contents(self) -> str:
        """Its text without the marks of its parts."""
        return " ".join(part.text for part in self.parts) or self.text


def read_target(question: Question, reference: str) -> Target:
    """A reference in the publishers' notation, with its type and its parts."""
    reference = _NOT_ONLY.sub("", reference)
    text = clean(reference).strip(" ,.。;\n")
    letters = _BETWEEN_LETTERS.sub("", reference[:99].translate(HALF_WIDTH))
    chosen = re.fullmatch(r"(?:([A-H])(?!.*\1)){1,8}", letters)
    options = re.search(r"(?:^|\s)[A-H][.．、:：]|选", question.raw)
    if chosen and (options or BLANK.search(question.raw)):
        kind: AnswerType = "choice_single" if len(letters) == 1 else "choice_multi"
        return Target(kind, text, question, letters=frozenset(letters))
    rows = runs(_PART, reference) if _PART.match(reference.lstrip()) else []
    parts = [part.strip(" \n;；。.．，,") for part in max(rows, key=len, default=[])]
    if len(parts) > 1:
        asked = [piece for _, piece in numbered(_PART, question.raw)][-len(parts) :]
        asked = asked if len(asked) == len(parts) else [""] * len(parts)
        listed = tuple(
            read_target(Question(each), part) for each, part in zip(asked, parts, strict=True)
        )
        return Target("multi_part", text, question, parts=listed)
    blanks = _blanks(question.raw, reference, text)
    if len(blanks) > 1:
        listed = tuple(
            read_value(replace(question, single=False, blank=at), each)
            for at, each in enumerate(blanks)
        )
        return Target("multi_blank", text, question, parts=listed)
    return read_value(question, text)


# The marks of parts and options, each at the place of its number
_MARKS = ("①②③④⑤⑥", "123456", "一二三四五六", "abcd", "ABCDEFGH")
_PLACES = {mark: at for row in _MARKS for at, mark in enumerate(row)}


def numbered(pattern: re.Pattern[str], text: str) -> list[tuple[int, str]]:
    """The numbers of marks such as (1), from 0, each with the text up to the next mark."""
    marks = list(pattern.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    places = [_PLACES[next(filter(None, mark.groups()))] for mark in marks]
    return [
        (at, text[mark.end() : end]) for at, mark, end in zip(places, marks, ends, strict=False)
    ]


def runs(pattern: re.Pattern[str], text: str) -> list[list[str]]:
    """The texts after marks that count up, in rows; a new row begins at each first."""
    rows: list[list[str]] = []
    for number, piece in numbered(pattern, text):
        if number == 0:
            rows.append([piece])
        elif rows and number == len(rows[-1]):
            rows[-1].append(piece)
        elif rows and number < len(rows[-1]):
            rows[-1][number] += piece
    return rows


def _blanks(question: str, reference: str, text: str) -> Sequence[str]:
    lines = [line for line in reference.split("\n") if line.strip(" $")]
    if 1 < len(lines) <= _MOST_BLANKS:
        return [clean(line).strip(" ,.。;") for line in lines]
    for separator in (";", ",", "、") if "(" not in text else ():
        if separator in text:
            pieces = [piece.strip() for piece in text.split(separator) if piece.strip()]
            if 1 < len(pieces) == len(BLANK.findall(question)):
                return pieces
    return ()


def read_value(question: Question, text: str) -> Target:
    """A cleaned reference with one value, parsed."""
    found = _alternatives(text)
    return Target(_type_of_one(question, found[0]), text, question, found)


def _alternatives(text: str) -> tuple[str, ...]:
    """The ways to write one value: 80°/80度, 0.5或1/2, 25%(0.25); several values are one text."""
    twice = TWICE.fullmatch(text)
    for parts in (_ALTERNATE.split(text), text.split("或"), twice.groups() if twice else ()):
        found = [part.strip() for part in parts if part.strip()]
        if 1 < len(found) < 4:
            values = [each for each in map(quantity_of, found) if each]
            if len(values) == len(found) and all(same_measure(values[0], one) for one in values):
                return tuple(found)
    return (text,)


def _type_of_one(question: Question, text: str) -> AnswerType:
    if text.isascii() and text.isdecimal():
        return _type_of_quantity(question, text)
    if text.casefold() in CRITERIA:
        return "statement"
    if circled_of(text) is not None:
        return "circled"
    if "=" not in text:
        if truth_of(text) is not None:
            return "true_false"
        if is_nothing(text):
            return "set" if "∅" in text or "集" in text else "equation"
    in_round = text[:1] == "(" and question.single and RANGE_ASKED.search(question.raw)
    if (_INTERVAL.search(text) or in_round) and region_of(text) is not None:
        return "interval"
    if "(" in text and points_of(text) is not None:
        return "coordinate"
    if quantity_of(text) is not None:
        return _type_of_quantity(question, text)
    if equations_of(text) is not None:
        return "equation"
    return "set" if re.search(r"[❴或±]", text) else "statement"


def _type_of_quantity(question: Question, text: str) -> AnswerType:
    found = quantity_of(text)
    if found is None:
        return "statement"
    unit = found.unit or question.unit
    if unit is not None and not unit.dimension.startswith("count"):
        return "number_unit"
    if found.expression.number is None:
        return "expression"
    return "fraction" if re.fullmatch(r".*\\frac.*|-?\d{1,20}/\d{1,20}", text) else "number"
