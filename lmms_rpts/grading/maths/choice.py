"""Multiple choice: the options of a question, and whether a response chooses the right ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lmms_rpts.grading.choice import SEVERAL, UNIDENTIFIED, Choice, read_choice
from lmms_rpts.grading.maths.answers import HALF_WIDTH, Response, Target, runs
from lmms_rpts.grading.maths.reading import Question, is_number, members, same_value
from lmms_rpts.grading.maths.verdicts import holds, is_bounded, without_answer
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.options import read_options
from lmms_rpts.grading.statement import Verdict, denies, gives_up
from lmms_rpts.grading.words import OR

# "A. 16", "(B) 18", "Ｃ．20"
_MARK = re.compile(r"(?:^|[\n\s　．。;；)）])[(（]?([A-H])[)）]?\s?[.．、:：)）]\s{0,4}")
_WRONG_ASKED = re.compile(  # 下列说法错误的是
    r"(?:错误|不正确|不成立|不符合|不对|不能|不是|不属于|不可能)[^。\n]{0,12}(?:是|有|为)?[^。\n]{0,6}[(（_\\]"
    r"|(?:错误|不正确|不成立)的[是有]"
)
# 其余两个都是负数, 全选
_REST = re.compile(r"其余|其他|其它|全选|全部|以上|others?\b|the rest|\ball\b")
_UNTOLD = "the answer matches no single option"
_NUMBERED = re.compile(r"(?:\(\d{1,2}\)[、,和与\s]{0,2}){1,10}")
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z0-9_])")  # B in "由B得", but not in AB
_NO_OPTION = frozenset[str]()

Options = Mapping[str, str]


def choice_verdict(response: Response, target: Target) -> Verdict:
    """Whether a response chooses the right options, by their letters or by their content."""
    question, several = target.question, target.type == "choice_multi"
    options = options_of(question.raw)
    choice = read_choice(
        response.statement.spoken,
        read_options([""] * len(options), values=_values(options, question)),
        several=several,
        wrong_wanted=_WRONG_ASKED.search(question.raw) is not None,
    )
    if choice.marks is None and choice.rule == UNIDENTIFIED:
        choice = _by_content(response, options, question, several=several)
    elif choice.rule == SEVERAL:
        choice = Choice(_NO_OPTION, "offers several options")
    if choice.marks is not None:
        return Verdict(choice.marks == target.letters, choice.rule)
    if choice.rule != _UNTOLD or not options or _REST.search(response.text):
        return Verdict(None, choice.rule)
    contents = " ".join(options[each] for each in sorted(target.letters & options.keys()))
    return Verdict(None if holds(response, contents) else False, choice.rule)


def _values(options: Options, question: Question) -> Callable[[str], frozenset[str] | None]:
    """The reader of the values of options."""

    def marks_of(text: str) -> frozenset[str] | None:
        cleaned = clean(text[:200]).strip(' .。、:,\n"”*')
        # "(1)(3)" is ①③ in plain text
        said = cleaned if _NUMBERED.fullmatch(cleaned) else cleaned.strip("()）")
        letter = _option_of(said, options, question) if said else None
        return frozenset({letter}) if letter else None

    return marks_of


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
        return Choice(None, _UNTOLD)
    rounding = Question(f"{question.raw}约")  # a rounded value may mean an option
    for said in (*values[:2], *relations[:2]):
        told = {same_value(said, option, rounding) for option in options.values()}
        if re.search(r"[0-9√π∅∞]", said) and told == {False}:
            return Choice(_NO_OPTION, "value of no option")
    if any(map(is_number, options.values())) and any(map(is_number, values[:2])):
        return Choice(None, "the value may be that of an option")
    return Choice(None, _UNTOLD)
