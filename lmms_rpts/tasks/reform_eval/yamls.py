"""The task files of ReForm-Eval: ``python -m lmms_rpts.tasks.reform_eval.yamls`` writes them.

Each set is a file of a few lines that includes a template; a test compares them with this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmms_rpts.tasks.reform_eval.sets import GROUPS, TASKS

FOLDER = Path(__file__).parent / "yaml"
_MEAN = "!function lmms_rpts.tasks.aggregation.mean_over_tasks"
_CHOICE = ("accuracy", "accuracy_strict", "strict_coverage", "format_hit_rate", "instability")
_CAPTIONS = ("cider", "rouge_l", "bleu_4")


def task_files() -> dict[str, str]:
    """The text of each task file by its name."""
    named = {name: _task(name) for name in TASKS} | {name: _group(name) for name in GROUPS}
    return {f"{name}.yaml": "".join(f"{line}\n" for line in lines) for name, lines in named.items()}


def _task(name: str) -> Iterator[str]:
    chosen, method, online = TASKS[name]
    form = {"ocr": "open", "kie": "open"}.get(chosen.kind, chosen.kind)
    template = "online" if online else "likelihood" if method == "likelihood" else form
    yield f"task: {name}"
    yield f"include: _{template}_template_yaml"
    yield f"dataset_name: {name.removeprefix('reform_')}"


def _group(name: str) -> Iterator[str]:
    yield f"group: {name}"
    yield "task:"
    yield from (f"  - {task}" for task in GROUPS[name])
    yield "aggregate_metric_list:"
    for metric in _CAPTIONS if name == "reform_description" else _CHOICE:
        yield f"  - metric: {metric}"
        yield f"    aggregation: {_MEAN}"
        # The sets have equal weights, as in the published averages.
        yield "    weight_by_size: false"
    yield "metadata:"
    yield "  version: 1.0"


if __name__ == "__main__":
    for _name, _text in task_files().items():
        (FOLDER / _name).write_text(_text, encoding="utf-8")
