"""Reader of ratings in a CSV file: a sheet filled in by human raters."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.analysis.rating_types import Rating, RatingsOfFile
from lmms_rpts.escaping import did_you_mean
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.rpts_eval.runs import Run

_COLUMNS = ("task", "doc_id", "id", "step", "score", "human", "repeat", "rater")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_SHOWN = 60


def read_sheet(file: Path, run: Run) -> RatingsOfFile:
    """Read a CSV file of scores of the steps of ``run``; see ``ratings.read_ratings``.

    Raises:
        RunError: with the file, the line and the problem.
    """
    header, rows = _table(file)
    column = "human" if "human" in header else "score"
    _check_columns(header, run, f"{file}, line {rows[0].line if rows else 1}")
    places, seen = _Places.of(run), dict[tuple[str, int, int, int, str], int]()
    found: list[Rating] = []
    own, unrated = 0, 0
    for row in rows[1:]:
        if not row.cells[column]:
            unrated += 1
            continue
        response, step = places.find(row)
        key = (response.instance.task, response.instance.doc_id, response.repeat, step)
        rater, score = row.cells.get("rater", ""), row.score(column)
        if (first := seen.setdefault((*key, rater), row.line)) != row.line:
            raise row.error(_twice(rater, first, header))
        found.append(Rating(key, rater, score, f"{file}, line {row.line}"))
        own += score == response.steps[step].score
    if not found:
        blank = f"the column {column!r} is blank in all {unrated} rows"
        why = blank if unrated else "it has only a header"
        raise RunError(f"{file}: no step is rated: {why}")
    if column == "score" and {"judge", "reply"} <= set(header) and own == len(seen):
        raise RunError(
            f"{file}: its scores are the judge's own, as written by lmms-rpts export: put human "
            'scores into a column "human"'
        )
    return RatingsOfFile(file, tuple(found), unrated)


def _twice(rater: str, line: int, header: Sequence[str]) -> str:
    whom = f"by {_short(rater)}" if rater else "by the same rater"
    hint = "" if rater else '; add a column "rater" with the names of the raters'
    if "run" in header:
        hint += "; if the file holds several runs, keep the rows of one"
    return f"this step was already scored {whom} in line {line}{hint}"


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of the known columns, stripped, and the line number."""

    file: Path
    line: int
    cells: Mapping[str, str]

    def error(self, text: str) -> RunError:
        return RunError(f"{self.file}, line {self.line}: {text}")

    def score(self, column: str) -> float:
        text = self.cells[column]
        if not _NUMBER.fullmatch(text):
            raise self.error(f"{column} should be a number from 0 to 1, not {_short(text)}")
        score = float(text.replace(",", "."))
        if not 0.0 <= score <= 1.0:
            raise self.error(f"{column} should be from 0 to 1, not {_short(text)}")
        return score

    def whole(self, column: str, hint: str = "") -> int:
        text = self.cells[column]
        # Spreadsheets and pandas write whole numbers as 3.0 where a column has blanks.
        found = re.fullmatch(r"(\d{1,18})([.,]0*)?", text, re.ASCII)
        if not found:
            raise self.error(f"{column} should be an integer, not {_short(text)}{hint}")
        return int(found[1])


def _table(file: Path) -> tuple[list[str], list[_Row]]:
    """The header in lower case and all rows, the header's first; blank rows are skipped."""
    header: list[str] = []
    rows = []
    for line, cells in _lines(file):
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            continue
        header = header or [cell.lower() for cell in cells]
        if any(cells[len(header) :]):
            raise RunError(
                f"{file}, line {line} has {len(cells)} cells, the header {len(header)}: put a cell "
                'that contains the separator, such as a decimal comma, in quotes: "0,5"'
            )
        cells += [""] * (len(header) - len(cells))
        named = {name: cell for name, cell in zip(header, cells, strict=False) if name in _COLUMNS}
        rows.append(_Row(file, line, named))
    if not rows:
        raise RunError(f"{file} is empty: it should have a header and one line per step")
    return header, rows


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    text = _text(file)
    # Line ends are kept: the csv module distinguishes those within quotes from others.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    limit, line = csv.field_size_limit(max(csv.field_size_limit(), len(text))), 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise RunError(
            f"{file}, line {line}: not valid CSV ({error}): is a quote missing?"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise RunError(f"Cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RunError(
            f"{file}, line {line} is not UTF-8: save the file again as “CSV UTF-8”"
        ) from None


def _separator(text: str) -> str:
    """The separator, out of comma, semicolon and tab, that gives the most columns in the header."""
    lines = text.strip().splitlines()
    first = lines[0] if lines else ""

    def known(separator: str) -> int:
        names = {cell.strip(' "').lower() for cell in first.split(separator)}
        return len(names.intersection(_COLUMNS))

    return max((",", ";", "\t"), key=lambda each: (known(each), first.count(each)))


def _check_columns(header: Sequence[str], run: Run, place: str) -> None:
    needed = [("doc_id", "id"), ("step",), ("human", "score")]
    needed += [("task",)] if len(run.tasks) > 1 else []
    for names in needed:
        if not set(names) & set(header):
            near = [hit for name in names for hit in difflib.get_close_matches(name, header, n=1)]
            hint = f" Did you mean {_short(near[0])}?" if near else ""
            found = _short(", ".join(name for name in header if name), 200)
            raise RunError(f"{place}: no column {' or '.join(names)}; columns: {found}.{hint}")
    for name in _COLUMNS:
        if header.count(name) > 1:
            raise RunError(f"{place}: the column {name!r} occurs {header.count(name)} times")


@dataclass(frozen=True, slots=True)
class _Places:
    """Index of a run's responses by task and doc_id, and by task and id."""

    tasks: Sequence[str]
    documents: Mapping[tuple[str, int], Mapping[int, RptsRecord]]
    ids: Mapping[tuple[str, str], set[int]]

    @classmethod
    def of(cls, run: Run) -> _Places:
        documents: dict[tuple[str, int], dict[int, RptsRecord]] = {}
        ids: dict[tuple[str, str], set[int]] = {}
        for each in run.responses:
            documents.setdefault(each.instance.key, {})[each.repeat] = each
            ids.setdefault((each.instance.task, each.instance.id), set()).add(each.instance.doc_id)
        return cls(run.tasks, documents, ids)

    def find(self, row: _Row) -> tuple[RptsRecord, int]:
        task = self._task(row)
        doc_id = self._document(row, task)
        responses = self.documents[task, doc_id]
        repeat = row.whole("repeat") if row.cells.get("repeat") else 0
        if repeat not in responses:
            there = ", ".join(map(str, sorted(responses)[:9]))
            raise row.error(
                f"document {doc_id} of {task} has no repeat {repeat}; its repeats: {there}"
            )
        step, steps = row.whole("step"), len(responses[repeat].steps)
        if step >= steps:
            there = f"its steps are 0 to {steps - 1}" if steps else "its response has no steps"
            raise row.error(f"document {doc_id} of {task} has no step {step}: {there}")
        return responses[repeat], step

    def _task(self, row: _Row) -> str:
        task = row.cells.get("task", "")
        if not task and len(self.tasks) == 1:
            return self.tasks[0]
        if task not in self.tasks:
            hint = did_you_mean(task, self.tasks) or f" It has: {', '.join(self.tasks)}"
            raise row.error(f"the run has no task {_short(task)}.{hint}")
        return task

    def _document(self, row: _Row, task: str) -> int:
        if row.cells.get("doc_id") or "id" not in row.cells:
            doc_id = row.whole("doc_id", ' (document names belong in a column "id")')
            if (task, doc_id) not in self.documents:
                raise row.error(f"the run has no document with doc_id {doc_id} of {task}")
            return doc_id
        name = row.cells["id"]
        found = self.ids.get((task, name), set())
        if not found:
            raise row.error(f"the run has no document with id {_short(name)} of {task}")
        if len(found) > 1:
            raise row.error(
                f"{len(found)} documents of {task} have the id {_short(name)}: use doc_id"
            )
        return next(iter(found))


def _short(text: str, length: int = _SHOWN) -> str:
    return repr(text if len(text) <= length else text[:length] + "…")
