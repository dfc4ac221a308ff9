"""Units behind amounts, how they convert, and the unit that a question asks for."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.unit_names import UNITS, unit_at, unit_named

from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.units import (
    Unit,
    may_be_letter,
    ratio,
    split_unit,
    unit_after_blank,
)
from tests.support.growth import assert_linear_in_text

SPLIT = [
    # lengths, areas, volumes
    ("5cm", "5", "cm"),
    ("5 厘米", "5", "cm"),
    ("5$$\\text{ cm}$$", "5", "cm"),
    ("$$5\\mathrm{~cm}$$", "5", "cm"),
    ("150(厘米)", "150", "cm"),
    ("150（单位：cm）", "150", "cm"),
    ("3千米", "3", "km"),
    ("3公里", "3", "km"),
    ("2\\sqrt{3}cm", "2\\sqrt{3}", "cm"),
    ("1/2米", "1/2", "m"),
    ("5 metres.", "5", "m"),
    ("2里", "2", "里"),
    ("5 feet", "5", "ft"),
    ("$$36{c}{{{m}}^{2}}$$", "36", "cm^{2}"),
    ("36cm²", "36", "cm^{2}"),
    ("36cm2", "36", "cm^{2}"),
    ("36平方厘米", "36", "cm^{2}"),
    ("36 square centimeters", "36", "cm^{2}"),
    ("36 sq. cm", "36", "cm^{2}"),
    ("5平米", "5", "m^{2}"),
    ("16a平方米", "16a", "m^{2}"),
    ("(\\frac{9π}{2}-1)cm^2", "(\\frac{9π}{2}-1)", "cm^{2}"),
    ("24π立方分米", "24π", "dm^{3}"),
    ("500 ml", "500", "mL"),
    ("5升", "5", "L"),
    ("3公顷", "3", "公顷"),
    ("10平方单位", "10", "平方单位"),
    ("6个单位长度", "6", "单位"),
    # mass, time, speed
    ("2.5kg", "2.5", "kg"),
    ("2.5 KG", "2.5", "kg"),
    ("3斤", "3", "斤"),
    ("一百两", "一百", "两"),
    ("三万五千克", "三万五千", "g"),
    ("三千克", "三", "kg"),
    ("5 t", "5", "t"),
    ("15分钟", "15", "min"),
    ("5个小时", "5", "h"),
    ("3个月", "3", "月"),
    ("12h", "12", "h"),
    ("60km/h", "60", "km/h"),
    ("60千米/时", "60", "km/h"),
    ("60 千米每小时", "60", "km/h"),
    ("每小时60千米", "60", "km/h"),
    ("60 kilometres per hour", "60", "km/h"),
    ("60 km an hour", "60", "km/h"),
    ("5m/s", "5", "m/s"),
    ("2m/s^2", "2", "m/s^{2}"),
    ("2小时30分", "150", "分"),
    ("1小时20分30秒", "4830", "s"),
    # angles, temperature
    ("70°", "70", "°"),
    ("70{}^\\circ", "70", "°"),
    ("70度", "70", "度"),
    ("(90-α)°", "(90-α)", "°"),
    ("twenty-one degrees", "twenty-one", "°"),
    ("20℃", "20", "°C"),
    ("20^{\\circ }\\mathrm{C}", "20", "°C"),
    ("-3摄氏度", "-3", "°C"),
    # money, rates, counters
    ("44元", "44", "元"),
    ("￥44", "44", "元"),
    ("2.5万元", "2.5", "万元"),
    ("十五万元", "十五万", "元"),
    ("5元8角", "58", "角"),
    ("5元/千克", "5", "元/kg"),
    ("3.2 g/cm³", "3.2", "g/cm^{3}"),
    ("30人/平方千米", "30", "人/km^{2}"),
    ("12000个", "12000", "个"),
    ("270人．", "270", "人"),
    ("25名学生", "25", "名"),
    ("12个三角形", "12", "个"),
    ("3.6万人", "3.6", "万人"),
    ("10 people", "10", "人"),
    ("2或3cm", "2或3", "cm"),
    # letters that are units, as far as anybody can tell
    ("5m", "5", "m"),
    ("π m", "π", "m"),
    ("5(m)", "5", "m"),
    ("2s", "2", "s"),
    ("x cm", "x", "cm"),
    ("acm", "a", "cm"),
]
NO_UNIT = [
    "5", "-3.5", "20%", "x", "2a+3m", "am", "16a m²", "2t", "x=5m", "a(m)", "\\frac{1}{2}ha",
    "abcm", "5CM", "2DM", "5m/t", "3×m", "sin30°", "\\cos 60^{\\circ}", "180°-30°", "30°<x<60°",
    "80°/ 80度",
    "第3个", "20多个", "3个以上", "三角形", "直角", "半圆", "∠1的度数", "正方体", "10 problems",
    "10 programs", "cm", "(cm)", "米", "", "   ", "(", ")", "()", "5()", "5万", "5只眼镜蛇鱼",
    "两点之间,线段最短", "the answer is 5 cm", "必然事件", "①③", "3月5日", "3个4块2个", "°",
    "每小时", "￥", "/h", "5/", "每", "5每",
]  # fmt: skip
CONVERSIONS = [
    ("km", "m", 1000),
    ("cm", "m", "1/100"),
    ("英寸", "cm", "2.54"),
    ("mile", "ft", 5280),
    ("yard", "ft", 3),
    ("里", "m", 500),
    ("丈", "尺", 10),
    ("m^{2}", "cm^{2}", 10_000),
    ("平方千米", "公顷", 100),
    ("公顷", "亩", 15),
    ("m^{3}", "L", 1000),
    ("mL", "cm^{3}", 1),
    ("升", "立方分米", 1),
    ("吨", "千克", 1000),
    ("斤", "克", 500),
    ("两", "克", 50),
    ("小时", "秒", 3600),
    ("天", "小时", 24),
    ("周", "天", 7),
    ("年", "月", 12),
    ("km/h", "m/s", "5/18"),
    ("米/分", "千米/时", "3/50"),
    ("g/cm^{3}", "kg/m^{3}", 1000),
    ("元/千克", "元/斤", "1/2"),
    ("元", "角", 10),
    ("角", "分", 10),
    ("元", "分", 100),
    ("万元", "元", 10_000),
    ("亿元", "万元", 10_000),
    ("小时", "分", 60),
    ("分", "分钟", 1),
    ("分", "秒", 60),
    ("°", "度", 1),
    ("度", "摄氏度", 1),
    ("度", "千瓦时", 1),
    ("个", "人", 1),
    ("只", "条", 1),
    ("元/个", "元/件", 1),
    ("万人", "人", 10_000),
    ("平方单位", "square units", 1),
]
DIFFERENT = [
    ("cm", "cm^{2}"),
    ("cm^{2}", "cm^{3}"),
    ("cm", "kg"),
    ("元", "美元"),
    ("°", "弧度"),
    ("°C", "°F"),
    ("月", "天"),
    ("km/h", "km"),
    ("km/h", "h/km"),
    ("元/千克", "元/米"),
    ("个", "元"),
    ("分", "米"),
    ("单位", "cm"),
    ("°", "°C"),
]
QUESTIONS = [
    ("则最短距离是 $$\\underline{}$$ cm．", "cm"),
    ("AB是____cm,AC是____km", "km"),
    ("AB是____cm,AC是____", None),
    ("∠E=____°", "°"),
    ("(度数是$$\\underline{}$$)°．", "°"),
    ("面积是____平方厘米", "cm^{2}"),
    ("面积是____厘米", "cm"),
    ("长（   ）$${c}{{{m}}^{2}}$$．", "cm^{2}"),
    ("长____(cm)", "cm"),
    ("共有(  )个三角形", "个"),
    ("付____元", "元"),
    ("付____元____角", "角"),
    ("∠1是____角", None),
    ("需要____小时", "h"),
    ("当x=____时,y最大", None),
    ("速度是____千米/时", "km/h"),
    ("收入____万元", "万元"),
    ("共____亿人", "亿人"),
    ("长____m", "m"),
    ("长____m^2", "m^{2}"),
    ("得____m+n", None),
    ("得____mn", None),
    ("是____元一次方程", None),
    ("是____次函数", None),
    ("转____次", "次"),
    ("____ square units", "平方单位"),
    ("____%", None),
    ("y=____x", None),
    ("(单位:cm)", "cm"),
    ("则体积（单位：$${c}{{{m}}^{{3}}}$$）是（   ）", "cm^{3}"),
    ("如图(单位:cm),则周长是____", "cm"),
    ("如图(单位:cm),则体积是____", None),
    ("则周长为____.(单位:cm)", "cm"),
    ("得分(单位:分).则x和y为(  )", None),
    ("长____cm,宽", "cm"),
    ("圆的周长", None),
    ("", None),
    ("____", None),
]
LONG = {
    "figures": "1" * 100_000 + "cm",
    "spaces": "5" + " " * 100_000 + "cm",
    "endings": "5cm" + ".。, " * 25_000,
    "units": "cm" * 50_000,
    "rates": "5" + "/h" * 50_000,
    "each": "每" * 100_000,
    "brackets": "(" * 50_000 + ")" * 50_000,
    "letters": "m" * 100_000,
    "words": "five " * 20_000 + "cm",
    "pieces": "2小时30分" * 15_000,
    "blanks": "____cm" * 16_000,
    "empty brackets": "( )" * 33_000,
    "open brackets": "(   " * 25_000,
    "units marked": "单位:cm " * 16_000,
    "sentences": ". " * 50_000 + "____",
    "roots": "\\sqrt{" * 15_000 + "cm",
}


def named(name: str) -> Unit:
    unit, end = unit_at(name, 0)
    assert unit is not None, name
    assert end == len(name), name
    return unit


@pytest.mark.parametrize(("text", "amount", "name"), SPLIT)
def test_an_amount_and_its_unit(text: str, amount: str, name: str) -> None:
    front, unit = split_unit(clean(text))
    assert (front, unit and unit.name) == (amount, name)


@pytest.mark.parametrize("text", NO_UNIT)
def test_no_unit_leaves_the_text(text: str) -> None:
    cleaned = clean(text)
    assert split_unit(cleaned) == (cleaned, None)


@pytest.mark.parametrize(("one", "other", "wanted"), CONVERSIONS)
def test_conversions(one: str, other: str, wanted: int | str) -> None:
    assert ratio(named(one), named(other)) == Fraction(wanted)
    assert ratio(named(other), named(one)) == 1 / Fraction(wanted)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_things_have_no_ratio(one: str, other: str) -> None:
    assert ratio(named(one), named(other)) is None
    assert ratio(named(other), named(one)) is None


@pytest.mark.parametrize(("question", "name"), QUESTIONS)
def test_the_unit_of_a_question(question: str, name: str | None) -> None:
    unit = unit_after_blank(clean(question))
    assert (unit and unit.name) == name


def test_dimensions() -> None:
    wanted = {"cm": "length", "元/千克": "money/mass", "个": "count:个", "km/h": "length/time"}
    assert {name: named(name).dimension for name in wanted} == wanted
    assert named("cm") == Unit("cm", "length", Fraction(1, 100))


def test_units_that_may_be_letters() -> None:
    names = ["m", "s", "h", "g", "t", "L", "m^{2}", "m/s", "cm", "min", "km/h", "个", "°"]
    assert [name for name in names if may_be_letter(named(name))] == names[:8]


def test_pieces_of_a_unit_that_does_not_divide() -> None:
    assert split_unit("1.5小时0.5秒") == ("\\frac{10801}{2}", UNITS["秒"])


def test_two_capitals_are_a_segment() -> None:
    assert [unit_named(name) for name in ("CM", "KM^{2}", "Xyz", "")] == [None] * 4
    assert unit_named("Km") == unit_named("KILOMETERS") == UNITS["km"]


@pytest.mark.parametrize("name", LONG)
def test_long_texts_take_linear_time(name: str) -> None:
    text = LONG[name]
    front, unit = split_unit(text)
    asked = unit_after_blank(text)
    assert unit is None or front in text
    assert asked is None or isinstance(asked, Unit)
    assert_linear_in_text(lambda part: (split_unit(part), unit_after_blank(part)), text)


@given(
    st.text(
        alphabet=[*"5 .()/每°cmkhs^{2}_元分角个单位:,米时t\\x￥万1万", "\ud800", "٣"], max_size=25
    )
)
def test_any_text_is_read(text: str) -> None:
    front, unit = split_unit(text)
    if unit is None:
        assert front == text
    else:
        assert front
        assert re.search(r"\w", front)
        assert ratio(unit, unit) == 1
    asked = unit_after_blank(text)
    assert asked is None or ratio(asked, asked) == 1


@given(st.sampled_from(sorted(UNITS)), st.integers(1, 10**6))
def test_every_name_is_read_behind_a_number(name: str, number: int) -> None:
    front, unit = split_unit(f"{number} {name}")
    assert front == str(number)
    assert unit is not None
    assert ratio(unit, UNITS[name]) == 1
