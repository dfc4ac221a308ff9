"""Parser of references to clues ("Image 0", "文本1", "Conclusions 0 and 2").

All patterns are bounded, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lmms_rpts.reasoning.clues import Clue, ClueKind

# re.IGNORECASE lets three letters beyond ASCII match ASCII letters: "(İmage 0)", "concluſion",
# "dısagree". str.lower keeps them, or turns one into two characters, so a look-up would fail.
_ASCII = str.maketrans({"ſ": "s", "İ": "i", "ı": "i"})


def lower(text: str) -> str:
    """Lower-case ``text`` with the ASCII equivalences of ``re.IGNORECASE``; same length."""
    return text.translate(_ASCII).lower()


# Maximum digits of a number; longer ones are cut, since Python can't convert very long ones.
MAX_DIGITS = 1000

# The longest range ("Text 0-5") that is expanded.
MAX_RANGE = 64

# Maximum number of references that the ranges of one text expand to.
MAX_SPELLED_OUT = 1000

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


_FULL_WIDTH = {0xFF01 + k: 0x21 + k for k in range(0x5E) if chr(0x21 + k).isalnum()}
_FULL_WIDTH |= {ord(wide): ord(narrow) for wide, narrow in zip("－＞＝＋", "->=+", strict=True)}


def fold_width(text: str) -> str:
    """Convert full-width letters, digits and arrows to ASCII; positions do not change."""
    return text.translate(_FULL_WIDTH)


@dataclass(frozen=True, slots=True)
class Mention:
    """A clue that the text names, and its position ``text[start:end]``.

    ``weak`` marks a word of ordinary prose without a number ("the next step").
    """

    clue: Clue
    start: int
    end: int
    weak: bool = False


def find_mentions(text: str) -> list[Mention]:
    """All references to clues in ``text``, from left to right; never raises."""
    found = [*_numbered(text), *_ordinals(text)]
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    reach = -1
    for mention in found:
        # Mentions in one list share a span; a mention inside an earlier span is part of it.
        if mention.start >= reach or (kept and mention.start == kept[-1].start):
            kept.append(mention)
            reach = max(reach, mention.end)
    return kept


def has_chinese_label(text: str) -> bool:
    """Whether the first reference in ``text`` has a Chinese label."""
    match = _MENTION.search(text)
    return match is not None and not lower(match["word"]).isascii()


def _lists(text: str) -> Iterator[tuple[re.Match[str], list[re.Match[str]]]]:
    """The words for clues, each with its number, if any, and the further numbers of its list."""
    position = 0
    while match := _MENTION.search(text, position):
        position, more = match.end(), []
        following = _MORE_AFTER_PLURAL if match["plural"] else _MORE
        while match["number"] is not None and (found := following.match(text, position)):
            more.append(found)
            position = found.end()
        yield match, more


def _numbered(text: str) -> Iterator[Mention]:
    spelled_out = 0
    for match, more in _lists(text):
        word = lower(match["word"])
        kind = _WORDS[word]
        if match["number"] is None:
            yield Mention(Clue(kind), *match.span(), word in _WEAK)
            continue
        numbers = [int(match["number"])]
        for each in more:
            ranged = each["range"] is not None and spelled_out < MAX_SPELLED_OUT
            last, number = numbers[-1], int(each["number"])
            spelled = ranged and last < number <= last + MAX_RANGE
            continued = range(last + 1, number + 1) if spelled else [number]
            numbers.extend(continued)
            spelled_out += len(continued) if ranged else 0
        end = (more[-1] if more else match).end()
        for number in numbers:
            yield Mention(Clue(kind, number), match.start(), end)


def _ordinals(text: str) -> Iterator[Mention]:
    for match in _ORDINAL.finditer(text):
        if match["step"] or match["step_number"]:
            number = CHINESE_NUMBERS.get(match["step"]) or int(match["step_number"])
            clue = Clue("conclusion", number)
        elif match["en"]:
            clue = Clue("image", _WORD_ORDINALS[lower(match["en"])])
        else:
            clue = Clue("image", CHINESE_NUMBERS[match["zh"]] - 1)
        yield Mention(clue, match.start(), match.end())
