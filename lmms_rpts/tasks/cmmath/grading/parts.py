"""Parts (1), (2), ... and blanks: each against its own reference, none missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lmms_rpts.tasks.cmmath.grading.hedging import Verdict
from lmms_rpts.tasks.cmmath.grading.normalization import all_of as all_told
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.quantities import Quantity, parse_quantity, same_quantity
from lmms_rpts.tasks.cmmath.grading.response import Reading, Response, bare, part_of, read_response
from lmms_rpts.tasks.cmmath.grading.target import Target, split_parts
from lmms_rpts.tasks.cmmath.grading.text_answers import BLANK, squeezed
from lmms_rpts.tasks.cmmath.grading.verdicts import unread, value_verdict

# Parts

_MARK = re.compile(  # (1), （2）, 第(3)问, 第一小题, Part 2, (a)
    r"（(?P<wide>[1-6])）|(?:^|(?<=[\n:：;；。.,，、*#\s{]))[*#\s]{0,6}"
    r"(?:[(（](?P<number>[1-6一二三四五六a-d])[)）]|第\s?[(（]?(?P<ordinal>[1-6一二三四五六])[)）]?\s?(?:问|小?题|部分)"
    r"|[Pp]art\s[(（]?(?P<part>[1-6])[)）]?)"
)
_LISTED = re.compile(r"(?:^|\n)[*#\s]{0,6}(?P<number>[1-6])[.、]")  # "1. 5" and "2. 7" in lines
_PROOF = re.compile(r"^(?:证明)?(?:过程)?(?:见解析|略|见详解)$|^证明$")  # 证明见解析
_PART_READ = 300
_DIGITS = {character: at for row in ("一二三四五六", "abcd") for at, character in enumerate(row, 1)}


def _all_of(verdicts: Sequence[Verdict], what: str) -> Verdict:
    """True if all are, False if any is; ``what`` they are verdicts on."""
    for outcome in (False, None):
        for at, verdict in enumerate(verdicts, 1):
            if verdict.same is outcome:
                return Verdict(outcome, f"{what} {at}: {verdict.rule}")
    return Verdict(True, f"each {what}")


def parts_verdict(response: Response, target: Target) -> Verdict:
    """Whether each part is answered rightly; a part that is missing is wrong."""
    statement, total = response.statement, len(target.parts)
    given = _parts(statement.boxed, total) or _parts(statement.spoken, total)
    if not given:
        pieces = [piece for piece in re.split(r"[，,；;。\n]", statement.text) if piece.strip()]
        if len(pieces) == total and all(
            _part_verdict(*pair).same for pair in zip(pieces, target.parts, strict=True)
        ):
            return Verdict(True, "each part")
        return unread(response, target.contents, "the parts of the answer can't be told apart")
    verdicts = [
        _part_verdict(given[at], part)
        if given.get(at, "").strip(" \n*#:：")
        else Verdict(False, "missing")
        for at, part in enumerate(target.parts, 1)
    ]
    return _all_of(verdicts, "part")


def _part_verdict(answer: str, part: Target) -> Verdict:
    if _PROOF.search(part.text):
        return Verdict(True, "a proof, which nobody grades")
    response = read_response(answer)
    verdict = blanks_verdict(response, part) if part.parts else value_verdict(response, part)
    if not verdict.same and part.type in ("statement", "multi_blank"):
        same = _same_labelled(response.text, part.text)
        if same is None:
            same = _same_labelled(clean(answer[-_PART_READ:]), part.text) or None
        return Verdict(same, "numbers") if same is not None else verdict
    return verdict


def _parts(text: str, total: int) -> dict[int, str]:
    """The last run of parts (1), (2), ... of a response: their texts by number."""
    best: dict[int, str] = {}
    for pattern in (_MARK, _LISTED):
        runs = _runs([*pattern.finditer(text)], text)
        whole = [run for run in runs if set(range(1, total + 1)) <= set(run)]
        if whole:
            return whole[-1]
        if runs and not best:
            best = max(runs, key=len)
    return best if len(best) > 1 or (best and total == 2) else {}


def _runs(marks: list[re.Match[str]], text: str) -> list[dict[int, str]]:
    """Rows of marks that count up from 1; a new row begins at each 1."""
    runs: list[dict[int, str]] = []
    ends = [mark.start() for mark in marks[1:]]
    for mark, end in zip(marks, [*ends, len(text)], strict=False):
        said = next(value for value in mark.groupdict().values() if value)
        number, piece = _DIGITS.get(said) or int(said), text[mark.end() : end]
        if number == 1:
            runs.append({1: piece})
        elif runs and number <= len(runs[-1]) + 1:
            runs[-1][number] = runs[-1].get(number, "") + piece
    return runs


# Labelled values in sentences: 平均数为5，众数为7

_SPAN = re.compile(r"[^\u4e00-\u9fff。、\n;“”]{1,200}")  # a run without Chinese words
_FOLLOWING = re.compile(r"[\u4e00-\u9fff/]{0,4}")
# 平均数为 before 5
_LABEL = re.compile(r"([\u4e00-\u9fffA-Za-z_{}0-9]{1,12}?)(?:的?值)?(?:约?[是为]|等于|[=:])?\s*$")
_ALL = re.compile(  # 平均数和众数都是5
    r"([\u4e00-\u9fff]{1,8})(?:和|与|及|、)([\u4e00-\u9fff]{1,8}?)(?:都|均)(?:约?[是为]|等于)?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
_ENGLISH = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{3}")  # "The mean is 6 and the mode is 5"
_NUMBER = re.compile(
    r"-?(?:\\frac\{-?\d{1,12}\}\{\d{1,12}\}|\d{1,12}(?:\.\d{1,12})?(?:/\d{1,9})?%?)"
)
_MANY = 12


class _Labelled(NamedTuple):
    """A value, and the end of the words before it, which may be empty."""

    label: str
    value: Quantity


def _same_labelled(said: str, wanted: str) -> bool | None:
    """Whether one text gives the values of another: by their labels, else in the same order."""
    found, right = _labelled(said), _labelled(wanted)
    if not right:
        return None
    labels = [each.label[-2:] for each in right]
    by_label = [[each for each in found if each.label[-2:] == label] for label in labels]
    if len(set(labels)) == len(labels) and all(
        label and len(alike) == 1 for label, alike in zip(labels, by_label, strict=True)
    ):
        return _all_same([alike[0] for alike in by_label], right)
    if len(found) != len(right):
        return None
    in_order = _all_same(found, right)
    return in_order if in_order or len(right) == 1 else None


def _all_same(one: Sequence[_Labelled], other: Sequence[_Labelled]) -> bool | None:
    return all_told([same_quantity(a.value, b.value) for a, b in zip(one, other, strict=True)])


def _labelled(text: str) -> list[_Labelled]:
    """The numbers of a cleaned text, in order, each with its label."""
    text = _ALL.sub(r"\1为\3,\2为\3", text)
    found: list[_Labelled] = []
    for span in _SPAN.finditer(text):
        if _ENGLISH.search(span[0]):
            numbers = _NUMBER.finditer(span[0])
            values = [parse_quantity(each[0]) for each in numbers]
            found += [_Labelled("", each) for each in values if each is not None]
            continue
        pieces = [each for each in re.split(r"[,:]", span[0]) if bare(each)]
        following = _FOLLOWING.match(text, span.end())
        for at, piece in enumerate(pieces):
            name, sign, value = piece.rpartition("=")
            unit = following[0] if following and at == len(pieces) - 1 else ""
            quantity = _number(bare(value) + unit) or _number(bare(value))
            before = text[max(0, span.start() - 14) : span.start()] if at == 0 else ""
            label = _LABEL.search(name.split("=")[0] if sign else before)
            if quantity is not None:
                found.append(_Labelled(label[1][-4:] if label else "", quantity))
    return found[:_MANY]


def _number(text: str) -> Quantity | None:
    quantity = parse_quantity(text) if text else None
    return quantity if quantity is not None and quantity.expression.number is not None else None


# Blanks

_ORDINAL = re.compile(  # 第一空：26, "the first blank"
    r"第(?:[一二三四五六]|\d)个?(?:空|处|个)|(?:first|second|third|fourth)\sblank|空格?[①-⑥\d]",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[\u4e00-\u9fff]{2}")
# values with names may stand in another order
_NAMED = re.compile(r"[\u4e00-\u9fff]{2}|^\s{0,2}[A-Za-z]\s?=")
# A dash without a space behind it is a sign.
_LEAD = re.compile(
    r"^\s{0,8}(?:[-•+*]\s{1,3}|\*\*|__)?(?:[①-⑥](?=.)|[(（]\d[)）]|\d[)）、]|\d\.(?!\d))?\s{0,3}"
)
_MOST_BLANKS = 30


def blanks_verdict(response: Response, target: Target) -> Verdict:
    """Whether each blank is filled with its own value, in order."""
    parts, count = target.parts, len(target.parts)
    if count > _MOST_BLANKS:
        return Verdict(None, "more blanks than anybody fills in")
    first: Verdict | None = None
    for pieces in _ways_to_split(response, count):
        found = _all_of(
            [_blank_verdict(*pair) for pair in zip(pieces, parts, strict=True)], "blank"
        )
        if found.same:
            return found
        if found.same is False and any(_NAMED.search(each) for each in pieces):
            turned = [_blank_verdict(*pair) for pair in zip(pieces, parts[::-1], strict=True)]
            if all(each.same for each in turned):
                found = Verdict(None, "the answers may stand in another order, with their names")
        if (
            found.same is False
            and not response.statement.marked
            and any(map(_WORDS.search, pieces))
        ):
            found = Verdict(None, "which parts of the sentence are the answers is unclear")
        first = first or found
    if _all_of(_aligned(response, target), "blank").same:
        return Verdict(True, "each blank")
    if first is None and _too_few(response, count):
        return Verdict(False, "fewer answers than blanks")
    if first is not None and first.same is not None:
        return first
    rule = first.rule if first else f"{count} answers can't be told apart"
    return unread(response, target.contents, rule)


def _blank_verdict(piece: str, part: Target) -> Verdict:
    return value_verdict(part_of(piece), part)


def _aligned(response: Response, target: Target) -> list[Verdict]:
    """The verdict on what stands in the places of the blanks, where the answer fills them in."""
    missing = [Verdict(None, "the sentence is not that of the question")]
    around = [squeezed(clean(piece)) for piece in BLANK.split(target.question.raw)]
    said = squeezed(response.text)
    if len(around) != len(target.parts) + 1:
        return missing
    verdicts, at = [], 0
    for number, part in enumerate(target.parts):
        at = _behind(said, around[number], at)
        if at < 0:
            return missing
        following = around[number + 1][:1]
        ends = r"[,。;，；]" + (f"|{re.escape(following)}" if following else "")
        end = re.search(ends, said[at:])
        text = said[at : at + end.start()] if end else said[at:]
        verdicts.append(_blank_verdict(text, part))
        at += len(text)
    return verdicts


def _behind(said: str, before: str, start: int) -> int:
    """Where the longest end of the words before a blank ends in an answer; -1 if nowhere."""
    for length in range(min(10, len(before)), 0, -1):
        found = said.find(before[-length:], start)
        if found >= 0 and (length > 1 or found == start):
            return found + length
    return start if not before and start else -1


def _too_few(response: Response, count: int) -> bool:
    """Whether a marked answer gives bare values only, and fewer than there are blanks."""
    text = response.boxed or response.text
    if not response.statement.marked or re.search(r"[\u4e00-\u9fff]|[A-Za-z]{3}", text):
        return False
    values = [piece for piece in re.split(r"[;,、\s]", text) if piece]
    return 0 < len(values) < count and all(parse_quantity(each) for each in values)


def _ways_to_split(response: Response, count: int) -> Iterator[list[str]]:
    statement = response.statement
    numbered = [] if statement.marked else split_parts(statement.block.strip())
    if len(numbered) == count:  # the last sentence is one of them
        yield [_LEAD.sub("", piece) for piece in numbered]
        return
    seen = []
    for text in dict.fromkeys((statement.boxed, statement.text, statement.block)):
        for pieces in _splits(text) if text.strip() else ():
            whole = [(_LEAD.sub("", piece) or piece).strip(" ：:。.") for piece in pieces]
            whole = [piece for piece in whole if piece]
            if len(whole) == count and whole not in seen:
                seen.append(whole)
                yield whole


def _splits(text: str) -> Iterator[Sequence[str]]:
    yield [piece for piece in _ORDINAL.split(text)[1:] if piece.strip()]
    yield split_parts(text)
    yield re.split(r"[;；]", text)
    yield [_LEAD.sub("", line) for line in text.split("\n") if line.strip(" *_$")]
    if not re.search(r"[，,;；]", text):
        yield text.split()
    yield re.split(r"[;；]|(?<!\d)[,，](?!\d)|，", text)
    clause = part_of(text).clause
    tail = re.sub(r"^[^\n]*?(?:填|为|是|:|：)", "", text)
    for each in (text.replace("，", ",").replace("；", ";"), clause, tail):
        yield [member.text for member in Reading(each).members]
