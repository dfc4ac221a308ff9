"""Comparison of answers in words: statements, closed vocabularies, no solution."""

from __future__ import annotations

import re

from lmms_rpts.tasks.cmmath.grading.normalization import clean

BLANK = re.compile(r"\\underline\s?\{[^{}]{0,20}\}|_{2,30}|[(（]\s{2,20}[)）]")
"""Where the question leaves a place for an answer."""
OR = re.compile(r"或|(?<![A-Za-z])or(?![A-Za-z])")
_NOTHING = re.compile(
    r"^(?:(?:该|原|此|这个|分式)?(?:方程|不等式)?组?的?(?:解集|解|根)?(?:是|为)?)?"
    r"(?:无解|没有解|无实数?[解根]|没有实数?[解根]|空集|∅|❴\s?❵|解集为空集?|无)$"
    r"|^(?:there\s(?:is|are)\s)?no\s(?:real\s)?(?:solutions?|roots?)$|^(?:the\s)?empty\sset$",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"无解|没有(?:实数)?[解根]|无实数?[解根]|(?:是|为|即|得)空集|(?:解集|交集)?[是为=]\s?∅|∅\s?$|空集\s?$"
    r"|\bno\s(?:real\s)?(?:solutions?|roots?)\b|\bempty\sset\b",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"(?:无法|不能|难以|没办法)(?:[^，。\n]{0,12})?(?:确定|得出|求|计算|判断|解答|回答|得到|得知|给出|知道|作答|看)"
    r"|(?:没有|缺少|缺乏)(?:提供|给出|足够|具体|必要|更多)|信息不(?:足|够|全)|条件不(?:足|够)"
    r"|我?不(?:太)?(?:确定|知道|清楚)(?:如何|怎么|怎样|答案)|需要更多的?(?:信息|条件)|请(?:提供|上传|补充)|看不到(?:图|题)"
    r"|\bI\s(?:do\snot|don['’]t)\sknow|\bnot\ssure\b"
    r"|(?:cannot|can['’]t|can\snot|unable\sto|impossible\sto)\s(?:be\s)?"
    r"(?:determined?|tell|answer|solve|compute|calculate|find|see)"
    r"|(?:not\senough|insufficient)\sinformation|more\sinformation\sis\sneeded",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:不是|并非|不为|不能|不可能是|没有|而非|并不|未必|不一定|不等于|而不是|错误地)[^，,。；;]{0,12}$"
    r"|(?:\bnot|\bnever|n['’]t)\s[^,.;]{0,20}$",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"(?:不|非|无|没有?|未|缺乏|缺少|不具有?|不一定)$")
_JOINED_BEFORE = re.compile(r"(?:和|与|或者?|及|以及)$")
_JOINED_AFTER = re.compile(r"(?:和|与|或者?|及|以及|而)")
_DENIED_AFTER = re.compile(
    r"^[”\"'」』)]{0,2}(?:这|的)?[^，,。；;]{0,6}(?:是错|不对|不正确|错误|不成立|是假)|^\s?is\s(?:not|wrong|false)"
)
_FILLED = re.compile(r"[(（][^()（）]{0,8}(?:填|选填|填写|填入|选)([^()（）]{2,80})[)）]")
_QUOTED = re.compile(r"[“\"「‘']\s{0,3}([^”\"」’“']{1,20}?)\s{0,3}[”\"」’']")
_CLOSED = (
    frozenset("上下左右"),
    frozenset({"东", "南", "西", "北", "东南", "东北", "西南", "西北"}),
    frozenset("前后左右"),
    frozenset("<>="),
    frozenset({"锐角", "直角", "钝角", "平角", "周角"}),
    frozenset({"锐角三角形", "直角三角形", "钝角三角形"}),
    frozenset({"必然", "随机", "不可能"}),
    frozenset({"奇", "偶"}), frozenset({"奇数", "偶数"}), frozenset({"增", "减"}),
    frozenset({"增大", "减小", "不变"}), frozenset({"变大", "变小", "不变"}),
    frozenset({"相交", "相切", "相离"}), frozenset({"平行", "垂直", "相交"}),
    frozenset({"大于", "小于", "等于"}), frozenset({"甲", "乙", "丙", "丁"}),
    frozenset({"一", "二", "三", "四"}), frozenset({"正", "负"}), frozenset({"长", "短"}),
)  # fmt: skip
_SKIPPED = re.compile(r"(?<!\d)\.|\.(?!\d)|[\s,，。;；:：、'\"“”‘’「」『』()（）【】$*_!！]")
_DEGREES = re.compile(r"(?<=\d)\s?度")
_SQUEEZED = re.compile(r"\s+")


def is_nothing(text: str) -> bool:
    """Whether a short cleaned text says that there is no solution, or names the empty set."""
    texts = (_SKIPPED.sub("", text), text.strip(" .。,"))
    return len(text) <= 60 and any(_NOTHING.match(each) for each in texts)


def says_nothing(text: str) -> bool:
    """Whether a sentence settles on there being no solution."""
    return _SAYS_NOTHING.search(clean(text)[-120:]) is not None


def gives_up(text: str) -> bool:
    """Whether a text says that the question can't be answered."""
    return _GIVES_UP.search(text[-600:]) is not None


def plain_words(text: str) -> str:
    """A cleaned text without spaces and punctuation, in small letters."""
    return _SKIPPED.sub("", _DEGREES.sub("°", text)).casefold()


def squeezed(text: str) -> str:
    """A cleaned text without spaces and the punctuation around it."""
    return _SQUEEZED.sub("", text).strip(".。,;:")


def states(sentence: str, wanted: str) -> bool:
    """Whether a sentence holds the wanted words and does not deny them."""
    said, words = clean(sentence), plain_words(clean(wanted))
    if not words:
        return False
    folded = plain_words(said)
    at = folded.rfind(words)
    if at < 0:
        return False
    before, after = folded[:at], folded[at + len(words) :]
    if _NEGATED.search(before) or _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after):
        return False
    return not _DENIED.search(before) and not _DENIED_AFTER.search(after)


def vocabulary(question: str, reference: str) -> frozenset[str]:
    """The words among which the question lets choose; empty where it is open."""
    wanted = plain_words(clean(reference))
    for found in _FILLED.finditer(question):
        words = [plain_words(clean(each)) for each in _QUOTED.findall(found[1])]
        if not words:
            words = [plain_words(clean(each)) for each in re.split(r"[、，,或/]|还是", found[1])]
        chosen = frozenset(word for word in words if word)
        if wanted in chosen:
            return chosen
    return next((closed for closed in _CLOSED if wanted in closed), frozenset())


def chosen_word(sentence: str, words: frozenset[str]) -> str | None:
    """The only one of the words that a short sentence holds; longer words before shorter ones."""
    rest = plain_words(clean(sentence))[-60:]
    found = []
    for word in sorted(words, key=len, reverse=True):
        if word in rest:
            found.append(word)
            rest = rest.replace(word, " ")
    return found[0] if len(found) == 1 else None
