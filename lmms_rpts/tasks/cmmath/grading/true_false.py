"""Grading of true-or-false answers: √, 错误, "the statement is false"."""

from __future__ import annotations

import re

_LONGEST = 60
_SIGNS = {
    **dict.fromkeys(("√", "✓", "✔", "✅", "☑"), True),
    **dict.fromkeys(("×", "✗", "✘", "❌", "☒", "❎"), False),
}
_EDGES = " \n\t.。,，;；:：!！、\"'“”‘’「」『』()（）[]【】❴❵"
_NOUN = "话|说法|命题|结论|判断|陈述|题目|题|表述|观点|叙述|论述|语句|答案|描述|做法|算法|看法|结果"
_SUBJECT = (
    rf"(?:(?:这|该|此|上述|题中|题目|原|本|以上|题干)(?:的|一|个|种|句|道|条){{0,2}}(?:{_NOUN})?"
    rf"|(?:{_NOUN}))"
)
# Cleaning takes a lone √ for a root of what follows it.
_LONE_ROOT = re.compile(r"\\sqrt\{([^{}\w]?|[\u4e00-\u9fff])\}")
_CHINESE = re.compile(
    rf"(?:(?:所以|因此|故)[,，]?)?(?:{_SUBJECT})?\s?(?:(?:应该|应)?(?:判断)?(?:(?:是|为)(?!是|否|不是)|选|填)|[:：])?\s?[“\"]?"
    r"(?:(?P<yes>正确|对|是|真命题|真|成立|没错|没有错|无误|√|✓)"
    r"|(?P<no>错误|错|不正确|不对|不是(?:正确|对|真)?|否|假命题|假|不成立|有误|×|✗))(?:的|了)?\s?[”\"]?"
)
_ENGLISH = re.compile(
    r"(?:(?:so|therefore|thus|hence),?\s)?"
    r"(?:(?:it|that|this|the|this is|the given|the above|answer|statement)\s?)?"
    r"(?:statement|claim|proposition|answer|conclusion|judge?ment|sentence)?"
    r"(?:\sis|'s|:|\sis:)?\s?"
    r"(?:(?P<yes>true|correct|right|yes)"
    r"|(?P<no>false|incorrect|wrong|no|not true|not correct|not right|untrue))"
)


def truth_of(text: str) -> bool | None:
    """What a cleaned text that says just right or wrong says; None for anything longer or mixed.

    A sign and a word that agree are one answer: ``错误(×)``.
    """
    if len(text) > _LONGEST:
        return None
    text = _LONE_ROOT.sub(r"√ \1", text).strip(_EDGES)
    if (value := _one(text)) is not None:
        return value
    parts = [part for part in re.split(r"[\s()（）,，;；。]{1,8}", text) if part]
    if len(parts) != 2 or sum(part in _SIGNS for part in parts) != 1:
        return None
    one, other = map(_one, parts)
    return one if one is other else None


def _one(text: str) -> bool | None:
    if text in _SIGNS:
        return _SIGNS[text]
    if text in ("T", "F"):
        return text == "T"
    found = _CHINESE.fullmatch(text) or _ENGLISH.fullmatch(text.lower())
    return None if found is None else found["yes"] is not None
