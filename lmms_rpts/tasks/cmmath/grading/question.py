"""Requirements of a question on its answer: unit, rounding, form, and the requested quantity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from lmms_rpts.grading.measures import Rounding
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.units import Unit, split_unit, unit_at
from lmms_rpts.grading.words import BLANK, squeezed

_OPEN = re.compile(  # 写出一个即可
    r"只需[填写]|写出一个|填一个|任写|答案不唯一|举(?:出)?一?[个例]|符合条件的一个|一个即可"
)
_ROUNDED = re.compile(r"约|近似|≈|保留[^π根]{0,8}位|精确到|四舍五入|取整")
_PLACES = re.compile(r"保留|精确到|四舍五入|取整")
_EXACT = re.compile(  # 结果保留π: no rounded value
    r"保留\s?\$*\s?(?:\\?pi|π|根号)|用分数|分数表示|最简|准确值|精确值|含\s?\$*\s?(?:\\?pi|π)"
)
# forms of a number that a question asks for
_FORM = re.compile(
    r"带分数|假分数|(?:化成|写成|化为|改写成|用)\s?小数|最简(?:分数|整数比|比)|最简单的整数比"
    r"|科学[记计]数法|scientific\snotation",
    re.IGNORECASE,
)
_SLASH = re.compile(r"(\d{1,15})\s?/\s?(\d{1,15})")
# an equal answer may not be finished
_SIMPLIFIED = re.compile(r"化简|计算|展开|整理|合并|因式分解|分解因式")
# (a+b) that could be expanded
_BRACKET_TERM = re.compile(r"(?<!/)\([^()]{0,80}[+\-][^()]{0,80}\)(?!/)")
_FACTOR = re.compile(r"\([^()]{1,200}\)(?:\^\{[^{}]{1,9}\})?")  # (x+2)^{2}

_QUANTITY = r"(?:(?:∠\s?)?(?:[A-Z]{1,3}|[a-z])(?:_\{[^{}]{1,4}\}|')?|∠\s?\d)"
_ASKED_NAME = re.compile(  # ∠1=____, AB的长为____, ∠A+∠B的度数是____
    rf"(?<![A-Za-z+\-×÷△⊙圆∠])(?<![+\-×÷]\s)((?:{_QUANTITY}\s?\+\s?){{0,3}}{_QUANTITY})\s?(?:=|的(?:度数|长度?|大小|值|坐标)?\s?(?:是|为|等于)?)\s?$"
)
_LEFT_SIDE = re.compile(r"([0-9A-Za-z∠_{}'^+\-×÷ ]{1,24}?)\s?[=≈](?!=)")  # ∠2=70°
_NAMES = re.compile(r"∠\s?(?:[A-Z]{1,3}|\d)|[A-Z]{1,4}")
_NOUN = re.compile(  # 周长为20, but 面积 is asked for
    "表面积|侧面积|底面积|面积|体积|周长|坐标|度数|概率|半径|直径|中位数|众数|平均数|方差|极差"
    "|最大值|最小值|斜率|补角|余角|一半|倒数|相反数|平方|之和|之差|余弦|正弦|正切"
)
_STOP = re.compile(r"[,。;:\n]")
_LABEL_END = re.compile(r"(?:约?[是为]|等于|[=≈])")  # what separates a label from its value
_LABEL = 18


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
    def words(self) -> str:
        """The question, cleaned, without spaces."""
        return squeezed(self.text)

    @cached_property
    def _mark(self) -> re.Match[str] | None:
        """Its blank in the text."""
        return next(islice(_ANY_BLANK.finditer(self.text), self.blank, None), None)

    @property
    def before(self) -> str:
        """The text before the blank, cleaned."""
        return self.text[: self._mark.start()] if self._mark else self.text

    @property
    def after(self) -> str:
        """The text between the blank and the next one, cleaned and squeezed."""
        rest = self.text[self._mark.end() :] if self._mark else ""
        return squeezed(_ANY_BLANK.split(rest, maxsplit=1)[0])

    @cached_property
    def unit(self) -> Unit | None:
        """The unit that the question asks for."""
        if self.single:
            return unit_after_blank(self.text)
        return _unit_behind(self.text, self._mark.end()) if self._mark else None

    @cached_property
    def rounding(self) -> Rounding:
        patterns = (_ROUNDED, _PLACES, _EXACT)
        return Rounding(*(pattern.search(self.raw) is not None for pattern in patterns))

    def form_is_other(self, answer: str, target: str) -> bool:
        """Whether a form is asked for, and an equal answer may lack it: 4/6, 0.5, 52×10^{3}."""
        return self._form_asked and _number_text(answer) != _number_text(target)

    @cached_property
    def _form_asked(self) -> bool:
        return _FORM.search(self.raw) is not None

    def is_unfinished(self, answer: str, target: str) -> bool:
        """Whether an answer, equal in value, may lack the form that the question is about."""
        if not _SIMPLIFIED.search(self.raw):
            return False
        if len(answer) > 3 and answer in squeezed(self.text):
            return True
        if "因式" in self.raw:
            return _factors(answer) != _factors(target)
        return bool(_BRACKET_TERM.search(answer)) and not _BRACKET_TERM.search(target)

    def is_of_another(self, clause: str) -> bool:
        """Whether a clause gives the value of another quantity than the requested one.

        Decided by names (∠1, AB) and by nouns (面积, 周长) before the value and before the last
        blank.
        """
        asked = self.before.rstrip(" (")
        said = _STOP.split(clause)[-1]
        if not BLANK.search(self.raw) or not _LABEL_END.search(said):
            return False
        name = _ASKED_NAME.search(asked)
        sides = {_plain_name(side) for side in _LEFT_SIDE.findall(said)}
        short = len(_LABEL_END.split(said)[0]) <= _LABEL
        if name and sides and short and _plain_name(name[1]) not in sides:
            return True
        asked = _STOP.split(asked)[-1][-_LABEL:]
        label = said[: [found.start() for found in _LABEL_END.finditer(said)][-1]][-_LABEL:]
        names, wanted = (
            {_plain_name(each) for each in _NAMES.findall(text)} for text in (label, asked)
        )
        if names and wanted and not names & wanted and "=" not in said:
            return True
        nouns, asked_nouns = _NOUN.findall(label), _NOUN.findall(asked)
        return bool(nouns) and bool(asked_nouns) and nouns[-1] != asked_nouns[-1]


def is_open(question: str, reference: str) -> bool:
    """Whether other answers than the reference may be right as well."""
    return _OPEN.search(question + reference) is not None


def _number_text(text: str) -> str:
    return squeezed(_SLASH.sub(r"\\frac{\1}{\2}", split_unit(text)[0]))


def _plain_name(name: str) -> str:
    """A name in its usual form: AB for BA, ∠ABC for ∠CBA; the terms of a sum are sorted."""
    found = squeezed(name)
    if "+" in found.strip("+"):
        return "+".join(sorted(_plain_name(term) for term in found.split("+") if term))
    letters = found.lstrip("∠")
    if re.fullmatch(r"[A-Z]{2,3}", letters):
        return found[: -len(letters)] + min(letters, letters[::-1])
    return found


def _factors(text: str) -> list[str]:
    return sorted([*_FACTOR.findall(text), re.sub(rf"{_FACTOR.pattern}|×", "", text)])


# The unit that a question asks for

_UNIT_TAIL = 60
_ANY_BLANK = re.compile(r"\\underline|_{2,}|□|\(\s{0,40}\)")
_BRACED = re.compile(r"^_?\{([^{}]{1,3})\}")  # ____{cm} after cleaning
_UNIT_MARK = re.compile(r"单位\s?(?::|是|为)\s?|\bunits?:\s?")  # (单位:cm)
_SENTENCE = re.compile(r"[。\n]|\.(?!\d)")
# Words that begin with these units, if the text after the blank is not a unit: ____元一次方程.
_BEGINNINGS = """
元=[一二三]?[一二三]?次|素 分=[之数解析别配布类为成割母子式] 次=函数|方程|[多单]项|项|不等式|幂|方
条=件 面=[体积向] 年=级 时=[针间候刻,、]|$ 对=[称应边角] 位=[于置似数移] 双=曲 列=[出表方车]
周=[长期] 升=[高降] 两=. 里=面 点=[A-ZPQ] 级=数 行=[四的] 边=[形长] 度=数 组=[成] 间=[的隔] 门=[票]
倍=数 根=据 种=植 字=母 步=骤 排=列 段=[的] 安=[全排] 日=期 月=球 刻=度 单位=[圆向]
"""
_BEGINS = dict(each.split("=") for each in _BEGINNINGS.split())


def unit_after_blank(question: str) -> Unit | None:
    """The unit after the last blank of a cleaned question.

    If there is none, the unit of a remark such as (单位:cm) in the blank's sentence, unless it is a
    length and the question asks for an area or a volume.
    """
    blank = _last(_ANY_BLANK, question)
    unit = _unit_behind(question, blank.end()) if blank else None
    return unit or _remarked(question, blank.start() if blank else len(question))


def _unit_behind(question: str, at: int) -> Unit | None:
    # Cleaning reads the text after ____ as its index.
    rest = _BRACED.sub(r"\1", question[at : at + _UNIT_TAIL]).lstrip(" )~}")
    bracket = re.match(r"\((?:单位\s?:)?\s?([^()]{1,30})\)", rest)
    if bracket is not None:
        unit, end = unit_at(bracket[1], 0)
        return unit if end == len(bracket[1]) else None
    unit, end = unit_at(rest, 0)
    if unit is None:
        return None
    if rest[end - 1].isascii() and re.match(r"\s?[=<>+×÷≤≥-]|[\w^\\]", rest[end:], re.ASCII):
        return None
    begins = _BEGINS.get(rest[:end])
    if rest[:end] == "角":  # an angle, unless the question is about money
        return unit if "元" in question[:at] else None
    return None if begins and re.match(begins, rest[end:].lstrip(" ")) else unit


def _remarked(question: str, at: int) -> Unit | None:
    if "单位" not in question and "unit" not in question:
        return None
    end = _last(_SENTENCE, question[:at].rstrip(" \n.。"))
    sentence = end.end() if end else 0
    remark = _last(_UNIT_MARK, question, sentence)
    if remark is None:
        return None
    unit, stop = unit_at(question[: remark.end() + _UNIT_TAIL], remark.end())
    if unit is None or re.match(r"[\w^]", question[stop : stop + 1]):
        return None
    asked = re.search("面积|体积|容积", question[sentence:])
    return None if asked and unit.dimension == "length" else unit


def _last(pattern: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text, start):  # noqa: B007
        pass
    return found
