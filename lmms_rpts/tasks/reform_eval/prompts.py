"""Prompts of ReForm-Eval: the published text form, and chat messages.

A document is a sample, or a dialogue with online history: lmms-eval asks for its rounds one by one
(``generate_until_multi_round``), and later rounds contain the model's own answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from lmms_rpts.escaping import storable
from lmms_rpts.filters.responses import Doc
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.tasks.reform_eval.documents import (
    PREFIX,
    marks_of,
    rounds_of,
    style_of,
    text_form,
)
from lmms_rpts.tasks.reform_eval.images import image_of
from lmms_rpts.tasks.reform_eval.strict import chosen_option

LONGEST = 1000
"""Maximum length in later rounds of an answer that chose no option."""

_NEXT_TURN = "\nUser:"


def doc_to_visual(doc: Doc) -> list[Any]:
    """The image."""
    return [image_of(doc)]


def doc_to_text(
    doc: Doc,
    lmms_eval_specific_kwargs: Mapping[str, Any] | None = None,
    round_idx: int | None = None,
    previous_output: Sequence[Any] | None = None,
    previous_round_info: Any = None,
) -> Any:
    """The conversation as one text, for wrappers that take image and text separately.

    Args:
        round_idx: number of the round of a dialogue; None and 0 mean the first.
        previous_output: the model's outputs in the earlier rounds.

    Returns:
        The text; for later rounds a tuple of images, text, whether the dialogue is over, the
        outputs so far, and None. If a wrapper continues after the end, as in a batch whose first
        dialogue is longer, the last round is repeated.
    """
    if "rounds" not in doc:  # not a dialogue
        return _text_of(doc)
    outputs, number = list(previous_output or ()), round_idx or 0
    asked, is_over = _asked(doc, number, outputs, begun=True)
    text = _text_of(asked)
    return (doc_to_visual(doc), text, is_over, outputs, None) if number else text


def doc_to_messages(
    doc: Doc,
    lmms_eval_specific_kwargs: Mapping[str, Any] | None = None,
    round_idx: int | None = None,
    previous_output: Sequence[Any] | None = None,
    previous_round_info: Any = None,
    prefill: bool = False,
) -> Any:
    """The conversation as messages, for chat models; other arguments as for ``doc_to_text``.

    Args:
        prefill: whether a last message of the assistant begins the answer, where the task does so.
            Servers would reject that; ``hf_multimodal`` asks for it.

    Returns:
        The messages, with the image in the first one; for later rounds a tuple of messages,
        whether the dialogue is over, the outputs so far, and None.
    """
    if "rounds" not in doc:  # not a dialogue
        return _messages_of(doc, prefill)
    outputs, number = list(previous_output or ()), round_idx or 0
    asked, is_over = _asked(doc, number, outputs, begun=prefill)
    messages = _messages_of(asked, prefill)
    return (messages, is_over, outputs, None) if number else messages


def doc_to_choice(doc: Doc) -> list[str]:
    """The options whose likelihoods are compared."""
    return list(doc["options"])


def doc_to_target(doc: Doc) -> int | str:
    """The index of the right option, or the accepted answers; for a dialogue of all rounds."""
    if "rounds" in doc:
        return "; ".join(str(doc_to_target(each)) for each in rounds_of(doc))
    if doc["method"] == "likelihood":
        return int(doc["right"])
    return doc["options"][doc["right"]] if doc["options"] else "; ".join(doc["answers"])


def _text_of(doc: Doc) -> str:
    return text_form(doc["instruct"] or None, _turns(doc), PREFIX if doc["begun"] else None)


def _messages_of(doc: Doc, prefill: bool) -> list[dict[str, Any]]:
    texts = [*_turns(doc), *([PREFIX] if prefill and doc["begun"] else [])]
    texts[0] = f"{doc['instruct']} {texts[0]}".strip()
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if at % 2 else "user", "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(texts)
    ]
    messages[0]["content"].insert(0, {"type": "image", "url": image_of(doc)})
    return messages


def _turns(doc: Doc) -> list[str]:
    return [*chain.from_iterable(json.loads(doc["history"])), doc["question"]]


def _asked(
    doc: Doc, number: int, outputs: Sequence[Any], *, begun: bool
) -> tuple[dict[str, Any], bool]:
    """The document of a round with online history, and whether the dialogue is over."""
    rounds = rounds_of(doc)
    at = min(number, len(rounds) - 1)
    asked = rounds[at]
    turns = json.loads(asked["history"])
    solved = len(turns) - at
    style = style_of(asked["marks"])
    said = [*outputs, *[None] * at]
    answers = [reply(said[past], rounds[past], style, begun=begun) for past in range(at)]
    online = [[turns[solved + past][0], answer] for past, answer in enumerate(answers)]
    return {**asked, "history": json.dumps(turns[:solved] + online)}, number >= len(rounds)


def reply(output: Any, asked: Doc, style: str, *, begun: bool) -> str:
    """An answer as later rounds show it: the chosen option, else the text without thinking.

    Args:
        output: the model's output; anything but a string counts as an empty answer.
        asked: the document of its round.
        style: style of the marks in the later round.
        begun: whether the prompt began the answer.
    """
    text = output if isinstance(output, str) else ""
    found = chosen_option(text, asked["options"], asked["marks"]).index
    if found is not None:
        # Past rounds show their options in the data's order.
        place = asked["order"][found]
        mark = marks_of(style, len(asked["options"]))[place]
        return f"{PREFIX} ({mark}) {asked['options'][found]}"
    # With the text form, a model may continue with invented turns.
    said = storable(split_thinking(text)[0]).partition(_NEXT_TURN)[0].strip()[:LONGEST]
    if begun and not said.casefold().startswith(PREFIX.casefold()):
        return f"{PREFIX} {said}".strip()
    # Servers reject empty messages.
    return said or PREFIX
