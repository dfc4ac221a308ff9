"""Reading a chain of reasoning from a model's free text, by rules, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from lmms_rpts.reasoning.answer_lines import is_answer_line
from lmms_rpts.reasoning.clues import Clue, Language, ReasoningChain
from lmms_rpts.reasoning.mentions import CHINESE_NUMBERS, Mention, find_mentions, fold_width
from lmms_rpts.reasoning.parsing import RawStep, is_bare_step, parse_raw_step, resolve_labels

Style = Literal["steps", "numbered", "sentences", "none"]

_LINE_START = re.compile(r"[ \t]{0,20}(?:>[ \t]?|[-*•·+][ \t]+|#{1,6}[ \t]+){1,4}")
# Marks of emphasis around words, but not the signs of 2*3, 2**3 or a_b.
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
# Steps that run on in one line.
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
# "from Image 0 the clock shows nine" lists what it rests on, "since Image 0 shows a clock and
# Text 1 ..., ..." is a clause that cites clues on its way.
_LISTING = (
    "from|based on|according to|using|combining|per|by|根据|依据|由(?!于)|从|基于|结合|综合|按照"
)
_CLAUSAL = (
    "given|considering|since|because of|as shown in|as stated in|in view of|looking at|with|in"
    "|由于|通过|鉴于|参考|观察|如"
)
_LEAD_WORDS = re.compile(
    rf"[ \t\u3000,，:：]{{0,8}}(?:我们)?(?:(?P<listing>{_LISTING})|{_CLAUSAL})"
    r"[ \t\u3000:：]{0,4}(?:both |the )?",
    re.IGNORECASE,
)
_ASIDE = r"(?:[ \t]{0,4}[（(][^()（）\n]{0,80}[)）])?"
_BETWEEN = re.compile(
    _ASIDE + r"[\s,，、/&+;；]*(?:and|with|as well as|和|与|及|以及|还有)?[\s,，、+]*(?:the )?",
    re.IGNORECASE,
)
_AFTER_LEAD = re.compile(
    _ASIDE + r"[\s,，:：;；.。)）\-—–]{0,8}(?:(?:we|one|you|I) (?:can )?"
    r"(?:see|know|infer|conclude|deduce|learn|find|tell)s?(?: that)?"
    r"|it (?:follows|is clear) that|可以?(?:得知|知道|推出|得出|看出|得到)|可[知得见]|得[出知到]"
    r"|我们知道"
    r"|能够?(?:得出|知道|看出))?[\s,，:：]{0,4}",
    re.IGNORECASE,
)
_THEREFORE = re.compile(
    r"[\s*_]{0,8}(?:(?:therefore|thus|hence|so|consequently|as a result|it follows|this means"
    r"|that means|accordingly|in conclusion)(?![A-Za-z])"
    r"|因此|所以|故(?![事意障乡])|综上|由此|可见|那么|于是|这(?:意味着|说明))",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")
_JUST_A_COMMA = re.compile(r"[\s,，]{1,8}(?:the )?", re.IGNORECASE)
_LIST_GOES_ON = re.compile(
    r"[ \t]{0,4}(?:[,，、:：;；.。)）/&+(（]|and\b|as well as\b|$|和|与|及|以及|还有|可|得|能)"
    r"|[ \t]{0,4}(?:we|one|you|I|it) "
    r"(?:can|see|know|infer|conclude|deduce|learn|find|follows|is)",
    re.IGNORECASE,
)
_NUMBERS_LEFT = re.compile(r"\d{1,6} ?(?:,|，|and\b|和|、) ?(?:and )?\d|(?:and|和|与) ?\d", re.I)
_SAYS_NOTHING = re.compile(r"[\W\d_]*")
_PREAMBLE_BELOW = 200
_NO_REASONING_BELOW = 120
_HEADING_BELOW = 60


@dataclass(frozen=True, slots=True)
class Extraction:
    """A chain read by rules, and how.

    ``style`` says how the text was written: ``steps`` (arrows, or "Conclusion k: from ..."),
    ``numbered``, ``sentences`` that cite clues, or ``none``. ``clean`` is true where the text
    follows our step format, every step lists its premises and nothing stands beside the steps:
    nothing had to be guessed, nothing was left out.
    """

    chain: ReasoningChain
    style: Style
    clean: bool


@dataclass
class _Block:
    kind: Literal["arrow", "labelled", "numbered"]
    label: int | None
    lines: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether an empty line ends it: a numbered heading still waits for its text."""
        written = self.lines[:4]
        return (
            self.kind != "numbered" or len(written) > 3 or len("".join(written)) >= _HEADING_BELOW
        )


def extract_chain(text: str, language: Language = "en") -> Extraction:
    """Read steps and their premises from free text; total and linear in its length."""
    text = _RUN_ON.sub("\n", fold_width(text))
    blocks, stray = _blocks(text)
    style: Style = "steps"
    chosen = [block for block in blocks if block.kind != "numbered"]
    if not chosen:
        style, chosen = "numbered", blocks
    read = [each for each in map(_read_block, chosen) if each is not None]
    raw = _link([step for step, _ in read])
    left_out = 0
    if not any(step.premises for step in raw):
        sentences = list(_sentence_steps(text))
        style, raw = "sentences", _link([step for step in sentences if step is not None])
        left_out = sentences.count(None)
    steps, problems = resolve_labels(raw)
    if steps and left_out:
        problems.append(f"{left_out} sentences that cite no clue are left out")
    whole = not stray and len(chosen) == len(blocks) == len(read)
    clean = style == "steps" and bool(steps) and whole and all(exact for _, exact in read)
    return Extraction(
        ReasoningChain(steps, language, tuple(problems)), style if steps else "none", clean
    )


def holds_reasoning(text: str) -> bool:
    """Whether a text reasons at all, rather than only stating an answer."""
    said = "\n".join(line for line in text.splitlines() if not is_answer_line(line))
    return len(said.strip()) >= _NO_REASONING_BELOW or bool(extract_chain(said).chain.steps)


def _blocks(text: str) -> tuple[list[_Block], bool]:
    """The steps of a text as they stand, and whether it says something beside them."""
    blocks: list[_Block] = []
    open_, stray = False, False
    for line in map(_undecorated, text.splitlines()):
        started = _start_block(line)
        if started:
            blocks.append(started)
            open_ = True
        elif is_answer_line(line) or (not line.strip() and blocks and blocks[-1].is_complete):
            open_ = False
        elif open_ and line.strip():
            blocks[-1].lines.append(line.strip())
        elif not open_ and not _SAYS_NOTHING.fullmatch(line):
            # Some words of introduction are no reasoning; words between or after steps may be.
            stray = stray or bool(blocks) or len(line) > _PREAMBLE_BELOW or bool(_cited(line))
    return blocks, stray


def _undecorated(line: str) -> str:
    start = _LINE_START.match(line)
    line = _EMPHASIS.sub(
        lambda found: next(group for group in found.groups() if group is not None),
        line[start.end() :] if start else line,
    )
    return _OPEN_EMPHASIS.sub("", line, count=1) if line[:1] in "*_" else line


def _cited(text: str) -> list[Mention]:
    return [mention for mention in find_mentions(text) if not _is_prose(mention)]


def _start_block(line: str) -> _Block | None:
    if is_answer_line(line):
        return None
    if is_bare_step(line):
        return _Block("arrow", None, [line])
    numbered = _NUMBERED.match(line)
    rest = line[numbered.end() :] if numbered else line
    labelled = _LABELLED.match(rest)
    if labelled:
        said = rest[labelled.end() :]
        aside = labelled["aside"]
        if aside and find_mentions(aside):
            said = f"{aside}: {said}"
        return _Block("labelled", int(labelled["number"]), [said])
    if numbered is None:
        return None
    written = numbered["step"] or numbered["ordinal"] or numbered["bracket"] or numbered["plain"]
    return _Block("numbered", CHINESE_NUMBERS.get(written) or int(written), [rest])


def _read_block(block: _Block) -> tuple[RawStep, bool] | None:
    """The step of a block, and whether its premises were listed and not gathered."""
    if block.kind == "arrow":
        step = parse_raw_step(" ".join(block.lines))
        if step is None:
            return None
        return RawStep(step.label, step.premises, step.conclusion.strip()), True
    content = " ".join(line for line in block.lines if line).strip()
    if not content:
        return None
    premises, conclusion, listed = _read_content(content)
    return RawStep(block.label, premises, conclusion), listed


def _read_content(content: str) -> tuple[tuple[Clue, ...], str, bool]:
    """Premises and conclusion of the text of one step, and whether the premises were listed."""
    mentions = _cited(content)
    lead = _LEAD_WORDS.match(content)
    if lead:
        led, end = _lead_list(content, lead.end(), mentions)
        after = _AFTER_LEAD.match(content, end)
        rest = after.end() if after else end
        conclusion = content[rest:].strip()
        ends_there = content[end:rest].strip() != "" or lead["listing"]
        if led and conclusion and ends_there:
            listed = _distinct(led)
            return listed, conclusion, _is_settled(listed, mentions, conclusion)
    return _distinct(mentions), content, False


def _is_settled(listed: tuple[Clue, ...], mentions: list[Mention], conclusion: str) -> bool:
    """Whether a listing leaves no doubt: what the model lists is its own claim, but a clue that it
    names later, numbers that may belong to the list, or a colon with nothing behind it are signs
    that more was meant."""
    numbered = {mention.clue for mention in mentions if mention.clue.index is not None}
    return (
        numbered <= set(listed)
        and not _NUMBERS_LEFT.match(conclusion)
        and not conclusion.endswith((":", "："))
    )


def _lead_list(content: str, position: int, mentions: list[Mention]) -> tuple[list[Mention], int]:
    """The mentions that stand one after the other from ``position`` on, and where they end."""
    led: list[Mention] = []
    for mention in mentions:
        if led and mention.start == led[-1].start:
            led.append(mention)
            continue
        gap = _BETWEEN.match(content, position)
        end = gap.end() if gap else position
        if end != mention.start:
            break
        # "from Image 0, Text 1 does not apply": behind a mere comma a subject may stand.
        mere_comma = led and _JUST_A_COMMA.fullmatch(content, position, end)
        if mere_comma and not _LIST_GOES_ON.match(content, mention.end):
            break
        led.append(mention)
        position = mention.end
    return led, position


def _is_prose(mention: Mention) -> bool:
    unnumbered = mention.clue.index is None
    return mention.weak or (unnumbered and mention.clue.kind == "conclusion")


def _distinct(mentions: list[Mention]) -> tuple[Clue, ...]:
    return tuple(dict.fromkeys(mention.clue for mention in mentions))


def _link(raw: list[RawStep]) -> list[RawStep]:
    """Let a step that names nothing but says "therefore" rest on the step before it."""
    linked: list[RawStep] = []
    label = -1
    for step in raw:
        if not step.premises and linked and _THEREFORE.match(step.conclusion):
            step = RawStep(step.label, (Clue("conclusion", label),), step.conclusion)
        label = label + 1 if step.label is None else step.label
        linked.append(step)
    return linked


def _sentence_steps(text: str) -> Iterator[RawStep | None]:
    """Each sentence that cites clues or draws a conclusion; None for each other one."""
    for part in _SENTENCE_END.split(text):
        sentence = _undecorated(part).strip()
        if not sentence or is_answer_line(sentence):
            continue
        premises, conclusion, _ = _read_content(sentence)
        if premises or _THEREFORE.match(sentence):
            yield RawStep(None, premises, conclusion)
        else:
            yield None
