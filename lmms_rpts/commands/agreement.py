"""``lmms-rpts agreement``: agreement of a judge with human ratings or with another judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_rpts.base.escaping import NONE, figure, interval, shorten
from lmms_rpts.base.sheet import Sheet
from lmms_rpts.commands.blocks import Block, Line, Output
from lmms_rpts.commands.common import OneRun, check_suffixes, fail, outputs, protect_inputs

if TYPE_CHECKING:
    from lmms_rpts.analysis.agreement import Agreement, StepPair

_SUFFIXES = (".csv", ".json", ".md")
_CONCLUSION, _REPLY = 80, 120
_HEADS = ("kind of step", "steps", "responses", "MAE", "Spearman", "kappa", "bias")


def agreement(
    run: OneRun,
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="OTHER...",
            help="Human scores (files saved by the page of lmms-rpts rate, one per rater, or CSV "
            "files with doc_id or id, step, score or human), or another run of the same responses.",
            show_default=False,
        ),
    ],
    worst: Annotated[
        int,
        typer.Option(
            "--worst", min=0, help="Number of steps with the strongest disagreement to show."
        ),
    ] = 5,
    output: Annotated[list[Path] | None, outputs("Write a .csv, .json or .md file.")] = None,
) -> None:
    """Measure how well a judge's step scores agree with human ratings or with another judge.

    lmms-rpts agreement results/small rescored

    lmms-rpts agreement results/small ratings-ann.json ratings-bob.json
    """
    files = check_suffixes(output, _SUFFIXES)
    found = _compared(run, others, files)
    Output(_blocks(found, worst), found.frame, lambda: _plain(found, worst)).deliver(files)


def _compared(run: str, others: Sequence[str], files: Sequence[Path]) -> Agreement:
    from lmms_rpts.analysis.agreement import agreement_of_judges, agreement_with_humans
    from lmms_rpts.analysis.ratings import read_ratings
    from lmms_rpts.runs.samples import RunError
    from lmms_rpts.tasks.rpts_eval.runs import read_run

    judged = read_run(run)
    rated = [Path(each).expanduser() for each in others]
    protect_inputs([judged], files, *rated)
    if len(rated) > 1 or _holds_ratings(rated[0]):
        return agreement_with_humans(judged, read_ratings(rated, judged))
    try:
        second = read_run(others[0])
    except RunError:
        if rated[0].suffix.lower() != ".json" or not rated[0].exists():
            raise
        fail(
            f"{others[0]} contains neither human scores nor a run: pass a rating sheet (.csv), a "
            "file saved by the page of lmms-rpts rate, or a folder that lmms-eval wrote"
        )
    protect_inputs([second], files)
    return agreement_of_judges(judged, second)


def _holds_ratings(path: Path) -> bool:
    """Whether OTHER holds human scores rather than a run."""
    from lmms_rpts.runs.rating_file import holds_rating_file

    match path.suffix.lower():
        case ".json":
            return holds_rating_file(path)
        case ".jsonl":
            return "_samples_" not in path.name
        case suffix:
            return suffix in (".csv", ".tsv", ".parquet")


def _blocks(found: Agreement, worst: int) -> list[Block]:
    sources = zip(found.names, found.sources, strict=True)
    lines = [f"{name}: {source}" for name, source in sources]
    compared, lost = len(found.pairs), sum(found.left_out.values())
    if compared < lost:
        lines.append(
            f"Note: only {compared:,} of {compared + lost:,} steps are compared. The others are "
            "left out for the reasons below."
        )
    rows = [
        [
            each.group,
            f"{each.steps:,}",
            f"{each.responses:,}",
            *(interval(one, ".3f", ".2f") for one in (each.mae, each.spearman, each.kappa)),
            interval(each.bias, "+.3f", "+.2f"),
        ]
        for each in found.groups
    ]
    blocks: list[Block] = [
        *map(Line, lines),
        Sheet("", _HEADS, 1, [rows]),
        *map(Line, _remarks(found)),
    ]
    if pairs := found.worst(worst):
        heads = ["id", "conclusion", "judge's reply", "step", *found.names]
        steps = [_worst_row(pair) for pair in pairs]
        tasks = len({pair.task for pair in found.pairs}) > 1
        if tasks:
            heads = ["task", *heads]
            steps = [[pair.task, *row] for pair, row in zip(pairs, steps, strict=True)]
        blocks.append(Sheet("strongest disagreement", heads, 3 + tasks, [steps]))
    return blocks


def _remarks(found: Agreement) -> list[str]:
    """What the numbers mean, what is left out, and how well the raters agree with each other."""
    first, second = found.names
    lines = [
        "MAE: mean absolute difference. Spearman: rank correlation. kappa: Cohen's kappa with "
        "quadratic weights (Cohen 1968), scores rounded to one decimal (11 levels, 0.0 to 1.0). "
        f"bias: mean of {first} minus {second}. In brackets: 95% bootstrap intervals over "
        "documents."
    ]
    if found.left_out:
        reasons = "; ".join(f"{reason} ({count:,})" for reason, count in found.left_out.items())
        lines.append(f"Steps left out ({sum(found.left_out.values()):,}): {reasons}.")
    raters = found.reliability
    if raters is not None:
        lines.append(
            f"Agreement between the {raters.raters} raters on {raters.steps:,} shared "
            f"step{'s' * (raters.steps != 1)}: mean pairwise MAE {raters.mae:.3f}, Krippendorff's "
            f"alpha (interval; Krippendorff 2004) {figure(raters.alpha)}."
        )
    return lines


def _worst_row(pair: StepPair) -> list[str]:
    repeat = f" (repeat {pair.repeat})" if pair.repeat else ""
    reply = shorten(pair.reply or "", _REPLY) or NONE
    if pair.other_reply is not None:
        reply = f"{reply} / {shorten(pair.other_reply, _REPLY)}"
    return [
        shorten(pair.id, _CONCLUSION) + repeat,
        shorten(pair.conclusion, _CONCLUSION),
        reply,
        str(pair.step),
        f"{pair.score:.2f}",
        f"{pair.other:.2f}",
    ]


def _plain(found: Agreement, worst: int) -> dict[str, Any]:
    return {
        "names": list(found.names),
        "sources": list(found.sources),
        "groups": [asdict(group) for group in found.groups],
        "left_out": dict(found.left_out),
        "raters": found.reliability and asdict(found.reliability),
        "worst": [asdict(pair) for pair in found.worst(worst)],
    }
