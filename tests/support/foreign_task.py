"""A task of another package, unknown to RPTS: squares, each with its own colour.

Tests write its folder: a task file, the module of its functions, data and images. The responses of
models are defined here as well, so that a judge can check which image they refer to.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from tests.support.judge_server import Body, JudgeServer
from tests.support.lmms import Run, read_record, run_lmms_eval

SIDE = 64
SQUARES = 24
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
METRICS = """
metric_list:
  - {metric: length, aggregation: mean, higher_is_better: false}
  - {metric: letter_acc, aggregation: !function utils.aggregate, higher_is_better: true}
  - {metric: percent, aggregation: mean, higher_is_better: true}
"""
VISUALS = "doc_to_visual: !function utils.doc_to_visual\n"
PROCESS = "process_results: !function utils.process_results\n"


@dataclass(frozen=True)
class ForeignTask:
    """A folder with a task, and its documents."""

    folder: Path
    documents: Sequence[Mapping[str, Any]]
    name: str = "colours"

    @property
    def include_path(self) -> str:
        """The value for ``--include_path``."""
        return str(self.folder / "task")

    def responses(
        self, path: Path, task: str, texts: Sequence[str] | None = None, start: int = 0
    ) -> Path:
        """Writes ``texts``, or the responses of ``response_to``, as saved responses."""
        said = texts or [response_to(doc) for doc in self.documents[start:]]
        rows = (
            {"task": task, "doc_id": at, "response": text} for at, text in enumerate(said, start)
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path


def colour_of(number: int) -> tuple[int, int, int]:
    """The colour of the square with this number: a unique one."""
    return (40 * (number % 6) + 20, 255 - 20 * (number % 12), 30 + 60 * (number // 6 % 4))


def make_document(folder: Path, *squares: int, gold: str = "A") -> dict[str, Any]:
    """A document on squares; writes its images to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in squares:
        path = folder / f"square{number}.png"
        Image.new("RGB", (SIDE, SIDE), colour_of(number)).save(path)
        paths.append(str(path))
    named = " and ".join(f"square {number}" for number in squares) or "no square"
    question = f"Which colour has {named}? Answer with a letter."
    return {"question": question, "images": paths, "gold": gold, "squares": list(squares)}


def write_foreign_task(
    folder: Path,
    documents: Sequence[Mapping[str, Any]] | None = None,
    *,
    name: str = "colours",
    visuals: str = VISUALS,
    process: str = PROCESS,
    metrics: str = METRICS,
    filters: str = "",
    more: str = "",
    utils: str = "",
) -> ForeignTask:
    """Writes the task; by default with six documents, whose golds alternate between A and B.

    Args:
        visuals, process, metrics, filters: lines of the task file; empty leaves them out.
        more: further lines.
        utils: functions that follow those of ``UTILS``, and may replace them.
    """
    task = folder / "task"
    task.mkdir(parents=True, exist_ok=True)
    docs = documents
    if docs is None:
        docs = [make_document(folder / "images", k, gold="AB"[k % 2]) for k in range(6)]
    data = folder / "data.jsonl"
    data.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    (task / "utils.py").write_text(UTILS + utils, encoding="utf-8")
    asked = "" if "doc_to_text" in more else "doc_to_text: !function utils.doc_to_text\n"
    kind = "" if "output_type" in more else "output_type: generate_until\n"
    (task / f"{name}.yaml").write_text(
        f"task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {data}}}}}\n"
        f"test_split: test\n{kind}doc_to_target: gold\n"
        f"{asked}{visuals}{process}{metrics}{filters}{more}",
        encoding="utf-8",
    )
    return ForeignTask(folder, docs, name)


def response_to(doc: Mapping[str, Any], answer: str = "A") -> str:
    """A response in steps that state for each image which square it shows."""
    squares = doc["squares"]
    steps = [
        f"Conclusion {at}: from Image {at}, square {number} is shown"
        for at, number in enumerate(squares)
    ]
    drawn = " and ".join(f"Conclusion {at}" for at in range(len(squares)))
    beginning = f"from {drawn} and the Context" if drawn else "from the Context"
    steps.append(f"Conclusion {len(squares)}: {beginning}, the answer is {answer}")
    return "\n".join([*steps, f"The answer is {answer}"])


@dataclass
class SeeingJudge:
    """A judge that checks claims about squares in images, and records what it saw.

    Attributes:
        seen: for each claim about an image its square, and the squares of the images shown.
        kinds: the beginning of each request.
    """

    seen: list[tuple[int, list[int]]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def server(self) -> JudgeServer:
        """A server that answers as this judge."""
        return JudgeServer(answer=self.answer)

    def answer(self, body: Body) -> str:
        """0.9 if the claim and the image match, else 0.1."""
        told = body["messages"][0]["content"]
        self.kinds.append(told[:24])
        text, shown = _text_and_squares(body)
        if told.startswith("You turn"):
            numbers = _squares(text)
            chain = [
                f"Image{at} -> Conclusion{at}: square {number} is shown"
                for at, number in enumerate(numbers)
            ]
            drawn = " + ".join(f"Conclusion{at}" for at in range(len(numbers)))
            return "\n".join(
                [*chain, f"{drawn} + Context -> Conclusion{len(numbers)}: the answer is A"]
            )
        if not shown or told.startswith("You check how"):  # the root: no claim about an image
            return "Score: 0.8"
        claimed = _squares(text)[-1]
        self.seen.append((claimed, shown))
        return "Score: 0.9" if shown == [claimed] else "Score: 0.1"


def _squares(text: str) -> list[int]:
    found = text.split("square ")[1:]
    numbers = [
        int("".join(c for c in each[:4] if c.isdigit())) for each in found if each[:1].isdigit()
    ]
    return list(dict.fromkeys(numbers))


def _text_and_squares(body: Body) -> tuple[str, list[int]]:
    content = next(each for each in body["messages"] if each["role"] == "user")["content"]
    if isinstance(content, str):
        return content, []
    text = " ".join(part["text"] for part in content if part["type"] == "text")
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    images = [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]
    return text, [_square_in(image) for image in images]


def _square_in(image: Image.Image) -> int:
    """The square with the nearest colour; JPEG changes colours a little."""
    seen = image.convert("RGB").getpixel((image.width // 2, image.height // 2))
    assert isinstance(seen, tuple)

    def distance(number: int) -> int:
        return sum(abs(one - other) for one, other in zip(seen, colour_of(number), strict=True))

    return min(range(SQUARES), key=distance)


def settings(server: JudgeServer, **more: str) -> dict[str, str]:
    """The settings of a run that asks the judge on this server."""
    return {"LMMS_RPTS_JUDGE": "openai:fake", "OPENAI_BASE_URL": server.url, **more}


def replay(
    folder: Path,
    task: ForeignTask,
    env: Mapping[str, str],
    *more: str,
    texts: list[str] | None = None,
) -> Run:
    """A run of the task on saved responses."""
    name = task.name
    folder.mkdir(parents=True, exist_ok=True)
    samples = task.responses(folder / "said.jsonl", name, texts)
    return run_lmms_eval(
        folder / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", name),
        *("--include_path", task.include_path, *more),
        env=env,
    )


def rows_of(done: Run, task: str) -> list[dict[str, Any]]:
    """The lines of a task's samples, from all its pipelines."""
    files = list(done.folder.rglob(f"*_samples_{task}.jsonl"))
    assert len(files) == 1, done.output
    # Not splitlines(): lmms-eval leaves U+2028 inside its JSON, which would split a line.
    lines = files[0].read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def record_of(row: Mapping[str, Any]) -> Any:
    """The record of a line; None for lines of the task's own pipelines."""
    found = row["filtered_resps"]
    texts = found if isinstance(found, list) else [found]
    if not all(isinstance(text, str) and text.startswith('{"schema"') for text in texts):
        return None
    records = read_record(row)
    return records[0] if len(texts) == 1 and isinstance(found, list) else records


def records_of(done: Run, task: str = "colours_rpts") -> dict[int, Any]:
    """The records by document, one line each."""
    found = [(row["doc_id"], record_of(row)) for row in rows_of(done, task)]
    there = [(doc_id, record) for doc_id, record in found if record is not None]
    assert len(there) == len(dict(there)), "a document has several records"
    return dict(there)
