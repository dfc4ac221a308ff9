"""Building chains from rows: the two forms of labels, and texts with several numbered steps."""

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
"""Values that three sets use for a solution without a wrong step."""

# "Step 3: ...", as in the solutions of MR-Ben; "**Step 3:** ..." counts, too.
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
    """A chain for which only the first error is known.

    Args:
        error: number of the first wrong step, from 0; None: no step is wrong.
        question: groups the chains of one question; None: the context.
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
    """Number of the first wrong step, from 0; None: there is none."""
    return next((at for at, label in enumerate(labels) if label is False), None)


def error_from_one(row: Row, name: str, steps: int, *, correct: bool) -> int | None:
    """The first error, counted from 1 in the data, of a solution labelled as correct or not.

    Raises:
        RowError: a correct solution has an error, a wrong one has none, or the step does not exist.
    """
    value = row.get(name)
    if not correct:
        return step_number(as_written_whole(value, name), steps, name, base=1)
    if value is not None and value != NO_ERROR:
        raise RowError(name, f"is {shown(value)}, but the solution is marked as correct")
    return None


def text_or(row: Row, name: str, default: str) -> str:
    """The text of a field that is missing in some copies of the data."""
    return row.text(name) if name in row else default


def same_length(labels: Sequence[Any], steps: Sequence[Any], field: str) -> None:
    """Raise RowError unless every step has a label."""
    if len(labels) != len(steps):
        raise RowError(field, f"has {len(labels):,} entries for {len(steps):,} steps")


def literal(text: str) -> Any:
    """The value written in a text, as JSON or as a Python literal.

    Raises:
        ValueError, TypeError, SyntaxError, RecursionError, MemoryError: the text is neither.
    """
    try:
        return json.loads(text)
    except ValueError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes such as '\d' in texts
            return ast.literal_eval(text)


def join_numbered(entries: Sequence[str], field: str) -> tuple[str, ...]:
    """Join lines to steps: a line without a number belongs to the step before it.

    ``["Step 1: ...", "", "Step 2: ...", "Solution: A"]`` are two steps. If no line has a number,
    each line is a step.

    Raises:
        LeftOut: the numbers are not 1, 2, 3 and so on.
    """
    found = [_NUMBERED.match(entry) for entry in entries]
    starts = [at for at, match in enumerate(found) if match]
    if not starts:
        return tuple(entries)
    if [int(match[1]) for match in found if match] != list(range(1, len(starts) + 1)):
        raise LeftOut("the steps are not numbered 1, 2, 3 and so on")
    bounds = [0, *starts[1:], len(entries)]
    joined = ("\n".join(entries[a:b]) for a, b in itertools.pairwise(bounds))
    return tuple(as_text(each, field) for each in joined)


def cut_numbered(text: str, mark: re.Pattern[str], field: str) -> tuple[str, ...]:
    """Split a text into steps, before each mark that has the next number.

    Text before the first mark belongs to the first step. Steps keep their marks, but not the
    white space around the step.

    Args:
        mark: a pattern whose first group is the number.
    """
    starts: list[int] = []
    for found in mark.finditer(text):
        if int(found[1]) == len(starts) + 1:
            starts.append(found.start())
    if not starts:
        raise RowError(field, "has no numbered steps")
    bounds = [0, *bounded(starts, field)[1:], len(text)]
    return tuple(text[a:b].strip() for a, b in itertools.pairwise(bounds))


def group_of(images: Iterable[str], text: str) -> str:
    """Group of a chain about images: images and text, as short questions are often reused."""
    return "\n".join((*images, text))
