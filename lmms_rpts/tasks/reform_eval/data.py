"""The published data of ReForm-Eval: the samples of a set, and the errors in them.

The layouts are those of github.com/FudanDISC/ReForm-Eval (commit df1cfa7), one JSON file per set.
They are not read with ``datasets``, which silently confuses some layouts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from lmms_rpts.errors import UserError
from lmms_rpts.fields import (
    Fields,
    Reader,
    RowError,
    any_list,
    list_of,
    mapping,
    objects,
    step_number,
    text,
    whole,
)
from lmms_rpts.rows import read_objects
from lmms_rpts.schema import shown
from lmms_rpts.tasks.reform_eval.images import Box, ImageIndex, ImagePlace, cut_to
from lmms_rpts.tasks.reform_eval.sets import DataSet

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
    names = files_of(chosen)
    read = _READERS.get(chosen.layout, _read_named)
    samples: dict[str | int, Sample] = {}
    faults: list[str] = []
    try:
        contents = [[dict(row.fields) for row in read_objects(folder / name)] for name in names]
        rows, shared = _rows(chosen, contents)
        images = ImageIndex(folder / names[0])
    except (UserError, OSError) as fault:
        return Samples((), (str(fault),))
    except RowError as fault:
        return Samples((), (f"{chosen.file}: {fault}",))
    for at, row in enumerate(rows):
        try:
            fields = Fields(mapping(row, "record"))
            for sample in read(_Row(fields, at, chosen, seed, images, shared)):
                if sample.id in samples:
                    raise RowError(str(sample.id), "is also the id of another record")
                samples[sample.id] = sample
        except RowError as fault:
            faults.append(f"{chosen.file}: record {at}: {fault}")
    if not rows:
        faults.append(f"{chosen.file}: contains no record")
    found = list(samples.values())
    if chosen.layout == "tdiuc":  # not earlier: images are found fastest in file order
        found.sort(key=lambda sample: str(sample.id).zfill(20))
    return Samples(tuple(found), tuple(faults))


_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}


def _rows(
    chosen: DataSet, contents: Sequence[Sequence[Any]]
) -> tuple[Sequence[Any], Mapping[str, tuple[str, ...]]]:
    """The records of a set's files, and the lists of texts that they share."""
    rows = contents[0]
    if chosen.layout == "classification":
        return rows, {}
    if chosen.layout in ("counting", "tdiuc"):
        offered = _head(contents[-1]).read("choice", spoken_list)
        if chosen.layout == "tdiuc":
            rows = list(_tdiuc_rows(chosen, rows, contents[1]))
        return rows, {"choices": tuple(dict.fromkeys(offered))}
    head = _head(rows)
    wanted = {"version": chosen.version, "split": chosen.split, "dataset_name": chosen.dataset_name}
    for name, value in wanted.items():
        if value:
            head.read(name, _exactly(value))
    if chosen.variant == "snli_ve":
        head.read("gt_info", _exactly(_ENTAILMENT))
    if chosen.layout == "dialogue":  # its records refer to texts by number
        texts = {name: head.read(f"data.{name}", spoken_list) for name in ("questions", "answers")}
        return head.read("data.dialogs", any_list), texts
    rows = head.read("data", any_list)
    if chosen.family == "spatial":  # CLEVR's file contains its instructions
        return rows, {"instructs": head.read("instructs", spoken_list)[:5]}
    return rows, {}


def _head(rows: Sequence[Any]) -> Fields:
    if len(rows) != 1:
        raise RowError("file", f"should contain one object, not {len(rows)} rows")
    return Fields(rows[0])


def _exactly(wanted: Any) -> Reader[None]:
    def read(value: Any, field: str) -> None:
        if value != wanted and str(value) != wanted:
            found = f"not {shown(value)} (these are other data, or another version)"
            raise RowError(field, f"should be {wanted!r}, {found}")

    return read


def _tdiuc_rows(
    chosen: DataSet, questions: Sequence[Any], answers: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Questions of one type, joined with their answers by ``question_id``."""
    by_id = {Fields(row).read("question_id", record_id): Fields(row) for row in answers}
    for row in questions:
        name = Fields(row).read("question_id", record_id)
        if name not in by_id:
            raise RowError("question_id", f"{name!r} is not in TDIUC_val_anns.json")
        if by_id[name].read("question_type", text) == chosen.variant:
            yield {**row, "answers": by_id[name].value.get("answers")}


# --- fields --------------------------------------------------------------------------------------


def spoken(value: Any, field: str) -> str:
    """A string, possibly empty; a number is converted to a string."""
    if type(value) in (int, float) and abs(value) < 1e18:  # False for NaN
        return json.dumps(value)
    return text(value, field)


def spoken_list(value: Any, field: str) -> tuple[str, ...]:
    """One or several strings."""
    return list_of(spoken)(value if isinstance(value, list) else [value], field)


def record_id(value: Any, field: str) -> str | int:
    """The id of a record."""
    return value if type(value) is int else text(value, field)


def choices(value: Any, field: str) -> tuple[str, ...]:
    """Options to choose from."""
    if not 2 <= len(any_list(value, field)) <= MOST_OPTIONS:
        raise RowError(field, f"has {len(value)} options: 2 to {MOST_OPTIONS} can be marked")
    return list_of(spoken)(value, field)


def index_below(count: int) -> Reader[int]:
    """An index below ``count``."""
    return lambda value, field: step_number(
        whole(value, field), count, field, base=0, things="options"
    )


def among(options: Sequence[Any]) -> Reader[int]:
    """The index of one of these texts or numbers."""

    def read(value: Any, field: str) -> int:
        said = spoken(value, field) if options and isinstance(options[0], str) else value
        if said not in options:
            raise RowError(field, f"should be one of the options, not {shown(value)}")
        return options.index(said)

    return read


def _boxes(value: Any, field: str) -> tuple[Box, ...]:
    """Boxes of four numbers each; the data may have a single box."""
    rows = any_list(value, field)
    boxes: list[Box] = []
    for row in rows if rows and isinstance(rows[0], list) else [rows]:
        sound = isinstance(row, list) and len(row) == 4
        if not sound or not all(type(each) in (int, float) and abs(each) < 1e6 for each in row):
            raise RowError(field, f"should be four numbers, or a list of such, not {shown(value)}")
        boxes.append((float(row[0]), float(row[1]), float(row[2]), float(row[3])))
    return tuple(boxes)


# --- one record ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A record: its fields, its index in the data set, and the texts that records share."""

    fields: Fields
    at: int
    chosen: DataSet
    seed: int
    images: ImageIndex
    shared: Mapping[str, tuple[str, ...]]

    def image(self, names: str) -> ImagePlace:
        """The location of the image; for ``names``, see ``_Names``."""
        return self.fields.read(_present(names, self.fields), self._image)

    def _image(self, value: Any, field: str) -> ImagePlace:
        if not isinstance(value, str) or not value.isascii():
            raise RowError(field, f"should be an image as base64 text, not {shown(value)}")
        try:
            return self.images.place(value)
        except (ValueError, OSError) as error:
            fault = str(error).partition("\n")[0]
            raise RowError(field, f"has an image that cannot be read: {fault}") from None

    def draw(self, right: str, name: str) -> tuple[str, ...]:
        """Wrong options, drawn from all answers of the set, followed by the right option.

        ``name``: name of the sample; the draw depends on it.
        """
        others = [each for each in self.shared["choices"] if each != right]
        rng = rng_of(self.seed, self.chosen.name, name, "distractors")
        return (*rng.sample(others, min(DISTRACTORS, len(others))), right)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a layout's fields; empty: it has none, or for the id, the index is the id.

    ``image|img`` is the first of these that is present.

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
        options = options or fields.read(names.options, choices)
        by_text = chosen.layout == "vqa"
        right = fields.read(names.right, among(options) if by_text else index_below(len(options)))
    if chosen.name == "vsr":
        options = tuple(each if each.endswith(".") else f"{each}." for each in options)
    image = row.image(names.image)
    boxes: tuple[Box, ...] = ()
    given: dict[str, Any] = {}
    if names.boxes and (names.boxes in fields or chosen.boxes):
        boxes, given = fields.read(names.boxes, _boxes), {"bbox": fields.value[names.boxes]}
        if chosen.boxes == "crop" and not cut_to(boxes[0], image.size):
            across, down = image.size
            wanted = f"inside the image of {across} x {down} pixels"
            raise RowError(names.boxes, f"should be {wanted}, not {shown(given['bbox'])}")
    asked = _present(names.question, fields)
    question = fields.read(asked, spoken_list) if asked else ()
    question, filling, more = _in_context(fields, question, chosen.variant)
    yield Sample(
        fields.read(names.id, record_id) if names.id else row.at,
        image,
        question,
        filling=filling,
        options=options,
        right=right,
        answers=fields.read(names.answers, spoken_list) if names.answers else (),
        boxes=boxes,
        given=given | more,
        instructions=row.shared["instructs"] if chosen.family == "spatial" else (),
    )


def _present(names: str, fields: Fields) -> str:
    listed = names.split("|")
    return next((each for each in listed if each in fields), listed[0])


def _in_context(
    fields: Fields, asked: tuple[str, ...], variant: str
) -> tuple[tuple[str, ...], str | None, dict[str, Any]]:
    """A question with its context, the instruction's filling, and further published fields."""
    if variant == "claim":
        parts = (fields.read(name, spoken).strip() for name in ("claim", "text_evidence"))
        return (_CLAIM.format(*parts),), None, {}
    if variant in ("context", "rationale"):
        added = fields.read(variant, spoken)
        said = added.strip() if variant == "context" else added
        return (f"{asked[0]} {variant.capitalize()}: {said}",), None, {variant: added}
    if variant == "explanation":
        given = {name: fields.value.get(name) for name in ("rationale", "rationale_options")}
        return (f"{asked[0]} Answer: {fields.read('answer', spoken)}",), None, given
    if variant in _OPTIONS:
        said = fields.read("anno", spoken)
        return asked, said, {"anno": said} if variant == "itm" else {}
    if variant == "wikihow":
        said = fields.read("method", spoken)
        return asked, said, {"task": said, "title": fields.read("title", spoken)}
    return asked, None, {}


def _read_tdiuc(row: _Row) -> Iterator[Sample]:
    right = row.fields.read("answers", objects)[0].read("answer", spoken)
    name = str(row.fields.read("question_id", record_id))
    options = ("yes", "no") if right in ("yes", "no") else row.draw(right, name)
    image, question = row.image("image_id"), row.fields.read("question", spoken)
    yield Sample(name, image, (question,), options=options, right=options.index(right))


def _read_counting(row: _Row) -> Iterator[Sample]:
    name = str(row.at + 1)
    options = row.draw(row.fields.read("Answer", spoken), name)
    image, question = row.image("Image_ID"), row.fields.read("Question", spoken)
    yield Sample(name, image, (question,), options=options, right=len(options) - 1)


def _read_dialogue(row: _Row) -> Iterator[Sample]:
    """One sample per round, with the rounds before it."""
    image, name = row.image("image_base64"), row.fields.read("image_id", record_id)
    questions, answers = row.shared["questions"], row.shared["answers"]
    history: tuple[Turn, ...] = ()
    for number, turn in enumerate(row.fields.read("dialog", objects)):
        offered = turn.read("answer_options", list_of(index_below(len(answers))))
        here = Turn(
            questions[turn.read("question", index_below(len(questions)))],
            choices([answers[each] for each in offered], "answer_options"),
            turn.read("answer", among(offered)),
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


_READERS: Mapping[str, Callable[[_Row], Iterator[Sample]]] = {
    "tdiuc": _read_tdiuc,
    "counting": _read_counting,
    "dialogue": _read_dialogue,
}
"""The functions that read a record of the layouts that names of fields don't describe."""


# --- seeded draws: the same in every process, whatever the order of documents --------------------


def rng_of(seed: int, *names: object) -> random.Random:
    """A random number generator for the given seed and names."""
    text = "|".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(sha256(text.encode()).digest()[:8], "big"))


def balanced_order(options: int, right: int, variant: int, seed: int, *names: object) -> list[int]:
    """An order of options for one variant of a document.

    Variant 0 keeps the given order. Over N variants of N options, or a multiple of N, the right
    option has each position equally often; the others are shuffled each time.

    Args:
        options: number of options, at least one.
        right: the position of the right option in the given order.
        variant: number of the variant, from 0.
        seed, names: what the draws depend on.

    Returns:
        For each position, the number of its option.
    """
    if variant == 0:
        return list(range(options))
    places = [each for each in range(options) if each != right]
    rng_of(seed, *names, "places").shuffle(places)
    others = [each for each in range(options) if each != right]
    rng_of(seed, *names, variant, "order").shuffle(others)
    place = [right, *places][variant % options]
    return [*others[:place], right, *others[place:]]
