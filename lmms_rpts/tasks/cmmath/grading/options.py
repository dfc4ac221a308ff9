"""Multiple choice: the options of a question, and which of them an answer chooses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from lmms_rpts.tasks.cmmath.grading.cleaning import clean
from lmms_rpts.tasks.cmmath.grading.readings import relation_readings, value_readings
from lmms_rpts.tasks.cmmath.grading.statement import Statement
from lmms_rpts.tasks.cmmath.grading.values import same_value, split_list
from lmms_rpts.tasks.cmmath.grading.words import gives_up, plain_words

_MARK = re.compile(r"(?:^|[\n\s　．。;；)）])[(（]?([A-HＡ-Ｈ])[)）]?\s?[.．、:：)）]\s{0,4}")
_NONE = re.compile(
    r"(?:选项|答案|以上)[都均](?:不(?:正确|对|符合)|是?错)|没有正确(?:的)?(?:选项|答案)"
)
_LETTERS = re.compile(r"[A-H](?:[\s,、;.]{0,3}[A-H]){0,7}")
_HALF_WIDTH = str.maketrans("ＡＢＣＤＥＦＧＨ", "ABCDEFGH")
# What makes a verdict on the letters before it, not a choice.
_JUDGED = (
    r"\s?(?:选?项)?(?:中|里)?(?:的(?:说法|结论|判断|描述|选项|做法))?\s?"
    r"(?:都|均|(?:全?都|皆)?[是为]?不?(?:正确|错|对[^于应]|符合|成立|能)|(?:are|is)\s(?:in)?(?:correct|right|true|wrong|false))"
)
_WORD = r"(?:选项|选择|选|项|options?|choices?|letters?|为|是|[:]|both|and|are|is)"
# Letters that stand alone: no word, no formula such as AB=3 or A(1,2).
_LEADING = re.compile(
    rf"^[\s*_\-•\"“”(\[【❴]*(?:the\s)?(?:{_WORD}[\s(\[【:]*){{0,3}}"
    r"(?P<letters>[A-H](?:[\s,、;./&)(\]\[】【\-•]{0,6}(?:和|与|及|and)?\s?(?:选项|option)?[\s(\[【]{0,3}[A-H]){0,7})"
    r"(?![A-Za-z0-9_'])(?!\s?[=⊥∥≌∽∈<>≤≥+×÷^])(?!\([-+]?\d)"
    r"(?![\s,、]{0,3}[A-H](?![A-Za-z]))"
    rf"(?!{_JUDGED})",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:故|所以|因此|应)?(?:选(?:择|项)?|(?:答案|选项|正确的?(?:选项|答案)?)(?:应该|应)?(?:是|为|:)|"
    r"options?|choices?|answers?\s(?:is|are)|choose|select)[\s:(（\[【*“\"$]{0,5}"
    r"(?P<letters>[A-H](?:[\s,、/&)(]{0,4}(?:和|与|及|and)?\s?(?:选项|option)?[\s(]{0,2}[A-H]){0,7})"
    r"(?![A-Za-z0-9_'])(?!\s?[=⊥∥≌∽∈<>≤≥+×÷^])"
    rf"(?!{_JUDGED})",
    re.IGNORECASE,
)
_POLAR = re.compile(
    r"(?P<said>不正确|错误|不成立|不符合[^,。;]{0,8}|不能[^,。;]{1,10}|正确|成立|符合[^,。;]{0,8})的?"
    r"(?:说法|结论|选项|判断|命题|描述)?(?:应该|应|只)?(?:有|是|为|:)+[\s:(（\[【*“\"$]{0,5}"
    r"(?P<letters>[A-H](?:[\s,、/&)(]{0,4}(?:和|与|及|and)?\s?(?:选项|option)?[\s(]{0,2}[A-H]){0,7})"
    rf"(?![A-Za-z0-9_'])(?!{_JUDGED})"
)
_VERDICT = re.compile(
    r"(?<![A-Za-z0-9])(?P<letters>[A-H](?:[\s,、/&]{0,3}(?:和|与|及|and)?\s{0,2}[A-H]){0,7})\s{0,2}(?:选?项)?"
    r"[^,，。;；A-H\n]{0,30}?(?P<said>不正确|不对|不符合|不成立|错误?|正确|符合|成立|对的"
    r"|(?:is|are)\s(?:the\s)?(?:correct|right|true)|(?:is|are)\s(?:not\s\w{1,8}|incorrect|wrong|false))",
    re.IGNORECASE,
)
_ROW = re.compile(r"^[\s*_#\-•>]{0,8}(?:选项\s?)?[(（]?([A-H])[)）]?\s?[.．、:：)）*项\s]")
_TOLD = re.compile(r"不正确|不对|不符合|不成立|错误?|正确|符合|成立|[√✓×✗]")
_CALLED_WRONG = re.compile(r"(?:错误|不正确|不成立|不符合题意)[^A-H]{0,4}$")
_EVERY = re.compile(r"都有?可能|均有?可能|all\s(?:are\s)?possible", re.IGNORECASE)
_WRONG_WORD = re.compile(r"不|错|[×✗]|not|incorrect|wrong|false", re.IGNORECASE)
_WRONG_ASKED = re.compile(
    r"(?:错误|不正确|不成立|不符合|不对|不能|不是|不属于|不可能)[^。\n]{0,12}(?:是|有|为)?[^。\n]{0,6}[(（_\\]"
    r"|(?:错误|不正确|不成立)的[是有]"
)
_FURTHER = re.compile(r"(?:^|[;；,，、.．\s(*])([A-H])\s?[.．、:)]")
_HEDGED = re.compile(
    r"(?<![A-Za-z])[A-H]\s{0,3}(?:或者?|还是|(?<![A-Za-z])or(?![A-Za-z]))\s{0,3}(?:选项\s?)?[A-H](?![A-Za-z])"
)
_DENIED = re.compile(
    r"(?:不(?:能|应该?|可以?)?选|排除|不是|并非|not\s)\s?(?:选项)?\s?$", re.IGNORECASE
)


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
    hedged = _HEDGED.search(text)
    if hedged:
        both = None if several else frozenset(re.findall(r"[A-H]", hedged[0]))
        return Choice(both, "names one option or another")
    if _EVERY.search(text) and not several:
        return Choice(frozenset(options), "names several options")
    if _NONE.search(text):
        return Choice(frozenset(), "no option is called right")
    letters, rest = _by_letters(statement, text, question, several=several)
    if letters is None:
        return _by_content(statement, options, question, several=several)
    if not letters <= set(options) and options:
        return Choice(None, "names an option that there is not")
    if len(letters) > 1 and not several:
        # AB may be a segment; two letters for one place are no choice.
        return Choice(letters, "letter")
    beside = _content_of(rest, options, question) if len(letters) == 1 else None
    if beside is not None and beside not in letters:
        return Choice(None, f"the letter says {min(letters)}, the words say {beside}")
    return Choice(letters, "letter")


def _by_letters(
    statement: Statement, text: str, question: str, *, several: bool
) -> tuple[frozenset[str] | None, str]:
    """The letters that the statement gives, and the words beside them."""
    boxed = clean(statement.boxed)
    for each in (boxed, text):
        found = _LEADING.match(each)
        many = found is not None and len(_distinct(found["letters"])) > 1
        if (
            found
            and not _calls_wrong(each[found.end() :], question)
            and ((statement.marked or each is boxed or many) and _stands_alone(found, each))
        ):
            further = _FURTHER.findall(each[found.end() - 1 :]) if several else []
            return _distinct(found["letters"]).union(further), each[found.end() :]
    matches = [
        found for found in _NAMED.finditer(text) if not _DENIED.search(text[: found.start()])
    ]
    if matches:
        return _distinct(matches[-1]["letters"]), text[matches[-1].end() :]
    wanted = _WRONG_ASKED.search(question) is not None
    polar = [
        found
        for found in _POLAR.finditer(text)
        if (_WRONG_WORD.search(found["said"]) is not None) == wanted
    ]
    if polar:
        return _distinct(polar[-1]["letters"]), ""
    bare = re.fullmatch(r"[\s(\[*]*([A-Ha-h])[\s)\].。*]*", text)
    if bare:
        return frozenset(bare[1].upper()), ""
    by_row = _by_rows(statement.spoken, options_of(question), question)
    return by_row or _by_verdicts(text, question, several=several), ""


def _by_rows(spoken: str, options: Mapping[str, str], question: str) -> frozenset[str] | None:
    """The options that a row of verdicts calls right, where it has one for every option."""
    said: dict[str, bool] = {}
    for line in spoken[-3000:].split("\n"):
        row = _ROW.match(line)
        verdicts = _TOLD.findall(line) if row else []
        if row and verdicts:
            said[row[1]] = _WRONG_WORD.search(verdicts[-1]) is None
    wanted = _WRONG_ASKED.search(question) is None
    if not options or set(said) != set(options):
        return None
    return frozenset(letter for letter, right in said.items() if right == wanted)


def _by_verdicts(text: str, question: str, *, several: bool) -> frozenset[str] | None:
    """The options that the text calls right, or wrong where those are asked for."""
    wanted = _WRONG_ASKED.search(question) is not None
    letters: set[str] = set()
    for found in _VERDICT.finditer(text):
        if (_WRONG_WORD.search(found["said"]) is not None) == wanted:
            letters |= _distinct(found["letters"])
    return frozenset(letters) if letters and (several or len(letters) == 1) else None


def _calls_wrong(rest: str, question: str) -> bool:
    """Whether what follows a letter says that it is wrong, where the right one is asked for."""
    return _CALLED_WRONG.search(rest) is not None and not _WRONG_ASKED.search(question)


def _stands_alone(found: re.Match[str], text: str) -> bool:
    """Whether leading letters are capitals, or all there is: "a triangle" is no option A."""
    return found["letters"][0].isupper() or not text[found.end() :].strip(" .。)*")


def _distinct(letters: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-H]", letters.upper().replace("AND", "")))


def _by_content(
    statement: Statement, options: Mapping[str, str], question: str, *, several: bool
) -> Choice:
    if not options:
        return Choice(None, "no letter, and the question lists no options")
    if several:
        return _several_by_content(statement, options, question)
    readings = value_readings(statement) + relation_readings(statement)
    for reading in readings:
        verdicts = {
            letter: same_value(reading, option, question) for letter, option in options.items()
        }
        right = [letter for letter, verdict in verdicts.items() if verdict]
        if len(right) == 1:
            return Choice(frozenset(right), "option's value")
    held = _held(clean(statement.text), options)
    if held is not None:
        return Choice(frozenset(held), "option's words")
    roundly = f"{question}约"  # a rounded value may mean an option
    for reading in readings[:2]:
        if all(same_value(reading, option, roundly) is False for option in options.values()):
            return Choice(frozenset(), "value of no option")
    if gives_up(statement.text):
        return Choice(frozenset(), "gives no answer")
    return Choice(None, "no option can be told from the answer")


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
    """The only option whose words a sentence holds, if they are words and not a number."""
    said = plain_words(text)
    held = [
        letter
        for letter, option in options.items()
        if len(plain_words(option)) >= 2
        and not plain_words(option).isdigit()
        and re.search(r"[\u4e00-\u9fff①-⑳A-Za-z]", option)
        and plain_words(option) in said
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
