"""The environment: each variable, what it may hold, and what is said if it holds none of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.settings import SettingError, Settings, load_settings
from tests.support.environment import VARIABLES


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
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
    ],
)
def test_a_variable_is_read(variables: dict[str, str], field: str, value: Any) -> None:
    settings = load_settings(variables)
    assert getattr(settings, field) == value
    assert type(getattr(settings, field)) is type(value)


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert load_settings({"RPTS_PATH": "~/rpts"}).rpts_path == Path("/home/somebody/rpts")


DEFAULTS = Settings(
    judge=None,
    concurrency=32,
    timeout=120.0,
    transform=None,
    decay=None,
    focus_height=None,
    rpts_path=None,
    openai_url=None,
    openai_key=None,
    rank=0,
)


def test_nothing_set() -> None:
    assert load_settings({}) == DEFAULTS


@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
@pytest.mark.parametrize("name", VARIABLES)
def test_an_empty_variable_is_not_set(name: str, empty: str) -> None:
    assert load_settings({name: empty}) == DEFAULTS


def test_other_variables_are_left_alone() -> None:
    assert load_settings({"LMMS_EVAL_JUDGE": "x", "lmms_rpts_decay": "9"}) == DEFAULTS


def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert load_settings() == DEFAULTS
    monkeypatch.setenv("LMMS_RPTS_DECAY", "0.5")
    assert load_settings().decay == 0.5


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
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
    ],
)
def test_a_bad_value_is_named(name: str, value: str, allowed: str) -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({name: value})
    message = str(caught.value)
    assert name in message
    assert repr(value) in message
    assert allowed in message


def test_an_address_without_a_protocol_is_named() -> None:
    with pytest.raises(SettingError, match="OPENAI_BASE_URL"):
        load_settings({"OPENAI_BASE_URL": "localhost:8000/v1"})


@pytest.mark.parametrize(
    ("concurrency", "processes", "each"),
    [
        ("32", "1", 32),
        ("32", "8", 4),
        ("10", "4", 2),
        ("4", "8", 1),
        ("1", "2", 1),
        (None, "4", 8),
        (None, "64", 1),
        ("64", None, 64),
    ],
)
def test_concurrency_is_shared(concurrency: str | None, processes: str | None, each: int) -> None:
    variables = {"LMMS_RPTS_CONCURRENCY": concurrency or "", "WORLD_SIZE": processes or ""}
    assert load_settings(variables).concurrency == each


def test_the_key_is_never_shown() -> None:
    settings = load_settings({"OPENAI_API_KEY": "sk-secret", "LMMS_RPTS_JUDGE": "lexical"})
    assert settings.openai_key == "sk-secret"
    for shown in (repr(settings), str(settings), f"{settings}"):
        assert "sk-secret" not in shown
        assert "lexical" in shown


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        load_settings({}).decay = 0.1  # type: ignore[misc]


def test_a_misspelt_setting_is_named() -> None:
    with pytest.raises(SettingError, match="Did you mean LMMS_RPTS_CONCURRENCY"):
        load_settings({"LMMS_RPTS_CONCURENCY": "4"})
    load_settings({"LMMS_RPTS_REFERENCE": "/data", "LMMS_EVAL_X": "1"})


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingError, match="OPENAI_API_KEY") as caught:
        load_settings({"OPENAI_BASE_URL": "http://localhost/v1?api_key=hush"})
    assert "hush" not in str(caught.value)
