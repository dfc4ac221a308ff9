"""Data of benchmarks: errors and checks, files for ``datasets``, downloads."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_origin, get_type_hints

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import Settings, load_settings
from lmms_rpts.judging.registry import backend_of, choices, find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError
from lmms_rpts.runs.files import draft_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SHOWN, _MOST = 5, 200
_LONGEST = 500


class DataError(UserError):
    """Data that cannot be evaluated; the message has the place and the remedy.

    Attributes:
        whole: the message with all faults; ``str`` has the first ones.
    """

    def __init__(self, message: str, whole: str | None = None) -> None:
        super().__init__(message)
        self.whole = whole or message


def raise_faults(place: object, faults: Sequence[str], remedy: str) -> None:
    """Raise one error that lists the first faults; nothing if there are none.

    Args:
        place: the file or folder of the faults.
        faults: the faults, each with the name of its instance.
        remedy: what to do, in complete sentences.

    Raises:
        DataError: the remedy is its last line.
    """

    def message(most: int) -> str:
        more = f"\n  ... and {len(faults) - most:,} more" if len(faults) > most else ""
        listed = "\n  ".join(map(_shown, faults[:most]))
        return f"{place} cannot be evaluated:\n  {listed}{more}\n{remedy}"

    if faults:
        raise DataError(message(_SHOWN), message(_MOST))


def _shown(fault: str) -> str:
    """A fault on one line, since file names come from the data."""
    line = visible(fault)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


# --- checks of lmms-rpts doctor -------------------------------------------------------------------

State = Literal["ok", "problem", "not checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    ``said`` is a message, possibly of several lines; ``remedy`` says what to do, and every
    problem has one.
    """

    name: str
    state: State
    said: str
    remedy: str | None = None


def problem(name: str, fault: object, remedy: str | None = None) -> Check:
    """A problem; if the message contains the remedy, it is split off."""
    said = str(fault).strip()
    if remedy is None:
        ends = [(said.find(mark), mark) for mark in ("\n", ". ", ": ", "; ") if mark in said]
        if not ends:
            return Check(name, "problem", said, "change that setting, or unset it")
        at, mark = min(ends)
        said, remedy = said[:at], said[at + len(mark) :].strip()
    return Check(name, "problem", said, remedy)


def examined(name: str, describe: Callable[[], str]) -> Check:
    """The result of ``describe`` for existing data; a problem if it raises an error."""
    try:
        return Check(name, "ok", describe())
    except DataError as error:
        return data_fault(name, error)
    except JudgeConfigurationError as error:
        return problem(name, error)


def data_fault(name: str, error: object) -> Check:
    """A fault of data; the last line of its message is the remedy."""
    said, _, remedy = str(getattr(error, "whole", error)).rpartition("\n")
    return problem(name, said, remedy) if said else problem(name, error)


# --- files and downloads --------------------------------------------------------------------------


def digest(rows: Sequence[DataclassInstance | Mapping[str, Any]]) -> str:
    """SHA-256 of rows as they are evaluated, in hexadecimal, without the contents of images."""
    return hashlib.sha256(_as_jsonl(rows)).hexdigest()


def store(rows: Sequence[DataclassInstance | Mapping[str, Any]], benchmark: str, name: str) -> Path:
    """Write these rows to a JSONL file for the ``datasets`` library, named by its digest.

    It is in LMMS_RPTS_CACHE, else in the temporary folder, so that every process of a run finds or
    writes the same file.

    Args:
        rows: instances of one dataclass, or mappings, with the same types of fields in every row.
        benchmark: their benchmark, such as ``ROME``; in lower case, the name of the folder.
        name: a word for the rows, such as ``questions``.

    Raises:
        DataError: if no folder is writable.
    """
    content, refusals = _as_jsonl(rows), []
    for place in _places(benchmark.lower()):
        path = place / hashlib.sha256(content).hexdigest() / f"{name}.jsonl"
        try:
            if not path.is_file() or path.read_bytes() != content:
                with draft_of(path) as draft:  # other processes may be reading or writing it
                    draft.write_bytes(content)
            return path
        except OSError as error:
            refusals.append(f"{path.parent}: {error.strerror or error}")
    raise DataError(
        f"Cannot write the {name} of {benchmark} to a file ({'; '.join(refusals)}). Set "
        "LMMS_RPTS_CACHE to a folder that is writable."
    )


def dataset_kwargs(
    rows: Sequence[DataclassInstance | Mapping[str, Any]],
    kind: type[DataclassInstance] | Mapping[str, Any],
    benchmark: str,
    name: str,
) -> dict[str, Any]:
    """The ``dataset_kwargs`` of a task: the file that ``store`` writes, and explicit types.

    Args:
        kind: the type of the rows, or those of their fields; fields that are not numbers are texts
            or lists of texts.
    """
    from datasets import Features, Value
    from datasets import Sequence as ListOf

    # Explicit: the type of a column that begins empty cannot be inferred.
    fields: Mapping[str, Any] = kind if isinstance(kind, Mapping) else get_type_hints(kind)
    if not isinstance(kind, Mapping):
        fields = {name: each for name, each in fields.items() if name in kind.__dataclass_fields__}
    numbers = {int: "int64", int | None: "int64", float: "float64"}
    features = {
        field: ListOf(Value("string"))
        if get_origin(annotation) is tuple
        else Value(numbers.get(annotation, "string"))
        for field, annotation in fields.items()
    }
    file = str(store(rows, benchmark, name))
    return {"data_files": {"test": file}, "features": Features(features)}


@dataclass(frozen=True, slots=True)
class HubData:
    """The data of a benchmark: in the folder of its setting ``path``, else a copy from the Hub.

    Attributes:
        settings: its settings.
        name: name of the data set on the Hub.
        wanted: what the setting should name, for messages.
    """

    settings: type[Any]
    name: str
    wanted: str

    def folder(self, *files: str) -> Path:
        """The folder; files that match these patterns are downloaded if necessary."""
        found: Path = self.settings.load().path or _downloaded_once(
            self.name,
            files,
            f"{' and '.join(files)} could not be downloaded from {self.name}",
            f"Set {self.settings.VARIABLES['path'][0]} {self.wanted}, or retry with a connection.",
        )
        return found

    def present(self) -> Path | None:
        """The folder, if it is on this machine; nothing is downloaded."""
        folder: Path | None = self.settings.load().path or downloaded(self.name)
        return folder if folder is not None and folder.is_dir() else None


@cache  # failures are not cached: the next call retries
def _downloaded_once(*arguments: Any) -> Path:
    return download(*arguments)


def download(name: str, files: tuple[str, ...], fault: str, remedy: str) -> Path:
    """The folder with these files of a data set on the Hub, downloaded if necessary.

    Args:
        name: name of the data set.
        files: patterns of file names.
        fault: the error message if the download fails; the Hub's reason follows.
        remedy: what to do then, in complete sentences.

    Raises:
        DataError: if it fails.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset", allow_patterns=list(files)))
    except Exception as error:  # the Hub's client raises many kinds; all mean no data
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{fault} ({reason}). {remedy}") from error


def downloaded(name: str) -> Path | None:
    """The Hub's copy of a data set on this machine; None if there is none."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset", local_files_only=True))
    except Exception:  # whatever the Hub's client raises: it was not downloaded
        return None


def _as_jsonl(rows: Sequence[DataclassInstance | Mapping[str, Any]]) -> bytes:
    plain = (row if isinstance(row, Mapping) else asdict(row) for row in rows)
    return "".join(f"{json.dumps(row)}\n" for row in plain).encode()


def _places(folder: str) -> Iterator[Path]:
    settled = load_settings().cache
    if settled is not None:
        yield settled / folder
    # Any user may write to the temporary folder: use only a folder that this user owns.
    user = os.getuid() if hasattr(os, "getuid") else 0
    own = Path(tempfile.gettempdir()) / f"lmms_rpts-{user}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) and found.st_uid == user:
        yield own / folder


def shows_images() -> bool:
    """Whether a model is shown images: ``replay`` on the command line is not."""
    return ("--model", "replay") not in pairwise(sys.argv) and "--model=replay" not in sys.argv


def needed_judge(
    settings: Settings, table: Any, extra: Sequence[str], default: str | None = None
) -> str:
    """The configured judge, after a check that it can write text.

    ``none`` is allowed: responses are then ungraded and can be graded later.

    Args:
        settings: settings of the run.
        table: settings of the benchmark that require a judge: ``grader`` other than ``rule``, or
            flags.
        extra: the names of the flags that are set.
        default: the judge if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: the message says what to set.
    """
    grader = f"{table.TABLE.upper()}_GRADER="
    flags = [f"[{table.TABLE}] {name} = " for name in extra]
    need = f"{flags[0]}true" if flags else f"{grader}{table.grader}"
    judge = settings.judge or default
    if judge is None:
        raise JudgeConfigurationError(f"{need} needs a judge, and none is set. {choices()}")
    find_judge(judge, settings)
    if judge != NO_JUDGE and backend_of(judge).free:
        off = ", ".join([f"{grader}rule", *(f"{flag}false" for flag in flags)])
        raise JudgeConfigurationError(
            f"{need} needs a judge that writes text; {judge!r} does not: choose another judge with "
            f"LMMS_RPTS_JUDGE, or grade answers by rules ({off})"
        )
    return judge
