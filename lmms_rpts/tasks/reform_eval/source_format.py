"""Source format of ReForm-Eval: the samples of a data set as published, and errors in them.

The layouts are those of github.com/FudanDISC/ReForm-Eval (commit df1cfa7), one JSON file per set.
They are not read with ``datasets``, which silently confuses some layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_rpts.schema import FieldError
from lmms_rpts.tasks.reform_eval.fields import Fields, ImageIndex, read_json
from lmms_rpts.tasks.reform_eval.images import cut_to
from lmms_rpts.tasks.reform_eval.sample import Sample, Samples, Turn
from lmms_rpts.tasks.reform_eval.sets import DataSet
from lmms_rpts.tasks.variants import rng_of

MOST_ROUNDS = 100
"""Maximum number of rounds in a dialogue: each prompt contains all earlier rounds."""

MOST_OPTIONS = 26
"""Maximum number of options: there are 26 letters to mark them."""

DISTRACTORS = 3
"""Number of wrong options that are drawn for a sample if the data have none."""

_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}
_CLAIM = "What is the truthfulness of this claim? Claim: {} Text Evidence: {}"


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
    rows_of, read = _LAYOUTS[chosen.layout]
    samples: dict[str | int, Sample] = {}
    faults: list[str] = []
    try:
        rows = rows_of(chosen, [read_json(path) for path in paths])
        images = ImageIndex(paths[0])
    except FieldError as fault:
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


# --- the records of a file -----------------------------------------------------------------------

_Rows = list[tuple[str, Any]]
"""Records, each with its place for messages."""


def _numbered(rows: Any, place: str) -> _Rows:
    if not isinstance(rows, list):
        raise FieldError(f"{place} should be a list of records, not {type(rows).__name__}")
    return [(f"record {at}", row) for at, row in enumerate(rows)]


def _with(rows: _Rows, **shared: Any) -> _Rows:
    """Add values shared by a whole file, and already checked, to its records."""
    return [(place, {**row, **shared} if isinstance(row, dict) else row) for place, row in rows]


def _plain_rows(chosen: DataSet, contents: Sequence[Any]) -> _Rows:
    return _numbered(contents[0], chosen.file)


def _object_rows(chosen: DataSet, contents: Sequence[Any]) -> _Rows:
    """The records of an object that states its data set and version."""
    head = Fields(contents[0], chosen.file)
    wanted = {"version": chosen.version, "split": chosen.split, "dataset_name": chosen.dataset_name}
    for name, value in wanted.items():
        if value and str(head.any(name)) != value:
            raise head.wrong(name, f"{value!r} (these are other data, or another version)")
    if chosen.variant == "snli_ve" and head.any("gt_info") != _ENTAILMENT:
        raise head.wrong("gt_info", str(_ENTAILMENT))
    if chosen.layout == "dialogue":
        return _dialogue_rows(chosen, head)
    rows = _numbered(head.any("data"), f"{chosen.file}, 'data'")
    if chosen.family == "spatial":  # CLEVR's file contains its instructions
        own = head.texts("instructs")[:5]
        return _with(rows, instructs=own)
    return rows


def _dialogue_rows(chosen: DataSet, head: Fields) -> _Rows:
    """Dialogues, each with the texts that its numbers refer to."""
    data = Fields(head.any("data"), f"{chosen.file}, 'data'")
    texts = {name: data.texts(name) for name in ("questions", "answers")}
    rows = _numbered(data.any("dialogs"), f"{chosen.file}, 'dialogs'")
    return _with(rows, **texts)


def _counting_rows(chosen: DataSet, contents: Sequence[Any]) -> _Rows:
    rows = _numbered(contents[0], chosen.file)
    return _with(rows, choices=_choices(chosen, contents[1]))


def _tdiuc_rows(chosen: DataSet, contents: Sequence[Any]) -> _Rows:
    """Questions of one type, joined with their answers by ``question_id``."""
    questions, answers = contents[:2]
    choices = _choices(chosen, contents[2])
    by_id: dict[Any, Fields] = {}
    for place, row in _numbered(answers, "TDIUC_val_anns.json"):
        found = Fields(row, f"TDIUC_val_anns.json, {place}")
        by_id[found.id("question_id")] = found
    rows = []
    for place, row in _numbered(questions, chosen.file):
        asked = Fields(row, f"{chosen.file}, {place}")
        answer = by_id.get(asked.id("question_id"))
        if answer is None:
            raise asked.wrong("question_id", "an id in TDIUC_val_anns.json")
        if answer.any("question_type") == chosen.variant:
            rows.append((place, {**row, "answers": answer.any("answers"), "choices": choices}))
    return rows


def _choices(chosen: DataSet, content: Any) -> list[str]:
    """All different answers of a set."""
    return list(dict.fromkeys(Fields(content, files_of(chosen)[-1]).texts("choice")))


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


def _read_classification(row: _Row) -> Iterator[Sample]:
    fields = row.fields
    options = fields.options("options", MOST_OPTIONS)
    yield Sample(
        fields.id("id"),
        fields.image("image"),
        (fields.text("question"),),
        options=options,
        right=fields.index("answer", len(options)),
    )


def _read_tdiuc(row: _Row) -> Iterator[Sample]:
    answers = row.fields.any("answers")
    if not isinstance(answers, list) or not answers:
        raise row.fields.wrong("answers", "a list of answers")
    right = Fields(answers[0], f"{row.fields.place}, 'answers'[0]").text("answer")
    name = str(row.fields.id("question_id"))
    options = ("yes", "no") if right in ("yes", "no") else row.draw(right, name)
    yield Sample(
        name,
        row.fields.image("image_id"),
        (row.fields.text("question"),),
        options=options,
        right=options.index(right),
    )


def _read_counting(row: _Row) -> Iterator[Sample]:
    options = row.draw(row.fields.text("Answer"), str(row.at + 1))
    yield Sample(
        str(row.at + 1),
        row.fields.image("Image_ID"),
        (row.fields.text("Question"),),
        options=options,
        right=len(options) - 1,
    )


def _read_vqa(row: _Row) -> Iterator[Sample]:
    """Read a question whose right option is given as text."""
    fields, variant = row.fields, row.chosen.variant
    is_explanation = variant == "explanation"
    options = fields.options(
        "rationale_options" if is_explanation else "answer_options", MOST_OPTIONS
    )
    answer = fields.text("rationale" if is_explanation else "answer")
    if answer not in options:
        raise fields.wrong("rationale" if is_explanation else "answer", "one of the options")
    question, given = _vqa_question(fields, variant)
    yield Sample(
        fields.id("instance_id" if variant == "claim" else "question_id"),
        fields.image("image_id"),
        (question,) if question is not None else (),
        options=options,
        right=options.index(answer),
        given=given,
    )


def _vqa_question(fields: Fields, variant: str) -> tuple[str | None, dict[str, Any]]:
    """The question with its context, and further fields of the published sample."""
    if variant == "winoground":
        return None, {}
    if variant == "claim":
        claim, evidence = fields.text("claim").strip(), fields.text("text_evidence").strip()
        return _CLAIM.format(claim, evidence), {}
    question = fields.text("question")
    if variant == "context":
        context = fields.text("context")
        return f"{question} Context: {context.strip()}", {"context": context}
    if variant == "rationale":
        rationale = fields.text("rationale")
        return f"{question} Rationale: {rationale}", {"rationale": rationale}
    if variant == "explanation":
        given = {name: fields.any(name) for name in ("rationale", "rationale_options")}
        return f"{question} Answer: {fields.text('answer')}", given
    return question, {}


def _read_open_vqa(row: _Row) -> Iterator[Sample]:
    fields = row.fields
    yield Sample(
        fields.id("question_id"),
        fields.image("image_id"),
        (fields.text("question"),),
        answers=fields.texts("answer"),
    )


_OPTIONS = {"itm": ("no", "yes"), "snli_ve": ("yes", "not sure", "no")}
_OPTIONS_IN = {"its": "anno", "medic": "options", "refcoco": "options", "wikihow": "options"}


def _read_matching(row: _Row) -> Iterator[Sample]:
    """Read a sample whose instruction is the question."""
    fields, variant = row.fields, row.chosen.variant
    options = _OPTIONS.get(variant) or fields.options(_OPTIONS_IN[variant], MOST_OPTIONS)
    filling, given = None, {}
    if variant in _OPTIONS:
        filling = fields.text("anno")
        given = {"anno": filling} if variant == "itm" else {}
    elif variant == "wikihow":
        filling = fields.text("method")
        given = {"task": filling, "title": fields.text("title")}
    yield Sample(
        fields.id("id") if variant == "refcoco" else row.at,
        fields.image("img"),
        filling=filling,
        options=options,
        right=fields.index("gt", len(options)),
        boxes=fields.boxes("region") if variant == "refcoco" else (),
        given={**given, "bbox": fields.any("region")} if variant == "refcoco" else given,
    )


def _read_caption(row: _Row) -> Iterator[Sample]:
    references = row.fields.texts("annos")
    yield Sample(row.at, row.fields.image("img"), answers=references)


def _read_detection(row: _Row) -> Iterator[Sample]:
    fields = row.fields
    options = fields.options("answer_options", MOST_OPTIONS)
    right = fields.index("answer", len(options))
    if row.chosen.name == "vsr":
        options = tuple(each if each.endswith(".") else f"{each}." for each in options)
    yield Sample(
        fields.id("question_id"),
        fields.image("image", "img"),
        fields.texts("questions" if "questions" in fields else "question"),
        options=options,
        right=right,
        **_boxes(fields, "bbox"),
        instructions=fields.value["instructs"] if row.chosen.family == "spatial" else (),
    )


def _read_ocr(row: _Row) -> Iterator[Sample]:
    fields = row.fields
    image = fields.image("image")
    if row.chosen.boxes == "crop" and not cut_to(fields.boxes("bbox")[0], image.size):
        raise fields.wrong("bbox", f"inside the image of {image.size[0]} x {image.size[1]} pixels")
    yield Sample(
        fields.id("question_id"),
        image,
        fields.texts("question"),
        answers=fields.texts("answer_txt"),
        **_boxes(fields, "bbox"),
    )


def _boxes(fields: Fields, name: str) -> dict[str, Any]:
    return (
        {"boxes": fields.boxes(name), "given": {name: fields.any(name)}} if name in fields else {}
    )


def _read_dialogue(row: _Row) -> Iterator[Sample]:
    """One sample per round, with the rounds before it."""
    fields = row.fields
    image, name = fields.image("image_base64"), fields.id("image_id")
    questions, answers = fields.value["questions"], fields.value["answers"]  # checked already
    history: tuple[Turn, ...] = ()
    rounds = _numbered(fields.any("dialog"), f"{fields.place}, 'dialog'")
    if len(rounds) > MOST_ROUNDS:
        raise FieldError(
            f"{fields.place}: {len(rounds)} rounds; at most {MOST_ROUNDS} are supported"
        )
    for number, (_, value) in enumerate(rounds):
        turn = Fields(value, f"{fields.place}, round {number}")
        question = questions[turn.index("question", len(questions))]
        places = turn.any("answer_options")
        if not isinstance(places, list) or not 2 <= len(places) <= MOST_OPTIONS:
            raise turn.wrong("answer_options", f"a list of 2 to {MOST_OPTIONS} numbers")
        options = [
            Fields({"answer_options": each}, turn.place).index("answer_options", len(answers))
            for each in places
        ]
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


_LAYOUTS: dict[
    str,
    tuple[Callable[[DataSet, Sequence[Any]], _Rows], Callable[[_Row], Iterator[Sample]]],
] = {
    "classification": (_plain_rows, _read_classification),
    "tdiuc": (_tdiuc_rows, _read_tdiuc),
    "counting": (_counting_rows, _read_counting),
    "vqa": (_object_rows, _read_vqa),
    "open_vqa": (_object_rows, _read_open_vqa),
    "matching": (_object_rows, _read_matching),
    "caption": (_object_rows, _read_caption),
    "detection": (_object_rows, _read_detection),
    "ocr": (_object_rows, _read_ocr),
    "dialogue": (_object_rows, _read_dialogue),
}
"""For each layout, the function that lists a file's records and the one that reads a record."""
