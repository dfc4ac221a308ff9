"""Answers in words: statements, closed vocabularies, no solution, true or false, ①③④."""

from __future__ import annotations

import re

from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.vocabulary import VOCABULARY, rows

# A blank for an answer in a question.
BLANK = re.compile(r"\\underline\s?\{[^{}]{0,20}\}|_{2,30}|[(（]\s{2,20}[)）]")
# 2或3, "2 or 3"
OR = re.compile(r"或|(?<![A-Za-z])or(?![A-Za-z])")
# punctuation, but not the point of 2.5
_SKIPPED = re.compile(r"(?<!\d)\.|\.(?!\d)|[\s,，。;；:：、'\"“”‘’「」『』()（）【】$*_!！]")
# the 1 2 of a list is not 12
_APART = re.compile(r"(?<=\d)\s{1,9}(?=\d)")
_DEGREES = re.compile(r"(?<=\d)\s?度")


def plain_words(text: str) -> str:
    """A cleaned text without spaces and punctuation, in lower case."""
    return _SKIPPED.sub("", _DEGREES.sub("°", text)).casefold()


def squeezed(text: str) -> str:
    """A cleaned text without spaces and the punctuation around it; 1 2 is not 12."""
    if " " in text:
        text = _APART.sub("_", text)
    return "".join(text.split()).strip(".。,;:")


# No solution

_SAYS_NOTHING = re.compile(  # 原方程无解, ……所以解集为空集, "no real roots"
    r"无解|没有(?:实数)?[解根]|无实数?[解根]|(?:是|为|即|得)空集|(?:解集|交集)?[是为=]\s?∅|∅\s?$|空集\s?$"
    r"|❴\s?❵|^\s?无\s?$|\bno\s(?:real\s)?(?:solutions?|roots?)\b|\bempty\sset\b",
    re.IGNORECASE,
)


def is_nothing(text: str) -> bool:
    """Whether a short cleaned text says that there is no solution, and nothing else."""
    if len(text) > 60 or not _SAYS_NOTHING.search(text):
        return False
    return not re.search(r"[\dA-Za-z]", re.sub("there|is|are|the", "", _SAYS_NOTHING.sub("", text)))


def says_nothing(text: str) -> bool:
    """Whether a cleaned sentence concludes that there is no solution."""
    return _SAYS_NOTHING.search(text[-120:]) is not None


# Statements and closed vocabularies

_DENIED = re.compile(
    r"(?:不是|并非|不为|不能|不可能是|没有|而非|并不|未必|不一定|不等于|而不是|错误地)[^，,。；;]{0,12}$"
    r"|(?:\bnot|\bnever|n['’]t)\s[^,.;]{0,20}$"
    # "乙" is part of "甲和乙", "能" of "不能"
    r"|(?:不|非|无|没有?|未|缺乏|缺少|不具有?|不一定|和|与|或者?|及|以及)$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(  # "是错误的" after the words, or a continuing "和……"
    r"^(?:和|与|或者?|及|以及|而)"
    r"|^[”\"'」』)]{0,2}(?:这|的)?[^，,。；;]{0,6}(?:是错|不对|不正确|错误|不成立|是假)|^\s?is\s(?:not|wrong|false)"
)
# （填“必然”“不可能”或“随机”）
_FILLED = re.compile(r"[(（][^()（）]{0,8}(?:填|选填|填写|填入|选)([^()（）]{2,80})[)）]")
_QUOTED = re.compile(r"[“\"「‘']\s{0,3}([^”\"」’“']{1,20}?)\s{0,3}[”\"」’']")  # “必然”
_CLOSED = [frozenset(words) for words in rows(VOCABULARY["closed_words"])]
_THEOREMS = [frozenset(words) for words in rows(VOCABULARY["theorems"])]
# The criteria of congruent triangles.
CRITERIA = ("sss", "sas", "asa", "aas", "hl")
# 三角形的稳定性 is 三角形具有稳定性
_PARTICLES = re.compile("具有|的|了")


def states(said: str, wanted: str) -> bool:
    """Whether a cleaned sentence contains the wanted words and does not deny them.

    Particles are ignored, and only a short text may be between two clauses of the wanted words.
    """
    folded, parts = core_words(said), [core_words(part) for part in re.split("[,，]", wanted)]
    if not 0 < len("".join(parts)) <= len(folded):
        return False
    pattern = "[^不非没]{0,8}".join(re.escape(part) for part in parts if part)
    found = list(re.finditer(pattern, folded))[-1:]
    denied = any(
        _DENIED.search(folded[: each.start()]) or _DENIED_AFTER.search(folded[each.end() :])
        for each in found
    )
    return bool(found) and not denied


def core_words(text: str) -> str:
    """As ``plain_words``, without particles: 三角形的稳定性 is 三角形具有稳定性."""
    return _PARTICLES.sub("", plain_words(text))


def vocabulary(question: str, wanted: str) -> tuple[frozenset[str], bool]:
    """The words that exclude the wanted one, and whether the question offers them as a choice."""
    for found in _FILLED.finditer(question):
        words = _QUOTED.findall(found[1]) or re.split(r"[、，,或/]|还是", found[1])
        chosen = frozenset(filter(None, (plain_words(clean(each)) for each in words)))
        if wanted in chosen:
            return chosen, True
    return next((closed for closed in _CLOSED if wanted in closed), frozenset()), False


def theorems_in(said: str, wanted: str) -> frozenset[str]:
    """The school theorems, of the wanted one's family, that a sentence names."""
    family = next((each for each in _THEOREMS if any(word in wanted for word in each)), frozenset())
    own = {word for word in family if word in wanted}
    return frozenset("" if word in own else word for word in _words_in(said, family))


def chosen_word(said: str, words: frozenset[str]) -> str | None:
    """The only one of the words that a short sentence contains; 不平行 is neither 平行 nor 垂直."""
    found = _words_in(said, words)
    return found[0] if len(found) == 1 else None


# 不平行, 不一定相等: the word behind it is denied
_NOT = re.compile(r"(?:不一定|不会|不是|并不|未必|[不非未])$")


def _words_in(said: str, words: frozenset[str]) -> list[str]:
    """The words that a short sentence contains, longer ones before shorter; denied ones with 不."""
    rest = plain_words(said)[-60:]
    found = []
    for word in sorted(words, key=len, reverse=True):
        if word in rest:
            denied = _NOT.search(rest[: rest.index(word)]) is not None
            found.append(f"不{word}" if denied else word)
            rest = rest.replace(word, " ")
    return found


# True or false

_RIGHT, _WRONG = "√✓✔✅☑", "×✗✘❌☒❎"
# "√。", “正确”: signs around a verdict
_EDGES = " \n\t.。,，;；:：!！、\"'“”‘’「」『』()（）[]【】❴❵"
_NOUN = "话|说法|命题|结论|判断|陈述|题目|题|表述|观点|叙述|论述|语句|答案|描述|做法|算法|看法|结果"
_SUBJECT = (
    rf"(?:(?:这|该|此|上述|题中|题目|原|本|以上|题干)(?:的|一|个|种|句|道|条){{0,2}}(?:{_NOUN})?"
    rf"|(?:{_NOUN}))"
)
# Cleaning reads a lone √ as a root of the text after it.
_LONE_ROOT = re.compile(r"\\sqrt\{([^{}\w]?|[\u4e00-\u9fff])\}")
_CHINESE_TRUTH = re.compile(  # 所以这句话是错误的, 判断：×
    rf"(?:(?:所以|因此|故)[,，]?)?(?:{_SUBJECT})?\s?(?:(?:应该|应)?(?:判断)?(?:(?:是|为)(?!是|否|不是)|选|填)|[:：])?\s?[“\"]?"
    rf"(?:(?P<yes>正确|对|是|真命题|真|成立|没错|没有错|无误|T|[{_RIGHT}])"
    rf"|(?P<no>错误|错|不正确|不对|不是(?:正确|对|真)?|否|假命题|假|不成立|有误|F|[{_WRONG}]))(?:的|了)?\s?[”\"]?"
)
_ENGLISH_TRUTH = re.compile(  # so the statement is not true
    r"(?:(?:so|therefore|thus|hence),?\s)?"
    r"(?:(?:it|that|this|the|this is|the given|the above|answer|statement)\s?)?"
    r"(?:statement|claim|proposition|answer|conclusion|judge?ment|sentence)?"
    r"(?:\sis|'s|:|\sis:)?\s?"
    r"(?:(?P<yes>true|correct|right|yes)"
    r"|(?P<no>false|incorrect|wrong|no|not true|not correct|not right|untrue))"
)


def truth_of(text: str) -> bool | None:
    """The truth value of a cleaned text that only says right or wrong; None for other texts.

    A sign and a word that agree are one answer: ``错误(×)``.
    """
    if len(text) > 60:
        return None
    text = _LONE_ROOT.sub(r"√ \1", text).strip(_EDGES)
    whole = _one_truth(text)
    parts = [part for part in re.split(r"[\s()（）,，;；。]{1,8}", text) if part]
    if len(parts) == 2 and sum(part in _RIGHT + _WRONG for part in parts) == 1:
        one, other = map(_one_truth, parts)
        return one if one is other else None
    return whole


def _one_truth(text: str) -> bool | None:
    found = _CHINESE_TRUTH.fullmatch(text) or _ENGLISH_TRUTH.fullmatch(text.lower())
    return None if found is None else found["yes"] is not None


# Circled numbers

CIRCLED = re.compile(r"[①-⑳]")
# ①, 、③, ①~③
_MEMBER = r"(?:[\s,、;.。和与及]|以及|and){0,6}([①-⑳])(?:(?:\s?[~-]\s?|至|到)([①-⑳]))?"
_CIRCLED_ROW = re.compile(  # ①③都正确
    rf"(?:{_MEMBER}){{1,40}}(?:\s?(?:这[一二两三四五六七八九十]个)?(?:都|均)?(?:是)?(?:正确|成立)的?"
    r"|\s?(?:is|are)\s(?:correct|true)|[\s,、;.。和与及]{0,20})"
)


def circled_of(text: str) -> frozenset[int] | None:
    """The circled numbers ① to ⑳ of a cleaned text that contains nothing else, as code points.

    Words such as 都正确 after them are ignored; ①~③ are three numbers.
    None for any other text, such as (1)(3) or ①正确②错误.
    """
    text = text.strip(" \n,、;.。")
    if text[:1] + text[-1:] in ("()", "[]", "❴❵", "【】", "“”"):
        text = text[1:-1]
    if len(text) > 200 or not _CIRCLED_ROW.fullmatch(text):
        return None
    rows = (range(ord(one), ord(last or one) + 1) for one, last in re.findall(_MEMBER, text))
    return frozenset(number for row in rows for number in row)
