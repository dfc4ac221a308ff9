"""Makes tests/fixtures/foreign_logs, of our own content; needs inspect_ai, which no test does.

    python tests/support/foreign_logs.py  # in an environment with inspect_ai and openpyxl

The columns of VLMEvalKit are those of its docs/en/Development.md and vlmeval/inference.py.
"""

from __future__ import annotations

import base64
import csv
import json
import shutil
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import choice, includes
from inspect_ai.solver import generate, multiple_choice
from openpyxl import Workbook

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "foreign_logs"
BARS = ROOT / "lmms_rpts" / "tasks" / "own" / "example"
ASK = "{question}\n{choices}\nReason, then end with ANSWER: and one of {letters}."
RIGHT = "Conclusion 0: from Image 0, the blue bar is at 7, above the others.\n\nANSWER: B"
WRONG = "Conclusion 0: from Image 0, the red bar is the highest.\n\nANSWER: A"


def said(text: str, thinking: str = "") -> ModelOutput:
    parts = [ContentReasoning(reasoning=thinking)] * bool(thinking) + [ContentText(text=text)]
    message = ChatMessageAssistant(content=parts, model="tiny")
    used = ModelUsage(input_tokens=30, output_tokens=12, total_tokens=42, reasoning_tokens=3)
    done = ChatCompletionChoice(message=message, stop_reason="stop")
    return ModelOutput(model="mockllm/tiny", choices=[done], usage=used)


def log(name: str, task: Task, outputs: list[ModelOutput | None], **how: Any) -> None:
    """One log; an output of None is an error of the model."""
    calls = count()

    def answer(*_: Any) -> ModelOutput:
        found = outputs[next(calls)]
        if found is None:
            raise RuntimeError("the server does not answer")
        return found

    with tempfile.TemporaryDirectory() as folder:
        model = get_model("mockllm/tiny", custom_outputs=answer, memoize=False)
        how |= {"max_samples": 1, "log_dir": folder, "display": "none"}
        (made,) = eval(task, model=model, **how)
        shutil.copyfile(made.location, FOLDER / name)


def shown(text: str, image: str) -> list[ChatMessageUser]:
    parts = [ContentText(text=text), ContentImage(image=str(BARS / image))]
    return [ChatMessageUser(content=parts)]


def write_logs() -> None:
    colours = ["red", "blue", "green"]
    bars = [
        Sample(
            id=f"bars-{at}",
            input=shown("Which bar is the highest?", f"bars_{at}.png"),
            choices=colours,
            target="BA"[at],
        )
        for at in (0, 1)
    ]
    outputs = [said(RIGHT, "Blue is 7."), None, said(RIGHT), said(WRONG)]
    task = Task(
        name="shop/bars", dataset=bars, solver=multiple_choice(template=ASK), scorer=choice()
    )
    log("bars.eval", task, outputs, epochs=2, fail_on_error=False)
    demo = ROOT / "lmms_rpts" / "demo"
    lines = (demo / "responses" / "careful.jsonl").read_text(encoding="utf-8").splitlines()
    responses = [json.loads(line)["response"] for line in lines[:3]]
    statements = json.loads((demo / "instances.json").read_text(encoding="utf-8"))[:6]
    samples = [
        Sample(id=at, input=each["statement"], target=each["answer"])
        for at, each in enumerate(statements)
    ]
    task = Task(name="statements", dataset=samples, solver=generate(), scorer=includes())
    log("stopped.eval", task, [*map(said, responses), None, said("?"), said("?")])


COLUMNS = ("index", "question", "hint", "A", "B", "C", "answer", "category", "prediction")
ROWS = (
    (7, "Which bar is the highest?", "", "red", "blue", "green", "B", "charts", RIGHT),
    (9, "How high is the red bar?", "Read the axis.", "", "", "", "3", "values", "It is 3."),
    (12, "Which is the lowest?", "", "red", "blue", "green", "A", "charts", ""),
    (15, "How high is the blue bar?", "", "", "", "", "7", "values", "Failed to obtain answer"),
)


def write_tsv(path: Path, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([columns, *rows])


def write_results() -> None:
    book = Workbook()
    for row in (COLUMNS, *ROWS):
        book.active.append([cell or None for cell in row])
    book.save(FOLDER / "my_vlm" / "my_vlm_Bars.xlsx")
    write_tsv(FOLDER / "my_vlm_two_Bars.tsv", COLUMNS, [*ROWS[:2]])
    image = base64.b64encode((BARS / "bars_0.png").read_bytes()).decode()
    # The image of a row may be the index of the row that has it.
    data = [(row[0], 7 if at else image, *row[1:-1]) for at, row in enumerate(ROWS)]
    write_tsv(FOLDER / "Bars.tsv", ("index", "image", *COLUMNS[1:-1]), data)


if __name__ == "__main__":
    (FOLDER / "my_vlm").mkdir(parents=True, exist_ok=True)
    write_logs()
    write_results()
