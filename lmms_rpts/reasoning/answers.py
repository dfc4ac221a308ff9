"""Parser of the final answer: agree, disagree, or undetermined.

The rules must never reverse an answer. They parse only answers that are stated plainly, in the
forms below. For everything else (reasons before the stance, questions, quotations, conditions,
second thoughts) they return no answer, so that a judge is asked.
"""

from __future__ import annotations

import re
from typing import Literal

from lmms_rpts.reasoning.casing import lower
from lmms_rpts.reasoning.mentions import fold_width

Answer = Literal["agree", "disagree", "undetermined"]

_TAIL = 4000
_BEFORE = 60
_FRAME = " \t\u3000*_\"'`$#“”.。!！"

_SO_EN = (
    r"(?:(?:and |so|therefore|thus|hence|overall|consequently|accordingly|in conclusion"
    r"|in the end|finally|yes|no),? )?"
)
_SO_ZH = r"(?:因此|所以|综上所述|综上|故|总之|最终|最后)?[，,]?"
_THE_STATEMENT = r"(?:(?:the|this) (?:given )?(?:statement|claim)|it|this|that)"
_EVIDENCE = (
    r"(?:the |this |these |that |all |available |given ){0,3}"
    r"(?:evidence|clues?|information|facts?|reasoning|images?|texts?|context)"
)
_STATEMENT_ZH = r"(?:该条?|这条?|这个|此|上述|本)?(?:陈述|说法|观点|命题)"
_VERY = r"(?:(?:strongly|fully|completely|totally|clearly|must|would|therefore|thus) ){0,2}"

# Plain forms of each stance; what follows a form is checked separately.
_FORMS: dict[str, tuple[str, ...]] = {
    "agree": (
        rf"(?:{_SO_EN}I {_VERY})?{_VERY}agree(?: (?:with )?{_THE_STATEMENT})?",
        rf"{_SO_EN}{_EVIDENCE} supports? the (?:given )?statement",
        rf"{_SO_EN}{_THE_STATEMENT} is (?:therefore |thus )?(?:true|correct|right|valid|supported)",
        r"true|correct",
        rf"{_SO_ZH}我?们?(?:完全)?(?:同意|赞同|支持|认同)(?:{_STATEMENT_ZH})?",
        rf"{_SO_ZH}{_STATEMENT_ZH}是?(?:正确|成立|属实|对)的?",
    ),
    "disagree": (
        rf"(?:{_SO_EN}I {_VERY})?{_VERY}disagree(?: with {_THE_STATEMENT})?",
        rf"{_SO_EN}I (?:do not|don['’]t|cannot|can['’]t|can not) (?:agree|support)"
        rf"(?: (?:with )?{_THE_STATEMENT})?",
        rf"(?:do )?not (?:agree|support)(?: (?:with )?{_THE_STATEMENT})?",
        rf"{_SO_EN}{_EVIDENCE} (?:do(?:es)? not|don['’]t|doesn['’]t) support"
        r" the (?:given )?statement",
        rf"{_SO_EN}{_EVIDENCE} (?:contradicts?|refutes?) the (?:given )?statement",
        rf"{_SO_EN}{_THE_STATEMENT} is (?:therefore |thus )?not "
        r"(?:true|correct|right|valid|supported)",
        rf"{_SO_EN}{_THE_STATEMENT} is (?:therefore |thus )?"
        r"(?:false|incorrect|wrong|untrue|invalid|unsupported)",
        r"false|incorrect",
        rf"{_SO_ZH}我?们?(?:并不|不能|无法|不)(?:完全)?(?:同意|赞同|支持|认同)(?:{_STATEMENT_ZH})?",
        rf"{_SO_ZH}我?们?反对(?:{_STATEMENT_ZH})?",
        rf"{_SO_ZH}(?:现有|这些|以上|上述)?(?:证据|线索|信息|图片|文本|推理)"
        rf"并?(?:不能?|无法)支持{_STATEMENT_ZH}",
        rf"{_SO_ZH}{_STATEMENT_ZH}(?:并不|不是|是不|并非|不为|不)(?:正确|成立|属实|对|真)的?",
        rf"{_SO_ZH}{_STATEMENT_ZH}是?(?:错误|错|假)的?",
    ),
    "undetermined": (
        rf"(?:{_SO_EN}I )?(?:can(?:not|['’]t)|can not) (?:tell|decide|say|determine)"
        rf"(?: {_THE_STATEMENT})?",
        rf"(?:{_SO_EN}{_THE_STATEMENT} )?(?:can(?:not|['’]t)|can not) be (?:determined|decided)",
        r"undetermined|uncertain|unsure|inconclusive|not enough information",
        rf"(?:{_SO_EN}I )?neither agree nor disagree(?: with {_THE_STATEMENT})?",
        rf"{_SO_ZH}(?:{_STATEMENT_ZH})?(?:无法|不能|难以)(?:判断|确定|判定)",
        r"不确定|信息不足",
    ),
}
_PLAIN = re.compile(
    "|".join(f"(?P<{name}>{'|'.join(forms)})" for name, forms in _FORMS.items()), re.IGNORECASE
)
# After a mark, a reason may follow the stance: "disagree, because ..."; a question mark, a
# strike-through or another word means that it is not an answer.
_REASON = re.compile(
    r"[*_\"'`$”}]{0,4} ?(?:$|[,，.。;；!！—–]"
    r"|(?:because|since|as|given|for)(?![A-Za-z])|因为|由于)"
)
_STANCE_WORD = re.compile(
    r"(?P<not>(?:\b(?:not|never|cannot|without)|n['’]t|不|无法|没有)[ \w]{0,12}?)?"
    r"(?P<word>disagree|agree|同意(?!见)|反对)",
    re.IGNORECASE,
)
OPTIONS = re.compile(
    r"agree\W{0,12}(?:or|/|and)\W{0,12}(?:final answer\W{0,8})?(?:not|disagree)"
    r"|disagree\W{0,12}(?:or|/)\W{0,12}(?:final answer\W{0,8})?agree"
    r"|同意\W{0,4}(?:或者?|还是|/)\W{0,4}(?:最终答案\W{0,4})?(?:不同意|反对)"
    r"|不同意\W{0,4}(?:或者?|还是|/)\W{0,4}(?:最终答案\W{0,4})?同意",
    re.IGNORECASE,
)
# What may precede the mark in its line: "I doubt that the answer is ..." is not an answer.
_LEADS_UP = re.compile(
    r"(?:.*[.!?。！？;；])?[\W_]*"
    r"(?:(?:so|therefore|thus|hence|and|my|the|is|in|conclusion|final|answer|text|boxed"
    r"|因此|所以|综上|综上所述|故|我的|最终|答案|是|为)[\W_]*){0,6}",
    re.IGNORECASE,
)
_SECOND_THOUGHTS = re.compile(
    r"\b(?:wait|actually|correction|corrected|second thought|hmm|however|but|unless|if|else|only"
    r"|partial\w*|nor|true|false|incorrect|wrong|untrue|reject\w*|refute\w*|contradict\w*"
    r"|not supported|invalid)\b"
    r"|更正|修正|等等|但|除非|如果|仅|错误|不成立|不支持|不对|不正确|[（(]否[)）]",
    re.IGNORECASE,
)
MARKER = re.compile(
    r"(?<![A-Za-z])(?:final (?:answer|verdict|stance|decision|judge?ment)|answer|verdict|stance)"
    r"[*_\"'` ]{0,4}(?:is\b:?|[:：])"
    r"|(?:最终答案|最终回答|最终结论|答案|回答)[*_\"'` ]{0,4}(?:[:：]|是|为)"
    r"|(?=\\boxed\{)|(?=<answer>)",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"[\s*_\"'`$“:：]{0,16}(?:\\boxed\{|\\text\{|<answer>\s{0,4}){0,3}[*_\"'`$“]{0,4}"
)
_CLOSING = re.compile(r" ?(?:\}|</answer>|[*_\"'`$”]){1,6}")
# Without a mark, "this is true" may be about anything, and a quotation is not the model's answer.
_OF_OTHERS = re.compile(
    r"[\"“”「]|(?<![A-Za-z])(?:this|that|it|claim) is|(?:说法|观点|命题)", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"(?:[:：,，]|(?<![A-Za-z])(?:that|if|whether|not)|不能说|认为)[ \t]*$", re.IGNORECASE
)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？；\n]+")


def find_answer(text: str) -> Answer | None:
    """Find the answer that a response states; None if the rules find none.

    The last "Final answer:", "Answer:", 最终答案, box or ``<answer>`` decides, if a plain stance
    follows immediately and nothing after it contradicts it. Without such a mark the last sentence
    decides, if it is a plain stance and nothing else.

    Args:
        text: the response of a model.

    Returns:
        The stated answer, or None.
    """
    text = fold_width(text)
    marked, answer = _marked(text)
    return answer if marked else _last_sentence(text[-_TAIL:])


def find_marked_answer(text: str) -> Answer | None:
    """As ``find_answer``, but only after a mark such as "Final answer:"."""
    return _marked(fold_width(text))[1]


def is_plain_stance(text: str) -> bool:
    """Whether a sentence states a stance and nothing else."""
    return _PLAIN.fullmatch(text.strip(_FRAME)) is not None


def _marked(text: str) -> tuple[bool, Answer | None]:
    markers = list(MARKER.finditer(text))
    if not markers:
        return False, None
    opening = _OPENING.match(text, markers[-1].end())
    start = opening.end() if opening else markers[-1].end()
    line = text[start : start + 200].split("\n", 1)[0]
    stance = _PLAIN.match(line)
    around = text[max(0, markers[-1].start() - _BEFORE) : start] + line
    if stance is None or OPTIONS.search(around):
        return True, None
    closing = _CLOSING.match(line, stance.end())
    rest = line[closing.end() if closing else stance.end() :]
    before = text[: markers[-1].start()].rsplit("\n", 1)[-1]
    if not _REASON.match(rest) or not _LEADS_UP.fullmatch(before[-_TAIL:]):
        return True, None
    answer = _named(stance)
    after = text[start + stance.end() :]
    doubtful = _SECOND_THOUGHTS.search(after) or _contradicts(after, answer)
    return True, None if doubtful else answer


def _contradicts(text: str, answer: Answer) -> bool:
    """Whether a text takes a different stance, in any words."""
    for match in _STANCE_WORD.finditer(text):
        positive = lower(match["word"]) in ("agree", "同意")
        if (positive == (match["not"] is None)) != (answer == "agree"):
            return True
    return False


def _last_sentence(text: str) -> Answer | None:
    sentences = [part for part in SENTENCE_END.split(text) if part.strip(_FRAME)]
    if not sentences or _OF_OTHERS.search(sentences[-1]):
        return None
    if len(sentences) > 1 and _GOES_ON.search(sentences[-2]):
        return None
    stance = _PLAIN.fullmatch(sentences[-1].strip(_FRAME))
    # "true" and "yes" answer many questions; they count as an answer only after a mark.
    return _named(stance) if stance and not _is_bare_word(stance) else None


def _is_bare_word(stance: re.Match[str]) -> bool:
    return lower(stance[0]) in ("true", "correct", "false", "incorrect")


def _named(stance: re.Match[str]) -> Answer:
    if stance["agree"]:
        return "agree"
    return "disagree" if stance["disagree"] else "undetermined"
