"""Prompts of ReForm-Eval: the text form, and chat messages; those of a dialogue round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, cycle
from typing import Any

from lmms_rpts.base.escaping import storable
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.tasks.prompts import Doc, Kwargs
from lmms_rpts.tasks.reform_eval.questions import PREFIX, ReformQuestion, marks_of
from lmms_rpts.tasks.reform_eval.task import open_image

# Maximum length in later rounds of an answer that chose no option.
LONGEST = 1000
_NEXT_TURN = "\nUser:"


def text_form(turns: Sequence[str], prefix: str | None) -> str:
    """A conversation as one text that ends where the model continues with its answer.

    ``turns`` alternate, the last is the user's; ``prefix`` begins the answer.
    """
    lines = [f"{role}: {turn}" for role, turn in zip(cycle(("User", "Bot")), turns)]
    return "\n".join([*lines, f"Bot: {prefix}" if prefix else "Bot:"])


def doc_to_visual(doc: Doc) -> list[Any]:
    """The image."""
    return [open_image(ReformQuestion.of(doc))]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Kwargs | None = None, **of_round: Any) -> Any:
    """The conversation as one text, for wrappers that take image and text separately.

    ``lmms_eval_specific_kwargs`` may have texts around it, ``pre_prompt`` and ``post_prompt``. For
    a round of a dialogue, ``of_round`` has its number, ``round_idx``, and the model's outputs so
    far, ``previous_output``. For later rounds, it is a tuple of images, text, whether the dialogue
    is over, the outputs, and None; after the end, the last round is repeated, since some wrappers
    continue until the first dialogue of a batch is over.
    """
    asked, later = _round(doc, of_round, begun=True)
    prefix = PREFIX if asked.begins_answer else None
    text = text_form(_turns(asked, lmms_eval_specific_kwargs), prefix)
    return (doc_to_visual(doc), text, *later) if later else text


def doc_to_messages(
    doc: Doc,
    lmms_eval_specific_kwargs: Kwargs | None = None,
    prefill: bool = False,
    **of_round: Any,
) -> Any:
    """The conversation as messages with the image in the first one, as ``doc_to_text``.

    ``prefill``: whether a last message of the assistant begins the answer, where the task does so.
    Servers would reject that; ``hf_multimodal`` asks for it.
    """
    asked, later = _round(doc, of_round, begun=prefill)
    texts = _turns(asked, lmms_eval_specific_kwargs)
    texts += [PREFIX] if prefill and asked.begins_answer else []
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if at % 2 else "user", "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(texts)
    ]
    messages[0]["content"].insert(0, {"type": "image", "url": open_image(asked)})
    return (messages, *later) if later else messages


def doc_to_target(doc: Doc) -> str:
    """The right option, or the accepted answers; of a dialogue those of all rounds."""
    asked = ReformQuestion.of(doc)
    return "; ".join(each.gold for each in asked.rounds or (asked,))


def _turns(asked: ReformQuestion, kwargs: Kwargs | None) -> list[str]:
    """The texts of user and model in turn, with the task's ``pre_prompt`` and ``post_prompt``."""
    turns = [*chain.from_iterable(asked.history), asked.question]
    begin = f"{asked.instruct} " if asked.instruct else ""
    turns[0] = f"{(kwargs or {}).get('pre_prompt') or ''}{begin}{turns[0]}"
    turns[-1] += (kwargs or {}).get("post_prompt") or ""
    return turns


def _round(
    doc: Doc, of_round: Mapping[str, Any], *, begun: bool
) -> tuple[ReformQuestion, tuple[Any, ...]]:
    """The question of a round of a dialogue, with the model's own answers to the earlier ones.

    Also what is returned with the prompt of a later round: whether the dialogue is over, the
    outputs, and None. A question that is not a dialogue is its only round.
    """
    dialogue = ReformQuestion.of(doc)
    rounds = dialogue.rounds
    if not rounds:
        return dialogue, ()
    number, outputs = of_round.get("round_idx") or 0, list(of_round.get("previous_output") or ())
    at = min(number, len(rounds) - 1)
    asked = rounds[at]
    solved = len(asked.history) - at
    said = [*outputs, *[None] * at]
    online = tuple(
        (asked.history[solved + past][0], reply(said[past], rounds[past], asked.style, begun=begun))
        for past in range(at)
    )
    asked = asked.model_copy(update={"history": asked.history[:solved] + online})
    return asked, (number >= len(rounds), outputs, None) if number else ()


def reply(output: Any, asked: ReformQuestion, style: str, *, begun: bool) -> str:
    """An answer as later rounds show it: the chosen option, else the text without thinking.

    ``output`` is that of the model, of which anything but a string counts as an empty answer;
    ``style`` that of the marks in the later round; ``begun``: whether the prompt began the answer.
    """
    text = output if isinstance(output, str) else ""
    found, _ = asked.chosen_option(text)
    if found is not None:
        # Past rounds show their options in the data's order.
        mark = marks_of(style, len(asked.options))[asked.order[found]]
        return f"{PREFIX} ({mark}) {asked.options[found]}"
    # With the text form, a model may continue with invented turns.
    said = storable(split_thinking(text)[0]).partition(_NEXT_TURN)[0].strip()[:LONGEST]
    if begun and not said.casefold().startswith(PREFIX.casefold()):
        return f"{PREFIX} {said}".strip()
    # Servers reject empty messages.
    return said or PREFIX
