"""A task of another package, unknown to RPTS: squares, each with its own colour.

Tests write its folder: a task file, the module of its functions, data and images. The responses of
models are defined here as well, so that a judge can check which image they refer to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from tests.support.judge_server import Body, JudgeServer, images_of
from tests.support.lmms import Run, run_lmms_eval

SIDE = 64
SQUARES = 6
UTILS = """
import random
from PIL import Image


def doc_to_visual(doc):
    return [Image.open(path).convert("RGB") for path in doc["images"]]


def paths(doc):
    return list(doc["images"])


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["question"]


def messages(doc, lmms_eval_specific_kwargs=None):
    shown = [{"type": "image", "url": Image.open(path).convert("RGB")} for path in doc["images"]]
    asked = {"type": "text", "text": doc["question"]}
    return [{"role": "user", "content": [*shown, asked]}]


def process_results(doc, results):
    said = results[0].strip()[-1:]
    value = {"parsed": said, "gold": doc["gold"], "random": random.random()}
    percent = 100.0 * (said == doc["gold"])
    return {"letter_acc": value, "length": len(results[0]), "percent": percent}


def aggregate(rows):
    return sum(row["parsed"] == row["gold"] for row in rows) / len(rows)
"""
OWN_FILTERS = """
filter_list:
  - name: whole
    filter: [{function: take_first}]
  - name: last_letter
    filter:
      - {function: regex, regex_pattern: "([A-Z])$", fallback: "?"}
      - {function: take_first}
"""
VISUALS = "doc_to_visual: !function utils.doc_to_visual\n"
TASK = """\
task: colours
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: generate_until
doc_to_target: gold
doc_to_text: !function utils.doc_to_text
process_results: !function utils.process_results
metric_list:
  - {metric: length, aggregation: mean, higher_is_better: false}
  - {metric: letter_acc, aggregation: !function utils.aggregate, higher_is_better: true}
  - {metric: percent, aggregation: mean, higher_is_better: true}
"""


@dataclass(frozen=True)
class ForeignTask:
    """A folder with a task, and its documents."""

    folder: Path
    documents: Sequence[Mapping[str, Any]]

    @property
    def include_path(self) -> str:
        """The value for ``--include_path``."""
        return str(self.folder / "task")


def colour_of(number: int) -> tuple[int, int, int]:
    """The colour of the square with this number: a unique one."""
    return (40 * (number % 6) + 20, 255 - 20 * (number % 12), 30 + 60 * (number // 6 % 4))


def write_foreign_task(folder: Path, *, visuals: str = VISUALS, filters: str = "") -> ForeignTask:
    """Writes the task ``colours``: six documents, whose golds alternate between A and B.

    ``visuals`` and ``filters`` are lines of the task file.
    """
    docs = []
    for number in range(SQUARES):
        path = folder / "images" / f"square{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (SIDE, SIDE), colour_of(number)).save(path)
        question = f"Which colour has square {number}? Answer with a letter."
        more = {"gold": "AB"[number % 2], "squares": [number]}
        docs.append({"question": question, "images": [str(path)], **more})
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, docs)), encoding="utf-8")
    task = folder / "task"
    task.mkdir(exist_ok=True)
    (task / "utils.py").write_text(UTILS, encoding="utf-8")
    text = TASK.replace("DATA", str(folder / "data.jsonl"))
    (task / "colours.yaml").write_text(f"{text}{visuals}{filters}", encoding="utf-8")
    return ForeignTask(folder, docs)


def response_to(doc: Mapping[str, Any], answer: str = "A") -> str:
    """A response in two steps, the first of which states which square the image shows."""
    (number,) = doc["squares"]
    return (
        f"Conclusion 0: from Image 0, square {number} is shown\n"
        f"Conclusion 1: from Conclusion 0 and the Context, the answer is {answer}\n"
        f"The answer is {answer}"
    )


@dataclass
class SeeingJudge:
    """A judge that checks claims about squares in images, and records what it saw.

    ``seen``: for each claim about an image its square, and the squares of the images shown.
    """

    seen: list[tuple[int, list[int]]] = field(default_factory=list)

    def server(self) -> JudgeServer:
        """A server that answers as this judge."""
        return JudgeServer(answer=self.answer)

    def answer(self, body: Body) -> str:
        """0.9 if the claim and the image match, else 0.1; 0.8 without an image."""
        shown = [_square_of(image.colour) for image in images_of(body)]
        if not shown:
            return "Score: 0.8"
        claimed = int(re.findall(r"square (\d+)", json.dumps(body["messages"][-1]))[-1])
        self.seen.append((claimed, shown))
        return "Score: 0.9" if shown == [claimed] else "Score: 0.1"


def _square_of(seen: tuple[int, int, int]) -> int:
    """The square with the nearest colour; JPEG changes colours a little."""

    def distance(number: int) -> int:
        return sum(abs(one - other) for one, other in zip(seen, colour_of(number), strict=True))

    return min(range(SQUARES), key=distance)


def settings(server: JudgeServer) -> dict[str, str]:
    """The settings of a run that asks the judge on this server."""
    return {"LMMS_RPTS_JUDGE": "openai:fake", "OPENAI_BASE_URL": server.url}


def replay(
    folder: Path,
    task: ForeignTask,
    env: Mapping[str, str],
    *more: str,
    texts: Sequence[str] | None = None,
) -> Run:
    """A run of the task on saved responses: ``texts``, or those of ``response_to``."""
    said = texts or [response_to(doc) for doc in task.documents]
    rows = [{"task": "colours", "doc_id": at, "response": each} for at, each in enumerate(said)]
    folder.mkdir(parents=True, exist_ok=True)
    samples = folder / "said.jsonl"
    samples.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return run_lmms_eval(
        folder / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours"),
        *("--include_path", task.include_path, *more),
        env=env,
    )


def records_of(done: Run, task: str = "colours_rpts") -> dict[int, Any]:
    """The records of ``score`` by document: one, or a list for repeats."""
    found = done.records(task)
    return {at: each[0] if len(each) == 1 else each for at, each in found.items()}
