"""Numbers with a unit, in digits or in words, English and Chinese; and the one that a text states.

Units are compared by name, without arithmetic: 120 cm and 1.2 m are left undecided.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from lmms_rpts.base.escaping import lower
from lmms_rpts.grading.patterns import VOCABULARY, phrases
from lmms_rpts.grading.plain import WIDE, plain, without_lead
from lmms_rpts.grading.statement import Statement, Verdict, sentences

_LISTS = {name: text.split() for name, text in VOCABULARY["numbers"].items()}
_WORDS = {word: value for value, word in enumerate(_LISTS["ones"])} | {
    word: 10 * value for value, word in enumerate(_LISTS["tens"], 2)
}
_SCALES = dict(zip(_LISTS["scales"], (100, 10**3, 10**6, 10**9, 10**12), strict=True))
_CHINESE_DIGITS = {digit: at % 10 for at, digit in enumerate("零一二三四五六七八九〇")} | {"两": 2}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
# 个, 只: counters say nothing about what is counted.
_COUNTERS = frozenset("个只条张本把辆位名头匹棵朵块片件双座间次种人颗粒支枝杯瓶")
_UNITS: dict[str, str] = {
    name: row.split()[0] for row in VOCABULARY["units"] for name in row.split()
}
KNOWN = frozenset(_UNITS.values())

# -1,234.5, $5, 2 1/3, 1.5e3, 3×10^4, 2.5 million, 12万, 45%, 负5
_DIGITAL = re.compile(
    r"(?P<sign>[-+]\s?|(?:minus|negative)\s(?=[.$\d])|负(?=\d))?(?P<currency>US\$|[$€£¥₹])?\s?(?P<inner>-)?"
    r"(?:(?P<mixed>\d{1,9})(?:\s|又)(?=\d{1,9}/\d))?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,90}(?![\d,]\d)|\d{1,300}(?!\d)|(?=\.\d))(?P<decimals>\.\d{1,300})?(?!\d)"
    r"(?:\s?/\s?(?P<divisor>\d{1,40}(?:\.\d{1,40})?)(?![\d/.]\d))?"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\d)|\s?[×x*]\s?10\s?\^\s?(?P<power>[-+]?\d{1,3})(?!\d))?"
    rf"(?:\s?(?P<scale>{'|'.join(_SCALES)}|[十百千]?[万亿]|[百千](?![分米克瓦卡帕赫伏安升]))(?![a-z]))?"
    r"(?:\s?(?P<percent>%|percent(?!a)|per\scent))?",
    re.IGNORECASE | re.ASCII,
)
_NUMBER_WORDS = "|".join((*_WORDS, *_SCALES))
_DIGITS_EN = "|".join(_LISTS["ones"][1:10])
# "two hundred and five", "minus three", "fifty percent"; "five" in "twenty-five" comes last
_ENGLISH = re.compile(
    rf"(?P<minus>(?:minus|negative)\s)?(?:(?P<hundreds>an?|{_DIGITS_EN})\shundred(?:\sand)?)?"
    rf"(?:(?:^|(?<=\s)|\s)(?P<tens>{'|'.join(_LISTS['tens'])}))?"
    rf"(?:(?:^|(?<=[\s-])|[-\s])(?P<ones>{'|'.join(reversed(_LISTS['ones']))}))?"
    r"(?![A-Za-z])(?P<percent>\s?(?:%|percent|per\scent)(?![a-z]))?",
    re.IGNORECASE,
)
# 一百零五, 负三, 二十一; 一百二 is 120 in speech, and is left alone
_CHINESE = re.compile(
    r"(?P<minus>[负-])?(?:(?P<digits>[〇零一二三四五六七八九]{2,20})"
    r"|(?:(?P<thousands>[一二两三四五六七八九])千)?零?(?:(?P<hundreds>[一二两三四五六七八九])百)?零?"
    r"(?P<tens>[一二三四五六七八九]?十)?(?P<ones>(?:(?<=[千百])零|(?<![千百零]))[零一二两三四五六七八九])?)"
    r"(?![零〇一二两三四五六七八九十百千万亿点分成又半折])"
)
NUMBER_WORD = re.compile(rf"(?<![A-Za-z])(?:{_NUMBER_WORDS})(?![A-Za-z])", re.IGNORECASE)
"""A number word in a text, as in "two birds and three cats"."""


class Quantity(NamedTuple):
    """A number with its unit.

    Attributes:
        value: the number, with its scale and percent sign applied.
        unit: the words after it, by their usual name; may be empty.
        bare: the number without scale and percent sign.
        text: the text that was read.
    """

    value: Fraction
    unit: str
    bare: Fraction
    text: str


def read_quantity(text: str) -> Quantity | None:
    """The quantity that a plain text is; None if it is anything else, or more than one."""
    text = text.strip(" ,;:\"'，；：").rstrip(" .。")
    if text[:1] == "(" and text[-1:] == ")" and text.count("(") == 1:
        text = text[1:-1].strip()
    if text.startswith("~") or not 0 < len(text) <= 300:
        return None
    numbers = filter(None, (read(text) for read in (_in_digits, _in_english, _in_chinese)))
    found = max(numbers, key=lambda number: len(number.text), default=None)
    if found is None:
        return None
    unit, currency = _unit_of(text[len(found.text) :], found.text), _UNITS.get(found.unit, "")
    if unit is None or (currency and unit):
        return None
    return found._replace(unit=currency or unit, text=text)


def units_agree(one: Quantity, other: Quantity) -> bool:
    """Whether two units are compatible: one is missing, or both are the same."""
    if one.unit == other.unit:
        return True
    if not one.unit or not other.unit:
        return not _SCALING.search(f"{one.unit} {other.unit}")
    if one.unit in KNOWN or other.unit in KNOWN:
        return False
    words, others = set(one.unit.split()), set(other.unit.split())
    return bool(words & others) and (words <= others or others <= words)


# These scale a number, or make it another thing: 5 lakh, 5 ppm, 5 BC, 5 am, 8k, 5ish
_SCALING = phrases("scaling")
_CHANGES = phrases("changes")
_WORDS_ONLY = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '’/-]){0,60}")


def _unit_of(rest: str, number: str) -> str | None:
    """The unit after a number; None if other text follows."""
    rest = rest.strip(" .\"'，。")
    unit = canonical_unit(rest)
    if unit in KNOWN or not rest:
        return unit
    more = NUMBER_WORD.search(rest) or rest[0] in _CHINESE_DIGITS
    if more or _CHANGES.search(rest) or not _WORDS_ONLY.fullmatch(rest):
        return None
    # "It is one thing"; 三角形, 一只猫: without a counter, a Chinese number is a part of a word
    if lower(number) == "one" or (
        not number[0].isascii() and (rest[0] not in _COUNTERS or (number == "一" and rest[1:]))
    ):
        return None
    words = rest.split()
    single = any(len(word) == 1 and word < WIDE[0] for word in words)
    return None if len(words) > 4 or single else unit


def canonical_unit(text: str) -> str:
    """A unit by its usual name: ``cm`` for "centimetres", ``km/h`` for "km per hour"."""
    text = re.sub(r"\s?(?:/|\bper\b)\s?", "/", " ".join(text.split()))
    text = re.sub(r"\b(?:square|sq) (\w+)", r"\1^2", re.sub(r"\bcubic (\w+)", r"\1^3", text))
    if text in _UNITS:
        return _UNITS[text]
    simple = " ".join("/".join(map(_singular, word.split("/"))) for word in text.split())
    simple = _UNITS.get(simple, simple)
    return simple[1:] if simple[:1] in _COUNTERS else simple


def _singular(word: str) -> str:
    word, *power = word.split("^")
    if power:
        return "^".join((_singular(word), *power))
    word = lower(word) if len(word) > 3 else word  # mW is not MW
    one = word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
    return _UNITS.get(word) or _UNITS.get(one, one)


def _in_digits(text: str) -> Quantity | None:
    found = _DIGITAL.match(text)
    if found is None or (found["sign"] and found["inner"]):
        return None
    value = Fraction(found["digits"].replace(",", "") + (found["decimals"] or "") or "0")
    if found["divisor"]:
        divisor = Fraction(found["divisor"])
        if not divisor:
            return None
        value /= divisor
    value += int(found["mixed"] or 0)
    value *= Fraction(10) ** int(found["exponent"] or found["power"] or 0)
    negative = (found["sign"] or found["inner"] or "+").strip() != "+"
    scale = 1
    for part in [found["scale"].lower()] if found["scale"] in _SCALES else found["scale"] or "":
        scale *= _SCALES.get(part) or _CHINESE_SCALES[part]
    value = -value if negative else value
    scaled = value * scale / (100 if found["percent"] else 1)
    return Quantity(scaled, lower(found["currency"] or ""), value, found[0])


def _in_english(text: str) -> Quantity | None:
    """Two hundred and five, minus three, fifty percent."""
    found = _ENGLISH.match(text)
    words = [lower(found[name] or "") for name in ("hundreds", "tens", "ones")] if found else []
    if (
        found is None
        or text[:1] == "-"
        or not any(words)
        or (words[1] and _WORDS.get(words[2], 0) > 9)
    ):
        return None
    hundreds = _WORDS.get(words[0], 1) * 100 if words[0] else 0
    value = Fraction(hundreds + sum(_WORDS.get(word, 0) for word in words[1:]))
    value = -value if found["minus"] else value
    return Quantity(value / (100 if found["percent"] else 1), "", value, found[0])


def _in_chinese(text: str) -> Quantity | None:
    """一百零五, 负三, 二十一, 一二三."""
    found = _CHINESE.match(text)
    if found is None or not found[0].strip("负-") or found["digits"] in _LISTS["estimates"]:
        return None
    digits = found["digits"] or "".join(
        found[name][-1].replace("十", found[name][0].replace("十", "一")) if found[name] else "零"
        for name in ("thousands", "hundreds", "tens", "ones")
    )
    value = Fraction("".join(str(_CHINESE_DIGITS[digit]) for digit in digits))
    value = -value if found["minus"] else value
    return Quantity(value, "", value, found[0])


_UNSETTLED, _ABOUT = phrases("unsettled"), phrases("estimate")
# "So the total is 8", "There are 8 apples", "I count 8 apples"
_SAYS = phrases("says")
# "..., so there are 8 in total": the conclusion states the value
_SO = phrases("so")
# 一共有8个, 总数是5
_SAYS_ZH = re.compile(
    r".{0,200}(?P<verb>等于|总共|一共有?|总计|共计|共有?|是|为|有|得到?|[:：])(?P<tail>[^是为有共得]{1,60})$"
)
# "The total is 8" states a value, even if other numbers stand before it.
_CERTAIN = frozenset({"is", "are", "was", "were", "equal", "equals", "'s"})
_DIGITS = re.compile(r"(?<![A-Za-z0-9.])-?\d[\d,]*(?:\.\d+)?")
_CONCLUDES = phrases("concludes")


def number_verdict(stated: Statement, gold: Quantity, tolerance: float) -> Verdict:
    """Whether a statement has the gold quantity."""
    text = _ABOUT.sub("", stated.said) if tolerance else stated.said
    said = stated_quantity(text)
    if said is None:
        return Verdict(None, "no single number in the answer")
    if not units_agree(said, gold):
        return Verdict(None, "different unit", said.text)
    if _names_another(stated, said):
        return Verdict(None, "another number beside the answer", said.text)
    if is_near(said.value, gold.value, tolerance):
        return Verdict(True, "equal number", said.text)
    # 12 million, 12; 50%, 50; 1.250 may be meant as 1,250; 120 cm and 1.2
    same = {said.value, said.bare} & {gold.value, gold.bare} or (
        said.unit != gold.unit and {said.unit, gold.unit} & KNOWN
    )
    if same or _is_rounded(said, gold):
        return Verdict(None, "possibly the same number in another form", said.text)
    return Verdict(False, "different number", said.text)


def _is_rounded(said: Quantity, gold: Quantity) -> bool:
    """Whether a number rounds to the gold one: 3.1416 to 3.14; or its point groups thousands."""
    written = re.search(r"\.(\d+)", gold.text)
    if re.sub(r"\D", "", said.text) == re.sub(r"\D", "", gold.text):
        return said.value * gold.value > 0
    return written is not None and round(said.value, len(written[1])) == gold.value


def stated_quantity(text: str) -> Quantity | None:
    """The only quantity that a plain statement asserts; None if there is none."""
    text = " ".join(text.split())
    if _UNSETTLED.search(text) or _ABOUT.search(text):
        return None
    text = re.sub(r"(?i),?\s(?:in total|altogether)\W?$", "", _SO.split(text)[-1])
    return read_quantity(without_lead(text)) or _behind_equals(text) or _said(text)


def is_near(value: Fraction, gold: Fraction, tolerance: float) -> bool:
    """Whether a value is equal to the gold one, within a relative error."""
    if not tolerance > 0:
        return value == gold
    # A tolerance of 0.1 is meant as written, not as the nearest binary number.
    return abs(value - gold) <= Fraction(repr(min(tolerance, 1e6))) * abs(gold)


def _behind_equals(text: str) -> Quantity | None:
    """The quantity after the last equals sign, if there is one equation."""
    head, found, tail = text.rpartition("=")
    side = head.rpartition("=")[2].strip()
    name = re.fullmatch(r"[\d\s.,+×÷*/()-]+|(?!ln |log |sin |cos )[^\d+×÷*/^√|()-]*(?:_\d)?", side)
    if not found or not name or re.search(r"[,;，；]\s?[^=]*=|=[^=]*[,;，；]\s", text):
        return None
    return read_quantity(without_lead(tail.strip()))


def _said(text: str) -> Quantity | None:
    """The value after the last verb that states one: "So the total is 8", 一共有8个."""
    found = _SAYS.match(text) or _SAYS_ZH.fullmatch(text)
    if found is None:
        return None
    head = lower(text[: found.start("verb")])
    if lower(found["verb"]) not in _CERTAIN and re.search(rf"\d|{NUMBER_WORD.pattern}", head):
        return None
    if re.search(r"\b(?:is|are|was|were)\b", head):
        return None  # two statements: "3 is the number of cats, and the dogs are 5"
    return read_quantity(without_lead(found["tail"]))


def _names_another(stated: Statement, said: Quantity) -> bool:
    """Whether a sentence beside a statement states another number."""
    around = stated.explained
    if not stated.marked:
        *around, last = sentences(stated.spoken[-800:]) or [""]
        if _CONCLUDES.match(last) or "=" in last:
            return False
        around = [plain(each) for each in around if stated_quantity(plain(each))]
    for sentence in around:
        numbers = {each.replace(",", "") for each in _DIGITS.findall(sentence)}
        unsettled = stated.marked and numbers and _UNSETTLED.search(sentence)
        if unsettled or (len(numbers) == 1 and Fraction(*numbers) not in (said.value, said.bare)):
            return True
        other = None if numbers else stated_quantity(sentence)
        if other is not None and other.value != said.value:
            return True
    return False
