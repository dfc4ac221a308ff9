"""Reading of labelled steps from files and folders in their publishers' own layouts."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from lmms_rpts.errors import UserError
from lmms_rpts.escaping import listed, storable, visible
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.rows import LeftOut, Row, RowError

LANGUAGES: tuple[Language, ...] = get_args(Language)
"""Languages of the judge's prompts."""

SUFFIXES = (".json", ".jsonl", ".parquet")
"""Maximum number of files of a folder that are checked."""

MOST_FAULTS = 0.01
"""Share of rows that may be invalid. A larger share means another layout or a damaged file."""

_SHOWN = 3
_LARGEST = 2_000_000_000
_TWICE = "duplicate chain"
_BROKEN = "(line)"

Find = Callable[[Mapping[str, Any]], Layout | None]


class LoadError(UserError):
    """Raised for unusable data; the message gives the file, the row, the field and the remedy."""


@dataclass(frozen=True, slots=True)
class LoadedSet:
    """The chains of one set.

    Attributes:
        name: the given name, else the name of the layout.
        chains: in the order of the files, with unique ids.
        rows: number of objects in the files.
        skipped: number of invalid rows, by the invalid field.
        left_out: number of rows without anything to judge, by reason.
        sha256: SHA-256 of each file, by its name within the folder.
        others: files of the folder without a known layout.
        remark: a remark about the labels; may be empty.
    """

    name: str
    layout: Layout
    chains: tuple[LabelledChain, ...]
    rows: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    remark: str = ""


def load_set(path: Path, name: str | None, find: Find) -> LoadedSet:
    """Read a file, or all JSON and parquet files of a folder and its subfolders.

    Args:
        path: a file or a folder.
        name: name of the set; None: the name of its layout. If a folder holds several sets, the
            name of a layout selects one.
        find: returns the layout of an object with the given fields.

    Raises:
        LoadError: no set is found, several are, or more than 1% of the rows are invalid.
    """
    files = _files(path)
    found: dict[Path, tuple[Layout, list[Row | RowError]]] = {}
    others: list[str] = []
    digests, names = {}, {}
    for file in files:
        called = file.name if file == path else file.relative_to(path).as_posix()
        content = _content(file)
        rows = _rows(file, content, alone=file == path)
        layout = next(
            (known for row in rows if isinstance(row, Row) if (known := find(row.value))), None
        )
        if layout is None:
            others.append(called)
        else:
            found[file] = layout, rows
            digests[called] = hashlib.sha256(content).hexdigest()
            names[file] = called
    chosen = {file: each for file, each in found.items() if each[0].name == name} or found
    others += [names[file] for file in found if file not in chosen]
    layout = _only_layout(path, chosen, others)
    rows = [row for _, own in chosen.values() for row in own]
    reader = _Reader(path, layout)
    chains = reader.read(rows)
    return LoadedSet(
        name or layout.name,
        layout,
        tuple(chains),
        reader.count,
        dict(reader.skipped),
        dict(reader.left_out),
        {names[file]: digests[names[file]] for file in chosen},
        tuple(others),
        reader.remark,
    )


def _files(path: Path) -> list[Path]:
    if os.path.isfile(path):
        if path.suffix.lower() not in SUFFIXES:
            raise LoadError(
                f"{path}: use a file that ends in {', '.join(SUFFIXES)}; for human ratings, the "
                "files saved by the page of lmms-rpts rate"
            )
        return [path]
    if not os.path.isdir(path):  # also false for a path that is too long
        raise LoadError(f"{path}: no such file or folder")
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise LoadError(f"{path} contains no file that ends in {', '.join(SUFFIXES)}")
    return files


def _content(file: Path) -> bytes:
    try:
        if file.stat().st_size > _LARGEST:
            raise LoadError(f"{file} is larger than 2 GB")
        return file.read_bytes()
    except OSError as error:
        raise LoadError(f"Cannot read {file} ({error.strerror})") from None


def _only_layout(
    path: Path, found: Mapping[Path, tuple[Layout, Any]], others: Sequence[str]
) -> Layout:
    names: dict[str, list[str]] = {}
    for file, (layout, _) in found.items():
        names.setdefault(layout.name, []).append(file.name)
    if len(names) > 1:
        said = "; ".join(f"{name} in {listed(files)}" for name, files in names.items())
        raise LoadError(
            f"{path} contains several sets: {visible(said)}. Choose one by its name, such as "
            f"--data {next(iter(names))}={path}"
        )
    for layout, _ in found.values():
        return layout
    raise LoadError(
        f"{path}: no file has the fields of a known set (checked "
        f"{visible(listed(list(others)))}); lmms-rpts validate --list shows the sets and "
        "their sources"
    )


def _rows(file: Path, content: bytes, alone: bool) -> list[Row | RowError]:
    """The objects of a file; ``alone``: whether an unreadable file is an error."""
    try:
        if file.suffix.lower() == ".parquet":
            return list(_numbered(file, _parquet(file)))
        return list(_numbered(file, _json(file, content)))
    except LoadError:
        if alone:
            raise
        return []


def _numbered(file: Path, values: Iterable[tuple[str, Any]]) -> Iterator[Row | RowError]:
    # Names of files and keys become ids and strata, but may be invalid Unicode.
    stem = storable(file.stem)
    for number, (key, value) in enumerate(values):
        if isinstance(value, RowError):
            yield value
        elif isinstance(value, Mapping):
            yield Row(value, stem, number, storable(key))
        else:
            yield RowError("(row)", f"number {number} is not an object")


def _json(file: Path, content: bytes) -> Iterator[tuple[str, Any]]:
    """The objects of a JSON list, of JSON lines, or of an object of lists, with their keys."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LoadError(f"{file}, line {line} is not UTF-8 text") from None
    try:
        whole = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        # Not splitlines: it also splits at U+2028 and the like, which are allowed in a text.
        lines = [each for each in text.split("\n") if each.strip()]
        if not _is_lines(file, lines):
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise LoadError(f"{file} is not valid JSON: {reason}") from None
        yield from (("", _parsed(each)) for each in lines)
        return
    if isinstance(whole, list):
        for each in whole:
            yield "", each
    elif isinstance(whole, dict) and whole and all(isinstance(v, list) for v in whole.values()):
        for key, values in whole.items():
            for each in values:
                yield key, each
    else:
        yield "", whole


def _is_lines(file: Path, lines: Sequence[str]) -> bool:
    """Whether a file that is not valid JSON is JSON lines, possibly with broken lines."""
    wanted = 1 if file.suffix.lower() == ".jsonl" else 2
    return sum(isinstance(_parsed(each), Mapping) for each in lines[:10]) >= wanted


def _parsed(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return RowError(_BROKEN, "is not valid JSON")


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """An object; with a duplicate name it would be unclear which value counts."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else RowError("(row)", "has a duplicate field")


def _parquet(file: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow
    from pyarrow import parquet

    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=256):
            for row in batch.to_pylist():
                yield "", row
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise LoadError(f"{file} is not a readable parquet file: {error}") from None


class _Reader:
    """Reads rows into chains and counts invalid rows."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.count = 0
        self.skipped: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.remark = ""
        self._path, self._layout = path, layout
        self._examples: list[str] = []
        self._known: dict[str, set[tuple[object, ...]]] = {}
        self._ids: set[str] = set()
        self._numbers: Counter[str] = Counter()

    def read(self, rows: Sequence[Row | RowError]) -> list[LabelledChain]:
        whole = [row for row in rows if isinstance(row, Row)]
        self.count = len(rows)
        for broken in rows:
            if isinstance(broken, RowError):
                self._skip(broken, "")
        try:
            if self._layout.merge is not None:
                whole = list(self._layout.merge(whole))
            if self._layout.remark is not None:
                self.remark = self._layout.remark(whole)
        except RowError as error:
            raise LoadError(f"{self._path}: {visible(str(error))}") from None
        chains = [chain for row in whole for chain in self._row(row)]
        self._check(chains)
        return chains

    def _row(self, row: Row) -> list[LabelledChain]:
        """The chains of a row; an invalid row never prevents the reading of the others."""
        chains = []
        try:
            for chain in self._layout.read(row):
                try:
                    chains.append(checked(chain))
                except LeftOut as reason:  # this chain only; a row may hold others
                    self.left_out[str(reason)] += 1
        except LeftOut as reason:
            self.left_out[str(reason)] += 1
            return []
        except RowError as error:
            self._skip(error, f"{row.stem}, row {row.number + 1}: ")
            return []
        except Exception as error:  # an internal error on this row; the others are still read
            fault = RowError("(row)", type(error).__name__)
            self._skip(fault, f"{row.stem}, row {row.number + 1}: ")
            return []
        return [fresh for chain in chains if (fresh := self._fresh(chain)) is not None]

    def _fresh(self, chain: LabelledChain) -> LabelledChain | None:
        """The chain with a unique id; None if the same chain was read before."""
        content = (chain.context, chain.steps, chain.labels, chain.premises)
        known = self._known.setdefault(chain.id, set())
        if content in known:
            self.left_out[_TWICE] += 1
            return None
        known.add(content)
        return replace(chain, id=self._free_id(chain.id))

    def _free_id(self, wanted: str) -> str:
        """The id, with a number if it is taken: ``a``, ``a#2``, ``a#3``."""
        found = wanted
        while found in self._ids:
            self._numbers[wanted] += 1
            found = f"{wanted}#{self._numbers[wanted] + 1}"
        self._ids.add(found)
        return found

    def _skip(self, error: RowError, place: str) -> None:
        self.skipped[error.field.partition("[")[0]] += 1
        if len(self._examples) < _SHOWN:
            self._examples.append(visible(f"{place}{error}"))

    def _check(self, chains: Sequence[LabelledChain]) -> None:
        faults = sum(self.skipped.values())
        if faults > MOST_FAULTS * self.count:
            shown = "\n  ".join(self._examples)
            more = f"\n  ... and {faults - _SHOWN} more" if faults > _SHOWN else ""
            raise LoadError(
                f"{self._path}: {faults:,} of {self.count:,} rows do not fit the layout "
                f"{self._layout.name}:\n  {shown}{more}\n"
                "Up to 1% of invalid rows are skipped and counted. Check that the file is complete "
                "and unchanged."
            )
        if not chains:
            why = "; ".join(f"{reason} ({n:,})" for reason, n in self.left_out.items())
            raise LoadError(f"{self._path}: no usable chain{': ' + why if why else ''}")


def checked(chain: LabelledChain) -> LabelledChain:
    """The chain, if its parts are consistent.

    Raises:
        RowError: they are not; the layout should have raised an error before.
        LeftOut: no step is labelled.
    """
    steps = len(chain.steps)
    lists = {
        "labels": len(chain.labels),
        "premises": steps if chain.premises is None else len(chain.premises),
        "places": len(chain.places) or steps,
    }
    for name, length in lists.items():
        if length != steps:
            raise RowError(name, f"has {length} entries for {steps} steps")
    numbers = (*chain.path, *chain.inherited, *filter(None, [chain.first_error]))
    if any(not 0 <= number < steps for number in numbers):
        raise RowError("steps", "are fewer than the labels refer to")
    if chain.language not in LANGUAGES:
        raise RowError("language", f"should be {' or '.join(LANGUAGES)}")
    if not chain.asked:
        raise LeftOut("no step has a label")
    return chain
