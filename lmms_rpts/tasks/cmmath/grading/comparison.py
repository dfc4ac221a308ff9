"""Comparison of one statement with one value: True, False, or None if undecided."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from lmms_rpts.tasks.cmmath.grading.candidates import (
    bare,
    concludes,
    last_clause,
    relation_readings,
    value_readings,
)
from lmms_rpts.tasks.cmmath.grading.circled import called_so, circled_of
from lmms_rpts.tasks.cmmath.grading.final_answer import Statement, sentences
from lmms_rpts.tasks.cmmath.grading.hedging import (
    is_bounded,
    is_denied,
    no_answer,
    one_of_several,
)
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.quantities import (
    asks_rounding,
    parse_quantity,
)
from lmms_rpts.tasks.cmmath.grading.references import Target
from lmms_rpts.tasks.cmmath.grading.target_quantity import of_another
from lmms_rpts.tasks.cmmath.grading.text_answers import (
    BLANK,
    OR,
    chosen_word,
    is_nothing,
    plain_words,
    says_nothing,
    squeezed,
    states,
    vocabulary,
)
from lmms_rpts.tasks.cmmath.grading.true_false import truth_of
from lmms_rpts.tasks.cmmath.grading.units import Unit
from lmms_rpts.tasks.cmmath.grading.values import same_value, with_signs

_RELATIONS = frozenset({"interval", "equation", "coordinate", "set", "circled"})
_SPAN = re.compile(r"[^\u4e00-\u9fff。、\n;“”]{1,200}")
_TWO_TRUTHS = re.compile(
    r"没有?错|不错|(?:错|不对|不正确|不成立)[^\n]{0,40}?(?<!不)(?:正确|是对)|(?<!不)正确[^\n]{0,40}?(?:错|不对|不正确)"
)
_JUDGEMENT = re.compile(r"判断|看法|观点")
_CALLED_WRONG = re.compile(r"错误|不正确|不成立|不对")
_CIRCLED = re.compile(r"[①-⑳]")
_UNKNOWN = re.compile(r"([a-z])(?:_\{\d\})?\s?=")
_LONGEST_SENTENCE = 240


class Verdict(NamedTuple):
    """Whether the answer is the target, and by what that was told."""

    same: bool | None
    rule: str


def value_verdict(
    statement: Statement, target: Target, question: str, expected: Unit | None = None
) -> Verdict:
    """Whether a statement gives the value of a target."""
    if is_nothing(target.text):
        return _nothing_verdict(statement, target)
    if target.type == "true_false":
        return _truth_verdict(statement, target)
    if target.type == "statement":
        return words_verdict(statement, target.text, question)
    found = _read(statement, target, question, expected)
    if found.same is not None:
        return found
    if says_nothing(statement.text):
        return Verdict(False, "says that there is no solution")
    reason = found.rule or f"no {target.type} can be read from the answer"
    return without_answer(statement) or Verdict(None, reason)


def words_verdict(statement: Statement, wanted: str, question: str) -> Verdict:
    """Whether a statement says the wanted words."""
    sentence = statement.text
    words = vocabulary(question, wanted)
    if words:
        sentence = sentence.rsplit("而是", 1)[-1]
        chosen = chosen_word(last_clause(clean(sentence)), words) or chosen_word(sentence, words)
        if words == frozenset("<>=") and len(squeezed(clean(sentence))) > 1:
            chosen = _sign_in_order(sentence, question)
        bare_sentence = sentence[-_LONGEST_SENTENCE:]
        for word in words:
            bare_sentence = bare_sentence.replace(word, " ")
        if chosen is not None and not is_denied(bare_sentence):
            return Verdict(chosen == plain_words(clean(wanted)), "one of the given words")
        return without_answer(statement) or Verdict(None, "which of the given words is unclear")
    if len(sentence) <= _LONGEST_SENTENCE and len(plain_words(clean(wanted))) > 1:
        if states(sentence, wanted):
            return Verdict(True, "the words of the reference")
    elif plain_words(clean(sentence)) == plain_words(clean(wanted)):
        return Verdict(True, "the words of the reference")
    return without_answer(statement) or Verdict(None, "other words than the reference")


def _read(statement: Statement, target: Target, question: str, expected: Unit | None) -> Verdict:
    rounded = asks_rounding(question) and re.fullmatch(r"-?\d+\.\d+", target.text) is not None
    readings = value_readings(statement, rounded=rounded)
    if target.type in _RELATIONS:
        relations = relation_readings(statement)
        readings = [*relations, *readings] if target.type == "set" else relations
    text = clean(statement.text)
    if target.type == "circled":
        alone = _row_of_verdicts(statement, text)
        called = None if alone else called_so(text, question)
        if called is not None:
            return Verdict(called == circled_of(target.text), "verdicts on circled numbers")
        if _circled_otherwise(statement, text, question):
            return Verdict(None, "which of the circled numbers are meant is unclear")
    alternatives = OR.search(last_clause(text)) is not None
    either = alternatives and OR.search(target.text) is None
    if alternatives:
        readings = [each for each in readings if OR.search(each)] or readings
    for reading in readings:
        same = any_value(reading, target.alternates, question, expected)
        if same or squeezed(reading) == squeezed(target.text):
            doubt = _doubt(text, target, question, either=either)
            return Verdict(None, doubt) if doubt else Verdict(True, f"equal as {target.type}")
        if same is False:
            if is_denied(text) and not statement.boxed:
                return Verdict(None, "a value may be denied")
            if "分之" in text and "分之" not in reading:
                return Verdict(None, "a fraction in words")
            if re.search("每|时速", text) and _same_but_unit(reading, target):
                return Verdict(None, "the unit may be told in words")
            if not either and _elsewhere(statement, reading, target, question, expected):
                return Verdict(None, "several values, one of them that of the reference")
            return Verdict(False, f"different as {target.type}")
    return Verdict(None, "")


def _doubt(text: str, target: Target, question: str, *, either: bool) -> str | None:
    """Why a sentence that holds the right value may not give it as the answer; None if it does."""
    if is_denied(text):
        return "the value may be denied"
    if either and (target.type == "circled" or len(set(_UNKNOWN.findall(target.text))) > 1):
        return "one or the other"
    if target.type in _RELATIONS:
        return None
    if is_bounded(text, question + target.text):
        return "a bound, no value"
    if of_another(text, question):
        return "the value of another quantity"
    if one_of_several(text, question):
        return "several values, one of them that of the reference"
    return None


def _circled_otherwise(statement: Statement, text: str, question: str) -> bool:
    """Whether the sentence lists the wrong ones, or is one of a row of verdicts."""
    wrong = _CALLED_WRONG.search(last_clause(text)) and not _CALLED_WRONG.search(question)
    return bool(wrong) or _row_of_verdicts(statement, text)


def _row_of_verdicts(statement: Statement, text: str) -> bool:
    """Whether the sentence is the last of several lines, each on one circled number."""
    if statement.marked or concludes(last_clause(text)):
        return False
    lines = [line for line in statement.spoken[-400:].split("\n") if _CIRCLED.search(line)]
    return len(lines) > 1 and len(_CIRCLED.findall(text)) == 1


def any_value(
    reading: str, alternates: Iterable[str], question: str, expected: Unit | None
) -> bool | None:
    """True if the reading is any of the alternates, False if it surely is none."""
    found = [same_value(reading, each, question, expected) for each in alternates]
    return True if True in found else (None if None in found else False)


def _elsewhere(
    statement: Statement, reading: str, target: Target, question: str, expected: Unit | None
) -> bool:
    """Whether the value of the target stands beside the one that was read.

    Where nothing marks the answer, also in the sentence before; a box, or a last clause that
    draws the conclusion, leaves no doubt.
    """
    if statement.boxed and reading in clean(statement.boxed):
        return False
    clause = last_clause(clean(statement.text))
    texts = [statement.text] if statement.marked else sentences(statement.spoken[-600:])[-2:]
    if concludes(clause) and reading in clause:
        texts = [clause]
    for text in texts:
        cleaned = clean(text)
        for found in list(_SPAN.finditer(cleaned))[-12:]:
            for span in _with_units(found, cleaned):
                if any_value(span, target.alternates, question, expected):
                    return True
    return False


def _same_but_unit(reading: str, target: Target) -> bool:
    one, other = parse_quantity(reading), parse_quantity(target.text)
    if one is None or other is None:
        return False
    return one.expression.number is not None and one.expression.number == other.expression.number


def _with_units(found: re.Match[str], text: str) -> list[str]:
    """The values of a run, each what stands behind its last sign of equality, with its unit."""
    pieces = [bare(each.rpartition("=")[2]) for each in re.split(r"[,;]", found[0])]
    following = re.match(r"[\u4e00-\u9fff/]{0,4}", text[found.end() :])
    if pieces and following and parse_quantity(pieces[-1] + following[0]):
        pieces[-1] += following[0]
    return [piece for piece in pieces if piece]


def _nothing_verdict(statement: Statement, target: Target) -> Verdict:
    text = clean(statement.text)
    if says_nothing(statement.text) or is_nothing(text):
        if is_denied(text) or "≠" in text:
            return Verdict(None, "whether there is no solution may be denied")
        return Verdict(True, "no solution")
    if is_denied(text):
        return Verdict(None, "what is denied is unclear")
    if re.search(r"无数|任意|❴[^❵]{1,200}❵", text):
        return Verdict(False, "a solution where there is none")
    for reading in (*value_readings(statement), *relation_readings(statement)):
        if parse_quantity(reading) is not None or re.search(r"[=<>≤≥]\s?-?\d", reading):
            return Verdict(False, "a solution where there is none")
    return Verdict(None, "whether it says that there is no solution is unclear")


def _truth_verdict(statement: Statement, target: Target) -> Verdict:
    wanted = truth_of(target.text)
    text = clean(statement.text)
    last = last_clause(text)
    if re.search(r"不是\s?(?:正确|对|错|真|假)|(?:对|错误?|正确|[√×])[^\n,;]{0,4}不是", text):
        return Verdict(None, "a verdict that is denied")
    if _TWO_TRUTHS.search(text if _JUDGEMENT.search(last) else last):
        return Verdict(None, "a verdict on a verdict")
    first = re.split(r"[,，。;；]", text)[0]
    for reading in (*value_readings(statement), first):
        said = truth_of(reading)
        if said is not None:
            return Verdict(said == wanted, "true or false")
    return without_answer(statement) or Verdict(None, "neither true nor false can be read")


def _sign_in_order(sentence: str, question: str) -> str | None:
    """The sign of order, where the same text stands before it as before the question's blank."""
    before = squeezed(clean(BLANK.split(question)[0]))[-4:]
    said = with_signs(clean(sentence))
    for found in re.finditer(r"[<>=]", said):
        if before and squeezed(said[: found.start()]).endswith(before):
            return found[0]
    return None


def all_of(verdicts: list[Verdict], what: str) -> Verdict:
    """True if all are, False if any is; ``what`` they are verdicts on."""
    for at, verdict in enumerate(verdicts, 1):
        if verdict.same is False:
            return Verdict(False, f"{what} {at}: {verdict.rule}")
    for at, verdict in enumerate(verdicts, 1):
        if verdict.same is None:
            return Verdict(None, f"{what} {at}: {verdict.rule}")
    return Verdict(True, f"each {what}")


def without_answer(statement: Statement) -> Verdict | None:
    """A wrong answer where the response gives none."""
    reason = no_answer(statement)
    return None if reason is None else Verdict(False, reason)
