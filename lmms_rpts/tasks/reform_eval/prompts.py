"""Prompts of ReForm-Eval: the published text form, and chat messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

from lmms_rpts.filters.responses import Doc
from lmms_rpts.tasks.reform_eval.images import image_of
from lmms_rpts.tasks.reform_eval.text_form import PREFIX, text_form


def doc_to_visual(doc: Doc) -> list[Any]:
    """The image."""
    return [image_of(doc)]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The conversation as one text, for wrappers that take image and text separately."""
    prefix = PREFIX if doc["begun"] else None
    return text_form(doc["instruct"] or None, _turns(doc), prefix)


def doc_to_messages(
    doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None, prefill: bool = False
) -> list[dict[str, Any]]:
    """The conversation as messages, for chat models: the image is in the first one.

    Args:
        prefill: whether a last message of the assistant begins the answer, where the task does so.
            Servers would reject that; ``hf_multimodal`` asks for it.
    """
    first, *rest = _turns(doc)
    first = f"{doc['instruct']} {first}".strip()
    messages = [_message("user", [{"type": "image", "url": image_of(doc)}, _text(first)])]
    for at, turn in enumerate(rest):
        messages.append(_message("user" if at % 2 else "assistant", [_text(turn)]))
    if prefill and doc["begun"]:
        messages.append(_message("assistant", [_text(PREFIX)]))
    return messages


def doc_to_choice(doc: Doc) -> list[str]:
    """The options whose likelihoods are compared."""
    return list(doc["options"])


def doc_to_target(doc: Doc) -> int | str:
    """The index of the right option, or the accepted answers."""
    if doc["method"] == "likelihood":
        return int(doc["right"])
    return doc["options"][doc["right"]] if doc["options"] else "; ".join(doc["answers"])


def _turns(doc: Doc) -> list[str]:
    return [*chain.from_iterable(json.loads(doc["history"])), doc["question"]]


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _message(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "content": content}
