"""A custom task of the questions in logs of inspect_ai, or in result files of VLMEvalKit."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from lmms_rpts.base.rows import Row, read_objects, read_rows
from lmms_rpts.runs.responses import FAILED, logged, response_files
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.own.convert import Table

_FIELDS = {
    *("id", "index", "question", "answer", "images", "image", "image_path", "hint", "options"),
    *string.ascii_uppercase,
    "category",
}
"""The fields of a question in logs of inspect_ai, and in VLMEvalKit's documented columns."""


def read_logs(paths: Sequence[Path]) -> list[Row]:
    """The rows of logs, each with the fields of ``logged``; empty if a file is no log."""
    found = []
    for file in (file for path in paths for file in response_files(path)):
        for row in read_rows(file):
            if (entry := logged(row)) is None:
                return []
            found.append(replace(row, fields={**row.fields, **entry}))
    return found


def notes_of(rows: Sequence[Row]) -> Iterator[str]:
    """What of each log is missing, failed or not taken over, in one line."""
    for file, group in groupby(rows, lambda row: row.file):
        found = [row.fields for row in group]
        failed = [each for (each,) in (row["response"] for row in found) if each.startswith(FAILED)]
        turns = sum(row.get("turns", 1) > 1 for row in found)
        lost = [kind for row in found for kind in row.get("lost", ())]
        there = f"{len(found)} of {len(found) + found[0].get('missing', 0)} samples are there"
        parts = {
            f"not finished (status {found[0].get('status')}): {there}": found[0].get("missing"),
            f"requests that failed, which are not wrong answers: {len(failed)}": failed,
            f"samples with tools or several turns, of which the last output counts: {turns}": turns,
            f"parts of questions that it lacks: {len(lost)} ({', '.join({*lost})})": lost,
        }
        if said := [part for part, there in parts.items() if there]:
            yield f"{file.name}: {'; '.join(said)}"


def questions_of(rows: Sequence[Row], data: Path | None = None) -> tuple[str, Table]:
    """The name of the task of logs, and its questions: of several rows with one id, the first.

    Args:
        rows: of ``read_logs``.
        data: the data set that has the questions and images, by id; None: that of VLMEvalKit
            beside the results or in ~/LMUData, by its name, else the logs themselves.
    """
    name, file = rows[0].fields["log"], rows[0].file
    if other := next((row for row in rows if row.fields["log"] != name), None):
        raise DataError(
            f"{file.name} is a log of {name}, {other.file.name} of {other.fields['log']}: score "
            "them one by one"
        )
    if data is None and rows[0].cells:
        folders = file.parent, Path.home() / "LMUData"
        beside = (each for folder in folders for each in folder.glob("*.tsv"))
        data = next((each for each in beside if file.stem.endswith(f"_{each.stem}")), None)
    known = read_objects(data) if data else rows
    asked = {str(row.fields.get("index", row.fields.get("id"))): row for row in reversed([*known])}
    answered = dict.fromkeys(str(row.fields["id"]) for row in rows)
    if absent := next((own_id for own_id in answered if own_id not in asked), None):
        raise DataError(f"{data} has no question {absent!r}, which {file} answers")
    found, place = tuple(asked[own_id] for own_id in answered), data or file
    names = dict.fromkeys(each for row in found for each in (*row.cells, *row.fields))
    names.pop("index" if "id" in names else "id", None)
    if not (place.parent / str(found[0].fields.get("image_path"))).is_file():
        names.pop("image_path", None)  # results name the images of a data set that is elsewhere
    task = re.sub("[^A-Za-z0-9]+", "_", f"log {name}")[:50].removesuffix("_rpts").strip("_")
    used = tuple(each for each in names if each in _FIELDS)
    return task, Table(str(place), found, (place.absolute().parent,), used)
