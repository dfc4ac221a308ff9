"""Units: their names and factors, the amount before a unit, and the unit that a question asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lmms_rpts.grading.numbers import (
    CHINESE_DIGITS,
    CHINESE_SCALES,
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    chinese_number,
)

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
_COUNTED = """
个 人 学生 同学 三角形 直角三角形 等腰三角形 四边形 平行四边形 长方形 矩形 正方形 小正方形 菱形 梯形
 圆 圆圈 角 直角 锐角 钝角 点 交点 零点 公共点 面 球 小球 正方体 小正方体 立方体 小立方体 小方块
 苹果 家庭 元素 实数根 根 解; 名 人 学生 同学 老师 男生 女生 工人 员工
; 位 同学 学生 老师; 条 线段 直线 射线 棱 边 对角线 对称轴 鱼 公共边
; 种 情况 方法 可能 走法 选法 结果 不同的情况 不同的方法; 只 鸡 兔 鸟 鸭 羊 小动物 动物
; 棵 树; 辆 车 汽车; 本 书; 张 纸 卡片 桌子; 枝 花 铅笔; 支 铅笔 笔; 根 小棒 火柴棒 木棒 火柴
; 块 糖 砖; 朵 花; 对 全等三角形 相似三角形 对顶角; 户 家庭 人家; 件 产品 商品"""


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
_ANGLES = {
    "'": Unit("'", "angle", Fraction(1, 60)), '"': Unit('"', "angle", Fraction(1, 3600)),
    "''": Unit('"', "angle", Fraction(1, 3600)), "″": Unit('"', "angle", Fraction(1, 3600)),
}  # fmt: skip


def _plurals(name: str) -> tuple[str, ...]:
    """An English name with its plural, and in both spellings of -meter and -liter."""
    if len(name) < 4 or not name.replace(" ", "").isalpha() or not name.isascii():
        return (name,)
    if name.endswith("s") or name in ("feet", "yuan", "jiao"):
        return (name,)
    names = (name, name.replace("meter", "metre").replace("liter", "litre"))
    if name.startswith(("degree ", "degrees ")):
        return names
    return tuple(each + end for each in names for end in ("", "s"))


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
    for line in _COUNTED.split(";"):
        name, *nouns = line.split()
        aliases = [name + noun for noun in nouns]
        entries.append((Unit(name, f"count:{name}", Fraction(1)), aliases))
    table: dict[str, Unit] = {}
    for unit, aliases in entries:
        for alias in aliases:
            # 度 and 毛 measure more than their namesakes: they keep their own names.
            table[alias] = Unit(alias, unit.dimension, unit.factor) if alias in _ALSO else unit
    return table


UNITS = _table()
"""Every unit by each of its names."""
_FOLDED = {name.lower(): unit for name, unit in UNITS.items() if name.isascii() and len(name) > 1}
_LAST_CHARACTERS = {name[-1] for name in UNITS} | {name[-1].upper() for name in UNITS}
_LONGEST_NAME = max(map(len, UNITS))


def _unit_named(name: str) -> Unit | None:
    """The simple unit of exactly this name; case is ignored, but not in ``CM``.

    Two capitals are more often a segment's name than a unit.
    """
    if (unit := UNITS.get(name)) is not None:
        return unit
    segment = name.isupper() and sum(map(str.isalpha, name)) <= 2
    return None if segment or len(name) < 2 else _FOLDED.get(name.lower())


def _quotient(above: Unit, below: Unit) -> Unit:
    """The quotient of two units, such as ``元/kg``."""
    below = UNITS["分钟"] if below.name == "分" else below
    dimension = f"{above.dimension}/{below.dimension}"
    return Unit(f"{above.name}/{below.name}", dimension, above.factor / below.factor)


def _simple_unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """The longest simple unit that begins at this place of a text, and where it ends."""
    for length in range(min(_LONGEST_NAME, len(text) - at), 0, -1):
        unit = _unit_named(text[at : at + length])
        if unit is not None:
            return unit, at + length
    return None, at


_RATE = re.compile(r"\s?(?:/\s?每?|每|per\s)\s?")  # km/h, 千米每小时, "km per hour"


def unit_at(text: str, at: int) -> tuple[Unit | None, int]:
    """The longest unit at this place, possibly a quotient or with a scale; and where it ends."""
    mark = next((mark for mark in ("万亿", "亿", "万") if text.startswith(mark, at)), "")
    unit, end = _simple_unit_at(text, at + len(mark))
    if unit is None:
        return None, at
    for scale in mark:  # 万元
        unit = Unit(scale + unit.name, unit.dimension, unit.factor * CHINESE_SCALES[scale])
    rate = _RATE.match(text, end)
    below, behind = _simple_unit_at(text, rate.end()) if rate else (None, end)
    return (unit, end) if below is None else (_quotient(unit, below), behind)


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


# Amounts

ENDING = " .。,，;；、\n~"
"""Characters that may follow the unit without being a part of it."""
_LAST = tuple("})]|'!")
_TAIL = 3 * _LONGEST_NAME
_CHINESE = re.compile("[\u4e00-\u9fff]")
_CHINESE_NUMERALS = frozenset({*CHINESE_DIGITS, *CHINESE_SCALES, *"点分之又半负"})
_IN_AMOUNT = _CHINESE_NUMERALS | set("个约或和与至到大")
_COMMAND = re.compile(r"\\(?:frac|sqrt)")
_LETTER = re.compile("[A-Za-zα-ορ-ωΩ]")
_WORD = re.compile("[A-Za-z]{1,60}")
_AMOUNT_WORDS = {*ENGLISH_WORDS, *ENGLISH_SCALES, "half", "halves"}
_PARTS = "third quarter fourth fifth sixth seventh eighth ninth tenth hundredth"
_AMOUNT_WORDS |= {part + end for part in _PARTS.split() for end in ("", "s")}
_AMOUNT_WORDS |= {"a", "an", "and", "or", "about", "point", "of", "over", "minus", "negative"}
_FUNCTIONS = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_PLAIN = re.compile(r"-?\d{1,30}(?:[.,]\d{1,30}){0,9}")
_COLLOQUIAL = re.compile("[百万亿][一二三四五六七八九1-9]$")  # 三万五 is 35000
_RATE_MARK = re.compile(r"/|每|(?<![A-Za-z])(?:per|an?)(?=\s)")  # 60 km an hour
_RATE_WORD = re.compile(r"(?:/|每|per|an?)\s?每?\s?")
# Quotients of two letters that are known as units; others, such as m/t, belong to a formula.
_LETTER_RATES = frozenset({"m/s", "L/s", "L/h", "t/h", "g/L"})
_LETTER_RATE = re.compile("[A-Za-z]/[A-Za-z]")  # m/t of a formula
_PIECE = re.compile(r"\s{0,2}(\d{1,15}(?:\.\d{1,15})?|[零一二两三四五六七八九十]{1,4})\s{0,2}")
_Amount = tuple[str, Unit]


def split_unit(text: str) -> tuple[str, Unit | None]:
    """The amount in a cleaned text, and its unit.

    ``60km/h``, ``150(厘米)``, ``每小时60千米`` and ``￥5`` are amounts with units; 2小时30分 is 150
    分. A text that ends in no known unit, or has no amount before it, is returned with None; so is
    one whose unit would be a letter of a formula: ``2a+3m``, ``2t``, ``sin30°``.
    """
    return _in_pieces(text) or _split(text.strip().rstrip(ENDING)) or (text, None)


def _in_pieces(text: str) -> _Amount | None:
    """2小时30分 as 150 分, 5元8角 as 58 角, 30°15' as 1815 minutes."""
    if text.startswith("-"):
        positive = _in_pieces(text[1:])
        return (f"-{positive[0]}", positive[1]) if positive else None
    pieces: list[tuple[Fraction, Unit]] = []
    at, end = 0, len(text.rstrip(ENDING))
    while at < end and len(pieces) < 5:
        number = _PIECE.match(text, at, end)
        value = number and (number[1] if number[1].isascii() else chinese_number(number[1]))
        if number is None or value is None:
            return None
        at, sign = number.end(), re.match("''?|[\"″]", text[number.end() : number.end() + 2])
        unit, behind = _simple_unit_at(text[: min(end, at + _TAIL)], at)
        if sign and pieces:
            unit, behind = _ANGLES[sign[0]], at + len(sign[0])
        at = behind
        if unit is None or (pieces and not (ratio(pieces[-1][1], unit) or 0) > 1):
            return None
        pieces.append((Fraction(value), unit))
    if at < end or len(pieces) < 2:
        return None
    last = pieces[-1][1]
    total = sum((value * (ratio(unit, last) or 0) for value, unit in pieces), Fraction(0))
    return f"\\frac{{{total.numerator}}}{{{total.denominator}}}", last


def _split(text: str) -> _Amount | None:
    """The amount of a text that consists of it and its unit."""
    if text[:1] in ("¥", "￥"):
        return _amount(text[1:], UNITS["元"], "元")
    if text[:1] == "每":  # 每小时60千米
        below, at = _simple_unit_at(text, 1)
        found = _simple(text[at:]) if below else None
        return (found[0], _quotient(found[1], below)) if found and below else None
    if text[-1:] == ")":  # 150(厘米), 150(单位:cm)
        front, _, inside = text[:-1].rpartition("(")
        name = re.sub(r"^单位\s?:\s?", "", inside.strip())
        unit, length = unit_at(name, 0) if len(name) < _TAIL else (None, 0)
        complete = unit is not None and length == len(name)
        return _amount(front, unit, name, spaced=True) if unit and complete else None
    for mark in list(_RATE_MARK.finditer(text, max(0, len(text) - _TAIL)))[-2:]:
        below = _unit_named(_RATE_WORD.sub("", text[mark.start() :], count=1).strip())
        found = _simple(text[: mark.start()].rstrip()) if below else None
        if found and below:
            unit = _quotient(found[1], below)
            formula = _LETTER_RATE.fullmatch(unit.name) and unit.name not in _LETTER_RATES
            return None if formula else (found[0], unit)
    return _simple(text)


def _simple(text: str) -> _Amount | None:
    if text[-1:] not in _LAST_CHARACTERS:
        return None
    for length in range(min(_LONGEST_NAME, len(text) - 1), 0, -1):
        name = text[-length:]
        unit = _unit_named(name)
        found = _amount(text[:-length], unit, name) if unit else None
        if found is not None:
            return found
    return None


def _amount(text: str, unit: Unit, name: str, *, spaced: bool = False) -> _Amount | None:
    """The amount before a unit, if it is an amount and the name after it is a unit there."""
    front = text.rstrip(" ~")
    spaced = spaced or len(front) < len(text)
    front = front.lstrip()
    if name.startswith("千") and _COLLOQUIAL.search(front):
        return None  # 三万五千克 are 35000 克
    return (front, unit) if _is_amount(front) and _is_unit_there(front, name, spaced) else None


def _is_amount(front: str) -> bool:
    """Whether a text may be an amount: formulas and number words, no other words."""
    if not (front[-1:] in _LAST or front[-1:].isalnum()) or not any(map(str.isalnum, front)):
        return False
    if any(character not in _IN_AMOUNT for character in _CHINESE.findall(front)):
        return False
    return all(len(word) < 4 or word in _AMOUNT_WORDS for word in _words(front))


def _words(front: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_COMMAND.sub(" ", front))]


def _is_unit_there(front: str, name: str, spaced: bool) -> bool:
    """Whether a name after an amount is a unit, not the end of a word or a letter of a formula."""
    if "°" in name or name == "度":
        return "°" not in front and _FUNCTIONS.isdisjoint(_words(front))
    letters = sum(character.isascii() and character.isalpha() for character in name)
    if letters == 0:
        return True
    if name in ("t", "ha") or (letters == 1 and name[-1].isdigit()):
        # 2t and ha are products much more often.
        return _PLAIN.fullmatch(front) is not None and (spaced or name != "t")
    if letters == 1:
        words = _words(front)
        return not _LETTER.search(_COMMAND.sub(" ", front)) or (
            all(word in _AMOUNT_WORDS for word in words) and words != ["a"]
        )
    before = len(re.search("[A-Za-z]*$", front[-60:])[0])  # type: ignore[index]
    return spaced or before == 0 or (letters == 2 and before == 1)
