"""Documents of ReForm-Eval's tasks: samples in several wordings, and the published text form."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any

from lmms_rpts.filters.responses import Doc
from lmms_rpts.tasks.reform_eval.benchmark import ReformSettings
from lmms_rpts.tasks.reform_eval.data import Sample, Turn, balanced_order, rng_of
from lmms_rpts.tasks.reform_eval.instructions import Instructions, Wording
from lmms_rpts.tasks.reform_eval.sets import DataSet, Method

_MARK = re.compile(r"\(([A-Z])\)")

PREFIX = "The answer is"
"""Beginning of an answer to a question with options."""

_LETTERS = {
    "upper": string.ascii_uppercase,
    "lower": string.ascii_lowercase,
    "number": string.digits[1:],
}
STYLES = tuple(_LETTERS)
MOST_NUMBERED = len(_LETTERS["number"])


@dataclass(frozen=True, slots=True)
class Document:
    """One duplicate of a sample, with the fields of a task's documents.

    Attributes:
        set, method: name of the data set, and the answer method.
        id: id of the sample, as a string.
        sample: index of the sample in the data.
        duplicate: number of the duplicate, from 0.
        instruct: the instruction before the first question; may be empty.
        question: the question, followed by the options if they are shown.
        options: options in the order in which they are shown; empty for free answers.
        order: for each option, its index in the data.
        marks: marks of the options; empty if they are not shown.
        right: index of the right option as shown; -1 for free answers.
        answers: accepted free answers, or reference captions.
        history: JSON, pairs of earlier questions and answers.
        begun: whether the text form begins the answer.
        round: round of a dialogue; -1 for other sets.
        image_file, image_start, image_length: location of the image.
        boxes: JSON, boxes in the format of the file.
    """

    set: str
    method: Method
    id: str
    sample: int
    duplicate: int
    instruct: str
    question: str
    options: tuple[str, ...]
    order: tuple[int, ...]
    marks: str
    right: int
    answers: tuple[str, ...]
    history: str
    begun: bool
    round: int
    image_file: str
    image_start: int
    image_length: int
    boxes: str


def documents_of(
    chosen: DataSet,
    method: Method,
    samples: Sequence[Sample],
    instructions: Instructions,
    settings: ReformSettings,
) -> Iterator[Document]:
    """The documents of samples; the duplicates of a sample are adjacent."""
    published = instructions.source == "published"
    form = Form(chosen, method, instructions.of(chosen, method), settings, published)
    for at, sample in enumerate(samples[: settings.limit]):
        for duplicate in range(settings.duplicates_of(chosen)):
            yield form.document(sample, at, duplicate)


@dataclass(frozen=True)
class Form:
    """How the samples of one set are presented.

    Attributes:
        published: whether the wording is the published one.
    """

    chosen: DataSet
    method: Method
    wording: Wording
    settings: ReformSettings
    published: bool

    @property
    def shows_options(self) -> bool:
        """Whether the options are part of the question."""
        return self.chosen.kind == "choice" and self.method == "generation"

    def document(self, sample: Sample, at: int, duplicate: int) -> Document:
        """One duplicate of the sample with index ``at`` in the data."""
        order = self._order(sample, at, duplicate)
        options = self.options(sample.options)
        shown = tuple(options[each] for each in order)
        style = self._style(at, duplicate)
        instruct, question = self.question(sample, at, duplicate)
        if self.shows_options:
            question = question_with_options(question, shown, style)
        return Document(
            set=self.chosen.name,
            method=self.method,
            id=str(sample.id),
            sample=at,
            duplicate=duplicate,
            instruct=instruct,
            question=question,
            options=shown,
            order=tuple(order),
            marks=marks_of(style, len(shown)) if self.shows_options else "",
            right=-1 if sample.right is None else order.index(sample.right),
            answers=sample.answers,
            history=json.dumps(list(self.history(sample, style)), ensure_ascii=False),
            begun=self.method == "generation" and self.chosen.kind != "caption",
            round=-1 if sample.round is None else sample.round,
            image_file=str(sample.image.file),
            image_start=sample.image.start,
            image_length=sample.image.length,
            boxes=json.dumps(sample.boxes) if self.chosen.boxes else "[]",
        )

    def _order(self, sample: Sample, at: int, duplicate: int) -> list[int]:
        if sample.right is None:
            return []
        first = self.settings.order == "fixed" or not self.shows_options
        count, variant, seed = len(sample.options), 0 if first else duplicate, self.settings.seed
        return balanced_order(count, sample.right, variant, seed, self.chosen.name, at)

    def _style(self, at: int, duplicate: int) -> str:
        if self.settings.marks != "random":
            return self.settings.marks
        rng = rng_of(self.settings.seed, self.chosen.name, at, duplicate, "marks")
        return rng.choice(STYLES)

    def question(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """Instruction and question; if the data have no question, "" and the instruction."""
        which = duplicate if self.settings.wording == "varied" else at
        of_data = sample.instructions if self.published else ()
        wordings = of_data or self.wording.instructions
        instruction = wordings[which % len(wordings)]
        fixed = self._fixed_question()
        if not sample.question and not fixed:
            return "", instruction.replace("{}", self.filling(sample))
        if self.published and self.chosen.variant == "claim" and self.method == "likelihood":
            instruction += " Please answer supported, refuted or not enough information."
        return instruction, fixed or self._asked(sample.question[which % len(sample.question)])

    def _fixed_question(self) -> str:
        """The question shared by all samples; empty if each has its own, or none."""
        if self.chosen.variant != "winoground":
            return ""
        if self.method == "generation":
            return "Which description matches this image?"
        return "Please generate a sentence to describe this image."

    def filling(self, sample: Sample) -> str:
        """The text that replaces ``{}`` in the instruction."""
        return sample.filling or ""

    def options(self, options: Sequence[str]) -> list[str]:
        """The options in sentence case."""
        return [self.sentence_case(each) for each in options]

    def sentence_case(self, text: str) -> str:
        """A text with a capital letter, which dialogues lack."""
        # Not str.capitalize, which makes "NYC" "nyc".
        return text[:1].upper() + text[1:] if self.chosen.layout == "dialogue" else text

    def _asked(self, question: str) -> str:
        """A question in sentence case, with the question mark that dialogues lack."""
        lacking = self.chosen.layout == "dialogue" and not question.endswith("?")
        return f"{self.sentence_case(question)}{'?' * lacking}"

    def history(self, sample: Sample, style: str) -> Iterator[tuple[str, str]]:
        """The solved example and the past rounds of a dialogue: questions with their answers."""
        yield from self.solved(style)
        for turn in sample.history:
            asked, options = self._asked(turn.question), self.options(turn.options)
            if self.shows_options:
                asked, answer = question_with_answer(asked, options, self.right(turn), style)
                yield asked, f"{PREFIX} {answer}"
            else:
                yield asked, options[turn.right]

    def right(self, turn: Turn) -> int | str:
        """The right answer to a past round, for ``question_with_answer``."""
        return turn.right

    def solved(self, style: str) -> Iterator[tuple[str, str]]:
        """The in-context sample, with its marks (A), (B), ... replaced by another style."""
        if self.shows_options and self.settings.in_context and self.wording.in_context:
            marks = marks_of(style, 9)
            asked, answered = (
                _MARK.sub(lambda found: f"({_in_style(found[1], marks)})", text)
                for text in self.wording.in_context
            )
            yield asked, f"{PREFIX} {answered}"


def _in_style(letter: str, marks: str) -> str:
    at = ord(letter) - ord("A")
    return marks[at] if at < len(marks) else letter


def question_with_answer(
    question: str, options: Sequence[str], answer: str | int, mark: str
) -> tuple[str, str]:
    """A past question with its options, and its answer: marked if it is the text of an option.

    Raises:
        IndexError: if the answer is a number beyond the options.
    """
    place = answer if isinstance(answer, int) else None
    if place is None and answer in options:
        place = list(options).index(str(answer))
    said = str(answer) if place is None else marked(options, mark)[place]
    return question_with_options(question, options, mark), said


# --- the published text form ----------------------------------------------------------------------


def marks_of(style: str, count: int) -> str:
    """The marks of ``count`` options, one character each.

    Raises:
        IndexError: if there are more options than marks: 26 letters, 9 numbers.
    """
    letters = _LETTERS["upper" if style == "random" else style]
    if count > len(letters):
        raise IndexError(f"{count} options are too many for {style} marks: at most {len(letters)}")
    return letters[:count]


def style_of(marks: str) -> str:
    """The style of marks; ``upper`` if there are none."""
    return next((style for style, all_ in _LETTERS.items() if marks[:1] == all_[0]), "upper")


def marked(options: Sequence[str], style: str) -> list[str]:
    """The options, each after its mark: ``(A) a dog``."""
    marks = marks_of(style, len(options))
    return [f"({mark}) {option}" for mark, option in zip(marks, options, strict=True)]


def question_with_options(question: str, options: Sequence[str], style: str) -> str:
    """A question followed by its options."""
    shown = "; ".join(marked(options, style))
    return f"{question} Options: {shown}{'.' if options else ''}"


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


# --- dialogues with online history ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dialogue(Document):
    """One duplicate of a dialogue: its first round, and all rounds.

    Attributes:
        rounds: JSON; the documents of the rounds with gold history.
    """

    rounds: str


def dialogues_of(documents: Iterable[Document]) -> Iterator[Dialogue]:
    """The dialogues of documents with gold history, given in the order of their samples."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    first = 0
    for each in documents:
        first = each.sample if each.round == 0 else first
        found.setdefault((first, each.duplicate), []).append(asdict(each))
    for members in found.values():
        yield Dialogue(**members[0], rounds=json.dumps(members))


def rounds_of(doc: Doc) -> list[dict[str, Any]]:
    """The documents of a dialogue's rounds, as in the task with gold history."""
    found: list[dict[str, Any]] = json.loads(doc["rounds"])
    return found
