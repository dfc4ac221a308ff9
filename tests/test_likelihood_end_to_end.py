"""The real lmms-eval on a task that scores answer options by likelihood, with images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.lmms import run_lmms_eval

OPTIONS = ["cat", "a dog that barks", "x", "né", "nothing of the kind"]
TASK = """\
task: rome_choice
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/docs.json}}
test_split: test
output_type: multiple_choice
doc_to_text: question
doc_to_visual: !function choice.images
doc_to_choice: options
doc_to_target: answer
process_results: !function choice.process_results
metric_list:
  - {metric: by_sum, aggregation: mean, higher_is_better: true}
"""
CODE = """\
from ast import literal_eval
from pathlib import Path

from PIL import Image


def images(doc):
    return [Image.open(Path(__file__).with_name(name)) for name in doc["images"]]


def process_results(doc, results):
    _, _, totals, tokens = zip(*map(literal_eval, results))
    best = totals.index(max(totals)) == doc["answer"]
    return {"by_sum": best, "totals": totals, "tokens": tokens}
"""


def test_options_are_scored_with_their_images(tmp_path: Path, tiny_llava: str) -> None:
    """Batches and several processes give the same sums."""
    Image.new("RGB", (30, 40), "red").save(tmp_path / "red.png")
    Image.new("RGB", (60, 20), "blue").save(tmp_path / "blue.png")
    pictures: list[list[str]] = [["red.png"], ["blue.png", "red.png"], [], ["blue.png"], []]
    docs = [
        {"question": f"What is {at}?", "images": images, "options": OPTIONS, "answer": 2}
        for at, images in enumerate(pictures)
    ]
    (tmp_path / "docs.json").write_text(json.dumps(docs), encoding="utf-8")
    (tmp_path / "choice.py").write_text(CODE, encoding="utf-8")
    task = TASK.replace("FOLDER", str(tmp_path))
    (tmp_path / "rome_choice.yaml").write_text(task, encoding="utf-8")

    def choose(name: str, *arguments: str, processes: int = 1) -> dict[int, Any]:
        model = ("--model", "hf_multimodal", "--model_args", tiny_llava, *arguments)
        tasks = ("--tasks", "rome_choice", "--include_path", str(tmp_path))
        done = run_lmms_eval(tmp_path / name, *model, *tasks, processes=processes)
        assert done.results["rome_choice"]["by_sum,none"] == 1  # with a random model
        return done.samples("rome_choice")

    found = choose("1")
    two = choose("2", "--batch_size", "4", processes=2)
    assert set(found) == set(two) == set(range(5))
    assert len({tuple(each["totals"]) for each in found.values()}) == 5
    for at, each in found.items():
        assert list(each["tokens"]) == [len(f" {option}".encode()) for option in OPTIONS]
        assert two[at]["totals"] == pytest.approx(each["totals"], abs=1e-4)
