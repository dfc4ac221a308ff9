"""Final statement of a response: the text that states the answer, and why it may not be final.

The last statement counts. A box, words (答案, 故选, 答：, "the answer is"), a heading, or a
paragraph that is nothing but a value mark an answer; otherwise it is in the last sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import regex

from lmms_rpts.grading.patterns import find_all, phrases
from lmms_rpts.grading.plain import LONGEST, plain
from lmms_rpts.reasoning.thinking import INVENTED, first_turn, split_thinking

# Characters that are read, at the end of a response.
READ = 20_000
_BEGINNING = 200
# Characters at the end in which an answer without a mark stands.
_TAIL = 1_600
# "\boxed{\frac{1}{2}}", also without the last bracket
_BOXED = regex.compile(r"\\boxed\s?\{((?:[^{}\n]|\{(?1)\})*+)(?:\}|$)", regex.MULTILINE)
# Characters between boxes of one answer.
_NEAR = 16
_LABEL = phrases("labels")
# "### 最终答案" above the answer
_HEADING = re.compile(
    r"^[#*_\s【\[]{0,8}(?:(?:the\s)?(?:final\s{1,3}|correct\s)?answer(?:\sis)?|最终答案|答案|结论)"
    r"[*_】\]]{0,3}[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
# "(B)", "15", "12 cm" on a line of its own; and "B) Porto" above an explanation
_ALONE = re.compile(
    r"[*_`(\[$]{0,4}(?:[A-J]|-?\.?\d[\d.,/]{0,11}(?:\s?[%\w]{1,8})?)[*_`)\].$]{0,4}"
)
_HEAD = re.compile(rf"{_ALONE.pattern}|[*_`(\[$]{{0,4}}[A-J][*_`)\].:$]{{1,4}}\s.{{1,60}}")
_ANSWER_TAG = re.compile(r"<answer>([^<]{1,400})(?:</answer>|$)", re.IGNORECASE)
# A displayed formula over several lines is one line of the answer.
_DISPLAYED = re.compile(r"\\\[[^\[\]]{0,2000}\\\]|\$\$[^$]{0,2000}\$\$")
_BULLET = phrases("bullet")
_ITEM = re.compile(r"\W{0,3}(?:[-*•]\s|\w{1,3}[.)、]\s|[^=\d]{1,12}=)")
EXPLAINED = phrases("explanation")
"""What begins an explanation below an answer: 解析：…"""
_ABBREVIATED = "St Dr Mr Mrs Ms Mt Jr Sr Ft Prof Gen vs approx ca No Fig Vol Eq i.e e.g"
# the ends of sentences; not decimal points, nor those of "B. 26" and "St. Louis"
_END = re.compile(
    r"[。！？\n]|(?<![\d.])(?<!\b[A-HＡ-Ｈ])[．](?!\d)|[!?](?=\s|$)|(?<!\b[A-ZＡ-Ｈ])"
    + "".join(rf"(?<!\b{word})" for word in _ABBREVIATED.split())
    + r"[.．](?=\s|$)|[.．](?=\s{0,9}$)"
)
_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_SMALL_TALK, _GIVES_UP = phrases("small_talk"), phrases("gives_up")


class Verdict(NamedTuple):
    """Whether an answer is right, by which rule, and the answer that was found.

    ``value`` is empty if the whole statement is the answer.
    """

    correct: bool | None
    rule: str
    value: str = ""


@dataclass(frozen=True)
class Statement:
    """The final answer of a response, and its context.

    Attributes:
        text: as written: the content of boxes; else the text after the mark, to the end of its
            sentence and of the bullets below it; without a mark, the last sentence.
        marked: whether a mark identifies it as the answer.
        boxed: whether it is the content of boxes.
        before: the part of its sentence before it, with its mark.
        head: all the text before it.
        after: the text after it.
        spoken: the response without thinking, small talk, and the turns that a model invents.
    """

    text: str
    marked: bool
    boxed: bool
    before: str
    head: str
    after: str
    spoken: str

    @cached_property
    def said(self) -> str:
        """The answer in plain characters; empty if there is none."""
        said = plain(self.text).strip(" \t:,;，。；：")
        return "" if not self.marked and _HEADING.fullmatch(said) else said

    @property
    def end(self) -> str:
        """The last two sentences of the response, or the marked answer, in plain characters."""
        return self.said if self.marked else plain(" ".join(sentences(self.spoken[-800:])[-2:]))

    @cached_property
    def doubt(self) -> str:
        """Why it may not be final; empty if there is no sign of doubt."""
        after, before = plain(self.after[:LONGEST]), plain(self.before[-300:]).rstrip(" :")
        said, tail = self.said, self.after.lstrip(' *)"”$')
        above = self.head.rstrip(" :：\n").rpartition("\n")[2]
        denied = before if self.marked else above if len(above) <= _SHORT_LINE else ""
        table = (
            (_RETRACTS.search(after) or _RETRACTS.search(said[1:]), RETRACTED),
            (self.marked and _WRONG.match(after), RETRACTED),
            (len(self.text) > LONGEST, "too long"),
            (_UNREADABLE.search(self.text), "unreadable characters"),
            (tail[:1] in ("?", "？") and tail, "a question"),
            (said.endswith(("?", "吗")), "a question"),
            (self.boxed and _GOES_ON.match(self.after), "continues after the box"),
            (self.boxed and _BEFORE_BOX.search(self.before[-20:]), "a part"),
            (self.marked and _UNSURE.search(before), "conditional, or reported from others"),
            (_DENIED.search(denied), "denied"),
            (_HEDGE.search(f"{before[-80:]} {said}"), HEDGED),
            (self.marked and _OPENS_AGAIN.match(after), "reopened"),
            (self.marked and _HEDGE.search(after[:200]), "left open"),
            (said[:1] in ("!", "≠", "¬", "❌", "✗", "✘"), "denied"),
            (not self.marked and _is_item(self.spoken), "an item of a list"),
            (_STRUCK.search(self.text + self.after[:200]), "struck through"),
            (self.marked and tail and any(map(is_short, self.explained)), RETRACTED),
        )
        return next((rule for applies, rule in table if applies), "")

    @property
    def explained(self) -> list[str]:
        """The sentences after it, to the heading of an explanation, in plain characters."""
        after = EXPLAINED.split(self.after[: 2 * LONGEST])[0]
        return [plain(each) for each in sentences(after)]

    @property
    def others(self) -> Iterator[Statement]:
        """Other final answers: a marked one on the lines before, one on a line of its own below."""
        if not self.marked:
            return
        earlier = self.head.removesuffix(self.before)[-600:]
        taken_back = list(_RETRACTS.finditer(earlier))
        if taken_back:
            earlier = earlier[taken_back[-1].end() :]
        lines = [line.strip() for line in earlier.split("\n") if line.strip()][-2:]
        first = [] if taken_back else [self.spoken.split("\n", 1)[0].strip()]
        first = [line for line in first if _HEAD.fullmatch(line)]
        yield from map(find_statement, (*first, *filter(_ALONE.fullmatch, lines)))
        yield from map(find_statement, filter(_LABELLED_LINE.search, sentences(earlier)[-2:]))
        same_line = sentences(earlier.rpartition("\n")[2])[-2:]
        same_line.append(re.sub(r"\W*\w*\W*$", "", self.before))  # 答案是3，选B
        yield from (each for each in map(find_statement, same_line) if each.marked)
        below = [line for line in self.after[:LONGEST].split("\n") if line.strip()][:3]
        yield from (find_statement(line) for line in below if _ALONE.fullmatch(line.strip()))


def find_statement(response: str) -> Statement:
    """The final answer of a response; all texts are empty if there is none."""
    spoken = _spoken(response)
    box_at, boxes, box_end = _last_boxes(spoken) if "\\boxed" in spoken else (-1, "", -1)
    for start, end in _marks(spoken)[:40]:
        if start < box_at:
            break
        text, stop = _content(spoken, end)
        if text.endswith((":", "：")):
            break  # It only introduces something else.
        if text:
            before = _END.split(spoken[max(0, end - 300) : end])[-1]
            return Statement(text, True, False, before, spoken[:end], spoken[stop:], spoken)
    if box_at >= 0:
        after = spoken[box_end:].lstrip("$*\\] )")
        before = _END.split(spoken[max(0, box_at - 300) : box_at])[-1]
        return Statement(boxes, True, True, before, spoken[:box_at], after, spoken)
    alone = _last_alone(spoken)
    if alone:
        text, after = alone
        head = spoken[: len(spoken) - len(after) - len(text)]
        return Statement(text, True, False, "", head, after, spoken)
    behind = EXPLAINED.search(spoken)
    if behind and spoken[: behind.start()].strip():
        spoken = spoken[: behind.start()]
    found = [each for each in sentences(spoken[-_TAIL:]) if not is_small_talk(each)]
    text = found[-1] if found else ""
    head, _, after = spoken.rpartition(text) if text else ("", "", spoken)
    return Statement(text, False, False, "", head, after, spoken)


def _last_alone(spoken: str) -> tuple[str, str] | None:
    """The last paragraph that is nothing but a value, and the text after it."""
    paragraphs = re.split(r"(\n[ \t]*\n|\A\n)", spoken)
    for at in range(len(paragraphs) - 1, -1, -2):
        line, _, below = paragraphs[at].partition("\n")
        begins = at == 0 and below and not _BULLET.match(below)
        if _HEAD.fullmatch(line.strip()) and (not below or begins):
            after = below + "".join(paragraphs[at + 1 :])
            return (line, f"\n{after}") if after.strip() or at else None
    return None


def sentences(text: str) -> list[str]:
    """The non-empty sentences of a text."""
    return [part.strip() for part in _END.split(text) if part.strip(" \t*_#-$")]


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is small talk after an answer: "Let me know if you have questions"."""
    return _SMALL_TALK.match(sentence.lstrip(" \t*#")) is not None


def _is_item(spoken: str) -> bool:
    """Whether the last line is one of several items: "1. 4" above "2. 9", "a = 4" above "b = 9"."""
    last, above = [*map(_ITEM.match, spoken.split("\n")[:-3:-1]), None, None][:2]
    return bool(last and above and last[0] != above[0])


def is_short(sentence: str) -> bool:
    """Whether a sentence has a few words that are no small talk: "Not really.", "Add one."."""
    return _SHORT.fullmatch(sentence) is not None and not is_small_talk(sentence)


def gives_up(text: str) -> bool:
    """Whether a text says that the question cannot be answered."""
    return _GIVES_UP.search(text[-600:]) is not None


def _spoken(response: str) -> str:
    if len(response) > READ:  # the tag that opens the thinking stands at the beginning
        response = f"{response[:_BEGINNING]}\n{response[-READ:]}"
    spoken = split_thinking(response.replace("\r\n", "\n").translate(_DIGITS))[0]
    spoken = first_turn(spoken, INVENTED)
    # Long runs of one sign hold no answer, and patterns are slow with them.
    spoken = re.sub(r"([\W_])\1{9,}", lambda found: found[1] * 9, spoken.replace("```", "\n"))
    if "<" in spoken:
        spoken = _ANSWER_TAG.sub(r"\n答案：\1\n", re.sub(r"(?i)</?step\s?\d{0,3}>", " ", spoken))
    lines = spoken.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or _SMALL_TALK.match(lines[-1].lstrip(" *#"))):
        lines.pop()
    spoken = "\n".join(lines)
    return _DISPLAYED.sub(lambda found: found[0].replace("\n", " "), spoken)


def _last_boxes(text: str) -> tuple[int, str, int]:
    """Start, content and end of the last boxes of a line; the start is -1 if there is none."""
    contents, first, last = "", -1, -1
    for found in reversed(find_all(_BOXED, text)):
        if not contents:
            contents, first, last = found[1].strip(), found.start(), found.end()
        elif "\n" in text[found.end() : first]:
            break
        else:  # Boxes with words between them are alternatives: "45 as the other, 54, is not odd"
            joint = "; " if first - found.end() < _NEAR else " or "
            contents, first = f"{found[1].strip()}{joint}{contents}", found.start()
    return first, contents, last


def _marks(text: str) -> list[tuple[int, int]]:
    """Start and end of the labels of answers, last first."""
    found = [*_LABEL.finditer(text), *_HEADING.finditer(text)]
    return sorted([mark.span() for mark in found], reverse=True)


def _content(text: str, start: int) -> tuple[str, int]:
    """The text after a mark, and its end: its sentence, or the next line, and bullets below."""
    at = start
    line = text[at : at + 4000].partition("\n")[0]
    if not line.strip(" \t*_:：$"):
        at += len(line)
        at += len(text[at:]) - len(text[at:].lstrip("\n \t*"))
        line = text[at : at + 4000].partition("\n")[0]
    end = _END.search(line, len(line) - len(line.lstrip(" .。")))
    stop = at + len(line)
    if end:
        more = line[end.start() :].strip(" *.。")
        if more or not _BULLET.match(text, stop + 1):
            return line[: end.start()].strip(), at + end.start()
    while _BULLET.match(text, stop + 1):
        below = text.find("\n", stop + 1)
        stop = len(text) if below < 0 else below
    return text[at:stop].strip(), stop


_SHORT_LINE = 8  # 排除： above "C"
RETRACTED, HEDGED = "retracted", "hedged"
_RETRACTS, _UNSURE, _HEDGE = phrases("retracts"), phrases("unsure"), phrases("hedged")
# "Answer: B. Wrong, it is C", "B -> C": what takes the answer before it back
_WRONG = re.compile(
    r"[\s\W]{0,8}(?:(?:(?:is|was)\s)?(?:incorrect|wrong|false|no)(?![a-z])|(?<![<=>-])(?:=>|->|[→⇒⟶]))",
    re.IGNORECASE,
)
# "Not really.", "Add one.", 这不对: a short sentence beside an answer that may change it
_SHORT = re.compile(r"(?:[!-~]+\s){0,3}[!-~]+|(?=.*[^\x00-\x7f]).{1,9}")
# ~~B~~, <s>B</s>, \cancel{B}
_STRUCK = phrases("struck")
# "I don't think the answer is B", "the wrong answer is B"; but not "It is not red, so ..."
_DENIED = phrases("denied_before")
# After a statement: "Or C.", "But C looks right.", "... could also be C"
_OPENS_AGAIN = phrases("reopens")
# Broken bytes and control characters: "\x0e\ufffd\tB\x0fB"
_UNREADABLE = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
# "\boxed{8}/2"
_GOES_ON = phrases("box_goes_on")
# "2\boxed{8}", "-\boxed{8}", "3 + \boxed{8}": the box is a part of the answer
_BEFORE_BOX = re.compile(
    r"(?:\d\s?|[-+/^√−]|(?<=\S\s)[-+/×÷√−]\s|\\times\s?|\\cdot\s?|\\sqrt\{?)\$?$"
)
_LABELLED_LINE = phrases("labelled_line")
