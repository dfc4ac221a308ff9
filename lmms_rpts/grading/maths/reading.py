"""A text read as a value of each type, what a question asks of it, and whether two texts agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from lmms_rpts.grading.formulas import equal
from lmms_rpts.grading.measures import Rounding, Unit, parse_measure, same_measure, unit_at
from lmms_rpts.grading.notation import all_of, clean, pieces, same_items, signed
from lmms_rpts.grading.relations import (
    Equation,
    Values,
    parse_equations,
    parse_points,
    parse_region,
    same_equations,
    same_points,
    same_region,
    values_of,
)
from lmms_rpts.grading.words import BLANK, CIRCLED, circled_of, is_nothing, squeezed

# Questions

# 结果保留两位小数, 精确到0.1, 约为
_ROUNDED = re.compile(r"约|近似|≈|保留[^π根]{0,8}位|精确到|四舍五入|取整")
_PLACES = re.compile(r"保留|精确到|四舍五入|取整")
_EXACT = re.compile(  # 结果保留π: no rounded value
    r"保留\s?\$*\s?(?:\\?pi|π|根号)|用分数|分数表示|最简|准确值|精确值|含\s?\$*\s?(?:\\?pi|π)"
)
_FORM = re.compile(  # a form of a number: 4/6, 0.5, 52×10^{3} may lack it
    r"带分数|假分数|(?:化成|写成|化为|改写成|用)\s?小数|最简(?:分数|整数比|比)|最简单的整数比|科学[记计]数法"
)
# 化简：a+a, 因式分解：x²-4: the value alone is not enough
_SIMPLIFIED = re.compile(r"化简|计算|展开|整理|合并|因式分解|分解因式")
_BRACKET_TERM = re.compile(r"(?<!/)\([^()]{0,80}[+\-][^()]{0,80}\)(?!/)")  # (a+b) may be expanded
_FACTOR = re.compile(r"\([^()]{1,200}\)(?:\^\{[^{}]{1,9}\})?|×")  # (x+2)^{2}
# ∠ABC, ∠1, AB, and the x of "则x"
_NAME = re.compile(r"∠\s?(?:[A-Z]{1,3}|\d)|[A-Z]{1,4}|(?<![A-Za-z\\])[a-z]$")
_NOUN = re.compile(  # 周长为20, but 面积 is asked for
    "表面积|侧面积|底面积|面积|体积|周长|坐标|度数|概率|半径|直径|中位数|众数|平均数|方差|极差"
    "|最大值|最小值|斜率|补角|余角|一半|倒数|相反数|平方|之和|之差|余弦|正弦|正切"
)
_STOP = re.compile(r"[,。;:\n]")
_LABEL_END = re.compile(r"(?:约?[是为]|等于|[=≈])")  # what separates a label from its value
_LABEL = 18
_UNIT_TAIL = 60
# ____, \underline{}, □, (  )
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
    def _marks(self) -> list[re.Match[str]]:
        """Its blanks in the text; of one of several, that blank alone."""
        marks = list(islice(_ANY_BLANK.finditer(self.text), 200))
        return marks if self.single else marks[self.blank : self.blank + 1]

    @property
    def before(self) -> str:
        """The text before the blank, cleaned."""
        return self.text[: self._marks[0].start()] if self._marks else self.text

    @cached_property
    def unit(self) -> Unit | None:
        """The unit after the last blank."""
        if not self._marks:
            return None
        end = self._marks[-1].end()
        rest = _BRACED.sub(r"\1", self.text[end : end + _UNIT_TAIL]).lstrip(" )~}")
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
            return sorted(_factors(answer)) != sorted(_factors(target))
        return bool(_BRACKET_TERM.search(answer)) and not _BRACKET_TERM.search(target)

    def is_of_another(self, clause: str) -> bool:
        """Whether a clause gives another quantity, by names (∠1, AB) and nouns (面积, 周长)."""
        said = _STOP.split(clause)[-1]
        *sides, value = _LABEL_END.split(said)
        if not BLANK.search(self.raw) or not sides:
            return False
        asked = _STOP.split(self.before.rstrip(" ("))[-1][-_LABEL:]
        wanted, named = _names_in(asked), [_names_in(side[-_LABEL:]) for side in sides]
        same = any(
            signs == wanted[1] and (names == wanted[0] if signs else names & wanted[0])
            for names, signs in named
        )
        if wanted[0] and any(names for names, _ in named) and not same:
            return True
        nouns = _NOUN.findall(said.removesuffix(value)[-_LABEL:])[-1:]
        return bool(nouns) and _NOUN.findall(asked)[-1:] not in ([], nouns)


def _factors(product: str) -> list[str]:
    return [*_FACTOR.findall(product), _FACTOR.sub("", product)]


def _names_in(text: str) -> tuple[set[str], set[str]]:
    """The names in a text, in their usual form (AB for BA), and the signs that join them."""
    names = [name.replace(" ", "") for name in _NAME.findall(text)]
    usual = {min(name, name[: name.rfind("∠") + 1] + name.lstrip("∠")[::-1]) for name in names}
    return usual, set(re.findall(r"[+\-×÷^]", text))


# Values of a cleaned text

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
# ❴1,2❵: a set by its members; not ❴x|x>2❵
_BRACES = re.compile(r"^❴([^❴❵|]{1,300})❵$")
_cached = lru_cache(maxsize=512)  # a text is compared with several references

quantity_of = _cached(parse_measure)
points_of = _cached(parse_points)
region_of = _cached(lambda text: parse_region(with_signs(text)))
equations_of = _cached(lambda text: parse_equations(_TURNED.sub(r"\2=\1", text)))
TYPES = (region_of, points_of, equations_of, circled_of)


def with_signs(text: str) -> str:
    """A text with the words for signs of order replaced by the signs."""
    if re.search("[于过少多]", text):
        for words, sign in _SPELLED_SIGNS:
            text = words.sub(sign, text)
    return text


def unnamed(text: str) -> str:
    """A text without the name before its value: ``∠ABC=70°`` is 70°."""
    return _VALUE_NAME.sub("", text)


def is_number(text: str) -> bool:
    found = quantity_of(unnamed(text))
    return found is not None and found.expression.number is not None


def members(text: str) -> list[str]:
    """The members of a list; text in brackets is not split."""
    text = text.strip(" ❴❵.。")
    found = pieces(text, thousands=False) or ()
    if not found or any("and" in each.joined for each in found):  # 且 does not make a list
        return [text] if text else []
    return [each.text for each in found]


def _signed_members(text: str) -> list[str]:
    """The members without their names, and both of each ±."""
    return [each for part in map(unnamed, members(text)) for each in signed(part) or (part,)]


def _has_or(text: str) -> bool:
    return any("or" in each.joined for each in pieces(text.strip(" .。"), thousands=False) or ())


# Comparison: True, False, or None if it is undecided

_ROUND = re.compile(r"\([^<>≤≥≠∪∈∞|]*$")  # (1,2): a point, unless a range is asked for
# 求x的取值范围: then (1,2) is an interval and not a point
RANGE_ASKED = re.compile(r"范围|解集|区间|定义域|值域|不等式")
_SET_UP = re.compile(r"列[^。]{0,8}(?:方程|不等式|算式)|列式")  # the equation itself is the answer
_ORDER_ASKED = re.compile(r"顺序|排列|排序|依次")  # ③①② is an order
# 钟面上是几时几分: then 3:30 is a time and not a ratio
_TIME_ASKED = re.compile(r"时刻|几时|几点|钟面|钟表|时间|现在是")
_ENGLISH = re.compile(r"[A-Za-z]{1,20}")  # ①, ③ and ④ are correct
_BRACKETED = re.compile(r"\(([1-9])\)")  # (1)(3) for ①③
_TOO_LARGE = re.compile(r"-?\d{2,9}(?:\.\d{1,9})?\s?×\s?10")  # 38.4×10^{4} for 3.84×10^{5}
# 2:3, 3比2, 两倍, 2/3: what 2:3 may be compared with
_RATIO = re.compile("[:：∶比倍/]|frac")


def same_value(said: str, wanted: str, question: Question) -> bool | None:
    """Whether two cleaned texts give the same value.

    Returns:
        None if one of them can't be read as the other's type, or if it is uncertain.
    """
    if squeezed(said) == squeezed(wanted) != "":
        return True
    nothing = is_nothing(said), is_nothing(wanted)
    if any(nothing):
        other = wanted if nothing[0] else said
        words = quantity_of(other) is None and not re.search(r"\d", other)
        return all(nothing) or (None if words else False)
    for compare in (_circled, _quantities, _regions, _points, _equations, _lists):
        found = compare(said, wanted, question)
        if found is not None:
            return found
    return None


def _circled(said: str, wanted: str, question: Question) -> bool | None:
    numbers = circled_of(wanted)
    if numbers is None:
        return None
    if not CIRCLED.search(said):
        said = _BRACKETED.sub(lambda found: chr(0x245F + int(found[1])), said)
    found = circled_of(_ENGLISH.sub(" ", said))
    if found is not None and _ORDER_ASKED.search(question.raw):
        return CIRCLED.findall(said) == CIRCLED.findall(wanted)
    return None if found is None else numbers == found


def _quantities(said: str, wanted: str, question: Question) -> bool | None:
    said = unnamed(said)
    if said.endswith("%") and re.search(r"_{2,}\s?%", question.text):  # ____%
        said = said[:-1]
    answer, target = quantity_of(said), quantity_of(wanted)
    if ":" in said + wanted and (
        not _RATIO.search(wanted + question.raw) or _TIME_ASKED.search(question.raw)
    ):
        return None
    if answer is None or target is None:
        return None
    same = same_measure(answer, target, question.rounding, question.unit)
    if same and "科学" in question.raw and _TOO_LARGE.match(said):
        return False
    unfinished = same and question.is_unfinished(squeezed(said), squeezed(wanted))
    return None if unfinished else same


def _regions(said: str, wanted: str, question: Question) -> bool | None:
    point = _ROUND.match(wanted) and not RANGE_ASKED.search(question.raw)
    answer, target = region_of(said), region_of(wanted)
    if target is None or point:
        return None
    if answer is None:  # one number, or a list of them, is not a range
        return False if is_number(said) or _BRACES.match(said) else None
    if answer.name and target.name and answer.name != target.name:
        return None  # y<0, but x is asked for
    same = same_region(answer, target)
    in_one_unit = ("°" in said) == ("°" in wanted)
    return same or (False if same is False and in_one_unit else None)  # 0<α<π/2, 0°<α<90°


def _points(said: str, wanted: str, question: Question) -> bool | None:
    if _BRACES.match(said) and _BRACES.match(wanted):
        said, wanted = said[1:-1], wanted[1:-1]
    answer, target = points_of(said), points_of(wanted)
    if target is None or "∪" in wanted:
        return None
    if answer is None:
        return False if is_number(said) else None
    return same_points(answer, target)


def _equations(said: str, wanted: str, question: Question) -> bool | None:
    answer, target = equations_of(said), equations_of(wanted)
    if target is None:
        return None
    values = values_of(target)
    if answer is None:
        return _as_values(said, values, question) if values else None
    found = values_of(answer)
    if values and found and found.keys() < values.keys():
        return False  # x=3 for x=3, y=-2
    if len(target) == 1 and _unknowns(target) < _unknowns(answer):
        return False  # x²/a²+y²/b²=1 for x²/4+y²/3=1
    same = same_equations(answer, target)
    if same and _SET_UP.search(question.raw):
        # The equation itself is asked for: equal solutions are not enough.
        return same_items(answer, target, lambda one, other: same_items(one, other, equal)) or None
    if same and values and not found:
        solved = all(each.number is not None for several in values.values() for each in several)
        return not solved  # 2x=12 is not yet a solution
    return same


def _unknowns(equations: Sequence[Equation]) -> frozenset[str]:
    return frozenset[str]().union(*(side.names for equation in equations for side in equation))


def _as_values(said: str, values: Values, question: Question) -> bool | None:
    """(3,-2), or 3 and -2, for x=3, y=-2."""
    points = points_of(said) or ()
    found = [each.text for each in points[0].coordinates] if len(points) == 1 else members(said)
    listed = [each.text for several in values.values() for each in several]
    return _same_lists(found, listed, question, ordered=len(values) > 1)


def _lists(said: str, wanted: str, question: Question) -> bool | None:
    if equations_of(wanted) or points_of(wanted) or region_of(wanted):
        return None  # x=1,y=4或x=3,y=2 for x=1,y=2或x=3,y=4
    names = [found[0] for found in map(_VALUE_NAME.match, members(said)) if found]
    if len(names) == len(members(said)) > 1 and names != sorted(names):
        return None  # y=2,x=3 for 3,2
    found, values = _signed_members(said), _signed_members(wanted)
    if len(values) == 1 and not (len(found) > 1 and _has_or(said)):
        return None
    either = any(_has_or(each) or "±" in each for each in (said, wanted))
    return _same_lists(found, values, question, ordered=not either and "❴" not in wanted)


def _same_lists(
    found: Sequence[str], wanted: Sequence[str], question: Question, *, ordered: bool
) -> bool | None:
    """Whether two lists contain the same values; None if any of them can't be read."""
    if len(found) != len(wanted):
        readable = all(quantity_of(each) for each in (*found, *wanted))
        return False if readable and not ordered else None

    def same(one: str, other: str) -> bool | None:
        return True if squeezed(one) == squeezed(other) else _quantities(one, other, question)

    if ordered:
        return all_of([same(*pair) for pair in zip(found, wanted, strict=True)])
    return same_items(found, wanted, same)
