"""Repeat the scoring of a run: the settings in its results file, and what differs from it now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_rpts import __version__
from lmms_rpts.analysis.rescoring import Rescoring
from lmms_rpts.base.rows import ReadError
from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.metadata import value_at
from lmms_rpts.runs.reading import model_name
from lmms_rpts.tasks.benchmark import configuration

_OF_THIS_MACHINE = {
    *("concurrency", "timeout", "cache", "same_model", "batch_size"),
    *("price", "max_judge_tokens", "max_judge_cost"),
}
"""Settings that change no score; those of this machine apply."""
_DATA = {"path", "captions", "instructions", "duplicates"}
"""Settings with places of data, which may be elsewhere on this machine."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The results of a run, and those of its settings that apply, by name (``rome.grader``)."""

    results: Mapping[str, Any]
    settings: Mapping[str, Any]

    @property
    def task(self) -> Any:
        """The tasks or the group of the run, as ``--tasks``."""
        return value_at(self.results, "config", "resolved_cli_args", "tasks")

    def differences(self, model: str, rescoring: Rescoring) -> Iterator[tuple[str, object, object]]:
        """What differs from the run: its name, the value in that run, and the value now."""
        found = load_settings()
        prompts = Prompts(found.prompts, found.scoring).version()
        now = {"lmms-rpts": __version__, "model of the responses": model, **_flat(configuration())}
        then = {
            "lmms-rpts": value_at(self.results, "config", "lmms_rpts_version"),
            "model of the responses": model_name(self.results),
            **_flat(self.results["config"]["lmms_rpts"]),
        }
        for each in rescoring.extents:
            documents, known = f"documents of {each.task}", f"prompts of {each.task}"
            now[documents] = each.stop - each.start
            then[documents] = value_at(self.results, "n-samples", each.task, "effective")
            metadata = value_at(self.results, "configs", each.task, "metadata")
            then[known] = value_at(metadata, "prompt_version")
            now[known] = then[known] and prompts
        for name, value in then.items():
            if name not in _OF_THIS_MACHINE and now.get(name) != value:
                yield name, value, now.get(name)


def read_repetition(place: Path) -> Repetition:
    """The run of a results file, or the only one below a folder; else a ReadError."""
    files = sorted(place.rglob("*_results.json")) if place.is_dir() else [place]
    results: dict[str, Any] = {}
    recorded = None
    with suppress(OSError, ValueError):
        results = json.loads(files[0].read_text(encoding="utf-8")) if len(files) == 1 else {}
        recorded = value_at(results, "config", "lmms_rpts")
    if not isinstance(recorded, Mapping):
        many = f", which holds {len(files)}" if len(files) != 1 else ""
        raise ReadError(
            f"{place} is no results file with settings of lmms-rpts{many}: pass the *_results.json "
            "of a run of lmms-rpts score, or of lmms-eval with this plugin"
        )
    own = _OF_THIS_MACHINE | _DATA
    settings = {key: v for key, v in _flat(recorded).items() if key.split(".")[-1] not in own}
    return Repetition(results, settings)


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name; those of a table as ``TABLE.NAME``."""
    tables = {name: each for name, each in settings.items() if isinstance(each, Mapping)}
    inner = {f"{name}.{each}": v for name, table in tables.items() for each, v in table.items()}
    return {name: each for name, each in settings.items() if name not in tables} | inner
