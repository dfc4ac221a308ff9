"""The published data of ReForm-Eval: the samples of a set, the errors in them, and their images.

The layouts are those of github.com/FudanDISC/ReForm-Eval (commit df1cfa7), one JSON file per set.
They are not read with ``datasets``, which silently confuses some layouts.
"""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import read_objects
from lmms_rpts.base.schema import shown
from lmms_rpts.tasks.fields import (
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
from lmms_rpts.tasks.images import FORMATS, as_rgb
from lmms_rpts.tasks.reform_eval.sets import DataSet, rows_of

# Maximum number of options: there are 26 letters to mark them.
_MOST_OPTIONS = 26
# Number of wrong options that are drawn for a sample if the data have none.
_DISTRACTORS = 3


def rng_of(seed: int, *names: object) -> random.Random:
    """A random number generator for the given seed and names, the same in every process."""
    text = "|".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(sha256(text.encode()).digest()[:8], "big"))


# --- images --------------------------------------------------------------------------------------

Box = tuple[float, ...]
"""Four numbers, in pixels, in the format of the file."""
_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))


class ImagePlace(NamedTuple):
    """Location of the base64 text of an image in the file of a set: first byte, and their number.

    A length of 0: unknown.
    """

    start: int = 0
    length: int = 0


@lru_cache(maxsize=4)
def image_of(path: Path, place: ImagePlace, how: str, boxes: tuple[Box, ...]) -> Image.Image:
    """The image of a sample, as shown to the model; cached for the duplicates that follow.

    ``path`` is the file of its set, whose ``DataSet.boxes`` are ``how``.
    """
    with path.open("rb") as file:
        file.seek(place.start)
        return with_boxes(as_rgb(_open(file.read(place.length))), how, boxes)


def _open(written: bytes) -> Image.Image:
    content = base64.b64decode(written.replace(b"\\/", b"/"), validate=True)
    return Image.open(io.BytesIO(content), formats=FORMATS)


def with_boxes(image: Image.Image, how: str, boxes: Sequence[Box]) -> Image.Image:
    """An image with boxes drawn or cropped, as in the published code."""
    form, _, width = how.partition(" ")
    if not boxes or not how:
        return image
    if form == "crop":
        x, y, across, down = boxes[0]
        left, upper = max(0, int(x)), max(0, int(y))
        right, lower = min(image.width, int(x + across)), min(image.height, int(y + down))
        return image.crop((left, upper, max(left + 1, right), max(upper + 1, lower)))
    drawn = image.copy()
    draw = ImageDraw.Draw(drawn)
    for at, (x, y, third, fourth) in enumerate(boxes):
        across, down = (x + third, y + fourth) if form == "xywh" else (third, fourth)
        left, right = sorted((int(x), int(across)))
        upper, lower = sorted((int(y), int(down)))
        # The published code centres a box's line on its edge; Pillow draws it inside.
        half = int(width) // 2
        draw.rectangle(
            (left - half, upper - half, right + half, lower + half),
            outline=_COLOURS[at % len(_COLOURS)],
            width=int(width),
        )
    return drawn


# --- samples -------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """One sample of a data set, with what its layout has.

    ``id`` may be the index; ``question`` are phrasings (none: the instruction is the question),
    whose braces ``filling`` fills; ``right`` is the index of the right option in the order of the
    data; ``answers`` are accepted free answers, or reference captions. ``history`` are the rounds
    of a dialogue before this one.
    """

    id: str | int
    image: ImagePlace
    question: tuple[str, ...] = ()
    filling: str = ""
    options: tuple[str, ...] = ()
    right: int | None = None
    answers: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    round: int | None = None
    history: tuple[Sample, ...] = ()
    instructions: tuple[str, ...] = ()


def read_samples(
    chosen: DataSet, root: Path, seed: int = 0
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """The valid samples of a data set, and the faults of the others."""
    samples: dict[str | int, Sample] = {}
    faults: list[str] = []
    try:
        contents = [
            [dict(row.fields) for row in read_objects(root / each)] for each in chosen.files
        ]
        rows, shared = _rows(chosen, contents)
        file = _File(chosen, seed, shared, (root / chosen.file).read_bytes())
    except (UserError, OSError) as fault:
        return (), (str(fault),)
    except RowError as fault:
        return (), (f"{chosen.file}: {fault}",)
    read = file.dialogue if chosen.layout == "dialogue" else file.sample
    for at, row in enumerate(rows):
        try:
            for sample in read(Fields(mapping(row, "record")), at):
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
    return tuple(found), tuple(faults)


# --- whole files ---------------------------------------------------------------------------------


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
    for name in ("version", "split", "dataset_name"):
        wanted, found = getattr(chosen, name), head.value.get(name)
        if wanted and wanted != str(found):
            said = f"not {shown(found)} (these are other data, or another version)"
            raise RowError(name, f"should be {wanted!r}, {said}")
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


def _tdiuc_rows(
    chosen: DataSet, questions: Sequence[Any], answers: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Questions of one type, joined with their first answers by ``question_id``."""
    by_id = {Fields(row).read("question_id", record_id): Fields(row) for row in answers}
    for row in questions:
        name = Fields(row).read("question_id", record_id)
        if name not in by_id:
            raise RowError("question_id", f"{name!r} is not in TDIUC_val_anns.json")
        if by_id[name].read("question_type", text) == chosen.variant:
            answer = by_id[name].read("answers", objects)[0].value.get("answer")
            yield {**row, "question_id": str(name), "answer": answer}


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
    if not 2 <= len(any_list(value, field)) <= _MOST_OPTIONS:
        raise RowError(field, f"has {len(value)} options: 2 to {_MOST_OPTIONS} can be marked")
    return list_of(spoken)(value, field)


def index_below(count: int) -> Reader[int]:
    """An index below ``count``."""
    return lambda value, field: step_number(
        whole(value, field), count, field, base=0, things="options"
    )


def _among(options: Sequence[Any]) -> Reader[int]:
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
    boxes = rows if rows and isinstance(rows[0], list) else [rows]
    for box in boxes:
        sound = isinstance(box, list) and len(box) == 4
        if not sound or not all(type(each) in (int, float) and abs(each) < 1e6 for each in box):
            raise RowError(field, f"should be four numbers, or a list of such, not {shown(value)}")
    return tuple(tuple(map(float, box)) for box in boxes)


# --- records -------------------------------------------------------------------------------------

_OPTIONS = {"itm": ("no", "yes"), "snli_ve": ("yes", "not sure", "no")}
_YES_NO = ("yes", "no")
# Fields that are stripped when they become part of a question, as in the published code.
_STRIPPED = ("claim", "text_evidence", "context")


@cache
def _layouts() -> Mapping[tuple[str, str], Mapping[str, str]]:
    """The names of the fields by layout and variant (``layouts.csv``); without any: not in it.

    ``image|img`` is the first of these that is present; ``{question} Context: {context}`` is a text
    with fields in braces. Without an id, the index is the id. ``right`` is the index of the right
    option; in the layout ``vqa``, and where the wrong options are drawn, its text.
    """
    return {(row["layout"], row["variant"]): row for row in rows_of("layouts.csv")}


class _File:
    """The file of a set with its content, and the texts that its records share."""

    def __init__(
        self, chosen: DataSet, seed: int, shared: Mapping[str, tuple[str, ...]], content: bytes
    ) -> None:
        self.chosen, self.seed, self.shared, self.content = chosen, seed, shared, content
        self.end = 0  # of the image that was found last

    def sample(self, fields: Fields, at: int) -> Iterator[Sample]:
        """The sample of a record."""
        chosen, layouts = self.chosen, _layouts()
        names = layouts.get((chosen.layout, chosen.variant)) or layouts[chosen.layout, ""]
        own_id = fields.read(names["id"], record_id) if names["id"] else at
        if chosen.layout == "counting":
            own_id = str(at + 1)
        options, right = self._options(fields, names, own_id)
        yield Sample(
            own_id,
            fields.read(_present(names["image"], fields), self._image),
            _question(fields, names["question"]),
            filling=fields.read(names["filling"], spoken) if names["filling"] else "",
            options=options,
            right=right,
            answers=fields.read(names["answers"], spoken_list) if names["answers"] else (),
            boxes=fields.read(names["boxes"], _boxes) if chosen.boxes else (),
            instructions=self.shared.get("instructs", ()),
        )

    def _options(
        self, fields: Fields, names: Mapping[str, str], own_id: str | int
    ) -> tuple[tuple[str, ...], int | None]:
        """The options, of which wrong ones may be drawn, and the index of the right one."""
        chosen = self.chosen
        if "choices" in self.shared:
            answer = fields.read(names["right"], spoken)
            if answer in _YES_NO:
                return _YES_NO, _YES_NO.index(answer)
            others = [each for each in self.shared["choices"] if each != answer]
            rng = rng_of(self.seed, chosen.name, own_id, "distractors")
            drawn = rng.sample(others, min(_DISTRACTORS, len(others)))
            return (*drawn, answer), len(drawn)
        options = _OPTIONS.get(chosen.variant, ())
        if not names["options"] and not options:
            return (), None
        options = options or fields.read(names["options"], choices)
        by_text = chosen.layout == "vqa"
        reader = _among(options) if by_text else index_below(len(options))
        right = fields.read(names["right"], reader)
        if chosen.name == "vsr":
            options = tuple(each if each.endswith(".") else f"{each}." for each in options)
        return options, right

    def _image(self, value: Any, field: str) -> ImagePlace:
        """Where the base64 text of a record's image is; fastest in the order of the file."""
        if not isinstance(value, str) or not value.isascii():
            raise RowError(field, f"should be an image as base64 text, not {shown(value)}")
        try:
            _open(value.encode()).close()
        except (ValueError, OSError, Image.DecompressionBombError) as error:
            fault = str(error).partition(" <")[0]  # "cannot identify image file <_io.BytesIO ...>"
            raise RowError(field, f"has an image that cannot be read: {fault}") from None
        for written in (value, value.replace("/", "\\/")):
            sought = f'"{written}"'.encode()
            at = self.content.find(sought, self.end)
            at = at if at >= 0 else self.content.find(sought)
            if at >= 0:
                self.end = at + len(sought)
                return ImagePlace(at + 1, len(written))
        raise RowError(field, "has an image whose text is written with escapes")

    def dialogue(self, fields: Fields, at: int) -> Iterator[Sample]:
        """The samples of a dialogue: one per round, with the rounds before it."""
        image = fields.read("image_base64", self._image)
        own_id = fields.read("image_id", record_id)
        questions, answers = self.shared["questions"], self.shared["answers"]
        history: tuple[Sample, ...] = ()
        for number, turn in enumerate(fields.read("dialog", objects)):
            offered = turn.read("answer_options", list_of(index_below(len(answers))))
            question = questions[turn.read("question", index_below(len(questions)))]
            options = choices([answers[each] for each in offered], "answer_options")
            sample = Sample(
                f"{own_id}_{number}",
                image,
                (_sentence(question) + "?" * (not question.endswith("?")),),
                options=tuple(map(_sentence, options)),
                right=turn.read("answer", _among(offered)),
                round=number,
                history=history,
            )
            yield sample
            history = (*history, sample)


def _sentence(text: str) -> str:
    """A text with a capital letter, which dialogues lack."""
    return text[:1].upper() + text[1:]


def _question(fields: Fields, asked: str) -> tuple[str, ...]:
    """The phrasings of a question, by the name of its field or a text with fields in braces."""
    names = [name for _, name, *_ in Formatter().parse(asked) if name]
    if not names:
        return fields.read(_present(asked, fields), spoken_list) if asked else ()
    parts = {name: fields.read(name, spoken) for name in names}
    return (asked.format(**parts | {n: parts[n].strip() for n in _STRIPPED if n in parts}),)


def _present(names: str, fields: Fields) -> str:
    listed = names.split("|")
    return next((each for each in listed if each in fields), listed[0])
