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
from typing import Any

from lmms_rpts.errors import UserError
from lmms_rpts.rows import parse_json, read_objects
from lmms_rpts.schema import FieldError, shown
from lmms_rpts.tasks.reform_eval.images import Box, ImageIndex, ImagePlace, cut_to
from lmms_rpts.tasks.reform_eval.sets import DataSet
from lmms_rpts.tasks.source_fields import is_encodable
from lmms_rpts.tasks.variants import rng_of

HUB_FOLDER = "huggingface_data"
_PLACES = (f"ReForm-Eval-Data/{HUB_FOLDER}", HUB_FOLDER, "")

MOST_ROUNDS = 100
"""Maximum number of rounds in a dialogue: each prompt contains all earlier rounds."""

MOST_OPTIONS = 26
"""Maximum number of options: there are 26 letters to mark them."""

DISTRACTORS = 3
"""Number of wrong options that are drawn for a sample if the data have none."""


def is_folder(path: Path) -> bool:
    """Whether the folder exists; False if the path is too long for the file system."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def root_of(path: Path) -> Path:
    """The folder that contains the sets: REFORM_PATH itself, or one or two levels below it."""
    return next(path / place for place in _PLACES if place == "" or is_folder(path / place))


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
        rows = _rows(chosen, [_content(path) for path in paths])
        images = ImageIndex(paths[0])
    except (UserError, OSError, ValueError) as fault:
        return Samples((), (str(fault),))
    for at, (place, row) in enumerate(rows):
        try:
            for sample in read(_Row(Fields(row, place, images), at, chosen, seed)):
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


def _content(path: Path) -> Any:
    """The JSON value of a file; for JSON lines, the list of their values."""
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise FieldError(f"{path.name} is not UTF-8 text") from None
    except ValueError as error:
        if "Extra data" in str(error):
            return [row.fields for row in read_objects(path)]
        raise FieldError(f"{path.name} {error}") from None


_Rows = list[tuple[str, Any]]
"""Records, each with its place for messages."""

_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}


def _rows(chosen: DataSet, contents: Sequence[Any]) -> _Rows:
    """The records of a set's files, with the values that they share."""
    content = contents[0]
    if chosen.layout == "classification":
        return _listed(content, chosen.file)
    if chosen.layout == "counting":
        choices = _choices(contents[1], files_of(chosen)[-1])
        return _with(_listed(content, chosen.file), choices=choices)
    if chosen.layout == "tdiuc":
        return list(_tdiuc_rows(chosen, contents))
    head = Fields(content, chosen.file)
    wanted = {"version": chosen.version, "split": chosen.split, "dataset_name": chosen.dataset_name}
    for name, value in wanted.items():
        if value and str(head.any(name)) != value:
            raise head.wrong(name, f"{value!r} (these are other data, or another version)")
    if chosen.variant == "snli_ve" and head.any("gt_info") != _ENTAILMENT:
        raise head.wrong("gt_info", str(_ENTAILMENT))
    place = f"{chosen.file}, 'data'"
    if chosen.layout == "dialogue":  # its records refer to texts by number
        data = Fields(head.any("data"), place)
        texts = {name: data.texts(name) for name in ("questions", "answers")}
        return _with(_listed(data.any("dialogs"), f"{chosen.file}, 'dialogs'"), **texts)
    rows = _listed(head.any("data"), place)
    if chosen.family == "spatial":  # CLEVR's file contains its instructions
        return _with(rows, instructs=head.texts("instructs")[:5])
    return rows


def _listed(rows: Any, place: str) -> _Rows:
    if not isinstance(rows, list):
        raise FieldError(f"{place} should be a list of records, not {type(rows).__name__}")
    return [(f"record {at}", row) for at, row in enumerate(rows)]


def _with(rows: _Rows, **shared: Any) -> _Rows:
    return [(place, {**row, **shared} if isinstance(row, dict) else row) for place, row in rows]


def _tdiuc_rows(chosen: DataSet, contents: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Questions of one type, joined with their answers by ``question_id``."""
    questions, answers = contents[:2]
    choices = _choices(contents[2], files_of(chosen)[-1])
    by_id: dict[Any, Fields] = {}
    for place, row in _listed(answers, "TDIUC_val_anns.json"):
        found = Fields(row, f"TDIUC_val_anns.json, {place}")
        by_id[found.id("question_id")] = found
    for place, row in _listed(questions, chosen.file):
        asked = Fields(row, f"{chosen.file}, {place}")
        answer = by_id.get(asked.id("question_id"))
        if answer is None:
            raise asked.wrong("question_id", "an id in TDIUC_val_anns.json")
        if answer.any("question_type") == chosen.variant:
            yield place, {**row, "answers": answer.any("answers"), "choices": choices}


def _choices(content: Any, place: str) -> list[str]:
    """All different answers of a set."""
    return list(dict.fromkeys(Fields(content, place).texts("choice")))


# --- the fields of a record ----------------------------------------------------------------------


class Fields:
    """The fields of a JSON object; each is checked when it is read.

    All methods raise FieldError with the place and the field. A name such as ``image|img`` stands
    for the first of several fields that is present.

    Args:
        value: the object.
        place: name of the object in messages.
        images: images of the file; None if it has none.
    """

    def __init__(self, value: Any, place: str, images: ImageIndex | None = None) -> None:
        if not isinstance(value, dict):
            raise FieldError(f"{place} should be an object, not {shown(value)}")
        self.value: dict[str, Any] = value
        self.place = place
        self._images = images

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def wrong(self, name: str, wanted: str) -> FieldError:
        """The error for a field that is not as expected."""
        value = shown(self.value.get(name))
        return FieldError(f"{self.place}: {name!r} should be {wanted}, not {value}")

    def any(self, name: str) -> Any:
        """The value of a required field."""
        if name not in self.value:
            raise FieldError(f"{self.place}: the field {name!r} is missing")
        return self.value[name]

    def text(self, name: str) -> str:
        """A string, possibly empty; a number is converted to a string."""
        text = _as_text(self.any(name))
        if text is None:
            raise self.wrong(name, "a string")
        return text

    def texts(self, names: str) -> tuple[str, ...]:
        """One or several strings."""
        name = self._present(names)
        value = self.any(name)
        values = value if isinstance(value, list) else [value]
        texts = [text for each in values if (text := _as_text(each)) is not None]
        if not texts or len(texts) < len(values):
            raise self.wrong(name, "a string or a list of strings")
        return tuple(texts)

    def id(self, name: str) -> str | int:
        """The id of a record."""
        value = self.any(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or _as_text(value) is None:
            raise self.wrong(name, "a string or a whole number")
        return value

    def options(self, name: str) -> tuple[str, ...]:
        """Options to choose from."""
        found = self.texts(name)
        if not isinstance(self.any(name), list) or len(found) < 2:
            raise self.wrong(name, "a list of at least two options")
        if len(found) > MOST_OPTIONS:
            count = len(found)
            raise FieldError(f"{self.place}: {count} options; at most {MOST_OPTIONS} can be marked")
        return found

    def index(self, name: str, count: int) -> int:
        """An index below ``count``; the data may have it as a string."""
        return self._index(self.any(name), name, count)

    def indices(self, name: str, count: int) -> list[int]:
        """The indices of at least two options."""
        values = self.any(name)
        if not isinstance(values, list) or not 2 <= len(values) <= MOST_OPTIONS:
            raise self.wrong(name, f"a list of 2 to {MOST_OPTIONS} numbers")
        return [self._index(each, name, count) for each in values]

    def _index(self, value: Any, name: str, count: int) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9:
            value = int(value)
        if type(value) is not int or not 0 <= value < count:
            raise self.wrong(name, f"a whole number from 0 to {count - 1}")
        return value

    def boxes(self, name: str) -> tuple[Box, ...]:
        """Boxes of four numbers each; the data may have a single box."""
        value = self.any(name)
        several = isinstance(value, list) and value and isinstance(value[0], list)
        rows = value if several else [value]
        boxes = [tuple(map(float, row)) for row in rows if _is_box(row)]
        if len(boxes) < len(rows):
            raise self.wrong(name, "four numbers, or a list of such")
        return tuple((a, b, c, d) for a, b, c, d in boxes)

    def image(self, names: str) -> ImagePlace:
        """The location of the image."""
        name = self._present(names)
        value = self.any(name)
        if not isinstance(value, str) or not value or not value.isascii():
            raise self.wrong(name, "an image as base64 text")
        assert self._images is not None, "the file has no images"
        try:
            return self._images.place(value)
        except (ValueError, OSError) as error:
            fault = str(error).partition("\n")[0]
            raise FieldError(f"{self.place}: cannot read the image in {name!r}: {fault}") from None

    def _present(self, names: str) -> str:
        listed = names.split("|")
        return next((each for each in listed if each in self), listed[0])


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value if is_encodable(value) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number and abs(value) < 1e18 else None  # type: ignore[arg-type]


def _is_box(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 4
        and all(
            isinstance(each, int | float)
            and not isinstance(each, bool)
            and abs(each) < 1e6  # False for NaN
            for each in value
        )
    )


# --- one record ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A record: its fields, and its index in the data set."""

    fields: Fields
    at: int
    chosen: DataSet
    seed: int

    def draw(self, right: str, name: str) -> tuple[str, ...]:
        """Wrong options, drawn from all answers of the set, followed by the right option.

        ``name``: name of the sample; the draw depends on it.
        """
        wrong = [each for each in self.fields.value["choices"] if each != right]
        rng = rng_of(self.seed, self.chosen.name, name, "distractors")
        return (*rng.sample(wrong, min(DISTRACTORS, len(wrong))), right)


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
        options = options or fields.options(names.options)
        if chosen.layout != "vqa":
            right = fields.index(names.right, len(options))
        elif (text := fields.text(names.right)) in options:
            right = options.index(text)
        else:
            raise fields.wrong(names.right, "one of the options")
    if chosen.name == "vsr":
        options = tuple(each if each.endswith(".") else f"{each}." for each in options)
    image = fields.image(names.image)
    question = fields.texts(names.question) if names.question else ()
    boxes: tuple[Box, ...] = ()
    given, filling = {}, None
    if names.boxes and (names.boxes in fields or chosen.boxes):
        boxes = fields.boxes(names.boxes)
        given = {"bbox": fields.any(names.boxes)}
        if chosen.boxes == "crop" and not cut_to(boxes[0], image.size):
            across, down = image.size
            raise fields.wrong(names.boxes, f"inside the image of {across} x {down} pixels")
    if chosen.layout == "vqa":
        question, more = _in_context(fields, question, chosen.variant)
        given |= more
    elif chosen.layout == "matching":
        filling, more = _filling(fields, chosen.variant)
        given |= more
    yield Sample(
        fields.id(names.id) if names.id else row.at,
        image,
        question,
        filling=filling,
        options=options,
        right=right,
        answers=fields.texts(names.answers) if names.answers else (),
        boxes=boxes,
        given=given,
        instructions=fields.value["instructs"] if chosen.family == "spatial" else (),
    )


def _in_context(
    fields: Fields, asked: tuple[str, ...], variant: str
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """A question with its context, and further fields of the published sample."""
    if variant == "claim":
        claim, evidence = fields.text("claim").strip(), fields.text("text_evidence").strip()
        return (_CLAIM.format(claim, evidence),), {}
    question = asked[0] if asked else ""
    if variant == "context":
        context = fields.text("context")
        return (f"{question} Context: {context.strip()}",), {"context": context}
    if variant == "rationale":
        rationale = fields.text("rationale")
        return (f"{question} Rationale: {rationale}",), {"rationale": rationale}
    if variant == "explanation":
        given = {name: fields.any(name) for name in ("rationale", "rationale_options")}
        return (f"{question} Answer: {fields.text('answer')}",), given
    return asked, {}


def _filling(fields: Fields, variant: str) -> tuple[str | None, dict[str, Any]]:
    """The text that the instruction is about, and further fields of the published sample."""
    if variant in _OPTIONS:
        text = fields.text("anno")
        return text, {"anno": text} if variant == "itm" else {}
    if variant == "wikihow":
        text = fields.text("method")
        return text, {"task": text, "title": fields.text("title")}
    return None, {}


def _read_tdiuc(row: _Row) -> Iterator[Sample]:
    answers = row.fields.any("answers")
    if not isinstance(answers, list) or not answers:
        raise row.fields.wrong("answers", "a list of answers")
    right = Fields(answers[0], f"{row.fields.place}, 'answers'[0]").text("answer")
    name = str(row.fields.id("question_id"))
    options = ("yes", "no") if right in ("yes", "no") else row.draw(right, name)
    image, question = row.fields.image("image_id"), row.fields.text("question")
    yield Sample(name, image, (question,), options=options, right=options.index(right))


def _read_counting(row: _Row) -> Iterator[Sample]:
    name = str(row.at + 1)
    options = row.draw(row.fields.text("Answer"), name)
    image, question = row.fields.image("Image_ID"), row.fields.text("Question")
    yield Sample(name, image, (question,), options=options, right=len(options) - 1)


def _read_dialogue(row: _Row) -> Iterator[Sample]:
    """One sample per round, with the rounds before it."""
    fields = row.fields
    image, name = fields.image("image_base64"), fields.id("image_id")
    questions, answers = fields.value["questions"], fields.value["answers"]  # checked already
    history: tuple[Turn, ...] = ()
    rounds = _listed(fields.any("dialog"), f"{fields.place}, 'dialog'")
    if len(rounds) > MOST_ROUNDS:
        count = len(rounds)
        raise FieldError(f"{fields.place}: {count} rounds; at most {MOST_ROUNDS} are supported")
    for number, (_, value) in enumerate(rounds):
        turn = Fields(value, f"{fields.place}, round {number}")
        question = questions[turn.index("question", len(questions))]
        options = turn.indices("answer_options", len(answers))
        right = turn.index("answer", len(answers))
        if right not in options:
            raise turn.wrong("answer", "one of the options")
        here = Turn(question, tuple(answers[each] for each in options), options.index(right))
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
