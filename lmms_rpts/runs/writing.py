"""Writer of the samples and results of a run, in the files that lmms-eval would write."""

from __future__ import annotations

import json
import math
import secrets
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.files import draft_of
from lmms_rpts.runs.reading import RESULTS, read_results, results_beside
from lmms_rpts.runs.samples import SAMPLES

PIPELINE = "none"
"""Name of the filter pipeline in results, as in our task files."""


@dataclass(frozen=True, slots=True)
class Written:
    """The files of a run: the results, and the samples by task."""

    results: Path
    samples: Mapping[str, Path]


class RunWriter:
    """Writes samples into drafts, which appear under their names when the run is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._drafts: dict[str, tuple[Path, TextIO]] = {}

    def add(
        self,
        task: str,
        doc_id: int,
        responses: Sequence[str | None],
        records: Sequence[str],
        **more: Any,
    ) -> None:
        """Add the sample of a document.

        Args:
            responses: one per repeat; None: the request of the model failed.
            records: the record of each response, as JSON.
            more: the gold answer (``target``), the values of metrics, and others by their names.
        """
        if task not in self._drafts:
            draft = self.folder / f".{secrets.token_hex(4)}.draft"
            self._drafts[task] = draft, draft.open("w", encoding="utf-8")
        several = len(records) > 1
        sample = {
            "doc_id": doc_id,
            **more,
            "resps": list(responses),
            "filtered_resps": list(records) if several else records[0],
        }
        line = storable(json.dumps(sample, ensure_ascii=False))
        self._drafts[task][1].write(f"{line}\n")

    def publish(self, results: Mapping[str, Any]) -> Written:
        """Give the drafts their names, which begin with the date, and write the results."""
        for _, file in self._drafts.values():
            file.close()
        now = datetime.now(timezone.utc)
        date = f"{now:%Y%m%d_%H%M%S}"
        stem, number = date, 1
        while any(self.folder.glob(f"{stem}_*")):
            number += 1
            stem = f"{date}-{number}"
        whole = {**results, "date": date}
        with draft_of(self.folder / f"{stem}{RESULTS}") as draft:
            draft.write_text(json.dumps(whole, indent=2, ensure_ascii=False), encoding="utf-8")
            samples = {task: self.folder / f"{stem}{SAMPLES}{task}.jsonl" for task in self._drafts}
            for task, path in samples.items():
                self._drafts[task][0].rename(path)
        self._drafts.clear()
        return Written(self.folder / f"{stem}{RESULTS}", samples)

    def discard(self) -> None:
        """Remove the drafts that were not published."""
        for draft, file in self._drafts.values():
            with suppress(OSError):  # what it holds cannot be written: a full disk
                file.close()
            draft.unlink(missing_ok=True)


@contextmanager
def open_run(folder: Path) -> Iterator[RunWriter]:
    """A writer of a run in a folder, which is created; without `publish`, nothing is left."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = RunWriter(folder)
    try:
        yield writer
    finally:
        writer.discard()


def metric_results(values: Mapping[str, Sequence[Any]], means: Mapping[str, float]) -> Any:
    """The results of a task, with the standard errors of the means as lmms-eval calculates them.

    Args:
        values: by metric, one value per document; None: it has none.
        means: the aggregated values.
    """
    found: dict[str, Any] = {}
    for name, mean in means.items():
        numbers = [each for each in values[name] if isinstance(each, int | float)]
        error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else "N/A"
        found |= {f"{name},{PIPELINE}": mean, f"{name}_stderr_clt,{PIPELINE}": error}
    return found


def replaced_files(folder: Path, results: Mapping[str, Any]) -> list[Path]:
    """The files of earlier runs in a folder whose judging had stopped, and which these replace.

    They would count as other rounds of the model.
    """

    def extent(results: Mapping[str, Any]) -> list[Any]:
        config = results.get("config") or {}
        ours = config.get("lmms_rpts") or {}  # a run may go on with another time limit
        measured = [ours.get(name) for name in ("judge", "evidence", "source")]
        return [results.get("model_name"), results.get("n-samples"), config.get("ids"), *measured]

    files: dict[Path, None] = {}
    for samples in folder.glob(f"*{SAMPLES}*.jsonl"):
        old = read_results(samples)
        judges = (old.get("usage") or {}).get("judges") or {}
        if judges.get("stopped") and extent(old) == extent(results):
            files |= {samples: None, results_beside(samples): None}
    return list(files)
