"""Detection of option letters that a sentence chooses or calls right."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lmms_rpts.tasks.cmmath.grading.final_answer import Statement
from lmms_rpts.tasks.cmmath.grading.normalization import clean

# What makes a verdict on the letters before it, not a choice.
_JUDGED = (
    r"\s?(?:选?项)?(?:中|里)?(?:的(?:说法|结论|判断|描述|选项|做法))?\s?"
    r"(?:都|均|(?:全?都|皆)?[是为]?不?(?:正确|错|对[^于应]|符合|成立|能)|(?:are|is)\s(?:in)?(?:correct|right|true|wrong|false))"
)
# Between letters; what one part may take, no other may: else a failing match takes ages.
_GAP = r"[\s,、;./&)(\]\[】【\-•]{0,6}(?:(?:和|与|及|and|选项|[Oo]ption)[\s(\[【]{0,3}){0,2}"
_WORD = r"(?:选项|选择|选|项|options?|choices?|letters?|为|是|[:]|both|and|are|is)"
# Letters that stand alone: no word, no formula such as AB=3 or A(1,2).
_LEADING = re.compile(
    rf"^[\s*_\-•\"“”(\[【❴]*(?:[Tt]he\s)?(?:(?i:{_WORD})[\s(\[【]{{0,6}}){{0,3}}"
    rf"(?P<letters>[A-H](?:{_GAP}[A-H]){{0,7}})"
    r"(?![A-Za-z0-9_'])(?!\s?[=⊥∥≌∽∈<>≤≥+×÷^])(?!\([^()]{0,20},)"
    r"(?!(?:[\s,、]|and|和|与|及){0,6}[A-H](?![A-Za-z]))"
    rf"(?!(?i:{_JUDGED}))",
)
_NAMED = re.compile(
    r"(?i:(?:故|所以|因此|应)?(?:选(?:择|项)?|(?:答案|选项|正确的?(?:选项|答案)?)(?:应该|应)?(?:是|为|:)|"
    r"options?|choices?|answers?\s(?:is|are)|choose|select))[\s:(（\[【*“\"$]{0,5}"
    rf"(?P<letters>[A-H](?:{_GAP}[A-H]){{0,7}})"
    r"(?![A-Za-z0-9_'])(?!\s?[=⊥∥≌∽∈<>≤≥+×÷^])(?!(?:[\s,、]|和|与|及){0,6}[A-H](?![A-Za-z]))"
    rf"(?!(?i:{_JUDGED}))",
)
_POLAR = re.compile(
    r"(?P<said>不正确|错误|不成立|不符合[^,。;]{0,8}|不能[^,。;]{1,10}|正确|成立|符合[^,。;]{0,8})的?"
    r"(?:说法|结论|选项|判断|命题|描述)?(?:应该|应|只)?(?:有|是|为|:)+[\s:(（\[【*“\"$]{0,5}"
    rf"(?P<letters>[A-H](?:{_GAP}[A-H]){{0,7}})"
    rf"(?![A-Za-z0-9_'])(?!{_JUDGED})"
)
_VERDICT = re.compile(
    r"(?<![A-Za-z0-9])(?P<letters>[A-H](?:(?:选?项)?[\s,、/&]{0,3}(?:(?:和|与|及|and)\s{0,2})?[A-H]){0,7})\s{0,2}(?:选?项)?"
    r"[^,，。;；A-H\n]{0,30}?(?P<said>不正确|不对|不符合|不成立|错误?|正确|符合|成立|对的"
    r"|(?:is|are)\s(?:the\s)?(?:correct|right|true)|(?:is|are)\s(?:not\s\w{1,8}|incorrect|wrong|false))",
    re.IGNORECASE,
)
_ROW = re.compile(r"^[\s*_#\-•>]{0,8}(?:选项\s?)?[(（]?([A-H])[)）]?\s?[.．、:：)）*项\s]")
_TOLD = re.compile(r"不正确|不对|不符合|不成立|错误?|正确|符合|成立|[√✓×✗]")
_CALLED_WRONG = re.compile(r"(?:错误|不正确|不成立|不符合题意)[^A-H]{0,4}$")
_WRONG_WORD = re.compile(r"不|错|[×✗]|not|incorrect|wrong|false", re.IGNORECASE)
_WRONG_ASKED = re.compile(
    r"(?:错误|不正确|不成立|不符合|不对|不能|不是|不属于|不可能)[^。\n]{0,12}(?:是|有|为)?[^。\n]{0,6}[(（_\\]"
    r"|(?:错误|不正确|不成立)的[是有]"
)
_FURTHER = re.compile(r"(?:^|[;；,，、.．\s(*])([A-H])\s?[.．、:)]")
# A sentence that ends in an option's letter: "So D.", 所以D, "C is wrong, so D".
_LAST = re.compile(
    r"(?:^|[\s:→⇒>\])》,;]|[\u4e00-\u9fff])(?P<letter>[A-H])\s?(?:选?项)?[\s.。!)*\"”]{0,4}$"
)
_BEFORE_NAME = re.compile(
    r"(?:[点角△∠线段圆面棱边于在过至到与和及或除不]|排除|点\s|(?<![A-Za-z])[A-H][\s,、]{1,3}|(?:not|except|point|and|or|line|angle)\s)\s?$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:不(?:能|应该?|可以?)?选|排除|不是|并非|not\s)\s?(?:选项)?\s?$", re.IGNORECASE
)


def by_letters(
    statement: Statement,
    text: str,
    question: str,
    options: Mapping[str, str],
    *,
    several: bool,
) -> tuple[frozenset[str] | None, str]:
    """The letters that the statement gives, and the words beside them."""
    by_row = None if statement.marked else _by_rows(statement.spoken, options, question)
    if by_row:
        return by_row, ""
    boxed = clean(statement.boxed)
    for each in (boxed, text):
        found = _LEADING.match(each)
        many = found is not None and len(_distinct(found["letters"])) > 1
        if (
            found
            and not _calls_wrong(each[found.end() :], question)
            and (statement.marked or each is boxed or many)
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
    more = r"(?:[\s,、;]{0,3}[A-Ha-h]){0,7}" if several else ""
    bare = re.fullmatch(rf"[\s(\[*]*([A-Ha-h]{more})[\s)\].。*]*", boxed or text)
    if bare:
        return _distinct(bare[1]), ""
    last = _LAST.search(text)
    if last and not _BEFORE_NAME.search(text[: last.start("letter")]):
        return frozenset(last["letter"]), ""
    return _by_verdicts(text, question, several=several), ""


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


def _distinct(letters: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-H]", letters.upper().replace("AND", "")))
