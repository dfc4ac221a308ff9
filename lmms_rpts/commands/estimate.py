"""``lmms-rpts estimate``: estimate judge calls, tokens and cost before a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_rpts.analysis.estimate import estimate_need
from lmms_rpts.base.settings import load_settings
from lmms_rpts.commands.common import IncludePath, Judge
from lmms_rpts.commands.tables import Table, deliver
from lmms_rpts.judging.registry import backend_of
from lmms_rpts.judging.types import NO_JUDGE, Usage
from lmms_rpts.runs.record import cost_function
from lmms_rpts.runs.responses import read_responses
from lmms_rpts.scoring.options import Options
from lmms_rpts.scoring.question import Question, field_faults
from lmms_rpts.tasks.published_rows import LAYOUTS
from lmms_rpts.tasks.registry import TASKS, read_questions

_ABOUT = (
    "Typical: 30% of inferences are judged a second time. 95%: not exceeded in 19 of 20 cases, by "
    "the spread between saved responses (--samples); without these, if all inferences are judged "
    "twice and all replies are as long as their prompts allow. Cached replies cost nothing. "
    "Reasoning judges use more output tokens; LMMS_RPTS_MAX_JUDGE_TOKENS sets a limit."
)


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
            help="Saved responses (--log_samples); an estimate for scoring them is added."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N documents of each task.")
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
    options, cost_of, rows = Options.of(settings), cost_function(), list[dict[str, Any]]()
    for task, questions in [pair for name in tasks for pair in _questions(name, include_path)]:
        chosen, responses = questions[:limit], None
        if saved is not None:
            pairs = [
                (question, response.text or "")
                for at, question in enumerate(chosen)
                for document in [
                    saved.find(task, at, question.id) or saved.find(f"{task}_rpts", at, question.id)
                ]
                if document
                for response in document.responses()
            ]
            chosen, responses = [each for each, _ in pairs], [text for _, text in pairs]
        label = f"{task} ({len(chosen)})"
        for kind, need in estimate_need(chosen, responses=responses, options=options).items():
            cost = cost_of(Usage(need.input_tokens, need.output_tokens))
            rows.append({"task": label, "responses": kind, **need._asdict(), "cost": cost})
            label = ""
    title = f"judge: {settings.judge or 'any'}; tokens are estimated from the texts"
    frame = pd.DataFrame(rows).dropna(axis="columns", how="all")  # without prices, no cost
    deliver([Table(frame, title, {"cost": ",.4f"})], [_ABOUT])


def _questions(name: str, include_path: Path | None) -> Iterator[tuple[str, Sequence[Question]]]:
    """The questions of a task, or of each task of a group."""
    settings = load_settings(judge=NO_JUDGE, transform="auto")  # only images are read
    if name in TASKS and TASKS[name].scored:
        for task, questions in read_questions(name).items():
            scorer = TASKS[task].scorer(task, settings, None)
            yield task, [scorer.question(each) for each in questions]
        return
    from lmms_rpts.host.other_tasks import OtherTask
    from lmms_rpts.host.task_files import load_task

    other = OtherTask(load_task(name, include_path), settings)
    if other.total and not field_faults(other.docs[0]):
        yield name, [Question.of(doc) for doc in other.docs]
    else:
        yield name, [other.question(at) for at in range(other.total)]
