"""Metadata of runs from results files."""

from __future__ import annotations

import math
from typing import Any

from lmms_rpts.runs.metadata import metadata_of
from tests.support.tables import table

# As written by lmms-eval 0.7.3; the tokens as by its usage_metrics.py, judges as by our filters.
RESULTS: dict[str, Any] = {
    "config": {
        "model": "openai",
        "model_args": "model_version=gpt,api_key=sk-abcdefgh12345678,base_url=https://u:p@host/v1",
        "limit": 8,
        "offset": 0,
        "gen_kwargs": {"temperature": 0.7, "headers": {"token": "abc"}},
        "random_seed": 0,
        "numpy_seed": 1234,
        "torch_seed": 1234,
        "lmms_rpts_version": "0.2.0",
    },
    "git_hash": "a988573",
    "lmms_eval_version": "0.7.3",
    "transformers_version": "4.57.1",
    "pretty_env_info": "Collecting environment\nPyTorch version: 2.9.0+cu128\nOS: Linux",
    "date": "20261123_030955",
    "usage": {
        "by_source": {"judge": {"input_tokens": 2710, "output_tokens": 1355}},
        "judges": {"cost": 0.01234},
    },
}


def test_all_of_it() -> None:
    assert metadata_of(RESULTS) == {
        "model": "openai",
        "model arguments": "model_version=gpt, api_key=***, base_url=https://***@host/v1",
        "generation": "temperature=0.7, headers={token=***}",
        "limit": "8",
        "random seed": "0",
        "numpy seed": "1234",
        "torch seed": "1234",
        "lmms-eval": "0.7.3",
        "lmms-rpts": "0.2.0",
        "transformers": "4.57.1",
        "torch": "2.9.0+cu128",
        "commit": "a988573",
        "date": "20261123_030955",
        "tokens of the judge": "2710 in, 1355 out",
        "cost of the judge": "0.01234",
    }
    assert metadata_of({}) == {}


@table("odd", None, "text", 7, [], {}, [1], math.nan, 10**400, {"a": {"b": []}}, "\ud800\n")
def test_odd_values_are_left_out_or_shown_as_text(odd: Any) -> None:
    """Results files of others may hold anything; reading them never raises."""
    "".join(metadata_of(dict.fromkeys(RESULTS, odd)).values()).encode()
    for name, value in RESULTS.items():
        if isinstance(value, dict):
            metadata_of({name: dict.fromkeys(value, odd)})
