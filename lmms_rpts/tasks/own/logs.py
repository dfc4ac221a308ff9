"""A custom task of the questions in logs of inspect_ai, or in result files of VLMEvalKit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lmms_rpts.base.rows import Row, read_objects, read_rows
from lmms_rpts.runs.responses import FAILED, logged, response_files
from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.own.convert import Table, convert, map_names
from lmms_rpts.tasks.own.data import REMEDY
from lmms_rpts.tasks.own.starting import Start

_FIELDS = ("id", "question", "answer", "images", "context", "options", "ability")


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


def start_from(rows: Sequence[Row], data: Path | None = None) -> tuple[Start, list[str]]:
    """The task of the questions in logs, and notes on what it lacks.

    Args:
        rows: of ``read_logs``; of several with one id, the first has the question.
        data: the data set, whose fields and images are joined by id; None: that of VLMEvalKit
            beside the results or in ~/LMUData, by its name, if there is one.

    Raises:
        DataError: if they are of several tasks, or cannot be used.
    """
    name, file, notes = str(rows[0].fields["log"]), rows[0].file, []
    if other := next((row for row in rows if row.fields["log"] != name), None):
        raise DataError(
            f"{file.name} is a log of {name}, {other.file.name} of {other.fields['log']}: score "
            "them one by one"
        )
    if data is None and rows[0].cells:
        folders = file.parent, Path.home() / "LMUData"
        beside = (each for folder in folders for each in folder.glob("*.tsv"))
        data = next((each for each in beside if file.stem.endswith(f"_{each.stem}")), None)
    more: dict[str, Mapping[str, Any]] = {}
    if data:
        known = {
            str(row.fields.get("index", row.fields.get("id"))): row for row in read_objects(data)
        }
        more = {own_id: row.fields for own_id, row in known.items()}
        notes.append(f"Questions and images are joined from {data}, by id")
    asked: dict[str, Row] = {}
    for row in rows:
        own_id = str(row.fields["id"])
        if data and own_id not in more:
            raise DataError(f"{data} has no question {own_id!r}, which {row.where} answers")
        asked.setdefault(own_id, replace(row, fields={**more.get(own_id, {}), **row.fields}))
    found = tuple(asked.values())
    names = tuple(dict.fromkeys(name for row in found for name in row.fields))
    places = tuple({each.absolute().parent for each in (data or file, file)})
    table = Table(str(file), found, places, names)
    chosen = {"id": "id"} | ({"ability": "category"} if "category" in names else {})
    mapping = {to: of for to, of in map_names(names, chosen).items() if to in _FIELDS}
    without = sum(not row.fields.get(mapping.get("answer", "")) for row in found)
    if without:
        notes.append(f"{without} of {len(found)} questions have no answer: answers are not graded")
    kind = "none" if without else None
    form, made, pictures, faults = convert(table, mapping, kind)
    if pictures.faults and data is None:
        del mapping["images"]
        form, made, pictures, faults = convert(table, mapping, kind)
    raise_faults(file, [*faults, *pictures.faults], REMEDY)
    if not pictures.found:
        notes.append("No images: only text is judged. To join them by id: --data DATASET.tsv")
    task = "log_" + re.sub("[^A-Za-z0-9]+", "_", name)[:50].removesuffix("_rpts").strip("_")
    return Start(task, form, "en", [row.fields for row in made], pictures.found), notes
