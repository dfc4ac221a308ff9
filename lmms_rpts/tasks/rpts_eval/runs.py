"""Runs that RPTS scored, of any task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import R
from lmms_rpts.runs.run import RunOf
from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.rpts_eval.relations import label_runs

Run = RunOf[RptsRecord]
"""The responses of one model in one evaluation, scored by RPTS."""


def read_runs(paths: Iterable[str | Path]) -> list[Run]:
    """Read runs that RPTS scored, from samples files or from folders that lmms-eval wrote.

    ``LABEL=PATH`` names a run. Parts of one run are joined, rounds of a model are numbered; the
    order of ``paths`` does not matter. A RunError names the file, the line and the remedy.

    The setting ``relations`` labels the documents.
    """
    return label_runs(read_runs_of(RptsRecord, paths))


def read_run(path: str | Path) -> Run:
    """Read the only run in ``path``."""
    return only_run(path, read_runs([path]))


def only_run(path: str | Path, runs: Sequence[RunOf[R]]) -> RunOf[R]:
    """The only run of those in ``path``; raises RunError if there are several."""
    if len(runs) > 1:
        files = "\n  ".join(str(run.files[0]) for run in runs)
        raise RunError(f"{path} contains {len(runs)} runs; pass one of:\n  {files}")
    return runs[0]
