"""Grading of ReForm-Eval without the quirks of the published rules, for ``accuracy_strict``.

The final answer is read as a careful person would read it: thinking is dropped, only offered marks
count, and options that are denied or left open are not chosen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lmms_rpts.answers.final_statement import READ, Statement, find_statement, sentences
from lmms_rpts.grading.numbers import ENGLISH_WORDS
from lmms_rpts.tasks.reform_eval.option_marks import Marks, Named, is_denied, marks_of
from lmms_rpts.tasks.reform_eval.text_answers import (
    WIDE,
    WIDE_CHARACTER,
    spoken_part,
    text_contains,
)

__all__ = ["Choice", "Rule", "chosen_option", "text_contains"]

Rule = Literal["mark", "bracket", "last statement", "option text", "several", "none"]

_SHORT = 1000
"""Maximum length of a response that is read as a whole; of longer ones, the last sentence is."""
_CONTENT = 2000

_MACRO = re.compile(r"\\(?:text|mathrm|mathbf|textbf|boxed)\s?\{([^{}]{0,200})\}")
_MARKUP = re.compile(r"[*`$\"“”\\]|(?<!\w)_{1,3}|_{1,3}(?!\w)")
_BRACKET = re.compile(r"[(\[{【「〔]")
_QUESTION = re.compile(r"[^.!?。！\n]{0,400}[?？]")
_MARK_BEFORE = re.compile(
    r"([A-Za-z0-9]{1,3})[\s.:,;)\]}】」〕-]{0,4}(\b(?:an?|the)\s)?$", re.IGNORECASE
)
# "(B), because there was a cat"
_REASON = re.compile(
    r"\s{0,3}[,;，；]|\W{0,4}(?:is|are|was|because|since|as|and|or|for|due|would|than|best|so|but)\b"
    r"|\s{0,3}[选项是为不错正对因而但都均]",
    re.IGNORECASE,
)
# "(E)", "E." if E was not offered
_FOREIGN = re.compile(
    r"[\W_]{0,6}(?:[(\[【]\s?[A-Za-z0-9]{1,2}\s?[)\]】]|[B-HJ-Zb-hj-z][.):](?=\s|$))"
)
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*|[{WIDE}]|[^\W\d{WIDE}]+|[%$€£¥+#°]")
_ARTICLES = frozenset(("a", "an", "the"))
# They are answers only as first or last word: "I have no idea" does not choose "no".
_VERDICTS = frozenset(("yes", "no", "maybe", "not", "none", "neither", "both"))
_CHINESE_VERDICTS = frozenset("是否有无对错不")
_FIRST_NO = re.compile(
    r"\W{0,6}(?:yes|maybe|both|neither|none)\b"
    r"|\W{0,6}(?:no|not)(?=\s{0,3}(?:$|[,.;!:\n]|(?:it|there|they|he|she|this|that|the|you)\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that an answer chooses.

    Attributes:
        index: index of the option, from 0; None if it can't be determined.
        rule: the rule that decided: a ``mark`` without brackets, a ``bracket``, the ``last
            statement`` ("the answer is ..."), or the ``option text``; without an index, ``several``
            if the answer names more than one option, else ``none``.
    """

    index: int | None
    rule: Rule


_NONE = Choice(None, "none")
_SEVERAL = Choice(None, "several")


def chosen_option(prediction: str, options: Sequence[str], marks: Sequence[str]) -> Choice:
    """The option that a response chooses, by an offered mark or by the option's text.

    Args:
        prediction: the response; any text. Thinking is dropped.
        options: the texts of the options, as shown.
        marks: one mark for each option, without brackets: letters or numbers.

    Raises:
        ValueError: if the numbers of marks and options differ.
    """
    if len(options) != len(marks):
        raise ValueError(f"{len(options)} options but {len(marks)} marks")
    if not options:
        return _NONE
    question = _Question(marks_of(tuple(marks)), [_tokens(_plain(each)) for each in options])
    statement = find_statement(unicodedata.normalize("NFKC", spoken_part(prediction)[-READ:]))
    if statement.marked:
        return _stated(statement, question)
    return _unstated(statement, question)


class _Question(NamedTuple):
    marks: Marks
    options: list[list[_Token]]


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def _stated(statement: Statement, question: _Question) -> Choice:
    """The choice of an answer after "the answer is", or of a later statement that revises it."""
    text = _plain(statement.boxed or statement.text)[:_CONTENT]
    choice = _read(text, question)
    if statement.revised:
        later = _read(_plain(statement.block)[-_CONTENT:], question)
        if later.rule == "several" or (later.index is not None and later.index != choice.index):
            last = (sentences(_plain(statement.block)[-_CONTENT:]) or [""])[-1]
            choice = _read(last, question)
    told = choice.index is not None and choice.rule in ("mark", "bracket")
    return Choice(choice.index, "last statement") if told else choice


def _unstated(statement: Statement, question: _Question) -> Choice:
    spoken = _plain(statement.spoken.strip())
    if len(spoken) > _SHORT:
        first, last = spoken.split("\n", 1)[0], spoken.rsplit("\n", 1)[-1]
        for line in (last, first):
            index = question.marks.alone(line)
            if index is not None:
                return Choice(index, "mark")
        return _read(_plain(statement.text)[-_CONTENT:], question)
    choice = _read(spoken, question)
    if choice.rule != "several":
        return choice
    # "(A) yes; (B) no. (A)", or "B" above its explanation
    ends = [*sentences(spoken)[-1:], spoken.split("\n", 1)[0].strip()]
    if spoken.strip(" .") in ends:
        return choice
    told = {index for each in ends if (index := question.marks.alone(each)) is not None}
    return Choice(told.pop(), "mark") if len(told) == 1 else choice


def _read(text: str, question: _Question) -> Choice:
    """The option that a text without markup chooses."""
    text = text.strip()
    same = _same_text(text, question.options)
    alone = question.marks.alone(text)
    if alone is not None:
        bracketed = _BRACKET.search(text) is not None
        if bracketed or same in (None, alone):
            return Choice(alone, "bracket" if bracketed else "mark")
        return _SEVERAL  # "2": the second option, or the one that says 2
    if same is not None:
        return Choice(same, "option text") if same >= 0 else _SEVERAL
    return _by_mark(text, question) or _by_text(text, question)


def _by_mark(text: str, question: _Question) -> Choice | None:
    """The choice by marks; None if no mark is named."""
    shown = _without_option_texts(text, question)
    asked = [found.span() for found in _QUESTION.finditer(shown)]
    named = [
        each
        for each in question.marks.named(shown)
        if not any(start <= each.start < end for start, end in asked)
    ]
    bracketed = [each for each in named if each.bracketed]
    indices = {index for each in bracketed or named for index in each.indices}
    if not indices:
        return _NONE if _FOREIGN.match(text) else None
    if len(indices) > 1:
        return _SEVERAL
    index = indices.pop()
    if _contradicts(shown, (bracketed or named)[0], index, question):
        return _SEVERAL
    return Choice(index, "bracket" if bracketed else "mark")


def _contradicts(text: str, named: Named, index: int, question: _Question) -> bool:
    """Whether a mark is next to the text of another option: "(A) dog", "cat (B)"."""
    before = text[: named.start].rsplit("\n", 1)[-1]
    after = text[named.end :].split("\n", 1)[0]
    told = {_same_text(part, question.options) for part in (before, after)} - {None, -1}
    if not told and not _REASON.match(after):
        told.add(_by_text(sentences(after)[0], question).index if sentences(after) else None)
    return bool(told - {None, index})


def _without_option_texts(text: str, question: _Question) -> str:
    """Remove option texts after their own mark: "(A) not sure" does not deny A."""
    tokens = _tokens(text)
    spans = []
    for index, wanted in enumerate(question.options):
        for start, end in _places(tokens, wanted):
            mark = _MARK_BEFORE.search(text[max(0, start - 16) : start])
            if mark and question.marks.alone(mark[1]) == index:
                spans.append((start - len(mark[2] or ""), end))
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def _by_text(text: str, question: _Question) -> Choice:
    """The only option whose words are in the text, outside denials and questions."""
    tokens = _tokens(text, keep_one=True)
    asked = [found.span() for found in _QUESTION.finditer(text)]
    spans = [
        (start, end, index)
        for index, wanted in enumerate(question.options)
        for start, end in _places(tokens, wanted)
        if _answers(text, wanted, start, end)
        and not any(begin <= start < stop for begin, stop in asked)
    ]
    held = {
        index
        for start, end, index in spans
        if not is_denied(text, start, end)
        and not any(
            begin <= start and end <= stop and end - start < stop - begin
            for begin, stop, _ in spans
        )
    }
    if len(held) > 1:
        return _SEVERAL
    return Choice(held.pop(), "option text") if held else _NONE


def _answers(text: str, wanted: Sequence[_Token], start: int, end: int) -> bool:
    """Whether these words can mean the option; only short options are doubtful."""
    if len(wanted) > 1 or not wanted:
        return bool(wanted)
    word = wanted[0].text
    last = not re.search(r"\w", text[end:])
    if word in _VERDICTS:
        first = _FIRST_NO.match(text) is not None and not re.search(r"\w", text[:start])
        beside = re.search(r"\bor\s{1,3}$", text[max(0, start - 8) : start]) is not None
        return first or beside or (last and word not in ("no", "not"))
    if len(word) == 1 and (word in _CHINESE_VERDICTS or not WIDE_CHARACTER.match(word)):
        if word.isdigit():
            return True
        return not re.search(r"\w", text[:start]) and not re.match(r"\s?(?!的)\w", text[end:])
    return True


def _same_text(text: str, options: Sequence[Sequence[_Token]]) -> int | None:
    """The option equal to the text; -1 if several are, None if none is."""
    said = [token.text for token in _tokens(text[:_CONTENT])]
    same = [index for index, each in enumerate(options) if said == [token.text for token in each]]
    if not said or not same:
        return None
    return same[0] if len(same) == 1 else -1


def _places(tokens: Sequence[_Token], wanted: Sequence[_Token]) -> Iterator[tuple[int, int]]:
    """The positions of the wanted words in sequence."""
    words, size = [token.text for token in wanted], len(wanted)
    if not size:
        return
    for at in range(len(tokens) - size + 1):
        if tokens[at].text == words[0] and [each.text for each in tokens[at : at + size]] == words:
            yield tokens[at].start, tokens[at + size - 1].end


def _plain(text: str) -> str:
    """The text without markup."""
    text = _MACRO.sub(r"\1", unicodedata.normalize("NFKC", text))
    return _MARKUP.sub("", text).replace("’", "'").strip()


def _tokens(text: str, *, keep_one: bool = False) -> list[_Token]:
    """The words without case and articles, with number words as digits, and their positions."""
    found = []
    for each in _TOKEN.finditer(text):
        word = each[0].casefold()
        value = None if keep_one and word == "one" else ENGLISH_WORDS.get(word)
        found.append(_Token(word if value is None else str(value), *each.span()))
    return [token for token in found if not _is_article(text, token)] or found


def _is_article(text: str, token: _Token) -> bool:
    """Whether an article is followed by a word: in "(A) dog" and "A. dog", "A" is a mark."""
    return token.text in _ARTICLES and re.match(r"\s{1,3}\w", text[token.end :][:4]) is not None
