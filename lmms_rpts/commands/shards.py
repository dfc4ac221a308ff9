"""``lmms-rpts shards``: commands that each run a part of the documents, without a process group."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from lmms_rpts.commands.common import IncludePath, fail, write_file


def shards(
    tasks: Annotated[str, typer.Option("--tasks", help="Tasks or groups, joined by commas.")],
    of: Annotated[int, typer.Option("--of", min=1, help="Number of parts.")],
    model: Annotated[str, typer.Option("--model", help="As for lmms-eval.")],
    model_args: Annotated[str, typer.Option("--model_args", help="As for lmms-eval.")] = "",
    include_path: IncludePath = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the folders of all parts.")
    ] = Path("shards"),
    slurm: Annotated[
        Path | None,
        typer.Option("--slurm", help="Write an array job of SLURM to this file instead."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENTS...]", help="Further arguments of lmms-eval."),
    ] = None,
) -> None:
    """Print commands that generate the responses in parts, one command per line.

    Each is a process, or a torchrun, of its own, and calls no judge: none waits for another, and
    one that fails is run again alone. Then `lmms-rpts score` judges all responses together. Parts
    are equal ranges of the largest task; a smaller task is in the first ones.
    """
    from lmms_rpts.tasks.benchmark import answered_tasks

    sizes = {each: _sizes(each, include_path) for each in re.split(r"[\s,]+", tasks) if each}
    counts = {task: count for found in sizes.values() for task, count in found.items()}
    if not counts or not all(counts.values()):
        fail(f"No documents: {', '.join(task for task, count in counts.items() if not count)}")
    size = math.ceil(max(counts.values()) / of)
    same = ["--model", model, *(["--model_args", model_args] if model_args else [])]
    same += [*(["--include_path", str(include_path)] if include_path else []), "--log_samples"]
    # Only a full run computes another task's own metrics, which say what is right.
    same += ["--predict_only"] if counts.keys() <= answered_tasks().keys() else []
    commands = []
    for number, start in enumerate(range(0, max(counts.values()), size)):
        chosen = [
            name if all(count > start for count in found.values()) else task
            for name, found in sizes.items()
            for task, count in found.items()
            if count > start
        ]
        own = ["--tasks", ",".join(dict.fromkeys(chosen)), "--offset", str(start)]
        own += ["--limit", str(size), "--output_path", str(output / f"{number:03}")]
        line = shlex.join(["lmms-eval", *same, *own, *(more or [])])
        commands.append(f"LMMS_RPTS_JUDGE=none {line}")
    if slurm is None:
        typer.echo("\n".join(commands))
    else:
        cases = "\n".join(f"{at}) {command} ;;" for at, command in enumerate(commands))
        array = f"#SBATCH --array=0-{len(commands) - 1}\n"
        write_file(slurm, f'#!/bin/bash\n{array}case "$SLURM_ARRAY_TASK_ID" in\n{cases}\nesac\n')
        typer.echo(f"To start them: sbatch --gpus=1 {shlex.quote(str(slurm))}", err=True)
    after = shlex.join(["lmms-rpts", "score", str(output), "-o", f"{output}-scored"])
    typer.echo(f"{len(commands)} parts of at most {size} documents. After them: {after}", err=True)


def _sizes(name: str, include_path: Path | None) -> dict[str, int]:
    """The number of documents of a task, or of each task of a group."""
    from lmms_rpts.host.documents import load_task
    from lmms_rpts.tasks.benchmark import answered_tasks, read_documents

    if name in answered_tasks():
        return {task: len(documents) for task, documents in read_documents(name).items()}
    task = load_task(name, include_path)
    return {name: len(task.eval_docs_no_media)}
