"""Units: their names and factors, and the unit at a place of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lmms_rpts.grading.numbers import CHINESE_SCALES

# Each entry: its size in the dimension's base unit, its name, its other names. An English
# name of four letters or more has a plural in -s as well; "+" stands for a space.
_LENGTHS = """1000 km 千米 公里 kilometer; 1 m 米 公尺 meter; 1/10 dm 分米 decimeter
    ; 1/100 cm 厘米 公分 centimeter; 1/1000 mm 毫米 millimeter; 1/1000000 μm 微米 um µm micrometer
    ; 1/1000000000 nm 纳米 nanometer; 500 里 华里; 10/3 丈; 1/3 尺 市尺; 1/30 寸 市寸
    ; 1609344/1000 mile 英里; 3048/10000 ft 英尺 foot feet; 254/10000 inch 英寸 inches
    ; 9144/10000 yard 码; 1852 海里 nautical+mile"""
_OTHERS = {
    "length:单位": "1 单位 个单位 单位长度 个单位长度 长度单位 个长度单位 unit unit+length",
    "area": "1 m^{2} 平米; 10000 公顷 hectare hm^{2} ha; 100 公亩; 2000/3 亩 市亩",
    "area:单位": "1 平方单位 个平方单位 单位面积 个单位面积 面积单位 square+unit sq+unit",
    "volume": "1/1000 L 升 公升 liter; 1/1000000 mL 毫升 ml milliliter",
    "volume:单位": "1 立方单位 个立方单位 单位体积 个单位体积 cubic+unit",
    "mass": """1000 t 吨 公吨 ton tonne; 1 kg KG 千克 公斤 kilogram; 1/1000 g 克 gram
        ; 1/1000000 mg 毫克 milligram; 1/1000000000 μg 微克 ug µg microgram; 1/2 斤 市斤; 1/20 两
        ; 45359237/100000000 磅 pound""",
    "time": """1 s 秒 秒钟 sec second; 1/1000 毫秒 millisecond; 60 min 分钟 mins minute
        ; 900 刻 刻钟 个刻钟; 3600 h 小时 个小时 时 钟头 个钟头 hr hrs hour; 86400 天 日 day
        ; 604800 周 星期 个星期 礼拜 个礼拜 week""",
    "calendar": "1 月 个月 月份 month; 3 季度 个季度; 12 年 year; 1200 世纪 个世纪",
    "angle": "1 ° 度 degree deg",
    "angle:弧度": "1 rad 弧度 radian",
    "temperature": "1 °C 摄氏度 °+C degrees+celsius degree+celsius",
    "temperature:F": "1 °F 华氏度 °+F degrees+fahrenheit degree+fahrenheit",
    "money": """1 元 元钱 块钱 人民币 元人民币 yuan rmb cny; 1/10 角 角钱 毛 毛钱 jiao
        ; 1/100 分钱""",
    "money:USD": "1 美元 dollar usd; 1/100 cent 美分",
    "money:EUR": "1 欧元 euro",
    "money:GBP": "1 英镑",
    "money:HKD": "1 港元 港币",
    "money:JPY": "1 日元",
    "energy": "1 J 焦耳 焦 joule; 1000 kJ 千焦; 3600000 kWh 千瓦时 kW×h 千瓦×时",
    "power": "1 瓦 瓦特 watt; 1000 kW 千瓦 kilowatt",
    "force": "1 牛 牛顿 newton",
    "pressure": "1 Pa 帕 帕斯卡; 1000 kPa 千帕",
    "current": "1 安 安培 ampere; 1/1000 mA 毫安",
    "voltage": "1 伏 伏特 volt",
    "resistance": "1 Ω 欧 欧姆 ohm",
    "amount": "1 mol",
    "heat": "1 K",
    "frequency": "1 Hz 赫兹 赫 hertz",
    "loudness": "1 dB 分贝 decibel",
    "length/time^2": "1 m/s^{2} 米/秒^{2} 米/平方秒 米每二次方秒 米/二次方秒",
    "count:分": "1 分 mark",
}
_COUNTERS = (
    "个人名位只件条张把支枝本辆台匹头棵株朵颗粒块片根双对副套组队排行列层页次遍回种类箱盒"
    "袋包瓶桶杯碗盆盘筐篮份户家间座所栋幢艘架道题字级阶圈步盏面枚串束节段句首篇扇幅封项局"
    "场班车趟罐听壶滴顶尾群岁点倍门口"
)


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


_ALSO = {
    "分": (("time", Fraction(60)), ("money", Fraction(1, 100)), ("angle", Fraction(1, 60))),
    "秒": (("angle", Fraction(1, 3600)),),
    "度": (("temperature", Fraction(1)), ("energy", Fraction(3_600_000))),
    "块": (("money", Fraction(1)),),
    "毛": (("money", Fraction(1, 10)),),
}
"""What else a unit of this name may measure: dimension and factor."""


def _plurals(name: str) -> tuple[str, ...]:
    """An English name with its plural, and in both spellings of -meter and -liter."""
    english = len(name) > 3 and name.replace(" ", "").isalpha() and name.isascii()
    if not english or name.endswith("s") or name in ("feet", "yuan", "jiao"):
        return (name,)
    names = (name, name.replace("meter", "metre").replace("liter", "litre"))
    ends = ("",) if name.startswith(("degree ", "degrees ")) else ("", "s")
    return tuple(each + end for each in names for end in ends)


def _read(dimension: str, entries: str) -> Iterator[tuple[Unit, list[str]]]:
    for entry in entries.split(";"):
        factor, *words = entry.split()
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
    entries = list(_read("length", _LENGTHS))
    entries += [_power(unit, exponent, names) for unit, names in entries for exponent in (2, 3)]
    for dimension, listed in _OTHERS.items():
        entries += _read(dimension, listed)
    for name in _COUNTERS:
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
