"""Grading of parts (1), (2), ... and of blanks, each against its own reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from lmms_rpts.grading.maths.answers import Response, Target, part_of, read_response
from lmms_rpts.grading.maths.reading import members
from lmms_rpts.grading.maths.verdicts import unread, value_verdict
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import Verdict
from lmms_rpts.grading.words import BLANK, squeezed

_SAID = 800
_LABEL = 40
_STOP = re.compile(r"[,;。;]|\.(?!\d)")


def _all_of(verdicts: Sequence[Verdict], what: str) -> Verdict:
    """True if all are True, False if any is False; ``what``: what they are verdicts on."""
    for outcome in (False, None):
        for at, verdict in enumerate(verdicts, 1):
            if verdict.correct is outcome:
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
_PLACES = "①②③④⑤⑥123456一二三四五六abcd"


def _number_of(mark: re.Match[str]) -> int:
    """The number of a mark, from 0."""
    at = _PLACES.index(next(filter(None, mark.groups())))
    return at % 6 if at < 18 else at - 18


def parts_verdict(response: Response, target: Target) -> Verdict:
    """Whether each part is answered correctly; a missing part is wrong."""
    statement, total = response.statement, len(target.parts)
    below = statement.block if statement.marked else ""  # 答案是(1)7
    given = (
        _parts(statement.boxed, total)
        or _parts(below, total, whole=True)
        or _parts(statement.spoken, total)
    )
    if given:
        missing = Verdict(False, "missing")
        answers = [given.get(at, "") for at in range(total)]
        return _all_of(
            [
                _part_verdict(*pair) if pair[0].strip(" \n*#:：") else missing
                for pair in zip(answers, target.parts, strict=True)
            ],
            "part",
        )
    parts = [part for part in target.parts if not _PROOF.search(part.text)]
    if len(parts) == 1:
        return _part_verdict(statement.spoken, parts[0])
    return unread(response, target.contents, "the parts of the answer can't be separated")


def _part_verdict(answer: str, part: Target) -> Verdict:
    if _PROOF.search(part.text):
        return Verdict(True, "a proof, which is not graded")
    response = read_response(answer)
    return blanks_verdict(response, part) if part.parts else value_verdict(response, part)


def _parts(text: str, total: int, *, whole: bool = False) -> Mapping[int, str]:
    """The last run of parts (1), (2), ... of a response, from 0; else the longest of them."""
    marked, listed = _runs(_MARK, text), _runs(_LISTED, text)
    for run in (*reversed(marked), *reversed(listed)):
        if len(run) >= total:
            return run
    best = {} if whole else max(marked, key=len, default={})
    return best if len(best) > 1 or total == 2 else {}


def _runs(pattern: re.Pattern[str], text: str) -> list[dict[int, str]]:
    """Rows of marks that count up; a new row begins at each first."""
    runs: list[dict[int, str]] = []
    marks = list(pattern.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        number, piece = _number_of(mark), text[mark.end() : end]
        if number == 0:
            runs.append({0: piece})
        elif runs and number <= len(runs[-1]):
            runs[-1][number] = runs[-1].get(number, "") + piece
    return runs


# Blanks

_EDGES = " ：:。.，,；;*"
# ②5, (2) 5, 第二空填5
_PLACE = re.compile(
    r"(?:^|(?<=[\s,，;；、。和]))(?:([①-⑥])(?![①-⑳])|[(（]([1-6])[)）]"
    r"|第([一二三四五六1-6])个?(?:空|处|个)(?:应?填|是|为)?)",
)
_WORDS = re.compile(r"[\u4e00-\u9fff]{2}|(?<![\\A-Za-z])[A-Za-z]{4}")
_LEAD = re.compile(  # A dash without a space after it is a sign.
    r"^\s{0,8}(?:[-•+*]\s{1,3}|\*\*|__)?(?:[①-⑥](?=[^①-⑳,，、])|[(（]\d[)）]|\d[)）、]|\d\.(?!\d))?\s{0,3}"
)


def blanks_verdict(response: Response, target: Target) -> Verdict:
    """Whether each blank is filled with its own value: by its label, else in order."""
    count = len(target.parts)
    signs = any(part.text in ("<", ">", "=") for part in target.parts)  # 1<2 for <
    first: Verdict | None = None
    for pieces, labelled in _ways_to_split(response, count):
        if not (labelled or _in_place(pieces, target)):
            continue
        pairs = zip(pieces, target.parts, strict=True)
        found = _all_of([_blank_verdict(*pair) for pair in pairs], "blank")
        if found.correct or labelled:
            return found
        named = _in_place(pieces, target, strictly=True) or not any(map(_WORDS.search, pieces))
        sure = (response.statement.marked or named) and (not signs or max(map(len, pieces)) == 1)
        first = first or (found if found.correct is False and sure else None)
    if signs and first is None:
        return Verdict(None, "the signs can't be separated")
    return first or unread(response, target.contents, f"the {count} answers can't be separated")


def _in_place(pieces: Sequence[str], target: Target, *, strictly: bool = False) -> bool:
    """Whether no piece has more of the words around another blank than of those around its own.

    ``strictly``: each has more of its own.
    """
    around = [clean(each) for each in BLANK.split(target.question.raw)]
    if len(around) != len(pieces) + 1:
        return not strictly
    ends = [_STOP.split(each, maxsplit=1) for each in around]
    words = [_grams(one[-1][-_LABEL:]) | _grams(other[0][:_LABEL]) for one, other in pairwise(ends)]
    for at, piece in enumerate(pieces):
        said = _grams(clean(piece))
        shared = [len(each & said) for each in words]
        others = max(shared[:at] + shared[at + 1 :])
        if others > shared[at] or (strictly and others == shared[at]):
            return False
    return True


def _grams(text: str) -> set[str]:
    """Pairs of adjacent characters with a letter among them."""
    text = squeezed(text)
    pairs = (text[at : at + 2] for at in range(len(text) - 1))
    return {pair for pair in pairs if pair[0].isalpha() or pair[1].isalpha()}


def _blank_verdict(piece: str, part: Target) -> Verdict:
    several = "\n" in piece or "。" in piece
    return value_verdict(read_response(piece) if several else part_of(piece), part)


def _ways_to_split(response: Response, count: int) -> Iterator[tuple[list[str], bool]]:
    """Texts that may be the answers in order, and whether they are so by their labels."""
    statement = response.statement
    unmarked = () if statement.marked else (statement.spoken[-_SAID:],)
    texts = (statement.boxed, statement.text, statement.block, *unmarked)
    listed = [text for text in dict.fromkeys(texts) if text.strip()]
    for text in listed:
        pieces = _by_label(text, count)
        if pieces:
            yield pieces, True
    seen = []
    for text in listed:
        for split in _splits(text):
            whole = [(_LEAD.sub("", piece) or piece).strip(_EDGES) for piece in split]
            whole = [piece for piece in whole if piece]
            if len(whole) == count and whole not in seen:
                seen.append(whole)
                yield whole, False


def _by_label(text: str, count: int) -> list[str]:
    """The texts behind labels of all blanks, in the order of the blanks: ②5；①3 is 3 and 5."""
    marks = list(_PLACE.finditer(text))
    if sorted(map(_number_of, marks)) != list(range(count)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    pieces = {
        _number_of(mark): text[mark.end() : end].strip(_EDGES)
        for mark, end in zip(marks, ends, strict=True)
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
        yield members(each)
