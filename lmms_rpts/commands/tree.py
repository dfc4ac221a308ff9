"""``lmms-rpts tree``: draw the reasoning of a response as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_rpts.base.escaping import count, did_you_mean, listed, shorten
from lmms_rpts.commands.common import (
    Runs,
    check_outputs,
    check_suffixes,
    fail,
    protect_inputs,
    write_file,
)

if TYPE_CHECKING:
    from lmms_rpts.filters.record import RptsRecord
    from lmms_rpts.report.layout import Sizes
    from lmms_rpts.report.trees import TreePicture
    from lmms_rpts.tasks.rpts_eval.runs import Run


def tree(
    runs: Runs,
    instance: Annotated[
        str, typer.Option("--id", metavar="ID", help="Id of the instance.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="SVG file to write.")] = Path(
        "tree.svg"
    ),
    task: Annotated[
        str | None,
        typer.Option("--task", help="Task of the instance, if several tasks have this id."),
    ] = None,
    doc_id: Annotated[
        int | None,
        typer.Option(
            "--doc-id",
            min=0,
            help="Number of the document in its task, if several documents have this id.",
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="Number of the response, if there are several.")
    ] = 1,
    gold: Annotated[
        bool, typer.Option("--gold", help="Draw the gold reasoning of the instance.")
    ] = False,
    legend: Annotated[
        bool, typer.Option("--legend", help="Explain colours and lines below the tree.")
    ] = False,
    node_width: Annotated[
        int, typer.Option("--node-width", min=130, max=600, help="Width of a step, in pixels.")
    ] = 190,
    lines: Annotated[
        int,
        typer.Option("--lines", min=1, max=60, help="Lines of text per step; the rest is cut off."),
    ] = 6,
) -> None:
    """Draw the reasoning of a response as a tree, as a figure for a paper.

    Steps have the colour of their score; the first wrong step has a thick border and a label.
    Several runs are drawn in one picture, one below the other, with their names as titles.

      lmms-rpts tree results --id 7 -o figure.svg

      lmms-rpts tree small=results/a large=results/b --id 7 --legend -o figure.svg

      lmms-rpts tree results --id 7 --gold -o gold.svg
    """
    from lmms_rpts.report.layout import Sizes
    from lmms_rpts.report.trees import figure_svg
    from lmms_rpts.tasks.rpts_eval.runs import read_runs

    check_suffixes([output], (".svg",), plotted=())
    check_outputs([output])
    found = read_runs(runs)
    protect_inputs(found, [output])
    name = _task(found, instance, task)
    chosen = [(run, _response(run, instance, name, doc_id, repeat)) for run in found]
    trees = _trees(chosen, gold, Sizes(node=node_width, lines=lines))
    title = f"{'Gold reasoning' if gold else 'Reasoning'}: {name} {instance}"
    write_file(output, figure_svg(trees, title, legend=legend))


def _task(runs: Sequence[Run], instance: str, task: str | None) -> str:
    """The task of the instance; ends with a message where it is not clear."""
    tasks = sorted({name for run in runs for name in run.tasks})
    if task is not None and task not in tasks:
        hint = did_you_mean(task, tasks)
        fail(f"Unknown task {task}.{hint} The runs have: {', '.join(tasks)}")
    keys = {(each.instance.task, each.instance.id) for run in runs for each in run.responses}
    having = sorted(name for name, own in keys if own == instance and task in (None, name))
    if len(having) > 1:
        fail(f"The id {instance} is in several tasks. Set --task to one of: {', '.join(having)}")
    if not having:
        # By length first, so that 2 comes before 10.
        known = sorted(
            {own for name, own in keys if task in (None, name)}, key=lambda own: (len(own), own)
        )
        fail(f"Unknown instance id {instance}. {_known_ids(instance, known)}")
    return having[0]


def _known_ids(instance: str, known: Sequence[str]) -> str:
    """The nearest id, unless it is a number; else the existing ids."""
    numbers = all(each.isascii() and each.isdigit() for each in known)
    if numbers and len(known) > 1:
        return f"There are {len(known)} ids, from {known[0]} to {known[-1]}"
    near = [] if instance.isdigit() else get_close_matches(instance, known, 1)
    return f"Did you mean {near[0]}?" if near else f"The ids are: {listed(known)}"


def _response(run: Run, instance: str, task: str, doc_id: int | None, repeat: int) -> RptsRecord:
    """The response to draw; ends with a message where there is none, or several documents."""
    found: dict[int, list[RptsRecord]] = {}
    for each in run.responses:
        if (each.instance.task, each.instance.id) == (task, instance):
            found.setdefault(each.instance.doc_id, []).append(each)
    if not found:
        fail(f"{run.label} has no response to instance {instance} of {task}")
    if doc_id is not None and doc_id not in found:
        fail(
            f"{run.label} has no document {doc_id} with the id {instance} in {task}. --doc-id can "
            f"be: {listed(map(str, found))}"
        )
    if doc_id is None and len(found) > 1:
        firsts = ((number, each[0].instance) for number, each in found.items())
        choices = [
            f"--doc-id {number}: {shorten(first.statement or first.context, 70)}"
            for number, first in firsts
        ]
        fail(
            f"{run.label} has {len(found)} documents with the id {instance} in {task}. Use one "
            "of:\n  " + "\n  ".join(choices)
        )
    responses = found[next(iter(found)) if doc_id is None else doc_id]
    for each in responses:
        if each.repeat == repeat - 1:
            return each
    there = count(len(responses), "response")
    fail(f"{run.label} has {there} to instance {instance}: there is no repeat {repeat}")


def _trees(
    chosen: Sequence[tuple[Run, RptsRecord]], gold: bool, sizes: Sizes
) -> list[tuple[str, TreePicture]]:
    """The trees to draw, with their titles."""
    from lmms_rpts.report.trees import draw_gold, draw_response

    if gold:
        instance = chosen[0][1].instance
        if any(response.instance.reasoning != instance.reasoning for _, response in chosen):
            fail("The runs have different gold reasoning for this instance. Pass one of them")
        trees = [("", draw_gold(instance, sizes))]
    else:
        several = len(chosen) > 1
        trees = [(run.label * several, draw_response(each, sizes)) for run, each in chosen]
    if not any(picture.steps for _, picture in trees):
        reason = (
            "the instance has no gold reasoning with steps"
            if gold
            else "no step of reasoning could be parsed from the response"
        )
        fail(f"There is no tree to draw: {reason}")
    return trees
