"""Response: its final statement, cleaned once, and the texts in it that may be the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from lmms_rpts.grading.equations import (
    Equation,
    Point,
    Values,
    parse_equations,
    parse_points,
    values_of,
)
from lmms_rpts.grading.measures import Quantity, parse_quantity, same_quantity
from lmms_rpts.grading.notation import clean, pieces, signed
from lmms_rpts.grading.regions import Region, parse_region
from lmms_rpts.grading.statement import Statement, find_statement
from lmms_rpts.grading.words import CIRCLED, circled_of, is_nothing, squeezed

# Values of a short text

_NAME = re.compile(  # ∠ABC=70°, S_{阴影}=9π: the name before a value
    r"^(?:[\u4e00-\u9fff∠△⊙]{0,8}\s?)?[A-Za-zα-ω∠][A-Za-z0-9_{}'∠:]{0,12}\s?[=≈]\s?(?=\S)"
)
_TWICE = re.compile(r"([^()]{1,40}?)\s?\(([^()]{1,40})\)")  # 1/2 (0.5)
_SPELLED_SIGNS = (  # x 不小于 4
    (re.compile(r"不小于|不少于|不低于|大于(?:或者?)?等于|至少[为是]?"), "≥"),
    (re.compile(r"不大于|不超过|不多于|不高于|小于(?:或者?)?等于|至多[为是]?"), "≤"),
    (re.compile(r"大于|超过|多于|高于"), ">"),
    (re.compile(r"小于|少于|低于"), "<"),
    (re.compile(r"不等于"), "≠"),
)
_CLOCK = re.compile(  # 8:30, 下午3点, 8时30分, 8点半
    r"^(上午|下午|凌晨|晚上|早上)?\s?([01]?\d|2[0-4])\s?(?::|时|点)\s?(?:([0-5]\d|(?<![:])\d)分?|(半))?$"
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
        found = _NAME.match(self.text)
        return found[0] if found else ""

    @cached_property
    def unnamed(self) -> Reading:
        """Without the name before its value: ``∠ABC=70°`` is 70°, ``1/2 (0.5)`` is 1/2."""
        text = self.text[len(self.name) :]
        twice = _TWICE.fullmatch(text)
        if twice:
            one, other = map(parse_quantity, twice.groups())
            text = twice[1] if one and other and same_quantity(one, other) else text
        return self if text == self.text else Reading(text)

    @cached_property
    def quantity(self) -> Quantity | None:
        return parse_quantity(self.text)

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
    def minutes(self) -> int | None:
        """The minutes of a time of day since midnight."""
        found = _CLOCK.match(self.text)
        if found is None:
            return None
        hour = int(found[2]) + (12 if found[1] in ("下午", "晚上") and int(found[2]) < 12 else 0)
        return 60 * hour + (30 if found[4] else int(found[3] or 0))

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


_EDGES = ' \t\n.。,;:*_#、“”"'
_LEAD = re.compile(  # 所以 x=2, "so x=2"
    r"^(?:所以|因此|因而|从而|综上(?:所述)?|最终|最后|故|即|则|得|∴|又|且|应?填|so|hence|thus|therefore)[,:\s]{0,3}",
    re.IGNORECASE,
)
_TRAIL = re.compile(  # x=6是原方程的解, "... is the answer"
    r"\s?(?:[就都]?[是为])?(?:原|该|此|这个)?(?:分式)?方程(?:组)?的(?:[解根])$|(?:即为|就是)?所求$"
    r"|\s(?:is|are)\s(?:the\s)?(?:correct|right|final)?\s?(?:answers?)?$|\s?\(answer\)$|(?:为|是)正确答案$"
)
_BULLET = re.compile(r"^\s{0,8}[-•+*>]\s{1,3}(?=\S)")  # "- 26", "> 26"
# texts without these have neither lead nor trail
_WORDY = re.compile(r"[\u4e00-\u9fff∴]|[a-z]{2}|^\s{0,8}[-•+*>]\s")


def bare(text: str) -> str:
    """A text without punctuation and markup around it."""
    if not _WORDY.search(text):
        return text.strip(_EDGES)
    text = _BULLET.sub("", text)
    return _TRAIL.sub("", _LEAD.sub("", text.strip(_EDGES))).strip(_EDGES)


# Candidates of a response

_LONGEST = 600
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_VERB = re.compile(  # what gives a value: "面积为", "共有", "答:", "the area is"
    r"(?:应该?是|[只就仅]有|约为|等于|得到|可得|化简得|解得|分别[是为]|表示[成为]|[是为得即共有了]|[\u4e00-\u9fff]:|[a-z]{3}:)"
    r"(?!否|不是|什么)|(?<![A-Za-z])(?:is|are|equals?|be|gives?|get|obtain|has|have|measures?)(?![A-Za-z])"
)
_EQUALS = re.compile(r"(?<![<>≤≥≠])[=≡]")  # the last one of a chain gives the value
# the last formula of a sentence
_DOLLARS = re.compile(r"\$\$?([^$]{1,300})\$\$?|\\\(([^\n]{1,300}?)\\\)")
# …,所以…; "…, so …"; ⇒
_CLAUSE = re.compile(r"[,;。]\s?(?=[\u4e00-\u9fff∴]|\b(?:so|hence|thus|then|therefore)\b)|\n|⇒|∴")
_SPELLED_POINT = re.compile(  # 横坐标为-2,纵坐标为5
    r"横坐标[是为:=]?\s?([^,。;\u4e00-\u9fff]{1,40})[,且和\s]{0,3}纵坐标[是为:=]?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
# 1小时30分, which a verb or a comma must not split
_COMPOUND = re.compile(
    r"(?<![\d度°])(?:\d{1,9}(?:\.\d{1,9})?\s?(?:小时|分钟?|秒|天|厘米|分米|千米|米|元|角|千克|克|吨|时)\s?){2,4}"
)
_ASIDE = re.compile(  # 4n+1(n为正整数), y=60-2x(0<x<30)
    r"\s{0,3}\([^()]{0,60}[\u4e00-\u9fff<>≤≥≠∈][^()]{0,60}\)\s{0,3}$"
)
_MATHS = re.compile(r"[^\u4e00-\u9fff\n。、“”\"?]{1,400}")  # a run without Chinese words
_WORDS = re.compile(r"[A-Za-z]{3,}")
# 当y<0时, x<-1或x>3
WHEN = re.compile(r"(?:当|若|如果)[^,。;\n当若]{1,60}时,?|(?<![a-z])when\s[^,.;\n]{1,60},")
_AFTERWHEN = re.compile(r"(?<![A-Za-z])(?:when|if|for)(?![A-Za-z])")  # y < 0 when x < -1
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
_ITEM = re.compile(r"^[ \t]{0,4}(?:[-•*+]|[1-6][.、)])[ \t]{1,3}|[或。；;，]?\s{0,3}$")
_FUNCTION_WORDS = frozenset({"sin", "cos", "tan", "cot", "log", "sqrt", "frac", "max", "min"})


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
        return clean(self.statement.boxed) if self.statement.boxed else ""

    @cached_property
    def clause(self) -> str:
        """The last clause of the final statement."""
        return last_clause(self.text)

    @cached_property
    def conclusion(self) -> str:
        """The last clause if it draws the conclusion, else the whole statement."""
        return self.clause if self.concludes else self.text

    @cached_property
    def concludes(self) -> bool:
        """Whether the last clause is marked as the conclusion."""
        return _CONCLUDES.match(self.clause) is not None

    def values(self, *, rounded: bool = False) -> Iterator[Reading]:
        """The possible values of the statement, the likeliest first, each once.

        In "1/3≈0.33" the exact value comes first, unless a rounded one is asked for.
        """
        seen: set[str] = set()
        for text in self._values(rounded):
            if text and text not in seen:
                seen.add(text)
                yield Reading(text)

    def _values(self, rounded: bool) -> Iterator[str]:
        raw = self.statement.text
        if self.boxed:
            yield from _of_text(self.boxed, rounded)
        # "**答案：12**": the first two asterisks were removed with the mark.
        marked = raw if raw.count("**") % 2 == 0 else f"**{raw}"
        bold = _BOLD.findall(marked[:_LONGEST]) if "**" in raw else []
        if len(bold) == 1 and any(character.isalnum() for character in bold[0]):
            yield from _of_text(clean(bold[0]), rounded)
        text = self.text[-_LONGEST:]
        yield from (each[0] for each in reversed(list(_COMPOUND.finditer(text))))
        yield from _of_text(text, rounded)
        formulas = _DOLLARS.findall(raw[-_LONGEST:])
        if formulas:
            yield from _of_text(clean(formulas[-1][0] or formulas[-1][1]), rounded)

    @cached_property
    def relations(self) -> list[Reading]:
        """As ``values``, for texts that contain signs of equality or order themselves."""
        found = [f"({point[1]},{point[2]})" for point in _SPELLED_POINT.finditer(self.text)]
        lines = [] if self.statement.marked else self.statement.block.split("\n")
        if 1 < len(lines) < 5 and all("=" in line for line in lines):  # x=1 above y=-1
            found.append(bare(clean(",".join(lines))))
        for text in filter(None, (self.boxed, self.text[-_LONGEST:])):
            said = WHEN.sub("", with_signs(text))
            clause = last_clause(said)
            run = _RELATION_RUN.search(said)
            last = "" if run and re.search("[或且]", run[0]) else _last_maths(said, unit=False)
            for each in (
                *_AFTERWHEN.split(said)[1:][-1:],
                _after_last(_VERB, said), _after_last(_VERB, clause),
                clause, run[0] if run else "", said, last,
            ):  # fmt: skip
                found += [bare(each), bare(_ASIDE.sub("", each))]
        return [Reading(each) for each in dict.fromkeys(found) if each]


def read_response(response: str) -> Response:
    """The final statement of a response."""
    found = find_statement(response)
    listed = None if found.marked else _LISTED_BELOW.search(found.spoken[-_LONGEST:])
    if listed is not None:
        values = [_ITEM.sub("", line).strip(_EDGES) for line in listed["items"].split("\n")]
        text = f"{listed['lead']}{'，'.join(filter(None, values))}"
        found = replace(found, text=text, block=text)
    return Response(found)


def part_of(text: str) -> Response:
    """A piece of an answer, taken as a statement."""
    return Response(Statement(text, True, "", text, text, revised=False))


def last_clause(text: str) -> str:
    """The last clause of a cleaned sentence."""
    return _CLAUSE.split(text)[-1]


def value_tail(clause: str) -> str:
    """The value of a cleaned clause: the text after its last verb and equals sign."""
    return _after_last(_EQUALS, _after_last(_VERB, clause))


def _of_text(text: str, rounded: bool) -> Iterator[str]:
    clause = last_clause(text)
    for whole in dict.fromkeys((clause, text)):
        for tail in dict.fromkeys((_after_last(_VERB, whole), whole)):
            for each in (*_exact_and_rounded(_after_last(_EQUALS, tail), rounded), tail):
                yield bare(each)
                if each.endswith(")"):
                    yield bare(_ASIDE.sub("", each))
    yield from _exact_and_rounded(bare(_after_last(_EQUALS, _last_maths(text))), rounded)


def _exact_and_rounded(text: str, rounded: bool) -> list[str]:
    exact, about, value = text.rpartition("≈")
    if not about or not bare(exact) or not bare(value):
        return [text]
    return [value] if rounded else [bare(exact), bare(value)]


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    found = None
    for found in pattern.finditer(text):  # noqa: B007
        pass
    tail = text[found.end() :] if found else text
    return tail if tail is text or bare(tail) else text


def _last_maths(text: str, *, unit: bool = True) -> str:
    """The last run without Chinese words that holds a digit or a letter, and what follows it."""
    for found in reversed(list(_MATHS.finditer(text))[-6:]):
        words = set(_WORDS.findall(found[0])) - _FUNCTION_WORDS
        if not words and re.search(r"[0-9A-Za-zα-ω∅∞]", found[0]):
            behind = re.match(r"[\u4e00-\u9fff/]{0,8}", text[found.end() : found.end() + 8])
            return bare(found[0] + (behind[0] if behind and unit else ""))
    return ""
