"""The questions of ReForm-Eval: each sample of a set, presented several times in other forms."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from lmms_rpts.base.schema import Number, Several, Text, Whole
from lmms_rpts.grading.grader import Grade, grade
from lmms_rpts.runs.record import unset
from lmms_rpts.scoring.question import Asked, ShownQuestion
from lmms_rpts.tasks.reform_eval.data import ImagePlace, Sample, rng_of
from lmms_rpts.tasks.reform_eval.instructions import Instructions
from lmms_rpts.tasks.reform_eval.sets import DataSet, Kind, Method, ReformSettings, data_sets

PREFIX = "The answer is"
"""Beginning of an answer to a question with options."""
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
    options: Several[Text] = Field(description="options as they are shown; may be empty")
    order: Several[Whole] = Field(description="for each option, its index in the data")
    marks: Text = Field(description="marks of the options; empty if they are not shown")
    right: Whole | None = Field(description="index of the right option; null for free answers")
    answers: Several[Text] = Field(description="accepted free answers; reference captions")
    round: Whole | None = Field(description="round of a dialogue, from 0; null for other sets")
    history: Several[Several[Text]] = Field((), description="earlier turns: question and answer")
    image: ImagePlace = Field(ImagePlace(), description="place of its text in the set's file")
    boxes: Several[Several[Number]] = Field((), description="boxes, as in the data")
    rounds: Several[ReformQuestion] = unset((), "of a dialogue with online history: its rounds")

    @property
    def key(self) -> tuple[str, int]:
        """Task and sample: duplicates count as answers to one question."""
        return (self.task, self.sample)

    @property
    def dimension(self) -> str | None:
        """The dimension of its set; None for an unknown set."""
        found = data_sets().get(self.set)
        return None if found is None else found.dimension

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        known = data_sets().get(self.set)
        details = {"set": known.title if known else self.set, "method": self.method}
        details |= {"wording": str(self.duplicate + 1)}
        details |= {} if self.round is None else {"round": str(self.round)}
        return ShownQuestion(
            text=f"{self.instruct}\n{self.question}".strip(),
            options=self.options,
            marks=self.marks,
            right=self.right,
            gold=self.answers,
            details=details,
        )

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

    def marked_option(self, index: int | None) -> str | None:
        """An option with its mark, if it has one; None for no index."""
        text = self.option(index)
        if index is None or text is None:
            return None if index is None else f"option {index + 1}, which was not offered"
        return f"({self.marks[index]}) {text}" if index < len(self.marks) else text

    def chosen_option(self, response: str) -> tuple[int | None, Grade]:
        """The index of the option that a response chooses, and its grade if the first were right.

        The index is None if it is unclear, or if none is chosen, which is incorrect.
        """
        marks = self.marks
        found = grade(response, marks[:1], kind="choice", options=self.options, marks=marks)
        decided = found.outcome != "undecided" and found.answer in tuple(marks)
        return (marks.index(str(found.answer)) if decided else None), found


def dialogues_of(questions: Iterable[ReformQuestion]) -> Iterator[ReformQuestion]:
    """The dialogues of questions in the order of their samples: their first rounds with all."""
    found: dict[tuple[int, int], list[ReformQuestion]] = {}
    first = 0
    for each in questions:
        first = each.sample if each.round == 0 else first
        found.setdefault((first, each.duplicate), []).append(each)
    for rounds in found.values():
        yield rounds[0].model_copy(update={"rounds": tuple(rounds)})


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

    def questions(self, samples: Sequence[Sample]) -> Iterator[ReformQuestion]:
        """The questions about samples; the duplicates of a sample are adjacent."""
        for at, sample in enumerate(samples[: self.settings.limit]):
            for duplicate in range(self.settings.duplicates_of(self.chosen)):
                yield self._question(sample, at, duplicate)

    def _question(self, sample: Sample, at: int, duplicate: int) -> ReformQuestion:
        order = self._order(sample, at, duplicate)
        options = tuple(sample.options[each] for each in order)
        style: str = self.settings.marks
        if style == "random":
            rng = rng_of(self.settings.seed, self.chosen.name, at, duplicate, "marks")
            style = rng.choice(list(MARKS))
        instruct, question = self.asked(sample, at, duplicate)
        shown = self.shows_options
        return ReformQuestion(
            id=str(sample.id),
            sample=at,
            duplicate=duplicate,
            set=self.chosen.name,
            kind=self.chosen.kind,
            method=self.method,
            instruct=instruct,
            question=question_with_options(question, options, style) if shown else question,
            options=options,
            order=tuple(order),
            marks=marks_of(style, len(options)) if shown else "",
            right=None if sample.right is None else order.index(sample.right),
            answers=sample.answers,
            round=sample.round,
            history=tuple(self.history(sample, style)),
            image=sample.image,
            boxes=sample.boxes,
        )

    def _order(self, sample: Sample, at: int, duplicate: int) -> list[int]:
        """For each position, the option that is shown there; duplicate 0 keeps the data's order.

        Over N duplicates of N options, the right option has each position equally often; the others
        are shuffled each time.
        """
        count, right = len(sample.options), sample.right
        fixed = self.settings.order == "fixed" or not self.shows_options or duplicate == 0
        if fixed or right is None:
            return list(range(count))
        drawn = (self.settings.seed, self.chosen.name, at)
        others = [each for each in range(count) if each != right]
        places = list(others)
        rng_of(*drawn, "places").shuffle(places)
        rng_of(*drawn, duplicate, "order").shuffle(others)
        place = [right, *places][duplicate % count]
        return [*others[:place], right, *others[place:]]

    def asked(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """Instruction and question; if the data have no question, "" and the instruction."""
        which = duplicate if self.settings.wording == "varied" else at
        published = self.instructions.source == "published"
        of_data = sample.instructions if published else ()
        listed = of_data or self.instructions.of(self.chosen, self.method)
        instruction = listed[which % len(listed)]
        if self.chosen.variant == "winoground":  # all samples share a question
            if self.method == "generation":
                return instruction, "Which description matches this image?"
            return instruction, "Please generate a sentence to describe this image."
        if not sample.question:
            return "", instruction.replace("{}", sample.filling)
        if published and self.chosen.variant == "claim" and self.method == "likelihood":
            instruction += " Please answer supported, refuted or not enough information."
        return instruction, sample.question[which % len(sample.question)]

    def history(self, sample: Sample, style: str) -> Iterator[tuple[str, str]]:
        """The solved example and the past rounds of a dialogue: questions with their answers."""
        example = self.instructions.wording(self.chosen).in_context
        if self.settings.in_context and example:
            yield from self.solved_example(*example, style)
        for past in sample.history:
            question, right = past.question[0], past.right or 0
            if self.shows_options:
                shown = question_with_options(question, past.options, style)
                yield shown, f"{PREFIX} {marked(past.options, style)[right]}"
            else:
                yield question, past.options[right]

    def solved_example(self, asked: str, answered: str, style: str) -> Iterator[tuple[str, str]]:
        """The solved example in the style of the options, before questions with options only."""
        marks = dict(zip(string.ascii_uppercase, MARKS[style], strict=False))

        def in_style(text: str) -> str:
            return _MARK.sub(lambda found: f"({marks.get(found[1], found[1])})", text)

        if self.shows_options:
            yield in_style(asked), f"{PREFIX} {in_style(answered)}"
