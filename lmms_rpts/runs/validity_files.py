"""Validity files by path and digest, and their extract in a run's results."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lmms_rpts.runs.validity import (
    VERSION,
    Validity,
    ValidityError,
    parse_validity,
    read_bytes,
)
from lmms_rpts.schema import Model, Text, shown
from lmms_rpts.settings import Jury

FIGURES = ("auc", "sensitivity", "specificity")
"""The metrics of each set that are saved in a run's results."""

KEY = "validity"
"""Key of the extract under ``usage`` in lmms-eval's results, next to the usage of judges."""

_OF_SET = (
    *("name", "layout", "n_chains", "n_steps", "n_wrong", "n_questions", "available"),
    *("premises", "blind"),
)
_OF_FILE = ("format", "version", "judge", "judge_samples", "jury", "temperature", "prompt_version")


@dataclass(frozen=True, slots=True)
class Judging:
    """Scope of a judge's figures: the judge, its prompts, and the number of replies per score."""

    judge: str
    prompt_version: str
    judge_samples: int
    jury: Jury = "mean"

    def differences(self, other: Judging) -> tuple[str, ...]:
        """The names of the differing fields."""
        return tuple(name for name in self.__slots__ if getattr(self, name) != getattr(other, name))

    def __str__(self) -> str:
        samples = f", {self.judge_samples} replies per request" if self.judge_samples > 1 else ""
        prompts = shown(self.prompt_version).strip("'") or "unknown"
        jury = "" if self.jury == "mean" else f", joined by {self.jury}"
        return f"{shown(self.judge)} with prompts {prompts}{samples}{jury}"


@dataclass(frozen=True, slots=True)
class ValidityFile:
    """The content of one validity file.

    Attributes:
        path: path of the file, as given.
        sha256: SHA-256 of the file's bytes.
        validity: the content; without chains if it is from a run's results.
    """

    path: Path
    sha256: str
    validity: Validity

    @property
    def judging(self) -> Judging:
        """The judge that was validated."""
        found = self.validity
        return Judging(found.judge, found.prompt_version, found.judge_samples, found.jury)

    def mismatch(self, judging: Judging) -> str | None:
        """Message that the figures belong to another judge; None if they match."""
        if not self.judging.differences(judging):
            return None
        return f"{self.path} is about the judge {self.judging}, not {judging}"

    def extract(self) -> dict[str, Any]:
        """The figures without the chains, as plain JSON values for a run's results."""
        whole = self.validity
        figures = whole.model_dump(include={*_OF_FILE, "created", "lmms_rpts"})
        sets = [
            {name: getattr(each, name) for name in _OF_SET}
            | {
                "metrics": {
                    name: each.metrics[name].model_dump()
                    for name in FIGURES
                    if name in each.metrics
                }
            }
            for each in whole.sets
        ]
        return {"file": str(self.path.absolute()), "sha256": self.sha256, **figures, "sets": sets}


class _Named(Model):
    file: Text
    sha256: Text


def read_validity_file(path: Path) -> ValidityFile:
    """Read a validity file.

    Raises:
        ValidityError: with the file and the error.
    """
    content = read_bytes(path)
    digest = hashlib.sha256(content).hexdigest()
    return ValidityFile(path, digest, parse_validity(path, content))


def read_validity_files(paths: Iterable[Path]) -> tuple[ValidityFile, ...]:
    """Read several validity files; raises as ``read_validity_file``."""
    return tuple(read_validity_file(path.expanduser()) for path in dict.fromkeys(paths))


def validity_in(results: Mapping[str, Any]) -> ValidityFile | None:
    """The validity file of a run's results; read from disk if it still exists unchanged.

    None if the results have none, or an invalid one: results are untrusted.
    """
    usage = results.get("usage")
    held = usage.get(KEY) if isinstance(usage, Mapping) else None
    try:
        named, validity = _Named.model_validate(held), Validity.model_validate(held)
    except ValidationError:
        return None
    if validity.version != VERSION:
        return None
    path = Path(named.file)
    # A results file of others may name a device. os.path: False for any text.
    if os.path.isfile(path):
        with suppress(ValidityError):
            whole = read_validity_file(path)
            if whole.sha256 == named.sha256:
                return whole
    return ValidityFile(path, named.sha256, validity)
