"""Generates the YAML files of ReForm-Eval's tasks and groups, and the list in its page.

``python -m tests.support.reform_yaml`` writes them from the table of sets; a test compares them.
"""

from __future__ import annotations

from pathlib import Path

import lmms_rpts.tasks.reform_eval
from lmms_rpts.tasks.reform_eval.dataset import ONLINE_TASKS
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method, data_sets, groups

PAGE = Path(__file__).parents[2] / "docs" / "reform_eval.md"
FOLDER = Path(lmms_rpts.tasks.reform_eval.__file__).parent / "yaml"
_HERE = "lmms_rpts.tasks.reform_eval"
_METRICS = ("accuracy", "accuracy_strict", "format_hit_rate", "instability")
_CAPTIONS = ("cider", "rouge_l", "bleu_4")


def task_yaml(chosen: DataSet, method: Method) -> str:
    """The file of a task."""
    task = chosen.task(method)
    base = "caption" if chosen.kind == "caption" else f"{chosen.kind}_{method}"
    text = _yaml(task, base)
    if chosen.kind == "caption":
        text += f"generation_kwargs: !function {_HERE}.dataset.generation_{chosen.name}\n"
    return text


def _yaml(task: str, base: str) -> str:
    name = task.removeprefix("reform_")
    return (
        f"task: {task}\n"
        f"include: _{base}.yaml\n"
        f"dataset_kwargs: !function {_HERE}.dataset.kwargs_{name}\n"
        f"metadata: !function {_HERE}.dataset.metadata_{name}\n"
    )


def group_yaml(name: str, tasks: list[str]) -> str:
    """The file of a group: its sets have equal weights, as in the published averages."""
    metrics = _CAPTIONS if name == "reform_description" else _METRICS
    lines = [
        f"group: {name}",
        "task:",
        *(f"  - {task}" for task in tasks),
        "aggregate_metric_list:",
    ]
    for metric in metrics:
        lines += [
            f"  - metric: {metric}",
            "    aggregation: !function lmms_rpts.tasks.aggregation.mean_over_tasks",
            "    weight_by_size: false",
        ]
    return "\n".join([*lines, "metadata:", "  version: 1.0", ""])


def all_files() -> dict[str, str]:
    """The texts of all files that are generated, by name."""
    files = {
        f"{chosen.task(method)}.yaml": task_yaml(chosen, method)
        for chosen in data_sets().values()
        for method in chosen.methods
    }
    files |= {f"{task}.yaml": _yaml(task, "online") for task in ONLINE_TASKS}
    return files | {f"{name}.yaml": group_yaml(name, tasks) for name, tasks in groups().items()}


def page() -> str:
    """The page of ReForm-Eval with the list of its sets."""
    kinds = {"choice": "single choice", "ocr": "text reading", "kie": "key information"}
    rows = [
        f"| `reform_{name}` | {each.title} | {each.dimension} | {kinds.get(each.kind, each.kind)} |"
        for name, each in data_sets().items()
    ]
    listed = "\n".join(["| task | set | dimension | kind |", "|---|---|---|---|", *rows])
    before, start, rest = PAGE.read_text(encoding="utf-8").partition("<!-- sets -->\n")
    return f"{before}{start}\n{listed}\n\n{rest[rest.index('<!-- end of sets -->') :]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    for file, text in all_files().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
