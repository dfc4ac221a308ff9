"""Metadata of a run from lmms-eval's results file; secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmms_rpts.base.escaping import printable, storable
from lmms_rpts.base.masking import LONGEST, MASK, is_secret, mask
from lmms_rpts.runs.run import value_at

_LONGEST = 600
_OF_CONFIG = ("model", "model_args", "gen_kwargs", "limit", "offset", "lmms_rpts_version")
_OF_RESULTS = ("lmms_eval_version", "transformers_version", "git_hash", "date")
# A value with a comma extends to the next name: "api_key=ab,cd,model=x".
_PART = re.compile(r",(?=\s{0,9}[\w.-]{1,80}\s{0,9}=)")


def metadata_of(results: Mapping[str, Any]) -> dict[str, str]:
    """What the results say of the run, by name; what is missing or has another type is left out."""
    values = {name: value_at(results, "config", name) for name in _OF_CONFIG}
    values |= {name: results.get(name) for name in _OF_RESULTS}
    return {
        name.replace("_", " "): printable(storable(mask_settings(value)))[:_LONGEST]
        for name, value in values.items()
        if value not in (None, "", {}) and isinstance(value, str | int | float | Mapping)
    }


def mask_settings(settings: object) -> str:
    """Settings as ``name=value, ...`` without secrets; any other text without secrets."""
    if isinstance(settings, Mapping):
        settings = ",".join(f"{name}={value}" for name, value in settings.items())
    masked = []
    for part in _PART.split(str(settings)[:LONGEST]):
        name, mark, value = part.strip().partition("=")
        secret = mark and is_secret(name, value)
        masked.append(f"{mask(name)}{mark}{MASK if secret else mask(value)}")
    return ", ".join(filter(None, masked))[:LONGEST]
