"""``lmms-rpts estimate``: estimate judge calls, tokens and cost before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_rpts.analysis.estimate import Estimate, estimate_need
from lmms_rpts.base.settings import load_settings
from lmms_rpts.commands.common import IncludePath, Judge
from lmms_rpts.commands.tables import Table, deliver
from lmms_rpts.judging.registry import backend_of
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.runs.record import cost_function
from lmms_rpts.runs.responses import read_responses
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import ReasoningDocument, missing_fields
from lmms_rpts.tasks.published_rows import LAYOUTS
from lmms_rpts.tasks.registry import TASKS, read_questions

_ABOUT = (
    "Typical: 30% of inferences are judged a second time. A document without gold reasoning "
    "counts as one claim about each image and two conclusions. 95%: not exceeded in 19 of 20 "
    "cases, by the spread between saved responses (--samples); without these, if all "
    "inferences are judged twice and all replies are as long as their prompts allow. Cached "
    "replies (LMMS_RPTS_CACHE) cost nothing. Reasoning judges use more output tokens. "
    "LMMS_RPTS_MAX_JUDGE_TOKENS sets a limit."
)

Docs = Sequence[Mapping[str, Any]]


def estimate(
    tasks: Annotated[
        list[str],
        typer.Argument(
            help="Task names, such as rpts_eval_en, or tasks of lmms-eval, such as mmmu_val."
        ),
    ],
    judge: Judge = None,
    include_path: IncludePath = None,
    samples: Annotated[
        Path | None,
        typer.Option(
            "--samples",
            help="Saved responses (--log_samples); an estimate for scoring them is added.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only the first N documents of each task.")
    ] = None,
) -> None:
    """Estimate the judge calls and tokens of tasks, without any judge call.

    Set LMMS_RPTS_PRICE=INPUT/OUTPUT (prices per million tokens) to see the cost as well.
    """
    import pandas as pd

    settings = load_settings(judge=judge)
    if settings.judge and backend_of(settings.judge).free:
        typer.echo(f"The judge {settings.judge!r} costs nothing.")
        return
    saved = read_responses(samples, layouts=LAYOUTS) if samples else None
    options, rows = Options.of(settings), []
    for task, docs in [pair for name in tasks for pair in _documents(name, include_path).items()]:
        chosen: Docs = docs[:limit]
        responses: list[str] | None = None
        if saved is not None:
            texts = [
                (doc, text)
                for doc_id, doc in enumerate(chosen)
                for text in _texts(saved, task, doc_id, doc)
            ]
            chosen, responses = [doc for doc, _ in texts], [text for _, text in texts]
        needs = estimate_need(chosen, responses=responses, options=options)
        rows += list(_rows(f"{task} ({needs.instances})", needs, options.mode))
    title = f"judge: {settings.judge or 'any'}; tokens are estimated from the texts"
    frame = pd.DataFrame(rows).dropna(axis="columns", how="all")  # without prices, no cost
    deliver([Table(frame, title, {"cost": ",.4f"})], [_ABOUT])


def _documents(name: str, include_path: Path | None) -> Mapping[str, Docs]:
    """The documents of a task or of the tasks of a group."""
    if name in TASKS and TASKS[name].scored:
        questions = read_questions(name).items()
        return {task: [each.model_dump(by_alias=True) for each in own] for task, own in questions}
    from lmms_rpts.filters.base import Document
    from lmms_rpts.host.other_tasks import OtherTask
    from lmms_rpts.host.task_files import load_task

    other = OtherTask(load_task(name, include_path), load_settings(judge=NO_JUDGE))
    if other.total and not missing_fields(other.docs[0], ReasoningDocument):
        return {name: list(other.docs)}
    docs = []
    for question in map(other.question, range(other.total)):
        docs.append(Document(question.document))
        docs[-1].images = question.images
    return {name: docs}


def _texts(saved: Any, task: str, doc_id: int, doc: Mapping[str, Any]) -> Iterator[str]:
    """The saved responses to a document, under the name of the task or of its scored responses."""
    for name in (task, f"{task}_rpts"):
        if document := saved.find(name, doc_id, doc.get("id")):
            yield from (each.text or "" for each in document.responses())
            return


def _rows(task: str, needs: Estimate, mode: str) -> Iterator[dict[str, Any]]:
    """A row for each kind of responses; the first names the task."""
    cost_of = cost_function()
    kinds = {
        "these responses": needs.saved,
        "typical, requested format": None if mode == "llm" else needs.typical,
        "typical, free text": None if mode == "rule" else needs.rewritten,
        "95%": needs.likely,
    }
    for kind, need in kinds.items():
        if need is not None:
            used = need.usage
            yield {"task": task, "responses": kind, "calls": need.calls} | {
                "input tokens": used.input_tokens,
                "output tokens": used.output_tokens,
                "cost": cost_of(used),
            }
            task = ""
