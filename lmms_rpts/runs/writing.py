"""Writer of the samples and results of a run, in the files that lmms-eval would write."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lmms_rpts.runs.reading import RESULTS, SAMPLES, read_results, results_beside
from lmms_rpts.runs.record import Record, SavedResponse
from lmms_rpts.runs.run import value_at

_DRAFT = ".draft"
_OF_CALLS = ("concurrency", "timeout", "cache", "price", "max_judge_tokens", "max_judge_cost")
"""Settings that results do not depend on."""


@dataclass(frozen=True, slots=True)
class RunWriter:
    """Writes samples into drafts, which appear under their names when the run is complete."""

    folder: Path
    drafts: Path

    def add(
        self,
        task: str,
        doc_id: int,
        responses: Sequence[SavedResponse],
        records: Sequence[Record],
        metrics: Mapping[str, Any],
    ) -> None:
        """Add the sample of a document: its responses, their records, the values of its metrics."""
        logged, written = responses[0].logged, [record.to_json() for record in records]
        entry = {
            "doc_id": doc_id,
            "target": records[0].instance.gold,
            "token_counts": [response.tokens or None for response in responses],
            **metrics,
            **{name: logged[name] for name in ("input", "doc_hash") if name in logged},
            "resps": [response.text for response in responses],
            "filtered_resps": written if len(written) > 1 else written[0],
        }
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
        with (self.drafts / f"{SAMPLES}{task}.jsonl{_DRAFT}").open("ab") as file:
            file.write(line + b"\n")

    def publish(self, results: Mapping[str, Any], stopped: str | None) -> Path | None:
        """Give the drafts their names, which begin with the date; returns the file of the results.

        Earlier results of the same run are removed: they would count as other rounds of the model.
        ``stopped``: why judging stopped before its end. Earlier results that are complete then
        remain: nothing is written, and None is returned.
        """
        earlier: set[Path] = set()
        for samples in self.folder.glob(f"*{SAMPLES}*.jsonl"):
            old = read_results(samples)
            if _extent(old) == json.loads(json.dumps(_extent(results))):
                if stopped and not value_at(old, "usage", "judges", "stopped"):
                    return None
                earlier |= {samples, results_beside(samples)}
        moment = datetime.now(timezone.utc)
        while any(self.folder.glob(f"{moment:%Y%m%d_%H%M%S}_*")):
            moment += timedelta(seconds=1)  # another round, which is sorted by its name
        stem = f"{moment:%Y%m%d_%H%M%S}"
        text = json.dumps({**results, "date": stem}, indent=2, ensure_ascii=False)
        (self.drafts / f"{RESULTS}{_DRAFT}").write_text(text, encoding="utf-8")
        for draft in sorted(self.drafts.iterdir(), reverse=True):  # the results last
            draft.rename(self.folder / f"{stem}{draft.name.removesuffix(_DRAFT)}")
        for replaced in earlier:
            replaced.unlink(missing_ok=True)
        return self.folder / f"{stem}{RESULTS}"


def _extent(results: Mapping[str, Any]) -> list[Any]:
    """What tells a run from others: its model, responses and settings."""
    settings = value_at(results, "config", "lmms_rpts") or {}
    measured = {name: value for name, value in settings.items() if name not in _OF_CALLS}
    chosen = ("model_args", "limit", "offset", "round")
    selected = [value_at(results, "config", name) for name in chosen]
    return [results.get("model_name"), results.get("n-samples"), *selected, measured]


@contextmanager
def open_run(folder: Path) -> Iterator[RunWriter]:
    """A writer of a run in a folder, which is created; what is not published is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".drafts-", dir=folder) as drafts:
        yield RunWriter(folder, Path(drafts))


def metric_results(values: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """The results of a task: means and their standard errors, as lmms-eval calculates them.

    ``values``: by metric, one value per document, or a single one of all; None: there is none.
    """
    results: dict[str, Any] = {}
    for name, of_documents in values.items():
        known = [value for value in of_documents if value is not None]
        mean = math.fsum(known) / len(known) if known else math.nan
        error = statistics.stdev(known) / math.sqrt(len(known)) if len(known) > 1 else "N/A"
        results |= {f"{name},none": mean, f"{name}_stderr_clt,none": error}
    return results
