"""The task files of ReForm-Eval: ``python -m lmms_rpts.tasks.reform_eval.yamls`` writes them.

Each set is a file of a few lines that includes a template; a test compares them with this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmms_rpts.tasks.reform_eval.benchmark import FOLDER, TASKS, groups

_DATA = "!function lmms_rpts.tasks.reform_eval.dataset"
_RESULTS = "!function lmms_rpts.tasks.reform_eval.results"


def task_files() -> dict[str, str]:
    """The text of each task file by its name."""
    named = {name: _task(name) for name in TASKS} | {name: _group(name) for name in groups()}
    return {f"{name}.yaml": "".join(f"{line}\n" for line in lines) for name, lines in named.items()}


def _task(name: str) -> Iterator[str]:
    chosen, method, history = TASKS[name]
    form = chosen.form if method == "generation" else method
    template = "online" if history == "online" else form
    short = name.removeprefix("reform_")
    yield f"task: {name}"
    yield f"include: _{template}_template_yaml"
    yield f"dataset_kwargs: {_DATA}.kwargs_{short}"
    if method == "generation":
        yield f"generation_kwargs: {_DATA}.generation_{short}"
    yield f"metadata: {_DATA}.metadata_{short}"


def _group(name: str) -> Iterator[str]:
    metrics = "CAPTION_METRIC_LIST" if name == "reform_description" else "GROUP_METRIC_LIST"
    yield f"group: {name}"
    yield "task:"
    yield from (f"  - {task}" for task in groups()[name])
    # The sets have equal weights, as in the published averages.
    yield f"aggregate_metric_list: {_RESULTS}.{metrics}"
    yield "metadata:"
    yield "  version: 1.0"


def write(folder: Path = FOLDER) -> None:
    """Write all task files."""
    for name, text in task_files().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
