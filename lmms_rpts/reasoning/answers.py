"""The final answer of a response, by rules: agree, disagree, or undetermined."""

from __future__ import annotations

import re
from typing import Literal

from lmms_rpts.reasoning.mentions import fold_width

Answer = Literal["agree", "disagree", "undetermined"]

_TAIL = 4000
_LAST_SENTENCES = 4

_ECHO = re.compile(
    r"\b(?:whether|if) (?:\w{1,20} ){1,3}agree\b(?! with)[^.\n]{0,40}"
    r"|\bagree(?:s|d)?[\"'”*]{0,3} ?(?:or|/|and|,) ?[\"'“*]{0,3}(?:not|disagree(?:s|d)?)\b"
    r"|\bdisagree[\"'”*]{0,3} ?(?:or|/) ?[\"'“*]{0,3}agree\b"
    r"|是否(?:同意|支持|赞同|成立|正确)"
    r"|(?:同意|赞同)[\"”]?(?:或者?|还是|/|、|与)[\"“]?(?:不同意|反对)"
    r"|不同意[\"”]?(?:或者?|还是|/)[\"“]?同意"
    r"|支持(?:或者?|还是|/)(?:不支持|反对)",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"neither agree nor disagree|\bundetermined\b|\buncertain\b|\binconclusive\b|\bunsure\b"
    r"|(?:can(?:not| not|'t)|could not|unable to|impossible to) (?:be )?"
    r"(?:determine|decide|tell|say|conclude|judge)"
    r"|(?:not enough|insufficient) (?:information|evidence)"
    r"|(?:无法|不能|难以)(?:判断|确定|得出|断定|判定)|不确定|信息不足|证据不足",
    re.IGNORECASE,
)
_NOT = (
    r"\b(?:not|never|cannot|can't|can’t|don't|don’t|doesn't|doesn’t|didn't|won't|wouldn't|isn't"
    r"|isn’t|aren't|unable to|fails? to|failed to|no longer|no reason to|hard to|nothing)"
    r"(?: \w{1,20}){0,2} "
)
_NOT_ZH = (
    r"(?:并不|并非|并未|不太|不能够?|不会|不应该?|不可|无法|没有|未能|难以|不|未|非)"
    r"(?:完全|再|是|能)?"
)
_STATEMENT = (
    r"\b(?:statement|claim|assertion|proposition)\b[^.!?\n]{0,40}?\b(?:is|was|are|holds?)\b"
)
_STANCES: tuple[tuple[str, int], ...] = (
    # (pattern, stance: 1 agree, -1 disagree, 0 no stance although the words stand there)
    (
        r"\b(?:do not|don't|don’t) (?:think|believe)[^.!?\n]{0,60}\b(?:true|correct|right|valid)\b",
        -1,
    ),
    (_NOT + r"disagree\w{0,4}", 1),
    (_NOT + r"(?:contradict|refute|oppose|reject)\w{0,4}", 0),
    (_NOT + r"(?:agree|support|endorse|confirm)\w{0,4}", -1),
    (r"\bdisagree\w{0,5}|\b(?:contradict|refute|oppose|reject)(?:s|ed)?\b|\bunsupported\b", -1),
    (r"\b(?:agree|support|endorse|confirm)(?:s|d|ed|ment)?\b", 1),
    (_STATEMENT + r" (?:not|n't) (?:\w{1,20} )?(?:true|correct|valid|right|supported)\b", -1),
    (_STATEMENT + r" (?:\w{1,20} )?(?:false|incorrect|wrong|untrue|invalid)\b", -1),
    (_STATEMENT + r" (?:\w{1,20} )?(?:true|correct|valid|right)\b", 1),
    (r"不反对", 1),
    (_NOT_ZH + r"(?:同意(?!见)|赞同|赞成|认同|支持|成立|正确|属实|认可)", -1),
    (
        r"不同意(?!见)|反对|驳斥|(?:陈述|说法|命题|论断|该句)[^。\n]{0,8}(?:错误|不对|有误|为假|是假)",
        -1,
    ),
    (r"(?<!不)同意(?!见)|赞同|赞成|认同|支持|成立|属实", 1),
    (r"(?:陈述|说法|命题|论断)[^。\n]{0,8}(?:正确|为真|是真|是对)", 1),
)
_STANCE = re.compile(
    "|".join(f"(?P<s{k}>{pattern})" for k, (pattern, _) in enumerate(_STANCES)), re.IGNORECASE
)
_MARKER = re.compile(
    r"(?:final answer|answer|final verdict|verdict|final stance|stance|final decision|conclusion"
    r"|最终答案|最终回答|最终结论|答案|回答|结论)"
    r"[*_\"'` ]{0,4}(?:is\b|[:：]|是|为)[\s*_\"'`$:：]{0,12}(?:\\boxed\{|\\text\{|<answer>){0,2}"
    r"(?P<answer>[^\n]{0,200})",
    re.IGNORECASE,
)
_BOXED = re.compile(r"(?:\\boxed\{|<answer>)\s{0,4}(?:\\text\{)?(?P<answer>[^\n}<]{0,60})", re.I)
_STATED = re.compile(
    r"(?:(?:so|therefore|thus|hence|overall|in conclusion|consequently),? )?I (?:\w{1,20} ){0,2}?"
    r"(?:(?:do not|don't|don’t|cannot|can't|can not) )?(?:agree|disagree|support)"
    r"(?: with (?:it|this|that|the (?:given )?statement)| (?:it|this|the statement))?"
    r"|(?:因此|所以|综上|综上所述|故|总之)?[，,]?我?(?:不能|并不|不)?(?:同意|支持|赞同|反对)"
    r"(?:该|这个?|此|上述)?(?:陈述|说法|观点|命题)?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？；\n]+")


def find_answer(text: str) -> Answer | None:
    """The stance that a response ends with, None if the rules can't tell.

    Looked for, in this order: after the last marker such as "Final answer:" or 最终答案 that a
    stance follows; in a box; in the last sentences. ``undetermined`` is returned only where the
    text says that it can't be decided.
    """
    text = fold_width(text)
    for pattern in (_MARKER, _BOXED):
        for match in reversed(list(pattern.finditer(text))):
            answer = _stance(match["answer"], first_wins=True)
            if answer:
                return answer
    sentences = [part for part in _SENTENCE_END.split(text[-_TAIL:]) if part.strip()]
    for sentence in reversed(sentences[-_LAST_SENTENCES:]):
        answer = _stance(sentence, first_wins=False)
        if answer:
            return answer
    return None


def is_answer_line(line: str) -> bool:
    """Whether a line states the final answer and nothing else of weight."""
    stripped = line.strip(" \t\u3000*_#>-`\"'")
    match = _MARKER.match(stripped)
    if match:
        return _stance(match["answer"], first_wins=True) is not None or not match["answer"].strip()
    bare = stripped.strip(".。!！ ").lower()
    return bare in {"agree", "disagree"} or _STATED.fullmatch(bare) is not None


def _stance(text: str, *, first_wins: bool) -> Answer | None:
    text = _ECHO.sub(" ", text)
    if _UNSURE.search(text):
        return "undetermined"
    stances = []
    for match in _STANCE.finditer(text):
        group = match.lastgroup
        assert group is not None
        stances.append(_STANCES[int(group[1:])][1])
    if not stances or 0 in stances:
        return None
    if not first_wins and len(set(stances)) > 1:
        return None
    return "agree" if stances[0] > 0 else "disagree"
