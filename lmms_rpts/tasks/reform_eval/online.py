"""Dialogues with online history: later rounds contain the model's own answers.

A document is a dialogue; lmms-eval requests its rounds one by one (``generate_until_multi_round``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lmms_rpts.escaping import storable
from lmms_rpts.filters.responses import Doc
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.tasks.reform_eval import prompts
from lmms_rpts.tasks.reform_eval.documents import Document
from lmms_rpts.tasks.reform_eval.sets import Method
from lmms_rpts.tasks.reform_eval.strict import chosen_option
from lmms_rpts.tasks.reform_eval.text_form import PREFIX, marks_of, style_of

LONGEST = 1000
"""Maximum length in later rounds of an answer that chose no option."""

_NEXT_TURN = "\nUser:"
_OF_ROUND = (
    *("id", "sample", "round", "instruct", "question", "options", "order", "marks", "right"),
    *("answers", "history"),
)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One duplicate of a dialogue, with the fields of a task's documents.

    Attributes:
        rounds: JSON; for each round, the fields ``_OF_ROUND`` of its document with gold history.
        id, sample: values of the first round.
        set, method, duplicate, begun, image_file, image_start, image_length, boxes: see
            ``Document``.
    """

    set: str
    method: Method
    id: str
    sample: int
    duplicate: int
    rounds: str
    begun: bool
    image_file: str
    image_start: int
    image_length: int
    boxes: str


def dialogues_of(documents: Iterable[Document]) -> Iterator[Dialogue]:
    """The dialogues of documents with gold history, given in the order of their samples."""
    found: dict[tuple[int, int], list[Document]] = {}
    first = 0
    for each in documents:
        first = each.sample if each.round == 0 else first
        found.setdefault((first, each.duplicate), []).append(each)
    for members in found.values():
        yield _dialogue(members)


def _dialogue(members: Sequence[Document]) -> Dialogue:
    whole = asdict(members[0])
    rounds = [{name: asdict(each)[name] for name in _OF_ROUND} for each in members]
    kept = {name: whole[name] for name in Dialogue.__slots__ if name != "rounds"}
    return Dialogue(**kept, rounds=json.dumps(rounds))


def rounds_of(doc: Doc) -> list[dict[str, Any]]:
    """The documents of a dialogue's rounds, as in the task with gold history."""
    return [{**doc, **each} for each in json.loads(doc["rounds"])]


# --- functions that lmms-eval calls for each round -----------------------------------------------


def doc_to_text(
    doc: Doc,
    lmms_eval_specific_kwargs: Mapping[str, Any] | None = None,
    round_idx: int | None = None,
    previous_output: Sequence[Any] | None = None,
    previous_round_info: Any = None,
) -> Any:
    """A round as one text.

    Args:
        round_idx: number of the round; None and 0 mean the first.
        previous_output: the model's outputs in the earlier rounds.

    Returns:
        For the first round, the text; for others a tuple of images, text, whether the dialogue is
        over, the outputs so far, and None. If a wrapper continues after the end, as in a batch
        whose first dialogue is longer, the last round is repeated.
    """
    outputs = list(previous_output or ())
    number = round_idx or 0
    asked, is_over = _asked(doc, number, outputs, begun=True)
    text = prompts.doc_to_text(asked)
    return (prompts.doc_to_visual(doc), text, is_over, outputs, None) if number else text


def doc_to_messages(
    doc: Doc,
    lmms_eval_specific_kwargs: Mapping[str, Any] | None = None,
    round_idx: int | None = None,
    previous_output: Sequence[Any] | None = None,
    previous_round_info: Any = None,
    prefill: bool = False,
) -> Any:
    """A round as chat messages; arguments as for ``doc_to_text`` and ``prompts.doc_to_messages``.

    Returns:
        For the first round, the messages; for others a tuple of messages, whether the dialogue is
        over, the outputs so far, and None.
    """
    outputs = list(previous_output or ())
    number = round_idx or 0
    asked, is_over = _asked(doc, number, outputs, begun=prefill)
    messages = prompts.doc_to_messages(asked, prefill=prefill)
    return (messages, is_over, outputs, None) if number else messages


def doc_to_target(doc: Doc) -> str:
    """The right options of all rounds."""
    return "; ".join(str(prompts.doc_to_target(each)) for each in rounds_of(doc))


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
