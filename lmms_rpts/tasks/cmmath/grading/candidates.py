"""Candidate values of a sentence, the likeliest first."""

from __future__ import annotations

import re

from lmms_rpts.tasks.cmmath.grading.final_answer import Statement
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.values import with_signs

_LONGEST = 600
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_VERB = re.compile(
    r"(?:应该?是|[只就仅]有|约为|等于|得到|可得|化简得|解得|分别[是为]|表示[成为]|[是为得即共有]|[\u4e00-\u9fff]:)"
    r"(?!否|不是|什么)|(?<![A-Za-z])(?:is|are|equals?|be|gives?|get|obtain|has|have|measures?)(?![A-Za-z])"
)
_EQUALS = re.compile(r"(?<![<>≤≥≠])[=≡]")
_ABOUT = "≈"
_DOLLARS = re.compile(r"\$\$?([^$]{1,300})\$\$?|\\\(([^\n]{1,300}?)\\\)")
_TRAIL = re.compile(
    r"\s?(?:[就都]?[是为])?(?:原|该|此|这个)?(?:分式)?方程(?:组)?的(?:[解根])$|(?:即为|就是)?所求$"
    r"|\s(?:is|are)\s(?:the\s)?(?:correct|right|final)?\s?(?:answers?)?$|\s?\(answer\)$|(?:为|是)正确答案$"
)
_CLAUSE = re.compile(r"[,;。]\s?(?=[\u4e00-\u9fff∴]|\b(?:so|hence|thus|then|therefore)\b)|\n|⇒|∴")
_SPELLED_POINT = re.compile(
    r"横坐标[是为:=]?\s?([^,。;\u4e00-\u9fff]{1,40})[,且和\s]{0,3}纵坐标[是为:=]?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
_COMPOUND = re.compile(
    r"(?:\d{1,9}(?:\.\d{1,9})?\s?(?:小时|分钟?|秒|天|厘米|分米|千米|米|元|角|千克|克|吨|时)\s?){2,4}"
)
_ASIDE = re.compile(r"\s{0,3}\([^()]{0,60}[\u4e00-\u9fff][^()]{0,60}\)\s{0,3}$")
_MATHS = re.compile(r"[^\u4e00-\u9fff\n。、“”\"?]{1,400}")
_WORDS = re.compile(r"[A-Za-z]{3,}")
_LEAD = re.compile(
    r"^(?:所以|因此|因而|从而|综上(?:所述)?|最终|最后|故|即|则|得|∴|又|且|应?填|so|hence|thus|therefore)[,:\s]{0,3}",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s{0,8}[-•+*]\s{1,3}(?=\S)")
_WHEN = re.compile(r"(?:当|若|如果)[^,。;\n当若]{1,60}时,?|(?<![a-z])when\s[^,.;\n]{1,60},")
_AFTER_WHEN = re.compile(r"(?<![A-Za-z])(?:when|if|for)(?![A-Za-z])")
# No character may be of both classes: a pattern in which one is takes exponential time.
_RELATION_RUN = re.compile(r"(?:[^\u4e00-\u9fff。\n]|[或且和]){1,200}$")
_WRAPPED = re.compile(r"[(『「\[【]([^,()]{1,60})[)』」\]】]")
_CONCLUDES = re.compile(
    r"(?:所以|因此|因而|从而|综上|最终|最后|故|得|∴|(?:so|hence|thus|therefore)(?![a-z]))",
    re.IGNORECASE,
)
_EDGES = ' \t\n.。,;:*_#>、“”"'
_FUNCTION_WORDS = frozenset({"sin", "cos", "tan", "cot", "log", "sqrt", "frac", "max", "min"})


def value_readings(statement: Statement, *, rounded: bool = False) -> list[str]:
    """Cleaned texts that the statement may give as a value, each once.

    Of "1/3≈0.33" the exact value comes first, unless a rounded one is asked for.
    """
    found: list[str] = []
    if statement.boxed:
        found += _of_text(clean(statement.boxed), rounded)
    bold = [clean(each) for each in _BOLD.findall(f"**{statement.text}"[:_LONGEST])]
    if len(bold) == 1 and any(character.isalnum() for character in bold[0]):
        found += _of_text(bold[0], rounded)
    cleaned = clean(statement.text[-_LONGEST:])
    found += [each[0] for each in reversed(list(_COMPOUND.finditer(cleaned)))]
    found += _of_text(cleaned, rounded)
    wrapped = _WRAPPED.fullmatch(cleaned.strip(_EDGES))
    found += [bare(wrapped[1])] if wrapped else []
    formulas = _DOLLARS.findall(statement.text[-_LONGEST:])
    if formulas:
        found += _of_text(clean(formulas[-1][0] or formulas[-1][1]), rounded)
    return list(dict.fromkeys(each for each in found if each))


def relation_readings(statement: Statement) -> list[str]:
    """As ``value_readings``, for what holds signs of equality or order itself."""
    found = [f"({point[1]},{point[2]})" for point in _SPELLED_POINT.finditer(clean(statement.text))]
    for text in (statement.boxed, statement.text[-_LONGEST:]):
        cleaned = _WHEN.sub("", with_signs(clean(text)))
        clause = _CLAUSE.split(cleaned)[-1]
        run = _RELATION_RUN.search(cleaned)
        last = "" if run and re.search("[或且]", run[0]) else _last_maths(cleaned)
        for each in (
            *_AFTER_WHEN.split(cleaned)[1:][-1:],
            *(_after_last(_VERB, part) for part in (cleaned, clause)),
            *(clause, run[0] if run else "", cleaned, last),
        ):
            found += [bare(each), bare(_ASIDE.sub("", each))]
    return list(dict.fromkeys(each for each in found if each))


def bare(text: str) -> str:
    """A text without punctuation and markup around it."""
    text = _BULLET.sub("", text)
    return _TRAIL.sub("", _LEAD.sub("", text.strip(_EDGES))).strip(_EDGES)


def value_tail(clause: str) -> str:
    """What a cleaned clause gives as its value: what stands behind the last verb and sign."""
    return _after_last(_EQUALS, _after_last(_VERB, clause))


def last_clause(text: str) -> str:
    """The last clause of a cleaned sentence."""
    return _CLAUSE.split(text)[-1]


def concludes(clause: str) -> bool:
    """Whether a clause says of itself that it draws the conclusion."""
    return _CONCLUDES.match(clause.strip(_EDGES)) is not None


def _of_text(text: str, rounded: bool) -> list[str]:
    clause = _CLAUSE.split(text)[-1]
    tails = [_after_last(_VERB, clause), clause, _after_last(_VERB, text), text]
    found = []
    for tail in tails:
        equal = _after_last(_EQUALS, tail)
        for each in (*_exact_and_rounded(equal, rounded), tail):
            found += [bare(each), bare(_ASIDE.sub("", each))]
    span = _last_maths(text)
    return [*found, *_exact_and_rounded(bare(_after_last(_EQUALS, span)), rounded), span]


def _exact_and_rounded(text: str, rounded: bool) -> list[str]:
    exact, about, value = text.rpartition(_ABOUT)
    if not about or not bare(exact) or not bare(value):
        return [text]
    return [value] if rounded else [bare(exact), bare(value)]


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    found = None
    for found in pattern.finditer(text):  # noqa: B007
        pass
    tail = text[found.end() :] if found else text
    return tail if bare(tail) else text


def _last_maths(text: str) -> str:
    """The last run without Chinese words that holds a digit or a letter, and what follows it."""
    for found in reversed(list(_MATHS.finditer(text))[-6:]):
        words = set(_WORDS.findall(found[0])) - _FUNCTION_WORDS
        if not words and re.search(r"[0-9A-Za-zα-ω∅∞]", found[0]):
            following = text[found.end() : found.end() + 8]
            unit = re.match(r"[\u4e00-\u9fff/]{0,8}", following)
            return bare(found[0] + (unit[0] if unit else ""))
    return ""
