"""Parsers of judge replies: scores in [0, 1] and verdicts of one word; strict, without guessing."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from lmms_rpts.base.rows import unique_fields
from lmms_rpts.judging.request_kinds import KINDS, SCORED
from lmms_rpts.judging.types import Reply, Request
from lmms_rpts.reasoning.thinking import strip_thinking


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
    begins = not _FENCE.sub("", strip_thinking(before)).strip()
    for text in (reply[len(before) :] if begins else "", strip_thinking(reply)):
        text = _FENCE.sub("", text)
        with suppress(ValueError, RecursionError):
            if start := _OBJECT.search(text):
                value, end = _DECODER.raw_decode(text, start.end())
                if not re.search(r"[{\d]", text[end:]):  # a remark, without another score
                    return dict(value)
    return None


_DECODER = json.JSONDecoder(object_pairs_hook=unique_fields)


# ---- scores

# "½" is "1⁄2" after normalisation, a minus sign is not always a hyphen, "0.5²" is not 0.52.
_SIGNS = str.maketrans("⁄∕÷∶−⁰¹²³⁴⁵⁶⁷⁸⁹", "///:-^^^^^^^^^^")
# "**Score:** $0.7$", "\\boxed{\\text{correct}}"
_DECOR = re.compile(r"[*_`$#{}]|\\(?:boxed|text(?:bf)?)")
_NUMBER = r"-?(?:\d{1,6}(?:[.,]\d{1,20})?|\.\d{1,20})(?!\d)"
# "0.8", "[0.8]", "<0.8>", "8/10", "4 out of 5", "1 (of 10)", "80 %", "0.8分"
_VALUE = (
    rf"(?:<(?=[\d.]{{1,9}}>)|[\[(\"'“‹])?(?P<value>{_NUMBER})"
    rf"(?: ?(?P<percent>%)| {{0,3}}(?:/|\(?(?:out )?of) {{0,3}}(?P<of>{_NUMBER}))?"
    r"[>\])\"'”›分]{0,3}[ \t]{0,4}"
)
# "Score: ", "My final score is ", "Score (0-1): ", "<score>"; not "a score of 1 would need"
_STATED = re.compile(
    r"(?im)^[ \t\-•<\"]{0,8}(?:(?:final|overall|revised|corrected|my|the|最终|总|修正后的?) ?){0,2}"
    r"(?:score|rating|分数|得分|评分|打分)[\"'>]{0,2}"
    r"(?: ?[\[(]?(?:from )?0(?:\.0)? ?(?:[-–,]|to|到) ?1(?:\.0)?[\])]?)?"
    r"[ \t]{0,4}(?:[:=]|(?:is|was|[为是]) ?:?|(?=[\d.]))[ \t]{0,4}"
    # "Score: 0.9 - very likely"; "Score: 1, if the premise held" is hypothetical.
    rf"{_VALUE}(?=$|</|[.。](?!\d)|(?:\(|(?:[,;—–]|- )(?!\d))"
    r"(?! ?(?:only |just )?(?:if|unless|were|assuming|provided|but|如果|若|除非|但)))"
)
_ALONE = re.compile(rf"(?im)^[ \t]*{_VALUE}[.。]?[ \t]*$")
# A decimal after the score may correct it; a whole number may count anything.
_CORRECTION = re.compile(r"[.,/]\d|\d ?%")
# "1" may be one of ten: "Score: 1 (on a scale from 1 to 5)"; {"score": 1, "max_score": 10}
_OTHER_SCALE = re.compile(r"(?i)out of|scale|\bmax|满分|分制|(?:[-–到]|to) ?(?:5|10|100)\b")


def _plain(reply: str) -> str:
    """What a reply says, without markup and with plain signs."""
    said = _DECOR.sub("", strip_thinking(reply)).translate(_SIGNS)
    return unicodedata.normalize("NFKC", said).translate(_SIGNS)


def parse_score(reply: str) -> float | None:
    """The score in [0, 1] that a reply states; None if there is none, none in range, or several.

    A "score" in JSON; else lines that begin with a score ("Score: 0.8"), without a decimal after
    them that may correct it; else lines of only a number. In a sentence it may be denied.
    """
    fields = json_object(reply)
    if fields is not None:
        score = next((fields[name] for name in ("score", "分数", "得分") if name in fields), None)
        if isinstance(score, str):
            return parse_score(score)
        others = re.search("final|overall|total|max|scale", " ".join(fields).lower())
        if isinstance(score, bool) or not isinstance(score, int | float) or others:
            return None
        return float(score) if 0 <= score <= 1 else None
    if _FENCE.sub("", strip_thinking(reply)).strip().startswith("{"):
        return None  # broken, or with a key twice
    text = _plain(reply)
    found = [*_STATED.finditer(text)]
    if found and _CORRECTION.search(text, found[-1].end()):
        return None
    values, other_scale = set(), _OTHER_SCALE.search(text)
    for each in found or _ALONE.finditer(text):
        value, most = (float((each[name] or "1").replace(",", ".")) for name in ("value", "of"))
        one = each["value"] == "1" and not (each["percent"] or each["of"])
        wrong = most <= 0 or (one and other_scale)
        values.add(-1.0 if wrong else value / (100 if each["percent"] else most))
    return max(values) if len(values) == 1 and 0 <= max(values) <= 1 else None


# ---- verdicts of one word
_LONGEST_LINE = 120  # characters: longer lines are sentences, and patterns stay fast
_OPENING, _CLOSING = r"[\s\"“”'(\[]*", r"[\s\"“”'.。!)\]]*"
# "Verdict: Correct", "Final verdict: correct", 判定为正确
_VERDICT = r"(?:[-•]\s)?\s*(?:the |final |最终)*(?:verdict|判定)\s*(?::|is\b|为|是)"
# "Both say 5. <Yes>", "Therefore, the final answer is: <Yes>.", 所以，<No>: as on its own line
_MARK = re.compile(
    r"(?m)^((?:(?:so|thus|hence|therefore|因此|所以|故)\b,? ?)?(?:(?:(?:the|my|final|最终) ?){0,3}"
    r"(?:answer|judge?ment|判断|答案)(?: is|[为是])?:?)?|.*[.。!?])[ \t]*(?=<(?:yes|no)>[.。! ]*$)"
)
# What the line above a mark says: "<Yes> or", "No, they differ."
_SAID = re.compile(r"<(?:yes|no)>|(?:(?<=^)|(?<=[.。!?:,;\s]))(?:yes|no)(?=[.。!?:,;])")


def verdict_parser(verdicts: Mapping[str, str]) -> Callable[[str], str | None]:
    """A parser of one of these words, in English or Chinese; None if a reply ends otherwise.

    The last line must be the verdict and nothing else: "Verdict: correct", or the word alone; a
    mark (<Yes>) may follow a sentence that does not say the opposite. Other text may retract it.
    """
    words = {each: word for word, more in verdicts.items() for each in (word, *more.split("|"))}
    line = re.compile(rf"(?P<label>{_VERDICT})?{_OPENING}(?P<word>{'|'.join(words)}){_CLOSING}")

    def parse(reply: str) -> str | None:
        said = _MARK.sub(r"\1\n", _plain(reply).lower()).strip()
        *lines, last = ["", *(each.strip() for each in said.splitlines())]
        if not (verdict := line.fullmatch(last[: _LONGEST_LINE + 1])):
            return None
        word = words[verdict["word"]]
        above = next((each for each in reversed(lines) if each), "")[-_LONGEST_LINE:]
        if verdict["word"].startswith("<"):
            alone = {each.strip("<>") for each in _SAID.findall(above)} <= {word}
        elif label := re.match(_VERDICT, above):
            alone = not above[label.end() :].strip()
        else:
            # It follows a sentence that has ended.
            alone = not lines[-1] or above.endswith(tuple('.。!:)”"'))
        return word if alone or verdict["label"] else None

    return parse


parse_yes_no = verdict_parser({"yes": "<yes>", "no": "<no>"})
