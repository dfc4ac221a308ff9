"""Parser of single inequalities and intervals: x>2, 1<x≤3, x≠0, (1,2], x∈R."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.tasks.cmmath.grading.conditions import bare_name
from lmms_rpts.tasks.cmmath.grading.expressions import Expression, parse_expression
from lmms_rpts.tasks.cmmath.grading.lists import Joiner, pieces
from lmms_rpts.tasks.cmmath.grading.unions import (
    LINE,
    Interval,
    Intervals,
    all_but,
    is_empty,
    point,
)

RELATION = re.compile("[<>≤≥≠=∈]")
_REALS = re.compile(
    r"(?:(?P<name>[a-zα-ω])\s?(?:可以?)?[为取是]?)?(?:全体|一切|任意|所有|任何)实数"
    r"|(?:all|any)\sreal\snumbers?|[Rℝ]"
)
_FLIPPED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠", "=": "="}
_VARIABLES = "xyztuvw"

Kind = Literal["interval", "inequality", "unequal", "equal"]


@dataclass(frozen=True, slots=True)
class Part:
    """A region as one member of a list, how it is written, and what joins it to those before."""

    name: str | None
    intervals: Intervals
    kind: Kind
    joined: frozenset[Joiner] = frozenset()
    degrees: bool = False


def reals(text: str) -> Part | None:
    found = _REALS.fullmatch(text)
    return Part(found["name"], LINE, "inequality") if found else None


def bracketed(text: str) -> Part | None:
    """(1,2], with one comma outside of inner brackets."""
    if text[0] not in "([" or text[-1] not in ")]" or text.count(",") < 1:
        return None
    listed = pieces(text[1:-1], thousands=False)
    if listed is None or len(listed) != 2 or listed[1].joined != {"list"}:
        return None
    low, high = (piece.text for piece in listed)
    return _between(None, low, high, (text[0] == "[", text[-1] == "]"), "interval")


def inequality(text: str) -> Part | None:
    """x>2, 2<x, x≠1; without a name >2."""
    sides = [side.strip() for side in RELATION.split(text)]
    if len(sides) != 2:
        return None
    relation = RELATION.findall(text)[0]
    left, right = sides
    one, other = variable(left), variable(right)
    if other is not None and (one is None or _rank(other) < _rank(one)) and left:
        return _bounded(other, _FLIPPED[relation], left)
    return None if one is None and left else _bounded(one, relation, right)


def _bounded(name: str | None, relation: str, text: str) -> Part | None:
    if relation in "<≤":
        return _between(name, "-∞", text, (False, relation == "≤"))
    if relation in ">≥":
        return _between(name, text, "+∞", (relation == "≥", False))
    end, degrees = _end(text)
    if end is None or name in end.names or (name is None and relation == "="):
        return None
    if relation == "=":
        return Part(name, point(end), "equal", degrees=degrees)
    return Part(name, all_but(end), "unequal", degrees=degrees)


def chain(text: str) -> Part | None:
    """1<x≤2, or 2≥x>1."""
    low, middle, high = (side.strip() for side in RELATION.split(text))
    signs = RELATION.findall(text)
    if set(signs) <= {">", "≥"}:
        low, high = high, low
        signs = [_FLIPPED[sign] for sign in reversed(signs)]
    name = variable(middle)
    if name is None or not set(signs) <= {"<", "≤"}:
        return None
    return _between(name, low, high, (signs[0] == "≤", signs[1] == "≤"))


def _between(
    name: str | None, low: str, high: str, holds: tuple[bool, bool], kind: Kind = "inequality"
) -> Part | None:
    """What lies between two ends; None where they are none, or nothing lies between them."""
    ends: list[Expression | None] = []
    degrees = False
    for text, infinite, held in ((low, ("-∞",), holds[0]), (high, ("+∞", "∞"), holds[1])):
        if text.replace(" ", "") in infinite:
            if held:
                return None
            ends.append(None)
            continue
        end, in_degrees = _end(text)
        if end is None or name in end.names:
            return None
        ends.append(end)
        degrees = degrees or in_degrees
    interval = Interval(ends[0], ends[1], *holds)
    return None if is_empty(interval) else Part(name, (interval,), kind, degrees=degrees)


def _end(text: str) -> tuple[Expression | None, bool]:
    """An end, and whether it is in degrees; None for what has no value."""
    found, degrees = parse_expression(text), False
    if found is None and text.endswith("°"):
        found, degrees = parse_expression(text[:-1]), True
    if found is not None and found.number is None and not found.names:
        found = None
    return found, degrees


def variable(text: str) -> str | None:
    """The name that a text is; None where it is more, or a number."""
    found = parse_expression(text)
    return None if found is None else bare_name(found)


def _rank(name: str) -> tuple[bool, int, str]:
    """Which of two names is the variable: x before others, e after all."""
    at = _VARIABLES.find(name[0])
    return name == "e", at if at >= 0 else len(_VARIABLES), name
