"""Parser of a score in [0, 1]: strict, without guessing."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

PARSER_VERSION = "3"
"""Part of cache keys; increase it whenever a reply may be parsed to a different score."""

# "0٫5", "0。5", "1:10": digits after such a sign belong to a different number.
_NUMBER = (
    r"(?<![\d.,A-Za-z√])-?(?:\d{1,6}(?:[.,]\d{1,20})?|\.\d{1,20})(?:[eE]-?\d{1,2})?"
    r"(?!\d|[.,]\d|[A-Za-z]| ?[.·:点'٫\u0307‚。∙•] ?\d)"
)
# "½" is "1⁄2" after normalisation, "1 ÷ 2", too; a minus sign is not always a hyphen.
_SIGNS = str.maketrans("⁄∕÷∶−", "///:-")
_POWER = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]{1,9}")  # "0.5²" would be normalised to 0.52
_THINKING_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THINKING_BEGINS = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_TO = r" ?(?:-|–|—|~|to|and|,|到|至|和|与) ?"
# "a score from 0 to 1", "(0-1)", "[0, 1]", 0到1之间: the scale, not a score.
_SCALE = re.compile(
    r"[(\[]?(?:(?<![A-Za-z])(?:from|between) |介于|从|在)?"
    rf"(?<![\d.,])0(?:\.0)?{_TO}1(?:\.0)?(?!\d|[.,]\d)"
    r"(?:之间|的)?[)\]]?"
)
# "0.5 to 0.7" is not a score, and neither is either end.
_RANGE = re.compile(rf"{_NUMBER} ?(?:-|–|—|~|to|到|至) ?{_NUMBER}")
_DECORATION = re.compile(r"[*_`$#]|\\boxed|\\text|[{}]")
_VALUE = (
    rf"(?P<value>{_NUMBER})"
    rf"(?: ?(?P<percent>%)| {{0,3}}(?:/|\(?(?:out )?of) {{0,3}}(?P<of>{_NUMBER}))?"
)
_LABEL = (
    r"(?:(?<![A-Za-z])scores?|(?<![A-Za-z])rating|分数|得分|评分|打分)[\"'>]{0,2}"
    r"[ \t]{0,4}(?:is|of|was|为|是)?[ \t]{0,4}[:=]?[ \t]{0,4}[<\[(\"'“‹]{0,2}"
)
_MINE = r"(?:(?:final|overall|revised|corrected|my|the|最终|总|修正后的?)[ \t]?)?"
# "1 + 0.5", "1 × 10^-1", "0.8 → 0", "1|10", "1 in 10", "1 over 2", "1‰", "1分之一"
_SUM = (
    r" {0,2}(?:[+*=^|×→‰√/\\]|-{1,2}>|分之|[-–—~到至](?=\d)"
    r"|(?:in|over|per|times|x|divided by) {1,2}(?=-?[\d.]))"
)
# "<0.5" and "> 0.5", but neither "<0.5>" nor "<score>0.5</score>"
_BOUND = re.compile(r"([≤≥<]|(?<![A-Za-z\"'])>) ?$")
_NO_SUM = rf"(?!{_SUM})"
# A line that begins with the score; a remark may follow.
_STATED = re.compile(
    rf"^[ \t\-•]{{0,8}}{_MINE}{_LABEL}{_VALUE}{_NO_SUM}"
    r"[>\])\"'”›分]{0,3}[ \t]{0,4}(?=$|[(.,;。，；—–]|- )",
    re.IGNORECASE | re.MULTILINE,
)
_AS_JSON = re.compile(rf"[\"'](?:score|分数|得分)[\"'] ?: ?[\"']?{_VALUE}", re.IGNORECASE)
_OTHER_TOTALS = re.compile(r"[\"'](?:final\w*|overall|total|max\w*|scale)[\"']", re.IGNORECASE)
_OTHER_SCALE = re.compile(
    r"out of|\bmax|满分|分制|percent|points?\b|(?:scale|from) (?:of |from )?1 ?(?:-|–|to) ?\d", re.I
)
_OTHER_RANGE = re.compile(
    r"(?:scale|from|range|score|rating|rate|从|在|由|打分|评分|得分)[^\d\n]{0,16}"
    r"[01] ?(?:-|–|—|~|to|到|至)"
    r" ?(?:[2-9]|\d{2,3})(?![\d.,]\d)",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"[<>≥≤]|\b(?:threshold|confidence|default|than|if|not|at|would|previous|maximum|N/A)\b|n['’]t\b"
    r"|置信|阈值|默认|不|超过",
    re.IGNORECASE,
)
_MENTIONED = re.compile(rf"{_LABEL}{_VALUE}(?P<sum>{_SUM})?", re.IGNORECASE)
_ALONE = re.compile(rf"[ \t\"'(<\[]*{_VALUE}[ \t\"'.。)>\]分]*", re.IGNORECASE)
_TELLING = re.compile(_VALUE, re.IGNORECASE)


def parse_score(reply: str) -> float | None:
    """Parse the score that a reply states.

    Parsed in this order: JSON with the requested schema; a "score" in other JSON; lines that begin
    with a score ("Score: 0.8", 得分：0.8), unless a decimal after it corrects it; lines that
    contain only a number; numbers that a sentence calls a score; the only number of the reply, if
    it is a decimal, a fraction or a percentage (a whole number may count anything: "fact 1"). All
    numbers that are found must agree: "a score of 1 would need more" is not a score. Fractions
    ("8/10", "4 out of 5") and percentages are converted.

    Args:
        reply: the reply of a judge.

    Returns:
        A score in [0, 1]; None if there is none, none in range, or several.
    """
    said = strip_thinking(reply)
    verdict = _as_verdict(said)
    if verdict is not None:
        return float(verdict) if 0 <= verdict <= 1 else None
    said = unicodedata.normalize("NFKC", _POWER.sub("^", said)).translate(_SIGNS)
    text, ranges = _RANGE.subn(" ", _SCALE.sub(" ", _DECORATION.sub("", said)))
    stated = list(_STATED.finditer(text))
    as_json = list(_AS_JSON.finditer(text))
    if as_json:
        return None if _OTHER_TOTALS.search(text) else _agreed(as_json + stated)
    if any(map(_is_bound, stated)):
        return None
    alone = [match for match in map(_ALONE.fullmatch, text.splitlines()) if match]
    mentioned = list(_MENTIONED.finditer(text))
    if any(_is_whole_of_ten(found, said) for found in (*stated, *alone, *mentioned)):
        return None
    if stated:
        # A decimal after the score may correct it.
        later = [found for found in _TELLING.finditer(text, stated[-1].end()) if _is_telling(found)]
        last = stated[-1]
        if last["value"] == "1" and not last["of"] and _OTHER_SCALE.search(said):
            return None
        return _agreed(stated + later)
    if alone:
        return _agreed(alone)
    if ranges:
        return None
    anywhere = list(_TELLING.finditer(text))
    if mentioned:
        if any(match["sum"] or _is_bound(match) for match in mentioned):
            return None
        return _agreed(mentioned + [match for match in anywhere if _is_telling(match)])
    if len(anywhere) != 1 or not _is_telling(anywhere[0]) or _HEDGED.search(said):
        return None
    return _in_range(anywhere[0])


def _is_whole_of_ten(found: re.Match[str], said: str) -> bool:
    """Whether "1" may be one of ten: "从0到10打分：1", "on a scale of 0 to 10 the score is 1"."""
    whole = not (found["of"] or found["percent"] or {".", ","} & set(found["value"]))
    return whole and _OTHER_RANGE.search(said) is not None


def _is_bound(found: re.Match[str]) -> bool:
    """Whether "<0.5" or ">0.5" is a bound, not a score in angle brackets."""
    start, end = found.span("value")
    sign = _BOUND.search(found.string[max(0, start - 4) : start])
    closed = ">" in found.string[end : found.end() + 2]
    return sign is not None and not (sign[1] == "<" and closed)


def json_object(reply: str) -> dict[str, Any] | None:
    """The JSON object that a reply consists of; None if it is something else."""
    try:
        found = json.loads(strip_thinking(reply))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _as_verdict(said: str) -> int | float | None:
    """The score of a reply that is an object with the requested schema."""
    found = json_object(said)
    if found is None or not found.keys() <= {"reason", "score"}:
        return None
    score = found.get("score")
    return score if isinstance(score, int | float) and not isinstance(score, bool) else None


def _is_telling(match: re.Match[str]) -> bool:
    """Whether a number is not just a whole number in a sentence, which may count anything."""
    return not match[0].lstrip("-").isdigit()


def _agreed(matches: list[re.Match[str]]) -> float | None:
    values = {_in_range(match) for match in matches}
    return values.pop() if len(values) == 1 else None


def strip_thinking(reply: str) -> str:
    """The reply of a reasoning judge after its thinking; empty if the thinking never ended."""
    said = _THINKING_ENDS.split(reply)[-1]
    return _THINKING_BEGINS.split(said)[0]


def _in_range(match: re.Match[str]) -> float | None:
    value = _float(match["value"])
    if match["percent"]:
        value /= 100
    elif match["of"]:
        whole = _float(match["of"])
        value = value / whole if whole > 0 else -1.0
    return value if 0.0 <= value <= 1.0 else None


def _float(text: str) -> float:
    return float(text.replace(",", "."))
