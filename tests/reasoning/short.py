"""Short notation for chains: ``chain("i0 > A", "c0 t1 > B")``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lmms_rpts.reasoning import Clue, ReasoningChain, Step
from lmms_rpts.reasoning.clues import ClueKind, Language

_KINDS: dict[str, ClueKind] = {"i": "image", "t": "text", "c": "conclusion", "x": "context"}


def clue(short: str) -> Clue:
    """``i0`` is Image 0, ``t1`` Text 1, ``c2`` Conclusion 2, ``x`` the context, ``i`` Image."""
    return Clue(_KINDS[short[0]], int(short[1:]) if short[1:] else None)


def clues(short: str) -> tuple[Clue, ...]:
    return tuple(clue(word) for word in short.split())


def step(short: str) -> Step:
    premises, _, conclusion = short.partition(">")
    return Step(clues(premises), conclusion.strip())


def chain(*steps: str, language: Language = "en") -> ReasoningChain:
    return ReasoningChain(tuple(step(short) for short in steps), language)


def chain_of(short: str) -> ReasoningChain:
    """The chain of steps separated by semicolons."""
    return chain(*filter(str.strip, short.split(";")))


def stripped(read: ReasoningChain) -> ReasoningChain:
    """The chain without the spaces around its conclusions."""
    steps = tuple(Step(step.premises, step.conclusion.strip()) for step in read.steps)
    return ReasoningChain(steps, read.language, read.problems)


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a file of cases beside this module."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]
