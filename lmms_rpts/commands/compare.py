"""``lmms-rpts compare``: paired comparison of two runs on the same documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lmms_rpts.analysis.tables import Sheet, by_group
from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.commands.blocks import Block, Line, Output
from lmms_rpts.commands.common import check_suffixes, fail, protect_inputs
from lmms_rpts.stats.figures import figure

if TYPE_CHECKING:
    import pandas as pd

    from lmms_rpts.analysis.comparison import Comparison, Flip, MetricDifference
    from lmms_rpts.runs.metrics import Metrics
    from lmms_rpts.runs.run import Run

SUFFIXES = (".csv", ".json", ".md", ".tex")
_COLUMNS = ("metric", "A", "B", "B - A", "p", "p (Holm)", "n")


def compare(
    run_a: Annotated[
        str,
        typer.Argument(
            metavar="RUN_A",
            help="Folder that lmms-eval wrote with --log_samples --output_path, or a samples file. "
            "NAME=FOLDER sets the name of the run.",
            show_default=False,
        ),
    ],
    run_b: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN_B]",
            help="The other run, unless --by compares parts of one.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="FIELD",
            help="Compare two parts of one run, as language, or task=A,B for two of its values; "
            "task=A,B,C compares each with the first. With two runs: only the documents of one "
            "value, as relation=guided.",
        ),
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, if the runs have several.")
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="Only this task.")] = None,
    flips: Annotated[
        int, typer.Option("--flips", min=0, help="Number of flipped documents to show.")
    ] = 10,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the metrics to a .csv, .json, .md or .tex file; .json also holds all flips."
            " May be repeated.",
        ),
    ] = None,
) -> None:
    """Compare two runs on their shared documents: differences B - A, and documents that flipped.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval). Of several
    rounds of a model, the means over their responses to each document are compared.

    Each difference has a 95% bootstrap interval and the p-value of a paired permutation test.

      lmms-rpts compare results/thinking results/direct

      lmms-rpts compare results/rpts_eval --by language
    """
    from lmms_rpts.analysis.comparison import adjust_together, compare_runs, response_metrics
    from lmms_rpts.analysis.reading import benchmark_of_runs
    from lmms_rpts.analysis.validity import validity_lines

    with Console(stderr=True).status("Comparing the runs ..."):
        files = check_suffixes(output, SUFFIXES)
        (a, *others), rounds = _read(run_a, run_b, by, benchmark, task)
        protect_inputs([a, *others], files)
        found = adjust_together([compare_runs(a, b) for b in others])
        metrics = response_metrics(benchmark_of_runs([a]))
        judges = validity_lines([a, *others])
    one = found[0] if len(found) == 1 else None
    groups = [[each.name for each in of] for of in by_group(metrics.values()).values()]
    if one is None:  # only the metrics that are tested
        groups = [[name for name, each in metrics.items() if each.tested]]
    measured = [{metric.metric: metric for metric in each.metrics} for each in found]
    there = {*chain(*measured)}
    groups = [names for group in groups if (names := [each for each in group if each in there])]
    sections = [
        [
            [*[each.label_b] * (one is None), *_figures(by_name[name])]
            for name in group
            if name in by_name
        ]
        for each, by_name in zip(found, measured, strict=True)
        for group in groups
    ]
    pairs = zip(others, found, strict=True)
    every = (_warnings(a, b, each, run_b is None) for b, each in pairs)
    warnings = list(dict.fromkeys(chain.from_iterable(every)))
    whole = one.to_dict() if one else {"comparisons": [each.to_dict() for each in found]}
    columns = [*["B"] * (one is None), *_COLUMNS]
    Output(
        [
            Line(f"A: {a.label}{rounds[0]}"),
            *(
                Line(f"B: {each.label_b}{rounds[-1] if one else f' ({_shared(each)})'}")
                for each in found
            ),
            *([Line(_shared(one))] if one else []),
            Sheet("", columns, 1 + (one is None), sections),
            Line(_explained(found, metrics, chain(*groups))),
            *(Line(each, "Warning") for each in warnings),
            *(Line(each, "Judge") for each in judges),
        ],
        partial(_frame, found),
        lambda: {**whole, "warnings": warnings, "judges": judges},
        details=list(_flips(one, flips)) if one else [],
    ).deliver(files)


def _shared(found: Comparison) -> str:
    return (
        f"{found.documents} shared {found.paired}, {found.only_a} only in A, {found.only_b} only "
        "in B"
    )


def _frame(found: Sequence[Comparison]) -> pd.DataFrame:
    import pandas as pd

    whole: pd.DataFrame = pd.concat([each.frame() for each in found])
    return whole


def _read(
    run_a: str, run_b: str | None, by: str | None, benchmark: str | None, task: str | None
) -> tuple[Sequence[Run], list[str]]:
    """Two runs of a benchmark, or several parts of one; and the rounds of each run as text."""
    from lmms_rpts.analysis.comparison import part_of, parts_of
    from lmms_rpts.analysis.reading import read_all_runs, read_rounds
    from lmms_rpts.runs.run import name_runs, of_task
    from lmms_rpts.tasks.registry import get_benchmark

    if run_b is None and by is None:
        fail("Pass two runs, or one run and --by FIELD, such as --by language")
    paths = [run_a] if run_b is None else [run_a, run_b]
    # Read separately: together, two runs without shared documents would be merged into one.
    found = [read_all_runs([path]) for path in paths]
    wanted = get_benchmark(benchmark).name if benchmark else None
    shared = [
        name for name in found[0] if all(name in each for each in found) and wanted in (None, name)
    ]
    if not shared:
        held = ", ".join(
            f"{path} has {', '.join(each)}" for path, each in zip(paths, found, strict=True)
        )
        fail(f"The runs have no benchmark in common: {held}")
    if len(shared) > 1:
        names = " or ".join(f"--benchmark {name}" for name in shared)
        fail(f"There are runs of several benchmarks: choose one with {names}")
    (name,) = shared
    runs, rounds = [], []
    for path, each in zip(paths, found, strict=True):
        run, labels = read_rounds(path, each[name])
        part = of_task(run, task)
        if part is None:
            fail(f"The runs have no task {task} in common")
        runs.append(part)
        rounds.append(f" ({len(labels)} rounds: {', '.join(labels)})" * (len(labels) > 1))
    if run_b is None:
        return parts_of(runs[0], str(by)), rounds
    return name_runs([part_of(each, by) if by else each for each in runs]), rounds


def _warnings(a: Run, b: Run, comparison: Comparison, parts: bool) -> Iterator[str]:
    """Reasons other than the models why the runs may differ; ``parts``: of one run."""
    if not parts and {*a.files} == {*b.files}:
        yield "both runs are the same files: the run is compared with itself."
    yield from comparison.scored
    yield from _judges_to_doubt(a, b)
    if comparison.changed:
        yield (
            f"the data changed between the runs: {comparison.changed} of {comparison.documents} "
            "shared documents have other data, such as the clues or the gold answer."
        )


def _judges_to_doubt(a: Run, b: Run) -> Iterator[str]:
    from lmms_rpts.judging.types import NO_JUDGE

    found: dict[str, list[str]] = {}
    for name, run in (("A", a), ("B", b)):
        doubtful = (each for each in run.scorings if not getattr(each, "comparable", True))
        for judge in dict.fromkeys(each.judge for each in doubtful):
            found.setdefault(judge, []).append(name)
    for judge, names in found.items():
        runs = " and ".join(names)
        if judge == NO_JUDGE:
            yield (f"{runs}: not judged (judge {judge!r}), so only the answers can be compared.")
        else:
            yield (
                f"the judge {judge!r} of {runs} is for testing only: its scores cannot be compared "
                "with those of another judge."
            )


def _figures(metric: MetricDifference) -> list[str]:
    difference = figure(metric.difference, "+.3f")
    if metric.low is not None and metric.high is not None:
        difference += f" [{figure(metric.low, '+.3f')}, {figure(metric.high, '+.3f')}]"
    return [
        metric.metric,
        *map(figure, (metric.a, metric.b)),
        difference,
        *(figure(each, ".4f") for each in (metric.p, metric.p_holm)),
        f"{metric.n_both}/{metric.n_either}",
    ]


def _explained(found: Sequence[Comparison], metrics: Metrics, shown: Iterable[str]) -> str:
    tested = sum(metric.p is not None for each in found for metric in each.metrics)
    lower = [
        f"{name}: lower is better." for name in shown if metrics[name].higher_is_better is False
    ]
    means = (
        "Means over the shared documents for which the run has a value. [ ]: 95% interval, "
        "bootstrap over documents. p: two-sided permutation test that swaps the runs within "
        f"documents; p (Holm): adjusted for the {tested} metrics tested. n: documents with a value "
        "in both runs / in at least one."
    )
    return " ".join([means, *lower])


def _flips(comparison: Comparison, most: int) -> Iterator[Block]:
    flips, total = comparison.flips, comparison.documents
    if not flips:
        yield Line(f"None of the {total} documents flipped.")
        return
    counts = Counter(flip.to_right for flip in flips)
    yield Line(
        f"{len(flips)} of {total} documents flipped: {counts[False]} from right to wrong, "
        f"{counts[True]} from wrong to right, {counts[None]} only in the reasoning or its score."
    )
    if most:
        first = f"Largest changes first, {min(most, len(flips))} of {len(flips)}:"
        heads = ["document", "statement", "", "answer", "outcome", "RPTS"]
        sections = [list(_rows(flip)) for flip in flips[:most]]
        if all(flip.a.rpts is None and flip.b.rpts is None for flip in flips):
            heads, sections = heads[:5], [[row[:5] for row in rows] for rows in sections]
        yield Sheet(first, heads, 5, sections)


def _rows(flip: Flip) -> Iterator[list[str]]:
    """Two rows of a table: the results of A and B."""
    own = "" if flip.id == str(flip.doc_id) else shorten(f"id {flip.id}", 40)
    names = (printable(f"{flip.task} {flip.doc_id}"), own)
    statements = (shorten(flip.statement, 60), "")
    for run, side, name, statement in zip("AB", (flip.a, flip.b), names, statements, strict=True):
        counts = Counter(shorten(answer or "unknown", 40) for answer in side.answers)
        answers = ", ".join(f"{count} {answer}" for answer, count in counts.most_common())
        if len(side.answers) == 1:
            answers = next(iter(counts))
        category = str(side.category)
        if category == "unscored" and side.right is not None:
            category = f"{'right' if side.right else 'wrong'}, unscored"
        yield [name, statement, run, answers, category, figure(side.rpts, ".2f")]
