"""The real lmms-eval on a task that scores answer options by likelihood, with images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.lmms import Run, run_lmms_eval

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
    return {
        "by_sum": totals.index(max(totals)) == doc["answer"],
        "totals": [round(each, 5) for each in totals],
        "tokens": tokens,
    }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the task."""
    made = tmp_path_factory.mktemp("choice")
    Image.new("RGB", (30, 40), "red").save(made / "red.png")
    Image.new("RGB", (60, 20), "blue").save(made / "blue.png")
    pictures: list[list[str]] = [["red.png"], ["blue.png", "red.png"], [], ["blue.png"], []]
    docs: list[dict[str, Any]] = [
        {"question": f"What is {at}?", "images": images, "options": OPTIONS, "answer": 2}
        for at, images in enumerate(pictures)
    ]
    (made / "docs.json").write_text(json.dumps(docs), encoding="utf-8")
    (made / "choice.py").write_text(CODE, encoding="utf-8")
    (made / "rome_choice.yaml").write_text(TASK.replace("FOLDER", str(made)), encoding="utf-8")
    return made


def choose(out: Path, folder: Path, *arguments: str, processes: int = 1) -> Run:
    tasks = ("--tasks", "rome_choice", "--include_path", str(folder))
    return run_lmms_eval(out, *arguments, *tasks, processes=processes)


def outcomes(done: Run) -> dict[int, Any]:
    kept = ("totals", "tokens", "by_sum")
    samples = done.samples("rome_choice")
    return {at: {name: sample[name] for name in kept} for at, sample in samples.items()}


def test_options_are_scored_with_their_images(
    tmp_path: Path, folder: Path, tiny_llava: str
) -> None:
    """Batches and several processes give the same sums."""
    model = ("--model", "hf_multimodal", "--model_args", tiny_llava)
    first = choose(tmp_path / "1", folder, *model)
    found = outcomes(first)
    assert set(found) == set(range(5))
    for each in found.values():
        assert list(each["tokens"]) == [len(f" {option}".encode()) for option in OPTIONS]
        assert each["by_sum"] is True  # longer options have lower sums with a random model
    assert len({tuple(each["totals"]) for each in found.values()}) == 5
    assert first.results["rome_choice"]["by_sum,none"] == 1
    two = outcomes(choose(tmp_path / "3", folder, *model, "--batch_size", "4", processes=2))
    assert set(two) == set(found)
    for at, each in two.items():
        assert each["totals"] == pytest.approx(found[at]["totals"], abs=1e-4)
        assert each["tokens"] == found[at]["tokens"]
