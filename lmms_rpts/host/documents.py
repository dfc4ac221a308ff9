"""Documents of any task of lmms-eval for the filters of RPTS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.documents import (
    REASONING_FIELDS,
    AlignedDocuments,
    Document,
    DocumentImages,
    as_text,
    without_media,
)
from lmms_rpts.host.loading import image_name, load_task
from lmms_rpts.host.names import split_name
from lmms_rpts.host.prompts import language_of, with_steps, without_steps
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import messages_of, task_images, visuals_of


def documents_of(name: str, include_path: Path | None = None) -> Sequence[Mapping[str, Any]]:
    """The documents of a custom task, or of ``NAME_rpts``, by number."""
    task = load_task(name, include_path)
    longest = load_settings().image_size
    asked = split_name(name)
    if asked is not None:
        said = with_steps if asked.variant == "steps" else as_text
        rows = range(len(task.task_docs))
        return [
            host_document(
                task, name, at, said(as_text(task.doc_to_text(task.task_docs[at]))), longest
            )
            for at in rows
        ]
    docs = without_media(task.task_docs)
    missing = [field for field in REASONING_FIELDS if len(docs) and field not in docs[0]]
    if missing:
        raise DataError(
            f"The task {name!r} is not scored by RPTS: use {name}_rpts (its documents lack "
            f"{', '.join(missing)})"
        )
    return AlignedDocuments(docs, range(len(docs)), name, partial(task_images, task), longest)


def host_document(task: Any, name: str, doc_id: int, asked: str, longest: int) -> Document:
    """A document of a task that RPTS wraps.

    Gold reasoning and textual clues are empty. The context is the prompt that the model got.

    Args:
        task: lmms-eval's ConfigurableTask.
        name: name of the task, for the names of images.
        doc_id: number of the document.
        asked: the prompt; blank if the task has only chats.
        longest: maximum of the longer side of images for judges, in pixels.
    """
    row = task.task_docs[doc_id]
    images, target = _looked_at(task, row)
    question = without_steps(asked if asked.strip() else _said(task, row)).strip()
    language = language_of(question)
    doc = Document(
        id=None,
        doc_id=doc_id,
        language=language,
        statement=question,
        context=question,
        textual_clue=[],
        visual_clue=[image_name(name, doc_id, at) for at in range(images)],
        reasoning=[],
        answer=target_text(target),
        target=as_text(target),  # as lmms-eval logs it
    )
    doc.images = DocumentImages(partial(task_images, task, doc_id), longest, language)
    return doc


def _looked_at(task: Any, row: Any) -> tuple[int, Any]:
    """The number of images of a document, and its gold answer."""
    try:
        images = len(visuals_of(task, row))
    except Exception as error:  # of one document: its claims about images cannot be judged
        logger.warning("{}: cannot read the images of a document ({})", task.config.task, error)
        images = 1  # probably: its claims must not score 1 because it has none
    try:
        target = task.doc_to_target(row)
    except Exception:  # another package's function
        target = ""
    return images, target


def target_text(target: object) -> str:
    """A gold answer of a task as one text."""
    if isinstance(target, list | tuple):
        target = " | ".join(map(as_text, target))
    return "" if target is None else as_text(target)


def _said(task: Any, row: Any) -> str:
    """The texts of a chat, for tasks that have no other prompt."""
    try:
        messages = messages_of(task, row)
        parts = [part for each in messages for part in each.get("content") or ()]
        return "\n".join(str(part["text"]) for part in parts if "text" in part)
    except Exception:  # another package's function: the question is not known
        return ""
