"""A small folder of ReForm-Eval in the publishers' format, with drawn images."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.tasks.reform_eval import published
from lmms_rpts.tasks.reform_eval.benchmark import ReformSettings
from lmms_rpts.tasks.reform_eval.data import Sample, read_samples, root_of
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.prompts import (
    PREFIX,
    Form,
    doc_to_text,
    question_with_options,
    text_form,
)
from lmms_rpts.tasks.reform_eval.sets import DataSet, data_sets

SETS = ("textocr", "gqa", "coco_itm", "vsr", "visdial", "ic15_grounded", "funsd", "coco_caption")
"""A set of each kind and of most formats."""


def image_text(colour: str = "red", size: tuple[int, int] = (64, 48)) -> str:
    """A drawing as base64 text."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def content_of(name: str, count: int = 3) -> Any:
    """The content of the file of one of ``SETS``, with ``count`` records."""
    chosen = data_sets()[name]
    head = {"version": chosen.version, "split": chosen.split, "dataset_name": chosen.dataset_name}
    head = {key: value for key, value in head.items() if value}
    if name == "visdial":
        return {**head, "data": _dialogues(count)}
    return {**head, "data": [_record(name, at) for at in range(count)]}


def _record(name: str, at: int) -> dict[str, Any]:
    image = image_text(("red", "green", "blue", "gold")[at % 4])
    options = ["a red sheet", "a green sheet", "a blue sheet", "a gold sheet"]
    records: Mapping[str, dict[str, Any]] = {
        "gqa": {
            "question_id": f"g{at}",
            "image_id": image,
            "question": "What is it?",
            "answer": options[at % 4],
            "answer_options": options,
        },
        "coco_itm": {"img": image, "anno": f"A {{sheet}} numbered {at}", "gt": at % 2},
        "vsr": {
            "question_id": at,
            "image": image,
            "question": [f"Which one fits ({each})?" for each in range(5)],
            "answer": at % 2,
            "answer_options": ["The sheet is plain", "The sheet is striped."],
        },
        "ic15_grounded": {
            "question_id": at,
            "image": image,
            "question": [f"What does the red box hold ({each})?" for each in range(5)],
            "answer_txt": ["EXIT", "24-hours", "café"][at % 3],
            "bbox": [10, 8, 40, 30],
        },
        "textocr": {
            "question_id": at,
            "image": image,
            "question": ["What does it say?"],
            "answer_txt": "EXIT",
            "bbox": [10, 8, 40, 30],
        },
        "funsd": {
            "question_id": at,
            "image": image,
            "question": 'what is "total"?',
            "answer_txt": "12.50",
        },
        "coco_caption": {"img": image, "annos": ["A coloured sheet.", "a plain sheet of paper"]},
    }
    return records[name]


def _dialogues(count: int) -> dict[str, Any]:
    rounds = [
        {"question": 0, "answer": 0, "answer_options": [0, 1, 2]},
        {"question": 1, "answer": 3, "answer_options": [2, 3, 1]},
    ]
    return {
        "questions": ["is it a sheet from NYC", "what colour has it?"],
        "answers": ["yes", "no", "can't tell", "one of NYC's"],
        "dialogs": [
            {
                "image_id": 100 + at,
                "image_base64": image_text("navy"),
                "caption": "a sheet",
                "dialog": rounds,
            }
            for at in range(count)
        ],
    }


def with_dialogues(*rounds: int) -> Any:
    """The content of VisDial with dialogues of so many rounds, 2 or 3."""
    content = content_of("visdial", len(rounds))
    for dialogue, count in zip(content["data"]["dialogs"], rounds, strict=True):
        more = [{"question": 0, "answer": 1, "answer_options": [1, 0]}]
        dialogue["dialog"] = [*dialogue["dialog"], *more][:count]
    return content


def write_reform(folder: Path, count: int = 3, **changed: Any) -> Path:
    """Writes the files of ``SETS`` below ``huggingface_data`` of a folder, and returns the folder.

    Args:
        changed: contents by name that replace ours; a text or bytes is written unchanged.
    """
    for name in SETS:
        write_set(folder, data_sets()[name], changed.get(name, content_of(name, count)))
    return folder


def write_set(folder: Path, chosen: DataSet, content: Any) -> Path:
    """Writes the file of a set."""
    path = folder / "huggingface_data" / chosen.file
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return path


def hold_as_text(doc: dict[str, Any], outputs: Sequence[Any]) -> list[str]:
    """The prompts of a dialogue with these answers, requested as simple wrappers do."""
    asked: list[str] = [doc_to_text(doc, lmms_eval_specific_kwargs=None)]
    said, info = [outputs[0]], None
    while True:
        images, text, is_over, said, info = doc_to_text(
            doc,
            lmms_eval_specific_kwargs=None,
            previous_output=list(said),
            round_idx=len(asked),
            previous_round_info=info,
        )
        assert said == list(outputs[: len(asked)])
        if is_over:
            return asked
        assert [image.mode for image in images] == ["RGB"]
        asked.append(text)
        said = [*said, outputs[len(asked) - 1]]


# --- the published samples and prompts, with their quirks -----------------------------------------


class PublishedForm(Form):
    """The samples of a set as the published loader presents them."""

    def sentence_case(self, text: str) -> str:
        """``str.capitalize`` makes "NYC" "Nyc"."""
        return text.capitalize() if self.chosen.layout == "dialogue" else text

    def question(self, sample: Sample, at: int, duplicate: int) -> tuple[str, str]:
        """The loader of image-text matching may leave the braces in."""
        if self.chosen.variant == "itm" and self.settings.wording == "fixed":
            sample = replace(sample, filling="{}")
        return super().question(sample, at, duplicate)

    def history(self, sample: Sample, style: str) -> Iterator[tuple[str, str]]:
        """The right answer of a past round is found by its text."""
        turns = []
        for turn in sample.history:
            options = [self.sentence_case(each) for each in turn.options]
            turns.append(turn._replace(right=options.index(options[turn.right])))
        return super().history(replace(sample, history=tuple(turns)), style)

    def solved_example(self, asked: str, answered: str, style: str) -> Iterator[tuple[str, str]]:
        """Always marked (A), also by likelihood; some loaders omit the prefix."""
        bare = self.method == "likelihood" or self.chosen.name.startswith(("tdiuc_", "pets37"))
        yield asked, answered if bare else f"{PREFIX} {answered}"

    def item(self, sample: Sample, at: int, duplicate: int) -> dict[str, Any]:
        """A sample of the loader, without its image and fields that are only passed on."""
        item: dict[str, Any] = {"sample_id": sample.id}
        if sample.round is not None:
            item["round_id"] = sample.round
        instruct, item["question"] = self.question(sample, at, duplicate)
        if self.chosen.kind == "caption":
            return {**item, "references": list(sample.answers)}
        item |= {"instruct": instruct} if instruct else {}
        if sample.right is None:
            return {**item, "answer": sample.answers[0]}
        numbered = self.chosen.layout in ("classification", "tdiuc", "counting", "dialogue")
        item["answer"] = sample.right if numbered else str(sample.right)
        item["answer_options"] = list(map(self.sentence_case, sample.options))
        turns = [
            {"from": role, "value": text}
            for pair in self.history(sample, self.settings.marks)
            for role, text in zip(("human", "assistant"), pair, strict=True)
        ]
        if turns or self.settings.in_context or self.chosen.layout == "dialogue":
            item["history"] = turns
        return item


def published_item(case: Mapping[str, Any], instructions: Path, root: Path) -> dict[str, Any]:
    """The sample of the published loader that a case of the reference names."""
    chosen = {each.config: each for each in data_sets().values()}[case["config"]]
    grid, method = case["grid"], case["infer_method"]
    varied = grid["random_instruct"] or chosen.kind == "caption"
    settings = ReformSettings(
        wording="varied" if varied else "fixed",
        order="fixed",
        marks=grid["mark"],
        in_context=grid["in_context"],
    )
    wording = load_instructions(instructions).of(chosen, method)
    form = PublishedForm(chosen, method, wording, settings, published=True)
    at, duplicate = divmod(case["index"], grid["dup"])
    return form.item(_samples(chosen, root)[at], at, duplicate)


@cache
def _samples(chosen: DataSet, root: Path) -> tuple[Sample, ...]:
    return read_samples(chosen, root_of(root)).samples


def published_prompt(item: Mapping[str, Any], method: str, mark: str, prefix: str | None) -> str:
    """The published text form of an item."""
    question = item["question"]
    if method == "generation" and item.get("answer_options") is not None:
        question = question_with_options(question, item["answer_options"], mark)
    turns = [each["value"] for each in item.get("history") or ()]
    begun = method == "generation" and "references" not in item  # not for captions
    return text_form(item.get("instruct"), [*turns, question], prefix if begun else None)


def chosen_text(prediction: Any, options: Sequence[str], *, likelihood: bool = False) -> Any:
    """The published answer for instability and history: the chosen option, else the prediction."""
    grade = published.single_choice_likelihood if likelihood else published.single_choice
    index = grade(prediction)
    if index is None or (likelihood and index != prediction):
        return prediction
    return options[index] if -len(options) <= index < len(options) else prediction
