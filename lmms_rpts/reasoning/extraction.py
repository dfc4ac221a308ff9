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

_DECORATION = re.compile(r"[*_`#]{1,8}|^[ \t]{0,20}(?:>[ \t]?|[-•·+][ \t]+){1,4}")
_LABELLED = re.compile(
    r"[ \t\u3000]{0,20}(?:conclusion|结论|推论)[ \t]{0,4}(?P<number>\d{1,9})"
    r"[ \t]{0,4}(?:[（(](?P<aside>[^()（）\n]{0,200})[)）][ \t]{0,4})?[:：.)）、—-]",
    re.IGNORECASE,
)
# Steps that run on in one line.
_RUN_ON = re.compile(
    r"(?<=[.;。；])[ \t]{0,8}(?=[*_]{0,3}(?:conclusion|结论)[ \t]{0,4}\d{1,9}[ \t]{0,4}[:：])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"[ \t\u3000]{0,20}(?:(?:step|步骤)[ \t]{0,4}(?P<step>\d{1,9})[ \t]{0,4}[:：.)）、,，—-]?"
    r"|第[ \t]{0,2}(?P<ordinal>[一二三四五六七八九十]|\d{1,4})[ \t]{0,2}步[:：,，、]?"
    r"|[（(](?P<bracket>\d{1,4})[)）]|(?P<plain>\d{1,4})(?:[.)）](?!\d)|[、:：]))",
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
    r"[\s*_]{0,8}(?:therefore|thus|hence|so|consequently|as a result|it follows|this means"
    r"|that means|accordingly|in conclusion"
    r"|因此|所以|故|综上|由此|可见|那么|于是|这(?:意味着|说明))",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")
_NO_REASONING_BELOW = 120
_HEADING_BELOW = 60


@dataclass(frozen=True, slots=True)
class Extraction:
    """A chain read by rules, and how.

    ``style`` says how the text was written: ``steps`` (arrows, or "Conclusion k: from ..."),
    ``numbered``, ``sentences`` that cite clues, or ``none``. ``clean`` is true where the text
    follows our step format and every step lists its premises: nothing had to be guessed.
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
    blocks = list(_blocks(text))
    style: Style = "steps"
    chosen = [block for block in blocks if block.kind != "numbered"]
    if not chosen:
        style, chosen = "numbered", blocks
    read = [each for each in map(_read_block, chosen) if each is not None]
    raw = _link([step for step, _ in read])
    if not any(step.premises for step in raw):
        style, raw = "sentences", _link(list(_sentence_steps(text)))
    steps, problems = resolve_labels(raw)
    clean = style == "steps" and bool(steps) and all(exact for _, exact in read)
    return Extraction(
        ReasoningChain(steps, language, tuple(problems)), style if steps else "none", clean
    )


def holds_reasoning(text: str) -> bool:
    """Whether a text reasons at all, rather than only stating an answer."""
    said = "\n".join(line for line in text.splitlines() if not is_answer_line(line))
    return len(said.strip()) >= _NO_REASONING_BELOW or bool(extract_chain(said).chain.steps)


def _blocks(text: str) -> Iterator[_Block]:
    current: _Block | None = None
    for line in text.splitlines():
        line = _DECORATION.sub("", line)
        started = _start_block(line)
        if started:
            if current:
                yield current
            current = started
        elif current is None:
            continue
        elif is_answer_line(line) or (not line.strip() and current.is_complete):
            yield current
            current = None
        elif line.strip():
            current.lines.append(line.strip())
    if current:
        yield current


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
    mentions = [mention for mention in find_mentions(content) if not _is_prose(mention)]
    lead = _LEAD_WORDS.match(content)
    if lead:
        led, end = _lead_list(content, lead.end(), mentions)
        after = _AFTER_LEAD.match(content, end)
        rest = after.end() if after else end
        conclusion = content[rest:].strip()
        ends_there = content[end:rest].strip() != "" or lead["listing"]
        if led and conclusion and ends_there:
            # What the model lists is its own claim; a clue named later makes it doubtful.
            listed = _distinct(led)
            return listed, conclusion, set(_distinct(mentions)) <= set(listed)
    return _distinct(mentions), content, False


def _lead_list(content: str, position: int, mentions: list[Mention]) -> tuple[list[Mention], int]:
    """The mentions that stand one after the other from ``position`` on, and where they end."""
    led: list[Mention] = []
    for mention in mentions:
        if led and mention.start == led[-1].start:
            led.append(mention)
            continue
        gap = _BETWEEN.match(content, position)
        if (gap.end() if gap else position) != mention.start:
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


def _sentence_steps(text: str) -> Iterator[RawStep]:
    for part in _SENTENCE_END.split(text):
        sentence = _DECORATION.sub("", part).strip()
        if not sentence or is_answer_line(sentence):
            continue
        premises, conclusion, _ = _read_content(sentence)
        if premises or _THEREFORE.match(sentence):
            yield RawStep(None, premises, conclusion)
