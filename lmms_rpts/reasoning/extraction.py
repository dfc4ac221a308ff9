"""Extraction of a chain of reasoning from free text, by rules, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from lmms_rpts.reasoning.answer_lines import CHAT_TOKEN, IsAnswer, is_answer_line
from lmms_rpts.reasoning.clues import (
    ARROW,
    CHINESE_NUMBERS,
    FULL_WIDTH,
    Clue,
    Language,
    Mention,
    RawStep,
    ReasoningChain,
    find_mentions,
    is_bare_step,
    parse_step,
    read_label,
    resolve_labels,
)

_LINE_START = re.compile(r"[ \t]{0,20}(?:>[ \t]?|[-*•·+][ \t]+|#{1,6}[ \t]+){1,4}")
# Marks of emphasis around words, but not the signs in 2*3, 2**3 or a_b; Chinese words have no
# spaces around them: "**结论0：**根据图片0"
_INSIDE = r"[^\W\u3400-\u9fff]|\*"
_EMPHASIS = re.compile(
    rf"(?<!{_INSIDE})\*\*(?=[^\s*])([^*\n]{{1,300}})(?<=[^\s*])\*\*(?!{_INSIDE})"
    rf"|(?<!{_INSIDE})\*(?=[^\s*])([^*\n]{{1,300}})(?<=[^\s*])\*(?!{_INSIDE})"
    r"|(?<!\w)__(?=\S)([^_\n]{1,300})(?<=\S)__(?!\w)"
    r"|(?<!`)`([^`\n]{1,300})`(?!`)"
)
# "<answer>Conclusion 0: ...", "</answer>"; and "agree<|im_end|>"
_WRAPPING = re.compile(rf"</?answer>|{CHAT_TOKEN.pattern}", re.IGNORECASE)
# "**Conclusion 1: ..." with an end in another line
_OPEN_EMPHASIS = re.compile(r"[*_]{1,3}(?=(?:conclusion|step|结论|步骤|第)|\d)", re.IGNORECASE)
# "Conclusion 1: ...", 结论1（根据图片0）：...
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
# "Step 1: ...", 第一步：..., "(2) ...", "3. ..."; but not "2.5 metres"
_NUMBERED = re.compile(
    r"[ \t\u3000]{0,20}(?:(?:step|步骤)[ \t]{0,4}(?P<step>\d{1,9})[ \t]{0,4}[:：.)）、,，—-]?"
    r"|第[ \t]{0,2}(?P<ordinal>[一二三四五六七八九十]|\d{1,4})[ \t]{0,2}步[:：,，、]?"
    r"|[（(](?P<bracket>\d{1,4})[)）]|(?P<plain>\d{1,4})[.)）、:：](?!\d))",
    re.IGNORECASE,
)
# Marks of CMMaTH's steps, behind each or in front of it
_STEP_MARK = re.compile(r"<STEP(\d{1,4})>", re.IGNORECASE)
# "---", "3.": lines without words
_SAYS_NOTHING = re.compile(r"[\W\d_]*")
_FULL_STOPS = (".", "。", "!", "！", "?", "？")
# A longer line with the answer also has reasoning that is left out
_ANSWER_BELOW = 80
# Number of lines of a response that are parsed.
MAX_LINES = 5000
# A short line without a clue before the steps introduces them
_HEADING_BELOW = 60


@dataclass
class Block:
    """The lines of one step, without its label."""

    kind: Literal["arrow", "labelled", "numbered"]
    label: int | None
    lines: list[str] = field(default_factory=list)


def find_blocks(text: str, is_answer: IsAnswer = is_answer_line) -> tuple[list[Block], bool]:
    """The steps of a text, without the lines that state the answer; whether it says more."""
    blocks: list[Block] = []
    lines = _RUN_ON.sub("\n", text.translate(FULL_WIDTH)).splitlines()
    open_, stray = False, len(lines) > MAX_LINES
    for written in lines[:MAX_LINES]:
        line = undecorated(written)
        if is_answer(line) or ("<" in written and is_answer(written)):
            open_ = False
            stray = stray or len(line) > _ANSWER_BELOW
        elif started := _start_block(line):
            blocks.append(started)
            open_ = True
        elif (
            not line.strip()
            and blocks
            and (
                # A numbered heading continues after an empty line.
                blocks[-1].kind != "numbered"
                or len(blocks[-1].lines) > 3
                or len("".join(blocks[-1].lines)) >= _HEADING_BELOW
            )
        ):
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
    """A line without the marks of lists, headings and emphasis, tags and chat tokens."""
    line = _WRAPPING.sub("", line) if "<" in line else line
    start = _LINE_START.match(line)
    line = _EMPHASIS.sub(
        lambda found: next(group for group in found.groups() if group is not None),
        line[start.end() :] if start else line,
    )
    return _OPEN_EMPHASIS.sub("", line, count=1) if line[:1] in "*_" else line


def cited(text: str) -> list[Mention]:
    """The clues that a text cites; words that may be ordinary prose are ignored."""
    return [
        mention
        for mention in find_mentions(text)
        if not mention.weak and (mention.clue.index, mention.clue.kind) != (None, "conclusion")
    ]


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


Style = Literal["steps", "numbered", "sentences", "none"]

# "from Image 0 the clock shows nine" lists premises; "since Image 0 shows a clock and
# Text 1 ..., ..." is a clause that mentions clues.
_LISTING = (
    "from|based on|according to|using|combining|per|by|根据|依据|由(?!于)|从|基于|结合|综合|按照"
)
_CLAUSAL = (
    "given|considering|since|because of|as shown in|as stated in|in view of|looking at|with|in"
    "|由于|通过|鉴于|参考|观察|如"
)
# "From Image 0 ...", "Based on the Context", 根据图片0, 由结论1可知
_LEAD_WORDS = re.compile(
    rf"[ \t\u3000,，:：]{{0,8}}(?:我们)?(?:(?P<listing>{_LISTING})|{_CLAUSAL})"
    r"[ \t\u3000:：]{0,4}(?:both |the )?",
    re.IGNORECASE,
)
_ASIDE = r"(?:[ \t]{0,4}[（(][^()（）\n]{0,80}[)）])?"
# "from Image 0 (left), Text 1 and the Context": between two premises
_BETWEEN = re.compile(
    _ASIDE + r"[\s,，、/&+;；]*(?:and|with|as well as|和|与|及|以及|还有)?[\s,，、+]*(?:the )?",
    re.IGNORECASE,
)
# "From Image 0, we can see that ...", 根据图片0可知...
_AFTER_LEAD = re.compile(
    _ASIDE + r"[\s,，:：;；.。)）\-—–]{0,8}(?:(?:we|one|you|I) (?:can )?"
    r"(?:see|know|infer|conclude|deduce|learn|find|tell)s?(?: that)?"
    r"|it (?:follows|is clear) that|可以?(?:得知|知道|推出|得出|看出|得到)|可[知得见]|得[出知到]"
    r"|我们知道"
    r"|能够?(?:得出|知道|看出))?[\s,，:：]{0,4}",
    re.IGNORECASE,
)
# "Therefore, ...", 因此...: such a step rests on the one before it
THEREFORE = re.compile(
    r"[\s*_]{0,8}(?:(?:therefore|thus|hence|so|consequently|as a result|it follows|this means"
    r"|that means|accordingly|in conclusion)(?![A-Za-z])"
    r"|因此|所以|故(?![事意障乡])|综上|由此|可见|那么|于是|这(?:意味着|说明))",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")
_JUST_A_COMMA = re.compile(r"[\s,，]{1,8}(?:the )?", re.IGNORECASE)
# "Image 0, Text 1 and ..." is a list, "Image 0, Text 1 says" is not
_LIST_GOES_ON = re.compile(
    r"[ \t]{0,4}(?:[,，、:：;；.。)）/&+(（]|and\b|as well as\b|$|和|与|及|以及|还有|可|得|能)"
    r"|[ \t]{0,4}(?:we|one|you|I|it) "
    r"(?:can|see|know|infer|conclude|deduce|learn|find|follows|is)",
    re.IGNORECASE,
)
# "From Text 0, 1 and 2 ...": numbers that may belong to the list
_NUMBERS_LEFT = re.compile(r"\d{1,6} ?(?:,|，|and\b|和|、) ?(?:and )?\d|(?:and|和|与) ?\d", re.I)
_STEP_INSIDE = re.compile(
    r"[.。;；!！]\s{0,4}(?:(?:therefore|thus|hence|so|because|from|final answer)(?![A-Za-z])"
    r"|因此|所以|最终答案)|^(?:and\b|&|plus\b|as well\b|以?及|和|与|还有|结合|[#(\[（]|'s\b)",
    re.IGNORECASE,
)
# the 2 of "2) Image 0 -> ..." is no number of a clue
_ENUMERATOR = re.compile(r"^\s{0,20}[（(]?\d{1,4}[.)）、:：]")
# Characters: what is shorter and has no step is only an answer
_NO_REASONING_BELOW = 120


@dataclass(frozen=True, slots=True)
class Extraction:
    """A chain that was extracted by rules, and the form of its text.

    ``style``: ``steps`` (arrows, or "Conclusion k: from ..."), ``numbered``, ``sentences`` that
    cite clues, or ``none``. ``clean``: nothing was guessed or left out, since the text follows the
    step format, every step lists its premises and there is no text outside the steps.
    """

    chain: ReasoningChain
    style: Style
    clean: bool


def extract_chain(
    text: str, language: Language = "en", is_answer: IsAnswer = is_answer_line
) -> Extraction:
    """Extract steps and their premises from any text, in time linear in its length.

    ``is_answer`` recognizes the lines that state the final answer, which are not steps.
    """
    labelled = _with_labels(text) if _STEP_MARK.search(text) else text
    blocks, stray = find_blocks(labelled, is_answer)
    style: Style = "steps"
    chosen = [block for block in blocks if block.kind != "numbered"]
    if not chosen:
        style, chosen = "numbered", blocks
    read = [each for each in map(_read_block, chosen) if each is not None]
    raw = _link([step for step, _ in read])
    left_out = 0
    if not any(step.premises for step in raw):
        style, raw = "sentences", []
        plain = _STEP_MARK.sub(" ", text).translate(FULL_WIDTH)
        for part in _SENTENCE_END.split(plain, maxsplit=MAX_LINES):
            sentence = undecorated(part).strip()
            if sentence and not is_answer(sentence):
                premises, conclusion, _ = _read_content(sentence)
                if premises or THEREFORE.match(sentence):
                    raw.append(RawStep(None, premises, conclusion))
                else:
                    left_out += 1
        raw = _link(raw)
    steps, problems = resolve_labels(raw)
    if steps and left_out:
        problems.append(f"{left_out} sentences that cite no clue are left out")
    whole = not stray and len(chosen) == len(blocks) == len(read)
    clean = style == "steps" and bool(steps) and whole and all(exact for _, exact in read)
    return Extraction(
        ReasoningChain(steps, language, tuple(problems)), style if steps else "none", clean
    )


def _with_labels(text: str) -> str:
    """A text with marks such as <STEP1>, with ``Step 1: `` before each step instead."""
    first, *rest = _STEP_MARK.split(text)
    numbers, said = rest[::2], rest[1::2]
    if first.rpartition("\n")[2].strip():  # each mark stands behind its step
        said, first = [first, *said[:-1]], said[-1]
    steps = [f"Step {at}: {step.strip()}" for at, step in zip(numbers, said, strict=True)]
    return "\n\n".join([*steps, first])


def holds_reasoning(text: str, is_answer: IsAnswer = is_answer_line) -> bool:
    """Whether a text contains reasoning, rather than only an answer."""
    said = "\n".join(line for line in text.splitlines() if not is_answer(line))
    long = len(said.strip()) >= _NO_REASONING_BELOW
    return long or bool(extract_chain(said, is_answer=is_answer).chain.steps)


def _read_block(block: Block) -> tuple[RawStep, bool] | None:
    """The step of a block, and whether its premises were listed explicitly."""
    content = " ".join(line for line in block.lines if line).strip()
    if block.kind != "arrow":
        premises, conclusion, listed = _read_content(content)
        return (RawStep(block.label, premises, conclusion), listed) if content else None
    step = parse_step(" ".join(block.lines))[0]
    if step is None:
        return None
    # It is unambiguous if it is one line with one arrow, and every number in it was parsed.
    (line, *more) = block.lines
    head = line[: arrow.start()] if (arrow := ARROW.search(line)) else line
    label = read_label(head)
    numbers = re.findall(r"\d+", _ENUMERATOR.sub("", head[label[1] :] if label else head, count=1))
    exact = (
        not more
        and len(ARROW.findall(line)) == 1
        and bool(step.conclusion.strip())
        and not _STEP_INSIDE.search(step.conclusion)
        and len(numbers) == sum(clue.index is not None for clue in step.premises)
        and all(clue.index is not None or clue.kind == "context" for clue in step.premises)
    )
    return RawStep(step.label, step.premises, step.conclusion.strip()), exact


def _read_content(content: str) -> tuple[tuple[Clue, ...], str, bool]:
    """Premises and conclusion of a step's text, and whether the premises were listed explicitly."""
    mentions, lead = cited(content), _LEAD_WORDS.match(content)
    everything = tuple(dict.fromkeys(mention.clue for mention in mentions)), content, False
    if lead is None:
        return everything
    led: list[Mention] = []  # the consecutive mentions after the lead
    end = lead.end()
    for mention in mentions:
        if led and mention.start == led[-1].start:
            led.append(mention)
            continue
        gap = _BETWEEN.match(content, end)
        start = gap.end() if gap else end
        # "from Image 0, Text 1 does not apply": a subject may follow a comma.
        mere_comma = led and _JUST_A_COMMA.fullmatch(content, end, start)
        if start != mention.start or (mere_comma and not _LIST_GOES_ON.match(content, mention.end)):
            break
        led.append(mention)
        end = mention.end
    after = _AFTER_LEAD.match(content, end)
    rest = after.end() if after else end
    conclusion = content[rest:].strip()
    ends_there = content[end:rest].strip() != "" or lead["listing"]
    if not (led and conclusion and ends_there):
        return everything
    listed = tuple(dict.fromkeys(mention.clue for mention in led))
    # A list is not complete if a clue is named, or more numbers follow, after it.
    complete = (
        {mention.clue for mention in mentions if mention.clue.index is not None} <= set(listed)
        and not _NUMBERS_LEFT.match(conclusion)
        and not _STEP_INSIDE.search(conclusion)
        and not conclusion.endswith((":", "："))
    )
    return listed, conclusion, complete


def _link(raw: list[RawStep]) -> list[RawStep]:
    """Make a step that cites nothing but says "therefore" cite the step before it."""
    linked: list[RawStep] = []
    label = -1
    for step in raw:
        if not step.premises and linked and THEREFORE.match(step.conclusion):
            step = RawStep(step.label, (Clue("conclusion", label),), step.conclusion)
        label = label + 1 if step.label is None else step.label
        linked.append(step)
    return linked
