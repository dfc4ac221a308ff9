"""Steps as training data: the rows of TRL, and folders that ``datasets.load_dataset`` reads.

TRL's type "stepwise supervision" has the columns ``prompt`` (text), ``completions`` (the texts of
steps) and ``labels`` (a truth value for each): https://huggingface.co/docs/trl/dataset_formats. Its
PRMTrainer drops all other columns.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lmms_rpts import __version__
from lmms_rpts.analysis.dataframes import ExportError, response_cells, typed, write_frame
from lmms_rpts.analysis.validity import validity_lines, validity_notes
from lmms_rpts.base.escaping import escape_markdown, listed, markdown_table, storable
from lmms_rpts.base.files import draft_of
from lmms_rpts.filters.record import RptsInstance, RptsRecord
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.validity import ValidityFile
from lmms_rpts.tasks.benchmark import benchmark_of
from lmms_rpts.tasks.rpts_eval.data import DEMO_TASK

if TYPE_CHECKING:
    import pandas as pd

_ROWS = "data/train-*.parquet"
"""The file of a folder's rows; it ends with their digest."""

TRL_TYPES: Mapping[str, str] = {
    "prompt": "string",
    **dict.fromkeys(("completions", "labels", "scores", "steps"), "object"),
    **dict.fromkeys(("images", "run", "task", "id", "language", "judge"), "string"),
    "repeat": "int64",
}
"""The columns of ``training_frame`` in order; the objects are lists. ``docs/export.md`` describes
them."""

_WORDS = {
    "en": ("Context: {}", "Image {}: {}", "Text {}: {}", "Statement: {}", "Question: {}"),
    "zh": ("上下文：{}", "图片{}：{}", "文本{}：{}", "陈述：{}", "问题：{}"),
}
_NO_VALIDITY = (
    "The error rates of the judge are not known: lmms-rpts validate measures them on steps that "
    "people labelled."
)


def training_frame(
    runs: Iterable[AnyRun], threshold: float
) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """One row per response with a scored step, and numbers of steps, by what became of them.

    A step is right if its score is at least the threshold. Steps without a score are left out; the
    others keep their numbers, by which later steps cite them.
    """
    counts: Counter[str] = Counter()
    rows = []
    for run, record in ((one, each) for one in runs for each in one.responses):
        scored = [at for at, step in enumerate(record.steps) if step.score is not None]
        scores = [record.steps[at].score for at in scored]
        labels = [score >= threshold for score in scores]
        counts["responses"] += 1
        counts["steps left out: no score"] += len(record.steps) - len(scored)
        counts["steps labelled right"] += sum(labels)
        counts["steps labelled wrong"] += len(labels) - sum(labels)
        unasked = sum(record.steps[at].note is not None for at in scored)
        counts["of these scored without asking the judge"] += unasked
        if scored:
            row = {
                "prompt": prompt_of(record.instance),
                "completions": [storable(record.chain[at]) for at in scored],
                "labels": labels,
                "scores": scores,
                "steps": scored,
                "images": "\n".join(record.instance.visual_clue),
            }
            rows.append(response_cells(run, record) | row)
    return typed(rows, TRL_TYPES), counts


def prompt_of(instance: RptsInstance) -> str:
    """A question with its evidence, numbered as steps cite it; images by their file names."""
    context, image, text, statement, question = _WORDS[instance.language]
    asked = statement if instance.is_statement else question
    lines = [context.format(instance.context)] if instance.context else []
    lines += (image.format(*pair) for pair in enumerate(instance.visual_clue))
    lines += (text.format(*pair) for pair in enumerate(instance.textual_clue))
    if instance.statement and instance.statement not in instance.textual_clue:
        lines.append(asked.format(instance.statement))
    return "\n".join(lines)


def write_folder(frame: pd.DataFrame, folder: Path, card: Callable[[str], str]) -> int:
    """Write a folder for ``datasets.load_dataset``; returns the size of its rows in bytes.

    Args:
        card: the text of its card, from the path of the rows.

    Raises:
        ExportError: if it cannot be written, or is neither empty nor an earlier export.
    """
    place = folder.expanduser()
    earlier = [*place.glob(_ROWS)]
    if place.is_dir() and any(place.iterdir()) and not earlier:
        raise ExportError(f"{folder} is not an export: choose a new folder")
    draft = place / _ROWS.replace("*", "new")
    size = write_frame(frame, draft)
    # load_dataset caches a folder by its name and by the names of its files, not by their content.
    name = _ROWS.replace("*", hashlib.sha256(draft.read_bytes()).hexdigest()[:16])
    draft.replace(place / name)
    with draft_of(place / "README.md") as written:
        written.write_text(card(name), encoding="utf-8")
    for each in earlier:
        if each != place / name:
            each.unlink(missing_ok=True)
    return size


def dataset_card(
    runs: Sequence[AnyRun],
    files: Sequence[ValidityFile],
    facts: Mapping[str, object],
    threshold: float | None,
    rows: str,
) -> str:
    """The README.md of a folder: what the rows are, who judged, how well, and the licences.

    Args:
        files: validity files passed by the user.
        facts: what else to say, by name.
        threshold: from which score on a step is labelled right; None: there are no labels.
        rows: path of the rows in the folder.
    """
    records = list(chain.from_iterable(run.responses for run in runs))
    sources = {task: _source_of(task) for task in dict.fromkeys(r.instance.task for r in records)}
    licences = {licence for _, licence in sources.values()}
    trl = threshold is not None
    data = {"split": "train", "path": rows}
    front = {
        "license": min(licences) if len(licences) == 1 and all(licences) else "other",
        "language": sorted({getattr(each.instance, "language", "en") for each in records}),
        "tags": ["lmms-rpts", *["trl", "stepwise-supervision"] * trl],
        "configs": [{"config_name": "default", "data_files": [data]}],
    }
    scored = [run for run in runs if isinstance(run.responses[0], RptsRecord)]
    known = validity_lines(validity_notes(scored, files)) or [_NO_VALIDITY]
    settings: dict[str, dict[str, None]] = {}  # each with all of its values
    for scoring in chain.from_iterable(run.scorings for run in runs):
        for name, value in scoring.model_dump(mode="json", by_alias=True).items():
            settings.setdefault(name, {})[str(value)] = None
    label = {"a step is right from this score on": threshold} if trl else {}
    lines = [
        f"---\n{yaml.safe_dump(front, sort_keys=False)}---",
        "# Steps of reasoning with labels" if trl else "# Scored responses",
        f"Responses of {_text(listed(dict.fromkeys(run.model or run.label for run in runs)))}, "
        f"exported by lmms-rpts {__version__}; its docs/export.md describes the columns. "
        "Responses, and scores by a model, are outputs of these models, whose terms apply.",
        _table(("what", "value"), {**facts, **label}.items()),
        _table(("setting", "value"), ((name, ", ".join(each)) for name, each in settings.items())),
        "The score of a step says whether its conclusion follows from the premises that it cites, "
        "or agrees with what is known of the image; not whether its premises are right.",
        *map(_text, known),
        _table(("task", "source", "licence"), ((task, *pair) for task, pair in sources.items())),
        "An empty licence is not known: ask the publishers. Images are not included.",
    ]
    return "\n\n".join(lines) + "\n"


def _text(value: object) -> str:
    return escape_markdown(storable(str(value)))


def _table(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    return "\n".join(markdown_table(heads, [list(map(_text, cells)) for cells in rows]))


def _source_of(task: str) -> tuple[str, str]:
    """The data of a task, and their licence; empty if it is not known."""
    if task == DEMO_TASK:
        return "demo of lmms-rpts", "mit"
    benchmark = benchmark_of(task)
    return (benchmark.title, benchmark.licence) if benchmark else ("data of the task", "")
