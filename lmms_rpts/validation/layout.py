"""Description of a layout of published step labels, with published figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.rows import Row


@dataclass(frozen=True, slots=True)
class Anchor:
    """A figure that others published, by their own protocol.

    Attributes:
        judge: who was measured.
        metric: its name, as its authors call it.
        value: from 0 to 1.
        source: where it stands.
    """

    judge: str
    metric: str
    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One layout of published step labels.

    Attributes:
        name: of the set, in small letters.
        title: what its authors call it, and the paper.
        fields: what an object must have to be taken for one of this layout. No object may have
            the fields of two layouts.
        read: the chains of a row, one mostly; raises RowError or LeftOut.
        labels: who labelled what, and what "sound" means there, in a line.
        licence: of the data.
        source: how to get them: a ``git clone`` where they lie in a repository.
        path: where they lie within the source.
        images: whether the questions go with pictures.
        fixed_premises: whether steps rest on texts that are no earlier steps, so that the given
            premises are the only ones that will do.
        language: of the texts.
        anchors: figures that others published.
        merge: makes one row of several that label the same steps, before they are read; None:
            each row stands for itself. It may raise RowError.
        remark: says what should be known of the rows, how well raters agree for instance.
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
