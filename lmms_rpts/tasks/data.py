"""Data of benchmarks: errors and checks, downloads, and the judge that grading needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.registry import backend_of, choices, find_judge
from lmms_rpts.judging.types import NO_JUDGE, JudgeConfigurationError

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

State = Literal["ok", "problem"]


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


def data_fault(name: str, error: object) -> Check:
    """A fault of data; the last line of its message is the remedy."""
    said, _, remedy = str(getattr(error, "whole", error)).rpartition("\n")
    return problem(name, said, remedy) if said else problem(name, error)


# --- files and downloads --------------------------------------------------------------------------


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

    @property
    def variable(self) -> str:
        """The variable with the place of the data."""
        return str(self.settings.VARIABLES["path"][0])

    def place(self, *files: str, images: str = "", judged: bool = False) -> tuple[Path, str]:
        """The place of the data, and what to do if they are wrong, in complete sentences.

        If the setting names no place, files that match these patterns are downloaded; those of
        ``images`` only where lmms-eval shows them to a model, or if they are ``judged``.
        """
        if local := self.settings.load().path:
            remedy = (
                f"Fix or complete {local} ({self.variable}), or unset it to download {self.name}."
            )
            return local, remedy
        if images and (judged or ("lmms_eval" in sys.modules and shows_images())):
            files = (*files, images)
        failed = f"{' and '.join(files)} could not be downloaded from {self.name}"
        retry = f"Set {self.variable} {self.wanted}, or retry with a connection."
        folder = _downloaded_once(self.name, files, failed, retry)
        remedy = (
            f"The download from {self.name} may be damaged: delete {folder} and retry, or set "
            f"{self.variable} {self.wanted}."
        )
        return folder, remedy

    def missing(self, place: Path, what: str) -> DataError:
        """The error for a place without files of questions."""
        return DataError(
            f"{self.variable}={str(place)!r} is not a folder with {what}. Set it {self.wanted}, or "
            f"unset it to download {self.name}."
        )

    def present(self, part: str = "") -> Path | None:
        """The folder of any part, if it is on this machine; nothing is downloaded."""
        place: Path | None = self.settings.load().path or downloaded(self.name)
        folder = place.parent if place is not None and place.is_file() else place
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
