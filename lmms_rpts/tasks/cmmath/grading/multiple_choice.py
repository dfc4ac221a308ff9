"""Multiple choice: the options of a question, and whether a response chooses the right ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lmms_rpts.grading.choice import SEVERAL, UNIDENTIFIED, read_choice
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.options import read_options
from lmms_rpts.grading.statement import denies, gives_up
from lmms_rpts.grading.words import OR, plain_words, states
from lmms_rpts.tasks.cmmath.grading.comparison import same_reading
from lmms_rpts.tasks.cmmath.grading.hedging import (
    Verdict,
    holds,
    is_bounded,
    is_denied,
    without_answer,
)
from lmms_rpts.tasks.cmmath.grading.question import Question
from lmms_rpts.tasks.cmmath.grading.response import Reading, Response
from lmms_rpts.tasks.cmmath.grading.target import Target

# "A. 16", "(B) 18", "Ｃ．20"
_MARK = re.compile(r"(?:^|[\n\s　．。;；)）])[(（]?([A-HＡ-Ｈ])[)）]?\s?[.．、:：)）]\s{0,4}")
_HALF_WIDTH = str.maketrans("ＡＢＣＤＥＦＧＨ", "ABCDEFGH")
_NONE = re.compile(  # 四个选项都不正确
    r"(?:选项|答案|以上)[都均](?:不(?:正确|对|符合)|是?错)|没有正确(?:的)?(?:选项|答案)"
)
_WRONG_ASKED = re.compile(  # 下列说法错误的是
    r"(?:错误|不正确|不成立|不符合|不对|不能|不是|不属于|不可能)[^。\n]{0,12}(?:是|有|为)?[^。\n]{0,6}[(（_\\]"
    r"|(?:错误|不正确|不成立)的[是有]"
)
# 其余两个都是负数, 全选
_REST = re.compile(r"其余|其他|其它|全选|全部|以上|others?\b|the rest|\ball\b")
_LINE = re.compile(r"[\s*]{0,6}([A-H])\s?[.．、:：)）]\s?\S")  # B. 26
_DENIED_BEFORE = r"(?:不是|并非|非|不选|不能选|(?i:(?<![a-z])(?:not|anything\sbut|except))|[除¬])"
_UNTOLD = "the answer matches no single option"
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FORMULA_EDGE = re.compile(r"[0-9A-Za-z+\-×÷/^=<>.√π]{2}")  # 12个 does not contain 2个
_NUMBERED = re.compile(r"(?:\(\d{1,2}\)[、,和与\s]{0,2}){1,10}")
_COUNT = re.compile(  # 一共有8个满足条件的点P
    r"^\W{0,4}(?:所以|因此|故|则|综上,?|即)?\s?(?:一?共有?|总共有?|有)\s?(\d{1,6}\s?[个种条对次])[^\d,。;一二三四五六七八九十不]{0,20}$"
)
_ABOVE = 80
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z0-9_])")  # B in "由B得", but not in AB

Options = Mapping[str, Reading]


class _Choice(NamedTuple):
    """The letters that an answer chooses, or None if unclear; and the rule that decided."""

    letters: frozenset[str] | None
    rule: str


def choice_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response chooses the right options, by their letters or by their content."""
    question, several = target.question, target.type == "choice_multi"
    options = options_of(question.raw)
    choice = read_choice(
        response.statement.spoken,
        read_options(list(map(_in_words, options.values())), values=_values(options, question)),
        several=several,
        wrong_wanted=_WRONG_ASKED.search(question.raw) is not None,
    )
    found = _Choice(choice.marks, choice.rule)
    if choice.marks is None and choice.rule == UNIDENTIFIED:
        by_content = _several_by_content if several else _by_content
        found = by_content(response, options, question)
    elif choice.rule == SEVERAL:
        found = _Choice(frozenset(), "offers several options")
    if found.letters is not None:
        return Verdict(found.letters == target.letters, found.rule)
    if found.rule != _UNTOLD or not options or _REST.search(response.text):
        return Verdict(None, found.rule)
    contents = " ".join(options[each].text for each in sorted(target.letters & options.keys()))
    return Verdict(None if holds(response, contents) else False, found.rule)


def _in_words(option: Reading) -> str:
    """The text of an option if it is words or a name; a formula is compared by its value."""
    text = option.text
    words = len(_CHINESE.findall(text)) > 1 and not re.search(r"[0-9A-Za-z\\]", text)
    return text if words or re.fullmatch("[A-Za-z]", text) else ""


def _values(options: Options, question: Question) -> Callable[[str], frozenset[str] | None]:
    """The reader of the values of options."""

    def marks_of(text: str) -> frozenset[str] | None:
        cleaned = clean(text[:200]).strip(' .。、:,\n"”*')
        # "(1)(3)" is ①③ in plain text
        said = Reading(cleaned if _NUMBERED.fullmatch(cleaned) else cleaned.strip("()）"))
        letter = _option_of(said, options, question) if said.text else None
        return frozenset({letter}) if letter else None

    return marks_of


def options_of(question: str) -> dict[str, Reading]:
    """The options of a question, cleaned, by letter; empty if it has fewer than two."""
    found: list[tuple[str, int, int]] = []
    for mark in _MARK.finditer(question):
        letter = mark[1].translate(_HALF_WIDTH)
        if letter == "A":
            found = []
        if letter == chr(ord("A") + len(found)):
            found.append((letter, mark.start(), mark.end()))
    ends = [start for _, start, _ in found[1:]] + [len(question)]
    if len(found) < 2:
        return {}
    return {
        letter: Reading(clean(question[end:stop]).strip(" .。;,\n"))
        for (letter, _, end), stop in zip(found, ends, strict=True)
    }


def _option_of(said: Reading, options: Options, question: Question) -> str | None:
    """The only option with the same value."""
    right = [each for each, option in options.items() if same_reading(said, option, question)]
    return right[0] if len(right) == 1 else None


def _counted(text: str) -> list[Reading]:
    """The number of a sentence that only counts something."""
    found = _COUNT.match(text)
    return [Reading(found[1])] if found else []


def _written_alike(said: Reading, options: Options) -> str | None:
    """The only option that is the same formula, character by character."""
    same = [each for each, option in options.items() if option.squeezed == said.squeezed]
    return same[0] if len(same) == 1 and "\\" in said.squeezed else None


def _by_content(response: Response, options: Options, question: Question) -> _Choice:
    text = response.text
    if _NONE.search(text):
        return _Choice(frozenset(), "says that no option is right")
    if not options:
        return _Choice(None, "no letter, and the question lists no options")
    undetermined = any(gives_up(option.text) for option in options.values())  # 无法确定
    if without_answer(response) and not undetermined:
        return _Choice(frozenset(), "gives no answer")
    contents = "".join(option.text for option in options.values())
    if is_denied(response) or is_bounded(response, question.raw + contents):
        return _Choice(None, "the value is denied, or is a bound")
    if OR.search(text) and not OR.search(contents):
        return _Choice(frozenset(), "offers several answers")
    values = [*_counted(text), *response.values()]
    before, _, last = response.statement.spoken.rstrip().rpartition("\n")
    line = _LINE.match(last)
    above = before.rstrip().rpartition("\n")[2]
    if line and not _LINE.match(above) and not denies(above[-_ABOVE:]):
        said = Reading(clean(last[line.end() - 1 :]).strip(" .。;,*"))
        if _option_of(said, options, question) == line[1]:
            return _Choice(frozenset(line[1]), "letter")
    for reading in (*values, *response.relations):
        letter = _option_of(reading, options, question) or _written_alike(reading, options)
        if letter is not None and line and line[1] != letter:
            return _Choice(None, f"the letter is {line[1]}, the words match {letter}")
        if letter is not None:
            return _Choice(frozenset(letter), "option's value")
    held = _held(text, options)
    if held is not None:
        return _Choice(frozenset(held), "option's words")
    if not _LONE_LETTER.search(text):
        rounding = Question(f"{question.raw}约")  # a rounded value may mean an option
        for reading in (*values[:2], *response.relations[:2]):
            told = [same_reading(reading, option, rounding) for option in options.values()]
            if _is_value(reading) and set(told) == {False}:
                return _Choice(frozenset(), "value of no option")
        numbers = any(option.is_number for option in options.values())
        if numbers and any(reading.is_number for reading in values[:2]):
            return _Choice(None, "the value may be that of an option")
    return _Choice(None, _UNTOLD)


def _is_value(reading: Reading) -> bool:
    """Whether a reading is a value rather than an option: a lone letter is not a value."""
    letter = _LONE_LETTER.search(reading.text)
    return letter is None and re.search(r"[0-9√π∅∞]", reading.text) is not None


def _several_by_content(response: Response, options: Options, question: Question) -> _Choice:
    for reading in response.values():
        listed = Reading(re.sub(r"^.*(?:有|是|为|:)", "", reading.text)).members
        letters = [_option_of(part, options, question) for part in listed]
        known = frozenset(filter(None, letters))
        if letters and None not in letters and len(known) == len(letters):
            return _Choice(known, "options' values")
    return _Choice(None, _UNTOLD)


def _held(text: str, options: Options) -> str | None:
    """The only option whose words a sentence contains and does not deny; formulas are not words."""
    said = plain_words(text)
    held = {
        letter: plain_words(option.text)
        for letter, option in options.items()
        if len(_CHINESE.findall(option.text)) >= 2 and _holds_words(said, text, option.text)
    }
    longest = [
        letter
        for letter, words in held.items()
        if not any(words in other for name, other in held.items() if name != letter)
    ]
    return longest[0] if len(longest) == 1 else None


def _holds_words(said: str, text: str, option: str) -> bool:
    """Whether the words occur by themselves: "12个" does not contain "2个"."""
    words = plain_words(option)
    at = said.rfind(words)
    if at < 0 or not states(text, option):
        return False
    edges = (said[at - 1 : at] + words[0], words[-1] + said[at + len(words) :][:1])
    return not any(len(edge) == 2 and _FORMULA_EDGE.fullmatch(edge) for edge in edges)
