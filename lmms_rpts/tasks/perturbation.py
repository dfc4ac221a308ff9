"""How the documents of a task are perturbed: what of a document can vary, and its fields then.

A task that is expanded (setting ``perturb``) asks about each document several times. Each draw of a
document is a document of its own, next to the others, with the field ``perturbed``; the first one
is the document as it is in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_rpts.runs.record import Perturbed

Doc = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """What of a document can be varied; 0, () and False: nothing.

    Attributes:
        options: number of options.
        right: position of the right option; None if it is unknown, or if there are several.
        marks: styles in which the options can be marked, the style in the data first.
        images: number of images whose order can vary.
        clues: number of textual clues whose order can vary.
        statement: whether it has a statement that can be negated.
    """

    options: int = 0
    right: int | None = None
    marks: Sequence[str] = ()
    images: int = 0
    clues: int = 0
    statement: bool = False


@dataclass(frozen=True, slots=True)
class Perturbation:
    """How the documents of a benchmark are perturbed.

    Attributes:
        things: what of a document can be varied.
        apply: the fields of a document that differ for a draw. The document may have its images.
            The order, marks and negation of a draw are applied here, its wording only by
            benchmarks with ``rewords`` false; for others, prompts are reworded by
            ``tasks.wordings``.
        rewords: see ``apply``.
    """

    things: Callable[[Doc], Things] = lambda doc: Things()
    apply: Callable[[Doc, Perturbed], Mapping[str, Any]] = lambda doc, perturbed: {}
    rewords: bool = True
