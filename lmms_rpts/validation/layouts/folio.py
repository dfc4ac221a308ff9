"""FOLIO: one conclusion from given premises."""

from __future__ import annotations

from collections.abc import Iterator

from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.rows import Row

_STRATA = {"True": "entailed", "False": "contradicted", "Uncertain": "unsupported"}


def _read(row: Row) -> Iterator[LabelledChain]:
    premises = row.texts("premises")
    stratum = row.choice("label", _STRATA)
    yield LabelledChain(
        id=row.place,
        question="\n".join(premises),
        stratum=stratum,
        language="en",
        context="",
        steps=(row.text("conclusion"),),
        labels=(stratum == "entailed",),
        premises=(premises,),
        first_error=None if stratum == "entailed" else 0,
        located=False,
    )


FOLIO = Layout(
    name="folio",
    title="FOLIO (arXiv 2209.00840)",
    fields=frozenset({"premises", "conclusion", "label"}),
    read=_read,
    labels="Human annotators wrote premises and conclusions; a logic prover verified the "
    "labels. Sound: the conclusion follows. Wrong: the premises contradict it, or do "
    "not decide it.",
    licence="CC BY-SA 4.0",
    source="git clone https://github.com/Yale-LILY/FOLIO",
    path="data/v0.0/folio-validation.jsonl",
)
