"""Grading of parts (1), (2), ... and of blanks, each against its own reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import sentences
from lmms_rpts.grading.words import placed
from lmms_rpts.tasks.cmmath.grading.hedging import Verdict, holds_numbers
from lmms_rpts.tasks.cmmath.grading.response import (
    Reading,
    Response,
    part_of,
    read_response,
)
from lmms_rpts.tasks.cmmath.grading.target import (
    Item,
    Target,
    clauses_of,
    items_of_blanks,
    items_of_part,
    named_in,
)
from lmms_rpts.tasks.cmmath.grading.verdicts import unread, value_verdict

_SAID = 800
_VALUE = re.compile(r"\d")
_UNCLEAR = "it is unclear which parts of the sentence are the answers"


def _all_of(verdicts: Sequence[Verdict], what: str) -> Verdict:
    """True if all are True, False if any is False; ``what``: what they are verdicts on."""
    for outcome in (False, None):
        for at, verdict in enumerate(verdicts, 1):
            if verdict.same is outcome:
                return Verdict(outcome, f"{what} {at}: {verdict.rule}")
    return Verdict(True, f"each {what}")


# Parts

_MARK = re.compile(  # (1), （2）, 第(3)问, 第一小题, Part 2, (a)
    r"（(?P<wide>[1-6])）|(?:^|(?<=[\n:：;；。.,，、*#\s{]))[*#\s]{0,6}"
    r"(?:[(（](?P<number>[1-6一二三四五六a-d])[)）]|第\s?[(（]?(?P<ordinal>[1-6一二三四五六])[)）]?\s?(?:问|小?题|部分)"
    r"|[Pp]art\s[(（]?(?P<part>[1-6])[)）]?)"
)
_LISTED = re.compile(r"(?:^|\n)[*#\s]{0,6}(?P<number>[1-6])[.、]")  # "1. 5" and "2. 7" in lines
_PROOF = re.compile(r"^(?:证明)?(?:过程)?(?:见解析|略|见详解)$|^证明$")  # 证明见解析
_DIGITS = {character: at for row in ("一二三四五六", "abcd") for at, character in enumerate(row, 1)}


_FINAL = re.compile(r"答案|结论|综上|汇总|final\sanswers?", re.IGNORECASE)


def parts_verdict(response: Response, target: Target) -> Verdict:
    """Whether each part is answered correctly; a missing part is wrong."""
    statement, total = response.statement, len(target.parts)
    spoken = statement.spoken
    listed = _final_list(spoken, total)
    found = _given_verdict(listed, target) if listed else None
    if found and found.same is not None and (found.same or _below_heading(spoken, total)):
        return found
    below = statement.block if statement.marked else ""  # 答案是(1)7
    given = _parts(statement.boxed, total) or _whole_parts(below, total) or _parts(spoken, total)
    if given:
        return _given_verdict(given, target)
    return _unmarked_verdict(response, target)


def _given_verdict(given: Mapping[int, str], target: Target) -> Verdict:
    verdicts = [
        _part_verdict(given[at], part)
        if given.get(at, "").strip(" \n*#:：")
        else Verdict(False, "missing")
        for at, part in enumerate(target.parts, 1)
    ]
    return _all_of(verdicts, "part")


def _unmarked_verdict(response: Response, target: Target) -> Verdict:
    """The verdict if the parts of an answer are not numbered."""
    parts = [part for part in target.parts if not _PROOF.search(part.text)]
    if len(parts) == 1:
        return _part_verdict(response.statement.spoken, parts[0])
    rule = "the parts of the answer can't be separated"
    return unread(response, target.contents, rule)


def _part_verdict(answer: str, part: Target) -> Verdict:
    if _PROOF.search(part.text):
        return Verdict(True, "a proof, which is not graded")
    response = read_response(answer)
    verdict = blanks_verdict(response, part) if part.parts else value_verdict(response, part)
    items = items_of_part(part) if not verdict.same else ()
    if part.type in ("statement", "multi_blank") and items:
        for text in (response.text, answer[-_SAID:]):
            found = _labelled_verdict(text, items, "value")
            if found.same or (found.same is False and text is not response.text):
                return found
    return verdict


def _parts(text: str, total: int) -> dict[int, str]:
    """The last run of parts (1), (2), ... of a response: their texts by number."""
    runs = _runs([*_MARK.finditer(text)], text)
    best = max(runs, key=len, default={})
    enough = len(best) > 1 or total == 2
    return _whole_parts(text, total) or (best if enough else {})


def _whole_parts(text: str, total: int) -> dict[int, str]:
    """As ``_parts``, if no part is missing."""
    for pattern in (_MARK, _LISTED):
        for run in reversed(_runs([*pattern.finditer(text)], text)):
            if len(run) >= total:
                return run
    return {}


def _final_list(spoken: str, total: int) -> dict[int, str]:
    """The parts of a list at the end of the response, one per line, with or without a heading."""
    lines = [line for line in spoken.rstrip().split("\n") if line.strip()][-total:]
    marks = [_LISTED.match(line) or _MARK.match(line) for line in lines]
    numbers = [_number_of(mark) for mark in marks if mark]
    if numbers != list(range(1, total + 1)):
        return {}
    return {
        at: line[mark.end() :] for at, line, mark in zip(numbers, lines, marks, strict=True) if mark
    }


def _below_heading(spoken: str, total: int) -> bool:
    """Whether a heading such as 最终答案 is above the lines that end the response."""
    lines = [line for line in spoken.rstrip().split("\n") if line.strip()][-total - 1 :]
    return len(lines) > total and _FINAL.search(lines[0][:40]) is not None


def _number_of(mark: re.Match[str]) -> int:
    said = next(value for value in mark.groupdict().values() if value)
    return _DIGITS.get(said) or int(said)


def _runs(marks: list[re.Match[str]], text: str) -> list[dict[int, str]]:
    """Rows of marks that count up from 1; a new row begins at each 1."""
    runs: list[dict[int, str]] = []
    ends = [mark.start() for mark in marks[1:]]
    for mark, end in zip(marks, [*ends, len(text)], strict=False):
        number, piece = _number_of(mark), text[mark.end() : end]
        if number == 1:
            runs.append({1: piece})
        elif runs and number <= len(runs[-1]) + 1:
            runs[-1][number] = runs[-1].get(number, "") + piece
    return runs


# Values by their labels

_NUMBER = re.compile(
    r"(?<![\d.A-Za-z_{])-?(?:\\frac\{\d{1,9}\}\{\d{1,9}\}|\d{1,12}(?:\.\d{1,12}|/\d{1,9})?%?)(?![\d.])"
)
_BRACKETS = re.compile(r"\([^()]{0,40}\)")
_CHINESE = re.compile("[\u4e00-\u9fff]")


def _item_verdict(item: Item, clause: str) -> Verdict:
    """Whether a cleaned clause gives the value; one in English may do so by its only number."""
    text = placed(clause, item.before, item.after) or clause
    found = value_verdict(part_of(text), item.target)
    english = _BRACKETS.sub("", clause)
    numbers = [] if found.same or _CHINESE.search(english) else _NUMBER.findall(english)
    return value_verdict(part_of(numbers[0]), item.target) if len(numbers) == 1 else found


def _labelled_verdict(text: str, items: Sequence[Item], what: str) -> Verdict:
    """Whether the clauses of a text give the value of each item, identified by its words.

    If several clauses name an item, the last one that can be read counts. Items that no clause
    names may have their values in the other clauses, in order.
    """
    clauses = clauses_of(text)
    named = named_in(clauses, items)
    taken = {each for own in named for each in own}
    valued = [each for each in clauses if _VALUE.search(each)]
    free = [each for each in valued if each not in taken]
    unnamed = sum(not own for own in named)
    following = iter(free if len(free) == unnamed else ())
    verdicts = []
    for item, own in zip(items, named, strict=True):
        if own:
            verdicts.append(_last_verdict(item, own))
            continue
        other = next(following, None)
        if other is not None and _item_verdict(item, other).same:
            verdicts.append(Verdict(True, "in order"))
        elif taken and (
            not holds_numbers(clean(text), item.target.text)
            or len(_NUMBER.findall(text)) < len(items)
        ):
            verdicts.append(Verdict(False, "missing"))
        else:
            verdicts.append(Verdict(None, _UNCLEAR))
    return _all_of(verdicts, what)


def _last_verdict(item: Item, clauses: Sequence[str]) -> Verdict:
    verdicts = [_item_verdict(item, each) for each in reversed(clauses)]
    told = [verdict for verdict in verdicts if verdict.same is not None]
    unclear = not told or (not told[0].same and any(verdict.same for verdict in told))
    return Verdict(None, _UNCLEAR) if unclear else told[0]


# Blanks

_EDGES = " ：:。.，,；;*"
# ②5, (2) 5, 第二空填5, "the second blank is 5"
_PLACE = re.compile(
    r"(?:^|(?<=[\s,，;；、。和]))(?:([①-⑥])(?![①-⑳])|[(（]([1-6])[)）]"
    r"|第([一二三四五六1-6])个?(?:空|处|个)(?:应?填|是|为)?)",
)
_PLACES = "①②③④⑤⑥123456一二三四五六"
_WORDS = re.compile(r"[\u4e00-\u9fff]{2}|(?<![\\A-Za-z])[A-Za-z]{4}")
_LEAD = re.compile(  # A dash without a space after it is a sign.
    r"^\s{0,8}(?:[-•+*]\s{1,3}|\*\*|__)?(?:[①-⑥](?=[^①-⑳,，、])|[(（]\d[)）]|\d[)）、]|\d\.(?!\d))?\s{0,3}"
)
_BOTH = re.compile(r"都|均|(?<![A-Za-z])both(?![A-Za-z])")
_MOST_BLANKS = 30


def blanks_verdict(response: Response, target: Target) -> Verdict:
    """Whether each blank is filled with its own value: by its words, else in order."""
    count = len(target.parts)
    if count > _MOST_BLANKS:
        return Verdict(None, "too many blanks")
    items = items_of_blanks(target)
    first: Verdict | None = None
    by_label = next(filter(None, (_by_label(text, count) for text in _texts(response))), None)
    if by_label:
        filled = zip(by_label, target.parts, strict=True)
        return _all_of([_blank_verdict(*pair) for pair in filled], "blank")
    for pieces in _ways_to_split(response, count):
        if not _in_place(pieces, items):
            continue
        pairs = zip(pieces, target.parts, strict=True)
        found = _all_of([_blank_verdict(*pair) for pair in pairs], "blank")
        if found.same:
            return found
        first = first or (found if _is_sure(found, pieces, response) else None)
    labelled = _labelled_verdict(_said(response), items, "blank") if items else None
    if labelled is not None and labelled.same is not None:
        return labelled
    if first is not None:
        return first
    return unread(response, target.contents, f"the {count} answers can't be separated")


def _is_sure(found: Verdict, pieces: Sequence[str], response: Response) -> bool:
    """Whether the pieces certainly are the answers: a sentence may contain other pieces as well."""
    if found.same is None:
        return False
    return response.statement.marked or not any(map(_WORDS.search, pieces))


def _in_place(pieces: Sequence[str], items: Sequence[Item]) -> bool:
    """Whether no piece matches the words of another blank."""
    if not items:
        return True
    cleaned = [clean(piece) for piece in pieces]
    named = named_in(cleaned, items)
    owners = [{at for at, own in enumerate(named) if piece in own} for piece in cleaned]
    return all(not each or at in each for at, each in enumerate(owners))


def _said(response: Response) -> str:
    statement = response.statement
    if statement.marked:
        return statement.text
    return "\n".join(sentences(statement.spoken[-_SAID:])[-8:])


def _blank_verdict(piece: str, part: Target) -> Verdict:
    several = "\n" in piece or "。" in piece
    return value_verdict(read_response(piece) if several else part_of(piece), part)


def _texts(response: Response) -> list[str]:
    """The texts that may list the answers."""
    statement = response.statement
    unmarked = () if statement.marked else (statement.spoken[-_SAID:],)
    texts = (statement.boxed, statement.text, statement.block, *unmarked)
    return [text for text in dict.fromkeys(texts) if text.strip()]


def _ways_to_split(response: Response, count: int) -> Iterator[list[str]]:
    seen = []
    for text in _texts(response):
        for pieces in _splits(text):
            whole = [(_LEAD.sub("", piece) or piece).strip(_EDGES) for piece in pieces]
            whole = [piece for piece in whole if piece]
            if len(whole) == count and whole not in seen:
                seen.append(whole)
                yield whole


def _by_label(text: str, count: int) -> list[str]:
    """The texts behind labels of all blanks, in the order of the blanks: ②5；①3 is 3 and 5."""
    marks = list(_PLACE.finditer(text))
    numbers = [_PLACES.find(next(filter(None, mark.groups()))[0].lower()) % 6 for mark in marks]
    if sorted(numbers) != list(range(count)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    pieces = {
        number: text[mark.end() : end].strip(_EDGES)
        for number, mark, end in zip(numbers, marks, ends, strict=True)
    }
    return [pieces[number] for number in range(count)] if all(pieces.values()) else []


def _splits(text: str) -> Iterator[Sequence[str]]:
    yield re.split(r"[;；]", text)
    yield [line for line in text.split("\n") if line.strip(" *_$")[-1:] not in ":："]
    if not re.search(r"[，,;；]", text):
        yield text.split()
    clause = part_of(text).clause
    tail = re.sub(r"^[^\n]*?(?:填|为|是|:|：)", "", text)
    for each in (text.replace("，", ",").replace("；", ";"), clause, tail):
        yield [member.text for member in Reading(each).members]
    numbers = _NUMBER.findall(text)
    if len(numbers) == 1 and _BOTH.search(text):
        yield numbers * 2  # both are 5
