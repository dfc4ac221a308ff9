"""A small data set in ROME's format, and answers with manually worked grades."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

_CHOICES = "A. the red one B. the blue one C. the green one D. none of them"


def _entry(task: str, number: int, question: str, **fields: Any) -> dict[str, Any]:
    images = fields.pop("images", 1)
    paths = [f"{task}/{number}-{at}.png" for at in range(images)]
    return {
        "question_id": f"question_{task}_{number}",
        "question": question,
        "img_path": paths[0] if images == 1 else paths,
        "image_type": "Artificial",
        "image_subtype": "Drawing",
        "question_type": "open",
        "reasoning_type": "VL",
        "meta_info": {"source": "drawn for this test"},
        "task": task,
    } | fields


def _graded(evaluator: str, **kwargs: Any) -> dict[str, Any]:
    return {"evaluator": evaluator, "evaluator_kwargs": kwargs}


ENTRIES: tuple[dict[str, Any], ...] = (
    _entry(
        *("academic", 1, f"Which square is the largest? {_CHOICES}"),
        **_graded("choices_matching", label="B"),
        reference="B",
    ),
    _entry(
        *("academic", 2, "下列哪些图形是三角形？A. 甲 B. 乙 C. 丙"),
        **_graded("choices_matching", label="AC"),
        reference="AC",
    ),
    _entry(
        *("diagrams", 1, "Which two stations does the line join?"),
        **_graded("key_items_matching", key_items=[["Oak Hill"], ["Mill Lane", "Mill Road"]]),
        reference="Oak Hill and Mill Lane",
    ),
    _entry(
        *("puzzles_games", 1, "<image 1> 图中还缺几块拼图？"),
        **_graded("number_matching", value_to_match=7),
        reference=7,
    ),
    _entry(
        *("memes", 1, "谁在这幅画里迟到了？"),
        **_graded("key_items_matching", key_items=["蜗牛"], remove_space=True),
        reference="蜗牛",
    ),
    _entry(
        *("geo", 1, "Guess the location."),
        **_graded(
            "location_matching",
            location_fine_grained=["Harbour Gate"],
            location_coarse_grained=["Northport"],
        ),
        reference="Harbour Gate, Northport",
    ),
    _entry(
        *("geo", 2, "这是哪里？"),
        **_graded(
            "location_matching",
            location_fine_grained=["钟楼"],
            location_coarse_grained=["青城"],
            coarse_grained_score=0.75,
        ),
        reference="青城钟楼",
    ),
    _entry(
        *("recognition", 1, "What is the temperature on the dial of <image 1>?"),
        **_graded("interval_matching", interval=[20.5, 21.5], units=["°C", "℃"]),
        reference="21 °C",
    ),
    _entry(
        *("recognition", 2, "What time does the clock show?"),
        **_graded("interval_matching", interval=["10:05", "10:15"], units=[]),
        reference="10:10",
    ),
    _entry(
        *("multi", 1, "Put the frames in order: A: <image 1>\nB: <image 2>\nC: <image 3>"),
        **_graded("ordered_list_matching", order=["B", "C", "A"]),
        images=3,
        reference="B, C, A",
    ),
    _entry(
        *("multi", 2, "两幅图有几处不同？"),
        **_graded("number_matching", value_to_match=4),
        images=2,
        reference="4",
    ),
    _entry(
        *("spatial", 1, "How long is the bar?"),
        **_graded(
            "multi_interval_matching", intervals=[[1.9, 2.1], [19, 21]], units=[["cm"], ["mm"]]
        ),
        reference="2 cm",
    ),
)
"""All evaluators, all subtasks, one and several images, English and Chinese."""


def make_doc(**fields: Any) -> dict[str, Any]:
    """A document as in a ROME task, without its images."""
    return {
        "id": "question_diagrams_1",
        "subtask": "diagrams",
        "language": "en",
        "question": "Which station does the line end at? A. Oak Hill B. Mill Lane",
        "img_path": ["diagrams/1-0.png"],
        "evaluator": "choices_matching",
        "evaluator_kwargs": '{"label": "B"}',
        "reference": "B, Mill Lane",
        "image_type": "Artificial",
        "image_subtype": "Drawing",
        "question_type": "choice",
        "reasoning_type": None,
    } | fields


def write_rome(folder: Path, entries: Iterable[Mapping[str, Any]] = ENTRIES) -> Path:
    """A folder for ROME_PATH: ``annotation.json`` and an image for each path."""
    entries = list(entries)
    text = json.dumps(entries, ensure_ascii=False)
    (folder / "annotation.json").write_text(text, encoding="utf-8")
    draw_images(folder, entries)
    return folder


def draw_images(folder: Path, entries: Iterable[Mapping[str, Any]]) -> None:
    """Writes a placeholder for each image; the k-th of a question is k levels of red over black."""
    for entry in entries:
        paths = entry["img_path"]
        for number, path in enumerate([paths] if isinstance(paths, str) else paths):
            image = Image.new("RGB", (16, 16), (number, 0, 0))
            ImageDraw.Draw(image).rectangle((4, 4, 11, 11), fill=(0, 0, 255))
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            image.save(folder / path)


def write_responses(path: Path, responses: Mapping[str, str | list[str]]) -> Path:
    """Writes responses by question id, in the format of the model ``replay``."""
    tasks = {entry["question_id"]: f"rome_{entry['task']}" for entry in ENTRIES}
    lines = [
        json.dumps({"task": tasks[identity], "id": identity, "response": response})
        for identity, said in responses.items()
        for response in ([said] if isinstance(said, str) else said)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
