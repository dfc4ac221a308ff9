"""``lmms-rpts estimate``: estimate judge calls, tokens and cost before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.commands.common import IncludePath, Judge
from lmms_rpts.stats.figures import cost


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
    settings = load_settings(judge=judge)
    found = _gather(tasks, samples, limit, include_path)
    _show(found, settings)


Found = dict[str, tuple[list[Mapping[str, Any]], list[str] | None]]


def _gather(
    tasks: Sequence[str], samples: Path | None, limit: int | None, include_path: Path | None
) -> Found:
    """Documents by task, and their responses if there are any."""
    from lmms_rpts.host.task_files import SUFFIX
    from lmms_rpts.runs.responses import read_responses

    saved = read_responses(samples) if samples else None
    found: Found = {}
    for task, docs in (pair for name in tasks for pair in _documents(name, include_path).items()):
        chosen = list(docs[:limit])
        if saved is None:
            found[task] = (chosen, None)
            continue
        # Under the name of the task, or of its responses that were scored.
        names = [task, f"{task}{SUFFIX}"]
        pairs = []
        for at, doc in enumerate(chosen):
            there = next(
                filter(None, (saved.find(each, at, doc.get("id")) for each in names)), None
            )
            pairs += [(doc, each.text or "") for each in (there.responses() if there else ())]
        found[task] = ([doc for doc, _ in pairs], [text for _, text in pairs])
    return found


def _documents(name: str, include_path: Path | None) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The documents of a task or of the tasks of a group."""
    from lmms_rpts.tasks.registry import TASKS, read_questions

    if name in TASKS and TASKS[name].scored:
        found = read_questions(name)
        return {
            task: [each.model_dump(by_alias=True) for each in questions]
            for task, questions in found.items()
        }
    from lmms_rpts.filters.base import Document
    from lmms_rpts.host.other_tasks import OtherTask
    from lmms_rpts.host.task_files import load_task
    from lmms_rpts.judging.types import NO_JUDGE
    from lmms_rpts.scoring.question import ReasoningDocument, missing_fields

    other = OtherTask(load_task(name, include_path), load_settings(judge=NO_JUDGE))
    if other.total and not missing_fields(other.docs[0], ReasoningDocument):
        return {name: list(other.docs)}
    docs = []
    for question in map(other.question, range(other.total)):
        docs.append(Document(question.document))
        docs[-1].images = question.images
    return {name: docs}


_ABOUT = (
    "Typical: 30% of inferences are judged a second time. A document without gold reasoning "
    "counts as one claim about each image and two conclusions. 95%: not exceeded in 19 of 20 "
    "cases, by the spread between saved responses (--samples); without these, if all "
    "inferences are judged twice and all replies are as long as their prompts allow. Cached "
    "replies (LMMS_RPTS_CACHE) cost nothing. Reasoning judges use more output tokens. "
    "LMMS_RPTS_MAX_JUDGE_TOKENS sets a limit."
)


def _show(found: Found, settings: Settings) -> None:
    from lmms_rpts.analysis.estimate import estimate_need
    from lmms_rpts.judging.prompts import Prompts
    from lmms_rpts.judging.registry import backend_of
    from lmms_rpts.runs.record import cost_function

    table = Table(title=f"judge: {settings.judge or 'any'}; tokens are estimated from the texts")
    table.add_column("task", no_wrap=True)
    table.add_column("responses")
    for name in (
        "calls",
        "input tokens",
        "output tokens",
        *(["cost"] if settings.unit_price else []),
    ):
        table.add_column(name, justify="right", no_wrap=True)
    # No request is sent, so no API key is needed.
    mode = settings.transform or "auto"
    cost_of = cost_function()
    if settings.judge and backend_of(settings.judge).free:
        typer.echo(f"The judge {settings.judge!r} costs nothing.")
        return
    for task, (docs, responses) in found.items():
        needs = estimate_need(
            docs,
            responses=responses,
            prompts=Prompts(settings.prompts),
            mode=mode,
            evidence=settings.evidence,
            source=settings.source,
        )
        rows: Mapping[str, Any] = {
            "these responses": needs.saved,
            "typical, requested format": None if mode == "llm" else needs.typical,
            "typical, free text": None if mode == "rule" else needs.rewritten,
            "95%": needs.likely,
        }
        title = f"{task} ({needs.instances})"
        for name, need in rows.items():
            if need is not None:
                usage, price = need.usage, cost_of(need.usage)
                counts = (need.calls, usage.input_tokens, usage.output_tokens)
                figures = [f"{each:,}" for each in counts]
                figures += [] if price is None else [cost(price)]
                table.add_row(title, name, *figures)
                title = ""
        table.add_section()
    console = Console()
    console.print(table)
    console.print(_ABOUT, soft_wrap=not console.is_terminal)
