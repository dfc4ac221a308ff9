"""Chains from rows: the two forms of labels, and texts that hold several numbered steps."""

from __future__ import annotations

import ast
import itertools
import json
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.rows import (
    LeftOut,
    Row,
    RowError,
    as_text,
    as_written_whole,
    bounded,
    labels_to,
    step_number,
)

Labels = tuple[bool | None, ...]

NO_ERROR = "N/A"
"""How three sets write that a solution has no wrong step."""

# "Step 3: ...", as the solutions of MR-Ben are written; "**Step 3:** ..." is the same.
_NUMBERED = re.compile(r"[\s*#]{0,9}step\s{0,3}(\d{1,4})[\s*]{0,3}[:.)]", re.ASCII | re.IGNORECASE)


def located_chain(
    row: Row,
    *,
    context: str,
    steps: tuple[str, ...],
    error: int | None,
    stratum: str,
    question: str | None = None,
    id: str | None = None,
) -> LabelledChain:
    """A chain of which only the first error is known.

    Args:
        error: its number, from 0; None: no step is wrong.
        question: what groups the chains of one question; None: the context.
        id: None: the file and the number of the row.
    """
    return LabelledChain(
        id=row.place if id is None else id,
        question=context if question is None else question,
        stratum=stratum,
        language="en",
        context=context,
        steps=steps,
        labels=labels_to(error, len(steps)),
        first_error=error,
    )


def first_wrong(labels: Labels) -> int | None:
    """The number of the first wrong step, from 0; None: there is none."""
    return next((at for at, label in enumerate(labels) if label is False), None)


def error_from_one(row: Row, name: str, steps: int, *, correct: bool) -> int | None:
    """The first error of a solution that is said to be correct or not, counted from 1.

    Raises:
        RowError: a correct solution has an error, a wrong one has none, or there is no such step.
    """
    value = row.get(name)
    if not correct:
        return step_number(as_written_whole(value, name), steps, name, base=1)
    if value is not None and value != NO_ERROR:
        raise RowError(name, f"is {shown(value)}, but the solution is said to be correct")
    return None


def text_or(row: Row, name: str, default: str) -> str:
    """The text of a field that some copies of the data don't have."""
    return row.text(name) if name in row else default


def same_length(labels: Sequence[Any], steps: Sequence[Any], field: str) -> None:
    """Raises RowError where not every step has its label."""
    if len(labels) != len(steps):
        raise RowError(field, f"has {len(labels):,} entries for {len(steps):,} steps")


def literal(text: str) -> Any:
    """The value that a text holds, in JSON or as Python writes it.

    Raises:
        ValueError, TypeError, SyntaxError, RecursionError, MemoryError: it holds none.
    """
    try:
        return json.loads(text)
    except ValueError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # '\d' in a text that Python did not write
            return ast.literal_eval(text)


def join_numbered(entries: Sequence[str], field: str) -> tuple[str, ...]:
    """Steps of lines, where a line that has no number of its own belongs to the step before it.

    ``["Step 1: ...", "", "Step 2: ...", "Solution: A"]`` are two steps. Where no line has a
    number, each is a step.

    Raises:
        LeftOut: the numbers are not 1, 2, 3 and so on.
    """
    found = [_NUMBERED.match(entry) for entry in entries]
    starts = [at for at, match in enumerate(found) if match]
    if not starts:
        return tuple(entries)
    if [int(match[1]) for match in found if match] != list(range(1, len(starts) + 1)):
        raise LeftOut("its steps are not numbered 1, 2, 3 and so on")
    bounds = [0, *starts[1:], len(entries)]
    joined = ("\n".join(entries[a:b]) for a, b in itertools.pairwise(bounds))
    return tuple(as_text(each, field) for each in joined)


def cut_numbered(text: str, mark: re.Pattern[str], field: str) -> tuple[str, ...]:
    """Steps of one text, cut before each mark that bears the next number.

    What stands before the first mark belongs to the first step. Steps keep their marks, but not
    the space around them, which only parted them.

    Args:
        mark: its first group is the number.
    """
    starts: list[int] = []
    for found in mark.finditer(text):
        if int(found[1]) == len(starts) + 1:
            starts.append(found.start())
    if not starts:
        raise RowError(field, "holds no numbered steps")
    bounds = [0, *bounded(starts, field)[1:], len(text)]
    return tuple(text[a:b].strip() for a, b in itertools.pairwise(bounds))


def group_of(images: Iterable[str], text: str) -> str:
    """What groups the chains of one question about pictures: few words are asked of many."""
    return "\n".join((*images, text))
