"""Whether a response states the value of a target, and the rule that decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lmms_rpts.grading.maths.answers import Response, Target, bare, value_tail
from lmms_rpts.grading.maths.reading import (
    Question,
    equations_of,
    is_number,
    members,
    points_of,
    quantity_of,
    region_of,
    same_value,
    unnamed,
    with_signs,
)
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import Verdict, denies, gives_up, hedges, sentences
from lmms_rpts.grading.words import (
    BLANK,
    CRITERIA,
    OR,
    chosen_word,
    circled_of,
    is_nothing,
    plain_words,
    says_nothing,
    squeezed,
    states,
    theorems_in,
    truth_of,
    vocabulary,
)

_RELATIONS = frozenset({"interval", "equation", "coordinate", "set", "circled"})
_LONGEST_SENTENCE = 240
SEVERAL = Verdict(False, "offers several answers")
NO_ANSWER = frozenset({"gives no answer", "leaves the blank empty", "repeats itself"})


def value_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response gives the value of a target with one value."""
    verdict = _value_verdict(response, target)
    if not verdict.correct:
        return verdict
    wanted = target.alternatives
    deniable = target.type != "true_false"
    doubt = undermined(response, target.question.raw, wanted, deniable=deniable)
    if doubt is None and target.type == "statement" and offers_either(response, target):
        doubt = SEVERAL
    return doubt or verdict


def offers_either(response: Response, target: Target) -> bool:
    """Whether the last clause offers alternatives, and the reference does not."""
    return OR.search(response.clause) is not None and OR.search(target.text) is None


def _value_verdict(response: Response, target: Target) -> Verdict:
    if is_nothing(target.alternatives[0]):
        return _nothing_verdict(response)
    if target.type == "true_false":
        return _truth_verdict(response, target)
    if target.type == "statement":
        return _words_verdict(response, target)
    if target.type == "circled" and _calls_wrong(response, target):
        return Verdict(None, "it is unclear which circled numbers are meant")
    found = _read_verdict(response, target)
    return found or unread(response, target.text, f"no {target.type} can be read from the answer")


def unread(response: Response, wanted: str, rule: str) -> Verdict:
    """The verdict on an unreadable answer: wrong, unless it has the content of the wanted text."""
    return without_answer(response) or Verdict(None if holds(response, wanted) else False, rule)


# Numbers, formulas, regions, points, equations, sets

_CALLED_WRONG = re.compile(r"错误|不正确|不成立|不对")
_REST = re.compile(r"其余|其他|其它|others?\b|the rest")  # 只有②错误，其余都正确
_VALUED = re.compile(r"[\d√π∞∅①-⑳A-Za-zα-ω零一二两三四五六七八九十半]")
_SPAN = re.compile(r"[^\u4e00-\u9fff。、\n;“”]{1,200}")


def _calls_wrong(response: Response, target: Target) -> bool:
    """Whether the answer calls some of the circled numbers wrong: ①正确，②错误."""
    statement = response.statement
    text = response.text if statement.marked or response.concludes else statement.block
    wrong = _CALLED_WRONG.search(text) and not _CALLED_WRONG.search(target.question.raw)
    return bool(wrong or _REST.search(response.text))


def _read_verdict(response: Response, target: Target) -> Verdict | None:
    """The verdict on the likeliest candidate that can be compared; None if none can."""
    unsettled = False
    for reading in _candidates(response, target):
        same = is_any(reading, target)
        unsettled = unsettled or (same is None and _is_alike(reading, target.alternatives[0]))
        if same:
            return _doubt(response, target) or Verdict(True, f"equal as {target.type}")
        if same is False and not unsettled:
            return _other_value(response, reading, target)
    return Verdict(None, f"no rule decides this {target.type}") if unsettled else None


def is_any(reading: str, target: Target) -> bool | None:
    """True if the reading is any of the target's alternatives, False if it certainly is not."""
    found = [same_value(reading, each, target.question) for each in target.alternatives]
    return True if True in found else (None if None in found else False)


def _is_alike(reading: str, wanted: str) -> bool:
    """Whether a reading is a value of the target's type, so that it may be another form of it."""
    if quantity_of(wanted) is not None:
        return quantity_of(unnamed(reading)) is not None
    found, asked = region_of(reading), region_of(wanted)
    if found and asked and found.name and asked.name:
        return found.name == asked.name  # y<0, but x is asked for
    types = (region_of, points_of, equations_of, circled_of)
    return any(read(wanted) is not None and read(reading) is not None for read in types)


def _candidates(response: Response, target: Target) -> Iterable[str]:
    asked = target.question.rounding.asked
    rounded = asked and re.fullmatch(r"-?\d+\.\d+", target.text) is not None
    if target.type == "set":
        return [*response.relations, *response.values(rounded=rounded)]
    return response.relations if target.type in _RELATIONS else response.values(rounded=rounded)


def _doubt(response: Response, target: Target) -> Verdict | None:
    """Why a sentence with the right value may not give it as the answer; None if it does."""
    if target.type in _RELATIONS:
        return None
    if is_bounded(response, target.question.raw + target.text):
        return Verdict(None, "a bound, not a value")
    if target.question.is_of_another(response.clause):
        return Verdict(None, "the value of another quantity")
    return _one_of_several(response, target.question)


def _other_value(response: Response, reading: str, target: Target) -> Verdict:
    if target.type == "coordinate" and re.search("[≈约]|纵坐标", response.text):
        return Verdict(None, "the exact point may stand before a rounded one")
    if not offers_either(response, target) and _stands_elsewhere(response, reading, target):
        return Verdict(None, "several values, including that of the reference")
    return Verdict(False, f"different as {target.type}")


def _stands_elsewhere(response: Response, reading: str, target: Target) -> bool:
    """Whether the value of the target is next to the one that was read.

    If nothing marks the answer, the sentence before is searched, too; a box, or a last clause that
    draws the conclusion, leaves no doubt.
    """
    if response.boxed and reading in response.boxed:
        return False
    texts = [response.text]
    if response.concludes and reading in response.clause:
        texts = [response.clause]
    elif not response.statement.marked:
        texts = [clean(each) for each in sentences(response.statement.spoken[-600:])[-2:]]
    for text in filter(_VALUED.search, (each.replace(reading, " ; ", 1) for each in texts)):
        for found in list(_SPAN.finditer(text))[-12:]:
            spans = [bare(each.rpartition("=")[2]) for each in re.split(r"[,;]", found[0])]
            unit = re.match(r"[\u4e00-\u9fff/]{0,4}", text[found.end() :])
            if unit and quantity_of(spans[-1] + unit[0]):
                spans[-1] += unit[0]
            if any(is_any(span, target) for span in spans if span):
                return True
    return False


# Doubts about a statement with the right value

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LISTED = re.compile(r"[,;、\n和与及或]|(?<![A-Za-z])(?:and|or)(?![A-Za-z])")
_BOUND = re.compile(  # 至少330人, over 330
    r"大于|小于|超过|不到|(?<!信息)(?<!条件)不足|至少|至多|最多|最少|不超过|不少于|少于|多于|高于|低于|以上|以下"
    r"|(?<![A-Za-z])(?:at\s(?:least|most)|(?:less|more|fewer|greater)\sthan|over|under|about\shalf)(?![A-Za-z])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?")
_UNSURE = re.compile(  # 是否为5, 假设是5, "whether", 介于5和6之间, 除了5以外
    r"是否|是不是|吗[。?]?$|假设|假如|介于|分情况|有人[^但]{0,80}$|都有道理|同学.{0,2}说|第一种|情况一"
    r"|除了?.{1,40}(?:以外|之外)|(?<![A-Za-z])(?:suppose|assum(?:e|ing)|whether|sorry|meant"
    r"|anything\sbut|perhaps|possible\sanswers?)(?![A-Za-z])",
    re.IGNORECASE,
)
# √ and ×; 不 at the place of the wanted text
_MAY_DENY = re.compile("√.{0,80}×|×.{0,80}√|[不非未]\\s{1,3}(?!$)|[不非未]\\s?$")
_LEAD_IN = 14


def undermined(
    response: Response, question: str, wanted: Sequence[str], *, deniable: bool = True
) -> Verdict | None:
    """Why a statement that contains the right answer does not state it; None if it does.

    ``wanted`` are the texts of the right answer, which may contain words of denial themselves.
    """
    statement = response.statement
    asks = not statement.marked and statement.spoken.rstrip()[-1:] in ("?", "？")
    before = statement.spoken[: max(0, statement.spoken.rfind(statement.text))]
    lead_in = re.split(r"[。\n]", before[-_LEAD_IN:])[-1]
    if asks or _UNSURE.search(lead_in + response.text) or gives_up(response.text):
        return Verdict(None, "the answer is not definite")
    if BLANK.search(response.text):
        return Verdict(None, "a blank is left empty")
    text = response.conclusion.rsplit("而是", 1)[-1]
    for each in (*wanted, *(("若",) if "若" in question else ())):
        text = text.replace(each, " ")
    if deniable and (denies(text) or _MAY_DENY.search(text)):
        return Verdict(None, "the value may be denied")
    return None


def is_bounded(response: Response, asked: str) -> bool:
    """Whether the statement gives a bound, in words that the problem does not use."""
    return any(found[0] not in asked for found in _BOUND.finditer(response.conclusion))


def _one_of_several(response: Response, question: Question) -> Verdict | None:
    """The verdict if the value is hedged, one of a list, or that of another quantity."""
    if hedges(response.text) and "可能" not in question.raw:
        values = set(_NUMBER.findall(response.text))
        return SEVERAL if len(values) > 1 else Verdict(None, "the value is hedged")
    clause = _THOUSANDS.sub("", response.clause)
    for text in (value_tail(clause), clause) if _LISTED.search(clause) else ():
        if is_number(bare(text)):  # one hundred and five
            continue
        quantities = [quantity_of(bare(each)) for each in members(bare(text))]
        if len({each.expression.number for each in quantities if each} - {None}) > 1:
            return SEVERAL
    return None


# Responses without an answer

# "最终答案：" and nothing after it
_EMPTY_LABEL = re.compile(r"^\W{0,4}(?:最终|正确)?(?:答案|answer)[\s:：*_。.]{0,6}$", re.IGNORECASE)
_LOOP = re.compile(r"([^\s.…_-][^…_]{3,40}?)\1{3,20}")  # (3,1)=(3,1)=(3,1)=(3,1)
_LEFT = re.compile(r"[=:是为]\s?(?:_{2,30}|\\underline\s?\{[^{}]{0,20}\})\W{0,5}$")  # S=____
_DIGITS = {ord("①") + digit: f" {digit + 1} " for digit in range(20)}
_CHINESE_NUMBER = dict(zip("1234567890", "一二三四五六七八九零", strict=True))


def without_answer(response: Response) -> Verdict | None:
    """The verdict on a response without an answer; None if it has one."""
    raw, text = response.statement, response.text
    valued = re.search(r"[=＝]\s?\$?-?\d", raw.text)
    if not valued and gives_up(" ".join(sentences(raw.spoken[-400:])[-2:])):
        return Verdict(False, "gives no answer")
    if not re.search(r"[^\W_]|[<>=≤≥√×✓✗]", _EMPTY_LABEL.sub("", text)):
        return Verdict(False, "gives no answer")
    if _LOOP.search(text[-_LONGEST_SENTENCE:]):
        return Verdict(False, "repeats itself")
    if BLANK.search(text) and (_LEFT.search(text) or not re.search(r"\d", BLANK.sub("", text))):
        return Verdict(False, "leaves the blank empty")
    return None


def holds(response: Response, wanted: str) -> bool:
    """Whether an answer contains every number of a text, or the words of a text without numbers."""
    said = f"{response.text} {response.boxed}"
    if not response.statement.marked:
        said += clean(" ".join(sentences(response.statement.spoken[-600:])[-3:]))
    return holds_numbers(said, wanted)


def holds_numbers(said: str, wanted: str) -> bool:
    """As ``holds``, for a cleaned text."""
    wanted, said = wanted.translate(_DIGITS), said.translate(_DIGITS)
    numbers = set(_NUMBER.findall(wanted))
    if not numbers:
        names = set(re.findall(r"[A-Za-z]|[\u4e00-\u9fff]", wanted))
        return len(names & set(said)) * 2 > len(names)
    found = set(_NUMBER.findall(said))
    return all(each in found or _CHINESE_NUMBER.get(each, "x") in said for each in numbers)


# No solution, true or false

_SOLUTION = re.compile(r"^(?!.*(?:增根|舍|不)).*[=<>≤≥]\s?-?\d")
# 没有错, "错误……正确": a verdict on a verdict; 不是错误的; 对,也不对
_TWO_TRUTHS = re.compile(
    r"没有?错|不错|(?:错|不对|不正确|不成立)[^\n]{0,40}?(?<!不)(?:正确|是对)|(?<!不)正确[^\n]{0,40}?(?:错|不对|不正确)"
)
_JUDGEMENT = re.compile(r"判断|看法|观点")  # 认为这句话错误，这个判断是正确的
_NOT_SO = re.compile(
    r"不是\s?不?(?:正确|对|错|真|假)|(?:对|错误?|正确|[√×])[^\n,;]{0,4}不是|[对错确][,，]?[也又]不?[对错正]"
)


def _nothing_verdict(response: Response) -> Verdict:
    text = response.text
    if says_nothing(text) or is_nothing(text):
        if OR.search(text) or len(members(response.clause)) > 1 or hedges(text):
            return SEVERAL
        if _SOLUTION.search(response.clause) and not says_nothing(response.clause):
            return Verdict(None, "says no solution, and then gives one")
        if denies(response.conclusion) or "≠" in text:
            return Verdict(None, "the absence of a solution may be denied")
        return Verdict(True, "no solution")
    if re.search(r"无数|任意|❴[^❵]{1,200}❵", text) or any(
        quantity_of(each) is not None or re.search(r"[=<>≤≥]\s?-?\d", each)
        for each in (*response.values(), *response.relations)
    ):
        return Verdict(False, "a solution where there is none")
    unclear = Verdict(None, "it is unclear whether it says that there is no solution")
    return without_answer(response) or unclear


def _truth_verdict(response: Response, target: Target) -> Verdict:
    wanted, text = truth_of(target.text), response.text
    if _NOT_SO.search(text):
        return Verdict(None, "the verdict is denied")
    if _TWO_TRUTHS.search(text if _JUDGEMENT.search(response.clause) else response.clause):
        return Verdict(None, "a verdict on a verdict")
    pieces = re.split(r"[,，。;；]", text)
    if len({truth_of(piece) for piece in pieces} - {None}) > 1:
        return SEVERAL
    if hedges(text):
        return Verdict(None, "the verdict is hedged")
    for reading in (*response.values(), pieces[0]):
        said = truth_of(reading)
        if said is not None:
            return Verdict(said == wanted, "true or false")
    spoken = text if response.statement.marked else response.statement.spoken[:600]
    told = re.search(r"正确|错|对|成立|true|false|right|wrong", spoken, re.IGNORECASE)
    rule = "neither true nor false is stated"
    return without_answer(response) or Verdict(None if told else False, rule)


# Words

_CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]{1,4}")
_WHICH = re.compile(r"最[^,。]{0,12}[是为]\s?$")  # 销量最高的是____
_NAME = 3
"""Maximum number of characters of a name in a reference: an answer with more text may deny it."""


def _words_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response says the wanted words."""
    text, wanted = response.text, plain_words(target.text)
    words, given = vocabulary(target.question.raw, wanted)
    if words:
        return _closed_verdict(response, target.question, words, wanted, given=given)
    theorems = theorems_in(text, wanted)
    if theorems - {""}:
        several = "" in theorems or len(theorems) > 1
        return Verdict(None if several else False, "another theorem")
    if theorems and wanted in CRITERIA:
        same = True
    elif 1 <= len(wanted) <= _NAME:
        said = (text, response.clause, value_tail(text), value_tail(response.clause))
        same = any(plain_words(bare(each)).removesuffix("体") == wanted for each in said)
    elif len(response.statement.text) <= _LONGEST_SENTENCE:
        same = states(text, target.text)
    else:
        same = plain_words(text) == wanted
    if same or any(is_any(each, target) for each in response.values()):
        return Verdict(True, "the words of the reference")
    return without_answer(response) or _other_words(response, target)


def _other_words(response: Response, target: Target) -> Verdict:
    """Wrong if the answer has no word of the reference, or another name; else unclear."""
    wanted, asked = plain_words(target.text), plain_words(clean(target.question.raw))
    name = plain_words(value_tail(response.clause))
    if offers_either(response, target) and wanted in response.clause:
        return SEVERAL
    if _CHINESE_NAME.fullmatch(wanted) and wanted not in plain_words(response.text):
        single = len(name) == len(wanted) == 1 and _CHINESE_NAME.fullmatch(name)
        given = len(name) == len(wanted) and name in asked and wanted in asked
        which = _WHICH.search(target.question.before) and not set(name) & set(wanted)
        if single or given or (which and _CHINESE_NAME.fullmatch(name)):
            return Verdict(False, "another name")
    return Verdict(None, "other words than the reference")


def _closed_verdict(
    response: Response, question: Question, words: frozenset[str], wanted: str, *, given: bool
) -> Verdict:
    sentence = response.text.rsplit("而是", 1)[-1]
    if words == frozenset("<>="):
        sentence = with_signs(sentence).replace("等于", "=")
    chosen = chosen_word(response.clause.rsplit("而是", 1)[-1], words)
    chosen = chosen or chosen_word(sentence, words)
    if words == frozenset("<>=") and len(squeezed(sentence)) > 1:
        before = re.escape(squeezed(question.before)[-4:])  # √10>3.1 for √10____3.1
        order = re.search(f"{before}([<>=])", squeezed(with_signs(sentence)))
        chosen = order[1] if order and before else None
    rest = response.conclusion.rsplit("而是", 1)[-1][-_LONGEST_SENTENCE:]
    for word in words:
        rest = rest.replace(word, " ")
    if chosen is not None and not denies(rest):
        return Verdict(chosen == wanted, "one of the given words")
    chinese = re.search("[\u4e00-\u9fff<>=]", sentence) is not None
    none = given and chinese and not any(word in plain_words(sentence) for word in words)
    rule = "none of the given words" if none else "it is unclear which of the given words is meant"
    return without_answer(response) or Verdict(False if none else None, rule)
