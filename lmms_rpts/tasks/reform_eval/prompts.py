"""Documents and prompts of ReForm-Eval: samples in several wordings, the text form, chat messages.

A document is a sample in one wording, or a dialogue with online history: lmms-eval asks for its
rounds one by one (``generate_until_multi_round``), and later rounds contain the model's own
answers.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any

from lmms_rpts.base.escaping import storable
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.tasks.reform_eval.benchmark import DataSet, Method, ReformSettings
from lmms_rpts.tasks.reform_eval.data import Sample, image_of
from lmms_rpts.tasks.reform_eval.duplicates import MARKS, balanced_order, rng_of
from lmms_rpts.tasks.reform_eval.instructions import Wording
from lmms_rpts.tasks.reform_eval.strict import chosen_option

Doc = Mapping[str, Any]

# Beginning of an answer to a question with options.
PREFIX = "The answer is"

# Maximum length in later rounds of an answer that chose no option.
LONGEST = 1000

# A mark in a solved example: "Options: (A) yes; (B) no."
_MARK = re.compile(r"\(([A-Z])\)")
_NEXT_TURN = "\nUser:"


# --- the published text form ----------------------------------------------------------------------


def marks_of(style: str, count: int) -> str:
    """The marks of ``count`` options, one character each; IndexError if they do not suffice."""
    letters = MARKS["upper" if style == "random" else style]
    if count > len(letters):
        raise IndexError(f"{count} options are too many for {style} marks: at most {len(letters)}")
    return letters[:count]


def style_of(marks: str) -> str:
    """The style of marks; ``upper`` if there are none."""
    return next((style for style, all_ in MARKS.items() if marks[:1] == all_[0]), "upper")


def marked(options: Sequence[str], style: str) -> list[str]:
    """The options, each after its mark: ``(A) a dog``."""
    marks = marks_of(style, len(options))
    return [f"({mark}) {option}" for mark, option in zip(marks, options, strict=True)]


def question_with_options(question: str, options: Sequence[str], style: str) -> str:
    """A question followed by its options."""
    shown = "; ".join(marked(options, style))
    return f"{question} Options: {shown}{'.' if options else ''}"


def question_with_answer(
    question: str, options: Sequence[str], chosen: int, style: str
) -> tuple[str, str]:
    """A past question with its options, and the chosen one with its mark."""
    return question_with_options(question, options, style), marked(options, style)[chosen]


def text_form(instruct: str | None, turns: Sequence[str], prefix: str | None) -> str:
    """A conversation as one text that ends where the model continues with its answer.

    Args:
        instruct: text before the first turn.
        turns: alternating turns of user and model; the last is the user's.
        prefix: beginning of the answer; None: the text does not begin it.
    """
    first, *rest = turns
    first = first if instruct is None else f"{instruct} {first}"
    lines = [f"{role}: {turn}" for role, turn in zip(cycle(("User", "Bot")), (first, *rest))]
    return "\n".join([*lines, f"Bot: {prefix}" if prefix else "Bot:"])


# --- documents -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """How the samples of one set are presented; ``published``: whether in published wording."""

    chosen: DataSet
    method: Method
    wording: Wording
    settings: ReformSettings
    published: bool

    @property
    def shows_options(self) -> bool:
        """Whether the options are part of the question."""
        return self.chosen.kind == "choice" and self.method == "generation"

    def documents(self, samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
        """The documents of samples; the duplicates of a sample are adjacent.

        ``ReformInstance`` explains most of their fields. ``right`` and ``round`` are -1 where the
        record has null. Further fields:

        - ``history``: JSON, pairs of earlier questions and answers.
        - ``begun``: whether the text form begins the answer.
        - ``image_file``, ``image_start``, ``image_length``: location of the image.
        - ``boxes``: JSON, boxes in the format of the file.
        """
        for at, sample in enumerate(samples[: self.settings.limit]):
            for duplicate in range(self.settings.duplicates_of(self.chosen)):
                yield self._document(sample, at, duplicate)

    def _document(self, sample: Sample, at: int, duplicate: int) -> dict[str, Any]:
        order = self._order(sample, at, duplicate)
        shown = [self.sentence_case(sample.options[each]) for each in order]
        style: str = self.settings.marks
        if style == "random":
            rng = rng_of(self.settings.seed, self.chosen.name, at, duplicate, "marks")
            style = rng.choice(list(MARKS))
        instruct, question = self.question(sample, at, duplicate)
        if self.shows_options:
            question = question_with_options(question, shown, style)
        return {
            "set": self.chosen.name,
            "method": self.method,
            "id": str(sample.id),
            "sample": at,
            "duplicate": duplicate,
            "instruct": instruct,
            "question": question,
            "options": shown,
            "order": order,
            "marks": marks_of(style, len(shown)) if self.shows_options else "",
            "right": -1 if sample.right is None else order.index(sample.right),
            "answers": list(sample.answers),
            "history": json.dumps(list(self.history(sample, style)), ensure_ascii=False),
            "begun": self.method == "generation" and self.chosen.kind != "caption",
            "round": -1 if sample.round is None else sample.round,
            "image_file": str(sample.image.file),
            "image_start": sample.image.start,
            "image_length": sample.image.length,
            "boxes": json.dumps(sample.boxes) if self.chosen.boxes else "[]",
        }

    def _order(self, sample: Sample, at: int, duplicate: int) -> list[int]:
        if sample.right is None:
            return []
        first = self.settings.order == "fixed" or not self.shows_options
        count, variant, seed = len(sample.options), 0 if first else duplicate, self.settings.seed
        return balanced_order(count, sample.right, variant, seed, self.chosen.name, at)

    def question(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """Instruction and question; if the data have no question, "" and the instruction."""
        which = duplicate if self.settings.wording == "varied" else at
        of_data = sample.instructions if self.published else ()
        wordings = of_data or self.wording.instructions
        instruction = wordings[which % len(wordings)]
        if self.chosen.variant == "winoground":  # all samples share a question
            if self.method == "generation":
                return instruction, "Which description matches this image?"
            return instruction, "Please generate a sentence to describe this image."
        if not sample.question:
            return "", instruction.replace("{}", sample.filling or "")
        if self.published and self.chosen.variant == "claim" and self.method == "likelihood":
            instruction += " Please answer supported, refuted or not enough information."
        return instruction, self._asked(sample.question[which % len(sample.question)])

    def sentence_case(self, text: str) -> str:
        """A text with a capital letter, which dialogues lack."""
        return text[:1].upper() + text[1:] if self.chosen.layout == "dialogue" else text

    def _asked(self, question: str) -> str:
        """A question in sentence case, with the question mark that dialogues lack."""
        lacking = self.chosen.layout == "dialogue" and not question.endswith("?")
        return f"{self.sentence_case(question)}{'?' * lacking}"

    def history(self, sample: Sample, style: str) -> Iterator[tuple[str, str]]:
        """The solved example and the past rounds of a dialogue: questions with their answers."""
        if self.settings.in_context and self.wording.in_context:
            yield from self.solved_example(*self.wording.in_context, style)
        for turn in sample.history:
            asked, right = self._asked(turn.question), turn.right
            options = [self.sentence_case(each) for each in turn.options]
            if self.shows_options:
                asked, said = question_with_answer(asked, options, right, style)
                yield asked, f"{PREFIX} {said}"
            else:
                yield asked, options[right]

    def solved_example(self, asked: str, answered: str, style: str) -> Iterator[tuple[str, str]]:
        """The solved example, before questions with options only."""
        if self.shows_options:
            yield _in_style(asked, style), f"{PREFIX} {_in_style(answered, style)}"


def _in_style(text: str, style: str) -> str:
    """A solved example, with its marks (A), (B), ... replaced by those of another style."""
    marks = dict(zip(string.ascii_uppercase, MARKS[style], strict=False))
    return _MARK.sub(lambda found: f"({marks.get(found[1], found[1])})", text)


# --- dialogues with online history ---------------------------------------------------------------


def dialogues_of(documents: Sequence[Doc]) -> list[dict[str, Any]]:
    """The dialogues of documents with gold history, given in the order of their samples.

    A dialogue has the fields of its first round, and ``rounds``: JSON, the documents of all.
    """
    found: dict[tuple[int, int], list[Doc]] = {}
    first = 0
    for each in documents:
        first = each["sample"] if each["round"] == 0 else first
        found.setdefault((first, each["duplicate"]), []).append(each)
    return [{**rounds[0], "rounds": json.dumps(rounds)} for rounds in found.values()]


def rounds_of(doc: Doc) -> list[dict[str, Any]]:
    """The documents of a dialogue's rounds, as in the task with gold history."""
    found: list[dict[str, Any]] = json.loads(doc["rounds"])
    return found


# --- what lmms-eval asks for ---------------------------------------------------------------------
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
    asked, later = _round(doc, round_idx or 0, list(previous_output or ()), begun=True)
    prefix = PREFIX if asked["begun"] else None
    text = text_form(asked["instruct"] or None, _turns(asked), prefix)
    return (doc_to_visual(doc), text, *later) if later else text


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
    asked, later = _round(doc, round_idx or 0, list(previous_output or ()), begun=prefill)
    texts = [*_turns(asked), *([PREFIX] if prefill and asked["begun"] else [])]
    texts[0] = f"{asked['instruct']} {texts[0]}".strip()
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if at % 2 else "user", "content": [{"type": "text", "text": text}]}
        for at, text in enumerate(texts)
    ]
    messages[0]["content"].insert(0, {"type": "image", "url": image_of(doc)})
    return (messages, *later) if later else messages


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


def _turns(doc: Doc) -> list[str]:
    return [*chain.from_iterable(json.loads(doc["history"])), doc["question"]]


def _round(
    doc: Doc, number: int, outputs: Sequence[Any], *, begun: bool
) -> tuple[Doc, tuple[Any, ...]]:
    """The document of a round of a dialogue, with the model's own answers to the earlier ones.

    Also what is returned with the prompt of a later round: whether the dialogue is over, the
    outputs, and None. A document that is not a dialogue is its only round.
    """
    if "rounds" not in doc:
        return doc, ()
    rounds = rounds_of(doc)
    at = min(number, len(rounds) - 1)
    asked = rounds[at]
    turns = json.loads(asked["history"])
    solved = len(turns) - at
    style = style_of(asked["marks"])
    said = [*outputs, *[None] * at]
    online = [
        [turns[solved + past][0], reply(said[past], rounds[past], style, begun=begun)]
        for past in range(at)
    ]
    asked["history"] = json.dumps(turns[:solved] + online)
    return asked, (number >= len(rounds), outputs, None) if number else ()


def reply(output: Any, asked: Doc, style: str, *, begun: bool) -> str:
    """An answer as later rounds show it: the chosen option, else the text without thinking.

    Args:
        output: the model's output; anything but a string counts as an empty answer.
        asked: the document of its round.
        style: style of the marks in the later round.
        begun: whether the prompt began the answer.
    """
    text = output if isinstance(output, str) else ""
    found, _ = chosen_option(text, asked["options"], asked["marks"])
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
