"""Grading of multiple choice: the options of a question, and those that are chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from lmms_rpts.tasks.cmmath.grading.candidates import relation_readings, value_readings
from lmms_rpts.tasks.cmmath.grading.circled import called_so, circled_of
from lmms_rpts.tasks.cmmath.grading.final_answer import Statement
from lmms_rpts.tasks.cmmath.grading.hedging import is_bounded, is_denied, no_answer
from lmms_rpts.tasks.cmmath.grading.letters import by_letters
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.text_answers import OR, gives_up, plain_words, states
from lmms_rpts.tasks.cmmath.grading.values import same_value, split_list

_MARK = re.compile(r"(?:^|[\n\s　．。;；)）])[(（]?([A-HＡ-Ｈ])[)）]?\s?[.．、:：)）]\s{0,4}")
_NONE = re.compile(
    r"(?:选项|答案|以上)[都均](?:不(?:正确|对|符合)|是?错)|没有正确(?:的)?(?:选项|答案)"
)
_HEDGED = re.compile(
    r"(?<![A-Za-z])[A-H]{1,8}\s{0,3}(?:选?项)?\s?(?:或者?|还是|/|(?<![A-Za-z])or(?![A-Za-z]))"
    r"\s{0,3}(?:选项?\s?)?[A-H]{1,8}(?![A-Za-z])|任选|任意一|还有\s?[A-H]"
)
_EVERY = re.compile(r"都有?可能|均有?可能|all\s(?:are\s)?possible", re.IGNORECASE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FORMULA_EDGE = re.compile(r"[0-9A-Za-z+\-×÷/^=<>.√π]{2}")
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z0-9_])")
_EXCEPT = re.compile(r"除了?[^,。]{1,12}(?:外|以外|之外)|排除|except")
_HALF_WIDTH = str.maketrans("ＡＢＣＤＥＦＧＨ", "ABCDEFGH")


class Choice(NamedTuple):
    """What an answer chooses: letters, or None with the reason why it can't be told."""

    letters: frozenset[str] | None
    rule: str


def reference_letters(reference: str) -> frozenset[str] | None:
    """The letters of a reference that is nothing but letters."""
    bare = re.sub(r"[\s,，、;；.。和$&/]+", "", reference.translate(_HALF_WIDTH))
    if bare.isascii() and bare.isalpha() and bare.isupper() and max(bare) <= "H":
        return frozenset(bare) if len(set(bare)) == len(bare) else None
    return None


def options_of(question: str) -> dict[str, str]:
    """The options of a question, cleaned, by letter; empty where it has fewer than two."""
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
        letter: clean(question[end:stop]).strip(" .。;,\n")
        for (letter, _, end), stop in zip(found, ends, strict=True)
    }


def chosen(
    statement: Statement, options: Mapping[str, str], question: str, *, several: bool
) -> Choice:
    """The options that a statement chooses, by their letters or by what they say."""
    text = clean(statement.text)
    if _EXCEPT.search(text) and not statement.marked:
        return Choice(None, "names what is excluded")
    hedged = _HEDGED.search(text)
    if hedged:
        both = None if several else frozenset(re.findall(r"[A-H]", hedged[0])) or None
        return Choice(both, "names one option or another")
    if _EVERY.search(text) and not several:
        return Choice(frozenset(options), "names several options")
    if _NONE.search(text):
        return Choice(frozenset(), "no option is called right")
    letters, rest = by_letters(statement, text, question, options, several=several)
    if letters is None:
        return _by_content(statement, text, options, question, several=several)
    if not letters <= set(options) and options:
        return Choice(None, "names an option that there is not")
    if len(letters) > 1 and not several:
        # AB may be a segment; two letters for one place are no choice.
        return Choice(letters, "letter")
    if several and not statement.marked and not _all_named(statement, letters):
        return Choice(None, "other letters stand beside the last")
    beside = _content_of(rest, options, question) if len(letters) == 1 else None
    if beside is not None and beside not in letters:
        return Choice(None, f"the letter says {min(letters)}, the words say {beside}")
    return Choice(letters, "letter")


def _all_named(statement: Statement, letters: frozenset[str]) -> bool:
    """Whether the last line of an answer without a mark names these options only."""
    line = clean(statement.spoken.rstrip().rsplit("\n", 1)[-1])
    judged = re.search(r"正确|错|对|不|符合|成立|[√×]", line)
    return judged is not None or set(_LONE_LETTER.findall(line)) <= letters


def _by_content(
    statement: Statement,
    text: str,
    options: Mapping[str, str],
    question: str,
    *,
    several: bool,
) -> Choice:
    if not options:
        return Choice(None, "no letter, and the question lists no options")
    if several:
        return _several_by_content(statement, options, question)
    if no_answer(statement) is not None and not _may_be_undetermined(options):
        return Choice(frozenset(), "gives no answer")
    if is_denied(text) or is_bounded(text, f"{question}{''.join(options.values())}"):
        return Choice(None, "a value that is denied, or a bound")
    if OR.search(text) and not any(OR.search(option) for option in options.values()):
        return Choice(None, "several values")
    called = called_so(text, question)
    if called is not None:
        right = [letter for letter, option in options.items() if circled_of(option) == called]
        return Choice(frozenset(right), "verdicts on circled numbers")
    readings = value_readings(statement) + relation_readings(statement)
    for reading in readings:
        verdicts = {
            letter: same_value(reading, option, question) for letter, option in options.items()
        }
        right = [letter for letter, verdict in verdicts.items() if verdict]
        if len(right) == 1:
            return Choice(frozenset(right), "option's value")
    held = _held(text, options)
    if held is not None:
        return Choice(frozenset(held), "option's words")
    roundly = f"{question}约"  # a rounded value may mean an option
    for reading in readings[:2] if not _LONE_LETTER.search(text) else ():
        if not _is_value(reading, options):
            continue
        if all(same_value(reading, option, roundly) is False for option in options.values()):
            return Choice(frozenset(), "value of no option")
    if no_answer(statement) is not None:
        return Choice(frozenset(), "gives no answer")
    return Choice(None, "no option can be told from the answer")


def _is_value(reading: str, options: Mapping[str, str]) -> bool:
    """Whether a reading can be told from the options: a lone letter is no value."""
    if "%" not in reading and any(option.endswith("%") for option in options.values()):
        return False
    letter = _LONE_LETTER.search(reading)
    return letter is None and re.search(r"[0-9√π∅∞]", reading) is not None


def _several_by_content(statement: Statement, options: Mapping[str, str], question: str) -> Choice:
    for reading in value_readings(statement):
        letters = []
        for part in split_list(re.sub(r"^.*(?:有|是|为|:)", "", reading)):
            right = [
                letter for letter, option in options.items() if same_value(part, option, question)
            ]
            if len(right) != 1:
                break
            letters += right
        else:
            if letters and len(set(letters)) == len(letters):
                return Choice(frozenset(letters), "options' values")
    if gives_up(statement.text):
        return Choice(frozenset(), "gives no answer")
    return Choice(None, "no options can be told from the answer")


def _content_of(rest: str, options: Mapping[str, str], question: str) -> str | None:
    """The option that the words behind a letter spell out; None where they spell none."""
    said = rest.strip(' .。、:,()）\n"”*')
    if not said or len(said) > 200:
        return None
    right = [letter for letter, option in options.items() if same_value(said, option, question)]
    return right[0] if len(right) == 1 else None


def _held(text: str, options: Mapping[str, str]) -> str | None:
    """The only option whose words a sentence holds and does not deny; formulas are no words."""
    held = [
        letter
        for letter, option in options.items()
        if len(_CHINESE.findall(option)) >= 2 and _holds(text, option)
    ]
    longest = [
        letter
        for letter in held
        if not any(
            plain_words(options[letter]) in plain_words(options[other])
            for other in held
            if other != letter
        )
    ]
    return longest[0] if len(longest) == 1 else None


def _may_be_undetermined(options: Mapping[str, str]) -> bool:
    """Whether what sounds like giving up is one of the options: 无法确定."""
    return any(gives_up(option) for option in options.values())


def _holds(text: str, option: str) -> bool:
    """Whether the words stand there by themselves: "12个" does not hold "2个"."""
    said, words = plain_words(text), plain_words(option)
    at = said.rfind(words)
    if at < 0 or not states(text, option):
        return False
    edges = (said[at - 1 : at] + words[0], words[-1] + said[at + len(words) :][:1])
    return not any(len(edge) == 2 and _FORMULA_EDGE.fullmatch(edge) for edge in edges)
