"""Metadata of a run from lmms-eval's results file; secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmms_rpts.base.escaping import printable, storable
from lmms_rpts.base.masking import LONGEST, MASK, is_secret, mask
from lmms_rpts.runs.run import value_at

_LONGEST = 600
# Where the results have each of them
_FACTS = {
    "model": ("config", "model"),
    "model arguments": ("config", "model_args"),
    "generation": ("config", "gen_kwargs"),
    "limit": ("config", "limit"),
    "offset": ("config", "offset"),
    "seed": ("config", "random_seed"),
    "lmms-eval": ("lmms_eval_version",),
    "lmms-rpts": ("config", "lmms_rpts_version"),
    "transformers": ("transformers_version",),
    "commit": ("git_hash",),
    "date": ("date",),
}
# A value with a comma extends to the next name: "api_key=ab,cd,model=x".
_PART = re.compile(r",(?=\s{0,9}[\w.-]{1,80}\s{0,9}=)")


def metadata_of(results: Mapping[str, Any]) -> dict[str, str]:
    """What the results say of the run, by name; what is missing or has another type is left out."""
    values = {name: value_at(results, *place) for name, place in _FACTS.items()}
    return {
        name: printable(storable(mask_settings(value)))[:_LONGEST]
        for name, value in values.items()
        if value not in (None, "", {}) and isinstance(value, str | int | float | Mapping)
    }


def mask_settings(settings: object) -> str:
    """Settings as ``name=value, ...`` without secrets; any other text without secrets."""
    if isinstance(settings, Mapping):
        pairs = [(str(name), value) for name, value in settings.items()]
    else:
        parts = (part.strip().partition("=") for part in _PART.split(str(settings)[:LONGEST]))
        pairs = [(name, value if mark else None) for name, mark, value in parts if name]
    masked = []
    for name, value in pairs:
        if isinstance(value, Mapping) and not is_secret(name):
            value = f"{{{mask_settings(value)}}}"
        elif value is not None:
            text = str(value)[:LONGEST]
            value = MASK if is_secret(name, text) else mask(text)
        masked.append(mask(name) if value is None else f"{mask(name)}={value}")
    return ", ".join(masked)[:LONGEST]
