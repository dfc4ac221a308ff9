"""Reading of judge replies, and the parser of scores in [0, 1]: strict, without guessing."""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from typing import Any

from lmms_rpts.base.rows import unique_fields
from lmms_rpts.judging.request_kinds import KINDS, SCORED
from lmms_rpts.judging.types import Reply, Request
from lmms_rpts.reasoning.thinking import split_thinking, strip_thinking


def read_reply(request: Request, reply: Reply) -> tuple[float | str | None, str | None]:
    """The value of a reply, or the reason why it has none."""
    kind = KINDS[request.kind]
    wanted = f"the judge's reply cannot be parsed as {kind.wanted}"
    if not reply.complete:
        return None, f"{wanted}: it was cut off"
    parse = request.parse or (parse_score if request.kind in SCORED else str.strip)
    text = reply.text
    if kind.words:
        fields = json_object(text) or {}
        if fields.keys() <= {"reason", "verdict"} and isinstance(fields.get("verdict"), str):
            text = fields["verdict"]  # a reply in the requested schema
    try:
        value, note = parse(text), "" if text else "it is empty: all may be in reasoning_content"
    except Exception as failure:  # an error of a parser fails this reply, not the run
        value, note = None, f"{type(failure).__name__}: {failure}"
    if value is None or value == "":
        return None, f"{wanted}: {note}" if note else wanted
    return value, None


_FENCE = re.compile(r"```(?:json)?")
_OBJECT = re.compile(r"(?m)^[ \t]*(?=\{)")  # after "Here is my verdict:", too


def json_object(reply: str) -> dict[str, Any] | None:
    """The JSON object that a reply is or ends with; None if it has none, or a key twice."""
    before, _, _ = reply.partition("{")
    # Before thinking is left out: a string in the object may hold a tag.
    spoken, _, closed = split_thinking(before)
    begins = closed and not _FENCE.sub("", spoken).strip()
    for text in (reply[len(before) :] if begins else "", strip_thinking(reply)):
        text = _FENCE.sub("", text)
        with suppress(ValueError, RecursionError):
            if start := _OBJECT.search(text):
                value, end = _DECODER.raw_decode(text, start.end())
                if not _ANOTHER.search(text, end):  # a remark
                    return dict(value)
    return None


_DECODER = json.JSONDecoder(object_pairs_hook=unique_fields)


# ---- scores

# "½" is "1⁄2" after normalisation, a minus sign is not always a hyphen, "0.5²" is not 0.52.
_SIGNS = str.maketrans("⁄∕÷∶−⁰¹²³⁴⁵⁶⁷⁸⁹\r", "///:-^^^^^^^^^^\n", "\ufeff\u200b")
# "**Score:** $0.7$", "\\boxed{\\text{correct}}"
_DECOR = re.compile(r"[*_`$#{}]|\\(?:boxed|text(?:bf)?|[()\[\]])")
_NUMBER = r"-?(?:\d{1,6}(?:[.,]\d{1,20})?|\.\d{1,20})(?!\d)"
# "0.8", "[0.8]", "<0.8>", "8/10", "4 out of 5", "1 (of 10)", "80 %", "0.8分"
_VALUE = (
    rf"(?:<(?=[\d.]{{1,9}}>)|[\[(\"'“‹])?(?P<value>{_NUMBER})"
    rf"(?: ?(?P<percent>%)| {{0,3}}(?:/|\(?(?:out )?of) {{0,3}}(?P<of>{_NUMBER}))?"
    r"[>\])\"'”›分]{0,3}[ \t]{0,4}"
)
_NAME = r"(?:score|rating|分数|[得评打]分)"
_ANOTHER = re.compile(rf"[{{\d]|{_NAME}", re.IGNORECASE)
# "Score: ", "My final score is ", "<score>"; not "a score of 1 would need"
_STATED = re.compile(
    r"(?im)^[ \t\-•<\"]{0,8}(?:(?:final|overall|revised|corrected|my|the|最终|总|修正后的?) ?){0,2}"
    rf"{_NAME}[\"'>]{{0,2}}"
    r"[ \t]{0,4}(?:[:=]|(?:is|[为是]) ?:?|(?=[\d.]))[ \t]{0,4}"
    # "Score: 0.9 - very likely"; "Score: 1, if the premise held" is hypothetical.
    rf"{_VALUE}(?=$|</|[.。](?!\d)|(?:\(|(?:[,;—–]|- )(?! ?\d))"
    r"(?! ?(?:only |just )?(?:if|unless|were|assuming|provided|but|如果|若|除非|但)))"
)
_ALONE = re.compile(rf"(?im)^[ \t]*{_VALUE}[.。]?[ \t]*$")
# The range in "Score (0-1): 0.8", and in prompts that a reply repeats
_RANGE = re.compile(
    r"[\[(]?(?:from )?(?<![\d.])0(?:\.0)? ?(?:[-–,到至]|to) ?1(?:\.0)?(?!\.?\d)[\])]?"
)
# A decimal after the score may correct it, as may "Correction: 0"; any mention must agree with it.
_CORRECTION = re.compile(r"(?m)[.,/]\d|\d ?%|[:：] ?\d{1,3}[.。]?$")
_MENTION = re.compile(rf"(?i)(?<![\"'“‘「]){_NAME}(?: is|[为是])?[\s:：=]{{0,4}}({_NUMBER})")
# "1" may be one of ten: "Score: 1 (on a scale from 1 to 5)"
_OTHER_SCALE = re.compile(r"(?i)out of|scale|\bmax|满分|分制|(?:[-–/到]|to) ?(?:5|100?)\b")


def plain(reply: str) -> str:
    """What a reply says, without markup and with plain signs."""
    said = _DECOR.sub("", strip_thinking(reply.translate(_SIGNS)))
    return unicodedata.normalize("NFKC", said).translate(_SIGNS)


def parse_score(reply: str) -> float | None:
    """The score in [0, 1] that a reply states; None if there is none, none in range, or several.

    A "score" in JSON without another number; else lines that begin with a score ("Score: 0.8"),
    without a number after them that may correct it; else lines of only a number. In a sentence it
    may be denied.
    """
    fields = json_object(reply)
    if fields is not None:
        names = [name for name in ("score", "分数", "得分") if name in fields]
        score: Any = fields[names[0]] if names else ""
        if isinstance(score, str):
            return parse_score(score)
        kinds = [type(value) for name, value in fields.items() if name != "confidence"]
        alone = type(score) in (int, float) and kinds.count(int) + kinds.count(float) == 1
        scaled = score == 1 and _OTHER_SCALE.search(reply)
        return float(score) if alone and not scaled and 0 <= score <= 1 else None
    if _FENCE.sub("", strip_thinking(reply)).strip().startswith("{"):
        return None  # broken, or with a key twice
    text = _RANGE.sub("", plain(reply))
    found = [*_STATED.finditer(text)]
    if found and _CORRECTION.search(text, found[-1].end()):
        return None
    found = found or [*_ALONE.finditer(text)]
    values, other_scale = set(), _OTHER_SCALE.search(text)
    for each in found:
        value, most = (float((each[name] or "1").replace(",", ".")) for name in ("value", "of"))
        one = each["value"] == "1" and not (each["percent"] or each["of"])
        wrong = most <= 0 or (one and other_scale)
        values.add(-1.0 if wrong else value / (100 if each["percent"] else most))
    if {*_MENTION.findall(text)} - {each["value"] for each in found}:
        return None
    return max(values) if len(values) == 1 and 0 <= max(values) <= 1 else None
