"""Target: the reference, read once; its parts and blanks, and the words that name each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

from lmms_rpts.grading.measures import same_quantity
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.words import (
    BLANK,
    CIRCLED,
    CRITERIA,
    is_nothing,
    placed,
    squeezed,
    truth_of,
)
from lmms_rpts.tasks.cmmath.grading.question import Question
from lmms_rpts.tasks.cmmath.grading.response import Reading

AnswerType = Literal[
    "choice_single", "choice_multi", "true_false", "number", "number_unit", "fraction",
    "expression", "equation", "coordinate", "interval", "set", "circled", "statement",
    "multi_blank", "multi_part",
]  # fmt: skip
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)

# The reference

_HALF_WIDTH = str.maketrans("ＡＢＣＤＥＦＧＨ", "ABCDEFGH")
_NOT_ONLY = re.compile(  # AC=DF（答案不唯一）
    r"[(（]\s?(?:答案不唯一|不唯一|任意一个即可|符合[^()（）]{0,12}即可)[^()（）]{0,12}[)）]"
)
_PART = re.compile(r"(?:^|[\n;；。.．，, ])\s{0,3}[(（](\d)[)）]")  # (1)7．(2)9．
_ALTERNATE = re.compile(r"\s/\s?|/\s|(?<=[°\u4e00-\u9fff])/(?=\d)")  # 80°/80度
_TWICE = re.compile(r"([^()]{1,60}?)\s?\(([^()]{1,60})\)")  # 25%(0.25)
_INTERVAL = re.compile(r"[<>≤≥≠∪∞]|❴[^❵]{0,40}\||^\[|\]$")  # x>2, [1,3), ❴x|x>2❵
_ALL_REALS = re.compile(r"^(?:[a-z]\s?(?:为|是|取|∈))?\s?(?:(?:全体|任意|一切|所有)实数|R)$")
_WORD = re.compile(r"[\u4e00-\u9fff]{1,4}")
_RANGE_ASKED = re.compile(r"范围|解集|区间|定义域|值域")


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
    alternatives: tuple[Reading, ...] = ()
    letters: frozenset[str] = frozenset()
    parts: tuple[Target, ...] = ()

    @property
    def is_word(self) -> bool:
        """Whether it is a word in Chinese and nothing else."""
        return _WORD.fullmatch(self.text) is not None

    @property
    def contents(self) -> str:
        """Its text without the marks of its parts."""
        return " ".join(part.text for part in self.parts) or self.text


def read_target(question: Question, reference: str) -> Target:
    """A reference in the publishers' notation, with its type and its parts."""
    if _NOT_ONLY.search(reference):
        reference = _NOT_ONLY.sub("", reference)
    text = clean(reference).strip(" ,.。;\n")
    letters = _letters(reference)
    if letters and (BLANK.search(question.raw) or _has_options(question.raw)):
        kind: AnswerType = "choice_single" if len(letters) == 1 else "choice_multi"
        return Target(kind, text, question, letters=letters)
    parts = split_parts(reference)
    if len(parts) > 1:
        asked = _parts_of_question(question.raw, len(parts))
        listed = tuple(read_target(*pair) for pair in zip(asked, parts, strict=True))
        return Target("multi_part", text, question, parts=listed)
    blanks = _blanks(question.raw, reference, text)
    if len(blanks) > 1:
        listed = tuple(
            read_value(replace(question, single=False, blank=at), each)
            for at, each in enumerate(blanks)
        )
        return Target("multi_blank", text, question, parts=listed)
    return read_value(question, text)


def _parts_of_question(raw: str, count: int) -> list[Question]:
    """The question of each part of a reference: the part of the question with its number."""
    marks = list(_PART.finditer(raw))[-count:]
    if [int(mark[1]) for mark in marks] != list(range(1, count + 1)):
        return [Question("")] * count
    ends = [mark.start() for mark in marks[1:]] + [len(raw)]
    return [Question(raw[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _letters(reference: str) -> frozenset[str] | None:
    """The letters of a reference that is nothing but letters."""
    bare = re.sub(r"[\s,，、;；.。和$&/]+", "", reference[:99].translate(_HALF_WIDTH))
    if bare.isascii() and bare.isalpha() and bare.isupper() and max(bare) <= "H":
        return frozenset(bare) if len(set(bare)) == len(bare) else None
    return None


def _has_options(question: str) -> bool:
    return re.search(r"(?:^|\s)[A-H][.．、:：]", question) is not None or "选" in question


def split_parts(text: str) -> tuple[str, ...]:
    """The texts after (1), (2), ... in their order; empty if there are no such marks."""
    found: list[re.Match[str]] = []
    for mark in _PART.finditer(text):
        if int(mark[1]) == len(found) + 1:
            found.append(mark)
    if len(found) < 2 or text[: found[0].start()].strip():
        return ()
    ends = [each.start() for each in found[1:]] + [len(text)]
    return tuple(
        text[mark.end() : end].strip(" \n;；。.．,，")
        for mark, end in zip(found, ends, strict=True)
    )


def _blanks(question: str, reference: str, text: str) -> Sequence[str]:
    lines = [line for line in reference.split("\n") if line.strip(" $")]
    if len(lines) > 1:
        return [clean(line).strip(" ,.。;") for line in lines]
    for separator in (";", ",", "、") if "(" not in text else ():
        if separator in text:
            pieces = [piece.strip() for piece in text.split(separator) if piece.strip()]
            if 1 < len(pieces) == len(BLANK.findall(question)):
                return pieces
    return ()


def read_value(question: Question, text: str) -> Target:
    """A cleaned reference with one value, parsed."""
    readings = _alternatives(text)
    return Target(_type_of_one(question, readings[0]), text, question, readings)


def _alternatives(text: str) -> tuple[Reading, ...]:
    """The ways to write one value: 80°/80度, 0.5或1/2, 25%(0.25); several values are one text."""
    if not re.search("[/或(]", text):
        return (Reading(text),)
    twice = _TWICE.fullmatch(text)
    for parts in (_ALTERNATE.split(text), re.split("或", text), twice.groups() if twice else ()):
        found = [Reading(part.strip()) for part in parts if part.strip()]
        values = [each.quantity for each in found if each.quantity is not None]
        if 1 < len(found) == len(values) < 4 and all(
            same_quantity(values[0], other) for other in values[1:]
        ):
            return tuple(found)
    return (Reading(text),)


def _type_of_one(question: Question, reading: Reading) -> AnswerType:
    text = reading.text
    if text.isascii() and text.isdecimal() and reading.quantity is not None:
        return _type_of_quantity(question, reading)
    if text.casefold() in CRITERIA:
        return "statement"
    if CIRCLED.search(text) and reading.circled is not None:
        return "circled"
    if "=" not in text:
        if truth_of(text) is not None:
            return "true_false"
        if _ALL_REALS.match(text):
            return "interval"
        if is_nothing(text):
            return "set" if "∅" in text or "集" in text else "equation"
    in_round = text[:1] == "(" and question.single and _RANGE_ASKED.search(question.raw)
    if (_INTERVAL.search(text) or in_round) and reading.region is not None:
        return "interval"
    if "(" in text and reading.points is not None:
        return "coordinate"
    if reading.quantity is not None:
        return _type_of_quantity(question, reading)
    if reading.equations is not None:
        return "equation"
    return "set" if re.search(r"[❴或±]", text) else "statement"


def _type_of_quantity(question: Question, reading: Reading) -> AnswerType:
    assert reading.quantity is not None
    unit = reading.quantity.unit or question.unit
    if unit is not None and not unit.dimension.startswith("count"):
        return "number_unit"
    number = reading.quantity.expression.number is not None
    if number and ("\\frac" in reading.text or re.fullmatch(r"-?\d{1,20}/\d{1,20}", reading.text)):
        return "fraction"
    return "number" if number else "expression"


# The requested items, and the clauses about each

_MOST = 12
_LABEL = 40
_STOP = re.compile(r"[,;。;]|\.(?!\d)")
_SENTENCE_END = re.compile(r"[。;\n?]|\.(?!\d)")
ALL_OF = re.compile(  # 平均数和众数都是5
    r"([\u4e00-\u9fff]{1,8})(?:和|与|及|、)([\u4e00-\u9fff]{1,8}?)(?:都|均)(?:约?[是为]|等于)?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
# Where a clause ends; not within (2,0), nor in 1,000.
_CUT = re.compile(
    r"(?:[;。\n∴]|\.(?!\d)|,(?!\d{3}(?!\d))|(?<![A-Za-z])and(?![A-Za-z]))(?![^()\n]{0,60}\))"
)
# 若AE:ED=1:2, 当x<1时: a condition belongs to what follows it
_CONDITION = re.compile(r"^\W{0,6}(?:若|如果|当[^,]{1,60}时$|(?:if|when|for)\s)", re.IGNORECASE)
# ∠C+∠D=180° gives no value of ∠D
_SUM = re.compile(r"[A-Za-z∠]\S{0,8}\s?[+\-]\s?\S{0,8}[A-Za-z∠][^\u4e00-\u9fff]*=")
_TERM = re.compile(r"(?<=[\da-z)}+-])[a-z]=")  # the b of 7b+5b=12b is not a name
_LABELLED = re.compile(  # 平均分76, a=18, 甲的平均分为74.5
    r"(?P<label>.{0,40}?[\u4e00-\u9fffA-Za-z}'])\s?(?:的?值)?(?:约?[是为]|等于|[=:≈])?\s?"
    r"(?P<value>[-\d√\\π].{0,80})"
)


class Item(NamedTuple):
    """A requested value, and the words before and after its place, squeezed."""

    before: str
    after: str
    target: Target


def items_of_blanks(target: Target) -> list[Item]:
    """The blanks of a question with the words around each; empty if these are unclear."""
    around = [clean(piece) for piece in BLANK.split(target.question.raw)]
    if len(around) != len(target.parts) + 1:
        return []
    before = squeezed(_SENTENCE_END.split(around[0])[-1])
    found = []
    for part, text in zip(target.parts, around[1:], strict=True):
        stop = _STOP.search(text)
        after, rest = (text[: stop.start()], text[stop.end() :]) if stop else (text, text)
        found.append(Item(before[-_LABEL:], squeezed(after)[:_LABEL], part))
        before = squeezed(rest)
    return found


def items_of_part(part: Target) -> list[Item]:
    """The labelled numbers of a part; a single value is named by the words of its question."""
    text = ALL_OF.sub(r"\1为\3,\2为\3", part.text)
    found: list[Item] = []
    for piece in clauses_of(text):
        labelled = _LABELLED.fullmatch(piece.strip())
        value = Reading(labelled["value"]) if labelled else None
        if labelled is None or value is None or not value.is_number:
            found = []
            break
        found.append(Item(squeezed(labelled["label"]) + _sign(piece), "", _number(value)))
    return found or [Item(part.question.words[-_LABEL:], "", part)]


def _sign(piece: str) -> str:
    return "=" if "=" in piece else ""


def _number(value: Reading) -> Target:
    return read_value(Question(""), value.text)


def clauses_of(text: str) -> list[str]:
    """The clauses of a text, cleaned, each with the condition before it."""
    found: list[str] = []
    held = ""
    for piece in _CUT.split(ALL_OF.sub(r"\1为\3,\2为\3", clean(text))):
        if _CONDITION.match(piece) and not held:
            held = f"{piece},"
        elif piece.strip():
            found.append(held + piece.strip())
            held = ""
    return found


def named_in(clauses: Sequence[str], items: Sequence[Item]) -> list[list[str]]:
    """For each item the clauses whose words name it more than they name any other."""
    # 先向下走…再向__走: a word that is the answer to a blank names no item.
    answers = [item.target.text for item in items if item.target.is_word]
    grams = [_without(_grams(item.before + item.after), answers) for item in items]
    own = [
        each - frozenset[str]().union(*(other for other in grams if other is not each))
        for each in grams
    ]
    told: list[list[tuple[int, str]]] = [[] for _ in items]
    for clause in clauses[-4 * _MOST :]:
        if _SUM.match(clause):
            continue
        said = _grams(squeezed(clause))
        scores = [len(each & said) for each in own]
        best = max(scores)
        if best and scores.count(best) == 1:
            told[scores.index(best)].append((best, clause))
    # 最低气温是-3 names 最高气温 less than 最高气温是8 does
    found = [[clause for score, clause in each if score == max(each)[0]] for each in told]
    return [_where_placed(at, items[at], found, clauses) for at in range(len(items))]


def _without(grams: frozenset[str], answers: Sequence[str]) -> frozenset[str]:
    """The grams without those of the answers: neither 右 nor 向右 if 右 is one."""
    return frozenset(
        each for each in grams if not any(each in word or word in each for word in answers)
    )


def _where_placed(
    at: int, item: Item, named: Sequence[list[str]], clauses: Sequence[str]
) -> list[str]:
    """The clauses that have a value at the place of the blank, unless the item's own do."""
    own = named[at]
    filled = [each for each in clauses if placed(each, item.before, item.after)]
    if any(each in own for each in filled):
        return own
    others = {each for other in named for each in other}
    return [each for each in filled if each not in others] or filled or own


def _grams(text: str) -> frozenset[str]:
    """Pairs of characters with a letter among them, and single Chinese characters."""
    text = _TERM.sub("=", text)
    pairs = {text[at : at + 2] for at in range(len(text) - 1)}
    kept = {pair for pair in pairs if pair[0].isalpha() or pair[1].isalpha() or "∠" in pair}
    return frozenset(kept | {each for each in text if "\u4e00" <= each <= "\u9fff"})
