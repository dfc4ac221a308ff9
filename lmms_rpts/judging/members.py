"""Data class of one judge in an ensemble."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_rpts.judging.types import Judge
from lmms_rpts.settings import Price


@dataclass(frozen=True, slots=True)
class Member:
    """One judge of an engine.

    Attributes:
        name: as in LMMS_RPTS_JUDGE.
        judge: who answers.
        price: of its tokens, where known.
        writes: whether it can rewrite texts and tell answers, and not only score.
        kept: whether its answers are worth keeping on disk.
    """

    name: str
    judge: Judge
    price: Price | None = None
    writes: bool = True
    kept: bool = True
