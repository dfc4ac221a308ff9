"""Writer of the samples and results of a run, in the files that lmms-eval would write."""

from __future__ import annotations

import json
import math
import secrets
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from lmms_rpts.runs.files import draft_of
from lmms_rpts.runs.reading import RESULTS, SAMPLES, read_results, results_beside

PIPELINE = "none"
"""Name of the filter pipeline in results, as in our task files."""
_OF_CALLS = ("concurrency", "timeout", "cache", "price", "max_judge_tokens", "max_judge_cost")
"""Settings that results do not depend on."""


@dataclass(frozen=True, slots=True)
class Written:
    """The files of a run: the results, and the samples by task."""

    results: Path
    samples: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Sample:
    """A response, None if the model's request failed, with its token counts and its record.

    ``target``: the gold answer; ``entry``: the row in which the response was saved.
    """

    text: str | None = None
    tokens: Mapping[str, int] | None = None
    record: str = ""
    target: str = ""
    entry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RunWriter:
    """Writes samples into drafts, which appear under their names when the run is complete."""

    folder: Path
    drafts: dict[str, tuple[Path, TextIO]] = field(default_factory=dict)

    def add(
        self, task: str, doc_id: int, samples: Sequence[Sample], metrics: Mapping[str, Any]
    ) -> None:
        """Add the sample of a document, with the values of its metrics; one response per repeat."""
        if task not in self.drafts:
            draft = self.folder / f".{secrets.token_hex(4)}.draft"
            self.drafts[task] = draft, draft.open("w", encoding="utf-8")
        first, records = samples[0], [each.record for each in samples]
        sample = {
            "doc_id": doc_id,
            "target": first.target,
            "token_counts": [each.tokens for each in samples],
            **metrics,
            **{name: first.entry[name] for name in ("input", "doc_hash") if name in first.entry},
            "resps": [each.text for each in samples],
            "filtered_resps": records if len(records) > 1 else records[0],
        }
        line = json.dumps(sample, ensure_ascii=False).encode("utf-8", "replace").decode()
        self.drafts[task][1].write(f"{line}\n")

    def publish(self, results: Mapping[str, Any], stopped: str | None) -> Written | None:
        """Give the drafts their names, which begin with the date, and write the results.

        Earlier results of the same run are removed: they would count as other rounds of the model.
        ``stopped``: why judging stopped before its end. Earlier results that are complete then
        remain: nothing is written, and None is returned.
        """
        there = any(self.folder.glob(f"*{RESULTS}"))
        old, complete = _same_run(self.folder, results) if there else ([], False)
        if stopped and complete:
            return None
        date = f"{datetime.now(timezone.utc):%Y%m%d_%H%M%S}"
        stem, number = date, 1
        while any(self.folder.glob(f"{stem}_*")):
            number += 1
            stem = f"{date}-{number}"
        for _, file in self.drafts.values():
            file.close()
        path = self.folder / f"{stem}{RESULTS}"
        with draft_of(path) as draft:
            whole = {**results, "date": date}
            draft.write_text(json.dumps(whole, indent=2, ensure_ascii=False), encoding="utf-8")
            samples = {task: self.folder / f"{stem}{SAMPLES}{task}.jsonl" for task in self.drafts}
            for task, place in samples.items():
                self.drafts[task][0].rename(place)
        for replaced in old:
            replaced.unlink(missing_ok=True)
        return Written(path, samples)


@contextmanager
def open_run(folder: Path) -> Iterator[RunWriter]:
    """A writer of a run in a folder, which is created; what is not published is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = RunWriter(folder)
    try:
        yield writer
    finally:
        for draft, file in writer.drafts.values():
            with suppress(OSError):  # what it holds cannot be written: a full disk
                file.close()
            draft.unlink(missing_ok=True)


def metric_results(
    values: Mapping[str, Sequence[float | None]], of_sets: Mapping[str, float | None]
) -> dict[str, Any]:
    """The results of a task: means and their standard errors, as lmms-eval calculates them.

    Args:
        values: by metric, one value per document; None: it has none.
        of_sets: values of all documents together, by metric.
    """
    found: dict[str, Any] = {}
    for name, each_document in values.items():
        numbers = [each for each in each_document if each is not None]
        mean = math.fsum(numbers) / len(numbers) if numbers else math.nan
        error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else "N/A"
        found |= {f"{name},{PIPELINE}": mean, f"{name}_stderr_clt,{PIPELINE}": error}
    for name, value in of_sets.items():
        mean = math.nan if value is None else value
        found |= {f"{name},{PIPELINE}": mean, f"{name}_stderr_clt,{PIPELINE}": "N/A"}
    return found


def _same_run(folder: Path, results: Mapping[str, Any]) -> tuple[list[Path], bool]:
    """The files of earlier results of the same run, of these responses with these settings, and
    whether they are complete."""

    def extent(results: Mapping[str, Any]) -> list[Any]:
        config = results.get("config") or {}
        ours = config.get("lmms_rpts") or {}
        measured = {name: value for name, value in ours.items() if name not in _OF_CALLS}
        selected = [config.get(name) for name in ("model_args", "limit", "offset", "ids", "round")]
        return [results.get("model_name"), results.get("n-samples"), *selected, measured]

    own = json.loads(json.dumps(extent(results)))
    files, complete = dict[Path, None](), False
    for samples in folder.glob(f"*{SAMPLES}*.jsonl"):
        old = read_results(samples)
        judges = (old.get("usage") or {}).get("judges") or {}
        if extent(old) == own:
            files |= {samples: None, results_beside(samples): None}
            complete = complete or not judges.get("stopped")
    return list(files), complete
