"""A made-up row of each layout, with the publishers' fields, and the resulting chain."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lmms_rpts.tasks.fields import Fields
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import LAYOUTS

_CONTENT = json.loads(Path(__file__).with_name("rows.json").read_text(encoding="utf-8"))
ROWS: dict[str, dict[str, Any]] = {name: each["row"] for name, each in _CONTENT.items()}
CHAINS = {
    name: TypeAdapter(LabelledChain).validate_python(each["chain"])
    for name, each in _CONTENT.items()
}
"""In most chains, the second of three steps is the first wrong one."""
ASKED, (A, B, C) = CHAINS["processbench"].context, CHAINS["processbench"].steps
LAYOUT_NAMED = {layout.name: layout for layout in LAYOUTS}


def changed(name: str, *path: Any, to: Any) -> dict[str, Any]:
    """The made-up row of a layout with one value changed; ``...`` removes it."""
    copied = copy.deepcopy(ROWS[name])
    inner: Any = copied
    for key in path[:-1]:
        inner = inner[key]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return copied


def read(name: str, row: dict[str, Any]) -> LabelledChain:
    """The only chain of a row that is the fifth in ``nuts.json``."""
    return LAYOUT_NAMED[name].read(Fields(row, "nuts", 4))
