"""The question that a response answers: its fields, checks and images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError

from lmms_rpts.base.escaping import count
from lmms_rpts.base.schema import Flag, Model, Several, Share, Text, all_faults, shown
from lmms_rpts.judging.images import DEFAULT_LONGEST, ImageError, JudgeImage
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import unset
from lmms_rpts.scoring.asked import Asked, OwnId, ShownQuestion

A = TypeVar("A", bound=Asked)

Stance = Literal["agree", "disagree"]
STANCES: tuple[Stance, ...] = get_args(Stance)

AnswerForm = Literal["agree", "choice", "number", "text", "anls", "relaxed", "mixed", "none"]
ANSWER_FORMS: tuple[AnswerForm, ...] = get_args(AnswerForm)

Gold = Annotated[
    Text | tuple[Text, ...],
    BeforeValidator(lambda it: it[0] if isinstance(it, list | tuple) and len(it) == 1 else it),
]
"""The right answer, or several of which one is enough."""

Relation = Literal["guided", "adversarial", "independent"]
"""How images and texts relate (Wang and Zhang, RPTS, arXiv 2511.06899)."""

_VARIANT = re.compile(r"_(?:en|zh|free)(?=_|$)")


@cache  # asked for each response and metric
def _family(task: str) -> str:
    return _VARIANT.sub("", task)


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """Key that a document shares with its translation: both have the same images and answer."""
    return (_family(task), own_id)


# --- images --------------------------------------------------------------------------------------


def judge_images(
    load: Callable[[], Sequence[Any]],
    count: int,
    longest: int = DEFAULT_LONGEST,
    language: str = "en",
) -> tuple[JudgeImage, ...]:
    """The images of a document by number; nothing is decoded until a judge needs an image.

    Args:
        load: returns all Pillow images of the document.
        count: their number.
        longest: maximum of the longer side, in pixels.
        language: language of the prompts, for the names of the images.
    """

    def image(number: int) -> Any:
        images = load()
        if number >= len(images):
            raise ImageError(f"the document has {len(images)} images")
        return images[number]

    name = "图片{}" if language == "zh" else "Image {}"
    return tuple(JudgeImage(name.format(at), partial(image, at), longest) for at in range(count))


# --- the question --------------------------------------------------------------------------------


class Question(Asked):
    """A question of RPTS-Eval, of own data or of any task, without its images."""

    own_id: OwnId = Field(alias="id", description="id of the document in the data")
    language: Language = Field(description="language of the document")
    ability: Several[Text] = Field(description="abilities that the document tests")
    relation: Text | None = Field(
        description="guided, adversarial or independent; null if the data do not give it (the "
        "release of RPTS-Eval does not)"
    )
    statement: Text = Field(description="the statement to agree or disagree with, or the question")
    context: Text = Field(description="the context: what steps may cite as such")
    textual_clue: Several[Text] = Field(description="the textual clues")
    visual_clue: Several[Text] = Field(description="the file names of the images")
    reasoning: Several[Text] = Field(description="the gold reasoning, one step per line")
    answer: Gold = Field(description="the gold answer, or a list of several right ones")
    options: Several[Text] = unset((), "the options; omitted if there are none")
    tolerance: Share = unset(0.0, "maximum relative error of a number; omitted if 0")
    form: Text = unset("", "type of the answer, of own data")
    background: Text = unset("", "the part of the context that the prompt shows, of own data")
    images_known: Flag = unset(
        True, "false if the images are not at hand, and their number is not known; omitted if true"
    )
    _images: tuple[JudgeImage, ...] | None = PrivateAttr(None)

    def with_images(
        self, load: Callable[[], Sequence[Any]], longest: int = DEFAULT_LONGEST
    ) -> Question:
        """This question with its Pillow images, which are loaded when a judge needs them."""
        self._images = judge_images(load, len(self.visual_clue), longest, self.language)
        return self

    @property
    def images(self) -> tuple[JudgeImage, ...] | None:
        """The images for judges with vision; None if they are not available."""
        return getattr(self.document, "images", None) if self._images is None else self._images

    @property
    def id(self) -> str:
        """The id in the data as text; else the document's number in the data."""
        if self.own_id is None:
            return str(self.key[1])
        return shown(self.own_id) if isinstance(self.own_id, float) else str(self.own_id)

    @property
    def gold(self) -> str:
        """The gold answers as one text."""
        return self.answer if isinstance(self.answer, str) else " | ".join(self.answer)

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        return ShownQuestion(
            text=self.statement,
            gold=tuple(filter(None, (self.gold,))),
            language=self.language,
            images=self.visual_clue,
        )

    @property
    def is_statement(self) -> bool:
        """Whether models were asked to agree or disagree, rather than asked a question."""
        return self.answer in STANCES

    @property
    def cluster(self) -> tuple[str, str]:
        """Key that the document shares with its translation."""
        return cluster_of(self.task, self.id)


# --- checks before a run -------------------------------------------------------------------------


class ReasoningDocument(Model):
    """The fields that RPTS needs; ``reasoning`` and the clues may be empty."""

    language: Language
    statement: Text
    context: Text
    reasoning: Several[Text]
    textual_clue: Several[Text]
    visual_clue: Several[Text]
    answer: Any
    ability: tuple[Text, ...] | None = None
    relation: Relation | None = None


def missing_fields(doc: Mapping[str, Any], kind: type[Model]) -> list[str]:
    """The fields that a document of this kind lacks."""
    needed = (name for name, field in kind.model_fields.items() if field.is_required())
    return [name for name in needed if name not in doc]


def field_faults(doc: Mapping[str, Any], kind: type[Model]) -> list[str]:
    """Errors in a document's fields, each in one sentence without its full stop."""
    try:
        kind.model_validate(dict(doc))
    except ValidationError as error:
        return all_faults(error)
    return []


def gold_faults(doc: Mapping[str, Any]) -> Iterator[str]:
    """Errors in the gold reasoning, as sentences without their full stops.

    If no gold step cites an image, any claim about the image scores 1, as published: a line that
    cannot be parsed would silently give away points.

    Args:
        doc: a document with lists of strings as ``reasoning`` and ``visual_clue``.
    """
    chain = parse_chain(list(doc["reasoning"]))
    for problem in chain.problems:
        yield f"cannot parse 'reasoning': {problem}; write Image0 + Text1 -> conclusion"
    images = len(doc["visual_clue"])
    for at, step in enumerate(chain.steps):
        for clue in step.premises:
            if clue.kind == "image" and clue.index is not None and clue.index >= images:
                yield (
                    f"'reasoning' cites Image{clue.index} in line {at}, but the document has "
                    f"{count(images, 'image')}, numbered from 0"
                )


def answer_faults(doc: Mapping[str, Any], form: AnswerForm) -> Iterator[str]:
    """Why the rules cannot grade answers to a document, as sentences without their full stops."""
    if form == "agree" and doc["answer"] not in STANCES:
        wanted = " or ".join(STANCES)
        yield (
            f"answer should be {wanted}, not {shown(doc['answer'])}; for other answers set answer "
            "of rpts_transform to choice, number, text or none, or grade to a function"
        )
    elif form != "agree" and form != "mixed" and form != "none":
        question = Question.of(doc)
        for fault in gold_answer_faults(question.answer, question.options, form):
            yield f"'answer' {fault}"


def gold_answer_faults(
    answer: str | Sequence[str], options: Sequence[str], form: AnswerForm
) -> Iterator[str]:
    """Why gold answers of a form cannot be graded, as clauses without their subject."""
    from lmms_rpts.grading.grader import gold_fault

    if form != "mixed" and form != "none":
        for each in [answer] if isinstance(answer, str) else answer:
            if fault := gold_fault(form, each, options):
                yield f"cannot be graded as a {form}: {fault}"


def form_of(answer: str | Sequence[str], options: Sequence[str]) -> AnswerForm:
    """The form of the gold answers of a row of a ``mixed`` file."""
    from lmms_rpts.grading.grader import infer_kind

    golds = [answer] if isinstance(answer, str) else answer
    kinds = {infer_kind(each, options) for each in golds}
    return kinds.pop() if len(kinds) == 1 else "text"
