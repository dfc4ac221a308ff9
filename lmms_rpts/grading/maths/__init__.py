"""Grading an answer to a maths problem in Chinese by rules that abstain rather than guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from lmms_rpts.grading.maths.answers import (
    ANSWER_TYPES,
    AnswerType,
    Response,
    Target,
    numbered,
    part_of,
    read_response,
    read_target,
    runs,
)
from lmms_rpts.grading.maths.reading import Question, members
from lmms_rpts.grading.maths.verdicts import (
    NO_ANSWER,
    SEVERAL,
    choice_verdict,
    has_numbers,
    undermined,
    unread,
    value_verdict,
)
from lmms_rpts.grading.notation import clean
from lmms_rpts.grading.statement import Verdict
from lmms_rpts.grading.words import BLANK, OR, squeezed

_SAID = 800
_LABEL = 40
# ends of a clause; but not the point of 2.5
_STOP = re.compile(r"[,;。;]|\.(?!\d)")
_EDGES = " \n#：:。.，,；;*"


def _all_of(verdicts: Sequence[Verdict], what: str) -> Verdict:
    """True if all are True, False if any is False; ``what``: what they are verdicts on."""
    worst = min(verdicts, key=lambda verdict: (False, None, True).index(verdict.correct))
    at = verdicts.index(worst) + 1
    return worst._replace(rule=f"each {what}" if worst.correct else f"{what} {at}: {worst.rule}")


# Parts

_PART = re.compile(  # (1), （2）, 第(3)问, 第一小题, Part 2, (a)
    r"（([1-6])）|(?:^|(?<=[\n:：;；。.,，、*#\s{]))[*#\s]{0,6}"
    r"(?:[(（]([1-6一二三四五六a-d])[)）]|第\s?[(（]?([1-6一二三四五六])[)）]?\s?(?:问|小?题|部分)"
    r"|[Pp]art\s[(（]?([1-6])[)）]?)"
)
_LINE = re.compile(r"(?:^|\n)[*#\s]{0,6}([1-6])[.、]")  # "1. 5" and "2. 7" in lines
_PROOF = re.compile(r"^(?:证明)?(?:过程)?(?:见解析|略|见详解)$|^证明$")  # 证明见解析


def parts_verdict(response: Response, target: Target) -> Verdict:
    """Whether each part is answered correctly; a missing part is wrong."""
    statement, total = response.statement, len(target.parts)
    below = statement.block if statement.marked else ""  # 答案是(1)7
    given = _parts(statement.boxed, total) or _parts(below, total, whole=True)
    given = given or _parts(statement.spoken, total)
    parts = [part for part in target.parts if not _PROOF.search(part.text)]
    if not given and len(parts) == 1:
        return _part_verdict(statement.spoken, parts[0])
    if not given:
        return unread(response, target.contents, "the parts of the answer can't be separated")
    answers = [*given, *[""] * total]
    return _all_of([_part_verdict(*pair) for pair in zip(answers, target.parts)], "part")  # noqa: B905


def _part_verdict(answer: str, part: Target) -> Verdict:
    if not answer.strip(_EDGES):
        return Verdict(False, "missing")
    if _PROOF.search(part.text):
        return Verdict(True, "a proof, which is not graded")
    response = read_response(answer)
    return blanks_verdict(response, part) if part.parts else value_verdict(response, part)


def _parts(text: str, total: int, *, whole: bool = False) -> list[str]:
    """The last run of parts (1), (2), ... of a response; else the longest of them."""
    marked = runs(_PART, text)
    for run in (*reversed(marked), *reversed(runs(_LINE, text))):
        if len(run) >= total:
            return run
    best = [] if whole else max(marked, key=len, default=[])
    return best if len(best) > 1 or total == 2 else []


# Blanks

# ②5, (2) 5, 第二空填5
_PLACE = re.compile(
    r"(?:^|(?<=[\s,，;；、。和]))(?:([①-⑥])(?![①-⑳])|[(（]([1-6])[)）]"
    r"|第([一二三四五六1-6])个?(?:空|处|个)(?:应?填|是|为)?)"
)
# two Chinese characters or four letters: the answers of blanks have words then, and not only
# values
_WORDS = re.compile(r"[\u4e00-\u9fff]{2}|(?<![\\A-Za-z])[A-Za-z]{4}")
_LEAD = re.compile(  # A dash without a space after it is a sign.
    r"^\s{0,8}(?:[-•+*]\s{1,3}|\*\*|__)?(?:[①-⑥](?=[^①-⑳,，、])|[(（]\d[)）]|\d[)）、]|\d\.(?!\d))?\s{0,3}"
)


def blanks_verdict(response: Response, target: Target) -> Verdict:
    """Whether each blank is filled with its own value: by its label, else in order."""
    count = len(target.parts)
    signs = any(part.text in ("<", ">", "=") for part in target.parts)  # 1<2 for <
    wrong: Verdict | None = None
    for given, labelled in _ways_to_split(response, count):
        if not (labelled or _in_place(given, target)):
            continue
        pairs = zip(map(part_of, given), target.parts, strict=True)
        found = _all_of([value_verdict(*pair) for pair in pairs], "blank")
        if found.correct or labelled:
            return found
        named = _in_place(given, target, strictly=True) or not any(map(_WORDS.search, given))
        sure = (response.statement.marked or named) and (not signs or max(map(len, given)) == 1)
        wrong = wrong or (found if found.correct is False and sure else None)
    if signs and wrong is None:
        return Verdict(None, "the signs can't be separated")
    return wrong or unread(response, target.contents, f"the {count} answers can't be separated")


def _in_place(given: Sequence[str], target: Target, *, strictly: bool = False) -> bool:
    """Whether no piece has more of the words around another blank than of those around its own.

    ``strictly``: each has more of its own.
    """
    around = [clean(each) for each in BLANK.split(target.question.raw)]
    if len(around) != len(given) + 1:
        return not strictly
    ends = [_STOP.split(each, maxsplit=1) for each in around]
    words = [_grams(one[-1][-_LABEL:]) | _grams(other[0][:_LABEL]) for one, other in pairwise(ends)]
    for at, piece in enumerate(given):
        shared = [len(each & _grams(clean(piece))) for each in words]
        others = max(shared[:at] + shared[at + 1 :])
        if others > shared[at] or (strictly and others == shared[at]):
            return False
    return True


def _grams(text: str) -> set[str]:
    """Pairs of adjacent characters with a letter among them."""
    pairs = map("".join, pairwise(squeezed(text)))
    return {pair for pair in pairs if any(map(str.isalpha, pair))}


def _ways_to_split(response: Response, count: int) -> Iterator[tuple[Sequence[str], bool]]:
    """Texts that may be the answers in order, and whether they are so by their labels."""
    statement = response.statement
    unmarked = () if statement.marked else (statement.spoken[-_SAID:],)
    texts = dict.fromkeys((statement.boxed, statement.text, statement.block, *unmarked))
    for text in texts:
        places = {number: piece.strip(_EDGES) for number, piece in numbered(_PLACE, text)}
        if len(places) == count and all(places.get(at) for at in range(count)):
            yield [places[at] for at in range(count)], True
    ways = {
        tuple(filter(None, ((_LEAD.sub("", each) or each).strip(_EDGES) for each in split))): False
        for text in texts
        for split in _splits(text)
    }
    yield from (way for way in ways.items() if len(way[0]) == count)


def _splits(text: str) -> Iterator[Sequence[str]]:
    yield re.split(r"[;；]", text)
    yield [line for line in text.split("\n") if line.strip(" *_$")[-1:] not in ":："]
    if not re.search(r"[，,;；]", text):
        yield text.split()
    tail = re.sub(r"^[^\n]*?(?:填|为|是|:|：)", "", text)
    for each in (text.replace("，", ",").replace("；", ";"), part_of(text).clause, tail):
        yield members(each)


__all__ = ["ANSWER_TYPES", "AnswerType", "maths_verdict"]

_SHOWN = 400
_LONGEST = 20_000
_OPEN = re.compile(  # 写出一个即可
    r"只需[填写]|写出一个|填一个|任写|答案不唯一|举(?:出)?一?[个例]|符合条件的一个|一个即可"
)


@lru_cache(maxsize=64)  # several responses to one problem
def _target_of(question: str, reference: str) -> Target:
    return read_target(Question(question[:_LONGEST]), reference[:_LONGEST])


def maths_verdict(response: str, reference: str, question: str) -> tuple[Verdict, AnswerType]:
    """Whether a response gives the reference, and the type of the reference.

    The value of the verdict is the statement that was graded. The problem and its reference are in
    the notation of CMMaTH's publishers.
    """
    target, read = _target_of(question, reference), read_response(response)
    verdict = _verdict(read, target)
    wrong = verdict.correct is False and verdict.rule not in NO_ANSWER
    if wrong and _OPEN.search(question + reference):
        verdict = Verdict(None, "an open question: another answer may be right as well")
    shown = (read.statement.boxed or read.statement.text)[:_SHOWN]
    return verdict._replace(value=shown), target.type


def _verdict(response: Response, target: Target) -> Verdict:
    if not target.text:
        return Verdict(None, "there is no reference answer")
    if not response.statement.spoken.strip():
        return Verdict(False, "gives no answer")
    if response.statement.revised:
        block = clean(response.statement.block)
        letters = target.letters & set(block)
        settles = letters or (not target.letters and has_numbers(block, target.contents))
        return Verdict(None if settles else False, "the text after the answer may retract it")
    if target.type in ("choice_single", "choice_multi"):
        return choice_verdict(response, target)
    if not target.parts:
        return value_verdict(response, target)
    several = parts_verdict if target.type == "multi_part" else blanks_verdict
    found = several(response, target)
    if not found.correct:
        return found
    if OR.search(response.text) and not OR.search(target.text):
        return SEVERAL if OR.search(response.clause) else SEVERAL._replace(correct=None)
    wanted = [each.text for part in target.parts for each in (part, *part.parts)]
    truths = any(part.type == "true_false" for part in target.parts)
    return undermined(response, target.question.raw, wanted, deniable=not truths) or found
