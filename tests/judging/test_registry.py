"""Selection of a judge by name, and the error messages for unknown names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.registry import BACKENDS, find_judge
from lmms_rpts.judging.types import JudgeConfigurationError
from tests.support.tables import table

SERVER = Settings(openai_url="http://127.0.0.1:9/v1")
ALWAYS: Any = {"check": lambda model, settings: None, "sees": lambda model, settings: False}


@table("row", *Path(__file__).with_name("judges.jsonl").read_text("utf-8").splitlines())
def test_choice_of_a_judge(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """``judges.jsonl``: the name of the chosen judge, or the error, with some settings."""
    case = json.loads(row)
    monkeypatch.setitem(BACKENDS, "hf", replace(BACKENDS["hf"], **ALWAYS))
    settings = SERVER.model_copy(update=case.get("settings", {}))
    if "error" in case:
        with pytest.raises(JudgeConfigurationError, match=case["error"]):
            find_judge(case["judge"], settings)
        return
    found = find_judge(case["judge"], settings)
    assert (found.name, found.model) == (case["name"], case["name"].partition(":")[2])
