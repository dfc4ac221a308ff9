"""Files and folders of custom tasks: expanded for lmms-eval, and checked without its index."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.settings import load_settings, options_given
from lmms_rpts.host.task_index import read_simply
from lmms_rpts.judging import NO_JUDGE, JudgeConfigurationError, find_judge
from lmms_rpts.tasks.data import Check, DataError, data_fault, problem
from lmms_rpts.tasks.own import KEY

_REMEDY = "docs/your-own-data.md shows what a task file looks like"
_state = threading.local()


def load_whole(
    load: Callable[..., Any],
    yaml_path: str | None = None,
    yaml_config: Any = None,
    yaml_dir: str | None = None,
    mode: str = "full",
) -> Any:
    """What ``load``, lmms-eval's ``load_yaml_config``, returns, expanded if it has ``rpts``.

    A file that another includes is expanded as a part of that file.
    """
    depth = getattr(_state, "depth", 0)
    _state.depth = depth + 1
    try:
        config = load(yaml_path, yaml_config, yaml_dir, mode)
    finally:
        _state.depth = depth
    if mode != "full" or depth or not yaml_path:
        return config
    if not isinstance(config, Mapping) or KEY not in config:
        return config
    from lmms_rpts.tasks.own.config import expand

    return expand(config, Path(yaml_path).parent)


def refuse_shadowed(manager: Any, names: Sequence[Any]) -> None:
    """Refuse a custom task that lmms-eval would ignore for another one of the same name."""
    given = manager.include_path
    folders = [given] if isinstance(given, str) else given or []
    for path in (path for folder in folders for path in Path(folder).rglob("*.yaml")):
        config: Mapping[str, Any] = {}
        with contextlib.suppress(Exception):  # lmms-eval has reported it
            config = read_simply(str(path))
        name = config.get("task") if KEY in config else None
        entry = manager.task_index.get(name) if name in names else None
        if entry is not None and Path(str(entry["yaml_path"])).resolve() != path.resolve():
            raise DataError(
                f"{path} names its task {name!r}, but there is another task of this name "
                f"({entry['yaml_path']}), which would run instead. Rename yours."
            )


def requested_tasks(manager: Any, arguments: dict[str, Any]) -> Sequence[Any]:
    """The tasks of an evaluation: names and configurations.

    For ``--tasks NAME``, lmms-eval reads the task files of a folder ``./NAME``. If it has none, the
    task NAME is run, instead of "No tasks found": ``rome`` may be a folder of results, and a clone
    of ``CMMaTH`` has the name of the task ``cmmath`` on a file system that ignores case. The
    ``arguments`` of ``simple_evaluate`` are changed then.
    """
    tasks = arguments.get("tasks") or []
    found: Sequence[Any] = [tasks] if isinstance(tasks, str) else tasks
    asked = getattr(arguments.get("cli_args"), "tasks", None)
    if not isinstance(asked, str) or not Path(asked).is_dir():
        return found
    has_files = any(isinstance(each, Mapping) and "task" in each for each in found)
    # Matching also registers names like mmmu_val_rpts.
    if asked not in (manager.task_index if has_files else manager.match_tasks([asked])):
        return found
    logger.warning(
        "The folder {} hides the task {!r} from lmms-eval. {}. To avoid this, rename the folder "
        "or use another working folder",
        Path(asked).absolute(),
        asked,
        "Its task files run instead" if has_files else "It has no task files: the task runs",
    )
    if not has_files:
        arguments["tasks"] = found = [asked]
    return found


def examine_folder(folder: Path) -> Sequence[Check]:
    """Check the tasks that ``--include_path FOLDER`` would add; loads no model.

    The data and images of each task are checked as before a run.
    """
    from lmms_eval.tasks import TaskManager

    if not folder.is_dir():
        return [problem("own tasks", f"{folder} is not a folder", "pass a folder with task files")]
    try:
        # Skips lmms-eval's own index of thousands of files.
        manager = TaskManager("ERROR", include_path=str(folder), include_defaults=False)
    except Exception as error:  # the reader may raise any error for a broken file
        fault = f"{folder} contains an unreadable YAML file: {error}"
        return [problem("own tasks", fault, _REMEDY)]
    names = [*manager.all_subtasks, *manager.all_groups]
    if not names:
        said = f"{folder} contains no .yaml file with a task"
        return [problem("own tasks", said, _REMEDY)]
    checks: list[Check] = []
    judge: dict[str, Check] = {}
    for name in names:
        try:
            checks.append(_examined(manager, name))
        except JudgeConfigurationError as error:
            judge[str(error)] = problem("judge", error)
            with options_given(judge=NO_JUDGE):  # the data are checked with or without a judge
                checks.append(_examined(manager, name))
    settings = load_settings()
    try:
        if judge and settings.judge:
            find_judge(settings.judge, settings)
    except JudgeConfigurationError:
        return checks  # a judge that cannot be used has its own check
    return [*checks, *judge.values()]


def _examined(manager: Any, name: str) -> Check:
    """The result for one task; a JudgeConfigurationError if it needs a judge, or a better one."""
    from lmms_rpts.host.own_tasks import check_own_tasks
    from lmms_rpts.tasks.own.starting import check_name

    try:
        config = manager._get_config(name)
        check_own_tasks(manager, [name])
        metadata = config.get("metadata") if isinstance(config, Mapping) else None
        if not isinstance(metadata, Mapping) or "instances" not in metadata:
            return Check(name, "ok", "its file is readable")
        check_name(name)
    except JudgeConfigurationError:
        raise
    except UserError as error:
        return data_fault(name, error)
    except Exception as error:  # a function that the YAML names may be missing or fail
        return problem(name, f"cannot be read: {error}", _REMEDY)
    return Check(name, "ok", f"{metadata['instances']:,} instances, answers: {metadata['answer']}")
