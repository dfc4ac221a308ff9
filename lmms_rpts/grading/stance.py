"""Agree or disagree: the stance that a response takes towards a statement.

The rules read plain stances only and must never reverse one. What is stated in other words is left
to a judge; a response that takes no side states no answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lmms_rpts.grading.statement import gives_up, is_struck, retracts
from lmms_rpts.reasoning import Answer, find_answer, find_marked_answer
from lmms_rpts.reasoning.answers import MARKER, OPTIONS, SENTENCE_END, is_plain_stance
from lmms_rpts.reasoning.mentions import fold_width

_FRAME = " \t\u3000*_\"'`$#“”.。!！:\n"
# "agree</s>", "I hope this helps."
_IGNORED = re.compile(
    r"<\|[a-z_]{1,20}\|>|</?s>|(?:^|(?<=[.!。！\n]))\s{0,9}(?:let me know|feel free"
    r"|i hope|hope (?:this|that|it)|thank(?:s| you)|please let|if you have|希望|如有|谢谢|感谢)"
    r"[^\n]{0,200}$",
    re.IGNORECASE,
)
_MACRO = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|boxed)\s?\{([^{}]{0,200})\}")
_AGREE = ("agree", "agreed", "agreement", "yes", "同意", "赞成", "正确", "对")
_DISAGREE = ("disagree", "disagreed", "disagreement", "no", "不同意", "不赞成", "反对", "错误")
_WORDS: dict[str, Answer] = {
    **dict.fromkeys(_AGREE, "agree"),
    **dict.fromkeys(_DISAGREE, "disagree"),
}
# A whole final answer in one word, in any brackets: "(agree)", 「同意」
_ONE_WORD = re.compile(
    rf"[\s*_\"'`$“(\[【「『<]{{0,8}}({'|'.join(sorted(_WORDS, key=len, reverse=True))})"
    r"[\s*_\"'`$”)\]】」』>.。!！]{0,8}(?:\n|$)",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:i (?:take|retract|withdraw)|not sure|unsure|maybe)\b|[-=]>|→|⇒|不对|更正|作废|撤回",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"^(?:\\(?:boxed|text\w*)|[\W_])*(?:[A-Za-z]+|[\u4e00-\u9fff]+)")
_SIDE = re.compile(
    r"(?<![a-z])(?:dis)?agree(?:s|d|ment)?(?![a-z])|同意(?!见)|赞[同成]|认同|反对"
    r"|(?:statement|claim|陈述|说法|观点|命题).{0,200}(?:true|false|correct|right|wrong|valid|holds?"
    r"|support|contradict|refute|正确|成立|属实|支持|对|错)"
    r"|(?:contradict|support|refute)\w{0,5}\s.{0,200}(?:statement|claim)"
    r"|^(?:\W*(?:yes|no|true|false)\b|[\w ]{0,20}[:：=]? ?(?:[是否真假对错]|正确|错误)$)"
    r"|支持.{0,20}陈述",
    re.IGNORECASE,
)
_NO_SIDE = re.compile(
    r"\b(?:whether|unclear|unknown|unsure|uncertain|inconclusive|n/a|not enough"
    r"|(?:can(?:not|['’]t| not)|unable to) (?:\w{1,12} ){0,2}?"
    r"(?:tell|decide|say|determine|judge|answer|help|agree or))\b|^none$|[?？]$"
    r"|是否|还是|无法(?!支持|同意|赞|认同)|不确定",
    re.IGNORECASE,
)


class Stance(NamedTuple):
    """The stance of a response.

    Attributes:
        answer: None if the rules cannot read it, or none is stated.
        words: the words of a stance that the rules cannot read; empty if none is stated.
    """

    answer: Answer | None
    words: str


def read_stance(response: str, *, marked_only: bool = False) -> Stance:
    """The stance that a response takes.

    Args:
        response: any text, without thinking.
        marked_only: read only an answer after a mark such as "Final answer:", as in thinking.
    """
    raw = fold_width(_IGNORED.sub("", response.rstrip()))
    text = _MACRO.sub(r"\1", raw)
    answer = find_marked_answer(raw) if marked_only else find_answer(raw)
    marks = list(MARKER.finditer(text))
    if answer is None and marks and not marked_only:
        after = text[marks[-1].end() :]
        word = _ONE_WORD.match(after)
        alone = word is not None and not after[word.end() :].strip()
        if word and alone and _leads_up(text, marks[-1].start()):
            answer = _WORDS[word[1].lower()]
    if answer in ("agree", "disagree") and _takes_back(raw):
        return Stance(None, _stated(text) or answer)
    return Stance(answer, "" if answer else _stated(text))


def _leads_up(text: str, start: int) -> bool:
    """Whether only words of introduction stand before a mark in its line: "My final answer:"."""
    line = text[:start].rsplit("\n", 1)[-1][-200:]
    return (
        re.fullmatch(
            r"(?:.*[.!。！;；])?[\W_]*(?:(?:so|therefore|thus|my|the|因此|所以|我的)[\W_]*){0,3}",
            line,
            re.I,
        )
        is not None
    )


def _takes_back(text: str) -> bool:
    """Whether the text after the last marked answer retracts it."""
    marks = list(MARKER.finditer(text))
    if not marks:
        return False
    after = _FIRST_WORD.sub("", text[marks[-1].end() :][:2_000], count=1)
    return retracts(after) or _TAKEN_BACK.search(after) is not None or is_struck(after)


def _stated(text: str) -> str:
    """The words of a stance in any form: those after the last mark, or of the last sentences."""
    text = OPTIONS.sub(" ", text)
    marks = list(MARKER.finditer(text))
    if marks:
        words = text[marks[-1].end() :][:200].strip(_FRAME).split("\n", 1)[0]
        in_prose = re.fullmatch(r"(?:answer|verdict|stance).*is", marks[-1][0], re.IGNORECASE)
        told = re.search(r"\w", words) and not _takes_no_side(words)
        if told and (not in_prose or len(words.split()) < 3):
            return words
    said = [part.strip(_FRAME) for part in SENTENCE_END.split(text[-4_000:])]
    said = [part for part in said if part]
    for part in said[-2:]:
        clause = re.split(r"\bbut\b|但", part)[-1]
        if _SIDE.search(clause) and not _takes_no_side(clause):
            return part
    return said[0] if said and is_plain_stance(said[0]) and not _takes_no_side(said[0]) else ""


def _takes_no_side(words: str) -> bool:
    return _NO_SIDE.search(words) is not None or (gives_up(words) and not _SIDE.search(words))
