"""Index of the required tasks: lmms-eval's folder is not scanned for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lmms_eval.models
import lmms_eval.tasks
import pytest
import yaml

from lmms_rpts.host.task_index import only_tasks, wanted_tasks
from lmms_rpts.tasks.benchmark import benchmark_of
from tests.support.fork_server import read_yaml_quickly
from tests.support.tables import table

ROOT = Path(lmms_eval.tasks.__file__).parent
_OWN = "task: {}\ndataset_path: json\n"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of lmms-eval that were scanned."""
    folders: list[Path] = []
    real = lmms_eval.tasks.TaskManager._get_task_and_group

    def noted(manager: object, folder: str) -> object:
        if Path(folder).is_relative_to(ROOT):
            folders.append(Path(folder))
        return real(manager, folder)

    monkeypatch.setattr(lmms_eval.tasks.TaskManager, "_get_task_and_group", noted)
    return folders


def test_ours_and_the_users_alone(tmp_path: Path, read: list[Path]) -> None:
    (tmp_path / "mine.yaml").write_text(_OWN.format("mine"), encoding="utf-8")
    with only_tasks(["rpts_demo", "mine"]):
        manager = lmms_eval.tasks.TaskManager("ERROR", include_path=str(tmp_path))
    # "mine" could also be a task of lmms-eval, which takes precedence: only its names are checked.
    assert read == []
    foreign = [each for each in manager.all_tasks if benchmark_of(each) is None and each != "mine"]
    assert foreign == []
    assert {"rpts_demo", "rpts_eval", "rome", "mine"} <= set(manager.all_tasks)


@table("names", ["mmmu_val"], ["mmmu_val_rpts"], ["mmmu_val_rpts_steps", "rpts_demo"])
def test_a_task_of_lmms_eval_brings_its_folder_alone(
    read: list[Path], names: Sequence[str]
) -> None:
    read.clear()
    with only_tasks(names):
        manager = lmms_eval.tasks.TaskManager("ERROR")
    assert read == [ROOT / "mmmu"]
    assert "mmmu_val" in manager.all_tasks
    assert "mme" not in manager.all_tasks


def test_of_one_name_that_of_lmms_eval_comes_first(tmp_path: Path, read: list[Path]) -> None:
    (tmp_path / "mine.yaml").write_text(_OWN.format("mmmu_val"), encoding="utf-8")
    with only_tasks(["mmmu_val"]):
        manager = lmms_eval.tasks.TaskManager("ERROR", include_path=str(tmp_path))
    assert Path(manager.task_index["mmmu_val"]["yaml_path"]).is_relative_to(ROOT)


def test_a_name_that_is_defined_twice_is_taken_from_the_whole_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """lmms-eval 0.7.3 defines this task in two different files."""
    monkeypatch.setattr(yaml, "full_load", yaml.full_load)  # to be restored
    read_yaml_quickly()
    name = "mmbench_en_dev_reasoning"
    whole = lmms_eval.tasks.TaskManager("ERROR").task_index[name]["yaml_path"]
    with only_tasks([name]):
        assert lmms_eval.tasks.TaskManager("ERROR").task_index[name]["yaml_path"] == whole


def test_unknown_task_names_need_the_whole_index(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[bool] = []
    real = lmms_eval.tasks.TaskManager._get_task_and_group

    def noted(manager: object, folder: str) -> object:
        whole.append(Path(folder) == ROOT)
        return {} if Path(folder) == ROOT else real(manager, folder)

    monkeypatch.setattr(lmms_eval.tasks.TaskManager, "_get_task_and_group", noted)
    with only_tasks(["no_such_task"]):
        lmms_eval.tasks.TaskManager("ERROR")
    assert whole.count(True) == 1


def test_only_tasks_ends_with_its_block() -> None:
    with only_tasks(["a"]):
        assert wanted_tasks() == ("a",)
    assert wanted_tasks() is None
