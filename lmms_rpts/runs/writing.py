"""Writer of the samples and results of a run, in the files that lmms-eval would write."""

from __future__ import annotations

import json
import math
import secrets
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TextIO

from lmms_rpts.runs.files import draft_of
from lmms_rpts.runs.reading import RESULTS, SAMPLES, read_results, results_beside
from lmms_rpts.runs.run import value_at

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
        first, records = samples[0], [sample.record for sample in samples]
        entry = {
            "doc_id": doc_id,
            "target": first.target,
            "token_counts": [sample.tokens for sample in samples],
            **metrics,
            **{name: first.entry[name] for name in ("input", "doc_hash") if name in first.entry},
            "resps": [sample.text for sample in samples],
            "filtered_resps": records if len(records) > 1 else records[0],
        }
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace").decode()
        self.drafts[task][1].write(f"{line}\n")

    def publish(self, results: Mapping[str, Any], stopped: str | None) -> Written | None:
        """Give the drafts their names, which begin with the date, and write the results.

        Earlier results of the same run are removed: they would count as other rounds of the model.
        ``stopped``: why judging stopped before its end. Earlier results that are complete then
        remain: nothing is written, and None is returned.
        """
        earlier = dict[Path, None]()
        for samples in self.folder.glob(f"*{SAMPLES}*.jsonl"):
            old = read_results(samples)
            if _extent(old) == json.loads(json.dumps(_extent(results))):
                if stopped and not value_at(old, "usage", "judges", "stopped"):
                    return None
                earlier |= {samples: None, results_beside(samples): None}
        moment = datetime.now(timezone.utc)
        while any(self.folder.glob(f"{moment:%Y%m%d_%H%M%S}_*")):
            moment += timedelta(seconds=1)  # another round, which is sorted by its name
        stem = f"{moment:%Y%m%d_%H%M%S}"
        for _, file in self.drafts.values():
            file.close()
        path = self.folder / f"{stem}{RESULTS}"
        with draft_of(path) as draft:
            whole = {**results, "date": stem}
            draft.write_text(json.dumps(whole, indent=2, ensure_ascii=False), encoding="utf-8")
            files = {task: self.folder / f"{stem}{SAMPLES}{task}.jsonl" for task in self.drafts}
            for task, place in files.items():
                self.drafts[task][0].rename(place)
        for replaced in earlier:
            replaced.unlink(missing_ok=True)
        return Written(path, files)


def _extent(results: Mapping[str, Any]) -> list[Any]:
    """What tells a run from others: its model, responses and settings."""
    settings = value_at(results, "config", "lmms_rpts") or {}
    measured = {name: value for name, value in settings.items() if name not in _OF_CALLS}
    names = ("model_args", "limit", "offset", "round")
    selected = [value_at(results, "config", name) for name in names]
    return [results.get("model_name"), results.get("n-samples"), *selected, measured]


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
    results: dict[str, Any] = {}
    for name, of_documents in values.items():
        known = [value for value in of_documents if value is not None]
        mean = math.fsum(known) / len(known) if known else math.nan
        error = statistics.stdev(known) / math.sqrt(len(known)) if len(known) > 1 else "N/A"
        results |= {f"{name},{PIPELINE}": mean, f"{name}_stderr_clt,{PIPELINE}": error}
    for name, value in of_sets.items():
        mean = math.nan if value is None else value
        results |= {f"{name},{PIPELINE}": mean, f"{name}_stderr_clt,{PIPELINE}": "N/A"}
    return results
