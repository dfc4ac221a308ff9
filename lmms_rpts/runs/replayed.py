"""Name of the model whose saved responses ``--model replay`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.runs.reading import model_name, read_results, results_beside


def replayed_model(model_args: str | Mapping[str, Any]) -> str:
    """The original model: from ``name=``, else from the results of the samples, else the file name.

    Args:
        model_args: model arguments of ``replay``.

    Returns:
        The name that lmms-rpts shows for the run; empty if unknown.

    Raises:
        RunError, OSError: if the results can't be read.
    """
    named = model_name({"config": {"model_args": model_args}}) or ""
    if isinstance(model_args, str):
        model_args = dict(part.partition("=")[::2] for part in model_args.split(","))
    if str(model_args.get("name") or "").strip("./\\ "):
        return named
    samples = Path(str(model_args.get("samples", ""))).expanduser()
    files = samples.rglob("*_samples_*.jsonl") if samples.is_dir() else [samples]
    ones = {results_beside(file): file for file in files}
    found = {name for file in ones.values() if (name := model_name(read_results(file)))}
    return found.pop() if len(found) == 1 else named
