"""Dialogues with online history: later rounds contain the model's own answers.

A document is a dialogue, for whose rounds lmms-eval asks one by one
(``generate_until_multi_round``).
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
"""Characters of an answer that chose no option, as later rounds show it."""

_NEXT_TURN = "\nUser:"
_OF_ROUND = (
    *("id", "sample", "round", "instruct", "question", "options", "order", "marks", "right"),
    *("answers", "history"),
)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One duplicate of a dialogue, in the fields that a task's documents have.

    Attributes:
        rounds: JSON, for each round the fields ``_OF_ROUND`` of its document with gold history.
        id, sample: of the first round.
        set, method, duplicate, begun, image_file, image_start, image_length, boxes: as in
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
    """The dialogues of documents with gold history, which are in the order of their samples."""
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
    """The documents of the rounds of a dialogue, as the task with gold history has them."""
    return [{**doc, **each} for each in json.loads(doc["rounds"])]


# --- what lmms-eval asks for, round by round -----------------------------------------------------


def doc_to_text(
    doc: Doc,
    lmms_eval_specific_kwargs: Mapping[str, Any] | None = None,
    round_idx: int | None = None,
    previous_output: Sequence[Any] | None = None,
    previous_round_info: Any = None,
) -> Any:
    """A round as one text.

    Args:
        round_idx: which round; None and 0: the first.
        previous_output: what the model said in the rounds before.

    Returns:
        The text of the first round; of others images, text, whether the dialogue is over, the
        outputs so far, and nothing more. Where a wrapper goes on, as with a batch whose first
        dialogue is longer, the last round is asked again.
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
) -> Any:
    """A round as turns of a chat; arguments as for ``doc_to_text``.

    Returns:
        The turns of the first round; of others turns, whether the dialogue is over, the outputs
        so far, and nothing more.
    """
    outputs = list(previous_output or ())
    number = round_idx or 0
    asked, is_over = _asked(doc, number, outputs, begun=False)
    messages = prompts.doc_to_messages(asked)
    return (messages, is_over, outputs, None) if number else messages


def doc_to_target(doc: Doc) -> str:
    """The right options of all rounds."""
    return "; ".join(str(prompts.doc_to_target(each)) for each in rounds_of(doc))


def _asked(
    doc: Doc, number: int, outputs: Sequence[Any], *, begun: bool
) -> tuple[dict[str, Any], bool]:
    """The document of a round with online history, and whether there is no such round."""
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
    """What a later round shows of an answer: the option, else what was said without thinking.

    Args:
        output: what the model said; what is no text is an empty answer.
        asked: the document of its round.
        style: of the marks that the later round shows.
        begun: whether the answer was begun for the model.
    """
    text = output if isinstance(output, str) else ""
    found = chosen_option(text, asked["options"], asked["marks"]).index
    if found is not None:
        # Past rounds show their options in the data's order.
        place = asked["order"][found]
        mark = marks_of(style, len(asked["options"]))[place]
        return f"{PREFIX} ({mark}) {asked['options'][found]}"
    # A model of the text form may go on with turns of its own.
    said = storable(split_thinking(text)[0]).partition(_NEXT_TURN)[0].strip()[:LONGEST]
    if begun and not said.casefold().startswith(PREFIX.casefold()):
        return f"{PREFIX} {said}".strip()
    # Servers refuse turns without text.
    return said or PREFIX
