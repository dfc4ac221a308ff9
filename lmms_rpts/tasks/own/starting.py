"""A new folder for a custom task: its name, and the files that are written."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lmms_rpts.files import draft_of
from lmms_rpts.tasks.any_task.names import split_name
from lmms_rpts.tasks.benchmark import benchmark_of
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.own.config import IMAGES
from lmms_rpts.tasks.own.data import Source, load
from lmms_rpts.tasks.own.example import example_images, example_instances, example_responses

DATA, README, RESPONSES = "data.jsonl", "README.md", "responses.jsonl"

_MANY = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_YAML = """\
# A task for lmms-eval; docs/your-own-data.md of lmms-rpts explains every key.
task: {name}
rpts:
  data: {data}
  images: {images}
  answer: {form}  # agree, choice, number, text, mixed, none, or !function grading.grade
  variant: steps  # steps: asks for numbered steps; free: for reasoning of any form
  language: {language}  # of the prompts (en or zh); the texts may be in any language
  # evidence: image  # facts, image or both; default: facts with gold reasoning, else image
"""
_README = """\
# {name}

- `{name}.yaml`: the task. `{data}`: one instance per line. `{images}/`: its images.
- A line has `{question}`{answer}.
- It may have `images`, `context`, `texts`, `options`, `reasoning`, `id` and more.
- Gold `reasoning`: `Image0 -> what it shows`, `Conclusion0 + Text0 -> what follows`.
- Check the data before a run: `{check}` (without `--judge none`, also your judge)
- Run: `{run}`
- View the results: `{report}`
- Every field and key: docs/your-own-data.md of lmms-rpts.
"""


@dataclass(frozen=True, slots=True)
class Start:
    """The content of a new folder.

    Attributes:
        name: name of the task.
        form: type of its answers.
        language: language of its prompts.
        instances: objects of the data file.
        images: the images, files or contents, by their names in the instances.
        responses: responses of a fictional model.
    """

    name: str
    form: str
    language: str
    instances: Sequence[Mapping[str, Any]]
    images: Mapping[str, Path | bytes]
    responses: Sequence[str] = ()

    @property
    def needs_sight(self) -> bool:
        """Whether claims about images can be judged only from the images."""
        return any(each.get("images") and not each.get("reasoning") for each in self.instances)

    def files(self) -> tuple[str, ...]:
        """The names of the written files."""
        responses = (RESPONSES,) if self.responses else ()
        images = (IMAGES,) if self.images else ()
        return (f"{self.name}.yaml", DATA, README, *responses, *images)


def check_name(name: str) -> None:
    """Refuse a name that is invalid or taken.

    Raises:
        DataError: the message says why.
    """
    ours = benchmark_of(name)
    if not _NAME.fullmatch(name):
        reason = "use at most 64 English letters, digits and _, not starting with a digit"
    elif ours is not None:
        reason = f"names that begin with {ours.name} belong to {ours.title}"
    elif split_name(name) is not None:
        reason = "this suffix is reserved for tasks that RPTS wraps"
    elif _is_known(name):
        reason = "lmms-eval has a task of this name"
    else:
        return
    raise DataError(f"{name!r} cannot be the name of a task: {reason}. Choose another name.")


def example(name: str, form: str, language: str) -> Start:
    """Two instances with drawn charts, and the responses of a fictional model."""
    return Start(
        name,
        form,
        language,
        example_instances(form, language),
        example_images(),
        example_responses(form, language),
    )


def write_start(start: Start, folder: Path, commands: Mapping[str, str]) -> None:
    """Write a folder, and check it as lmms-eval will.

    Args:
        commands: ``check``, ``run`` and ``report``, for the README.

    Raises:
        DataError: if a file exists already, or the result cannot be evaluated.
        OSError: if the folder is not writable.
    """
    there = [name for name in start.files() if (folder / name).exists()]
    if there:
        raise DataError(
            f"{folder} already has {', '.join(there)}: choose another folder with --output, or "
            "move them."
        )
    lines = [json.dumps(each, ensure_ascii=False) for each in start.instances]
    texts = {
        DATA: "".join(f"{line}\n" for line in lines),
        f"{start.name}.yaml": _YAML.format(
            name=start.name, data=DATA, images=IMAGES, form=start.form, language=start.language
        ),
        README: _README.format(
            name=start.name,
            data=DATA,
            images=IMAGES,
            question="statement" if start.form == "agree" else "question",
            answer="" if start.form == "none" else " and `answer`",
            **commands,
        ),
    }
    if start.responses:
        texts[RESPONSES] = _replayed(start)
    for name, text in texts.items():
        with draft_of(folder / name) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    shown = tqdm(start.images.items(), desc="Copying images", disable=len(start.images) <= _MANY)
    for name, image in shown:
        target = folder / IMAGES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(image, bytes):
            target.write_bytes(image)
        else:
            shutil.copyfile(image, target)
    load(Source(folder.absolute() / DATA, folder.absolute() / IMAGES, start.form, start.language))


def _replayed(start: Start) -> str:
    return "".join(
        json.dumps({"task": start.name, "doc_id": at, "response": text}, ensure_ascii=False) + "\n"
        for at, text in enumerate(start.responses)
    )


def _is_known(name: str) -> bool:
    """Whether a task file of lmms-eval has this task, group or tag; does not import lmms-eval."""
    found = find_spec("lmms_eval")
    named = re.compile(rf"^(?:task|group|tag):[ \t]*[\"']?{name}[\"']?[ \t\r]*$".encode(), re.M)
    for place in (found.submodule_search_locations or ()) if found else ():
        for path in (Path(place) / "tasks").rglob("*.yaml"):
            if named.search(path.read_bytes()):
                return True
    return False
