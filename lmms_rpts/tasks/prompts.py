"""Prompts with images among their texts, for both kinds of wrappers of lmms-eval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from PIL import Image

from lmms_rpts.scoring.question import Asked
from lmms_rpts.tasks.images import as_rgb

Q = TypeVar("Q", bound=Asked)
Doc = Mapping[str, Any]
Kwargs = Mapping[str, Any]
"""The task's ``lmms_eval_specific_kwargs``: ``pre_prompt`` and ``post_prompt`` are the texts before
and after the prompt; ``variant`` is one of the benchmark's; ``picture: blank`` gives a wrapper that
fails without an image a blank one."""

_BLANK = 56
"""Width and height of a blank image in pixels."""


class Picture(NamedTuple):
    """The place of an image in a prompt.

    Attributes:
        number: of the image, from 0; it is shown where it is named first.
        text: the text for wrappers that take the images separately.
        chat: the text right before the image in a chat.
    """

    number: int
    text: str = ""
    chat: str = ""


@dataclass(frozen=True)
class ImagePrompt(Generic[Q]):
    """A prompt of texts and images.

    Attributes:
        kind: the type of the questions that documents are read as.
        parts: the parts of the prompt for a question and the task's ``lmms_eval_specific_kwargs``.
    """

    kind: type[Q]
    parts: Callable[[Q, Kwargs], Iterable[str | Picture]]

    @property
    def functions(self) -> tuple[Any, Any, Any]:
        """``doc_to_visual``, ``doc_to_text`` and ``doc_to_messages`` for a task file."""
        return self.doc_to_visual, self.doc_to_text, self.doc_to_messages

    def _parts(self, doc: Doc, kwargs: Kwargs | None) -> list[str | Picture]:
        given = kwargs or {}
        before, after = (str(given.get(name) or "") for name in ("pre_prompt", "post_prompt"))
        return [before, *self.parts(self.kind.of(doc), given), after]

    def doc_to_text(self, doc: Doc, lmms_eval_specific_kwargs: Kwargs | None = None) -> str:
        """The prompt for wrappers that take the images separately from the text."""
        parts = self._parts(doc, lmms_eval_specific_kwargs)
        return "".join(each if isinstance(each, str) else each.text for each in parts)

    def doc_to_visual(self, doc: Doc, lmms_eval_specific_kwargs: Kwargs | None = None) -> list[Any]:
        """The images of a document, in the order of their numbers; none if it names none."""
        parts = self._parts(doc, lmms_eval_specific_kwargs)
        if not any(isinstance(each, Picture) for each in parts):
            blank = (lmms_eval_specific_kwargs or {}).get("picture") == "blank"
            return [Image.new("RGB", (_BLANK, _BLANK), "white")] if blank else []
        return [as_rgb(image) for image in doc["images"]]

    def doc_to_messages(
        self, doc: Doc, lmms_eval_specific_kwargs: Kwargs | None = None
    ) -> list[dict[str, Any]]:
        """The prompt for chat wrappers, each image right after its name."""
        images = self.doc_to_visual(doc, lmms_eval_specific_kwargs)
        content: list[dict[str, Any]] = []
        shown: set[int] = set()
        text = ""
        for part in self._parts(doc, lmms_eval_specific_kwargs):
            text += part if isinstance(part, str) else part.chat
            if isinstance(part, str) or part.number in shown:
                continue
            shown.add(part.number)
            content += [{"type": "text", "text": text}] if text else []
            content.append({"type": "image", "url": images[part.number]})
            text = ""
        if not shown and images:  # a blank image, for wrappers that fail without one
            content.append({"type": "image", "url": images[0]})
        content.append({"type": "text", "text": text})
        return [{"role": "user", "content": content}]


def variant_of(kwargs: Kwargs, variants: Sequence[str]) -> str:
    """The variant in a task's ``lmms_eval_specific_kwargs``; the first one if there are none.

    Raises:
        ValueError: if there are some without a known variant: lmms-eval puts the block of a file in
            place of the included one, and the task would be asked in another way.
    """
    variant = kwargs.get("variant") if kwargs else variants[0]
    if variant is None:
        raise ValueError(
            f"lmms_eval_specific_kwargs need a variant, one of {', '.join(variants)}: this block "
            "replaces that of the included file"
        )
    if variant not in variants:
        raise ValueError(f"Unknown prompt variant {variant!r}; known: {', '.join(variants)}")
    return str(variant)
