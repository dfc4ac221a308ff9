"""Whether a response states the value of a target, and the rule that decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lmms_rpts.grading.choice import SEVERAL as SEVERAL_OPTIONS
from lmms_rpts.grading.choice import UNIDENTIFIED, Choice, read_choice
from lmms_rpts.grading.maths import reading
from lmms_rpts.grading.maths.answers import HALF_WIDTH, Response, Target, bare, runs, value_tail
from lmms_rpts.grading.maths.reading import (
    Question,
    is_number,
    members,
    quantity_of,
    same_value,
    with_signs,
)
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.options import read_options
from lmms_rpts.grading.statement import Verdict, denies, gives_up, hedges, sentences
from lmms_rpts.grading.vocabulary import phrases
from lmms_rpts.grading.words import (
    BLANK,
    CRITERIA,
    OR,
    chosen_word,
    is_nothing,
    plain_words,
    says_nothing,
    squeezed,
    states,
    theorems_in,
    truth_of,
    vocabulary,
)

# Of these types an equals sign, a comma or a bracket belongs to the value itself
_RELATIONS = frozenset({"interval", "equation", "coordinate", "set", "circled"})
_LONGEST_SENTENCE = 240
_NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?")
SEVERAL = Verdict(False, "offers several answers")
NO_ANSWER = frozenset({"gives no answer", "leaves the blank empty", "repeats itself"})


def value_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response gives the value of a target with one value."""
    if is_nothing(target.alternatives[0]):
        verdict = _nothing_verdict(response)
    else:
        special = {"true_false": _truth_verdict, "statement": _words_verdict}
        verdict = special.get(target.type, _read_verdict)(response, target)
    if not verdict.correct:
        return verdict
    if target.type == "statement" and offers_either(response, target):
        return SEVERAL
    deniable = target.type != "true_false"
    doubt = undermined(response, target.question.raw, target.alternatives, deniable=deniable)
    return doubt or verdict


def offers_either(response: Response, target: Target) -> bool:
    """Whether the last clause offers alternatives, and the reference does not."""
    return OR.search(response.clause) is not None and OR.search(target.text) is None


def unread(response: Response, wanted: str, rule: str) -> Verdict:
    """The verdict on an unreadable answer: wrong, unless it has the content of the wanted text."""
    return without_answer(response) or Verdict(
        None if has_content(response, wanted) else False, rule
    )


def _final(text: str) -> str:
    """A statement from the word that puts its answer in the place of another."""
    return text.rsplit("而是", 1)[-1]


# Numbers, formulas, regions, points, equations, sets

# ①错误，②正确: which of them are the answer?
_CALLED_WRONG = re.compile(r"错误|不正确|不成立|不对")
_REST = re.compile(r"其余|其他|其它|others?\b|the rest")  # 只有②错误，其余都正确
# what a value has: 5, √2, x, ②, 三
_VALUED = re.compile(r"[\d√π∞∅①-⑳A-Za-zα-ω零一二两三四五六七八九十半]")
# a run without Chinese words, in which a value stands
_SPAN = re.compile(r"[^\u4e00-\u9fff。、\n;“”]{1,200}")


def _read_verdict(response: Response, target: Target) -> Verdict:
    """The verdict on the likeliest candidate that can be compared."""
    called = response.statement.block + response.text
    if target.type == "circled" and (
        (_CALLED_WRONG.search(called) and not _CALLED_WRONG.search(target.question.raw))
        or _REST.search(response.text)
    ):
        return Verdict(None, "it is unclear which circled numbers are meant")  # ①正确，②错误
    rounded = target.question.rounding.asked and re.fullmatch(r"-?\d+\.\d+", target.text)
    candidates = response.relations if target.type in _RELATIONS else []
    if target.type not in _RELATIONS - {"set"}:
        candidates = [*candidates, *response.values(rounded=bool(rounded))]
    unsettled = False
    for said in candidates:
        same = is_any(said, target)
        unsettled = unsettled or (same is None and _has_type_of(said, target.alternatives[0]))
        if same:
            return _doubt(response, target) or Verdict(True, f"equal as {target.type}")
        if same is False and not unsettled:
            return _other_value(response, said, target)
    if unsettled:
        return Verdict(None, f"no rule decides this {target.type}")
    return unread(response, target.text, f"no {target.type} can be read from the answer")


def is_any(said: str, target: Target) -> bool | None:
    """True if a text is any of the target's alternatives, False if it certainly is not."""
    found = [same_value(said, each, target.question) for each in target.alternatives]
    return True if True in found else (None if None in found else False)


def _has_type_of(said: str, wanted: str) -> bool:
    """Whether a text is a value of the target's type, so that it may be another form of it."""
    if quantity_of(wanted) is not None:
        return quantity_of(reading.unnamed(said)) is not None
    found, asked = reading.region_of(said), reading.region_of(wanted)
    if found and asked and found.name and asked.name:
        return found.name == asked.name  # y<0, but x is asked for
    return any(read(wanted) is not None and read(said) is not None for read in reading.TYPES)


def _doubt(response: Response, target: Target) -> Verdict | None:
    """Why a sentence with the right value may not give it as the answer; None if it does."""
    if target.type in _RELATIONS:
        return None
    if is_bounded(response, target.question.raw + target.text):
        return Verdict(None, "a bound, not a value")
    if target.question.is_of_another(response.clause):
        return Verdict(None, "the value of another quantity")
    if hedges(response.text) and "可能" not in target.question.raw:
        several = len(set(_NUMBER.findall(response.text))) > 1
        return SEVERAL if several else Verdict(None, "the value is hedged")
    clause = _THOUSANDS.sub("", response.clause)
    for text in map(bare, (value_tail(clause), clause)):
        if _LISTED.search(clause) and not is_number(text):  # one hundred and five
            quantities = filter(None, (quantity_of(bare(each)) for each in members(text)))
            if len({each.expression.number for each in quantities} - {None}) > 1:
                return SEVERAL
    return None


def _other_value(response: Response, said: str, target: Target) -> Verdict:
    if target.type == "coordinate" and re.search("[≈约]|纵坐标", response.text):
        return Verdict(None, "the exact point may stand before a rounded one")
    if not offers_either(response, target) and _stands_elsewhere(response, said, target):
        return Verdict(None, "several values, including that of the reference")
    return Verdict(False, f"different as {target.type}")


def _stands_elsewhere(response: Response, said: str, target: Target) -> bool:
    """Whether the value of the target is next to the one that was read.

    If nothing marks the answer, the sentence before is searched, too; a box, or a last clause that
    draws the conclusion, leaves no doubt.
    """
    texts = [] if said in response.boxed else [response.text]
    if texts and response.concludes and said in response.clause:
        texts = [response.clause]
    elif texts and not response.statement.marked:
        texts = [clean(each) for each in sentences(response.statement.spoken[-600:])[-2:]]
    for text in filter(_VALUED.search, (each.replace(said, " ; ", 1) for each in texts)):
        for found in list(_SPAN.finditer(text))[-12:]:
            spans = [bare(each.rpartition("=")[2]) for each in re.split(r"[,;]", found[0])]
            with_unit = spans[-1] + re.sub(r"[^\u4e00-\u9fff/].*", "", text[found.end() :][:4])
            spans[-1] = with_unit if quantity_of(with_unit) else spans[-1]
            if any(is_any(span, target) for span in spans if span):
                return True
    return False


# Doubts about a statement with the right value

# 1,000 is no list
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# "3 and 5", 3或5, "3, 5"
_LISTED = re.compile(r"[,;、\n和与及或]|(?<![A-Za-z])(?:and|or)(?![A-Za-z])")
_BOUND, _UNSURE = phrases("bound"), phrases("unsure")
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
    before = statement.spoken[: max(0, statement.spoken.rfind(statement.text))]
    lead_in = re.split(r"[。\n]", before[-_LEAD_IN:])[-1]
    if statement.doubt or _UNSURE.search(lead_in + response.text):
        return Verdict(None, "the answer is not definite")
    text = _final(response.conclusion)
    for each in (*wanted, *(("若",) if "若" in question else ())):
        text = text.replace(each, " ")
    if deniable and (denies(text) or _MAY_DENY.search(text)):
        return Verdict(None, "the value may be denied")
    return None


def is_bounded(response: Response, asked: str) -> bool:
    """Whether the statement gives a bound, in words that the problem does not use."""
    return any(found[0] not in asked for found in _BOUND.finditer(response.conclusion))


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
    given_up = not valued and gives_up(" ".join(sentences(raw.spoken[-400:])[-2:]))
    if given_up or not re.search(r"[^\W_]|[<>=≤≥√×✓✗]", _EMPTY_LABEL.sub("", text)):
        return Verdict(False, "gives no answer")
    if _LOOP.search(text[-_LONGEST_SENTENCE:]):
        return Verdict(False, "repeats itself")
    if BLANK.search(text) and (_LEFT.search(text) or not re.search(r"\d", BLANK.sub("", text))):
        return Verdict(False, "leaves the blank empty")
    return None


def has_content(response: Response, wanted: str) -> bool:
    """Whether an answer contains every number of a text, or the words of a text without numbers."""
    said = f"{response.text} {response.boxed}"
    if not response.statement.marked:
        said += clean(" ".join(sentences(response.statement.spoken[-600:])[-3:]))
    return has_numbers(said, wanted)


def has_numbers(said: str, wanted: str) -> bool:
    """As ``has_content``, for a cleaned text."""
    wanted, said = wanted.translate(_DIGITS), said.translate(_DIGITS)
    numbers = set(_NUMBER.findall(wanted))
    if not numbers:
        names = set(re.findall(r"[A-Za-z]|[\u4e00-\u9fff]", wanted))
        return len(names & set(said)) * 2 > len(names)
    found = set(_NUMBER.findall(said))
    return all(each in found or _CHINESE_NUMBER.get(each, "x") in said for each in numbers)


# No solution, true or false

# x=3, x>2; but not x=3是增根，舍去
_SOLUTION = re.compile(r"^(?!.*(?:增根|舍|不)).*[=<>≤≥]\s?-?\d")
# x=3, x>-2: a solution
_SOLVED = re.compile(r"[=<>≤≥]\s?-?\d")
# 没有错, "错误……正确": a verdict on a verdict; 不是错误的; 对,也不对
_TWO_TRUTHS = re.compile(
    r"没有?错|不错|(?:错|不对|不正确|不成立)[^\n]{0,40}?(?<!不)(?:正确|是对)|(?<!不)正确[^\n]{0,40}?(?:错|不对|不正确)"
)
_JUDGEMENT = re.compile(r"判断|看法|观点")  # 认为这句话错误，这个判断是正确的
# 不是正确的, 对，也不对
_NOT_SO = re.compile(
    r"不是\s?不?(?:正确|对|错|真|假)|(?:对|错误?|正确|[√×])[^\n,;]{0,4}不是|[对错确][,，]?[也又]不?[对错正]"
)


def _nothing_verdict(response: Response) -> Verdict:
    text, clause = response.text, response.clause
    if says_nothing(text) or is_nothing(text):
        if OR.search(text) or len(members(clause)) > 1 or hedges(text):
            return SEVERAL
        if _SOLUTION.search(clause) and not says_nothing(clause):
            return Verdict(None, "says no solution, and then gives one")
        if denies(response.conclusion) or "≠" in text:
            return Verdict(None, "the absence of a solution may be denied")
        return Verdict(True, "no solution")
    values = [*response.values(), *response.relations]
    solved = any(quantity_of(each) is not None or _SOLVED.search(each) for each in values)
    if solved or re.search(r"无数|任意|❴[^❵]{1,200}❵", text):
        return Verdict(False, "a solution where there is none")
    unclear = Verdict(None, "it is unclear whether it says that there is no solution")
    return without_answer(response) or unclear


def _truth_verdict(response: Response, target: Target) -> Verdict:
    wanted, text = truth_of(target.text), response.text
    judged = text if _JUDGEMENT.search(response.clause) else response.clause
    pieces = re.split(r"[,，。;；]", text)
    if _NOT_SO.search(text) or _TWO_TRUTHS.search(judged):
        return Verdict(None, "a verdict on a verdict, or one that is denied")
    if len({truth_of(piece) for piece in pieces} - {None}) > 1:
        return SEVERAL
    if hedges(text):
        return Verdict(None, "the verdict is hedged")
    for said in map(truth_of, (*response.values(), pieces[0])):
        if said is not None:
            return Verdict(said == wanted, "true or false")
    spoken = text if response.statement.marked else response.statement.spoken[:600]
    stated = re.search(r"正确|错|对|成立|true|false|right|wrong", spoken, re.IGNORECASE)
    rule = "neither true nor false is stated"
    return without_answer(response) or Verdict(None if stated else False, rule)


# Words

# 甲, 直角三角形 is longer: a name of up to four characters
_CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]{1,4}")
_WHICH = re.compile(r"最[^,。]{0,12}[是为]\s?$")  # 销量最高的是____
# Maximum number of characters of a name in a reference: an answer with more text may deny it.
_NAME = 3
_ORDER = frozenset("<>=")


def _words_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response says the wanted words."""
    text, wanted = response.text, plain_words(target.text)
    words, given = vocabulary(target.question.raw, wanted)
    if words:
        return _closed_verdict(response, target, words, wanted, given=given)
    theorems = theorems_in(text, wanted)
    if theorems - {""}:
        several = "" in theorems or len(theorems) > 1
        return Verdict(None if several else False, "another theorem")
    if theorems and wanted in CRITERIA:
        same = True
    elif 1 <= len(wanted) <= _NAME:
        said = (text, value_tail(response.clause))
        same = any(plain_words(bare(each)).removesuffix("体") == wanted for each in said)
    elif len(response.statement.text) <= _LONGEST_SENTENCE:
        same = states(text, target.text)
    else:
        same = plain_words(text) == wanted
    if same:
        return Verdict(True, "the words of the reference")
    return without_answer(response) or _other_words(response, target)


def _other_words(response: Response, target: Target) -> Verdict:
    """Wrong if the answer has no word of the reference, or another name; else unclear."""
    wanted, asked = plain_words(target.text), plain_words(clean(target.question.raw))
    name = plain_words(value_tail(response.clause))
    if offers_either(response, target) and wanted in response.clause:
        return SEVERAL
    named = _CHINESE_NAME.fullmatch(wanted) and _CHINESE_NAME.fullmatch(name)
    if named and wanted not in plain_words(response.text):
        given = len(name) == len(wanted) and (len(name) == 1 or (name in asked and wanted in asked))
        which = _WHICH.search(target.question.before) and not set(name) & set(wanted)
        if given or which:
            return Verdict(False, "another name")
    return Verdict(None, "other words than the reference")


def _closed_verdict(
    response: Response, target: Target, words: frozenset[str], wanted: str, *, given: bool
) -> Verdict:
    sentence = _final(response.text)
    if words == _ORDER:
        sentence = with_signs(sentence).replace("等于", "=")
    chosen = chosen_word(_final(response.clause), words) or chosen_word(sentence, words)
    if words == _ORDER and len(squeezed(sentence)) > 1:
        before = re.escape(squeezed(target.question.before)[-4:])  # √10>3.1 for √10____3.1
        order = re.search(f"{before}([<>=])", squeezed(with_signs(sentence)))
        chosen = order[1] if order and before else None
    rest = _final(response.conclusion)[-_LONGEST_SENTENCE:]
    for word in words:
        rest = rest.replace(word, " ")
    if chosen is not None and not denies(rest):
        return Verdict(chosen == wanted, "one of the given words")
    chinese = re.search("[\u4e00-\u9fff<>=]", sentence) is not None
    none = given and chinese and not any(word in plain_words(sentence) for word in words)
    rule = "none of the given words" if none else "it is unclear which of the given words is meant"
    return without_answer(response) or Verdict(False if none else None, rule)


# Options

# "A. 16", "(B) 18", "Ｃ．20"
_MARK = re.compile(r"(?:^|[\n\s　．。;；)）])[(（]?([A-H])[)）]?\s?[.．、:：)）]\s{0,4}")
_WRONG_ASKED = re.compile(  # 下列说法错误的是
    r"(?:错误|不正确|不成立|不符合|不对|不能|不是|不属于|不可能)[^。\n]{0,12}(?:是|有|为)?[^。\n]{0,6}[(（_\\]"
    r"|(?:错误|不正确|不成立)的[是有]"
)
# 其余两个都是负数, 全选
_OTHERS = re.compile(r"其余|其他|其它|全选|全部|以上|others?\b|the rest|\ball\b")
_NO_MATCH = "the answer matches no single option"
# (1)(3), (1)、(3): circled numbers in plain text
_CIRCLED_ROW = re.compile(r"(?:\(\d{1,2}\)[、,和与\s]{0,2}){1,10}")
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z0-9_])")  # B in "由B得", but not in AB
_NO_OPTION = frozenset[str]()

Options = Mapping[str, str]


def choice_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response chooses the right options, by their letters or by their content."""
    question, several = target.question, target.type == "choice_multi"
    options = options_of(question.raw)
    choice = read_choice(
        response.statement.spoken,
        read_options([""] * len(options), values=lambda text: _mark_of(text, options, question)),
        several=several,
        wrong_wanted=_WRONG_ASKED.search(question.raw) is not None,
    )
    if choice.marks is None and choice.rule == UNIDENTIFIED:
        choice = _by_content(response, options, question, several=several)
    elif choice.rule == SEVERAL_OPTIONS:
        choice = Choice(_NO_OPTION, "offers several options")
    if choice.marks is not None:
        return Verdict(choice.marks == target.letters, choice.rule)
    if choice.rule != _NO_MATCH or not options or _OTHERS.search(response.text):
        return Verdict(None, choice.rule)
    contents = " ".join(options[each] for each in sorted(target.letters & options.keys()))
    return Verdict(None if has_content(response, contents) else False, choice.rule)


def _mark_of(text: str, options: Options, question: Question) -> frozenset[str] | None:
    """The option that has the value of a text."""
    text = clean(text[:200]).strip(' .。、:,\n"”*')
    if not _CIRCLED_ROW.fullmatch(text):  # "(1)(3)" is ①③ in plain text
        text = text.strip("()）")
    letter = _option_of(text, options, question) if text else None
    return frozenset({letter}) if letter else None


def options_of(question: str) -> dict[str, str]:
    """The options of a question, cleaned, by letter; empty if it has fewer than two."""
    texts = (runs(_MARK, question.translate(HALF_WIDTH)) or [[]])[-1]
    found = (clean(text).strip(" .。;,\n") for text in texts if len(texts) > 1)
    return dict(zip("ABCDEFGH", found, strict=False))


def _option_of(said: str, options: Options, question: Question) -> str | None:
    """The only option with the same value."""
    right = [each for each, option in options.items() if same_value(said, option, question)]
    return right[0] if len(right) == 1 else None


def _by_content(
    response: Response, options: Options, question: Question, *, several: bool
) -> Choice:
    text = response.text
    if not options:
        return Choice(None, "no letter, and the question lists no options")
    undetermined = any(gives_up(option) for option in options.values())  # 无法确定
    if without_answer(response) and not undetermined:
        return Choice(_NO_OPTION, "gives no answer")
    contents = "".join(options.values())
    bounded = is_bounded(response, question.raw + contents)
    if not several and (denies(response.conclusion) or bounded):
        return Choice(None, "the value is denied, or is a bound")
    if OR.search(text) and not OR.search(contents):
        return Choice(_NO_OPTION, "offers several answers")
    values, relations = response.values(), response.relations
    for said in (*values, *relations):
        listed = members(re.sub(r"^.*(?:有|是|为|:)", "", said)) if several else [said]
        letters = {_option_of(part, options, question) for part in listed}
        if len(letters) == len(listed) > 0 and None not in letters:
            return Choice(frozenset(filter(None, letters)), "option's value")
    if several or _LONE_LETTER.search(text):
        return Choice(None, _NO_MATCH)
    rounding = Question(f"{question.raw}约")  # a rounded value may mean an option
    for said in (*values[:2], *relations[:2]):
        same = {same_value(said, option, rounding) for option in options.values()}
        if re.search(r"[0-9√π∅∞]", said) and same == {False}:
            return Choice(_NO_OPTION, "value of no option")
    if any(map(is_number, options.values())) and any(map(is_number, values[:2])):
        return Choice(None, "the value may be that of an option")
    return Choice(None, _NO_MATCH)
