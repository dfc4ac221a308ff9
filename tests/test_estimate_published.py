"""Estimates without the data: from published totals, without a key and without the network."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.analysis.estimate import estimate_need
from lmms_rpts.cli import app
from lmms_rpts.tasks.documents import published_documents, read_documents
from tests.support.reference import find_reference
from tests.support.tables import table


@pytest.fixture
def unconnected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("RPTS_PATH", "OPENAI_API_KEY", "LMMS_RPTS_JUDGE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


def test_nothing_is_on_this_machine(unconnected: None) -> None:
    done = CliRunner().invoke(app, ["estimate", "rpts_eval_en"])
    assert done.exit_code == 0, done.output
    assert (
        "rpts_eval_en: estimated from published totals, because the data are not on this machine"
        in done.output
    )
    assert "rpts_eval_en (416)" in done.output


def test_a_folder_without_the_data(
    unconnected: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    done = CliRunner().invoke(app, ["estimate", "rpts_eval_zh", "--limit", "5"])
    assert done.exit_code == 0, done.output
    assert f"on this machine ({tmp_path / 'texts_zh.json'}" in done.output.replace("\n", "")
    assert "rpts_eval_zh (5)" in done.output


@table("task", "rome", "rome_geo", "cmmath", "reform_a_okvqa")
def test_what_has_no_totals(unconnected: None, task: str) -> None:
    done = CliRunner().invoke(app, ["estimate", task])
    assert done.exit_code == 1
    assert f"There is no estimate for {task}" in done.output
    assert "LMMS_RPTS_MAX_JUDGE_TOKENS" in done.output


def test_saved_responses_need_the_data(
    unconnected: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"task": "rpts_eval_en", "doc_id": 0, "response": "agree"}\n')
    done = CliRunner().invoke(app, ["estimate", "rpts_eval_en", "--samples", str(samples)])
    assert done.exit_code == 1
    assert "needs the data" in done.output


@pytest.mark.slow
@table("language", "en", "zh")
def test_totals_are_close_to_the_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str
) -> None:
    """The calls within 5%, the tokens within 10%."""
    task = f"rpts_eval_{language}"
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    found = published_documents(task)
    assert found is not None
    monkeypatch.setenv("RPTS_PATH", str(find_reference("rpts_eval")))
    assert published_documents(task) is None
    docs, real = found[0][task], read_documents(task)[task]
    assert len(docs) == len(real)
    for name in ("visual_clue", "textual_clue"):
        assert sum(len(each[name]) for each in docs) == sum(len(each[name]) for each in real)
    made, true = estimate_need(docs).typical, estimate_need(real).typical
    assert made.calls == pytest.approx(true.calls, rel=0.05)
    assert made.usage.input_tokens == pytest.approx(true.usage.input_tokens, rel=0.1)
