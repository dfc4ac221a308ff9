"""Segmentation of a response into steps: labelled, numbered, or written with arrows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from lmms_rpts.reasoning.answer_lines import IsAnswer, is_answer_line
from lmms_rpts.reasoning.mentions import CHINESE_NUMBERS, Mention, find_mentions, fold_width
from lmms_rpts.reasoning.parsing import is_bare_step

_LINE_START = re.compile(r"[ \t]{0,20}(?:>[ \t]?|[-*•·+][ \t]+|#{1,6}[ \t]+){1,4}")
# Marks of emphasis around words, but not the signs in 2*3, 2**3 or a_b.
_EMPHASIS = re.compile(
    r"(?<![\w*])\*\*(?=[^\s*])([^*\n]{1,300})(?<=[^\s*])\*\*(?![\w*])"
    r"|(?<![\w*])\*(?=[^\s*])([^*\n]{1,300})(?<=[^\s*])\*(?![\w*])"
    r"|(?<!\w)__(?=\S)([^_\n]{1,300})(?<=\S)__(?!\w)"
    r"|(?<!`)`([^`\n]{1,300})`(?!`)"
)
_OPEN_EMPHASIS = re.compile(r"[*_]{1,3}(?=(?:conclusion|step|结论|步骤|第)|\d)", re.IGNORECASE)
_LABELLED = re.compile(
    r"[ \t\u3000]{0,20}(?:conclusion|结论|推论)[ \t]{0,4}(?P<number>\d{1,9})"
    r"[ \t]{0,4}(?:[（(](?P<aside>[^()（）\n]{0,200})[)）][ \t]{0,4})?[:：.)）、—-]",
    re.IGNORECASE,
)
# Several steps on one line.
_RUN_ON = re.compile(
    r"(?<=[^\d\s][.;:,。；：，])[ \t]{0,8}"
    r"(?=[*_]{0,3}(?:conclusion|结论)[ \t]{0,4}\d{1,9}[ \t]{0,4}[:：])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"[ \t\u3000]{0,20}(?:(?:step|步骤)[ \t]{0,4}(?P<step>\d{1,9})[ \t]{0,4}[:：.)）、,，—-]?"
    r"|第[ \t]{0,2}(?P<ordinal>[一二三四五六七八九十]|\d{1,4})[ \t]{0,2}步[:：,，、]?"
    r"|[（(](?P<bracket>\d{1,4})[)）]|(?P<plain>\d{1,4})[.)）、:：](?!\d))",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(r"[\W\d_]*")
_FULL_STOPS = (".", "。", "!", "！", "?", "？")
_ANSWER_BELOW = 80
MAX_LINES = 5000
"""Number of lines of a response that are parsed."""
_HEADING_BELOW = 60


@dataclass
class Block:
    """The lines of one step, without its label."""

    kind: Literal["arrow", "labelled", "numbered"]
    label: int | None
    lines: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether an empty line ends the block; a numbered heading continues after it."""
        written = self.lines[:4]
        return (
            self.kind != "numbered" or len(written) > 3 or len("".join(written)) >= _HEADING_BELOW
        )


def find_blocks(text: str, is_answer: IsAnswer = is_answer_line) -> tuple[list[Block], bool]:
    """Find the steps of a text, and whether it has other content.

    ``is_answer`` recognizes the lines that state the final answer, which are not steps.
    """
    blocks: list[Block] = []
    lines = _RUN_ON.sub("\n", fold_width(text)).splitlines()
    open_, stray = False, len(lines) > MAX_LINES
    for line in map(undecorated, lines[:MAX_LINES]):
        if is_answer(line):
            open_ = False
            stray = stray or len(line) > _ANSWER_BELOW
        elif started := _start_block(line):
            blocks.append(started)
            open_ = True
        elif not line.strip() and blocks and blocks[-1].is_complete:
            open_ = False
        elif open_ and line.strip():
            # A line that continues after a full stop may be a separate step.
            stray = stray or blocks[-1].lines[-1].endswith(_FULL_STOPS)
            blocks[-1].lines.append(line.strip())
        elif not open_ and not _SAYS_NOTHING.fullmatch(line):
            # A short introduction is not reasoning; text between or after steps may be.
            heading = line.rstrip().endswith((":", "：")) or len(line) < _HEADING_BELOW
            stray = stray or bool(blocks) or not heading or bool(cited(line))
    return blocks, stray


def undecorated(line: str) -> str:
    """A line without the marks of lists, headings and emphasis."""
    start = _LINE_START.match(line)
    line = _EMPHASIS.sub(
        lambda found: next(group for group in found.groups() if group is not None),
        line[start.end() :] if start else line,
    )
    return _OPEN_EMPHASIS.sub("", line, count=1) if line[:1] in "*_" else line


def cited(text: str) -> list[Mention]:
    """The clues that a text cites; words that may be ordinary prose are ignored."""
    return [mention for mention in find_mentions(text) if not _is_prose(mention)]


def _start_block(line: str) -> Block | None:
    if is_bare_step(line):
        return Block("arrow", None, [line])
    numbered = _NUMBERED.match(line)
    rest = line[numbered.end() :] if numbered else line
    labelled = _LABELLED.match(rest)
    if labelled:
        said = rest[labelled.end() :]
        aside = labelled["aside"]
        if aside and find_mentions(aside):
            said = f"{aside}: {said}"
        return Block("labelled", int(labelled["number"]), [said])
    if numbered is None:
        return None
    written = numbered["step"] or numbered["ordinal"] or numbered["bracket"] or numbered["plain"]
    return Block("numbered", CHINESE_NUMBERS.get(written) or int(written), [rest])


def _is_prose(mention: Mention) -> bool:
    unnumbered = mention.clue.index is None
    return mention.weak or (unnumbered and mention.clue.kind == "conclusion")
