"""Parser and formatter of chains written ``premise + premise -> Conclusion k: text``."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmms_rpts.reasoning.clues import Clue, ClueKind, Language, ReasoningChain, Step
from lmms_rpts.reasoning.mentions import MAX_DIGITS, find_mentions, has_chinese_label

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
    """A step as written, with references by the labels of the text.

    ``label`` is the number of the conclusion in the text, None if it has none.
    """

    label: int | None
    premises: tuple[Clue, ...]
    conclusion: str


def parse_chain(lines: Iterable[str] | str, language: Language | None = None) -> ReasoningChain:
    """Parse a chain of steps; no text raises an exception.

    Args:
        lines: one step per item, or one string with one step per line.
        language: language of the labels when the chain is written out; None: detected from the
            labels.

    Returns:
        The chain, with references by position. A conclusion without a label gets the previous
        number plus one. A reference to a missing label becomes an index beyond the last step, so
        that it never matches a step by accident. Such references, and lines that are not steps,
        are listed in ``problems``.
    """
    items = re.split(r"\r\n|\r|\n", lines) if isinstance(lines, str) else list(lines)
    raw: list[RawStep] = []
    problems: list[str] = []
    for number, line in enumerate(items):
        step, problem = _parse_line(line)
        if step is not None:
            raw.append(step)
        if problem:
            problems.append(f"line {number}: {problem}")
    if language is None:
        arrow_lines = (line for line in items if ARROW.search(line))
        chinese = any(has_chinese_label(line) for line in arrow_lines)
        language = "zh" if chinese else "en"
    steps, unresolved = resolve_labels(raw)
    return ReasoningChain(steps, language, tuple(problems + unresolved))


def format_chain(chain: ReasoningChain) -> list[str]:
    """Format a chain, one step per line; ``parse_chain`` parses it to the same chain."""
    labels = _LABELS[chain.language]

    def write(clue: Clue) -> str:
        return labels[clue.kind] + ("" if clue.index is None else str(clue.index))

    return [
        f"{' + '.join(map(write, step.premises))} -> {labels['conclusion']}{k}:{step.conclusion}"
        for k, step in enumerate(chain.steps)
    ]


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

    def resolve(clue: Clue, at: int) -> Clue:
        if clue.kind != "conclusion" or clue.index is None:
            return clue
        defined = positions.get(clue.index)
        if defined:
            before = bisect_left(defined, at)
            return Clue("conclusion", defined[before - 1] if before else defined[0])
        problems.append(f"step {at}: cites conclusion {_shown(clue.index)}, which no step has")
        return Clue("conclusion", clue.index if clue.index >= len(raw) else clue.index + len(raw))

    steps = tuple(
        Step(tuple(resolve(clue, at) for clue in step.premises), step.conclusion)
        for at, step in enumerate(raw)
    )
    return steps, problems


def read_label(text: str) -> tuple[int | None, int] | None:
    """The label at the beginning of ``text``: its number, if any, and its end."""
    match = _LABEL.match(text)
    if match is None:
        return None
    digits = match["number"] or match["step"] or ""
    return (int(digits[:MAX_DIGITS]) if digits else None), match.end()


def parse_raw_step(line: str) -> RawStep | None:
    """Parse a line with an arrow as a step, labels unresolved; None without an arrow."""
    return _parse_line(line)[0]


def is_bare_step(line: str) -> bool:
    """Whether a line has an arrow with only premises, and perhaps a label, before it."""
    arrow = ARROW.search(line)
    if arrow is None:
        return False
    head = line[: arrow.start()]
    label = read_label(head)
    premises, unread = _read_head(head[label[1] :] if label else head)
    return bool(premises) and not unread


def _parse_line(line: str) -> tuple[RawStep | None, str | None]:
    arrow = ARROW.search(line)
    if arrow is None:
        stripped = line.strip()
        return None, f"no arrow in {_shown(stripped)}" if stripped else None
    head, tail = line[: arrow.start()], line[arrow.end() :]
    head_label = read_label(head)
    if head_label:
        head = head[head_label[1] :]
    tail_label = read_label(tail)
    if tail_label:
        tail = tail[tail_label[1] :]
    number = tail_label[0] if tail_label else head_label[0] if head_label else None
    premises, unread = _read_head(head)
    problem = f"could not read {_shown(unread)} among the premises" if unread else None
    return RawStep(number, premises, tail), problem


def _read_head(head: str) -> tuple[tuple[Clue, ...], str]:
    text = unicodedata.normalize("NFKC", head)
    premises: list[Clue] = []
    rest: list[str] = []
    end = 0
    for mention in find_mentions(text):
        premises.append(mention.clue)
        rest.append(text[end : mention.start])
        end = max(end, mention.end)
    rest.append(text[end:])
    return tuple(premises), _HEAD_NOISE.sub("", " ".join(rest)).strip()


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
