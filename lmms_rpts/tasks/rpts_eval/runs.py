"""Runs that RPTS scored, of any task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import R
from lmms_rpts.runs.run import RunOf
from lmms_rpts.runs.samples import RunError

Run = RunOf[RptsRecord]
"""The responses of one model in one evaluation, scored by RPTS."""


def read_runs(paths: Iterable[str | Path]) -> list[Run]:
    """Read runs from samples files, or from folders that lmms-eval wrote them to.

    A folder may contain several runs. ``LABEL=PATH`` names a run. Runs of one model that share no
    document are parts of one run, and are merged; runs that share documents are rounds, and are
    numbered. The merging doesn't depend on the order of ``paths``.

    Raises:
        RunError: if a file can't be read; the message has the file, the line and the remedy.
    """
    return read_runs_of(RptsRecord, paths)


def read_run(path: str | Path) -> Run:
    """Read the only run in ``path``.

    Raises:
        RunError: as ``read_runs``, and if there are several runs.
    """
    return only_run(path, read_runs([path]))


def only_run(path: str | Path, runs: Sequence[RunOf[R]]) -> RunOf[R]:
    """The only run of those in ``path``; raises RunError if there are several."""
    if len(runs) > 1:
        files = "\n  ".join(str(run.files[0]) for run in runs)
        raise RunError(f"{path} contains {len(runs)} runs; pass one of:\n  {files}")
    return runs[0]
