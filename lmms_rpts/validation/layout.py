"""Description of a layout of published step labels, with published figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.rows import Row


@dataclass(frozen=True, slots=True)
class Anchor:
    """A published figure, measured with the authors' own protocol.

    Attributes:
        judge: the judge that was measured.
        metric: name of the metric in the source.
        value: from 0 to 1.
        source: where the figure was published.
    """

    judge: str
    metric: str
    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One layout of published step labels.

    Attributes:
        name: name of the set, in lower case.
        title: the authors' name for it, and the paper.
        fields: fields that identify an object of this layout. No object may have the fields of two
            layouts.
        read: returns the chains of a row, usually one; raises RowError or LeftOut.
        labels: one line: who labelled what, and the meaning of "sound" in this set.
        licence: licence of the data.
        source: how to get the data: a ``git clone`` command if they are in a repository.
        path: path of the data within the source.
        images: whether the questions have images.
        fixed_premises: whether steps depend on texts that are not earlier steps, so that only the
            given premises can be used.
        language: language of the texts.
        anchors: published figures.
        merge: combines rows that label the same steps into one row, before they are read; None:
            rows are independent. May raise RowError.
        remark: returns a remark about the rows, for instance the agreement of the raters.
    """

    name: str
    title: str
    fields: frozenset[str]
    read: Callable[[Row], Iterable[LabelledChain]]
    labels: str
    licence: str
    source: str
    path: str = ""
    images: bool = False
    fixed_premises: bool = False
    language: str = "en"
    anchors: tuple[Anchor, ...] = ()
    merge: Callable[[Sequence[Row]], Sequence[Row]] | None = None
    remark: Callable[[Sequence[Row]], str] | None = None
