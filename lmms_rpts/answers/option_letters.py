"""Parser of the option letters that an answer chooses, calls right, or leaves open."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

# Text that makes the letters before it part of a verdict, not a choice: "A、B的说法都正确".
_JUDGED = (
    r"\s?(?:选?项)?(?:中|里)?(?:的(?:说法|结论|判断|描述|选项|做法))?\s?"
    r"(?:都|均|(?:全?都|皆)?[是为]?不?(?:正确|错|对[^于应]|符合|成立|能)|(?:are|is)\s(?:in)?(?:correct|right|true|wrong|false))"
)
# Text between letters; its parts are disjoint: otherwise a failing match takes very long.
_GAP = r"[\s,、;./&)(\]\[】【\-•]{0,6}(?:(?:和|与|及|and|选项|[Oo]ption)[\s(\[【]{0,3}){0,2}"
_LETTERS = rf"(?P<letters>[A-H](?:{_GAP}[A-H]){{0,7}})"
# Not a letter of a word, of a formula such as AB=3 or A(1,2), or of a longer list of letters.
_ALONE = (
    r"(?![A-Za-z0-9_'])(?!\s?[=⊥∥≌∽∈<>≤≥+×÷^])(?!\([^()]{0,20},)"
    rf"(?!(?:[\s,、]|and|和|与|及){{0,6}}[A-H](?![A-Za-z]))(?!(?i:{_JUDGED}))"
)
_WORD = r"(?:选项|选择|选|项|options?|choices?|letters?|为|是|[:]|both|and|are|is)"
# "B", "(B)(C)", "选项B和选项C", "The options are B and C" at the beginning
_LEADING = re.compile(
    rf"^[\s*_\-•\"“”(\[【❴]*(?:[Tt]he\s)?(?:(?i:{_WORD})[\s(\[【]{{0,6}}){{0,3}}{_LETTERS}{_ALONE}"
)
# "只能选B", "the answer is B" anywhere
_NAMED = re.compile(
    r"(?i:(?:故|所以|因此|应)?(?:选(?:择|项)?|(?:答案|选项|正确的?(?:选项|答案)?)(?:应该|应)?(?:是|为|:)|"
    rf"options?|choices?|answers?\s(?:is|are)|choose|select))[\s:(（\[【*“\"$]{{0,5}}{_LETTERS}{_ALONE}"
)
# "错误的是C", "正确的说法有A、B"
_POLAR = re.compile(
    r"(?P<said>不正确|错误|不成立|不符合[^,。;]{0,8}|不能[^,。;]{1,10}|正确|成立|符合[^,。;]{0,8})的?"
    rf"(?:说法|结论|选项|判断|命题|描述)?(?:应该|应|只)?(?:有|是|为|:)+[\s:(（\[【*“\"$]{{0,5}}{_LETTERS}"
    rf"(?![A-Za-z0-9_'])(?!{_JUDGED})"
)
# "选项B正确", "A、B都错误", "C is correct"
_VERDICT = re.compile(
    r"(?<![A-Za-z0-9])(?P<letters>[A-H](?:(?:选?项)?[\s,、/&]{0,3}(?:(?:和|与|及|and)\s{0,2})?[A-H]){0,7})\s{0,2}(?:选?项)?"
    r"[^,，。;；A-H\n]{0,30}?(?P<said>不正确|不对|不符合|不成立|错误?|正确|符合|成立|对的"
    r"|(?:is|are)\s(?:the\s)?(?:correct|right|true)|(?:is|are)\s(?:not\s\w{1,8}|incorrect|wrong|false))",
    re.IGNORECASE,
)
# "A. 错误", "选项B：正确", "A选项：错误"
_ROW = re.compile(r"^[\s*_#\-•>]{0,8}(?:选项\s?)?[(（]?([A-H])[)）]?\s?(?:选项)?[.．、:：)）*项\s]")
_TOLD = re.compile(r"不正确|不对|不符合|不成立|错误?|正确|符合|成立|[√✓×✗]")
# "B 选项错误" does not choose B
_CALLED_WRONG = re.compile(r"(?:错误|不正确|不成立|不符合题意)[^A-H]{0,4}$")
_WRONG_WORD = re.compile(r"不|错|[×✗]|not|incorrect|wrong|false", re.IGNORECASE)
# "B. 18人；C. 20人" also names C
_FURTHER = re.compile(r"(?:^|[;；,，、.．\s(*])([A-H])\s?[.．、:)]")
# A sentence that ends with an option's letter: "So D.", 所以D, "C is wrong, so D".
_LAST = re.compile(
    r"(?:^|[\s:→⇒>\])》,;]|[\u4e00-\u9fff])(?P<letter>[A-H])\s?(?:选?项)?[\s.。!)*\"”]{0,4}$"
)
_BEFORE_NAME = re.compile(  # 垂足为点D, "line A", 排除A
    r"(?:[点角△∠线段圆面棱边于在过至到与和及或除不]|排除|点\s|(?<![A-Za-z])[A-H][\s,、]{1,3}|(?:not|except|point|and|or|line|angle)\s)\s?$",
    re.IGNORECASE,
)
_DENIED = re.compile(  # 不选B, "not option B"
    r"(?:不(?:能|应该?|可以?)?选|排除|不是|并非|not\s)\s?(?:选项)?\s?$", re.IGNORECASE
)
# "B或C", "B or C", 任选, "B正确，但A也可能", "可能是B，可能是C", "A is also possible"
_HEDGED = re.compile(
    r"(?<![A-Za-z])[A-H]{1,8}\s{0,3}(?:选?项)?\s?(?:或者?|还是|/|(?<![A-Za-z])or(?![A-Za-z]))"
    r"\s{0,3}(?:选项?\s?)?[A-H]{1,8}(?![A-Za-z])|任选|任意一|还有\s?[A-H]"
    r"|[A-H]\s?(?:选?项)?也(?:有|是)?可能|可能[^A-H。]{0,6}[A-H][^A-H。]{0,6}可能[^A-H。]{0,6}[A-H]"
    r"|also\s(?:be\s)?[A-H](?![A-Za-z])|[A-H]\sis\salso\spossible"
)


class Chosen(NamedTuple):
    """The letters that an answer names, in upper case, and the words after them."""

    letters: frozenset[str]
    rest: str = ""


def names_alternatives(text: str) -> bool:
    """Whether an answer names alternative options, such as "B or C"."""
    return _HEDGED.search(text) is not None


def chosen_letters(
    text: str, boxed: str, *, marked: bool, several: bool, wrong_wanted: bool
) -> Chosen | None:
    """The letters A to H that a final answer chooses; None if it chooses none.

    Args:
        text: the final answer, in ASCII letters and punctuation.
        boxed: the content of its box; empty if there is none.
        marked: whether a mark identifies the text as the answer.
        several: whether more than one option may be right.
        wrong_wanted: whether the question asks for the wrong options.
    """
    for each in (boxed, text):
        found = _LEADING.match(each)
        if found is None or (not wrong_wanted and _CALLED_WRONG.search(each[found.end() :])):
            continue
        letters = _distinct(found["letters"])
        if marked or each is boxed or len(letters) > 1:
            further = _FURTHER.findall(each[found.end() - 1 :]) if several else []
            return Chosen(letters.union(further), each[found.end() :])
    named = [found for found in _NAMED.finditer(text) if not _DENIED.search(text[: found.start()])]
    if named:
        return Chosen(_distinct(named[-1]["letters"]), text[named[-1].end() :])
    polar = [found for found in _POLAR.finditer(text) if _calls_wrong(found) == wrong_wanted]
    if polar:
        return Chosen(_distinct(polar[-1]["letters"]))
    more = r"(?:[\s,、;]{0,3}[A-Ha-h]){0,7}" if several else ""
    bare = re.fullmatch(rf"[\s(\[*]*([A-Ha-h]{more})[\s)\].。*]*", boxed or text)
    if bare:
        return Chosen(_distinct(bare[1]))
    last = _LAST.search(text)
    if last and not _BEFORE_NAME.search(text[: last.start("letter")]):
        return Chosen(frozenset(last["letter"]))
    judged: set[str] = set()
    for found in _VERDICT.finditer(text):
        judged |= _distinct(found["letters"]) if _calls_wrong(found) == wrong_wanted else set()
    return Chosen(frozenset(judged)) if judged and (several or len(judged) == 1) else None


def letters_by_rows(
    text: str, letters: Collection[str], *, wrong_wanted: bool
) -> frozenset[str] | None:
    """The options that lines of verdicts call right, if there is a line for every option."""
    said: dict[str, bool] = {}
    for line in re.split(r"[\n。；;]", text[-3000:]):
        row = _ROW.match(line)
        verdicts = _TOLD.findall(line) if row else []
        if row and verdicts:
            said[row[1]] = _WRONG_WORD.search(verdicts[-1]) is not None
    if not letters or set(said) != set(letters):
        return None
    return frozenset(letter for letter, wrong in said.items() if wrong == wrong_wanted)


def _calls_wrong(found: re.Match[str]) -> bool:
    return _WRONG_WORD.search(found["said"]) is not None


def _distinct(letters: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-H]", letters.upper().replace("AND", "")))
