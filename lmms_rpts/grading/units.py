"""Units: their names and factors, and the unit at a place of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lmms_rpts.grading.numbers import CHINESE_SCALES
from lmms_rpts.grading.vocabulary import VOCABULARY, rows


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement, or a counter.

    Attributes:
        name: its usual short name, such as ``cm``, ``km/h`` or ``个``.
        dimension: what it measures: ``length``, ``money/mass``; ``count:个`` for a counter.
        factor: its size in the dimension's base unit (metre, square metre, cubic metre, kilogram,
            second, month, degree, yuan; for a compound, the quotient).
    """

    name: str
    dimension: str
    factor: Fraction


# What else a unit of this name may measure: dimension and factor.
_ALSO = {
    "分": (("time", Fraction(60)), ("money", Fraction(1, 100)), ("angle", Fraction(1, 60))),
    "秒": (("angle", Fraction(1, 3600)),),
    "度": (("temperature", Fraction(1)), ("energy", Fraction(3_600_000))),
    "块": (("money", Fraction(1)),),
    "毛": (("money", Fraction(1, 10)),),
}


def _plurals(name: str) -> tuple[str, ...]:
    """An English name with its plural, and in both spellings of -meter and -liter."""
    english = len(name) > 3 and name.replace(" ", "").isalpha() and name.isascii()
    if not english or name.endswith("s") or name in ("feet", "yuan", "jiao"):
        return (name,)
    names = (name, name.replace("meter", "metre").replace("liter", "litre"))
    ends = ("",) if name.startswith(("degree ", "degrees ")) else ("", "s")
    return tuple(each + end for each in names for end in ends)


def _read(dimension: str) -> Iterator[tuple[Unit, list[str]]]:
    for factor, *words in rows(VOCABULARY["units"][dimension]):
        names = [word.replace("+", " ") for word in words]
        aliases = [alias for name in names for alias in _plurals(name)]
        yield Unit(names[0], dimension, Fraction(factor)), aliases


def _power(unit: Unit, exponent: int, names: list[str]) -> tuple[Unit, list[str]]:
    """The square or cube of a length with its names: cm^{2}, cm2, 平方厘米, square cm."""
    noun, chinese = {2: ("area", "平方"), 3: ("volume", "立方")}[exponent]
    english = ("square ", "sq ", "sq. ") if exponent == 2 else ("cubic ", "cu ", "cu. ")
    aliases = []
    for name in names:
        aliases += [f"{name}^{{{exponent}}}", f"{name} ^{{{exponent}}}"]
        aliases += [word + name for word in (english if name.isascii() else (chinese,))]
        if name.isascii() and len(name) < 3:
            aliases.append(f"{name}{exponent}")
    return Unit(f"{unit.name}^{{{exponent}}}", noun, unit.factor**exponent), aliases


def _table() -> dict[str, Unit]:
    entries = list(_read("length"))
    entries += [_power(unit, exponent, names) for unit, names in entries for exponent in (2, 3)]
    for dimension in VOCABULARY["units"]:
        entries += _read(dimension) if dimension != "length" else ()
    for name in VOCABULARY["counters"]:
        entries.append((Unit(name, f"count:{name}", Fraction(1)), [name]))
    table: dict[str, Unit] = {}
    for unit, aliases in entries:
        for alias in aliases:
            # 度 and 毛 measure more than their namesakes: they keep their own names.
            table[alias] = Unit(alias, unit.dimension, unit.factor) if alias in _ALSO else unit
    return table


UNITS = _table()
"""Every unit by each of its names."""
_FOLDED = {name.lower(): unit for name, unit in UNITS.items() if name.isascii() and len(name) > 1}
LAST_CHARACTERS = {name[-1] for name in UNITS} | {name[-1].upper() for name in UNITS}
LONGEST_NAME = max(map(len, UNITS))


def _unit_named(name: str) -> Unit | None:
    """The simple unit of exactly this name; case is ignored, but not in ``CM``.

    Two capitals are more often a segment's name than a unit.
    """
    if (unit := UNITS.get(name)) is not None:
        return unit
    segment = name.isupper() and sum(map(str.isalpha, name)) <= 2
    return None if segment or len(name) < 2 else _FOLDED.get(name.lower())


def quotient(above: Unit, below: Unit) -> Unit:
    """The quotient of two units, such as ``元/kg``."""
    below = UNITS["分钟"] if below.name == "分" else below
    dimension = f"{above.dimension}/{below.dimension}"
    return Unit(f"{above.name}/{below.name}", dimension, above.factor / below.factor)


def simple_unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """The longest simple unit that begins at this place of a text, and where it ends."""
    for length in range(min(LONGEST_NAME, len(text) - at), 0, -1):
        unit = _unit_named(text[at : at + length])
        if unit is not None:
            return unit, at + length
    return None, at


# km/h, 千米每小时, "km per hour", "km an hour"
RATE = re.compile(r"\s?(?:/\s?每?|每|(?:per|an?)\s)\s?")
# Quotients of two letters that are known as units; others, such as m/t, belong to a formula.
_LETTER_RATES = frozenset({"m/s", "L/s", "L/h", "t/h", "g/L"})


def rated_unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """The longest unit at this place, possibly a quotient; and where it ends."""
    unit, end = simple_unit_at(text, at)
    rate = RATE.match(text, end) if unit else None
    below, behind = simple_unit_at(text, rate.end()) if rate else (None, end)
    if unit is None or below is None:
        return unit, end
    both = quotient(unit, below)
    letters = len(both.name) == 3 and both.name.isascii() and both.name not in _LETTER_RATES
    return (unit, end) if letters else (both, behind)


def unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """As ``rated_unit_at``, possibly with a scale: 万元."""
    mark = next((mark for mark in ("万亿", "亿", "万") if text.startswith(mark, at)), "")
    unit, end = rated_unit_at(text, at + len(mark))
    for scale in mark if unit else "":
        unit = unit and Unit(scale + unit.name, unit.dimension, unit.factor * CHINESE_SCALES[scale])
    return (unit, end) if unit else (None, at)


def ratio(one: Unit, other: Unit) -> Fraction | None:
    """The size of one unit in the other; None if they measure different things.

    Counters (个, 人, 只 ...) are all equal. 分 is a mark, a minute or a cent, and 度 an angle or a
    temperature: whichever fits the other unit.
    """
    for dimension, factor in _readings(one):
        for wanted, divisor in _readings(other):
            if dimension == wanted:
                return factor / divisor
    return None


def _readings(unit: Unit) -> tuple[tuple[str, Fraction], ...]:
    main = (re.sub(r"count:[^/]{1,9}", "count", unit.dimension), unit.factor)
    return (main, *_ALSO.get(unit.name, ()))
