"""Made-up labelled chains in the layout of ProcessBench, and a judge that knows the labels."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.support.judge_server import Answer, Body, ServerReply

SOUND, WRONG = "holds", "fails"
"""The only words that show the test judge the labels."""


def make_row(number: int, steps: int = 4, first_error: int | None = None) -> dict[str, Any]:
    """A row whose steps state if they are wrong. ``first_error`` counts from 0; None: no error."""
    texts = [
        f"Step {at} of {number}: the lamp {WRONG if at == first_error else SOUND}."
        for at in range(steps)
    ]
    label = -1 if first_error is None else first_error
    return {"id": f"own-{number}", "problem": f"{number}?", "steps": texts, "label": label}


def make_rows(count: int) -> list[dict[str, Any]]:
    """Rows of 3 to 6 steps; every second one has an error, at various steps."""
    lengths = [3 + at % 4 for at in range(count)]
    return [
        make_row(at, length, at // 2 % length if at % 2 else None)
        for at, length in enumerate(lengths)
    ]


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    """A JSON list, the file format of ProcessBench."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(rows)), encoding="utf-8")
    return path


def conclusion_of(body: Body) -> str:
    """The step that the judge is asked about."""
    asked = body["messages"][1]["content"].rpartition("Conclusion:")[2]
    return re.sub(r"^\s*<<<|>>>\s*$", "", asked.strip()).strip()


def knowing(
    score: Callable[[bool], float], refuses: Callable[[str], bool] = lambda text: False
) -> Answer:
    """A judge that knows the labels of ``make_row``, and refuses some steps permanently."""

    def answer(body: Body) -> ServerReply | str:
        text = conclusion_of(body)
        if refuses(text):
            return ServerReply("we do not speak of that", status=400)
        return f"I see {text!r}.\nScore: {score(SOUND in text)}"

    return answer


def share_of(text: str) -> float:
    """A number from 0 to 1, from a hash of the text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
