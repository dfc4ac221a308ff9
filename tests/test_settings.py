"""Settings: arguments, variables, the file and defaults, and the messages about wrong ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import (
    CONFIG,
    Price,
    SettingError,
    load_settings,
    refuse_unknown,
    set_variables,
    with_variables,
)
from lmms_rpts.judging.registry import open_budget
from lmms_rpts.tasks.registry import SETTINGS_TABLES, configuration
from tests.support.environment import VARIABLES
from tests.support.tables import table

UNSET = [*VARIABLES, "LMMS_RPTS_CACHE", "XDG_CACHE_HOME"]
OF_OTHERS = ["LMMS_RPTS_REFERENCE", "LMMS_EVAL_X", "lmms_rpts_decay", "CMMATH_HOME", "RPTS_DIR"]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The working directory; nothing is set."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_all() -> None:
    refuse_unknown(SETTINGS_TABLES)
    configuration()


@table("name, value", *((name, " \t\n") for name in UNSET), *((name, "1") for name in OF_OTHERS))
def test_empty_variables_and_those_of_others_change_nothing(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = configuration()
    monkeypatch.setenv(name, value)
    assert configuration() == defaults


@table(
    "variables, field, value",
    ({"LMMS_RPTS_JUDGE": " lexical\n"}, "judge", "lexical"),
    ({"LMMS_RPTS_DECAY": "0.5"}, "decay", 0.5),
    ({"LMMS_RPTS_JUDGE_REASON": "false"}, "judge_reason", False),
    ({"LMMS_RPTS_EXTRA_BODY": '{"top_k": 20, "a": {"b": [1]}}'}, "extra_body",
     {"top_k": 20, "a": {"b": [1]}}),
    ({"LMMS_RPTS_CACHE": " off\n"}, "cache", None),
    ({"LMMS_RPTS_CACHE": "~/c"}, "cache", Path("/home/somebody/c")),
    ({"XDG_CACHE_HOME": "~/x"}, "cache", Path("/home/somebody/x/lmms_rpts")),
    ({"LMMS_RPTS_PROMPTS": " a b/prompts\n"}, "prompts", Path("a b/prompts")),
    ({"LMMS_RPTS_PRICE": " 1 / 2 "}, "unit_price", Price(1.0, 2.0)),
    ({"LMMS_RPTS_MAX_JUDGE_COST": "0", "LMMS_RPTS_PRICE": "1/2"}, "max_judge_cost", 0.0),
    ({"OPENAI_API_KEY": " sk-x\n"}, "openai_key", "sk-x"),
    ({"OPENAI_PROJECT_ID": "p"}, "openai_headers", {"OpenAI-Project": "p"}),
    ({"OPENAI_BASE_URL": "http://h:1/v1/"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_API_URL": "http://h:1/v1/chat/completions/"}, "openai_url", "http://h:1/v1"),
    ({"OPENAI_API_URL": "http://a", "OPENAI_BASE_URL": "http://b"}, "openai_url", "http://a"),
)  # fmt: skip
def test_a_variable_is_read(
    variables: dict[str, str], field: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    found = getattr(load_settings(), field)
    assert found == value
    assert type(found) is type(value)


def test_the_file_is_read_and_its_paths_are_relative_to_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "rpts.toml").write_text(
        'decay = 0.5\njudge_reason = false\ncache = "kept"\nprompts = "~/p"\n'
        '[rpts]\npath = "../rpts"\n[judge]\nname = "openai:m"\nextra_body = {top_k = 20}\n'
    )
    monkeypatch.setenv(CONFIG, "below/rpts.toml")
    found = configuration()
    changed: dict[str, Any] = {"decay": 0.5, "judge_reason": False}
    changed |= {"cache": str(folder / "below" / "kept"), "prompts": "/home/somebody/p"}
    changed |= {"judge": "openai:m", "extra_body": {"top_k": 20}}
    assert {name: found[name] for name in changed} == changed
    assert found["rpts"]["path"] == str(folder / "below" / ".." / "rpts")


def test_arguments_come_before_variables_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rpts.toml").write_text('judge = "none"\nconcurrency = 5\n[reform]\nlimit = 3')
    assert (load_settings().judge, load_settings().concurrency) == ("none", 5)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "4")
    assert configuration()["reform"]["limit"] == 4
    assert load_settings(judge=None).judge == load_settings(judge="").judge == "lexical"
    assert load_settings(judge="hf:x").judge == "hf:x"


def test_another_file_is_named_by_a_variable_also_for_started_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, decay in {"rpts": 0.1, "a": 0.2, "b": 0.3}.items():
        (folder / f"{name}.toml").write_text(f"decay = {decay}")
    assert load_settings().decay == 0.1
    monkeypatch.setenv(CONFIG, "a.toml")
    assert load_settings().decay == 0.2
    set_variables(LMMS_RPTS_CONFIG=str(folder / "b.toml"))
    code = "from lmms_rpts.base.settings import load_settings as l; print(l().decay)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "0.3", done.stderr
    monkeypatch.setenv(CONFIG, os.devnull)
    assert load_settings().decay is None
    monkeypatch.setenv(CONFIG, "c.toml")
    with pytest.raises(SettingError, match=r"LMMS_RPTS_CONFIG='c\.toml': there is no such file"):
        load_settings()


@table(
    "content, said",
    ("decay = 1.01", "decay=1.01 in {file}: should be less than or equal to 1"),
    ('decay = "x"', "decay='x' in {file}: should be a valid number"),
    ("price = 0.15", "price=0.15 in {file}: use the price of a million input and output tokens"),
    ("extra_body = [1]", "extra_body=[1] in {file}: use a JSON object"),
    ("decy = 1", "Unknown setting decy in {file}. Did you mean decay?"),
    ("[judge]\nnme = 1", "Unknown setting nme in [judge] of {file}. Did you mean name?"),
    ("rome = 1", "Unknown setting rome in {file}. "),
    ('[rome]\ngrader = "gpt"', "grader='gpt' in {file}: should be 'rule', 'llm' or 'recommended'"),
    ("decay = ", "Cannot read {file}: Invalid value"),
    ("judge = '\udcff'", "Cannot read {file}: 'utf-8' codec"),
)
def test_a_wrong_file_is_one_message(folder: Path, content: str, said: str) -> None:
    file = folder / "rpts.toml"
    file.write_text(content, errors="surrogateescape")
    with pytest.raises(SettingError) as caught:
        read_all()
    assert said.format(file=file) in str(caught.value)


@table(
    "head",
    *("openai_key", "OPENAI_API_KEY", "base_url", "[openai]\napi_key", "[rome]\napi_key"),
    *("[judge]\napi_key", "[judge]\nbase_url"),
)
def test_a_key_or_address_in_the_file_is_refused_and_not_repeated(folder: Path, head: str) -> None:
    (folder / "rpts.toml").write_text(f'{head} = "sk-hush"')
    said = r"never settings of a file.*Set OPENAI_API_KEY or OPENAI_BASE_URL"
    with pytest.raises(SettingError, match=said) as found:
        read_all()
    assert "hush" not in str(found.value)


WRONG_PRICES = ["0.15", "0.15/", "1/2/3", "$1/$2", "-1/2", "nan/1", "1/inf", "1e6/1", "1/2,3/4"]


@table(
    "name, value, allowed",
    ("LMMS_RPTS_EXTRA_BODY", "{top_k: 1}", "use a JSON object"),
    ("LMMS_RPTS_EXTRA_BODY", '{"a":' * 9999, "use a JSON object"),
    ("ROME_GRADER", "LLM", "should be 'rule', 'llm' or 'recommended'"),
    ("REFORM_LIMIT_SAMPLES", "0", "should be greater than or equal to 1"),
    ("LMMS_RPTS_MAX_JUDGE_TOKENS", "1e6", "should be a valid integer"),
    *(("LMMS_RPTS_PRICE", price, "0.15/0.60") for price in WRONG_PRICES),
)
def test_a_wrong_variable_is_named_with_what_is_allowed(
    name: str, value: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError) as caught:
        configuration()
    assert str(caught.value).startswith(f"{name}={value!r}"[:60])
    assert allowed in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_limit_in_money_needs_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_MAX_JUDGE_COST", "2.5")
    with pytest.raises(SettingError, match=r"LMMS_RPTS_MAX_JUDGE_COST: needs .* LMMS_RPTS_PRICE"):
        open_budget(load_settings())


@table(
    "url", "localhost:8000/v1", "http://a:hush@h/v1", "http://h/v1?k=hush", "http://h http://hush"
)
def test_a_wrong_argument_and_a_wrong_address_are_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingError, match=r"^concurrency=0: should be greater than or equal to 1"):
        load_settings(concurrency=0)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(SettingError, match=r"^OPENAI_BASE_URL: use one URL") as caught:
        load_settings()
    assert "hush" not in str(caught.value), "it is not repeated"


def test_without_a_home_the_cache_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user id has no entry in the user database."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(SettingError, match="LMMS_RPTS_CACHE"):
        load_settings()
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    assert load_settings().cache is None


@table(
    "field, whole, processes, share",
    ("concurrency", "32", "8", 4),
    ("concurrency", "4", "8", 1),
    ("max_judge_tokens", "1000", "8", 125),
    ("max_judge_cost", "1", "4", 0.25),
)
def test_the_processes_of_a_run_share_concurrency_and_budget(
    field: str, whole: str, processes: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"LMMS_RPTS_{field.upper()}", whole)
    monkeypatch.setenv("WORLD_SIZE", processes)
    monkeypatch.setenv("LMMS_RPTS_PRICE", "1/2")
    assert getattr(load_settings(), field) == share
    assert configuration()[field] == float(whole or 32)


def test_the_key_is_neither_shown_nor_recorded_nor_part_of_a_command(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    key = "sk-hush-a1b2c3d4"
    (folder / "a b.toml").write_text("decay = 0.5")
    set_for = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://h:1/v1", CONFIG: "a b.toml"}
    set_for |= {"LMMS_RPTS_EXTRA_BODY": f'{{"x": "{key}"}}', "LMMS_RPTS_JUDGE": "openai:a b"}
    for name, value in (set_for | {"ROME_GRADER": "llm"}).items():
        monkeypatch.setenv(name, value)
    found = load_settings()
    assert found.openai_key == key
    command = with_variables(["lmms-rpts", "score", "a b"], SETTINGS_TABLES)
    assert command.startswith("LMMS_RPTS_CONFIG='a b.toml' LMMS_RPTS_JUDGE='openai:a b' ")
    assert command.endswith(" ROME_GRADER=llm OPENAI_BASE_URL=http://h:1/v1 lmms-rpts score 'a b'")
    monkeypatch.setenv("LMMS_RPTS_EXTRA_BODY", f'["{key}"]')
    with pytest.raises(SettingError) as caught:
        load_settings()
    for shown in (repr(found.openai_url), command, str(caught.value)):
        assert "hush" not in shown


@table(
    "name, said",
    ("LMMS_RPTS_TRESHOLD", "Unknown setting LMMS_RPTS_TRESHOLD. Did you mean LMMS_RPTS_THRESHOLD"),
    ("LMMS_RPTS_OPENAI_KEY", "Set OPENAI_API_KEY"),
    # The common prefix of all names must not make a name similar.
    ("LMMS_RPTS_VERBOSE", "Known: LMMS_RPTS_CONFIG, LMMS_RPTS_JUDGE, "),
    ("CMMATH_GRADR", "Unknown setting CMMATH_GRADR. Did you mean CMMATH_GRADER?"),
)
@table("value", "1", "")
def test_an_unknown_variable_is_refused_with_the_nearest_setting(
    name: str, said: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError) as caught:
        configuration()
    assert said in str(caught.value)
