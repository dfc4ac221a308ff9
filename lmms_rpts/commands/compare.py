"""``lmms-rpts compare``: paired comparison of two runs on the same documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lmms_rpts.commands.common import OneRun, Output, check_suffixes, fail, protect_inputs
from lmms_rpts.commands.tables import SUFFIXES, Table, deliver

if TYPE_CHECKING:
    from lmms_rpts.runs.run import Run

_HEADS = {"a": "A", "b": "B", "difference": "B - A", "p_holm": "p (Holm)"}
_HEADS |= {"coverage_a": "A has", "coverage_b": "B has"}
_FORMS = {"difference": "+.3f", "p": ".4f", "p_holm": ".4f"}
_FORMS |= {"coverage_a": ".2f", "coverage_b": ".2f"}


def compare(
    run_a: OneRun,
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
            metavar="COLUMN",
            help="Compare two parts of one run, as language, or task=A,B for two of its values; "
            "task=A,B,C compares each with the first.",
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Compare two runs on their shared documents: differences B - A.

    Works for runs scored by RPTS and for graded answers (ROME, CMMaTH, ReForm-Eval). Of several
    rounds of a model, the means over their responses to each document are compared.

    Each metric is compared over the documents for which both runs have a value, with the 95%
    bootstrap interval of the difference and the p-value of a paired permutation test.

      lmms-rpts compare results/thinking results/direct

      lmms-rpts compare results/rpts_eval --by language
    """
    from lmms_rpts.analysis.comparison import adjust_together, compare_runs, parts_of
    from lmms_rpts.runs.run import name_runs
    from lmms_rpts.runs.validity import validity_lines

    if (run_b is None) == (by is None):
        fail("Pass two runs, or one run and --by COLUMN, such as --by language")
    files = check_suffixes(output, SUFFIXES)
    with Console(stderr=True).status("Comparing the runs ..."):
        # Read separately: together, two runs without shared documents would be joined.
        runs = [_read(path) for path in (run_a, run_b) if path is not None]
        a, *others = name_runs(runs) if by is None else parts_of(runs[0], by)
        protect_inputs(runs, files)
        comparisons = adjust_together([compare_runs(a, b) for b in others])
    tables = [
        Table(it.table, f"A: {a.label}; B: {it.label_b} ({it.shared})", _FORMS, _HEADS, it.headline)
        for it in comparisons
    ]
    tested = sum(it.table["p"].notna().sum() for it in comparisons)
    notes = [
        "Means over the documents for which both runs have a value (n). [ ]: 95% bootstrap "
        "interval over documents. p: two-sided permutation test that swaps the runs within "
        f"documents; p (Holm): adjusted for the {tested} metrics tested. A has, B has: share of "
        "the shared documents for which the run has a value.",
        *dict.fromkeys(f"Warning: {line}" for it in comparisons for line in it.warnings),
        *validity_lines(runs),
    ]
    deliver(tables, notes, files)


def _read(path: str) -> Run:
    """The rounds of the only model in a path as one run."""
    from lmms_rpts.analysis.frames import benchmark_of, read_runs
    from lmms_rpts.runs.run import join_rounds, rounds_of

    runs = read_runs([path])
    benchmark_of(runs)
    models = rounds_of(runs)
    if len(models) > 1:
        fail(
            f"{path} contains runs of several models, or rounds with other settings or documents. "
            + "Pass one of:"
            + "".join(f"\n  {run.files[0]}" for run in runs)
        )
    ((name, rounds),) = models.items()
    return join_rounds(rounds, name)
