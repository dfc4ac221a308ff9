"""The published data of ReForm-Eval: the samples of a set, and the errors in them.

The layouts are those of github.com/FudanDISC/ReForm-Eval (commit df1cfa7), one JSON file per set.
They are not read with ``datasets``, which silently confuses some layouts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lmms_rpts.errors import UserError
from lmms_rpts.rows import read_objects
from lmms_rpts.schema import FieldError, shown, wrong
from lmms_rpts.tasks.reform_eval.images import Box, ImageIndex, ImagePlace, cut_to
from lmms_rpts.tasks.reform_eval.sets import DataSet
from lmms_rpts.tasks.source_fields import is_encodable
from lmms_rpts.tasks.variants import rng_of

T = TypeVar("T")

HUB_FOLDER = "huggingface_data"
_PLACES = (f"ReForm-Eval-Data/{HUB_FOLDER}", HUB_FOLDER, "")

MOST_OPTIONS = 26
"""Maximum number of options: there are 26 letters to mark them."""

DISTRACTORS = 3
"""Number of wrong options that are drawn for a sample if the data have none."""


def root_of(path: Path) -> Path:
    """The folder that contains the sets: REFORM_PATH itself, or one or two levels below it."""
    return next(path / place for place in _PLACES if place == "" or (path / place).is_dir())


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a dialogue with its options, and the index of the right one."""

    question: str
    options: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a data set.

    Attributes:
        id: id in the data, or the index.
        question: phrasings of the question; empty if the instruction is the question.
        filling: text to insert for ``{}`` in the instruction; None if there is no ``{}``.
        options: options in the file's order; empty for free answers.
        right: index of the right option; None for free answers.
        answers: accepted free answers, or reference captions.
        boxes: boxes in pixels, in the format of the file.
        given: further fields of the published sample.
        round, history: for dialogues, the round, from 0, and the rounds before it.
        instructions: instructions in the data, if any.
    """

    id: str | int
    image: ImagePlace
    question: tuple[str, ...] = ()
    filling: str | None = None
    options: tuple[str, ...] = ()
    right: int | None = None
    answers: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    round: int | None = None
    history: tuple[Turn, ...] = ()
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Samples:
    """The valid samples of a file, and the faults of the others."""

    samples: tuple[Sample, ...]
    faults: tuple[str, ...]


def files_of(chosen: DataSet) -> tuple[str, ...]:
    """The files of a set below ``huggingface_data``; the one with the images is first."""
    if chosen.layout == "tdiuc":
        choices = f"TDIUC/choice_list/{chosen.variant}.json"
        return (chosen.file, "TDIUC/TDIUC_val_anns.json", choices)
    if chosen.layout == "counting":
        return (chosen.file, "MSCOCO/objectCounting_answer_list/answer_list.json")
    return (chosen.file,)


def read_samples(chosen: DataSet, folder: Path, seed: int = 0) -> Samples:
    """Read the samples of a data set.

    Args:
        chosen: the data set.
        folder: ``huggingface_data``.
        seed: seed for drawing wrong options.
    """
    paths = [folder / name for name in files_of(chosen)]
    read = _READERS.get(chosen.layout, _read_named)
    samples: dict[str | int, Sample] = {}
    faults: list[str] = []
    try:
        rows = _rows(chosen, [[dict(row.fields) for row in read_objects(path)] for path in paths])
        images = ImageIndex(paths[0])
    except (UserError, OSError, FieldError) as fault:
        return Samples((), (str(fault),))
    for at, (place, row) in enumerate(rows):
        try:
            for sample in read(_Row(Fields.of(row, place), at, chosen, seed, images)):
                if sample.id in samples:
                    raise FieldError(f"{place}: the id {sample.id!r} occurs more than once")
                samples[sample.id] = sample
        except FieldError as fault:
            faults.append(f"{chosen.file}: {fault}")
    if not rows:
        faults.append(f"{chosen.file}: contains no record")
    found = list(samples.values())
    if chosen.layout == "tdiuc":  # not earlier: images are found fastest in file order
        found.sort(key=lambda sample: str(sample.id).zfill(20))
    return Samples(tuple(found), tuple(faults))


_Rows = list[tuple[str, Any]]
"""Records, each with its place for messages."""

_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}


def _rows(chosen: DataSet, contents: Sequence[list[dict[str, Any]]]) -> _Rows:
    """The records of a set's files, with the values that they share."""
    rows = _listed(contents[0])
    if chosen.layout == "classification":
        return rows
    if chosen.layout in ("counting", "tdiuc"):
        names = files_of(chosen)
        choices = _head(contents[-1], names[-1]).get("choice", as_texts)
        rows = rows if chosen.layout == "counting" else list(_tdiuc_rows(chosen, rows, contents[1]))
        return _with(rows, choices=list(dict.fromkeys(choices)))
    head = _head(contents[0], chosen.file)
    wanted = {"version": chosen.version, "split": chosen.split, "dataset_name": chosen.dataset_name}
    for name, value in wanted.items():
        if value:
            head.get(name, partial(_require, value))
    if chosen.variant == "snli_ve":
        head.get("gt_info", partial(_require, _ENTAILMENT))
    if chosen.layout == "dialogue":  # its records refer to texts by number
        data = Fields.of(head.get("data", _same), f"{chosen.file}, 'data'")
        texts = {name: data.get(name, as_texts) for name in ("questions", "answers")}
        return _with(data.get("dialogs", _listed), **texts)
    rows = head.get("data", _listed)
    if chosen.family == "spatial":  # CLEVR's file contains its instructions
        return _with(rows, instructs=head.get("instructs", as_texts)[:5])
    return rows


def _head(rows: Sequence[Any], file: str) -> Fields:
    """The single object of a file."""
    if len(rows) != 1:
        raise FieldError(f"{file} should contain one object, not {len(rows)} rows")
    return Fields(rows[0], file)


def _same(value: Any) -> Any:
    return value


def _require(wanted: Any, value: Any) -> None:
    if value != wanted and str(value) != wanted:
        raise wrong(f"{wanted!r} (these are other data, or another version)", value)


def _listed(rows: Any) -> _Rows:
    if not isinstance(rows, list):
        raise FieldError(f"should be a list of records, not {type(rows).__name__}")
    return [(f"record {at}", row) for at, row in enumerate(rows)]


def _with(rows: _Rows, **shared: Any) -> _Rows:
    return [(place, {**row, **shared} if isinstance(row, dict) else row) for place, row in rows]


def _tdiuc_rows(chosen: DataSet, questions: _Rows, answers: Any) -> Iterator[tuple[str, Any]]:
    """Questions of one type, joined with their answers by ``question_id``."""
    by_id: dict[Any, Fields] = {}
    for place, row in _listed(answers):
        found = Fields(row, f"TDIUC_val_anns.json, {place}")
        by_id[found.get("question_id", as_id)] = found
    for place, row in questions:
        name = Fields(row, f"{chosen.file}, {place}").get("question_id", as_id)
        if name not in by_id:
            raise FieldError(f"{chosen.file}, {place}: TDIUC_val_anns.json lacks the id {name!r}")
        if by_id[name].get("question_type", _same) == chosen.variant:
            yield place, {**row, "answers": by_id[name].get("answers", _same)}


# --- the fields of a record ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a JSON object, each checked when it is read; ``place`` names it in messages."""

    value: Mapping[str, Any]
    place: str

    @classmethod
    def of(cls, value: object, place: str) -> Fields:
        """The fields of a value, which should be an object."""
        if not isinstance(value, dict):
            raise FieldError(f"{place} should be an object, not {shown(value)}")
        return cls(value, place)

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def get(self, names: str, check: Callable[[Any], T]) -> T:
        """A required field, checked; ``image|img`` is the first of these that is present.

        Raises:
            FieldError: with the place and the field.
        """
        name = next((each for each in names.split("|") if each in self), names.partition("|")[0])
        if name not in self.value:
            raise FieldError(f"{self.place}: the field {name!r} is missing")
        try:
            return check(self.value[name])
        except FieldError as error:
            raise FieldError(f"{self.place}: {name!r} {error}") from None


def as_text(value: object) -> str:
    """A string, possibly empty; a number is converted to a string."""
    if isinstance(value, str) and is_encodable(value):
        return value
    if type(value) in (int, float) and abs(value) < 1e18:  # type: ignore[arg-type]
        return json.dumps(value)
    raise wrong("a string", value)


def as_texts(value: object) -> tuple[str, ...]:
    """One or several strings."""
    try:
        found = tuple(map(as_text, value if isinstance(value, list) else [value]))
    except FieldError:
        found = ()
    if not found:
        raise wrong("a string or a list of strings", value)
    return found


def as_id(value: object) -> str | int:
    """The id of a record."""
    if type(value) not in (str, int) or not is_encodable(str(value)):
        raise wrong("a string or a whole number", value)
    return value  # type: ignore[return-value]


def as_options(value: object) -> tuple[str, ...]:
    """Options to choose from."""
    if not isinstance(value, list) or len(value) < 2:
        raise wrong("a list of at least two options", value)
    if len(value) > MOST_OPTIONS:
        raise FieldError(f"has {len(value)} options; at most {MOST_OPTIONS} can be marked")
    return as_texts(value)


def as_index(count: int) -> Callable[[object], int]:
    """The check of an index below ``count``; the data may have it as a string."""

    def check(value: object) -> int:
        whole = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9
        found = int(value) if whole else value  # type: ignore[call-overload]
        if type(found) is not int or not 0 <= found < count:
            raise wrong(f"a whole number from 0 to {count - 1}", value)
        return found

    return check


def _as_boxes(value: object) -> tuple[Box, ...]:
    """Boxes of four numbers each; the data may have a single box."""
    several = isinstance(value, list) and value and isinstance(value[0], list)
    boxes: list[Box] = []
    for row in value if several else [value]:  # type: ignore[attr-defined]
        # abs: False for NaN
        sound = isinstance(row, list) and all(
            type(each) in (int, float) and abs(each) < 1e6 for each in row
        )
        if not sound or len(row) != 4:
            raise wrong("four numbers, or a list of such", value)
        boxes.append((float(row[0]), float(row[1]), float(row[2]), float(row[3])))
    return tuple(boxes)


# --- one record ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A record: its fields, and its index in the data set."""

    fields: Fields
    at: int
    chosen: DataSet
    seed: int
    images: ImageIndex

    def image(self, names: str) -> ImagePlace:
        """The location of the image."""
        return self.fields.get(names, self._image)

    def _image(self, value: object) -> ImagePlace:
        if not isinstance(value, str) or not value or not value.isascii():
            raise wrong("an image as base64 text", value)
        try:
            return self.images.place(value)
        except (ValueError, OSError) as error:
            fault = str(error).partition("\n")[0]
            raise FieldError(f"has an image that cannot be read: {fault}") from None

    def draw(self, right: str, name: str) -> tuple[str, ...]:
        """Wrong options, drawn from all answers of the set, followed by the right option.

        ``name``: name of the sample; the draw depends on it.
        """
        others = [each for each in self.fields.value["choices"] if each != right]
        rng = rng_of(self.seed, self.chosen.name, name, "distractors")
        return (*rng.sample(others, min(DISTRACTORS, len(others))), right)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a layout's fields; empty: it has none, or for the id, the index is the id.

    ``right`` is the index of the right option, in the layout ``vqa`` its text.
    """

    id: str = ""
    image: str
    question: str = ""
    options: str = ""
    right: str = ""
    answers: str = ""
    boxes: str = ""


_BY_ID = partial(_Names, id="question_id", image="image")
_VQA = partial(_Names, image="image_id", options="answer_options", right="answer")
_MATCHING = partial(_Names, image="img", right="gt")
_NAMES: Mapping[tuple[str, str], _Names] = {
    ("classification", ""): _Names(
        id="id", image="image", question="question", options="options", right="answer"
    ),
    ("vqa", ""): _VQA(id="question_id", question="question"),
    ("vqa", "winoground"): _VQA(id="question_id"),
    ("vqa", "claim"): _VQA(id="instance_id"),
    ("vqa", "explanation"): _VQA(
        id="question_id", question="question", options="rationale_options", right="rationale"
    ),
    ("open_vqa", ""): _BY_ID(image="image_id", question="question", answers="answer"),
    ("matching", ""): _MATCHING(options="options"),
    ("matching", "its"): _MATCHING(options="anno"),
    ("matching", "refcoco"): _MATCHING(id="id", options="options", boxes="region"),
    ("caption", ""): _Names(image="img", answers="annos"),
    ("detection", ""): _BY_ID(
        image="image|img",
        question="questions|question",
        options="answer_options",
        right="answer",
        boxes="bbox",
    ),
    ("ocr", ""): _BY_ID(question="question", answers="answer_txt", boxes="bbox"),
}
"""The names of the fields by layout and variant."""

_OPTIONS = {"itm": ("no", "yes"), "snli_ve": ("yes", "not sure", "no")}
_CLAIM = "What is the truthfulness of this claim? Claim: {} Text Evidence: {}"


def _read_named(row: _Row) -> Iterator[Sample]:
    """Read a record by the names of its layout's fields."""
    fields, chosen = row.fields, row.chosen
    names = _NAMES.get((chosen.layout, chosen.variant)) or _NAMES[chosen.layout, ""]
    options: tuple[str, ...] = _OPTIONS.get(chosen.variant, ())
    right = None
    if names.options or options:
        options = options or fields.get(names.options, as_options)
        by_text = chosen.layout == "vqa"
        right = fields.get(names.right, _place_in(options) if by_text else as_index(len(options)))
    if chosen.name == "vsr":
        options = tuple(each if each.endswith(".") else f"{each}." for each in options)
    image = row.image(names.image)
    boxes: tuple[Box, ...] = ()
    given: dict[str, Any] = {}
    if names.boxes and (names.boxes in fields or chosen.boxes):
        boxes, given = fields.get(names.boxes, _as_boxes), {"bbox": fields.value[names.boxes]}
        if chosen.boxes == "crop" and not cut_to(boxes[0], image.size):
            across, down = image.size
            wanted = f"inside the image of {across} x {down} pixels"
            raise FieldError(f"{fields.place}: {names.boxes!r} {wrong(wanted, given['bbox'])}")
    question = fields.get(names.question, as_texts) if names.question else ()
    question, filling, more = _in_context(fields, question, chosen.variant)
    yield Sample(
        fields.get(names.id, as_id) if names.id else row.at,
        image,
        question,
        filling=filling,
        options=options,
        right=right,
        answers=fields.get(names.answers, as_texts) if names.answers else (),
        boxes=boxes,
        given=given | more,
        instructions=fields.value["instructs"] if chosen.family == "spatial" else (),
    )


def _place_in(options: Sequence[str]) -> Callable[[object], int]:
    def check(value: object) -> int:
        text = as_text(value)
        if text not in options:
            raise wrong("one of the options", value)
        return options.index(text)

    return check


def _in_context(
    fields: Fields, asked: tuple[str, ...], variant: str
) -> tuple[tuple[str, ...], str | None, dict[str, Any]]:
    """A question with its context, the instruction's filling, and further published fields."""
    if variant == "claim":
        parts = (fields.get(name, as_text).strip() for name in ("claim", "text_evidence"))
        return (_CLAIM.format(*parts),), None, {}
    if variant in ("context", "rationale"):
        text = fields.get(variant, as_text)
        said = text.strip() if variant == "context" else text
        return (f"{asked[0]} {variant.capitalize()}: {said}",), None, {variant: text}
    if variant == "explanation":
        given = {name: fields.get(name, _same) for name in ("rationale", "rationale_options")}
        return (f"{asked[0]} Answer: {fields.get('answer', as_text)}",), None, given
    if variant in _OPTIONS:
        text = fields.get("anno", as_text)
        return asked, text, {"anno": text} if variant == "itm" else {}
    if variant == "wikihow":
        text = fields.get("method", as_text)
        return asked, text, {"task": text, "title": fields.get("title", as_text)}
    return asked, None, {}


def _read_tdiuc(row: _Row) -> Iterator[Sample]:
    place, (answer, *_) = row.fields.place, row.fields.get("answers", _filled)
    right = Fields.of(answer, f"{place}, 'answers'[0]").get("answer", as_text)
    name = str(row.fields.get("question_id", as_id))
    options = ("yes", "no") if right in ("yes", "no") else row.draw(right, name)
    image, question = row.image("image_id"), row.fields.get("question", as_text)
    yield Sample(name, image, (question,), options=options, right=options.index(right))


def _filled(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise wrong("a list of answers", value)
    return value


def _read_counting(row: _Row) -> Iterator[Sample]:
    name = str(row.at + 1)
    options = row.draw(row.fields.get("Answer", as_text), name)
    image, question = row.image("Image_ID"), row.fields.get("Question", as_text)
    yield Sample(name, image, (question,), options=options, right=len(options) - 1)


def _read_dialogue(row: _Row) -> Iterator[Sample]:
    """One sample per round, with the rounds before it."""
    fields = row.fields
    image, name = row.image("image_base64"), fields.get("image_id", as_id)
    questions, answers = fields.value["questions"], fields.value["answers"]  # checked already
    history: tuple[Turn, ...] = ()
    for number, (_, value) in enumerate(fields.get("dialog", _listed)):
        turn = Fields.of(value, f"{fields.place}, round {number}")
        offered = turn.get("answer_options", partial(_indices, len(answers)))
        here = Turn(
            questions[turn.get("question", as_index(len(questions)))],
            tuple(answers[each] for each in offered),
            turn.get("answer", partial(_among, offered)),
        )
        yield Sample(
            f"{name}_{number}",
            image,
            (here.question,),
            options=here.options,
            right=here.right,
            round=number,
            history=history,
        )
        history = (*history, here)


def _indices(count: int, value: Any) -> list[int]:
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_OPTIONS:
        raise wrong(f"a list of 2 to {MOST_OPTIONS} numbers", value)
    return list(map(as_index(count), value))


def _among(offered: list[int], value: Any) -> int:
    if value not in offered:
        raise wrong("one of the options", value)
    return offered.index(value)


_READERS: Mapping[str, Callable[[_Row], Iterator[Sample]]] = {
    "tdiuc": _read_tdiuc,
    "counting": _read_counting,
    "dialogue": _read_dialogue,
}
"""The functions that read a record of the layouts that names of fields don't describe."""
