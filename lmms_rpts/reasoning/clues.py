"""Chains of reasoning: references to clues in text, and the form ``premise -> Conclusion k: text``.

All patterns are bounded, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from lmms_rpts.base.escaping import lower

ClueKind = Literal["image", "text", "conclusion", "context"]
Language = Literal["en", "zh"]

KINDS: tuple[ClueKind, ...] = get_args(ClueKind)
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z]{2,}")


def language_of(text: str) -> Language:
    """``zh`` if Chinese script prevails at the beginning of a text, else ``en``."""
    text = text[:4000]
    # One English word corresponds to one or two Chinese characters.
    return "zh" if len(_HAN.findall(text)) > 1.5 * len(_WORD.findall(text)) else "en"


Evidence = Literal["facts", "image", "both"]
"""What claims about images are judged against: conclusions of the gold reasoning, or the image."""
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


class Clue(NamedTuple):
    """A piece of evidence that a step may cite; ``index`` counts from 0, None: without a number."""

    kind: ClueKind
    index: int | None = None  # type: ignore[assignment]  # tuple.index is not used


@dataclass(frozen=True, slots=True)
class Step:
    """One inference: the cited ``premises`` and the ``conclusion`` drawn from them."""

    premises: tuple[Clue, ...]
    conclusion: str


@dataclass(frozen=True, slots=True)
class ReasoningChain:
    """The steps of an argument, in order.

    A premise ``Clue("conclusion", k)`` cites ``steps[k]``; it is valid only from a later step.
    ``language`` is that of the labels when the chain is written out; ``problems`` are messages
    about text that could not be parsed.
    """

    steps: tuple[Step, ...]
    language: Language = "en"
    problems: tuple[str, ...] = field(default=(), compare=False)


# --- references in text

# Digits of a number; longer ones are cut, since Python can't convert very long ones.
MAX_DIGITS = 1000
# The longest range ("Text 0-5") that is expanded.
MAX_RANGE = 64

_NAMED: dict[ClueKind, str] = {
    "image": "image|picture|figure|photo|visual clue|图片|图像|图|视觉线索",
    "text": "text|text clue|textual clue|clue|文本|文本线索|文字线索|线索",
    "conclusion": "conclusion|step|inference|结论|步骤|推论",
    "context": "context|background|上下文|背景|情境",
}
_WORDS = {word: kind for kind, words in _NAMED.items() for word in words.split("|")}
# These words are common in prose: without a number they are not a reference.
_WEAK = {"figure", "photo", "clue", "step", "inference", "图", "线索", "步骤", "推论", "背景"}
_WEAK |= {"background", "picture"}

_GAP = r"[ \t\u3000]{0,4}"
_ALTERNATIVES = "|".join(sorted((re.escape(word) for word in _WORDS), key=len, reverse=True))
_MENTION = re.compile(
    rf"(?<![A-Za-z])(?P<word>{_ALTERNATIVES})(?P<plural>s?)(?![A-Za-rt-z])"
    rf"(?:{_GAP}[#№(（\[【]?{_GAP}(?P<number>\d{{1,{MAX_DIGITS}}})(?![.,]\d)\d*{_GAP}[)）\]】]?)?",
    re.IGNORECASE,
)
# 图片0和3个苹果: the 3 counts apples
_MEASURES = (
    "个张只点元岁天年月日号次人条分小米千百万度块本台辆位种件公厘斤克升时秒名盒杯颗楼路届瓶%％"
)
_AND = rf"{_GAP}(?:/|、|&|\band\b|\bor\b|和|与|及){_GAP}"
_RANGE_MARK = rf"{_GAP}(?:-|–|—|~|～|\bto\b|\bthrough\b|至|到){_GAP}"
# the 1 of "Images 0 and 1"; not of 1.5 or 1:30
_NUMBER = r"(?P<number>\d{1,6})(?!\d|[.,:：]\d)"
# "Image 0 and 3 apples" and 图片0和3个苹果 are not lists, "Images 0 and 1 differ" is one.
_MORE = re.compile(
    rf"(?:(?P<range>{_RANGE_MARK})|{_AND}){_NUMBER}(?!{_GAP}(?:[A-Za-z%°]|[{_MEASURES}]))",
    re.IGNORECASE,
)
# After a comma a number belongs to the list only if the list continues or ends after it.
_MORE_AFTER_PLURAL = re.compile(
    rf"(?:(?P<range>{_RANGE_MARK})|{_AND}|(?P<comma>{_GAP}[,，]{_GAP}(?:\band\b{_GAP})?)){_NUMBER}"
    rf"(?(comma)(?={_GAP}(?:[,，.。;；:：)）/&+]|\band\b|$)))",
    re.IGNORECASE,
)
_WORD_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}
# Chinese numerals of steps: 第一步 is step 1, like "Step 1".
CHINESE_NUMBERS = {digit: number for number, digit in enumerate("一二三四五六七八九十", start=1)}

# "the first image", 第二张图, 第一步
_ORDINAL = re.compile(
    rf"\b(?P<en>{'|'.join(_WORD_ORDINALS)}) (?P<en_word>image|picture|photo|figure)\b"
    rf"|第(?P<zh>[一二三四五六])(?:张|幅|个)?(?P<zh_word>图片|图像|图)"
    rf"|第{_GAP}(?:(?P<step>[一二三四五六七八九十])|(?P<step_number>\d{{1,4}})){_GAP}步(?!骤)",
    re.IGNORECASE,
)


FULL_WIDTH = {0xFF01 + k: 0x21 + k for k in range(0x5E) if chr(0x21 + k).isalnum()}
FULL_WIDTH |= {ord(wide): ord(narrow) for wide, narrow in zip("－＞＝＋", "->=+", strict=True)}
"""Full-width letters, digits and arrows to ASCII, for ``str.translate``; positions stay."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A clue named at ``text[start:end]``; ``weak``: by a word of prose, as in "the next step"."""

    clue: Clue
    start: int
    end: int
    weak: bool = False


def find_mentions(text: str) -> list[Mention]:
    """All references to clues in ``text``, from left to right; never raises."""
    found: list[Mention] = []
    position = 0
    # The words for clues, with the numbers that follow them
    while match := _MENTION.search(text, position):
        position, word = match.end(), lower(match["word"])
        kind = _WORDS[word]
        if match["number"] is None:
            found.append(Mention(Clue(kind), *match.span(), word in _WEAK))
            continue
        numbers = [int(match["number"])]
        more = _MORE_AFTER_PLURAL if match["plural"] else _MORE
        while following := more.match(text, position):
            position = following.end()
            last, number = numbers[-1], int(following["number"])
            ranged = following["range"] is not None and last < number <= last + MAX_RANGE
            numbers.extend(range(last + 1, number + 1) if ranged else [number])
        found += (Mention(Clue(kind, number), match.start(), position) for number in numbers)
    for match in _ORDINAL.finditer(text):
        if match["step"] or match["step_number"]:
            number = CHINESE_NUMBERS.get(match["step"]) or int(match["step_number"])
            clue = Clue("conclusion", number)
        elif match["en"]:
            clue = Clue("image", _WORD_ORDINALS[lower(match["en"])])
        else:
            clue = Clue("image", CHINESE_NUMBERS[match["zh"]] - 1)
        found.append(Mention(clue, match.start(), match.end()))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    reach = -1
    for mention in found:
        # Mentions in one list share a span; a mention inside an earlier span is part of it.
        if mention.start >= reach or (kept and mention.start == kept[-1].start):
            kept.append(mention)
            reach = max(reach, mention.end)
    return kept


# --- chains in lines

# ->, -->, =>, →
ARROW = re.compile(r"[-－—–=＝]{1,3}[>＞]|[→⇒⟶⟹➔➜➡]")
_OPEN, _CLOSE = r"[*_`\[(（【]{1,3}", r"[*_`\])）】]{1,4}"
# A list number or bullet may precede a label: "2) Conclusion 1: Image 0 -> ...".
_LISTED = r"(?:(?:[-*•]|[（(]?\d{1,4}[.)）、])[ \t\u3000]{1,4})?"
# "Conclusion 1:", "2) **Step 3**:", 结论0：
_LABEL = re.compile(
    rf"[ \t\u3000]{{0,8}}{_LISTED}(?P<open>{_OPEN})?"
    r"(?:(?:conclusion|结论)[ \t\u3000]{0,4}(?P<number>\d*)"
    r"|(?:step|步骤)[ \t\u3000]{0,4}(?P<step>\d+))"
    rf"(?(open)(?:{_CLOSE})?)[ \t\u3000]{{0,4}}[:：](?(open)(?:{_CLOSE})?)",
    re.IGNORECASE,
)
_HEAD_NOISE = re.compile(
    r"[\s+,;&/|#*_`~.:()\[\]{}<>\-0-9、，；。：（）【】•]|\band\b|\bfrom\b|[和与及由从]", re.I
)
_SHOWN = 80

_LABELS: dict[Language, dict[ClueKind, str]] = {
    "en": {"image": "Image", "text": "Text", "conclusion": "Conclusion", "context": "Context"},
    "zh": {"image": "图片", "text": "文本", "conclusion": "结论", "context": "上下文"},
}


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step as written: references by labels, and the conclusion's own label, if it has one."""

    label: int | None
    premises: tuple[Clue, ...]
    conclusion: str


def parse_chain(lines: Iterable[str] | str, language: Language | None = None) -> ReasoningChain:
    """Parse a chain of steps; no text raises an exception.

    The chain has references by position. A conclusion without a label gets the previous number plus
    one. A reference to a missing label becomes an index beyond the last step, so that it never
    matches a step by accident. Such references, and lines that are not steps, are in ``problems``.

    Args:
        lines: one step per item, or one string with one step per line.
        language: None: detected from the labels.
    """
    items = re.split(r"\r\n|\r|\n", lines) if isinstance(lines, str) else list(lines)
    raw: list[RawStep] = []
    problems: list[str] = []
    for number, line in enumerate(items):
        step, problem = parse_step(line)
        if step is not None:
            raw.append(step)
        if problem:
            problems.append(f"line {number}: {problem}")
    if language is None:
        labels = (_MENTION.search(line) for line in items if ARROW.search(line))
        chinese = any(label and not lower(label["word"]).isascii() for label in labels)
        language = "zh" if chinese else "en"
    steps, unresolved = resolve_labels(raw)
    return ReasoningChain(steps, language, tuple(problems + unresolved))


def format_chain(chain: ReasoningChain) -> list[str]:
    """Format a chain, one step per line; ``parse_chain`` parses it to the same chain."""
    labels, lines = _LABELS[chain.language], []
    for k, step in enumerate(chain.steps):
        cited = [f"{labels[each.kind]}{'' if each.index is None else each.index}"
                 for each in step.premises]  # fmt: skip
        lines.append(f"{' + '.join(cited)} -> {labels['conclusion']}{k}:{step.conclusion}")
    return lines


def resolve_labels(raw: Sequence[RawStep]) -> tuple[tuple[Step, ...], list[str]]:
    """Convert references by label to references by position; see ``parse_chain``.

    If a label occurs more than once, the nearest step before the reference counts.
    """
    positions: dict[int, list[int]] = defaultdict(list)
    problems: list[str] = []
    label = -1
    for position, step in enumerate(raw):
        label = label + 1 if step.label is None else step.label
        if label in positions:
            problems.append(f"step {position}: label {_shown(label)} occurs more than once")
        positions[label].append(position)

    steps = []
    for at, step in enumerate(raw):
        premises = []
        for clue in step.premises:
            if clue.kind == "conclusion" and clue.index is not None:
                index = clue.index
                if defined := positions.get(index):
                    before = bisect_left(defined, at)
                    clue = Clue("conclusion", defined[before - 1] if before else defined[0])
                else:
                    problems.append(
                        f"step {at}: cites conclusion {_shown(index)}, which no step has"
                    )
                    clue = Clue("conclusion", index if index >= len(raw) else index + len(raw))
            premises.append(clue)
        steps.append(Step(tuple(premises), step.conclusion))
    return tuple(steps), problems


def read_label(text: str) -> tuple[int | None, int] | None:
    """The label at the beginning of ``text``: its number, if any, and its end."""
    match = _LABEL.match(text)
    if match is None:
        return None
    digits = match["number"] or match["step"] or ""
    return (int(digits[:MAX_DIGITS]) if digits else None), match.end()


def is_bare_step(line: str) -> bool:
    """Whether a line has an arrow with only premises, and perhaps a label, before it."""
    if ARROW.search(line) is None:
        return False
    step, problem = parse_step(line)
    return step is not None and problem is None and bool(step.premises)


def parse_step(line: str) -> tuple[RawStep | None, str | None]:
    """The step of a line with an arrow, and what could not be read of the line."""
    arrow = ARROW.search(line)
    if arrow is None:
        return None, f"no arrow in {_shown(line.strip())}" if line.strip() else None
    head, tail = line[: arrow.start()], line[arrow.end() :]
    at_head, at_tail = read_label(head), read_label(tail)
    head, tail = head[at_head[1] :] if at_head else head, tail[at_tail[1] :] if at_tail else tail
    text = unicodedata.normalize("NFKC", head)
    premises: list[Clue] = []
    rest: list[str] = []
    end = 0
    for mention in find_mentions(text):
        premises.append(mention.clue)
        rest.append(text[end : mention.start])
        end = max(end, mention.end)
    unread = _HEAD_NOISE.sub("", " ".join([*rest, text[end:]])).strip()
    problem = f"could not read {_shown(unread)} among the premises" if unread else None
    label = (at_tail or at_head or (None, 0))[0]
    return RawStep(label, tuple(premises), tail), problem


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
