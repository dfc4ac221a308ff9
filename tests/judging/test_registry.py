"""Choosing a judge by one string, and what is said about a string that chooses none."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_rpts.judging import BACKENDS, JudgeConfigurationError, choices, find_backend, open_engine
from lmms_rpts.settings import SettingError, Settings
from tests.judging.asking import question, values
from tests.judging.conftest import Serve
from tests.support.judge_server import constant


@pytest.mark.parametrize(
    ("judge", "near"),
    [
        ("opnai:gpt-4o", "openai:MODEL"),
        ("open-ai:gpt-4o", "openai:MODEL"),
        ("lexcal", "lexical"),
        ("lexicals", "lexical"),
        ("non", "none"),
        ("None", "none"),
    ],
)
def test_an_unknown_judge_names_the_nearest(judge: str, near: str) -> None:
    with pytest.raises(JudgeConfigurationError) as caught:
        open_engine(judge)
    message = str(caught.value)
    assert repr(judge) in message
    assert f"Did you mean {near}?" in message
    for backend in BACKENDS.values():
        assert backend.usage in message


@pytest.mark.parametrize("judge", ["", "   ", ":", "gpt-4o-mini", "xyzzy:model", "openai/gpt-4o"])
def test_an_unknown_judge_names_what_there_is(judge: str) -> None:
    with pytest.raises(JudgeConfigurationError, match="LMMS_RPTS_JUDGE") as caught:
        open_engine(judge)
    for backend in BACKENDS.values():
        assert backend.usage in str(caught.value)


def test_capitals_are_near_enough() -> None:
    with pytest.raises(JudgeConfigurationError, match="Did you mean openai:MODEL"):
        open_engine("OpenAI:gpt-4o")


def test_a_cache_on_disk_is_refused_not_ignored(tmp_path: Path) -> None:
    with pytest.raises(JudgeConfigurationError, match="cache_dir"):
        open_engine("lexical", cache_dir=tmp_path)


def test_a_missing_key_says_what_to_set() -> None:
    with pytest.raises(JudgeConfigurationError, match=r"OPENAI_API_KEY.*OPENAI_BASE_URL") as caught:
        open_engine("openai:gpt-4o-mini")
    assert "openai:gpt-4o-mini" in str(caught.value)


@pytest.mark.parametrize("judge", ["openai", "openai:", " openai: "])
def test_a_missing_model_says_what_to_write(judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    with pytest.raises(JudgeConfigurationError, match="openai:gpt-4o-mini"):
        open_engine(judge)


@pytest.mark.parametrize("judge", ["lexical:big", "none:x"])
def test_bare_judges_take_no_model(judge: str) -> None:
    with pytest.raises(JudgeConfigurationError, match=f"(?s){judge}.*takes no model"):
        open_engine(judge)


def test_a_server_of_ones_own_needs_no_key(serve: Serve) -> None:
    server = serve(constant("Score: 0.7"))
    with open_engine("openai:org/model:7b", progress=False) as judge:
        assert values(judge.run([question("q")])) == [0.7]
    assert server.requests[0]["model"] == "org/model:7b"
    assert judge.name == "openai:org/model:7b"


def test_opening_a_judge_asks_nothing(serve: Serve) -> None:
    server = serve(constant("Score: 0.7"))
    with open_engine("openai:m", progress=False):
        pass
    assert server.calls == 0


def test_bad_settings_are_named_when_a_judge_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_TIMEOUT", "soon")
    with pytest.raises(SettingError, match="LMMS_RPTS_TIMEOUT='soon'"):
        open_engine("lexical")


def test_none_refuses() -> None:
    with open_engine("none", progress=False) as judge:
        verdicts = judge.run([question("a"), question("b", kind="transform")])
    assert values(verdicts) == [None, None]
    assert all("not judged" in str(verdict.error) for verdict in verdicts)


def test_lexical_only_scores() -> None:
    with open_engine("lexical", progress=False) as judge:
        verdicts = judge.run(
            [
                question("a", kind="image", evidence=("two dogs",), claim="two dogs"),
                question("b", kind="inference", evidence=("two dogs",), claim="two dogs"),
                question("c", kind="transform"),
                question("d", kind="answer"),
            ]
        )
    assert values(verdicts) == [1.0, 1.0, None, None]
    assert "only scores" in str(verdicts[2].error)


def test_what_is_said_of_the_backends_is_true() -> None:
    settings = Settings(openai_url="http://127.0.0.1:9/v1")
    for name, backend in BACKENDS.items():
        judge = backend.usage.replace("MODEL", "m")
        assert find_backend(judge, settings)[0] is backend
        assert find_backend(f"  {judge} ", settings)[0] is backend
        assert judge.partition(":")[0] == name
        assert backend.usage in choices()
        assert backend.purpose in choices()
    assert [name for name, backend in BACKENDS.items() if backend.comparable] == ["openai"]
    assert [name for name, backend in BACKENDS.items() if backend.writes] == ["openai"]
