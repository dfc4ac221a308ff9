"""A text read as a value of each type, what a question asks of it, and whether two texts agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from lmms_rpts.grading.formulas import equal
from lmms_rpts.grading.notation import all_of, clean, pieces, same_items, signed
from lmms_rpts.grading.quantities import Measure, Rounding, parse_measure, same_measure
from lmms_rpts.grading.relations import (
    Equation,
    Point,
    Region,
    Values,
    parse_equations,
    parse_points,
    parse_region,
    same_equations,
    same_points,
    same_region,
    values_of,
)
from lmms_rpts.grading.units import Unit, unit_at
from lmms_rpts.grading.words import BLANK, CIRCLED, circled_of, is_nothing, squeezed

# Questions

_ROUNDED = re.compile(r"约|近似|≈|保留[^π根]{0,8}位|精确到|四舍五入|取整")
_PLACES = re.compile(r"保留|精确到|四舍五入|取整")
_EXACT = re.compile(  # 结果保留π: no rounded value
    r"保留\s?\$*\s?(?:\\?pi|π|根号)|用分数|分数表示|最简|准确值|精确值|含\s?\$*\s?(?:\\?pi|π)"
)
_FORM = re.compile(  # a form of a number: 4/6, 0.5, 52×10^{3} may lack it
    r"带分数|假分数|(?:化成|写成|化为|改写成|用)\s?小数|最简(?:分数|整数比|比)|最简单的整数比|科学[记计]数法",
)
_SIMPLIFIED = re.compile(r"化简|计算|展开|整理|合并|因式分解|分解因式")
_BRACKET_TERM = re.compile(r"(?<!/)\([^()]{0,80}[+\-][^()]{0,80}\)(?!/)")  # (a+b) may be expanded
_FACTOR = re.compile(r"\([^()]{1,200}\)(?:\^\{[^{}]{1,9}\})?|×")  # (x+2)^{2}
_NAME = re.compile(r"∠\s?(?:[A-Z]{1,3}|\d)|[A-Z]{1,4}|(?<![A-Za-z\\])[a-z]$")
_NOUN = re.compile(  # 周长为20, but 面积 is asked for
    "表面积|侧面积|底面积|面积|体积|周长|坐标|度数|概率|半径|直径|中位数|众数|平均数|方差|极差"
    "|最大值|最小值|斜率|补角|余角|一半|倒数|相反数|平方|之和|之差|余弦|正弦|正切"
)
_STOP = re.compile(r"[,。;:\n]")
_LABEL_END = re.compile(r"(?:约?[是为]|等于|[=≈])")  # what separates a label from its value
_LABEL = 18
_UNIT_TAIL = 60
_ANY_BLANK = re.compile(r"\\underline|_{2,}|□|\(\s{0,40}\)")
_BRACED = re.compile(r"^_?\{([^{}]{1,3})\}")  # ____{cm}: cleaning reads it as an index
# Words that begin with the name of a unit: ____元一次方程
_NO_UNIT = re.compile(
    "元[一二三]?次|次[函方多单项不]|条件|年级|对[称应边角]|边[形长]|位[于置]|时[间刻,]|角"
)


@dataclass(frozen=True)
class Question:
    """A question, with its requirements on the answer.

    Attributes:
        raw: in the publishers' notation.
        single: whether it is about one value, and not about one of several blanks.
        blank: which of its blanks is asked for.
    """

    raw: str
    single: bool = True
    blank: int = 0

    @cached_property
    def text(self) -> str:
        """The question, cleaned."""
        return clean(self.raw)

    @cached_property
    def _mark(self) -> re.Match[str] | None:
        """Its blank in the text; of a question about one value, the last one."""
        marks = list(islice(_ANY_BLANK.finditer(self.text), 200))
        return marks[self.blank] if self.blank < len(marks) else None

    @property
    def before(self) -> str:
        """The text before the blank, cleaned."""
        return self.text[: self._mark.start()] if self._mark else self.text

    @cached_property
    def unit(self) -> Unit | None:
        """The unit after the blank."""
        marks = list(_ANY_BLANK.finditer(self.text)) if self.single else [self._mark]
        mark = marks[-1] if marks else None
        if mark is None:
            return None
        rest = self.text[mark.end() : mark.end() + _UNIT_TAIL]
        rest = _BRACED.sub(r"\1", rest).lstrip(" )~}")
        inside = re.match(r"\((?:单位\s?:)?\s?([^()]{1,30})\)", rest)
        rest = inside[1] if inside else rest
        unit, end = unit_at(rest, 0)
        if unit is None or (inside and end < len(rest)) or _NO_UNIT.match(rest):
            return None
        latin = rest[end - 1].isascii()
        formula = latin and re.match(r"\s?[=<>+×÷≤≥-]|[\w^\\]", rest[end:], re.ASCII)
        return None if formula else unit

    @cached_property
    def rounding(self) -> Rounding:
        patterns = (_ROUNDED, _PLACES, _EXACT)
        return Rounding(*(pattern.search(self.raw) is not None for pattern in patterns))

    def is_unfinished(self, answer: str, target: str) -> bool:
        """Whether an answer, equal in value, may lack the form that the question asks for."""
        if answer != target and _FORM.search(self.raw):
            return True
        if not _SIMPLIFIED.search(self.raw):
            return False
        if len(answer) > 3 and answer in squeezed(self.text):
            return True
        if "因式" in self.raw:
            one, other = (
                sorted([*_FACTOR.findall(text), _FACTOR.sub("", text)]) for text in (answer, target)
            )
            return one != other
        return bool(_BRACKET_TERM.search(answer)) and not _BRACKET_TERM.search(target)

    def is_of_another(self, clause: str) -> bool:
        """Whether a clause gives another quantity, by names (∠1, AB) and nouns (面积, 周长)."""
        said = _STOP.split(clause)[-1]
        *sides, value = _LABEL_END.split(said)
        if not BLANK.search(self.raw) or not sides:
            return False
        asked = _STOP.split(self.before.rstrip(" ("))[-1][-_LABEL:]
        wanted, named = _names_in(asked), [_names_in(side[-_LABEL:]) for side in sides]
        same = [
            signs == wanted[1] and (names == wanted[0] if signs else bool(names & wanted[0]))
            for names, signs in named
        ]
        if wanted[0] and any(names for names, _ in named) and not any(same):
            return True
        label = said[: len(said) - len(value)][-_LABEL:]
        nouns, asked_nouns = _NOUN.findall(label), _NOUN.findall(asked)
        return bool(nouns) and bool(asked_nouns) and nouns[-1] != asked_nouns[-1]


def _names_in(text: str) -> tuple[set[str], set[str]]:
    """The names in a text, in their usual form (AB for BA), and the signs that join them."""
    names = [name.replace(" ", "") for name in _NAME.findall(text)]
    usual = {min(name, name[: name.rfind("∠") + 1] + name.lstrip("∠")[::-1]) for name in names}
    return usual, set(re.findall(r"[+\-×÷^]", text))


# Values of a short text

_VALUE_NAME = re.compile(  # ∠ABC=70°, S_{阴影}=9π: the name before a value
    r"^(?:[\u4e00-\u9fff∠△⊙]{0,8}\s?)?[A-Za-zα-ω∠][A-Za-z0-9_{}'∠:]{0,12}\s?[=≈]\s?(?=\S)"
)
TWICE = re.compile(r"([^()]{1,60}?)\s?\(([^()]{1,60})\)")  # 1/2 (0.5)
_SPELLED_SIGNS = (  # x 不小于 4
    (re.compile(r"不小于|不少于|不低于|大于(?:或者?)?等于|至少[为是]?"), "≥"),
    (re.compile(r"不大于|不超过|不多于|不高于|小于(?:或者?)?等于|至多[为是]?"), "≤"),
    (re.compile(r"大于|超过|多于|高于"), ">"),
    (re.compile(r"小于|少于|低于"), "<"),
    (re.compile(r"不等于"), "≠"),
)
_TURNED = re.compile(r"^([^=]{1,60})=\s?([a-z](?:_\{\d\})?)$")  # 5=x
_BRACES = re.compile(r"^❴([^❴❵|]{1,300})❵$")


@dataclass(frozen=True)
class Reading:
    """A cleaned text, and its value as each type; each is parsed at most once."""

    text: str

    @cached_property
    def squeezed(self) -> str:
        return squeezed(self.text)

    @cached_property
    def nothing(self) -> bool:
        return is_nothing(self.text)

    @cached_property
    def name(self) -> str:
        """The text before its value, with the equals sign; may be empty."""
        found = _VALUE_NAME.match(self.text)
        return found[0] if found else ""

    @cached_property
    def unnamed(self) -> Reading:
        """Without the name before its value: ``∠ABC=70°`` is 70°."""
        return Reading(self.text[len(self.name) :]) if self.name else self

    @cached_property
    def quantity(self) -> Measure | None:
        return parse_measure(self.text)

    @cached_property
    def is_number(self) -> bool:
        found = self.unnamed.quantity
        return found is not None and found.expression.number is not None

    @cached_property
    def region(self) -> Region | None:
        return parse_region(with_signs(self.text))

    @cached_property
    def points(self) -> tuple[Point, ...] | None:
        return parse_points(self.text)

    @cached_property
    def equations(self) -> tuple[Equation, ...] | None:
        return parse_equations(_TURNED.sub(r"\2=\1", self.text))

    @cached_property
    def values(self) -> Values | None:
        """The values by name, if its equations are solutions."""
        return values_of(self.equations) if self.equations else None

    @cached_property
    def circled(self) -> frozenset[int] | None:
        return circled_of(self.text) if CIRCLED.search(self.text) else None

    @cached_property
    def in_braces(self) -> Reading | None:
        found = _BRACES.match(self.text)
        return Reading(found[1]) if found else None

    @cached_property
    def members(self) -> tuple[Reading, ...]:
        """The members of a list; text in brackets is not split."""
        text = self.text.strip(" ❴❵.。")
        found = pieces(text, thousands=False) or ()
        if not found or any("and" in each.joined for each in found):  # 且 does not make a list
            return (Reading(text),) if text else ()
        return tuple(Reading(each.text) for each in found)

    @cached_property
    def signed_members(self) -> tuple[Reading, ...]:
        """The members without their names, and both of each ±."""
        bare_texts = [each.text[len(each.name) :] for each in self.members]
        return tuple(Reading(each) for text in bare_texts for each in signed(text) or (text,))

    @cached_property
    def has_or(self) -> bool:
        listed = pieces(self.text.strip(" .。"), thousands=False) or ()
        return any("or" in each.joined for each in listed)


def with_signs(text: str) -> str:
    """A text with the words for signs of order replaced by the signs."""
    if re.search("[于过少多]", text):
        for words, sign in _SPELLED_SIGNS:
            text = words.sub(sign, text)
    return text


# Comparison: True, False, or None if it is undecided

_ROUND = re.compile(r"\([^<>≤≥≠∪∈∞|]*$")  # (1,2): a point, unless a range is asked for
RANGE_ASKED = re.compile(r"范围|解集|区间|定义域|值域|不等式")
_SET_UP = re.compile(r"列[^。]{0,8}(?:方程|不等式|算式)|列式")  # the equation itself is the answer
_ORDER_ASKED = re.compile(r"顺序|排列|排序|依次")  # ③①② is an order
_TIME_ASKED = re.compile(r"时刻|几时|几点|钟面|钟表|时间|现在是")
_ENGLISH = re.compile(r"[A-Za-z]{1,20}")  # ①, ③ and ④ are correct
_BRACKETED = re.compile(r"\(([1-9])\)")  # (1)(3) for ①③
_TOO_LARGE = re.compile(r"-?\d{2,9}(?:\.\d{1,9})?\s?×\s?10")  # 38.4×10^{4} for 3.84×10^{5}
_RATIO = re.compile("[:：∶比倍/]|frac")
_MANY = 12


def same_reading(said: Reading, wanted: Reading, question: Question) -> bool | None:
    """Whether two readings give the same value.

    Returns:
        None if one of them can't be read as the other's type, or if it is uncertain.
    """
    if said.squeezed == wanted.squeezed and said.squeezed:
        return True
    if said.nothing or wanted.nothing:
        other = wanted if said.nothing else said
        words = other.quantity is None and not re.search(r"\d", other.text)
        return True if said.nothing and wanted.nothing else (None if words else False)
    for compare in (_circled, _quantities, _regions, _points, _equations, _lists):
        found = compare(said, wanted, question)
        if found is not None:
            return found
    return None


def _circled(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.circled is None:
        return None
    text = said.text
    if not CIRCLED.search(text):
        text = _BRACKETED.sub(lambda found: chr(0x245F + int(found[1])), text)
    found = Reading(_ENGLISH.sub(" ", text)).circled
    if found is None:
        return None
    if _ORDER_ASKED.search(question.raw):
        return CIRCLED.findall(text) == CIRCLED.findall(wanted.text)
    return wanted.circled == found


def _quantities(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.quantity is None:
        return None
    said = said.unnamed
    if said.text.endswith("%") and re.search(r"_{2,}\s?%", question.text):  # ____%
        said = Reading(said.text[:-1])
    if said.quantity is None or (
        ":" in said.text + wanted.text
        and (not _RATIO.search(wanted.text + question.raw) or _TIME_ASKED.search(question.raw))
    ):
        return None
    same = same_measure(said.quantity, wanted.quantity, question.rounding, question.unit)
    if not same:
        return same
    if "科学" in question.raw and _TOO_LARGE.match(said.text):
        return False
    return None if question.is_unfinished(said.squeezed, wanted.squeezed) else True


def _regions(said: Reading, wanted: Reading, question: Question) -> bool | None:
    point = _ROUND.match(wanted.text) and not RANGE_ASKED.search(question.raw)
    if wanted.region is None or point:
        return None
    if said.region is None:  # one number, or a list of them, is not a range
        return False if said.is_number or said.in_braces else None
    if said.region.name and wanted.region.name and said.region.name != wanted.region.name:
        return None  # y<0, but x is asked for
    same = same_region(said.region, wanted.region)
    in_one_unit = ("°" in said.text) == ("°" in wanted.text)
    return same or (False if same is False and in_one_unit else None)  # 0<α<π/2, 0°<α<90°


def _points(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if said.in_braces and wanted.in_braces:
        said, wanted = said.in_braces, wanted.in_braces
    if wanted.points is None or "∪" in wanted.text:
        return None
    if said.points is None:
        return False if said.is_number else None
    return same_points(said.points, wanted.points)


def _equations(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.equations is None:
        return None
    values = wanted.values
    if said.equations is None:
        return None if values is None else _as_values(said, wanted, question)
    if values and said.values and said.values.keys() < values.keys():
        return False  # x=3 for x=3, y=-2
    if len(wanted.equations) == 1 and _unknowns(wanted) < _unknowns(said):
        return False  # x²/a²+y²/b²=1 for x²/4+y²/3=1
    same = same_equations(said.equations, wanted.equations)
    if same and _SET_UP.search(question.raw):
        # The equation itself is asked for: equal solutions are not enough.
        return same_items(said.equations, wanted.equations, _same_sides) or None
    if same and values is not None and said.values is None:
        solved = all(each.number is not None for several in values.values() for each in several)
        return not solved  # 2x=12 is not yet a solution
    return same


def _unknowns(reading: Reading) -> frozenset[str]:
    sides = (side for equation in reading.equations or () for side in equation)
    return frozenset[str]().union(*(side.names for side in sides))


def _same_sides(one: Equation, other: Equation) -> bool:
    straight = equal(one.left, other.left) and equal(one.right, other.right)
    return bool(straight or (equal(one.left, other.right) and equal(one.right, other.left)))


def _as_values(said: Reading, wanted: Reading, question: Question) -> bool | None:
    """(3,-2), or 3 and -2, for x=3, y=-2."""
    values = wanted.values or {}
    if said.points is not None and len(said.points) == 1:
        said = Reading(",".join(each.text for each in said.points[0].coordinates))
    listed = [Reading(each.text) for several in values.values() for each in several]
    return _same_lists(said.members, listed, question, ordered=len(values) > 1)


def _lists(said: Reading, wanted: Reading, question: Question) -> bool | None:
    if wanted.equations or wanted.points or wanted.region:
        return None  # x=1,y=4或x=3,y=2 for x=1,y=2或x=3,y=4
    names = [each.name for each in said.members if each.name]
    if len(names) == len(said.members) > 1 and names != sorted(names) and not wanted.name:
        return None  # y=2,x=3 for 3,2
    found, values = said.signed_members, wanted.signed_members
    if len(values) == 1 and not (len(found) > 1 and said.has_or):
        return None
    either = any(each.has_or or "±" in each.text for each in (said, wanted))
    return _same_lists(found, values, question, ordered=not either and "❴" not in wanted.text)


def _same_lists(
    found: Sequence[Reading], wanted: Sequence[Reading], question: Question, *, ordered: bool
) -> bool | None:
    """Whether two lists contain the same values; None if any of them can't be read."""
    if max(len(found), len(wanted)) > _MANY:
        return None
    if len(found) != len(wanted):
        readable = all(each.quantity for each in (*found, *wanted))
        return False if readable and not ordered else None

    def same(one: Reading, other: Reading) -> bool | None:
        return True if one.squeezed == other.squeezed else _quantities(one, other, question)

    if ordered:
        return all_of([same(*pair) for pair in zip(found, wanted, strict=True)])
    return same_items(found, wanted, same)
