"""Data classes of the samples of ReForm-Eval, for all layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmms_rpts.tasks.reform_eval.fields import Box, ImagePlace


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a dialogue with its options, and the index of the right one."""

    question: str
    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a data set.

    Attributes:
        id: id in the data, or the index.
        image: location of the image.
        question: phrasings of the question; empty if the instruction is the question.
        filling: text to insert for ``{}`` in the instruction; None if there is no ``{}``.
        options: options in the file's order; empty for free answers.
        right: index of the right option; None for free answers.
        answers: accepted free answers, or reference captions.
        boxes: boxes in pixels, in the format of the file.
        given: further fields of the published sample.
        round, history: for dialogues, the round, from 0, and the rounds before it.
        instructions: instructions in the data, if any.
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
    """The valid samples of a file, and the faults of the others."""

    samples: tuple[Sample, ...]
    faults: tuple[str, ...]
