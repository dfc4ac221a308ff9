"""A new folder for an own task: its name, an example, and the files that are written."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from lmms_rpts.base.rows import read_objects
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.files import draft_of
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.own.data import OwnData
from lmms_rpts.tasks.registry import benchmark_of

DATA, IMAGES, UTILS, RESPONSES = "data.jsonl", "images", "utils.py", "responses.jsonl"

_HERE = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_MODULE = Template(f"""\
\"\"\"The data of the task $name, which lmms-rpts reads and checks.\"\"\"

from pathlib import Path

from lmms_rpts.tasks.own.data import OwnData

FOLDER = Path(__file__).parent
DATA = OwnData(
    data=FOLDER / "{DATA}",
    images=FOLDER / "{IMAGES}",
    answer="$form",
    language="$language",  # of the prompts (en or zh); the texts may be in any language
)
""")


@dataclass(frozen=True, slots=True)
class Start:
    """The content of a new folder: a task, its data and images, responses of a fictional model.

    Attributes:
        images: files or contents, by their names in the instances.
    """

    name: str
    form: str
    language: Language
    instances: Sequence[Mapping[str, Any]]
    images: Mapping[str, Path | bytes]
    responses: Sequence[Mapping[str, Any]] = ()

    def texts(self) -> dict[str, str]:
        """The contents of the files besides the images, by their names."""
        metrics = (
            f"  - {{metric: {name}, aggregation: mean, "
            f"higher_is_better: {json.dumps(metric.higher_is_better)}}}"
            for name, metric in METRICS.items()
            if metric.listed and not (self.form == "none" and metric.needs_answer)
        )
        words = {"name": self.name, "form": self.form, "language": self.language}
        task = Template((_HERE / "task_template_yaml").read_text(encoding="utf-8"))
        texts = {
            f"{self.name}.yaml": task.substitute(words, metrics="\n".join(metrics)),
            UTILS: _MODULE.substitute(words),
            DATA: _jsonl(self.instances),
        }
        if self.responses:
            texts[RESPONSES] = _jsonl({"task": self.name, **each} for each in self.responses)
        return texts


def _jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def check_name(name: str) -> None:
    """Refuse a name that is invalid or taken by a DataError that says why."""
    ours = benchmark_of(name)
    if not _NAME.fullmatch(name):
        reason = "use at most 64 English letters, digits and _, not starting with a digit"
    elif ours is not None:
        reason = f"names that begin with {ours.name} belong to {ours.title}"
    elif name.endswith("_rpts"):
        reason = "this suffix is reserved for scored responses to other tasks"
    else:
        return
    raise DataError(
        f"{name!r} cannot be the name of a task: {reason}. Choose another name; --output sets the "
        "folder."
    )


def example(name: str, language: Language) -> Start:
    """Two instances with charts, and the responses of a fictional model.

    The first response is right, the second begins with a misread chart.
    """
    folder = _HERE / "example"
    instances, responses = (
        [row.fields for row in read_objects(folder / f"{what}_{language}.jsonl")]
        for what in ("data", "responses")
    )
    images: dict[str, Path | bytes] = {path.name: path for path in folder.glob("*.png")}
    return Start(name, "choice", language, instances, images, responses)


def write_start(start: Start, folder: Path) -> None:
    """Write a folder, unless a file exists already, and check it as lmms-eval will."""
    texts = start.texts()
    names = [*texts, *[IMAGES] * bool(start.images)]
    if taken := [name for name in names if (folder / name).exists()]:
        raise DataError(
            f"{folder} already has {', '.join(taken)}: choose another folder with --output, or "
            "move them."
        )
    for name, image in start.images.items():
        target = folder / IMAGES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(image, bytes):
            target.write_bytes(image)
        else:
            shutil.copyfile(image, target)
    for name, text in texts.items():
        with draft_of(folder / name) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    place = folder.absolute()
    OwnData(place / DATA, place / IMAGES, start.form, start.language).load()
