"""Reading of labelled steps from files and folders in their publishers' own layouts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lmms_rpts.base.escaping import listed, storable, visible
from lmms_rpts.base.rows import ReadError, Row, read_rows, row_files
from lmms_rpts.tasks.fields import Fields, LeftOut, RowError
from lmms_rpts.tasks.images import outside_fault
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import LAYOUTS, Layout, find_layout

SUFFIXES = (".json", ".jsonl", ".parquet")
"""Suffixes of the files that are read."""

FOLDERS = ("", "images")
"""Where images are, relative to the folder of the rows."""

MOST_FAULTS = 0.01
"""Share of rows that may be invalid. A larger share means another layout or a damaged file."""

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LoadedSet:
    """The chains of one set.

    Attributes:
        name: the given name, else the name of the layout.
        chains: in the order of the files, with unique ids.
        skipped: number of invalid rows, by the invalid field.
        left_out: number of rows without anything to judge, by reason.
        files: the files.
    """

    name: str
    layout: Layout
    chains: tuple[LabelledChain, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def load_sets(
    data: Iterable[tuple[str | None, Path]],
    fields: Mapping[str, str] | None = None,
    answers: bool = False,
) -> list[LoadedSet]:
    """Read several sets, each with a name of its own; raises as ``load_set``.

    Args:
        fields: as for ``load_set``.
        answers: whether the labels are to be those of answers, not of steps.
    """
    known = {layout.name for layout in LAYOUTS}
    sets: list[LoadedSet] = []
    for name, path in data:
        found = load_set(path, name, fields, answers)
        if found.layout.answers is not answers:
            raise ReadError(
                f"{path} has the layout {found.layout.name}: "
                f"use {'--data' if answers else '--answers'}"
            )
        if name in known and name != found.layout.name:
            raise ReadError(
                f"{path} has the layout {found.layout.name}, not {name}: choose another name"
            )
        if any(found.name == each.name for each in sets):
            raise ReadError(
                f"Two data sets are called {found.name!r}: use different names, as in "
                "--data NAME=PATH"
            )
        sets.append(found)
    return sets


def load_set(
    path: Path,
    name: str | None = None,
    fields: Mapping[str, str] | None = None,
    answers: bool = False,
) -> LoadedSet:
    """Read a file, or all JSON and Parquet files of a folder and its subfolders.

    Args:
        path: a file or a folder.
        name: name of the set; None: the name of its layout. If a folder holds several sets, the
            name of a layout selects one.
        fields: names of fields in the files that are not those of the layout, and the latter.
        answers: what a file is, if its fields fit labels of answers and labels of steps.

    Raises:
        ReadError: no set is found, several are, or more than 1% of the rows are invalid.
    """
    if os.path.isfile(path) and path.suffix.lower() not in SUFFIXES:
        raise ReadError(
            f"{path}: use a file that ends in {', '.join(SUFFIXES)}; for human ratings, the "
            "files saved by the page of lmms-rpts rate"
        )
    found: dict[Layout, dict[str, tuple[Path, list[Row]]]] = {}
    unknown: list[str] = []
    for file in row_files(path, SUFFIXES):
        try:
            rows = list(read_rows(file))
        except ReadError:
            if file == path:
                raise
            rows = []
        if fields:
            rows = [
                replace(row, fields={fields.get(key, key): row.fields[key] for key in row.fields})
                for row in rows
            ]
        if file.suffix.lower() == ".parquet":  # the reader leaves out nulls: "no error"
            every = dict.fromkeys(name for row in rows for name in row.fields)
            rows = [replace(row, fields={**every, **row.fields}) for row in rows]
        layout = next((known for row in rows if (known := find_layout(row.fields, answers))), None)
        called = file.name if file == path else file.relative_to(path).as_posix()
        if layout is None:
            unknown.append(called)
        else:
            found.setdefault(layout, {})[called] = file, rows
    chosen = {layout: files for layout, files in found.items() if layout.name == name} or found
    if not chosen:
        raise ReadError(
            f"{path}: no file has the fields of a known set (checked {visible(listed(unknown))}); "
            "docs/validation.md shows the fields, and --field OURS=THEIRS renames yours"
        )
    if len(chosen) > 1:
        said = "; ".join(f"{layout.name} in {listed(files)}" for layout, files in chosen.items())
        raise ReadError(
            f"{path} contains several sets: {visible(said)}. Choose one by its name, such as "
            f"--data {next(iter(chosen)).name}={path}"
        )
    ((layout, files),) = chosen.items()
    rows = [row for _, rows in files.values() for row in rows]
    found_set = LoadedSet(
        name or layout.name, layout, (), files=tuple(file for file, _ in files.values())
    )
    return _with_chains(found_set, path, rows)


def _with_chains(found: LoadedSet, path: Path, rows: Sequence[Row]) -> LoadedSet:
    """The set with the chains of its rows; invalid rows are counted."""
    skipped: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    examples: list[str] = []
    chains: list[LabelledChain] = []
    broken = [row for row in rows if row.fault]
    skipped["(row)"] = len(broken)
    examples += [f"{row.file.name}, {row.place}: {row.fault}" for row in broken]
    usable = [row for row in rows if not row.fault]
    # Names of files and keys become ids and strata, but may be invalid Unicode.
    fields: Sequence[Fields] = [
        Fields(row.fields, storable(row.file.stem), row.number, storable(row.key)) for row in usable
    ]
    whole = found.layout.whole
    if whole is not None:
        try:
            chains = whole(fields)
        except RowError as error:
            raise ReadError(f"{path}: {visible(str(error))}") from None
    for row, each in () if whole else zip(usable, fields, strict=True):
        try:
            chain = found.layout.read(each)
            folders = [row.file.parent / folder for folder in FOLDERS]
            chains.append(replace(chain, files=find_images(chain.images, folders)))
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except RowError as error:
            skipped[error.field.partition("[")[0]] += 1
            examples.append(f"{each.stem}, row {each.number + 1}: {error}")
    left_out["no step has a label"] = sum(not chain.asked for chain in chains)
    chains = [chain for chain in chains if chain.asked]
    if len(examples) > MOST_FAULTS * len(rows):
        shown = "\n  ".join(map(visible, examples[:_SHOWN]))
        more = f"\n  ... and {len(examples) - _SHOWN} more" if len(examples) > _SHOWN else ""
        raise ReadError(
            f"{path}: {len(examples):,} of {len(rows):,} rows do not fit the layout "
            f"{found.layout.name}:\n  {shown}{more}\n"
            "Up to 1% of invalid rows are skipped and counted. Check that the file is complete "
            "and unchanged."
        )
    distinct = tuple(_distinct(chains))
    left_out["duplicate chain"] = len(chains) - len(distinct)
    if not distinct:
        why = "; ".join(f"{reason} ({n:,})" for reason, n in (+left_out).items())
        raise ReadError(f"{path}: no usable chain{': ' + why if why else ''}")
    return replace(found, chains=distinct, skipped=dict(+skipped), left_out=dict(+left_out))


def find_images(names: Iterable[str], folders: Sequence[Path]) -> tuple[Path, ...]:
    """The files of images, each in the first folder that has it; empty if one is missing.

    The names come with the data, so files outside of the folders are not used.
    """
    found = [
        next(
            (
                path
                for folder in folders
                if os.path.isfile(path := folder / name) and not outside_fault(path, folder)
            ),
            None,
        )
        for name in names
    ]
    return () if None in found else tuple(path for path in found if path)


def _distinct(chains: Iterable[LabelledChain]) -> Iterator[LabelledChain]:
    """The chains without repetitions, with unique ids: ``a``, ``a#2``, ``a#3``."""
    known: set[tuple[object, ...]] = set()
    ids: set[str] = set()
    numbers: Counter[str] = Counter()
    for chain in chains:
        content = (chain.id, chain.context, chain.steps, chain.labels, chain.premises)
        if content in known:
            continue
        known.add(content)
        free = chain.id
        while free in ids:
            numbers[chain.id] += 1
            free = f"{chain.id}#{numbers[chain.id] + 1}"
        ids.add(free)
        yield replace(chain, id=free)
