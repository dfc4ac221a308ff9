"""Metadata of runs from results files."""

from __future__ import annotations

import math
from typing import Any

from lmms_rpts.runs.metadata import metadata_of
from tests.support.tables import table

# As written by lmms-eval 0.7.3
RESULTS: dict[str, Any] = {
    "config": {
        "model": "openai",
        "model_args": "model_version=gpt,api_key=sk-abcdefgh12345678,base_url=https://u:p@host/v1",
        "gen_kwargs": {"temperature": 0.7, "headers": {"token": "abc"}},
        "limit": 8,
        "offset": None,
    },
    "git_hash": "a988573",
    "lmms_eval_version": "0.7.3",
}


def test_all_of_it() -> None:
    assert metadata_of(RESULTS) == {
        "model": "openai",
        "model args": "model_version=gpt, api_key=***, base_url=https://***@host/v1",
        "gen kwargs": "temperature=0.7, headers={'token': ***}",
        "limit": "8",
        "git hash": "a988573",
        "lmms eval version": "0.7.3",
    }


@table("odd", None, "text", 7, [], {}, [1], math.nan, 10**400, {"a": {"b": []}}, "\ud800\n")
def test_odd_values_are_left_out_or_shown_as_text(odd: Any) -> None:
    """Results files of others may hold anything; reading them never raises."""
    "".join(metadata_of(dict.fromkeys(RESULTS, odd)).values()).encode()
    for name, value in RESULTS.items():
        if isinstance(value, dict):
            metadata_of({name: dict.fromkeys(value, odd)})
