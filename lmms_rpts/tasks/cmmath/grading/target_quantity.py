"""The quantity that a question asks for, and answers about another one."""

from __future__ import annotations

import re

from lmms_rpts.tasks.cmmath.grading.candidates import last_clause
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.text_answers import BLANK, squeezed

_NAME = r"(?:(?:∠\s?)?(?:[A-Z]{1,3}|[a-z])(?:_\{[^{}]{1,4}\}|')?|∠\s?\d)"
_ASKED_NAME = re.compile(
    rf"(?<![A-Za-z+\-×÷△⊙圆])({_NAME})\s?(?:=|的(?:度数|长度?|大小|值|坐标)?\s?(?:是|为|等于)?)\s?$"
)
_LEFT_SIDE = re.compile(r"([0-9A-Za-z∠_{}'^+\-×÷ ]{1,24}?)\s?[=≈](?!=)")
_NAMES = re.compile(r"∠\s?(?:[A-Z]{1,3}|\d)|[A-Z]{1,4}")
_NOUN = re.compile(
    "表面积|侧面积|底面积|面积|体积|周长|坐标|度数|概率|半径|直径|中位数|众数|平均数|方差|极差"
    "|最大值|最小值|斜率|补角|余角|一半|倒数|相反数|平方|之和|之差|余弦|正弦|正切"
)
_STOP = re.compile(r"[,。;:\n]")
_LABEL_END = re.compile(r"(?:约?[是为]|等于|[=≈])")
_LABEL = 18


def of_another(text: str, question: str) -> bool:
    """Whether a cleaned sentence gives the value of another quantity than is asked for.

    Told by names (∠1, AB) and by nouns (面积, 周长) before the value and before the last blank.
    """
    blanks = BLANK.split(question)
    if len(blanks) < 2:
        return False
    asked = clean(blanks[0]).rstrip(" (")
    clause = last_clause(text)
    name = _ASKED_NAME.search(asked)
    if name is not None and _other_side(clause, _plain_name(name[1])):
        return True
    return _other_label(_STOP.split(clause)[-1], _STOP.split(asked)[-1][-_LABEL:])


def _other_side(clause: str, asked: str) -> bool:
    """Whether the last equation of a clause, a chain or one, says what something else is."""
    equation = _STOP.split(clause)[-1]
    sides = _LEFT_SIDE.findall(equation)
    if not sides or len(_LABEL_END.split(equation)[0]) > _LABEL:
        return False
    names = {_plain_name(side) for side in sides}
    return asked not in names


def _other_label(said: str, asked: str) -> bool:
    ends = [found.start() for found in _LABEL_END.finditer(said)]
    if not ends:
        return False
    label = said[: ends[-1]][-_LABEL:]
    names = {_plain_name(each) for each in _NAMES.findall(label)}
    wanted = {_plain_name(each) for each in _NAMES.findall(asked)}
    if names and wanted and not names & wanted and "=" not in said:
        return True
    nouns, asked_nouns = _NOUN.findall(label), _NOUN.findall(asked)
    return bool(nouns) and bool(asked_nouns) and nouns[-1] != asked_nouns[-1]


def _plain_name(name: str) -> str:
    """AB and BA, ∠ABC and ∠CBA are one."""
    found = squeezed(name)
    if re.fullmatch(r"∠?[A-Z]{2,3}", found):
        letters = found.lstrip("∠")
        return found[: -len(letters)] + min(letters, letters[::-1])
    return found
