"""The task files of ReForm-Eval: ``python -m lmms_rpts.tasks.reform_eval.yamls`` writes them.

Each set is a file of a few lines that includes a template; a test compares them with this module.
"""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.tasks.reform_eval.scorer import OF_CAPTIONS, OF_CHOICES
from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS

FOLDER = Path(__file__).parent / "yaml"
_MEAN = "!function lmms_rpts.tasks.aggregation.mean_over_tasks"


def task_files() -> dict[str, str]:
    """The text of each task file by its name."""
    files: dict[str, list[str]] = {}
    for name, (chosen, method, online) in TASKS.items():
        form = {"ocr": "open", "kie": "open"}.get(chosen.kind, chosen.kind)
        template = "online" if online else "likelihood" if method == "likelihood" else form
        part = name.removeprefix("reform_")
        include = f"include: _{template}_template_yaml"
        files[name] = [f"task: {name}", include, f"dataset_name: {part}"]
    for name, tasks in GROUPS.items():
        files[name] = [f"group: {name}", "task:", *(f"  - {task}" for task in tasks)]
        files[name] += ["aggregate_metric_list:"]
        for metric in OF_CAPTIONS if name == "reform_description" else OF_CHOICES:
            files[name] += [f"  - metric: {metric}", f"    aggregation: {_MEAN}"]
            # The sets have equal weights, as in the published averages.
            files[name] += ["    weight_by_size: false"]
        files[name] += ["metadata:", "  version: 1.0"]
    return {f"{name}.yaml": "".join(f"{line}\n" for line in lines) for name, lines in files.items()}


if __name__ == "__main__":
    for _name, _text in task_files().items():
        (FOLDER / _name).write_text(_text, encoding="utf-8")
