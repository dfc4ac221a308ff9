"""Environment settings: each variable, its allowed values, and the message for other values."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.settings import (
    NAMES,
    Price,
    SettingError,
    Settings,
    load_settings,
    validity_file,
)
from lmms_rpts.tasks.benchmark import benchmarks
from tests.support.environment import VARIABLES
from tests.support.tables import table


def read_all(variables: dict[str, str]) -> dict[str, Any]:
    """All settings by name, with the benchmark's name in front of its own."""
    readings: dict[str, Any] = {"": load_settings(variables)}
    readings |= {f"{each.name}_": each.read_settings(variables) for each in benchmarks().values()}
    return {
        f"{start}{field.name}": getattr(reading, field.name)
        for start, reading in readings.items()
        for field in fields(reading)
    }


@table(
    "variables, field, value",
    ({"LMMS_RPTS_JUDGE": "openai:gpt-4o-mini"}, "judge", "openai:gpt-4o-mini"),
    ({"LMMS_RPTS_JUDGE": " lexical "}, "judge", "lexical"),
    ({"LMMS_RPTS_CONCURRENCY": "7"}, "concurrency", 7),
    ({"LMMS_RPTS_CONCURRENCY": "1"}, "concurrency", 1),
    ({"LMMS_RPTS_TIMEOUT": "2.5"}, "timeout", 2.5),
    ({"LMMS_RPTS_TIMEOUT": "1"}, "timeout", 1.0),
    ({"LMMS_RPTS_TIMEOUT": "86400"}, "timeout", 86400.0),
    ({"LMMS_RPTS_TRANSFORM": "llm"}, "transform", "llm"),
    ({"LMMS_RPTS_TRANSFORM": "rule"}, "transform", "rule"),
    ({"LMMS_RPTS_TRANSFORM": "auto"}, "transform", "auto"),
    ({"LMMS_RPTS_DECAY": "0"}, "decay", 0.0),
    ({"LMMS_RPTS_DECAY": "0.95"}, "decay", 0.95),
    ({"LMMS_RPTS_DECAY": "1"}, "decay", 1.0),
    ({"LMMS_RPTS_FOCUS_HEIGHT": "0"}, "focus_height", 0),
    ({"LMMS_RPTS_FOCUS_HEIGHT": "3"}, "focus_height", 3),
    ({"RPTS_PATH": "/data/rpts"}, "rpts_path", Path("/data/rpts")),
    ({"ROME_PATH": "/data/rome"}, "rome_path", Path("/data/rome")),
    ({"ROME_GRADER": "rule"}, "rome_grader", "rule"),
    ({"ROME_GRADER": " llm\n"}, "rome_grader", "llm"),
    ({"ROME_GRADER": "recommended"}, "rome_grader", "recommended"),
    ({"ROME_CONSISTENCY": "0"}, "rome_consistency", False),
    ({"ROME_CONSISTENCY": "1"}, "rome_consistency", True),
    ({"CMMATH_PATH": " /data/cmmath "}, "cmmath_path", "/data/cmmath"),
    ({"CMMATH_PATH": "owner/name"}, "cmmath_path", "owner/name"),
    ({"CMMATH_GRADER": "rule"}, "cmmath_grader", "rule"),
    ({"CMMATH_GRADER": " judge\n"}, "cmmath_grader", "judge"),
    ({"CMMATH_GRADER": "both"}, "cmmath_grader", "both"),
    ({"CMMATH_ERRORS": "0"}, "cmmath_errors", False),
    ({"CMMATH_ERRORS": "1"}, "cmmath_errors", True),
    ({"RPTS_PATH": "/data/with space"}, "rpts_path", Path("/data/with space")),
    ({"OPENAI_API_KEY": " sk-x\n"}, "openai_key", "sk-x"),
    ({"OPENAI_BASE_URL": "http://h:1/v1"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_BASE_URL": "http://h:1/v1/"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_API_URL": "http://h:1/v1"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_API_URL": "http://h:1/v1/chat/completions"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_API_URL": "http://h:1/v1/chat/completions/"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_API_URL": "http://a", "OPENAI_BASE_URL": "http://b"}, "openai_url", "http://a"),
    ({"OPENAI_API_URL": "", "OPENAI_BASE_URL": "http://b"}, "openai_url", "http://b"),
    ({"RANK": "3"}, "rank", 3),
    ({"LOCAL_RANK": "1"}, "local_rank", 1),
    ({"WORLD_SIZE": "8"}, "processes", 8),
    ({"LMMS_RPTS_CACHE": "/data/answers"}, "cache", Path("/data/answers")),
    ({"LMMS_RPTS_CACHE": "off"}, "cache", None),
    ({"LMMS_RPTS_CACHE": " off\n"}, "cache", None),
    ({"LMMS_RPTS_CACHE": "offline"}, "cache", Path("offline")),
    ({"XDG_CACHE_HOME": "/xdg"}, "cache", Path("/xdg/lmms_rpts")),
    ({"XDG_CACHE_HOME": "/xdg", "LMMS_RPTS_CACHE": ""}, "cache", Path("/xdg/lmms_rpts")),
    ({"XDG_CACHE_HOME": "/xdg", "LMMS_RPTS_CACHE": "/data"}, "cache", Path("/data")),
    ({"XDG_CACHE_HOME": "/xdg", "LMMS_RPTS_CACHE": "off"}, "cache", None),
    ({"LMMS_RPTS_JUDGE_SAMPLES": "1"}, "judge_samples", 1),
    ({"LMMS_RPTS_JUDGE_SAMPLES": "5"}, "judge_samples", 5),
    ({"LMMS_RPTS_JURY": "majority"}, "jury", "majority"),
    ({"LMMS_RPTS_TEMPERATURE": "0"}, "temperature", 0.0),
    ({"LMMS_RPTS_TEMPERATURE": "2"}, "temperature", 2.0),
    ({"LMMS_RPTS_TEMPERATURE": "0.3"}, "temperature", 0.3),
    ({"LMMS_RPTS_JUDGE_SAMPLES": "1"}, "temperature", 0.0),
    ({"LMMS_RPTS_JUDGE_SAMPLES": "2"}, "temperature", 0.7),
    ({"LMMS_RPTS_JUDGE_SAMPLES": "2", "LMMS_RPTS_TEMPERATURE": "1"}, "temperature", 1.0),
    ({"LMMS_RPTS_JUDGE_SAMPLES": "1", "LMMS_RPTS_TEMPERATURE": "0"}, "temperature", 0.0),
    ({"LMMS_RPTS_STRUCTURED": "auto"}, "structured", True),
    ({"LMMS_RPTS_STRUCTURED": "off"}, "structured", False),
    ({"LMMS_RPTS_PROMPTS": "/data/prompts"}, "prompts", Path("/data/prompts")),
    ({"LMMS_RPTS_VALIDITY": " a b/validity.json\n"}, "validity", Path("a b/validity.json")),
    ({"LMMS_RPTS_PRICE": "0.15/0.60"}, "prices", (Price(0.15, 0.6),)),
    ({"LMMS_RPTS_PRICE": " 3 / 15 "}, "prices", (Price(3.0, 15.0),)),
    ({"LMMS_RPTS_PRICE": "0/0"}, "prices", (Price(0.0, 0.0),)),
    ({"LMMS_RPTS_PRICE": "0.15/0.60+3/15"}, "prices", (Price(0.15, 0.6), Price(3.0, 15.0))),
    ({"LMMS_RPTS_PRICE": "1/2 + 1/2"}, "prices", (Price(1.0, 2.0), Price(1.0, 2.0))),
    ({"LMMS_RPTS_MAX_JUDGE_TOKENS": "1000000"}, "max_judge_tokens", 1_000_000),
    ({"LMMS_RPTS_MAX_JUDGE_COST": "2.5", "LMMS_RPTS_PRICE": "1/2"}, "max_judge_cost", 2.5),
    ({"LMMS_RPTS_MAX_JUDGE_COST": "0", "LMMS_RPTS_PRICE": "1/2"}, "max_judge_cost", 0.0),
    ({"LMMS_RPTS_BATCH_SIZE": "1"}, "batch_size", 1),
    ({"LMMS_RPTS_BATCH_SIZE": "64"}, "batch_size", 64),
    ({"LMMS_RPTS_EVIDENCE": "both"}, "evidence", "both"),
    ({"LMMS_RPTS_IMAGE_SIZE": "64"}, "image_size", 64),
    ({"LMMS_RPTS_CORRECT": "exact_match>=0.5"}, "correct", "exact_match>=0.5"),
    ({"LMMS_RPTS_GRADES": "/tmp/g.jsonl"}, "grades", Path("/tmp/g.jsonl")),
)
def test_a_variable_is_read(variables: dict[str, str], field: str, value: Any) -> None:
    found = read_all(variables)[field]
    assert found == value
    assert type(found) is type(value)


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert read_all({"RPTS_PATH": "~/rpts"})["rpts_path"] == Path("/home/somebody/rpts")
    assert load_settings({"LMMS_RPTS_PROMPTS": "~/p"}).prompts == Path("/home/somebody/p")
    assert load_settings({"LMMS_RPTS_VALIDITY": "~/v"}).validity == Path("/home/somebody/v")
    assert validity_file({"LMMS_RPTS_VALIDITY": "~/v"}) == Path("/home/somebody/v")
    assert load_settings({"LMMS_RPTS_CACHE": "~/c"}).cache == Path("/home/somebody/c")
    assert load_settings({"XDG_CACHE_HOME": "~/x"}).cache == Path("/home/somebody/x/lmms_rpts")
    assert load_settings({}).cache == Path("/home/somebody/.cache/lmms_rpts")


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user id has no entry in the user database."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(RuntimeError):
        Path("~").expanduser()


@table(
    "variables, cache",
    ({"LMMS_RPTS_CACHE": "off"}, None),
    ({"LMMS_RPTS_CACHE": "/data/answers"}, Path("/data/answers")),
    ({"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/lmms_rpts")),
)
def test_no_home_is_needed_where_a_folder_is_named(
    homeless: None, variables: dict[str, str], cache: Path | None
) -> None:
    assert load_settings(variables).cache == cache


def test_without_a_home_the_cache_is_what_is_named(homeless: None) -> None:
    with pytest.raises(SettingError, match="LMMS_RPTS_CACHE"):
        load_settings({})


@table("name", "LMMS_RPTS_CACHE", "LMMS_RPTS_PROMPTS", "RPTS_PATH")
def test_a_home_that_there_is_not_is_named(name: str) -> None:
    with pytest.raises(SettingError, match=f"{name}.*nobody_of_that_name"):
        read_all({name: "~nobody_of_that_name/x"})


DEFAULTS = Settings(
    judge=None,
    cache=Path("~/.cache/lmms_rpts").expanduser(),
    concurrency=32,
    timeout=120.0,
    judge_samples=1,
    jury="mean",
    temperature=0.0,
    structured=True,
    prompts=None,
    prices=(),
    max_judge_tokens=None,
    max_judge_cost=None,
    batch_size=8,
    transform=None,
    decay=None,
    focus_height=None,
    openai_url=None,
    openai_key=None,
    rank=0,
    local_rank=0,
    processes=1,
)


def test_all_our_variables_are_known_to_the_tests() -> None:
    ours = {name for name in VARIABLES if name.startswith("LMMS_RPTS_")}
    assert ours | {"LMMS_RPTS_CACHE"} == set(NAMES)


OF_BENCHMARKS = {
    "rpts_path": None,
    "rome_path": None,
    "rome_grader": "rule",
    "rome_consistency": False,
    "cmmath_path": None,
    "cmmath_grader": "rule",
    "cmmath_errors": False,
    "reform_path": None,
    "reform_instructions": None,
    "reform_duplicates": None,
    "reform_wording": "varied",
    "reform_order": "balanced",
    "reform_marks": "upper",
    "reform_in_context": True,
    "reform_limit": None,
    "reform_max_tokens": "long",
    "reform_reduction": "sum",
    "reform_seed": 0,
    "reform_java": True,
}
EVERYTHING = {field.name: getattr(DEFAULTS, field.name) for field in fields(DEFAULTS)}
EVERYTHING |= OF_BENCHMARKS


def test_nothing_set() -> None:
    assert load_settings({}) == DEFAULTS
    assert read_all({}) == EVERYTHING


@table("empty", "", " ", "\t\n")
@table("name", *VARIABLES, "LMMS_RPTS_CACHE", "XDG_CACHE_HOME")
def test_an_empty_variable_is_not_set(name: str, empty: str) -> None:
    assert read_all({name: empty}) == EVERYTHING


def test_other_variables_are_left_alone() -> None:
    assert load_settings({"LMMS_EVAL_JUDGE": "x", "lmms_rpts_decay": "9"}) == DEFAULTS


def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    assert load_settings() == replace(DEFAULTS, cache=None)
    monkeypatch.setenv("LMMS_RPTS_DECAY", "0.5")
    assert load_settings().decay == 0.5


@table(
    "name, value, allowed",
    ("LMMS_RPTS_CONCURRENCY", "0", "at least 1"),
    ("LMMS_RPTS_CONCURRENCY", "-4", "at least 1"),
    ("LMMS_RPTS_CONCURRENCY", "many", "whole number"),
    ("LMMS_RPTS_CONCURRENCY", "1.5", "whole number"),
    ("LMMS_RPTS_TIMEOUT", "0", "from 1 to 86400"),
    ("LMMS_RPTS_TIMEOUT", "-1", "from 1 to 86400"),
    ("LMMS_RPTS_TIMEOUT", "86401", "from 1 to 86400"),
    ("LMMS_RPTS_TIMEOUT", "nan", "from 1 to 86400"),
    ("LMMS_RPTS_TIMEOUT", "inf", "from 1 to 86400"),
    ("LMMS_RPTS_TIMEOUT", "2 min", "from 1 to 86400"),
    ("LMMS_RPTS_TRANSFORM", "LLM", "llm, rule, auto"),
    ("LMMS_RPTS_TRANSFORM", "none", "llm, rule, auto"),
    ("LMMS_RPTS_DECAY", "-0.1", "from 0 to 1"),
    ("LMMS_RPTS_DECAY", "1.01", "from 0 to 1"),
    ("LMMS_RPTS_DECAY", "nan", "from 0 to 1"),
    ("LMMS_RPTS_DECAY", "90%", "from 0 to 1"),
    ("LMMS_RPTS_FOCUS_HEIGHT", "-1", "at least 0"),
    ("LMMS_RPTS_FOCUS_HEIGHT", "1.0", "whole number"),
    ("WORLD_SIZE", "0", "at least 1"),
    ("WORLD_SIZE", "two", "whole number"),
    ("RANK", "-1", "at least 0"),
    ("RANK", "x", "whole number"),
    ("LOCAL_RANK", "-1", "at least 0"),
    ("LOCAL_RANK", "0.0", "whole number"),
    ("LMMS_RPTS_JUDGE_SAMPLES", "0", "at least 1"),
    ("LMMS_RPTS_JUDGE_SAMPLES", "2.0", "whole number"),
    ("LMMS_RPTS_JURY", "vote", "majority"),
    ("LMMS_RPTS_TEMPERATURE", "-0.1", "from 0 to 2"),
    ("LMMS_RPTS_TEMPERATURE", "2.1", "from 0 to 2"),
    ("LMMS_RPTS_TEMPERATURE", "nan", "from 0 to 2"),
    ("LMMS_RPTS_TEMPERATURE", "warm", "from 0 to 2"),
    ("LMMS_RPTS_STRUCTURED", "on", "auto, off"),
    ("ROME_GRADER", "LLM", "rule, llm, recommended"),
    ("ROME_GRADER", "gpt-4o", "rule, llm, recommended"),
    ("ROME_CONSISTENCY", "yes", "0, 1"),
    ("ROME_CONSISTENCY", "2", "0, 1"),
    ("CMMATH_GRADER", "llm", "rule, judge, both"),
    ("CMMATH_GRADER", "Judge", "rule, judge, both"),
    ("CMMATH_ERRORS", "true", "0, 1"),
    ("LMMS_RPTS_STRUCTURED", "OFF", "auto, off"),
    ("LMMS_RPTS_MAX_JUDGE_TOKENS", "0", "at least 1"),
    ("LMMS_RPTS_MAX_JUDGE_TOKENS", "1e6", "whole number"),
    ("LMMS_RPTS_MAX_JUDGE_COST", "-1", "from 0 to 1e+09"),
    ("LMMS_RPTS_MAX_JUDGE_COST", "nan", "from 0 to 1e+09"),
    ("LMMS_RPTS_MAX_JUDGE_COST", "$5", "from 0 to 1e+09"),
    ("LMMS_RPTS_BATCH_SIZE", "0", "at least 1"),
    ("LMMS_RPTS_BATCH_SIZE", "auto", "whole number"),
    ("LMMS_RPTS_EVIDENCE", "images", "facts, image, both"),
    ("LMMS_RPTS_IMAGE_SIZE", "63", "from 64 to 8192"),
    *(
        ("LMMS_RPTS_PRICE", price, "0.15/0.60")
        for price in (
            *("0.15", "0.15/", "/0.60", "/", "1/2/3", "0.15-0.60", "cheap/dear", "$1/$2"),
            *("-1/2", "1/-2", "nan/1", "1/inf", "1e6/1", "1/2+", "+1/2", "1/2+3", "1/2,3/4"),
        )
    ),
)
def test_a_bad_value_is_named(name: str, value: str, allowed: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_all({name: value})
    message = str(caught.value)
    assert name in message
    assert repr(value) in message
    assert allowed in message


def test_an_address_without_a_protocol_is_named() -> None:
    with pytest.raises(SettingError, match="OPENAI_BASE_URL"):
        load_settings({"OPENAI_BASE_URL": "localhost:8000/v1"})


@table(
    "field, name, whole, processes, each",
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "32", "1", 32),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "32", "8", 4),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "10", "4", 2),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "4", "8", 1),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "1", "2", 1),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "", "4", 8),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "", "64", 1),
    ("concurrency", "LMMS_RPTS_CONCURRENCY", "64", "", 64),
    ("max_judge_tokens", "LMMS_RPTS_MAX_JUDGE_TOKENS", "1000", "", 1000),
    ("max_judge_tokens", "LMMS_RPTS_MAX_JUDGE_TOKENS", "1000", "8", 125),
    ("max_judge_tokens", "LMMS_RPTS_MAX_JUDGE_TOKENS", "10", "4", 2),
    ("max_judge_tokens", "LMMS_RPTS_MAX_JUDGE_TOKENS", "3", "8", 1),
    ("max_judge_cost", "LMMS_RPTS_MAX_JUDGE_COST", "1", "", 1.0),
    ("max_judge_cost", "LMMS_RPTS_MAX_JUDGE_COST", "1", "4", 0.25),
    ("max_judge_cost", "LMMS_RPTS_MAX_JUDGE_COST", "0.5", "2", 0.25),
    ("max_judge_cost", "LMMS_RPTS_MAX_JUDGE_COST", "0", "4", 0.0),
)
def test_processes_share(field: str, name: str, whole: str, processes: str, each: float) -> None:
    variables = {name: whole, "WORLD_SIZE": processes, "LMMS_RPTS_PRICE": "1/2"}
    assert getattr(load_settings(variables), field) == each


@table("cost", "0", "2.5")
def test_a_cost_without_a_price_is_an_error(cost: str) -> None:
    with pytest.raises(SettingError, match=r"LMMS_RPTS_MAX_JUDGE_COST.*LMMS_RPTS_PRICE="):
        load_settings({"LMMS_RPTS_MAX_JUDGE_COST": cost})


@table("zero", "0", "0.0", "-0")
def test_the_same_answer_several_times_is_an_error(zero: str) -> None:
    with pytest.raises(SettingError, match=r"LMMS_RPTS_TEMPERATURE=.*LMMS_RPTS_JUDGE_SAMPLES=3"):
        load_settings({"LMMS_RPTS_TEMPERATURE": zero, "LMMS_RPTS_JUDGE_SAMPLES": "3"})


def test_the_key_is_never_shown() -> None:
    settings = load_settings({"OPENAI_API_KEY": "sk-secret", "LMMS_RPTS_JUDGE": "lexical"})
    assert settings.openai_key == "sk-secret"
    for shown in (repr(settings), str(settings), f"{settings}"):
        assert "sk-secret" not in shown
        assert "lexical" in shown


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        load_settings({}).decay = 0.1  # type: ignore[misc]


@table(
    "misspelt, meant",
    ("LMMS_RPTS_CONCURENCY", "LMMS_RPTS_CONCURRENCY"),
    ("LMMS_RPTS_CACHE_DIR", "LMMS_RPTS_CACHE"),
    ("LMMS_RPTS_SAMPLES", "LMMS_RPTS_JUDGE_SAMPLES"),
    ("LMMS_RPTS_JUDGE_TEMPERATURE", "LMMS_RPTS_TEMPERATURE"),
    ("LMMS_RPTS_STRUCTURE", "LMMS_RPTS_STRUCTURED"),
    ("LMMS_RPTS_PROMPT", "LMMS_RPTS_PROMPTS"),
    ("LMMS_RPTS_PRICES", "LMMS_RPTS_PRICE"),
    ("LMMS_RPTS_MAX_TOKENS", "LMMS_RPTS_MAX_JUDGE_TOKENS"),
    ("LMMS_RPTS_MAX_COST", "LMMS_RPTS_MAX_JUDGE_COST"),
    ("LMMS_RPTS_BATCHSIZE", "LMMS_RPTS_BATCH_SIZE"),
    ("LMMS_RPTS_VALID", "LMMS_RPTS_VALIDITY"),
)
@table("value", "1", "")
def test_a_misspelt_setting_is_named(misspelt: str, meant: str, value: str) -> None:
    with pytest.raises(SettingError, match=rf"{misspelt}\. Did you mean {meant}\?"):
        load_settings({misspelt: value})


@table("unlike", "LMMS_RPTS_", "LMMS_RPTS_VERBOSE", "LMMS_RPTS_SEED")
def test_a_setting_that_is_like_none_names_all(unlike: str) -> None:
    """The common prefix of all names must not make a name similar."""
    with pytest.raises(SettingError) as caught:
        load_settings({unlike: "1"})
    assert "Did you mean" not in str(caught.value)
    for name in NAMES:
        assert name in str(caught.value)


def test_variables_of_others_are_no_misspelt_settings() -> None:
    load_settings({"LMMS_RPTS_REFERENCE": "/data", "LMMS_EVAL_X": "1"})


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingError, match="OPENAI_API_KEY") as caught:
        load_settings({"OPENAI_BASE_URL": "http://localhost/v1?api_key=hush"})
    assert "hush" not in str(caught.value)


@table(
    "misspelt, meant",
    ("CMMATH_GRADR", "CMMATH_GRADER"),
    ("CMMATH_ERROR", "CMMATH_ERRORS"),
    ("ROME_PTH", "ROME_PATH"),
)
def test_misspelt_names_of_the_benchmarks_settings_are_refused(misspelt: str, meant: str) -> None:
    with pytest.raises(SettingError, match=f"Unknown setting {misspelt}. Did you mean {meant}"):
        read_all({misspelt: "1"})


@table("name", "CMMATH_HOME", "ROME_RESULTS", "RPTS_EVAL_DIR")
def test_variables_of_others_are_left_alone(name: str) -> None:
    read_all({name: "1"})
