"""The final answer of a response, by rules: agree, disagree, or undetermined.

Rules must never turn an answer round: where negations, conditions or several stances make a
sentence hard to read, they say nothing, and a judge is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from lmms_rpts.reasoning.mentions import fold_width

Answer = Literal["agree", "disagree", "undetermined"]
_Reading = Literal["agree", "disagree", "undetermined", "unclear"]

_TAIL = 4000
_LAST_SENTENCES = 4
_SHORT_EN, _SHORT_ZH = 40, 12

# The question said again ("agree or disagree"), and both of the lines that our prompts offer.
_ECHO = re.compile(
    r"\b(?:whether|if) (?:\w{1,20} ){1,3}agree\b(?! with)[^.\n]{0,40}"
    r"|\bagree(?:s|d)?[\"'”*]{0,3}[,，]? ?(?:or|/|and):? ?(?:final answer: ?)?[\"'“*]{0,3}"
    r"(?:not|disagree(?:s|d)?)\b"
    r"|\bdisagree[\"'”*]{0,3},? ?(?:or|/):? ?(?:final answer: ?)?[\"'“*]{0,3}agree\b"
    r"|是否(?:同意|支持|赞同|成立|正确)"
    r"|(?:同意|赞同)[\"”]?，?(?:或者?|还是|/|、|与)：?(?:最终答案：)?[\"“]?(?:不同意|反对)"
    r"|不同意[\"”]?，?(?:或者?|还是|/)：?(?:最终答案：)?[\"“]?同意"
    r"|支持(?:或者?|还是|/)(?:不支持|反对)",
    re.IGNORECASE,
)


def _english(*words: str) -> str:
    return rf"(?<![A-Za-z])(?:{'|'.join(words)})(?![A-Za-z])"


_TOKENS = {
    "unsure": _english(
        "neither agree nor disagree",
        "undetermined",
        "uncertain",
        "inconclusive",
        "unsure",
        r"(?:can(?:not| not|['’]t)|could not|unable to|impossible to) (?:be )?"
        r"(?:determined?|decided?|tell|told|say|concluded?|judged?)",
        "(?:not enough|insufficient) (?:information|evidence)",
    )
    + r"|(?:无法|不能|难以)(?:判断|确定|得出|断定|判定)|不确定|信息不足|证据不足",
    "disagree": _english("disagree[ds]?") + "|反对",
    "agree": _english("agree[ds]?") + "|同意(?!见)|赞同|赞成|认同",
    "refute": _english("(?:contradict|refute|oppose|reject)(?:e?d|s)?", "unsupported")
    + "|驳斥|矛盾",
    "support": _english("(?:support|endorse|confirm)(?:e?d|s)?", "support for") + "|支持|证实",
    "false": _english("false", "incorrect", "wrong", "untrue", "invalid")
    + "|错误|不对|有误|为假|不实",
    "true": _english("true", "correct", "right", "valid", "holds?") + "|正确|成立|属实|为真|是真",
    "not": _english(
        "not",
        "never",
        "cannot",
        "no(?!,)",
        "none",
        "neither",
        "nor",
        "nothing",
        "nobody",
        "without",
        "lacks?",
        "unable",
        "fail(?:s|ed)?",
        "hardly",
        "barely",
        "hard",
        "insufficient",
        "doubt",
    )
    + r"|(?<=[a-z])n['’]t(?![A-Za-z])"
    + "|不(?!过|仅|但|管|论|同(?!意))|没有?|无(?!论)|未(?!来)|非(?!常)|难|缺乏",
    "stop": r"[.;:!?。；：！？]|"
    + _english("but", "because", "since", "therefore", "so", "hence", "thus")
    + "|但是?|因为|所以|因此|可是|然而",
    "comma": "[,，、]",
}
_TOKEN = re.compile(
    "|".join(f"(?P<{name}>{pattern})" for name, pattern in _TOKENS.items()), re.IGNORECASE
)
_POSITIVE = ("agree", "support", "true")
_REACH_EN, _REACH_ZH = 45, 10

_STATEMENT = re.compile(
    r"\b(?:statement|claim|assertion|proposition)\b|陈述|说法|命题|论断|观点|该句", re.IGNORECASE
)
_SPEAKER = re.compile(r"\b(?:I|we)\b|我", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|whether|would|could|might|unless)\b|如果|假如|若|是否|倘若", re.I)

_OPEN = (
    r"[*_\"'` ]{0,4}(?:is\b:?|[:：]|是|为)[\s*_\"'`$:：]{0,12}(?:\\boxed\{|\\text\{|<answer>){0,2}"
)
_FINAL = re.compile(
    r"(?:final (?:answer|verdict|stance|decision|judge?ment)|最终答案|最终回答|最终结论)"
    + _OPEN
    + r"(?P<answer>[^\n]{0,200})",
    re.IGNORECASE,
)
_BOXED = re.compile(r"(?:\\boxed\{|<answer>)\s{0,4}(?:\\text\{)?(?P<answer>[^\n}<]{0,60})", re.I)
_PLAIN = re.compile(
    r"(?:(?<![A-Za-z])(?:answer|verdict|stance)|答案|回答)" + _OPEN + r"(?P<answer>[^\n]{0,200})"
    r"|(?:(?<![A-Za-z])conclusion|结论)[*_ ]{0,4}[:：](?P<last>[^\n]{0,200})",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？；\n]+")


def find_answer(text: str) -> Answer | None:
    """The stance that a response ends with, None if the rules can't tell.

    Looked for, in this order: after the last "Final answer:" or 最终答案 that a stance follows; in
    a box; after the last "Answer:"; in the last sentences. ``undetermined`` is returned only
    where the text says that it can't be decided.
    """
    text = _ECHO.sub(" ", fold_width(text))
    for pattern in (_FINAL, _BOXED, _PLAIN):
        for match in reversed(list(pattern.finditer(text))):
            answer = _after_marker(_answer_part(match))
            if answer:
                return answer
    sentences = [part for part in _SENTENCE_END.split(text[-_TAIL:]) if part.strip()]
    for sentence in reversed(sentences[-_LAST_SENTENCES:]):
        answer = _in_sentence(sentence)
        if answer:
            return answer
    return None


def _answer_part(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.get("answer") or groups.get("last") or ""


def _after_marker(text: str) -> Answer | None:
    """The first stance decides: what follows is its reason."""
    for _, reading in _readings(text):
        return None if reading == "unclear" else reading
    return None


def _in_sentence(sentence: str) -> Answer | None:
    """The stance that a sentence takes on the statement, if it takes one and only one."""
    about = _STATEMENT.search(sentence) is not None
    stated = about or _is_short(sentence)
    spoken = stated or _SPEAKER.search(sentence) is not None
    found: set[_Reading] = {
        reading
        for word, reading in _readings(sentence)
        if (spoken if word in ("agree", "disagree") else stated or word == "unsure")
    }
    if len(found) != 1 or _CONDITION.search(sentence):
        return None
    reading = found.pop()
    return None if reading == "unclear" else reading


def _is_short(sentence: str) -> bool:
    return len(sentence) <= (_SHORT_EN if sentence.isascii() else _SHORT_ZH)


def _readings(text: str) -> Iterator[tuple[str, _Reading]]:
    """Each stance of a text: its kind of word, and what it comes to."""
    negations: list[re.Match[str]] = []
    comma = -1
    for match in _TOKEN.finditer(text):
        word = match.lastgroup
        assert word is not None
        if word == "not":
            negations.append(match)
        elif word == "stop":
            negations = []
        elif word == "comma":
            comma = match.start()
        elif word == "unsure":
            yield word, "undetermined"
        else:
            near = [each for each in negations if _reaches(each, match.start())]
            yield word, _polarity(word, near, comma)


def _reaches(negation: re.Match[str], position: int) -> bool:
    reach = _REACH_EN if negation[0].isascii() or "’" in negation[0] else _REACH_ZH
    return position - negation.end() <= reach


def _polarity(word: str, negations: list[re.Match[str]], comma: int) -> _Reading:
    if not negations:
        return "agree" if word in _POSITIVE else "disagree"
    if len(negations) > 1 or comma > negations[-1].start():
        return "unclear"
    if word in _POSITIVE:
        return "disagree"
    # Not to contradict is not yet to agree.
    return "agree" if word == "disagree" else "unclear"
