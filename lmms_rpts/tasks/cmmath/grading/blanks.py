"""Grading of answers to several blanks, each against its own reference, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmms_rpts.tasks.cmmath.grading.candidates import last_clause
from lmms_rpts.tasks.cmmath.grading.comparison import Verdict, all_of, value_verdict, without_answer
from lmms_rpts.tasks.cmmath.grading.final_answer import Statement
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.quantities import parse_quantity
from lmms_rpts.tasks.cmmath.grading.references import Target, read_reference, split_parts
from lmms_rpts.tasks.cmmath.grading.text_answers import BLANK, squeezed
from lmms_rpts.tasks.cmmath.grading.values import split_list

_ORDINAL = re.compile(
    r"第(?:[一二三四五六]|\d)个?(?:空|处|个)|(?:first|second|third|fourth)\sblank|空格?[①-⑥\d]",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[\u4e00-\u9fff]{2}")
_NAMED = re.compile(r"[\u4e00-\u9fff]{2}|^\s{0,2}[A-Za-z]\s?=")
# A dash without a space behind it is a sign.
_LEAD = re.compile(
    r"^\s{0,8}(?:[-•+*]\s{1,3}|\*\*|__)?(?:[①-⑥](?=.)|[(（]\d[)）]|\d[)）、]|\d\.(?!\d))?\s{0,3}"
)


def blanks_verdict(statement: Statement, target: Target, question: str) -> Verdict:
    """Whether each blank is filled with its own value, in order."""
    first: Verdict | None = None
    for pieces in _ways_to_split(statement, len(target.parts)):
        verdicts = [
            value_verdict(_of(piece), read_reference("", part), question)
            for piece, part in zip(pieces, target.parts, strict=True)
        ]
        found = all_of(verdicts, "blank")
        if found.same:
            return found
        if found.same is False and any(_NAMED.search(each) for each in pieces):
            turned = [
                value_verdict(_of(piece), read_reference("", part), "").same
                for piece, part in zip(pieces, reversed(target.parts), strict=True)
            ]
            if all(turned):
                found = Verdict(None, "the answers may stand in another order, with their names")
        if found.same is False and not statement.marked and any(map(_WORDS.search, pieces)):
            found = Verdict(None, "which parts of the sentence are the answers is unclear")
        first = first or found
    aligned = _aligned(statement, target, question)
    if aligned is not None and all_of(aligned, "blank").same:
        return Verdict(True, "each blank")
    if first is None and _too_few(statement, len(target.parts)):
        return Verdict(False, "fewer answers than blanks")
    unclear = Verdict(None, f"{len(target.parts)} answers can't be told apart")
    return first or without_answer(statement) or unclear


def _aligned(statement: Statement, target: Target, question: str) -> list[Verdict] | None:
    """The verdict on what stands in the places of the blanks, where the answer fills them in."""
    around = [squeezed(clean(piece)) for piece in BLANK.split(question)]
    said = squeezed(clean(statement.text))
    if len(around) != len(target.parts) + 1:
        return None
    verdicts, at = [], 0
    for number, part in enumerate(target.parts):
        at = _behind(said, around[number], at)
        if at < 0:
            return None
        following = around[number + 1][:1]
        ends = r"[,。;，；]" + (f"|{re.escape(following)}" if following else "")
        end = re.search(ends, said[at:])
        text = said[at : at + end.start()] if end else said[at:]
        verdicts.append(value_verdict(_of(text), read_reference("", part), ""))
        at += len(text)
    return verdicts


def _behind(said: str, before: str, start: int) -> int:
    """Where the longest end of the words before a blank ends in an answer; -1 if nowhere."""
    for length in range(min(10, len(before)), 0, -1):
        found = said.find(before[-length:], start)
        if found >= 0 and (length > 1 or found == start):
            return found + length
    return start if not before and start else -1


def _too_few(statement: Statement, count: int) -> bool:
    """Whether a marked answer gives bare values only, and fewer than there are blanks."""
    text = clean(statement.boxed or statement.text)
    if not statement.marked or re.search(r"[\u4e00-\u9fff]|[A-Za-z]{3}", text):
        return False
    values = [piece for piece in re.split(r"[;,、\s]", text) if piece]
    return 0 < len(values) < count and all(parse_quantity(each) for each in values)


def _of(text: str) -> Statement:
    return Statement(text, True, "", text, text, revised=False)


def _ways_to_split(statement: Statement, count: int) -> Iterator[list[str]]:
    texts = [statement.boxed, statement.text, statement.block]
    numbered = [] if statement.marked else split_parts(statement.block.strip())
    if len(numbered) == count:  # the last sentence is one of them
        yield [_LEAD.sub("", piece) for piece in numbered]
        return
    for text in dict.fromkeys(each for each in texts if each.strip()):
        lines = [_LEAD.sub("", line) for line in text.split("\n") if line.strip(" *_$")]
        ordinals = [piece for piece in _ORDINAL.split(text)[1:] if piece.strip()]
        for pieces in (
            ordinals,
            split_parts(text),
            re.split(r"[;；]", text),
            lines,
            text.split() if not re.search(r"[，,;；]", text) else [],
            re.split(r"[;；]|(?<!\d)[,，](?!\d)|，", text),
            split_list(text.replace("，", ",").replace("；", ";")),
            split_list(last_clause(clean(text))),
            split_list(re.sub(r"^[^\n]*?(?:填|为|是|:|：)", "", text)),
        ):
            whole = [(_LEAD.sub("", piece) or piece).strip(" ：:。.") for piece in pieces]
            whole = [piece for piece in whole if piece]
            if len(whole) == count:
                yield whole
