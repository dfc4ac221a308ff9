"""Data classes of the samples of ReForm-Eval, for all layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmms_rpts.tasks.reform_eval.fields import Box, ImagePlace


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a dialogue with its options, and the place of the right one."""

    question: str
    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a data set.

    Attributes:
        id: as the data give it, or its place.
        image: where its image lies.
        question: its phrasings; empty where the instruction is the question.
        filling: what stands for ``{}`` in the instruction; None: nothing does.
        options: to choose from, in the file's order; empty where the answer is free.
        right: the place of the right option; None where the answer is free.
        answers: what a free answer may be, or the reference captions.
        boxes: in pixels, in the file's way.
        given: further fields that the published sample has.
        round, history: of a dialogue: which round, from 0, and the rounds before it.
        instructions: where the data bring their own.
    """

    id: str | int
    image: ImagePlace
    question: tuple[str, ...] = ()
    filling: str | None = None
    options: tuple[str, ...] = ()
    right: int | None = None
    answers: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    round: int | None = None
    history: tuple[Turn, ...] = ()
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a file that are whole, and what is wrong with others."""

    samples: tuple[Sample, ...]
    faults: tuple[str, ...]
