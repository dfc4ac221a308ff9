"""Answers of several blanks or parts: each is compared with its own reference."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmms_rpts.tasks.cmmath.grading.references import Target, read_reference, split_parts
from lmms_rpts.tasks.cmmath.grading.statement import Statement, find_statement
from lmms_rpts.tasks.cmmath.grading.values import split_list
from lmms_rpts.tasks.cmmath.grading.verdicts import (
    Verdict,
    no_answer,
    numbers_verdict,
    value_verdict,
)

_ORDINAL = re.compile(
    r"第(?:[一二三四五六]|\d)个?(?:空|处|个)|(?:first|second|third|fourth)\sblank|空格?[①-⑥\d]",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^[\s*_\-•+]{0,8}(?:[①-⑥]|[(（]?\d[)）.、])?\s{0,3}")
_MARK = re.compile(
    r"(?:^|(?<=[\n:：;；。.,，、*#\s]))[*#\s]{0,6}"
    r"(?:[(（](?P<number>[1-6一二三四五六])[)）]|第\s?[(（]?(?P<ordinal>[1-6一二三四五六])[)）]?\s?(?:问|小?题|部分)"
    r"|[Pp]art\s[(（]?(?P<part>[1-6])[)）]?)"
)
_LISTED = re.compile(r"(?:^|\n)[*#\s]{0,6}(?P<number>[1-6])[.、]")
_DIGITS = {character: at for at, character in enumerate("一二三四五六", 1)}


def blanks_verdict(statement: Statement, target: Target, question: str) -> Verdict:
    """Whether each blank is filled with its own value, in order."""
    first: Verdict | None = None
    for pieces in _ways_to_split(statement, len(target.parts)):
        verdicts = [
            value_verdict(_of(piece), read_reference("", part), question)
            for piece, part in zip(pieces, target.parts, strict=True)
        ]
        found = _all_of(verdicts, "blank")
        if found.same:
            return found
        if found.same is False and any(re.search(r"[\u4e00-\u9fff]{2}", each) for each in pieces):
            turned = [
                value_verdict(_of(piece), read_reference("", part), question).same
                for piece, part in zip(pieces, reversed(target.parts), strict=True)
            ]
            if all(turned):
                found = Verdict(None, "the answers may stand in another order, with their names")
        first = first or found
    found = no_answer(statement) or Verdict(
        None, f"{len(target.parts)} answers can't be told apart"
    )
    return first or found


def parts_verdict(statement: Statement, target: Target, question: str) -> Verdict:
    """Whether each part is answered rightly; a part that is missing is wrong."""
    total = len(target.parts)
    given = _parts(statement.spoken, total)
    if not given:
        return no_answer(statement) or Verdict(None, "the parts of the answer can't be told apart")
    verdicts = [
        _part_verdict(given[at], part)
        if given.get(at, "").strip(" \n*#:：")
        else Verdict(False, "missing")
        for at, part in enumerate(target.parts, 1)
    ]
    return _all_of(verdicts, "part")


def _part_verdict(answer: str, part: str) -> Verdict:
    target = read_reference("", part)
    statement = find_statement(answer)
    verdict = value_verdict(statement, target, "")
    if verdict.same is None and target.type == "statement":
        same = numbers_verdict(statement.text, part)
        return Verdict(same, "numbers") if same is not None else verdict
    return verdict


def _all_of(verdicts: list[Verdict], what: str) -> Verdict:
    for at, verdict in enumerate(verdicts, 1):
        if verdict.same is False:
            return Verdict(False, f"{what} {at}: {verdict.rule}")
    for at, verdict in enumerate(verdicts, 1):
        if verdict.same is None:
            return Verdict(None, f"{what} {at}: {verdict.rule}")
    return Verdict(True, f"each {what}")


def _of(text: str) -> Statement:
    return Statement(text, True, "", text, text, revised=False)


def _ways_to_split(statement: Statement, count: int) -> Iterator[list[str]]:
    texts = [statement.boxed, statement.text, statement.block]
    for text in dict.fromkeys(each for each in texts if each.strip()):
        lines = [_LEAD.sub("", line) for line in text.split("\n") if line.strip(" *_$")]
        ordinals = [piece for piece in _ORDINAL.split(text)[1:] if piece.strip()]
        for pieces in (
            ordinals,
            split_parts(text),
            re.split(r"[;；]", text),
            lines,
            re.split(r"[;；]|(?<!\d)[,，](?!\d)|，", text),
            split_list(text.replace("，", ",").replace("；", ";")),
            split_list(re.sub(r"^[^\n]*?(?:填|为|是|:|：)", "", text)),
        ):
            whole = [(_LEAD.sub("", piece) or piece).strip(" ：:。.") for piece in pieces]
            whole = [piece for piece in whole if piece]
            if len(whole) == count:
                yield whole


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
    for at, mark in enumerate(marks):
        number = _number(mark)
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        if number == 1:
            runs.append({1: text[mark.end() : end]})
        elif runs and number == len(runs[-1]) + 1:
            runs[-1][number] = text[mark.end() : end]
        elif runs and number <= len(runs[-1]):
            runs[-1][number] += text[mark.end() : end]
    return runs


def _number(mark: re.Match[str]) -> int:
    said = next(value for value in mark.groupdict().values() if value)
    return _DIGITS.get(said) or int(said)
