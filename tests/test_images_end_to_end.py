"""Reports in another shell find images where the run read them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.tasks import data as tasks_data
from lmms_rpts.tasks.benchmark import record_data_folders
from tests.support import cmmath, rome
from tests.support.instances import write_folder
from tests.support.lmms import TASKS_DIR, run
from tests.support.reform import write_reform

RPTS = str(Path(sys.executable).with_name("lmms-rpts"))
EXAMPLE = TASKS_DIR.parents[1] / "examples" / "own_benchmark"
PLACES = {
    "rpts_eval_en": ("RPTS_PATH", "rpts", "rpts/images"),
    "rome_geo": ("ROME_PATH", "rome", "rome"),
    "cmmath_rpts": ("CMMATH_PATH", "cmmath", "cmmath/images"),
    "reform_vsr": ("REFORM_PATH", "reform", "reform/huggingface_data"),
    "own_benchmark": ("", "own/data.jsonl", "own/images"),
}
"""The setting, the data and the images of each task."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with data, and in ``out`` a run of all tasks, with relative paths."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "rome").mkdir()
    (folder / "cmmath").mkdir()
    write_folder(folder / "rpts")
    rome.write_rome(folder / "rome")
    cmmath.write_cmmath(folder / "cmmath")
    write_reform(folder / "reform")
    shutil.copytree(EXAMPLE, folder / "own")
    done = run(
        [
            *(sys.executable, "-m", "lmms_eval", "--tasks", ",".join(PLACES), "--limit", "2"),
            *("--model", "dummy", "--include_path", "own", "--log_samples"),
            *("--output_path", "out"),
        ],
        env={name: path for name, path, _ in PLACES.values() if name}
        | {"LMMS_RPTS_JUDGE": "lexical"},
        cwd=folder,
    )
    assert list((folder / "out").rglob("*_results.json")), done.stdout
    return folder


def report(folder: Path, **env: str) -> str:
    done = run([RPTS, "report", "out", "-o", "report.html"], env=env, cwd=folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_results_record_where_data_and_images_were(folder: Path) -> None:
    (file,) = (folder / "out").rglob("*_results.json")
    configs: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["configs"]
    for task, (_, data, images) in PLACES.items():
        found = configs[task]["metadata"]
        assert (found["data"], found["images"]) == (str(folder / data), str(folder / images)), task


def test_data_of_the_hub_are_recorded_with_their_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "datasets--nimingshuaishi--RPTS-Eval" / "snapshots" / "c0ffee"
    (copy / "images").mkdir(parents=True)
    monkeypatch.setattr(tasks_data, "downloaded", lambda name: copy)
    monkeypatch.delenv("RPTS_PATH", raising=False)
    configs: dict[str, Any] = {"rpts_eval_en": {"metadata": {"version": 1.0}}, "mme": {}}
    record_data_folders(configs)
    found = {"data": "nimingshuaishi/RPTS-Eval@c0ffee", "images": str(copy / "images")}
    assert configs == {"rpts_eval_en": {"metadata": {"version": 1.0, **found}}, "mme": {}}


def test_a_report_without_settings_shows_all_images(folder: Path) -> None:
    assert "not found" not in report(folder)


def test_a_place_that_is_gone_is_named_and_the_setting_takes_precedence(folder: Path) -> None:
    (folder / "rpts").rename(folder / "moved")
    assert f"the run read them from {folder}/rpts/images, which no longer exists" in report(folder)
    assert "not found" not in report(folder, RPTS_PATH="moved")
    assert "images were not found" in report(folder, RPTS_PATH="moved", ROME_PATH="reform")
    (folder / "moved").rename(folder / "rpts")
