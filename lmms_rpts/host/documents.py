"""Documents and prompts of any task of lmms-eval for the filters of RPTS; loading of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.settings import load_settings
from lmms_rpts.filters.documents import (
    AlignedDocuments,
    Document,
    DocumentImages,
    ReasoningDocument,
    as_text,
    missing_fields,
    without_media,
)
from lmms_rpts.host.task_index import split_name, task_files
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.images import messages_of, task_images, visuals_of

_STEPS = {
    "en": (
        "\n\nReason step by step, and write one step of reasoning a line, numbered from 0, in the "
        "form\n"
        "Conclusion k: from Image i / Conclusion l / the Context, what follows from them\n"
        "Image 0 is the first image, Image 1 the second, and so on; the Context is the question. "
        "First say what each image shows that matters (from Image 0, ...), then draw your "
        "conclusions (from Conclusion 0 and Conclusion 1, ...). Name all that a step rests on.\n"
        "Behind the steps, give the answer in the form that was asked for above."
    ),
    "zh": (
        "\n\n请逐步推理，每行写一步，从0开始编号，格式为：\n"
        "结论k：根据图片i / 结论l / 上下文，由此得出的内容\n"
        "图片0指第一张图片，图片1指第二张，依此类推；上下文指题目本身。先写出每张图片中与问题有关的内容"
        "（根据图片0，……），再逐步得出结论（根据结论0和结论1，……）。请写明每一步的全部依据。\n"
        "写完步骤后，按上面要求的形式给出答案。"
    ),
}
_WIDE = range(0x4E00, 0x9FFF + 1)
_CHINESE_FROM = 0.3
# The beginning tells the language; prompts may hold whole documents
_LOOKED_AT = 4000


def language_of(text: str) -> str:
    """``zh`` if at least three in ten letters of a text are Chinese, else ``en``."""
    letters = [each for each in text[:_LOOKED_AT] if each.isalpha()]
    wide = sum(ord(each) in _WIDE for each in letters)
    return "zh" if letters and wide >= _CHINESE_FROM * len(letters) else "en"


def with_steps(text: str) -> str:
    """A prompt that also asks for steps."""
    return text + _STEPS[language_of(text)]


def without_steps(text: str) -> str:
    """A prompt without the request for steps."""
    for added in _STEPS.values():
        if text.endswith(added):
            return text.removesuffix(added)
    return text


def messages_with_steps(messages: Any) -> Any:
    """A chat whose last user message also asks for steps; other values are returned unchanged."""
    return in_last_question(messages, _asking)


def in_last_question(messages: Any, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    """A chat with a change in its last user message; other values are returned unchanged."""
    if not isinstance(messages, list):
        return messages
    for at in reversed(range(len(messages))):
        message = messages[at]
        if isinstance(message, Mapping) and message.get("role") == "user":
            return [*messages[:at], change(message), *messages[at + 1 :]]
    return messages


def change_prompts(
    task: Any, on_text: Callable[[Any, str], str], on_messages: Callable[[Any, Any], Any]
) -> None:
    """Change the prompts of a task of lmms-eval, given the document and the prompt."""
    text, messages = task.doc_to_text, getattr(task, "doc_to_messages", None)
    task.doc_to_text = lambda doc: on_text(doc, as_text(text(doc)))
    if callable(task.config.doc_to_messages) and messages is not None:
        task.doc_to_messages = lambda doc, **more: on_messages(doc, messages(doc, **more))


def _asking(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": with_steps(content)}
    if not isinstance(content, list):
        return dict(message)
    said = " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return {**message, "content": [*content, {"type": "text", "text": _STEPS[language_of(said)]}]}


def load_task(name: str, include_path: Path | None = None, scored: bool = False) -> Any:
    """A task of lmms-eval without the filters of RPTS; for ``NAME_rpts`` the task NAME.

    ``scored``: with its filters, as in a run, and as ``NAME_rpts``.

    Raises:
        DataError: if the task is unknown or cannot be loaded.
    """
    import lmms_eval.models  # noqa: F401 - it loads the plugin
    from lmms_eval.tasks import TaskManager

    from lmms_rpts.host.task_index import add_wrapped, only_tasks

    asked = None if scored else split_name(name)
    base = asked.base if asked else name
    folder = None if include_path is None else str(include_path)
    # Building the index of all of lmms-eval's tasks takes ten seconds.
    elsewhere = base not in task_files(include_path)
    logger.disable("lmms_eval")  # it logs every file that it reads
    try:
        with only_tasks([base]):
            manager = TaskManager(include_path=folder, include_defaults=elsewhere)
        add_wrapped(manager, [base])
        if base not in manager.task_index:
            hint = did_you_mean(base, manager.all_tasks, name.removeprefix(base))
            hint += "" if folder else " Use --include_path FOLDER for your own tasks"
            raise DataError(f"Unknown task {base!r} of lmms-eval.{hint}")
        if (kind := manager.task_index[base]["type"]) in ("group", "tag"):
            raise DataError(f"{base!r} is a {kind} of lmms-eval, not a task: name its tasks")
        # Without a judge, a task whose filters need one cannot be built.
        asked_for = base if scored else {"task": base, "filter_list": None}
        return manager.load_task_or_group([asked_for])[base]
    except UserError:
        raise
    except Exception as error:  # another package's task, its data set, or the network
        cause = getattr(error, "last_attempt", None)
        reason = error if cause is None else cause.exception()
        raise DataError(
            f"Cannot load the task {base!r} ({type(reason).__name__}: {reason})"
        ) from None
    finally:
        logger.enable("lmms_eval")


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
    missing = missing_fields(docs[0], ReasoningDocument) if len(docs) else []
    if missing:
        raise DataError(
            f"The task {name!r} is not scored by RPTS: use {name}_rpts (its documents lack "
            f"{', '.join(missing)})"
        )
    return AlignedDocuments(docs, range(len(docs)), name, partial(task_images, task), longest)


def host_document(task: Any, name: str, doc_id: int, asked: str, longest: int) -> Document:
    """A document of a task that RPTS wraps.

    Gold reasoning and textual clues are empty. The context is the prompt that the model got.
    """
    row = task.task_docs[doc_id]
    images, target = _looked_at(task, row)
    question = without_steps(asked if asked.strip() else said_in(task, row)).strip()
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


def said_in(task: Any, row: Any) -> str:
    """The texts of a chat, for tasks that have no other prompt."""
    try:
        messages = messages_of(task, row)
        parts = [part for each in messages for part in each.get("content") or ()]
        return "\n".join(str(part["text"]) for part in parts if "text" in part)
    except Exception:  # another package's function: the question is not known
        return ""
