"""A small folder of ReForm-Eval in the publishers' format, with drawn images."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.tasks.reform_eval.prompts import doc_to_text
from lmms_rpts.tasks.reform_eval.sets import DataSet, data_sets
from lmms_rpts.tasks.reform_eval.task import load

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


def documents(part: str) -> list[dict[str, Any]]:
    """The documents of a task, by its name without ``reform_``."""
    return list(load(part).documents)
