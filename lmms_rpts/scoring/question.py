"""The question that a response answers: what those of all benchmarks share, and that of RPTS."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
)
from typing_extensions import Self

from lmms_rpts.base.escaping import count, storable
from lmms_rpts.base.schema import Flag, Model, Several, Share, Text, Whole, all_faults, shown
from lmms_rpts.judging.images import DEFAULT_LONGEST, ImageError, JudgeImage
from lmms_rpts.reasoning import parse_chain
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import unset

# --- questions of all benchmarks -----------------------------------------------------------------


def as_text(value: object) -> str:
    """Any value of a document, as text for a record; None is empty."""
    try:
        return "" if value is None else str(value)
    except (ValueError, RecursionError):  # an integer of 5000 digits; lists a thousand deep
        return f"this {type(value).__name__}"


def _own_id(value: object) -> str | int | float | None:
    """The id of a document as it is stored in a record, for ids of any type."""
    if isinstance(value, int | float):
        return value if abs(value) < 2**63 else shown(value)  # NaN is not
    return None if value is None else storable(as_text(value))


OwnId = Annotated[Any, PlainValidator(_own_id)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuestion:
    """A question as tables and reports show it.

    Attributes:
        text: the question; empty: the record does not contain it, so it is read from the samples.
        options: the options, if the text does not list them.
        marks: the marks of the options, one for each; empty: none were shown.
        right: the position of the right option; None if there is none.
        gold: the gold answers, if no option is one; empty: they are read from the samples.
        language: code of the language, for the page.
        images: file names of the images.
        details: further facts, by name, such as the rubric.
    """

    text: str = ""
    options: Sequence[str] = ()
    marks: Sequence[str] = ()
    right: int | None = None
    gold: Sequence[str] = ()
    language: str = ""
    images: Sequence[str] = ()
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def right_answer(self) -> str:
        """The right option, else the gold answers as one text."""
        return " | ".join(self.gold) if self.right is None else self.options[self.right]


class Asked(Model):
    """The question: a document of a task, with ``task`` and ``doc_id`` from the samples.

    Subclasses add the fields of the document, without its images.
    """

    # In files and documents a field may have another name than here.
    model_config = ConfigDict(populate_by_name=True)

    task: Text = Field(default="", exclude=True)
    doc_id: Whole = Field(default=0, exclude=True)
    _document: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, doc: Mapping[str, Any], /, **known: Any) -> Self:
        """The question as far as a record can hold it: odd documents must not lose paid replies.

        Args:
            doc: the document: its fields are texts, numbers or lists of these.
            known: values that are not read from the document.
        """
        given = {}
        for name, info in cls.model_fields.items():
            key = info.alias or name
            if name not in known and not info.exclude and (key in doc or info.is_required()):
                given[name] = doc.get(key)
        try:
            asked = cls.model_validate({**given, **known}, by_name=True)
        except ValidationError as error:
            odd = {str(fault["loc"][0]) for fault in error.errors()} & given.keys()
            read = {name: _recorded(given[name], cls.model_fields[name].annotation) for name in odd}
            asked = cls.model_validate({**given, **read, **known}, by_name=True)
        asked._document = doc
        return asked

    @property
    def document(self) -> Mapping[str, Any]:
        """The document that the question was made of; empty if it was read from a record."""
        return self._document

    @property
    def key(self) -> tuple[str, int]:
        """Task and number in the data of the document that the answer is to."""
        return (self.task, self.doc_id)

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        return ShownQuestion()

    @property
    def image_files(self) -> Sequence[str]:
        """The file names of its images."""
        return self.shown.images

    @property
    def gold(self) -> str:
        """The gold answers, or the right option, as one text."""
        return self.shown.right_answer

    def asked(self, kind: str, answer: str, thinking: str) -> tuple[str, dict[str, Any]]:
        """The language and the fields of a request of this kind about a response.

        Args:
            kind: the kind of the request, of those that its benchmark declares.
            answer: the response without its thinking.
            thinking: the thinking; may be empty.
        """
        raise LookupError(kind)

    @property
    def cluster(self) -> tuple[str, str]:
        """What documents that are not independent share, such as a document and its translation."""
        return (self.task, str(self.key[1]))


def _recorded(value: Any, annotation: Any) -> Any:
    """What a field of this type can hold of an odd value: its text or texts, else nothing."""
    texts = [as_text(part) for part in value] if isinstance(value, list | tuple) else ()
    adapter = TypeAdapter[Any](annotation)
    for candidate in (as_text(value), texts, (), None, 0, *get_args(annotation)):
        with suppress(ValidationError):
            return adapter.validate_python(candidate)
    return value


# --- questions whose reasoning RPTS scores -------------------------------------------------------

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


def cluster_of(task: str, own_id: str) -> tuple[str, str]:
    """Key that a document shares with its translation: both have the same images and answer."""
    return (_VARIANT.sub("", task), own_id)


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

    own_id: OwnId = Field(None, alias="id", description="id of the document in the data")
    language: Language = Field(description="language of the document")
    ability: Several[Text] = Field((), description="abilities that the document tests")
    relation: Text | None = Field(
        None,
        description="guided, adversarial or independent; null if the data do not give it (the "
        "release of RPTS-Eval does not)",
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


def field_faults(doc: Mapping[str, Any]) -> list[str]:
    """Errors in the fields that RPTS needs, each in one sentence without its full stop."""
    needed = [name for name, field in Question.model_fields.items() if field.is_required()]
    fields = {name: doc[name] for name in needed if name in doc}
    try:
        Question.model_validate(fields | {"answer": ""} if "answer" in doc else fields)
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
