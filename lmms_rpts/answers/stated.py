"""Final answer of a response in plain characters, and reasons to doubt it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from lmms_rpts.answers.final_statement import Statement, find_statement, gives_up, sentences
from lmms_rpts.answers.plain_text import LONGEST, plain
from lmms_rpts.answers.retraction import is_struck, retracts

TAKEN_BACK = "retracted"

# Text that is not the model's own statement: "If x were 2, the answer is 8", "Tom says it is 8",
# "For example: Answer: B"
REPORTED = re.compile(
    r"\b(?:if|unless|suppose|supposing|assum(?:e|ing)|whether|doubt|pretend|example|e\.g|format"
    r"|(?<!i\s)(?<!we\s)(?<!would\s)(?:say|says|said|think|thinks|thought|claims?|claimed|argues?"
    r"|suggests?|believes?|guess(?:es)?)|(?:his|her|their|your|\w{1,20}'s)\s(?:\w{1,12}\s)?answer"
    r"|claimed|alleged\w{0,2}|used\sto|(?:old|previous|initial|original|earlier|former|first)"
    r"\sanswers?)\b"
    r"|如果|假如|假设|若是|例如|比如|有人|同学|认为(?!$)|是否",
    re.IGNORECASE,
)
# "I don't think the answer is B", "the wrong answer is B"; but not "It is not red, so ..."
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|cannot|no|wrong|incorrect|false|neither|nor|hardly)\b|n't\b|不|并非|错误|没有)"
    r"[^,;，；:：]{0,80}$",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|likely|(?:may|might|could)\s(?:also\s)?be"
    r"|(?:my|a|best|just)\sguess|i\sguess|guessing|seems?|not\s(?:\w{1,12}\s)?(?:sure|certain|confident)"
    r"|unsure|uncertain|alternatively)\b|可能|也许|大概|或许|不确定|猜",
    re.IGNORECASE,
)
# After a statement: "Or C.", "But C looks right.", "... could also be C"
_OPENS_AGAIN = re.compile(
    r"^[\s\W]{0,8}(?:or|but|however|unless|if|although|though|maybe|perhaps|possibly|except|no)\b"
    r"|^[\s\W]{0,8}(?:或|但|不过|除非|如果)",
    re.IGNORECASE,
)
_STILL_OPEN = re.compile(
    r"\b(?:could|might|may)\salso\b|\balternatively\b|\bnot\s(?:\w{1,12}\s)?(?:sure|certain|confident)\b"
    r"|\b(?:can't|cannot)\sbe\s(?:sure|certain)\b|\bguess(?:ing)?\b|也可能|不确定",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"[.!。]\s{0,3}(?:(?:please\s)?(?:let\sme\sknow|feel\sfree)|i\shope"
    r"|if\syou\s(?:have|need)|would\syou\slike)[^\n]*$",
    re.IGNORECASE,
)
_LABEL_ALONE = re.compile(
    r"(?:(?:the\s)?(?:final\s|correct\s)?answer(?:\sis)?|最终答案|答案)", re.IGNORECASE
)
# "\boxed{8}/2", "2\boxed{8}", "-\boxed{8}"
_GOES_ON = re.compile(r"\\?(?:%|[/^_+×÷!{-]|\d|(?:text|mathrm|mathbf)\s?\{\s?or|cdot|times)")
_BEFORE_BOX = re.compile(
    r"(?:\d\s?|[-+/^√−]|(?<=\S\s)[-+/×÷√−]\s|\\times\s?|\\cdot\s?|\\sqrt\{?)\$?$"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:St|Dr|Mr|Mrs|Ms|Mt|Jr|Sr|Ft|Prof|Gen|vs|approx|ca|etc|No|Fig|Vol|Eq"
    r"|[A-Z]|[A-Z]\.[A-Z]|i\.e|e\.g)$"
)
_END = re.compile(r"[。！？\n]|[.!?](?=\s|$)")
_LABELLED_LINE = re.compile(
    r"^[\s*_#>]{0,6}(?:(?:the\s)?(?:final\s|correct\s)?answer|答案|最终答案)[\s*_]{0,4}(?:is\b|[:：]|是|为)"
    r"|\\boxed",
    re.IGNORECASE,
)
# "1. Count the apples" below a label
_LISTED = re.compile(r"[ \t*_]{0,4}\n\s{0,8}\d{1,3}[.)、]\s")
# "C" on its own line, below "Answer: B"
_VALUE_ALONE = re.compile(r"[\s*_(\[$]{0,6}(?:[A-Z]|-?\d[\d.,]{0,20})[\s*_)\].$]{0,6}")
_CONCLUDES = re.compile(
    r"^\W{0,6}(?:so|therefore|thus|hence|in\stotal|overall|finally|因此|所以|故|综上)",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    """Whether an answer is right, by which rule, and the answer that was found.

    ``value`` is empty if the whole statement is the answer.
    """

    correct: bool | None
    rule: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """The final answer of a response, and its context.

    Attributes:
        text: the stated answer, in plain characters; empty if there is none.
        marked: whether a box or a label identifies it as the answer.
        doubt: why it may not be final; empty if there is no sign of doubt.
        rival: another final answer next to it, as a response; empty if there is none.
        after: the text after it, unchanged, at most 2,000 characters.
        spoken: the response without thinking.
        end: its last two sentences, in plain characters.
        gives_up: whether the end of the response says that the question cannot be answered.
    """

    text: str
    marked: bool
    doubt: str
    rival: str
    after: str
    spoken: str
    end: str
    gives_up: bool


def read_stated(response: str) -> Stated:
    """The final answer of a response; accepts any text."""
    found = find_statement(response)
    start, after = _place(found)
    raw = found.boxed or _CHATTER.sub("", _whole(found, start, after))
    text = plain(raw).strip(" \t:,;，。；：")
    if not found.marked and _LABEL_ALONE.fullmatch(text):
        text = ""
    before = plain(re.split(r"[。！？\n]|[.!?]\s", found.spoken[max(0, start - 300) : start])[-1])
    before = before.rstrip(" :")
    last = " ".join(sentences(found.spoken[-800:])[-2:])
    return Stated(
        text,
        found.marked,
        _doubt(found, raw, text, before, after, start),
        _rival(found, start, after),
        after[:LONGEST],
        found.spoken,
        plain(last),
        gives_up(raw) or gives_up(last),
    )


def _place(found: Statement) -> tuple[int, str]:
    """The start of a statement in the spoken text, and the text after it."""
    spoken = found.spoken
    if found.boxed:
        inner = found.boxed.rpartition("; ")[2]
        at = max(0, spoken.rfind("\\boxed", 0, max(0, spoken.rfind(inner))))
        first = spoken.find("\\boxed", max(0, len(spoken) - len(found.block)))
        end = spoken.find(inner, at) + len(inner)
        return (first if first >= 0 else at), spoken[end:].lstrip("})$*\\] ")
    if found.marked:
        begin = len(spoken) - len(found.block)
        at = spoken.find(found.text.split("\n", 1)[0], begin)
        return begin, spoken[max(at, begin) + len(found.text) :]
    begin = max(0, spoken.rfind(found.text))
    return begin, spoken[begin + len(found.text) :]


def _whole(found: Statement, start: int, after: str) -> str:
    """The statement, extended if it was cut at the period of an abbreviation ("St. Louis")."""
    text = found.text
    if found.marked:
        listed = _LISTED.match(found.block)
        if listed:
            return found.block[: LONGEST // 4].strip().split("\n", 1)[0]
        for _ in range(4):
            if not (_ABBREVIATED.search(text[-20:]) and after[:2] in (". ", ".\t")):
                break
            end = _END.search(after, 2)
            cut = end.start() if end else len(after)
            text, after = text + after[:cut], after[cut:]
        return text
    for _ in range(4):
        before = found.spoken[max(0, start - 300) : start].rpartition("\n")[2]
        if not _ABBREVIATED.search(before.rstrip().removesuffix(".")[-20:]):
            break
        if not before.rstrip().endswith("."):
            break
        ends = [each.end() for each in _END.finditer(before.rstrip()[:-1])]
        head = before[ends[-1] if ends else 0 :]
        text, start = head.lstrip() + text, start - len(head)
    return text


def _doubt(found: Statement, raw: str, text: str, before: str, after: str, start: int) -> str:
    """Why a statement may not be the final answer."""
    if found.revised or (found.marked and retracts(plain(after))):
        return TAKEN_BACK
    if len(raw) > LONGEST:
        return "too long"
    asks = after.lstrip(' *)"”')[:1] in ("?", "？") or text.endswith("?")
    table = (
        (asks, "a question"),
        (found.boxed and _GOES_ON.match(after), "continues after the box"),
        (found.boxed and _BEFORE_BOX.search(found.spoken[max(0, start - 20) : start]), "part"),
        (found.marked and REPORTED.search(before), "conditional, or reported from others"),
        (found.marked and _DENIED_BEFORE.search(before), "denied"),
        (_HEDGE.search(text) or _HEDGE.search(before), "hedged"),
        (_OPENS_AGAIN.match(plain(after[:200]).lstrip(" .,;:)!。，；")), "reopened"),
        (_STILL_OPEN.search(after[:LONGEST].replace("’", "'")), "left open"),
        (is_struck(raw), "struck through"),
    )
    return next((rule for holds, rule in table if holds), "")


def _rival(found: Statement, start: int, after: str) -> str:
    """Another final answer: on the line before, or as the conclusion of the text after it."""
    if not found.marked:
        return ""
    lines = [line for line in found.spoken[max(0, start - 600) : start].split("\n") if line.strip()]
    near = lines[-2:] if len(lines) > 1 else lines
    for line in reversed(near):
        said = find_statement(line) if _LABELLED_LINE.search(line) else None
        if said and said.marked and not said.revised:
            return line
    below = [line for line in after[:LONGEST].split("\n") if line.strip()][:3]
    for line in below:
        if _VALUE_ALONE.fullmatch(line):
            return line
    told = sentences(after[-LONGEST:])
    return told[-1] if told and _CONCLUDES.match(told[-1]) else ""
