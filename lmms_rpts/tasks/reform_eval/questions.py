"""The questions of ReForm-Eval: each sample of a set, presented several times in other forms."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from lmms_rpts.base.schema import Number, Several, Text, Whole
from lmms_rpts.grading.grader import Grade, grade
from lmms_rpts.runs.record import Asked, ShownQuestion, unset
from lmms_rpts.tasks.reform_eval.data import Sample, rng_of
from lmms_rpts.tasks.reform_eval.instructions import Instructions
from lmms_rpts.tasks.reform_eval.sets import DataSet, Kind, Method, ReformSettings, data_sets

# Beginning of an answer to a question with options.
PREFIX = "The answer is"
MARKS: Mapping[str, str] = {
    "upper": string.ascii_uppercase, "lower": string.ascii_lowercase, "number": string.digits[1:]
}  # fmt: skip
"""The marks of options by style."""
# A mark in a solved example: "Options: (A) yes; (B) no."
_MARK = re.compile(r"\(([A-Z])\)")


class ReformQuestion(Asked):
    """One duplicate of a sample: a document of a task, as prompts show it and records hold it."""

    id: Text = Field(description="id of the sample in the data")
    sample: Whole = Field(description="index of the sample in the data")
    duplicate: Whole = Field(description="number of the duplicate, from 0")
    set: Text = Field(description="name of the data set")
    kind: Kind = Field(description="kind of the set")
    method: Method = Field(description="how answers are obtained")
    instruct: Text = Field(description="the instruction; may be empty")
    question: Text = Field(description="the question, with its options if they are shown")
    options: Several[Text] = Field(
        description="options in the order in which they are shown; may be empty"
    )
    order: Several[Whole] = Field(description="for each option, its index in the data")
    marks: Text = Field(description="marks of the options; empty if they are not shown")
    right: Whole | None = Field(
        description="index of the right option as shown; null for free answers"
    )
    answers: Several[Text] = Field(description="accepted free answers; reference captions")
    round: Whole | None = Field(description="round of a dialogue, from 0; null for other sets")
    history: Several[Several[Text]] = Field(
        default=(),
        description="question and answer of earlier turns: the solved example, and past rounds with "
        "their right answers",
    )
    image_start: Whole = Field(
        default=0, description="first byte of the base64 text of the image in the file of the set"
    )
    image_length: Whole = Field(default=0, description="number of its bytes; 0: not known")
    boxes: Several[Several[Number]] = Field(
        default=(), description="boxes in the image, in the format of the file"
    )
    rounds: Several[ReformQuestion] = unset(
        (), "of a dialogue with online history: the questions of its rounds"
    )

    @property
    def key(self) -> tuple[str, int]:
        """Task and sample: duplicates count as answers to one question."""
        return (self.task, self.sample)

    @property
    def begins_answer(self) -> bool:
        """Whether the text form begins the answer."""
        return self.method == "generation" and self.kind != "caption"

    @property
    def style(self) -> str:
        """The style of its marks; ``upper`` if there are none."""
        return next((style for style, all_ in MARKS.items() if self.marks[:1] == all_[0]), "upper")

    def option(self, index: int | None) -> str | None:
        """The text of an option; None for no index, and beyond the last option."""
        return self.options[index] if index is not None and index < len(self.options) else None

    @property
    def gold(self) -> tuple[str, ...]:
        """The right option, or the accepted answers."""
        right = self.option(self.right)
        return self.answers if right is None else (right,)

    @property
    def gold_text(self) -> str:
        """The right option, or the accepted answers, as one text."""
        return "; ".join(self.gold)

    def marked_option(self, index: int | None) -> str | None:
        """An option with its mark; None for no index."""
        text = self.option(index)
        if index is None or text is None:
            return None if index is None else f"option {index + 1}, which was not offered"
        return f"({self.marks[index]}) {text}" if index < len(self.marks) else text

    @property
    def dimension(self) -> str | None:
        """The dimension of its set; None for an unknown set."""
        found = data_sets().get(self.set)
        return found and found.dimension

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        known = data_sets().get(self.set)
        details = {
            "set": known.title if known else self.set,
            "method": self.method,
            "wording": str(self.duplicate + 1),
            **({} if self.round is None else {"round": str(self.round)}),
        }
        return ShownQuestion(
            text="\n".join(filter(None, (self.instruct, self.question))),
            options=self.options,
            marks=self.marks,
            right=self.right,
            gold=self.answers,
            details=details,
        )

    def chosen_option(self, response: str) -> tuple[int | None, Grade]:
        """The index of the option that a response chooses, and its grade as if the first were right.

        The index is None if it is unclear, or if none is chosen, which is incorrect.
        """
        found = grade(
            response, self.marks[:1], kind="choice", options=self.options, marks=self.marks
        )
        decided = found.outcome != "undecided" and found.answer in tuple(self.marks)
        return (self.marks.index(str(found.answer)) if decided else None), found


def dialogues_of(questions: Iterable[ReformQuestion]) -> list[ReformQuestion]:
    """The dialogues whose rounds are these questions, given in the order of their samples.

    A dialogue has the fields of its first round, and ``rounds``.
    """
    found: dict[tuple[int, int], list[ReformQuestion]] = {}
    first = 0
    for each in questions:
        first = each.sample if each.round == 0 else first
        found.setdefault((first, each.duplicate), []).append(each)
    return [
        rounds[0].model_copy(update={"rounds": tuple(rounds)}) for rounds in found.values()
    ]


# --- options -------------------------------------------------------------------------------------


def marks_of(style: str, count: int) -> str:
    """The marks of ``count`` options, one character each; IndexError if they do not suffice."""
    letters = MARKS["upper" if style == "random" else style]
    if count > len(letters):
        raise IndexError(f"{count} options are too many for {style} marks: at most {len(letters)}")
    return letters[:count]


def marked(options: Sequence[str], style: str) -> list[str]:
    """The options, each after its mark: ``(A) a dog``."""
    marks = marks_of(style, len(options))
    return [f"({mark}) {option}" for mark, option in zip(marks, options, strict=True)]


def question_with_options(question: str, options: Sequence[str], style: str) -> str:
    """A question followed by its options."""
    shown = "; ".join(marked(options, style))
    return f"{question} Options: {shown}{'.' if options else ''}"


def balanced_order(options: int, right: int, variant: int, seed: int, *names: object) -> list[int]:
    """An order of options for one variant of a question: for each position, its option.

    Variant 0 keeps the given order. Over N variants of N options, or a multiple of N, the right
    option has each position equally often; the others are shuffled each time.

    Args:
        options: number of options, at least one.
        right: the position of the right option in the given order.
        variant: number of the variant, from 0.
        seed, names: what the draws depend on.
    """
    if variant == 0:
        return list(range(options))
    places = [each for each in range(options) if each != right]
    rng_of(seed, *names, "places").shuffle(places)
    others = [each for each in range(options) if each != right]
    rng_of(seed, *names, variant, "order").shuffle(others)
    place = [right, *places][variant % options]
    return [*others[:place], right, *others[place:]]


# --- samples in their forms ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """How the samples of one set are presented."""

    chosen: DataSet
    method: Method
    instructions: Instructions
    settings: ReformSettings

    @property
    def shows_options(self) -> bool:
        """Whether the options are part of the question."""
        return self.chosen.kind == "choice" and self.method == "generation"

    def unmarked(self, samples: Iterable[Sample]) -> Iterator[str]:
        """The faults of samples with more options than there are marks."""
        most = len(MARKS["number"])
        if self.shows_options and self.settings.marks in ("number", "random"):
            for each in samples:
                if len(each.options) > most:
                    yield (
                        f"{self.chosen.file}: sample {each.id!r} has {len(each.options)} options, "
                        f"but numbers can mark at most {most}, letters 26 (marks = "
                        f"{self.settings.marks})"
                    )

    def questions(self, samples: Sequence[Sample]) -> Iterator[ReformQuestion]:
        """The questions about samples; the duplicates of a sample are adjacent."""
        for at, sample in enumerate(samples[: self.settings.limit]):
            for duplicate in range(self.settings.duplicates_of(self.chosen)):
                yield self._question(sample, at, duplicate)

    def _question(self, sample: Sample, at: int, duplicate: int) -> ReformQuestion:
        order = self._order(sample, at, duplicate)
        shown = [self.sentence_case(sample.options[each]) for each in order]
        style: str = self.settings.marks
        if style == "random":
            rng = rng_of(self.settings.seed, self.chosen.name, at, duplicate, "marks")
            style = rng.choice(list(MARKS))
        instruct, question = self.asked(sample, at, duplicate)
        return ReformQuestion(
            set=self.chosen.name,
            kind=self.chosen.kind,
            method=self.method,
            id=str(sample.id),
            sample=at,
            duplicate=duplicate,
            instruct=instruct,
            question=question_with_options(question, shown, style)
            if self.shows_options
            else question,
            options=tuple(shown),
            order=tuple(order),
            marks=marks_of(style, len(shown)) if self.shows_options else "",
            right=None if sample.right is None else order.index(sample.right),
            answers=sample.answers,
            round=sample.round,
            history=tuple(self.history(sample, style)),
            image_start=sample.image.start,
            image_length=sample.image.length,
            boxes=sample.boxes,
        )

    def _order(self, sample: Sample, at: int, duplicate: int) -> list[int]:
        if sample.right is None:
            return []
        first = self.settings.order == "fixed" or not self.shows_options
        count, variant, seed = len(sample.options), 0 if first else duplicate, self.settings.seed
        return balanced_order(count, sample.right, variant, seed, self.chosen.name, at)

    def asked(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """Instruction and question; if the data have no question, "" and the instruction."""
        which = duplicate if self.settings.wording == "varied" else at
        published = self.instructions.source == "published"
        of_data = sample.instructions if published else ()
        wordings = of_data or self.instructions.of(self.chosen, self.method)
        instruction = wordings[which % len(wordings)]
        if self.chosen.variant == "winoground":  # all samples share a question
            if self.method == "generation":
                return instruction, "Which description matches this image?"
            return instruction, "Please generate a sentence to describe this image."
        if not sample.question:
            return "", instruction.replace("{}", sample.filling or "")
        if published and self.chosen.variant == "claim" and self.method == "likelihood":
            instruction += " Please answer supported, refuted or not enough information."
        return instruction, self._spoken(sample.question[which % len(sample.question)])

    def sentence_case(self, text: str) -> str:
        """A text with a capital letter, which dialogues lack."""
        return text[:1].upper() + text[1:] if self.chosen.layout == "dialogue" else text

    def _spoken(self, question: str) -> str:
        """A question in sentence case, with the question mark that dialogues lack."""
        lacking = self.chosen.layout == "dialogue" and not question.endswith("?")
        return f"{self.sentence_case(question)}{'?' * lacking}"

    def history(self, sample: Sample, style: str) -> Iterator[tuple[str, str]]:
        """The solved example and the past rounds of a dialogue: questions with their answers."""
        example = self.instructions.solved_example(self.chosen)
        if self.settings.in_context and example:
            yield from self.solved_example(*example, style)
        for turn in sample.history:
            question, right = self._spoken(turn.question), turn.right
            options = [self.sentence_case(each) for each in turn.options]
            if self.shows_options:
                shown = question_with_options(question, options, style)
                yield shown, f"{PREFIX} {marked(options, style)[right]}"
            else:
                yield question, options[right]

    def solved_example(self, asked: str, answered: str, style: str) -> Iterator[tuple[str, str]]:
        """The solved example, before questions with options only."""
        if self.shows_options:
            yield _in_style(asked, style), f"{PREFIX} {_in_style(answered, style)}"


def _in_style(text: str, style: str) -> str:
    """A solved example, with its marks (A), (B), ... replaced by those of another style."""
    marks = dict(zip(string.ascii_uppercase, MARKS[style], strict=False))
    return _MARK.sub(lambda found: f"({marks.get(found[1], found[1])})", text)
