"""Metadata of a run from lmms-eval's results file; secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from lmms_rpts.base.escaping import printable, storable
from lmms_rpts.base.masking import LONGEST, MASK, is_secret, mask
from lmms_rpts.runs.run import value_at

_LONGEST = 600
# A line of torch.utils.collect_env: "PyTorch version: 2.9.0+cu128".
_TORCH = re.compile(r"PyTorch version: ([\w.+-]{1,60})")
# A value with a comma extends to the next name: "api_key=ab,cd,model=x".
_PART = re.compile(r",(?=\s{0,9}[\w.-]{1,80}\s{0,9}=)")


def metadata_of(results: Mapping[str, Any]) -> dict[str, str]:
    """What the results say of the run, by name; what is missing or has another type is left out."""
    config = partial(value_at, results, "config")
    environment = _TORCH.search(str(results.get("pretty_env_info"))[:20_000])
    usage = value_at(results, "usage", "by_source", "judge")
    facts = {
        "model": config("model"),
        "model arguments": config("model_args"),
        "generation": config("gen_kwargs"),
        "limit": config("limit"),
        "offset": config("offset") or None,
        **{f"{name} seed": config(f"{name}_seed") for name in ("random", "numpy", "torch")},
        "lmms-eval": results.get("lmms_eval_version"),
        "lmms-rpts": config("lmms_rpts_version"),
        "transformers": results.get("transformers_version"),
        "torch": environment[1] if environment else None,
        "commit": results.get("git_hash"),
        "date": results.get("date"),
        "tokens of the judge": usage
        and f"{value_at(usage, 'input_tokens')} in, {value_at(usage, 'output_tokens')} out",
        "cost of the judge": value_at(results, "usage", "judges", "cost"),
    }
    return {
        name: printable(storable(mask_settings(value)))[:_LONGEST]
        for name, value in facts.items()
        if value not in (None, "", {}) and isinstance(value, str | int | float | Mapping)
    }


def mask_settings(settings: object) -> str:
    """Settings as ``name=value, ...`` without secrets; any other text without secrets."""
    if isinstance(settings, Mapping):
        pairs = [(str(name), value) for name, value in settings.items()]
    else:
        parts = (part.strip().partition("=") for part in _PART.split(str(settings)[:LONGEST]))
        pairs = [(name, value if mark else None) for name, mark, value in parts if name]
    return ", ".join(_masked(name, value) for name, value in pairs)[:LONGEST]


def _masked(name: str, value: object) -> str:
    """A setting, with ``***`` for a secret recognized by name or value."""
    if value is None:
        return mask(name)
    if isinstance(value, Mapping) and not is_secret(name):
        return f"{mask(name)}={{{mask_settings(value)}}}"
    text = str(value)[:LONGEST]
    return f"{mask(name)}={MASK if is_secret(name, text) else mask(text)}"
