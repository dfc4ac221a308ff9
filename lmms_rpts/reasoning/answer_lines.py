"""Plain stances ("I disagree"), and lines that state the final answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from lmms_rpts.base.escaping import lower
from lmms_rpts.reasoning.clues import FULL_WIDTH, find_mentions

Answer = Literal["agree", "disagree", "undetermined"]

UNDETERMINED: Answer = "undetermined"
"""The value of an answer if none was found, or if it takes no side."""
IsAnswer = Callable[[str], bool]
"""Whether a line states the final answer and no other content."""

# Stances in plain words. The rules must never reverse one: other words are left to a judge.
_SO = (
    r"(?:(?:and |so|therefore|thus|hence|overall|consequently|accordingly|in conclusion"
    r"|in the end|finally|yes|no),? )?"
)
# 因此, 综上所述, 根据以上推理, 我认为
_SO_ZH = (
    r"(?:(?:因此|因而|所以|综上所述|综上|故|总之|最终|最后|由此可见|由此|可见|于是|从而|我们?认为"
    r"|(?:根据|基于)(?:以上|上述)(?:推理|分析|证据|信息|线索))[，,]?){0,3}"
)
_STATEMENT = r"(?:(?:the|this) (?:given )?(?:statement|claim)|it|this|that)"
_STATEMENT_ZH = (
    r"(?:(?:题目)?给定的?|所给的?|上述的?|以上的?|题[目中]的?|该条?|这[一条个]{0,2}|此|本)?"
    r"(?:陈述|声明|说法|观点|命题|论断|断言)"
)
_EVIDENCE_ZH = (
    r"(?:(?:现有|这些|以上|上述|所有|全部)的?)?"
    r"(?:证据|线索|信息|事实|图片|文本|推理|分析|结论)(?:结果|过程)?"
)
_EVIDENCE = (
    r"(?:the |this |these |that |all |available |given ){0,3}"
    r"(?:evidence|clues?|information|facts?|reasoning|images?|texts?|context)"
)
_FITS_ZH = (
    r"(?:是?(?:完全)?(?:相符合?|符合|一致|吻合)|(?:完全|并)?不(?:相?符合?|一致|吻合)"
    r"|是?相?(?:互?矛盾|冲突|悖|反|违背))的?"
)
_VERY = r"(?:(?:strongly|fully|completely|totally|clearly|must|would|therefore|thus) ){0,2}"
_NOT = r"(?:(?:do|does|can) ?not|don['’]t|doesn['’]t|can['’]t)"
_SIDES = "|".join((
    rf"(?:{_SO}I {_VERY})?{_VERY}(?:dis)?agree(?:d|ment)?(?: (?:with )?{_STATEMENT})?",
    rf"(?:{_SO}I )?(?:{_NOT}|not) (?:agree|support)(?: (?:with )?{_STATEMENT})?",
    rf"{_SO}{_EVIDENCE} (?:supports?|contradicts?|refutes?|{_NOT} support)"
    r" the (?:given )?statement",
    rf"(?:{_SO}I {_VERY})?(?:support|oppose)s? the (?:given )?(?:statement|claim)",
    rf"{_SO}{_STATEMENT} is (?:therefore |thus )?(?:(?:not )?(?:true|correct|right|valid|supported)"
    r"|false|incorrect|wrong|untrue|invalid|unsupported)",
    rf"{_SO_ZH}我?们?(?:并?不能?|无法|(?:可以|应该?)?(?:完全)?)(?:同意|赞[同成]|支持|认同)(?:{_STATEMENT_ZH})?",
    rf"{_SO_ZH}我?们?反对(?:{_STATEMENT_ZH})?",
    rf"{_SO_ZH}{_EVIDENCE_ZH}[都均共同]{{0,2}}(?:并?(?:不能?|无法|不足以)|可以|足以|能够?)?支持{_STATEMENT_ZH}",
    rf"{_SO_ZH}(?:{_EVIDENCE_ZH})?[都均可以]{{0,2}}(?:反驳|驳斥|推翻|否定)了?{_STATEMENT_ZH}",
    # 与给定声明相符, 推理结果与声明矛盾; 声明与图片不符
    rf"{_SO_ZH}(?:{_EVIDENCE_ZH})?[与和同跟]{_STATEMENT_ZH}{_FITS_ZH}",
    rf"{_SO_ZH}{_STATEMENT_ZH}[与和同跟]{_EVIDENCE_ZH}{_FITS_ZH}",
    rf"{_SO_ZH}{_STATEMENT_ZH}(?:[是为]?(?:正确|准确|成立|属实|真实?|对|错误?|虚?假)|有误"
    r"|(?:并不|不是|是不|并非|不为|不)(?:正确|准确|成立|属实|对|真))的?",
))  # fmt: skip
_OPEN = "|".join((
    r"(?:I |it )?(?:can(?:not|['’]t| not)) (?:be )?(?:tell|decided?|say|determined?)"
    rf"(?: {_STATEMENT})?",
    r"undetermined|uncertain|unsure|inconclusive|not enough information|不确定|信息不足",
    rf"(?:I )?neither agree nor disagree|(?:{_STATEMENT_ZH})?(?:无法|不能|难以)(?:判断|确定|判定)",
))  # fmt: skip
_WORDS = r"yes|no|true|false|correct|incorrect|正确|错误?|对|是的?|否"
# "I disagree", "the statement is not supported", 不同意, 无法判断
_STANCE = re.compile(rf"(?P<open>{_OPEN})|{_SIDES}|{_WORDS}", re.IGNORECASE)
# "not true", "contradicts", 不成立: what turns a stance around
_AGAINST = re.compile(
    r"not(?![a-z])|n['’]t(?![a-z])|disagree|contradict|refute|false|incorrect|wrong|untrue|invalid"
    r"|unsupported|oppose|^no$|不|无法|并非|反对|反驳|驳斥|推翻|否定?|有误|错|假|矛盾|冲突|相[悖反]"
    r"|违背",
    re.IGNORECASE,
)
# After a stance, a reason may follow: "disagree, because ..."
_ENDS = re.compile(
    r"[\s*_\"'`$”}\])>】」』]{0,8}(?:$|[,，.。;；!！—–\n]|(?:because|since|as|given|for)(?![A-Za-z])"
    r"|因为|由于)"
)
# "agree<|im_end|>"
CHAT_TOKEN = re.compile(
    r"<\|[A-Za-z_]{1,30}\|>|<[|｜][^<>|｜\n]{1,40}｜>|<(?:end_of_turn|eos|turn\|)>|</s>\s*\Z"
)
"""Special tokens of chat templates that are left in a text."""
FRAME = " \t\u3000*_#>-`\"'$.。!！【“”"


def leading_stance(text: str) -> tuple[Answer | None, str]:
    """The stance that a text begins with, as one of the plain forms, and the text after it."""
    text = _BOX.sub("", text.translate(FULL_WIDTH).strip(FRAME), count=1).strip(FRAME + "([<「『")
    found = _STANCE.match(text)
    if found is None or not _ENDS.match(text, found.end()):
        return None, text
    rest = text[found.end() :]
    if found["open"]:
        return UNDETERMINED, rest
    said = re.sub(r"^(?:yes|no),? ", "", lower(found[0]))
    return "disagree" if _AGAINST.search(said) else "agree", rest


def is_plain_stance(text: str) -> bool:
    """Whether a text states a stance and nothing else."""
    answer, rest = leading_stance(text)
    return answer is not None and not rest.strip(FRAME + ")]}>」』")


# \boxed{agree}, \boxed{\text{agree}}
_BOX = re.compile(r"^\\boxed\s?\{\s?(?:\\text\s?\{)?")
# "2) agree", "(3) agree", "- agree"
_NUMBERING = re.compile(r"^(?:\d{1,4}[.)、:：]|[（(]\d{1,4}[)）]|[-•·])[ \t\u3000*_]{0,4}")
_LEADS = (
    r"(?:(?:so|therefore|thus|hence|and|my|the|that|correct"
    r"|因此|因而|所以|故|综上所述|综上|于是|那么|我的|本题|此题|该题|正确|的)[,，: ：]{0,2}){0,5}"
)
_FINAL = r"(?:final answer|最终(?:的)?(?:答案|结果))"
_STATES = r"[*_\"'`】\] ]{0,4}(?:is\b|[:：]|是(?!否)|为|】|$)[\s*_\"'`$:：]{0,12}"
# "So the final answer is 5", 答案：B, "**Answer:** 7"
_MARKED = re.compile(
    rf"{_LEADS}(?:(?P<final>{_FINAL})|answer|答案){_STATES}(?P<rest>.*)", re.IGNORECASE
)
# "Therefore, my verdict: agree", 最终答案：不同意, "Conclusion: agree"
_STANCE_MARKED = re.compile(
    r"(?:(?:so|therefore|thus|hence|and|my|the|因此|所以|综上|我的)[,， ]{0,2}){0,3}"
    r"(?:(?P<conclusion>conclusion|结论)|(?:final )?(?:answer|verdict|stance)"
    rf"|final (?:decision|judge?ment)|最终[答结]案|最终回答|最终结论|答案|回答|(?:我的)?立场)"
    rf"{_STATES}(?P<rest>.{{0,200}})",
    re.IGNORECASE,
)
# 故选B, 所以应选A、C
_CHOSEN = re.compile(
    rf"{_LEADS}(?:答案|本题)?(?:应|可)?选(?:择|项)?(?:[:：为是]|\s){{0,3}}(?:[A-H](?:[\s、,，和与]|及){{0,3}}){{1,8}}"
)
# \boxed{5}, $\boxed{\text{agree}}$, <answer>agree</answer> in a line of its own
_BOXED = re.compile(
    r"\$?\\boxed\s{0,4}\{.{0,200}\}\$?|<answer>[^<]{0,200}</answer>?", re.IGNORECASE
)
# 根据图片0, "Image 0 shows": a line that cites a clue is a step
_CITES = re.compile(
    r"根据|(?:图片|文本|结论)\s{0,4}\d|\b(?:image|text|conclusion)\s{0,4}\d", re.IGNORECASE
)
# 因为……, "since ...": an answer with its reason may be a step
_REASONS = re.compile(r"因为|由于|∵|\b(?:because|since)\b", re.IGNORECASE)
_DELIMITERS = str.maketrans("", "", "${}")
_LONGEST, _LONGEST_FINAL = 160, 400
# "... is closed. Final answer: agree" on one line
_RUN_ON = re.compile(
    rf"(?<=[。．.;；!！])[ \t]{{0,8}}(?=\*{{0,2}}{_FINAL}\*{{0,2}}[ \t]{{0,4}}[:：])", re.IGNORECASE
)
_FINAL_LINE = re.compile(rf"[\s*_#>\-]{{0,12}}{_FINAL}", re.IGNORECASE)


def _unnumbered(text: str) -> str:
    """A text without its frame and leading number: ``2) agree``."""
    text = CHAT_TOKEN.sub("", text) if "<" in text else text
    return _NUMBERING.sub("", text.strip(FRAME), count=1).strip(FRAME)


def is_answer_line(line: str) -> bool:
    """Whether a line states that the author agrees or disagrees, and has no other content."""
    said = _unnumbered(line)
    marked = _STANCE_MARKED.match(said)
    rest = _unnumbered(marked["rest"]) if marked else said
    if _BOXED.fullmatch(rest):
        return not _CITES.search(rest)
    if marked is None:
        return is_plain_stance(said)
    if marked["conclusion"]:
        return is_plain_stance(rest)
    stated = not rest or leading_stance(rest)[0] is not None
    return stated and not find_mentions(rest)


def is_any_answer_line(line: str) -> bool:
    """Whether a line states the final answer, whatever the answer is, and nothing else.

    A reason may follow "Final answer", since problems ask for reasons, but it cites no clue.
    """
    said = _unnumbered(line)
    marked = _MARKED.match(said)
    if marked:
        rest, final = marked["rest"], marked["final"] is not None
        stated = len(rest) <= (_LONGEST_FINAL if final else _LONGEST)
        return stated and not _CITES.search(rest) and (final or not _REASONS.search(rest))
    bare = said[:_LONGEST].translate(_DELIMITERS).strip(FRAME + "．")
    return _BOXED.fullmatch(said) is not None or _CHOSEN.fullmatch(bare) is not None


def without_answer(text: str) -> str:
    """A solution without its final answer at the end, which may take several lines.

    Only text from the last "最终答案" or "Final answer" on is removed, and only if it is short and
    cites nothing: an answer may be stated first and derived below.
    """
    lines = _RUN_ON.sub("\n", text).splitlines()
    for at in reversed(range(len(lines))):
        if _FINAL_LINE.match(lines[at]) and is_any_answer_line(lines[at]):
            below = "\n".join(lines[at + 1 :])
            if len(below) <= _LONGEST_FINAL and not _CITES.search(below):
                return "\n".join(lines[:at])
            break
    return "\n".join(lines)
