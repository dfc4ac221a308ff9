"""Documents of any task of lmms-eval for the filters of RPTS; loading of a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.base import AlignedDocuments, Document, without_media
from lmms_rpts.host.task_files import task_files
from lmms_rpts.runs.record import as_text
from lmms_rpts.scoring.question import ReasoningDocument, judge_images
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import messages_of, task_images, visuals_of

SUFFIX = "_rpts"
"""Of the name under which saved responses to a task are scored."""
_WIDE = range(0x4E00, 0x9FFF + 1)
_CHINESE_FROM = 0.3
# The beginning tells the language; prompts may hold whole documents
_LOOKED_AT = 4000


def language_of(text: str) -> str:
    """``zh`` if at least three in ten letters of a text are Chinese, else ``en``."""
    letters = [each for each in text[:_LOOKED_AT] if each.isalpha()]
    wide = sum(ord(each) in _WIDE for each in letters)
    return "zh" if letters and wide >= _CHINESE_FROM * len(letters) else "en"


def load_task(name: str, include_path: Path | None = None) -> Any:
    """A task of lmms-eval without the filters of RPTS; for ``NAME_rpts`` the task NAME.

    Raises:
        DataError: if the task is unknown or cannot be loaded.
    """
    import lmms_eval.models  # noqa: F401 - it loads the plugin
    from lmms_eval.tasks import TaskManager

    folder = None if include_path is None else str(include_path)
    logger.disable("lmms_eval")  # it logs every file that it reads
    try:
        known = {name, base_of(name)} & task_files(include_path).keys()
        manager = TaskManager(include_path=folder, include_defaults=not known)
        base = name if name in manager.task_index else base_of(name)
        if base not in manager.task_index:
            hint = did_you_mean(base, manager.all_tasks)
            hint += "" if folder else " Use --include_path FOLDER for your own tasks"
            raise DataError(f"Unknown task {base!r} of lmms-eval.{hint}")
        if (kind := manager.task_index[base]["type"]) in ("group", "tag"):
            raise DataError(f"{base!r} is a {kind} of lmms-eval, not a task: name its tasks")
        # Without a judge, a task whose filters need one cannot be built.
        return manager.load_task_or_group([{"task": base, "filter_list": None}])[base]
    except UserError:
        raise
    except Exception as error:  # another package's task, its data set, or the network
        cause = getattr(error, "last_attempt", None)
        reason = error if cause is None else cause.exception()
        raise DataError(
            f"Cannot load the task {name!r} ({type(reason).__name__}: {reason})"
        ) from None
    finally:
        logger.enable("lmms_eval")


def base_of(name: str) -> str:
    """The task whose saved responses are scored as ``NAME_rpts``; any other name unchanged."""
    return name.removesuffix(SUFFIX) or name


def image_name(task: str, doc_id: int, number: int) -> str:
    """The name in records of an image without a name."""
    return f"{task}#{doc_id}/{number}"


def read_image_name(task: str, name: str) -> tuple[int, int] | None:
    """The numbers of the document and of the image; None for any other name."""
    beginning, _, rest = name.rpartition("#")
    doc_id, _, number = rest.partition("/")
    plain = all(each.isascii() and each.isdigit() and len(each) < 10 for each in (doc_id, number))
    return (int(doc_id), int(number)) if beginning == task and plain else None


def named_images(task: Any, name: str, wanted: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The images of a task by their names in records, one document at a time.

    Unreadable images are left out.
    """
    by_document: dict[int, list[tuple[int, str]]] = {}
    for each in wanted:
        place = read_image_name(name, each)
        if place is not None and place[0] < len(task.task_docs):
            by_document.setdefault(place[0], []).append((place[1], each))
    for doc_id, places in sorted(by_document.items()):
        try:
            images = task_images(task, doc_id)
        except Exception:  # whatever another package's function or a broken image raises
            images = []
        yield from ((each, images[number]) for number, each in places if number < len(images))


def documents_of(name: str, include_path: Path | None = None) -> Sequence[Mapping[str, Any]]:
    """The documents of a task by number: its own if they have the fields of RPTS."""
    task = load_task(name, include_path)
    longest = load_settings().image_size
    docs = without_media(task.task_docs)
    if (
        not len(docs)
        or not ReasoningDocument.model_fields.keys() - {"ability", "relation"} - docs[0].keys()
    ):
        return AlignedDocuments(docs, range(len(docs)), name, partial(task_images, task), longest)
    return [
        host_document(task, name, at, as_text(task.doc_to_text(task.task_docs[at])), longest)
        for at in range(len(task.task_docs))
    ]


def host_document(task: Any, name: str, doc_id: int, asked: str, longest: int) -> Document:
    """A document of another task in the form of RPTS.

    Gold reasoning and textual clues are empty. The context is the prompt that the model got.
    """
    row = task.task_docs[doc_id]
    images, target = _looked_at(task, row)
    question = (asked if asked.strip() else said_in(task, row)).strip()
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
    doc.images = judge_images(partial(task_images, task, doc_id), images, longest, language)
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


def said_in(task: Any, row: Any) -> str:
    """The texts of a chat, for tasks that have no other prompt."""
    try:
        messages = messages_of(task, row)
        parts = [part for each in messages for part in each.get("content") or ()]
        return "\n".join(str(part["text"]) for part in parts if "text" in part)
    except Exception:  # another package's function: the question is not known
        return ""
