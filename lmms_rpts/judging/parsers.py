"""Parsers of judge replies: scores in [0, 1] and verdicts of one word; strict, without guessing."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

from lmms_rpts.judging.request_kinds import SCORED, request_kinds
from lmms_rpts.judging.types import Reply, Request
from lmms_rpts.reasoning.thinking import strip_thinking


def read_reply(request: Request, reply: Reply) -> tuple[float | str | None, str | None]:
    """The value of a reply, or the reason why it has none."""
    kind = request_kinds()[request.kind]
    wanted = f"the judge's reply cannot be parsed as {kind.wanted}"
    if not reply.complete:
        made = f" after {reply.usage.output_tokens:,} tokens" if reply.usage else ""
        limit = reply.limit or request.most_tokens
        return None, f"{wanted}: it was cut off{made} (limit: {limit:,} tokens)"
    parse = request.parse or (parse_score if request.kind in SCORED else str.strip)
    text = reply.text
    if kind.words:
        # A reply in the requested schema; else the whole reply is parsed.
        fields = json_object(text) or {}
        verdict = fields.get("verdict") if fields.keys() <= {"reason", "verdict"} else None
        text = verdict if isinstance(verdict, str) else text
    try:
        value = parse(text)
    except Exception as failure:  # an error of a parser fails this reply, not the run
        return None, f"{wanted}: {type(failure).__name__}: {failure}"
    if value is None or value == "":
        return None, f"{wanted}: {reply.note}" if reply.note else wanted
    return value, None


def in_words(reply: str) -> str:
    """A judge's reply for people: of JSON the reason."""
    with suppress(ValueError, RecursionError, KeyError, TypeError):
        if isinstance(reason := json.loads(reply)["reason"], str) and reason.strip():
            return reason
    return reply


# An object without others inside, which fills whole lines: after "Here is my verdict:"
_FENCE = re.compile(r"```(?:json)?|\s")
_OBJECT = re.compile(r"^[ \t]*(\{[^{}]{1,8000}\})[ \t]*$", re.MULTILINE)


def json_object(reply: str) -> dict[str, Any] | None:
    """The JSON object that a reply is or ends with; None if it has none, or a key twice."""
    at = reply.find("{")
    # Before thinking is left out: a string in the object may hold a tag.
    whole = reply[at:] if at >= 0 and not _FENCE.sub("", strip_thinking(reply[:at])) else ""
    for text in (whole, strip_thinking(reply)):
        text = re.sub("```(?:json)?", "", text).strip()
        with suppress(ValueError, RecursionError):
            if text.startswith("{"):
                value, end = _DECODER.raw_decode(text)
                if not re.search(r"[{\d]", text[end:]):  # a remark, without another score
                    return dict(value)
                continue
            values = [_DECODER.decode(each) for each in _OBJECT.findall(text)]
            if values and all(each == values[0] for each in values):
                return dict(values[0])
    return None


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = value
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


# ---- scores

# "0٫5", "0。5", "1:10": digits after such a sign belong to a different number.
_NUMBER = (
    r"(?<![\d.,A-Za-z√])-?(?:\d{1,6}(?:[.,]\d{1,20})?|\.\d{1,20})(?:[eE]-?\d{1,2})?"
    r"(?!\d|[.,]\d|[A-Za-z]| ?[.·:点'٫\u0307‚。∙•] ?\d)"
)
# "½" is "1⁄2" after normalisation, "1 ÷ 2", too; a minus sign is not always a hyphen.
_SIGNS = str.maketrans("⁄∕÷∶−", "///:-")
_POWER = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]{1,9}")  # "0.5²" would be normalised to 0.52
_LEFT_OUT = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"[*_`$#]|\\boxed|\\text|[{}]", ""),
        # "a score from 0 to 1", "(0-1)", "[0, 1]", 0到1之间: the scale, not a score.
        (
            r"[(\[]?(?:(?<![A-Za-z])(?:from|between) |介于|从|在)?"
            r"(?<![\d.,])0(?:\.0)? ?(?:-|–|—|~|to|and|,|到|至|和|与) ?1(?:\.0)?(?!\d|[.,]\d)"
            r"(?:之间|的)?[)\]]?",
            " ",
        ),
        # "0.5 to 0.7" is not a score, and neither is either end.
        (rf"{_NUMBER} ?(?:-|–|—|~|to|到|至) ?{_NUMBER}", " "),
        # "<0.5" and "> 0.5" are bounds; neither "<0.5>" nor "<score>0.5</score>" is one.
        (rf"<({_NUMBER})>", r"\1"),
        (rf"(?:[≤≥<]|(?<![A-Za-z\"'-])>) ?{_NUMBER}", " "),
    )
]
# "8/10", "4 out of 5", "1 (of 10)", "80 %"
_VALUE = (
    rf"(?P<value>{_NUMBER})"
    rf"(?: ?(?P<percent>%)| {{0,3}}(?:/|\(?(?:out )?of) {{0,3}}(?P<of>{_NUMBER}))?"
)
# "Score: 0.8", "My final score is [0.8]", 最终得分为0.6, <score>0.8; not "a score of 1 would need"
_STATED = re.compile(
    r"^[ \t\-•<\"]{0,8}(?:(?:final|overall|revised|corrected|my|the|最终|总|修正后的?)[ \t]?){0,2}"
    r"(?:score|rating|分数|得分|评分|打分)[\"'>]{0,2}[ \t]{0,4}(?:is|was|为|是)?"
    rf"[ \t]{{0,4}}[:=]?[ \t]{{0,4}}[\[(\"'“‹]{{0,2}}{_VALUE}[>\])\"'”›分]{{0,3}}[ \t]{{0,4}}"
    # "Score: 1, if the premise held" is hypothetical.
    r"(?![(,;，；—–\- ]{1,3}(?:only |just )?"
    r"(?:if|would|unless|were|assuming|provided|but|如果|若|除非|但))(?=$|</|[(.,;。，；—–]|- )",
    re.IGNORECASE | re.MULTILINE,
)
# "0.8", "(0.8)", "80 %" on a line of its own
_ALONE = re.compile(rf"^[ \t\"'(<\[]*{_VALUE}[ \t\"'.。)>\]分]*$", re.IGNORECASE | re.MULTILINE)
_ANY = re.compile(_VALUE, re.IGNORECASE)
# "1" may be one of ten: 从0到10打分：1, "Score: 1 (on a scale from 1 to 5)"
_OTHER_SCALE = re.compile(
    r"out of|\bmax|满分|分制|percent|points?\b|(?:scale|from) (?:of |from )?1 ?(?:-|–|to) ?\d"
    r"|(?:scale|from|range|score|rating|rate|从|在|由|打分|评分|得分)[^\d\n]{0,16}"
    r"[01] ?(?:-|–|—|~|to|到|至) ?(?:[2-9]|\d{2,3})(?![\d.,]\d)",
    re.IGNORECASE,
)
# {"score": 1, "max_score": 10}: 1 of what?
_OTHER_TOTAL = re.compile(r"final|overall|total|max|scale", re.IGNORECASE)


def parse_score(reply: str) -> float | None:
    """Parse the score that a reply states.

    Parsed in this order: a "score" in JSON; lines that begin with a score ("Score: 0.8",
    得分：0.8), unless a decimal after it corrects it; lines that contain only a number. All numbers
    that are found must agree. A score in a sentence may be denied or hypothetical: it is none.
    Fractions ("8/10", "4 out of 5") and percentages are converted.

    Returns:
        A score in [0, 1]; None if there is none, none in range, or several.
    """
    fields = json_object(reply)
    if fields is not None:
        score = next((fields[name] for name in ("score", "分数", "得分") if name in fields), None)
        if isinstance(score, str):
            return parse_score(score)
        if isinstance(score, bool) or not isinstance(score, int | float):
            return None
        if any(map(_OTHER_TOTAL.search, fields)):
            return None
        return float(score) if 0 <= score <= 1 else None
    said = strip_thinking(reply)
    if _FENCE.sub("", said).startswith("{"):  # broken, or with a key twice
        return None
    text = unicodedata.normalize("NFKC", _POWER.sub("^", said)).translate(_SIGNS)
    for pattern, instead in _LEFT_OUT:
        text = pattern.sub(instead, text)
    for stated in (_STATED, _ALONE):
        scores = list(stated.finditer(text))
        if not scores:
            continue
        one = any(each["value"] == "1" and not (each["of"] or each["percent"]) for each in scores)
        if one and _OTHER_SCALE.search(said):
            return None
        if stated is _STATED:
            # A decimal after the score may correct it; a whole number may count anything.
            others = _ANY.finditer(text, scores[-1].end())
            scores += [each for each in others if not each[0].lstrip("-").isdigit()]
        values = {_in_range(each) for each in scores}
        return values.pop() if len(values) == 1 else None
    return None


def _in_range(match: re.Match[str]) -> float | None:
    value = float(match["value"].replace(",", "."))
    if match["percent"]:
        value /= 100
    elif match["of"]:
        whole = float(match["of"].replace(",", "."))
        value = value / whole if whole > 0 else -1.0
    return value if 0.0 <= value <= 1.0 else None


# ---- verdicts of one word

W = TypeVar("W", bound=str)

# Characters of a line that may be a verdict: longer ones are sentences, and patterns stay fast
_LONGEST_LINE = 120
_DECOR = r"(?:[\s*_`#\"“”'(\[{]|\\boxed\{|\\text(?:bf)?\{)*"
# "Incorrect.**", "\\boxed{correct}", “错误”。
_CLOSING = r"[\s*_`\"“”'.。!)\]}]*"
# "**Verdict:** Correct", "### Final verdict: `correct`", "Verdict: \\boxed{\\text{incorrect}}"
_VERDICT = rf"(?:[-•]\s)?{_DECOR}(?:final |最终)?(?:verdict|判定){_DECOR}(?::|is\b|为|是)"
# "Therefore, the final answer is: `<Yes>`.", "My judgement: <No>", 所以，<No>
_NAMED = (
    rf"(?:[-•]\s(?!\W*<))?{_DECOR}(?:(?:so|thus|hence|therefore)[, ]+|(?:因此|所以|故)[, ]?)?"
    r"(?:(?:(?:the|my|final|最终) ?)*"
    r"(?:verdict|answer|judge?ment|decision|comparison|conclusion|result|判定|判断|答案|比较|结论)"
    rf"{_DECOR}(?::|is\b:?|[为是]:?))?"
)
# A verdict in a line of its own follows a sentence that has ended.
_ENDS = (".", "。", "!", ":", ")", "”", '"', "*")
_MARK = re.compile(r"<(yes|no)>")
_MARKED = re.compile(rf"{_NAMED}{_DECOR}<(?:yes|no)>{_CLOSING}")
_BARE = re.compile(rf"{_DECOR}(yes|no){_CLOSING}")
# "No, they differ. <Yes>": the sentence before the mark says the opposite
_OPENING_WORD = re.compile(r"(?:^|[.。!?:,;])\s*(yes|no)\s*(?=[.。!?:,;])")
# "<Yes> or" above "<No>": the instructions, repeated
_OR = re.compile(r"(?:\bor|/|\||或)$")


def parse_yes_no(reply: str) -> str | None:
    """``yes`` or ``no``; None if the reply does not end with one of them.

    The last line must end with one mark, <Yes> or <No>, which is alone, after a label or after a
    complete sentence; or the line is the bare word. A mark does not count within a sentence ("I
    can't say <Yes>"), with text after it, or with the other mark next to it or directly above it.
    """
    lines = _lines(reply)
    word = _mark(lines[-1])
    if word is None and (bare := _BARE.fullmatch(lines[-1][: _LONGEST_LINE + 1])):
        word = bare[1] if _stands_alone(lines) else None
    above = next((line for line in reversed(lines[:-1]) if line), "")
    return word if _mark(_OR.sub("", above).rstrip()) in (None, word) else None


def _mark(line: str) -> str | None:
    """The word of the only mark of a line, if the line ends with it."""
    mark = _MARK.search(line)
    if mark is None:
        return None
    head, word, tail = line[: mark.start()], mark[1], line[mark.end() :]
    if len(line) <= _LONGEST_LINE and _MARKED.fullmatch(line):
        return word
    if tail.strip("*_`.。! ") or not head.rstrip("*_` \t").endswith((".", "。", "!", "?")):
        return None
    return word if all(other == word for other in _OPENING_WORD.findall(head)) else None


def _parser(verdicts: Mapping[W, str]) -> Callable[[str], W | None]:
    """A parser of one of these words, in English or Chinese; None if a reply ends otherwise.

    The last line must be the verdict and nothing else: "Verdict: correct" (判定：正确), or the word
    alone. Other text after or next to a verdict may retract it: then the request is retried.
    """
    words: dict[str, W] = {word: word for word in verdicts}
    for word, more in verdicts.items():
        words |= dict.fromkeys(more.split("|"), word)
    line = re.compile(rf"(?P<label>{_VERDICT})?{_DECOR}(?P<word>{'|'.join(words)}){_CLOSING}")

    def parse(reply: str) -> W | None:
        lines = _lines(reply)
        verdict = line.fullmatch(lines[-1][: _LONGEST_LINE + 1])
        alone = verdict is not None and (verdict["label"] or _stands_alone(lines))
        return words[verdict["word"]] if verdict and alone else None

    return parse


Mistake = Literal["perception", "reasoning", "calculation", "reject"]
_MISTAKES: Mapping[Mistake, str] = {
    "perception": "感知",
    "reasoning": "推理",
    "calculation": "计算",
    "reject": "拒答",
}
parse_mistake = _parser(_MISTAKES)
parse_grade = _parser({"correct": "正确", "incorrect": "不正确|错误"})
parse_consistency = _parser({"consistent": "一致", "inconsistent": "不一致"})
parse_pretended = _parser({"pretended": "假装", "none": "没有"})


def _lines(reply: str) -> list[str]:
    """The lines of a reply, folded, up to the last one with content; at least one."""
    said = unicodedata.normalize("NFKC", strip_thinking(reply)).lower()
    lines = ["", *(line.strip() for line in said.splitlines())]
    while len(lines) > 1 and set(lines[-1]) <= set("`}"):  # blank lines, and closing fences
        lines.pop()
    return lines


def _stands_alone(lines: Sequence[str]) -> bool:
    """Whether the last line, a word without a label, is separate from the text before it."""
    before = next((line for line in reversed(lines[:-1]) if line), "")[-_LONGEST_LINE:]
    if label := re.match(_VERDICT, before):
        return not before[label.end() :].strip("*_` ")
    return not before or not lines[-2] or before.endswith(_ENDS)
