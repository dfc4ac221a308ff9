"""``lmms-rpts agreement``: agreement of a judge with human ratings or with another judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.escaping import shorten
from lmms_rpts.commands.blocks import Block, Line, Output, measured
from lmms_rpts.commands.common import OneRun, check_suffixes, fail, protect_inputs
from lmms_rpts.stats.figures import NONE, figure

if TYPE_CHECKING:
    from lmms_rpts.analysis.agreement import Agreement, StepPair
    from lmms_rpts.analysis.measured import Measured
    from lmms_rpts.runs.run import Run

_SUFFIXES = (".csv", ".json", ".md", ".tex")
_CONCLUSION, _REPLY = 80, 120


def agreement(
    run: OneRun,
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="OTHER...",
            help="Human scores (files saved by the page of lmms-rpts rate, one per rater, or CSV "
            "files with doc_id or id, step, score or human), another run of the same responses, "
            "or both: several judges against the same humans.",
            show_default=False,
        ),
    ],
    worst: Annotated[
        int,
        typer.Option(
            "--worst", min=0, help="Number of steps with the strongest disagreement to show."
        ),
    ] = 5,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", "-o", help="Write a .csv, .json, .md or .tex file. May be repeated."
        ),
    ] = None,
) -> None:
    """Measure how well a judge's step scores agree with human ratings or with another judge.

    lmms-rpts agreement results/small rescored

    lmms-rpts agreement results/small ratings-ann.json ratings-bob.json

    lmms-rpts agreement results/small rescored ratings-ann.json ratings-bob.json
    """
    files = check_suffixes(output, _SUFFIXES)
    runs, rated = _read([run, *others], files)
    if len(runs) > 2 and not rated:
        fail("Pass human scores as well: several judges are compared with the same humans")
    _compared(runs, rated, worst).deliver(files)


def _read(paths: Sequence[str], files: Sequence[Path]) -> tuple[Sequence[Run], list[Path]]:
    """The runs, and the files of ratings."""
    from lmms_rpts.analysis.reading import read_run
    from lmms_rpts.runs.reading import RunError
    from lmms_rpts.runs.run import name_runs

    rated = [place for each in paths[1:] if _holds_ratings(place := Path(each).expanduser())]
    runs: list[Run] = []
    for path in paths:
        place = Path(path).expanduser()
        if runs and place in rated:
            continue
        try:
            runs.append(read_run(path))
        except RunError:
            if not runs or place.suffix.lower() != ".json" or not place.exists():
                raise
            fail(
                f"{path} contains neither human scores nor a run: pass a rating sheet (.csv), a "
                "file saved by the page of lmms-rpts rate, or a folder that lmms-eval wrote"
            )
    protect_inputs(runs, files, *rated)
    return (name_runs(runs) if rated else runs), rated


def _compared(runs: Sequence[Run], rated: Sequence[Path], worst: int) -> Output:
    from lmms_rpts.analysis.agreement import agreement_of_judges, agreement_of_several, rank_judges
    from lmms_rpts.analysis.ratings import read_ratings

    if not rated:
        return _output(agreement_of_judges(runs[0], runs[1]), worst)
    ratings = read_ratings(rated, runs[0])
    found = agreement_of_several(runs, ratings)
    if len(found) == 1:
        return _output(found[0], worst)
    return _output(rank_judges([run.label for run in runs], found))


def _output(found: Agreement | Measured, worst: int = 0) -> Output:
    from lmms_rpts.analysis.measured import Measured

    if isinstance(found, Measured):
        return measured(found)
    return Output(_blocks(found, worst), found.frame, lambda: _plain(found, worst))


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
    from lmms_rpts.analysis.measured import measures_sheet

    sources = zip(found.names, found.sources, strict=True)
    lines = [f"{name}: {source}" for name, source in sources]
    compared, lost = len(found.pairs), sum(found.left_out.values())
    if compared < lost:
        lines.append(
            f"Note: only {compared:,} of {compared + lost:,} steps are compared. The others are "
            "left out for the reasons below."
        )
    rows = [{name: cell for name, cell in row.items() if name != "documents"} for row in found.rows]
    blocks: list[Block] = [*map(Line, lines), measures_sheet("", rows), *map(Line, _remarks(found))]
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
    from lmms_rpts.analysis.agreement import EXPLAINED, INTERVALS

    first, second = found.names
    lines = [f"{EXPLAINED} bias: mean of {first} minus {second}. {INTERVALS}"]
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
