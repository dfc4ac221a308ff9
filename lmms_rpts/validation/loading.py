"""Labelled sets from files and folders in their publishers' own layouts."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lmms_rpts.base.escaping import listed, storable, visible
from lmms_rpts.base.rows import ReadError, Row, read_rows, row_files
from lmms_rpts.tasks.fields import Fields, LeftOut, RowError
from lmms_rpts.tasks.images import outside_fault
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.layouts import Layout, find_layout

FOLDERS = ("", "images")
"""Where images are, relative to the folder of the rows."""

MOST_FAULTS = 0.01
"""Share of rows that may be invalid. A larger share means another layout or a damaged file."""

_LABELLED = Path(__file__).parent / "labelled"
OWN = {"built-in": _LABELLED / "built_in.jsonl", "drawings": _LABELLED / "drawings.jsonl"}
"""The sets of this package, by name: gold steps of the demo, rephrased ones and manually written
wrong ones (``why`` says what is wrong); and chains about ten drawings."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The chains of one set, in the order of the files.

    ``available``: number of chains that these were drawn from; ``left_out``: number of rows that
    are not used, by the reason; ``files``: what was read.
    """

    name: str
    chains: Sequence[LabelledChain]
    available: int
    left_out: Mapping[str, int]
    files: tuple[Path, ...]


def load_set(
    path: Path,
    name: str = "",
    renamed: Mapping[str, str] | None = None,
    answers: bool = False,
    limit: int | None = None,
) -> LabelledSet:
    """Read a file, or all files of rows below a folder.

    Args:
        name: name of the set; empty: that of its layout.
        renamed: our names of fields by those of the files.
        answers: whether responses with labelled answers are wanted, and not labelled steps.
        limit: maximum number of chains; None: all.

    Raises:
        ReadError: no set is found, several are, or more than 1% of the rows are invalid.
    """
    by_layout: dict[Layout, list[Row]] = defaultdict(list)
    for file in row_files(path):
        named = []
        for row in read_rows(file):
            cells = {**dict.fromkeys(row.cells), **row.fields}  # an empty cell may say: no error
            fields = {(renamed or {}).get(it, it): value for it, value in cells.items()}
            named.append(replace(row, fields=fields))
        if layout := next(filter(None, (find_layout(row.fields, answers) for row in named)), None):
            by_layout[layout] += named
    if not by_layout:
        raise ReadError(
            f"{path}: no file has the fields of a known set; docs/validation.md shows the fields, "
            "and --field OURS=THEIRS renames yours"
        )
    if len(by_layout) > 1:
        names = ", ".join(layout.name for layout in by_layout)
        raise ReadError(f"{path} contains several sets ({names}): pass the files of one")
    ((layout, rows),) = by_layout.items()
    if layout.answers is not answers:
        option = "--data" if answers else "--answers"
        raise ReadError(f"{path} has the layout {layout.name}: use {option}")
    chains, left_out = _chains(rows, layout, path)
    files = tuple(dict.fromkeys(row.file for row in rows))
    return LabelledSet(name or layout.name, draw(chains, limit), len(chains), left_out, files)


def _chains(
    rows: Sequence[Row], layout: Layout, path: Path
) -> tuple[list[LabelledChain], dict[str, int]]:
    """The distinct chains of rows that have a label, and the number of other rows by the reason."""
    left_out: Counter[str] = Counter()
    faults: list[str] = []
    chains: dict[object, LabelledChain] = {}
    for row in rows:
        # Names of files and keys become ids and strata, but may be invalid Unicode.
        fields = Fields(row.fields, storable(row.file.stem), row.number, storable(row.key))
        try:
            if row.fault:
                raise RowError("row", row.fault)
            chain = layout.read(fields)
            key = (chain.id, chain.context, chain.steps, chain.labels, chain.premises)
            if key in chains or not chain.asked:
                raise LeftOut("duplicate chain" if key in chains else "no step has a label")
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except RowError as error:
            left_out[f"invalid {error.field.partition('[')[0]}"] += 1
            faults.append(visible(f"{row.file.name}, {row.place}: {error}"))
        else:
            chains[key] = replace(chain, files=_image_files(chain.images, row.file.parent))
    if len(faults) > MOST_FAULTS * len(rows):
        raise ReadError(
            f"{path}: {len(faults):,} of {len(rows):,} rows do not fit the layout {layout.name}:\n"
            + "  {}\nUp to 1% are left out. Is the file complete?".format(listed(faults, "\n  "))
        )
    if not chains:
        reasons = "; ".join(f"{reason} ({n:,})" for reason, n in left_out.items())
        raise ReadError(f"{path}: no usable chain: {reasons}")
    return list(chains.values()), dict(left_out)


def _image_files(names: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """The files of images, each in the first folder that has it; empty if one is missing.

    The names come with the data, so files outside of the folders are not used.
    """
    files: list[Path] = []
    for name in names:
        for place in (folder / each for each in FOLDERS):
            if os.path.isfile(place / name) and not outside_fault(place / name, place):
                files.append(place / name)
                break
    return tuple(files) if len(files) == len(names) else ()
