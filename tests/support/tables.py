"""Tables of test cases: one test for many rows, which reports every failing row."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]
Row = dict[str, Any]
SKIPPED = pytest.skip.Exception
FAILURES = (Exception, pytest.fail.Exception, SKIPPED)
"""Exceptions that end a row. Those of pytest are no subclasses of ``Exception``."""
LONGEST = 200
"""Characters of a value that a report shows."""


def table(names: str, *rows: Any, parts: int = 1) -> Callable[[Test], Test]:
    """Turns a function into one test that calls it with each row.

    ``names`` are the parameters that a row fills, as in ``"answer, grade"``; with one name a row is
    its value. The other parameters are fixtures, shared by the rows, except ``monkeypatch`` and
    ``tmp_path``: each row has its own. Stacked tables are multiplied. A skipped row skips the test,
    unless another row fails. Slow rows are split into ``parts`` tests, so that workers can share
    them.
    """
    if not rows:
        raise ValueError(f"a table of {names} without rows")
    columns = [name.strip() for name in names.split(",")]
    named = [dict(zip(columns, _values(row, columns), strict=True)) for row in rows]

    def decorate(test: Test) -> Test:
        below: list[Row] = getattr(test, "rows", [{}])
        crossed = [{**row, **other} for other in below for row in named]
        return _test(test, crossed, max(parts, getattr(test, "parts", 1)))

    return decorate


def _values(row: Any, columns: list[str]) -> Any:
    if len(columns) == 1:
        return (row,)
    if len(row) != len(columns):
        raise ValueError(f"a row of {len(row)} values for {', '.join(columns)}: {row!r}")
    return row


def _test(decorated: Test, table: list[Row], parts: int) -> Test:
    function: Test = getattr(decorated, "function", decorated)  # under all tables
    marks = [each for each in getattr(decorated, "pytestmark", []) if each.args[:1] != ("part",)]

    def test(**fixtures: Any) -> None:
        __tracebackhide__ = True
        rows = table[fixtures.pop("part", 0) :: parts]
        errors = [_error(function, row, fixtures, number) for number, row in enumerate(rows)]
        ended = [(row, error) for row, error in zip(rows, errors, strict=True) if error]
        failed = [each for each in ended if not isinstance(each[1], SKIPPED)]
        if failed:
            told = "\n".join(_told(function, *each) for each in failed)
            said = f"{len(failed)} of {len(rows)} rows failed:\n{told}"
            raise AssertionError(said) from failed[0][1]
        for _, skipped in ended:
            raise skipped

    signature = inspect.signature(function)
    needed = [each for each in signature.parameters.values() if each.name not in table[0]]
    if parts > 1:
        needed.append(inspect.Parameter("part", inspect.Parameter.KEYWORD_ONLY))
        marks.append(pytest.mark.parametrize("part", range(parts)).mark)
    functools.update_wrapper(test, function, updated=())
    # pytest reads the fixtures, and the marks of decorators below.
    test.__signature__ = signature.replace(parameters=needed)  # type: ignore[attr-defined]
    test.pytestmark = marks  # type: ignore[attr-defined]
    test.function, test.rows, test.parts = function, table, parts  # type: ignore[attr-defined]
    return test


def _error(function: Test, row: Row, fixtures: Row, number: int) -> BaseException | None:
    """The exception of a row, if any."""
    own = dict(fixtures)
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        if "tmp_path" in own:
            own["tmp_path"] = Path(own["tmp_path"], f"row{number}")
            own["tmp_path"].mkdir()
        try:
            function(**own, **row)
        except FAILURES as error:
            return error
    return None


def _told(function: Test, row: Row, error: BaseException) -> str:
    shown = ", ".join(f"{name}={_short(value)}" for name, value in row.items())
    place = function.__code__.co_filename
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each[0] == place]
    reason = "".join(traceback.format_exception_only(error)).strip().replace("\n", "\n    ")
    return f"- {shown}\n    line {lines[-1] if lines else '?'}: {reason}"


def _short(value: Any) -> str:
    try:
        shown = repr(value)
    except (RecursionError, ValueError):  # a list nested a thousand deep; a number of 5000 digits
        return object.__repr__(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}... ({len(shown)} characters)"
