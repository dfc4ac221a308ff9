"""Metadata of runs from results files."""

from __future__ import annotations

import math
from typing import Any

from lmms_rpts.base.masking import mask
from lmms_rpts.runs.metadata import metadata_of
from lmms_rpts.runs.reading import model_name
from tests.support.tables import table

# As written by lmms-eval 0.7.3; the tokens as by its usage_metrics.py, judges as by our filters.
RESULTS: dict[str, Any] = {
    "results": {"rpts_eval_en": {"rpts,none": 0.5}},
    "configs": {
        "rpts_eval_en": {
            "generation_kwargs": {"max_new_tokens": 2048, "temperature": 0.0, "until": []}
        },
        "rpts_eval_zh": {
            "generation_kwargs": {"max_new_tokens": 1024, "temperature": 0.0, "until": []}
        },
    },
    "versions": {"rpts_eval_en": 1.0, "rpts_eval_zh": 1.0},
    "n-shot": {"rpts_eval_en": 0, "rpts_eval_zh": 0},
    "n-samples": {
        "rpts_eval_en": {"original": 208, "effective": 8},
        "rpts_eval_zh": {"original": 208, "effective": 8},
    },
    "config": {
        "model": "openai",
        "model_args": "model_version=gpt,api_key=sk-abcdefgh12345678,base_url=https://u:p@host/v1",
        "model_backend": "lmms_eval.models.chat.openai.OpenAI (chat)",
        "batch_size": 1,
        "batch_sizes": [],
        "device": None,
        "use_cache": None,
        "limit": 8,
        "offset": 0,
        "gen_kwargs": "temperature=0.7",
        "random_seed": 0,
        "numpy_seed": 1234,
        "torch_seed": 1234,
        "fewshot_seed": 1234,
        "resolved_cli_args": {"timezone": "Asia/Singapore"},
    },
    "git_hash": "a988573",
    "git_branch": "main",
    "lmms_eval_version": "0.7.3",
    "transformers_version": "4.57.1",
    "pretty_env_info": "Collecting environment\nPyTorch version: 2.9.0+cu128\nOS: Linux",
    "date": "20261123_030955",
    "usage": {
        "by_source": {
            "model": {
                "input_tokens": 12345,
                "output_tokens": 678,
                "reasoning_tokens": 0,
                "n_api_calls": 16,
            },
            "judge": {
                "input_tokens": 2710,
                "output_tokens": 1355,
                "reasoning_tokens": 7,
                "n_api_calls": 271,
            },
        },
        "judges": {"cost": 0.01234, "found": 3, "guessed": True},
    },
    "total_evaluation_time_seconds": "3725.4",
}


def test_all_of_it() -> None:
    assert metadata_of(RESULTS) == {
        "model": "openai",
        "model arguments": "model_version=gpt, api_key=***, base_url=https://***@host/v1",
        "backend": "lmms_eval.models.chat.openai.OpenAI (chat)",
        "generation": "max_new_tokens=2048, temperature=0.0, until=[] (rpts_eval_en); "
        "max_new_tokens=1024, temperature=0.0, until=[] (rpts_eval_zh); "
        "--gen_kwargs temperature=0.7",
        "task versions": "rpts_eval_en 1.0, rpts_eval_zh 1.0",
        "documents": "8 of 208",
        "few-shot examples": "0",
        "limit": "8",
        "seeds": "random 0, numpy 1234, torch 1234, fewshot 1234",
        "batch size": "1",
        "lmms-eval": "0.7.3",
        "transformers": "4.57.1",
        "torch": "2.9.0+cu128",
        "git commit": "a988573 (main)",
        "date": "2026-11-22 19:09:55 UTC",
        "wall time": "1 h 2 min",
        "tokens of the model": "12,345 in, 678 out, 16 calls",
        "tokens of the judge": "2,710 in, 1,355 out, 7 thinking, 271 calls",
        "cost of the judge": "about 0.01234 (3 cached replies)",
    }


SCORED = "name=careful,samples=/tmp/lmms-rpts-a1_b2/responses.jsonl"


@table(
    "config, shown",
    ({"limit": 3.0}, "3"),
    ({"limit": 3}, "3"),
    ({"limit": 0.25}, "0.25"),
    ({"limit": None}, None),
    ({"limit": 3.0, "offset": 2}, "3, offset 2"),
    ({"limit": 1e300}, "1e+300"),
    # lmms-rpts score sets the limit itself; a user who replays responses may set one.
    ({"limit": 3.0, "model": "replay", "model_args": SCORED}, None),
    ({"limit": 3.0, "model": "replay", "model_args": "samples=/a/responses.jsonl"}, "3"),
    ({"limit": 3.0, "model": "qwen", "model_args": SCORED}, "3"),
)
def test_limit(config: dict[str, object], shown: str | None) -> None:
    assert metadata_of({"config": config}).get("limit") == shown


@table(
    "version, shown",
    ("0.7.3", "0.7.3"),
    # Branch and commit of the git repository around the installation.
    ("main@1db2d93", None),
    ("unknown@unknown", None),
    (None, None),
)
def test_version_of_lmms_eval(version: object, shown: str | None) -> None:
    assert metadata_of({"lmms_eval_version": version}).get("lmms-eval") == shown


@table(
    "seconds, shown",
    ("1.6993", "1.7 s"),
    (75, "1 min 15 s"),
    ("nan", None),
    ("x", None),
    (-1, None),
)
def test_wall_time(seconds: object, shown: str | None) -> None:
    assert metadata_of({"total_evaluation_time_seconds": seconds}).get("wall time") == shown


def test_tokens_of_a_local_model() -> None:
    counted = {"efficiency": {"overall": {"total_output_tokens": 4200.0}}}
    assert metadata_of(counted)["tokens of the model"] == "4,200 out"
    assert metadata_of({"throughput": {"total_gen_tokens": 17}})["tokens of the model"] == "17 out"


@table(
    "odd",
    None,
    "text",
    7,
    [],
    {},
    [1],
    True,
    math.nan,
    math.inf,
    10**400,
    {"a": {"b": []}},
    "\ud800\n",
)
def test_odd_values_are_left_out_or_shown_as_text(odd: Any) -> None:
    """Results files of others may hold anything; reading them never raises."""
    assert isinstance(metadata_of(dict.fromkeys(RESULTS, odd)), dict)
    for name, value in RESULTS.items():
        if isinstance(value, dict):
            metadata_of({name: dict.fromkeys(value, odd)})
            metadata_of({name: {key: {"x": odd, "effective": odd} for key in value}})


def test_no_results_file_no_metadata() -> None:
    assert metadata_of({}) == {}


@table(
    "text",
    "Authorization: Token SECRET-1",
    "Authorization: ApiKey SECRET-1",
    "{'api_keys': ['SECRET-1', 'SECRET-1']}",
    'api_key="ab\\"SECRET-1"',
    "https://h/x?sig=SECRET-1&a=1",
    "url=https://h?key=SECRET-1",
    "X-Amz-Signature=SECRET-1",
    "jwt=SECRET-1",
    "pass=SECRET-1",
    "Bearer SECRET-1",
    "https://u:p@SECRET-1@host/x",
    "nvapi-SECRET-1",
)
def test_secrets_are_masked_wherever_they_are(text: str) -> None:
    shown = mask(text)
    assert "SECRET" not in shown
    assert "***" in shown


@table("text", "max_new_tokens=2048", "tokenizer=lab/model", "passes=3", "sigma=0.1", "seed: 7")
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert mask(text) == text


def test_the_label_of_a_run_holds_no_secret() -> None:
    results = {"config": {"model_args": "model=https://h/x?token=SECRET-1"}}
    assert "SECRET" not in str(model_name(results))
