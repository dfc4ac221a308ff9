"""Names of the prediction files that the published code writes: which files can be read.

Source: ``run_eval.py`` of github.com/FudanDISC/ReForm-Eval (df1cfa7). The name of a file says the
data, the formulation and the method: ``TDIUC_SingleChoice_likelihood.json``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmms_rpts.tasks.reform_eval.record import ReformRun

NAME = re.compile(
    r"(?P<data>.+)_(?P<formulation>SingleChoice|OCROpenEnded|KIEOpenEnded|Generation)"
    r"_(?P<method>generation|likelihood)(?:_.*)?"
)
"""The stem of the name of a prediction file."""


def find_published(place: Path) -> Callable[[str | None], list[ReformRun]] | None:
    """The reader of the predictions in a file, or in the files of a folder, by their label.

    None where no name is of the kind. The reader raises RunError, naming the file and the row.
    """
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    found = [file for file in files if _is_published(file) and file.is_file()]

    def read(label: str | None) -> list[ReformRun]:
        # Every command looks for such files; few find one.
        from lmms_rpts.tasks.reform_eval.published_files import read_published

        return [read_published(file, label) for file in found]

    return read if found else None


def _is_published(path: Path) -> bool:
    """Whether a file is named as the published code names its prediction files."""
    return path.suffix == ".json" and NAME.fullmatch(path.stem) is not None
