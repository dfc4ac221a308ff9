"""lmms-eval's viewer of runs (``lmms-eval-ui``): what it shows of replayed and re-scored runs."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lmms_rpts.runs.reading import replayed_model
from tests.support.lmms import run, run_lmms_eval
from tests.support.tables import table

CAREFUL = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], list[Any]]:
    """The viewer's own function that lists the runs below a folder."""
    if importlib.util.find_spec("fastapi") is None:
        _stand_in(monkeypatch)
    monkeypatch.delitem(sys.modules, "lmms_eval.tui.server", raising=False)
    server = importlib.import_module("lmms_eval.tui.server")
    return lambda folder: asyncio.run(server.list_log_runs(str(folder)))


def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake FastAPI: the tests call the viewer's functions directly."""

    class App:
        def __init__(self, **options: Any) -> None: ...

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **options: lambda function: function

    fastapi = ModuleType("fastapi")
    vars(fastapi).update(
        FastAPI=App, HTTPException=type("HTTPException", (Exception,), {}), Query=lambda *a, **k: a
    )
    monkeypatch.setitem(sys.modules, "fastapi", fastapi)
    for name, given in (
        ("middleware", ()),
        ("middleware.cors", ("CORSMiddleware",)),
        ("responses", ("FileResponse", "StreamingResponse")),
        ("staticfiles", ("StaticFiles",)),
    ):
        module = ModuleType(f"fastapi.{name}")
        vars(module).update(dict.fromkeys(given, lambda *args, **options: None))
        monkeypatch.setitem(sys.modules, f"fastapi.{name}", module)


def test_the_original_model_is_shown(tmp_path: Path, listed: Callable[[Path], list[Any]]) -> None:
    replayed, again, scored = (tmp_path / name for name in ("replayed", "again", "scored"))
    for folder, model_args in (
        (replayed, f"name=llava-7b,samples={CAREFUL}"),
        (again, f"samples={replayed}"),
    ):
        done = run_lmms_eval(
            folder, "--model", "replay", "--model_args", model_args, "--tasks", "rpts_demo"
        )
        assert done.results
        assert list(folder.glob("*_results.json")), "the folder of the results is unchanged"
    command = [str(Path(sys.executable).with_name("lmms-rpts")), "score", str(replayed)]
    done = run([*command, "--judge", "lexical", "-o", str(scored)])
    assert done.returncode == 0, done.stdout
    for folder in (replayed, again, scored):
        (shown,) = listed(folder)
        assert shown.model_name == "llava-7b", folder
        assert shown.tasks == ["rpts_demo"]


@table(
    "model_args, results, name",
    ("name=a/llava-7b,samples=x.jsonl", None, "llava-7b"),
    ({"name": "a b", "samples": "x.jsonl"}, None, "a b"),
    ("samples=FOLDER/said.jsonl", None, "said"),
    ("samples=FOLDER/1_samples_t.jsonl", {"config": {"model_args": "pretrained=lab/one"}}, "one"),
    ("samples=FOLDER", {"model_source": "qwen"}, "qwen"),
    ("samples=FOLDER/1_samples_t.jsonl", {"config": 3}, "1_samples_t"),
    ("samples=\ud800,name=..", None, "?"),
    ("", None, ""),
)
def test_its_name(
    tmp_path: Path, model_args: str | Mapping[str, Any], results: object, name: str
) -> None:
    (tmp_path / "1_samples_t.jsonl").write_text("")
    if results is not None:
        (tmp_path / "1_results.json").write_text(json.dumps(results))
    if isinstance(model_args, str):
        model_args = model_args.replace("FOLDER", str(tmp_path))
    assert replayed_model(model_args) == name
