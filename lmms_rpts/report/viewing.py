"""``lmms-rpts view``: a page that lists the runs below a folder, and a server that shows it.

The table is read from results files; samples are read when a report is opened. Requests name runs
by their numbers, never by a path.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.files import may_overwrite
from lmms_rpts.base.status import STATUS, Status
from lmms_rpts.report.frame import Frame
from lmms_rpts.report.pages import facts
from lmms_rpts.report.writing import ReportError, write_page, write_report
from lmms_rpts.runs.metadata import duration, metadata_of, value_at
from lmms_rpts.runs.reading import RESULTS, model_name, read_results
from lmms_rpts.runs.samples import SAMPLES
from lmms_rpts.tasks.all_runs import read_all_runs

_FILE = re.compile(rf"(.+?)({RESULTS}|{SAMPLES}.*\.jsonl)")
_SCRIPTS = ("core", "theme", "expression", "table", "navigation", "keys", "address", "view")
# Also through ``ssh -L PORT:localhost:N``; a page of another host that resolves to this machine
# (DNS rebinding) is refused.
_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.ASCII)
_REPORT = re.compile(r"/report\?(?:run=\d{1,6}&?){1,20}", re.ASCII)
# What the values of a file that is not of lmms-eval may raise
_FOREIGN = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


class Viewer:
    """The runs below a folder, and their reports, which are written to the folder ``pages``."""

    def __init__(self, folder: Path, pages: Path) -> None:
        self._folder, self._pages = folder, pages
        scripts = [f"{name}.js" for name in _SCRIPTS]
        self._frame = Frame(("report.css", "viewer.css", "view.css"), scripts, command="view")
        self._frame.environment.globals.update(duration=duration)
        self._numbers: dict[Path, int] = {}  # by what the names of a run's files begin with
        self._reports: dict[Path, object] = {}
        self._walking, self._building = threading.Lock(), threading.Lock()

    def page(self, bundled: bool = False) -> str:
        """The page with the list; ``bundled``: as a file beside the reports."""
        found, going = self._walk()
        rows = []
        for run, files in found.items():
            number, folder = self._numbers[run], run.parent.relative_to(self._folder).as_posix()
            link = f"report-{number}.html" if bundled else f"report?run={number}"
            link = link if files and (not bundled or (self._pages / link).is_file()) else ""
            values = _values_of(run, tuple(files), _changed(Path(f"{run}{RESULTS}")))
            rows += [(number, link, {**each, "folder": folder}) for each in values]
        rows.sort(key=lambda row: str(row[2]["date"]), reverse=True)
        title = f"Runs in {self._folder.resolve().name}"
        cells = facts({at: [values] for at, (_, _, values) in enumerate(rows)})
        more = {"going": None if bundled else going, "now": time.time(), "title": title}
        body = self._frame.body("view.jinja", rows=rows, cells=cells, **more)
        framed: dict[str, Any] = {"parts": (), "credit": "results of lmms-eval.", "body": body}
        return self._frame.page(title=title, served=not bundled, **framed)

    def report(self, numbers: Sequence[int]) -> Path:
        """The report of the runs with these numbers, written again if their samples changed."""
        with self._building:
            found, _ = self._walk()
            chosen = [run for run, number in self._numbers.items() if number in numbers]
            files = [file for run in chosen for file in sorted(found.get(run, ()))]
            page = self._pages / f"report-{'-'.join(map(str, numbers))}.html"
            stamp = [(file, _changed(file)) for file in files]
            if self._reports.get(page) != stamp:
                write_report(read_all_runs(files).every, page, progress=False)
                self._reports[page] = stamp
            return page

    def write(self) -> list[str]:
        """Write list and reports for a web server; returns why runs have no report."""
        index, faults = self._pages / "index.html", []
        if any(self._pages.glob("*")) and not (index.is_file() and may_overwrite(index, "view")):
            raise ReportError(f"{self._pages} contains other files: choose a new folder")
        for page in self._pages.glob("report-*.html"):
            page.unlink()
        for run in filter(self._walk()[0].get, self._numbers):
            try:
                self.report([self._numbers[run]])
            except UserError as error:
                faults.append(f"{run}: {error}")
        write_page(index, self.page(bundled=True))
        return faults

    def _walk(self) -> tuple[dict[Path, list[Path]], list[Status]]:
        """The samples of each run; and the runs that are going on, or stopped."""
        found: dict[Path, list[Path]] = {}
        going = []
        for place, _, names in os.walk(self._folder):
            for name in names:
                if parts := _FILE.fullmatch(name):
                    samples = found.setdefault(Path(place, parts[1]), [])
                    samples += [Path(place, name)] if SAMPLES in name else []
                elif name.startswith(STATUS):
                    with suppress(OSError, ValueError):  # removed, or not ours
                        going.append(Status.model_validate_json(Path(place, name).read_bytes()))
        with self._walking:
            for run in sorted(found.keys() - self._numbers.keys()):
                self._numbers[run] = len(self._numbers) + 1
        return found, sorted(going, key=lambda each: (each.stopped, -each.begun))


def _changed(file: Path) -> int:
    return file.stat().st_mtime_ns if file.is_file() else 0


@lru_cache(maxsize=10_000)
def _values_of(run: Path, files: tuple[Path, ...], changed: int) -> list[dict[str, Any]]:
    """The values of each task, or group of tasks, of a run; ``fault``: why it can't be read."""
    basic = {"model": run.parent.name, "date": run.name}
    try:
        found = read_results(Path(f"{run}{SAMPLES}"))
        return [basic | each for each in _read_values(found, run, files)]
    except UserError as error:
        return [basic | {"fault": str(error)}]
    except _FOREIGN:
        return [basic | {"fault": f"{run.name}{RESULTS} is not of lmms-eval"}]


def _read_values(
    results: Mapping[str, Any], run: Path, files: Iterable[Path]
) -> Iterator[dict[str, Any]]:
    tasks = ", ".join(sorted(file.stem.partition(SAMPLES)[2] for file in files))
    metrics, groups = results.get("results") or {tasks: {}}, results.get("group_subtasks") or {}
    common = {
        "judge": str(value_at(results, "config", "lmms_rpts", "judge") or ""),
        "cost": _number(value_at(results, "usage", "judges", "cost")),
        "seconds": _number(results.get("total_evaluation_time_seconds")),
        "date": metadata_of({"date": run.name, **results})["date"][:19],
    }
    if model := model_name(results):
        common["model"] = model
    inner = {task for tasks in groups.values() for task in tasks}
    for task in [each for each in metrics if each not in inner]:
        parts = groups.get(task) or [task]
        sizes = [_number(value_at(results, "n-samples", each, "effective")) for each in parts]
        yield {"task": task, "n": sum(filter(None, sizes)) or None, **common} | {
            name.partition(",")[0]: _number(value)
            for name, value in metrics[task].items()
            if isinstance(value, int | float) and "_stderr" not in name
        }


def _number(value: Any) -> float | None:
    """A finite number; lmms-eval writes some as text."""
    found = math.nan if value is None else float(value)
    return found if math.isfinite(found) else None


def open_server(viewer: Viewer, port: int) -> ThreadingHTTPServer:
    """A server of the viewer's pages on this machine only; port 0: any that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not _HOST.fullmatch(self.headers.get("Host", "")):
                self.send_error(403, "This host is not allowed")
                return
            try:
                if self.path == "/":
                    page = viewer.page().encode("utf-8", "replace")
                elif _REPORT.fullmatch(self.path):
                    numbers = dict.fromkeys(map(int, re.findall(r"\d+", self.path)))
                    page = viewer.report([*numbers]).read_bytes()
                else:
                    self.send_error(404)
                    return
            except (UserError, OSError) as error:
                self.send_error(409, "No report", str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
