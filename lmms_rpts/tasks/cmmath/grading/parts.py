"""Grading of answers of several parts, each against its own reference."""

from __future__ import annotations

import re

from lmms_rpts.tasks.cmmath.grading.comparison import (
    Verdict,
    all_of,
    value_verdict,
    without_answer,
)
from lmms_rpts.tasks.cmmath.grading.final_answer import Statement, find_statement
from lmms_rpts.tasks.cmmath.grading.labelled import same_labelled
from lmms_rpts.tasks.cmmath.grading.references import Target, read_reference

_MARK = re.compile(
    r"（(?P<wide>[1-6])）|(?:^|(?<=[\n:：;；。.,，、*#\s{]))[*#\s]{0,6}"
    r"(?:[(（](?P<number>[1-6一二三四五六a-d])[)）]|第\s?[(（]?(?P<ordinal>[1-6一二三四五六])[)）]?\s?(?:问|小?题|部分)"
    r"|[Pp]art\s[(（]?(?P<part>[1-6])[)）]?)"
)
_LISTED = re.compile(r"(?:^|\n)[*#\s]{0,6}(?P<number>[1-6])[.、]")
_PROOF = re.compile(r"^(?:证明)?(?:过程)?(?:见解析|略|见详解)$|^证明$")
_PART_READ = 300
_DIGITS = {character: at for row in ("一二三四五六", "abcd") for at, character in enumerate(row, 1)}


def parts_verdict(statement: Statement, target: Target, question: str) -> Verdict:
    """Whether each part is answered rightly; a part that is missing is wrong."""
    total = len(target.parts)
    given = _parts(statement.boxed, total) or _parts(statement.spoken, total)
    if not given:
        pieces = [piece for piece in re.split(r"[，,；;。\n]", statement.text) if piece.strip()]
        if len(pieces) == total and all(
            _part_verdict(piece, part).same
            for piece, part in zip(pieces, target.parts, strict=True)
        ):
            return Verdict(True, "each part")
        return without_answer(statement) or Verdict(
            None, "the parts of the answer can't be told apart"
        )
    verdicts = [
        _part_verdict(given[at], part)
        if given.get(at, "").strip(" \n*#:：")
        else Verdict(False, "missing")
        for at, part in enumerate(target.parts, 1)
    ]
    return all_of(verdicts, "part")


def _part_verdict(answer: str, part: str) -> Verdict:
    if _PROOF.search(part):
        return Verdict(True, "a proof, which nobody grades")
    target = read_reference("", part)
    statement = find_statement(answer)
    verdict = value_verdict(statement, target, "")
    if verdict.same is None and target.type == "statement":
        same = same_labelled(statement.text, part)
        if same is None:
            same = same_labelled(answer[-_PART_READ:], part) or None
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
