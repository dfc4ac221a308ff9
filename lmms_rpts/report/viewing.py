"""``lmms-rpts view``: a page that lists the runs below a folder, and a server that shows it.

The table is read from results files; samples are read when a report is opened. Requests name runs
by their numbers, never by a path.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from lmms_rpts.runs.reading import model_name, read_results
from lmms_rpts.runs.samples import SAMPLES, task_of
from lmms_rpts.runs.validity import ValidityFile
from lmms_rpts.tasks.all_runs import read_all_runs

_FILE = re.compile(rf"(.+?)(_results\.json|{SAMPLES}.*\.jsonl)")
_SCRIPTS = ("core", "theme", "expression", "table", "navigation", "keys", "address", "view")
# Also through ``ssh -L PORT:localhost:N``; a page of another host that resolves to this machine
# (DNS rebinding) is refused.
_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.ASCII)
_REPORT = re.compile(r"/report\?(?:run=\d{1,6}&?){1,20}", re.ASCII)
# What the values of a file that is not of lmms-eval may raise
_FOREIGN = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


class Viewer:
    """The runs below a folder, and their reports.

    Args:
        folder: the folder.
        pages: a folder for reports.
        validity: validity files of judges, for the reports.
    """

    def __init__(self, folder: Path, pages: Path, validity: Sequence[ValidityFile] = ()) -> None:
        self._folder, self._pages, self._validity = folder, pages, validity
        scripts = [f"{name}.js" for name in _SCRIPTS]
        self._frame = Frame(("report.css", "viewer.css", "view.css"), scripts, command="view")
        self._frame.environment.globals.update(duration=duration)
        self._numbers: dict[Path, int] = {}  # by what the names of a run's files begin with
        self._rows: dict[Path, tuple[object, list[dict[str, Any]]]] = {}
        self._reports: dict[Path, object] = {}
        self._lock = threading.Lock()

    def page(self, bundled: bool = False) -> str:
        """The page with the list; ``bundled``: as a file beside the reports."""
        found, going = self._walk()
        rows = [row for run, files in found.items() for row in self._rows_of(run, files)]
        rows.sort(key=lambda row: str(row["of"].get("date")), reverse=True)
        link = "report-%d.html" if bundled else "report?run=%d"
        for row in rows if bundled else ():
            row["reads"] = (self._pages / (link % row["number"])).is_file()
        title = f"Runs in {self._folder.resolve().name}"
        body = self._frame.body(
            "view.jinja",
            rows=rows,
            cells=facts({at: [row["of"]] for at, row in enumerate(rows)}),
            going=None if bundled else going,
            title=title,
            link=link,
        )
        own = "'none'" if bundled else "'self'"
        credit = "results of lmms-eval."
        return self._frame.page(title=title, body=body, parts=(), credit=credit, own=own)

    def report(self, numbers: Iterable[int]) -> Path:
        """The report of the runs with these numbers, written again if their samples changed."""
        with self._lock:
            found, _ = self._walk()
            files = [
                file
                for run, number in self._numbers.items()
                for file in sorted(found.get(run, ()))
                if number in numbers
            ]
            page = self._pages / f"report-{'-'.join(map(str, numbers))}.html"
            stamp = [(file, file.stat().st_mtime_ns) for file in files]
            if self._reports.get(page) != stamp:
                runs = read_all_runs(files).every
                write_report(runs, page, progress=False, validity=self._validity)
                self._reports[page] = stamp
            return page

    def write(self) -> list[str]:
        """Write list and reports for a web server; returns why runs have no report."""
        index, faults = self._pages / "index.html", []
        if any(self._pages.glob("*")) and not (index.is_file() and may_overwrite(index, "view")):
            raise ReportError(f"{self._pages} contains other files: choose a new folder")
        for page in self._pages.glob("report-*.html"):
            page.unlink()
        found, _ = self._walk()
        for run in filter(found.get, self._numbers):
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
        for place, name in (
            (place, name) for place, _, all_ in os.walk(self._folder) for name in all_
        ):
            if parts := _FILE.fullmatch(name):
                run = found.setdefault(Path(place, parts[1]), [])
                run += [Path(place, name)] if SAMPLES in name else []
            elif name.startswith(STATUS):
                with suppress(OSError, ValueError):  # removed, or not ours
                    going.append(Status.model_validate_json(Path(place, name).read_bytes()))
        for each in sorted(found):
            self._numbers.setdefault(each, len(self._numbers) + 1)
        return found, sorted(going, key=lambda each: (each.stopped, -each.begun))

    def _rows_of(self, run: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
        """The rows of a run, one for each task or group of tasks, read again if they changed."""
        results = run.with_name(f"{run.name}_results.json")
        stamp = (len(files), results.stat().st_mtime_ns if results.is_file() else 0)
        if run not in self._rows or self._rows[run][0] != stamp:
            folder = run.parent.relative_to(self._folder).as_posix()
            rows: list[dict[str, Any]] = []
            fault = ""
            try:
                rows += _read_rows(read_results(Path(f"{run}{SAMPLES}")), run, files)
            except UserError as error:
                fault = str(error)
            except _FOREIGN:
                fault = f"{results.name} is not of lmms-eval"
            row = {"number": self._numbers[run], "reads": bool(files), "fault": fault}
            own = {"model": run.parent.name, "folder": folder, "date": run.name}
            self._rows[run] = stamp, [{**row, "of": own | each} for each in rows or [{}]]
        return self._rows[run][1]


def _read_rows(
    results: Mapping[str, Any], run: Path, files: Iterable[Path]
) -> Iterator[dict[str, Any]]:
    """The values of each task or group that is in no other group, from a results file."""
    metrics = results.get("results") or {task_of(file): {} for file in sorted(files)}
    groups = results.get("group_subtasks") or {}
    made = metadata_of({**results, "date": results.get("date") or run.name})
    common = {
        "model": model_name(results) or run.parent.name,
        "judge": str(value_at(results, "config", "lmms_rpts", "judge") or ""),
        "cost": _number(value_at(results, "usage", "judges", "cost")),
        "seconds": _number(results.get("total_evaluation_time_seconds")),
        "date": made.get("date", "")[:19],
    }
    inner = {task for tasks in groups.values() for task in tasks}
    for task in [each for each in metrics if each not in inner]:
        sizes = (
            _number(value_at(results, "n-samples", each, "effective"))
            for each in groups.get(task) or [task]
        )
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
                return self.send_error(403, "This host is not allowed")
            if self.path != "/" and not _REPORT.fullmatch(self.path):
                return self.send_error(404)
            try:
                numbers = list(dict.fromkeys(map(int, re.findall(r"\d+", self.path))))
                page = viewer.report(numbers).read_bytes() if numbers else viewer.page().encode()
            except (UserError, OSError) as error:
                return self.send_error(409, "No report", str(error))
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
