"""Responses in the layouts of publishers: ROME's predictions, results of CMMaTH's code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmms_rpts.runs.responses import SavedResponses, read_responses
from lmms_rpts.tasks.published_rows import LAYOUTS
from tests.runs.test_responses import texts
from tests.support.tables import table


def saved(folder: Path, *contents: Any) -> SavedResponses:
    """The responses in files with these contents."""
    files = [folder / f"{at}.json" for at in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_text(json.dumps(content), encoding="utf-8")
    return read_responses(*files, default_task="", layouts=LAYOUTS)


PREDICTION = {"question_id": "question_geo_1", "answer": "Final Answer: A", "task": "geo"}


@table(
    "content, said",
    # the three layouts of ROME's README
    (PREDICTION, "Final Answer: A"),
    ([PREDICTION], "Final Answer: A"),
    ({"question_geo_1": {"answer": "Final Answer: A"}}, "Final Answer: A"),
    # src/example/predictions.json has the thinking apart, with its tags
    ([PREDICTION | {"reason": "<think>B?</think>"}], "<think>B?</think>Final Answer: A"),
    ([PREDICTION | {"reason": "B?"}], "<think>B?</think>\nFinal Answer: A"),
    ([PREDICTION | {"reason": None}], "Final Answer: A"),
    # src/example/updated_predictions.json has the extracted answer as answer
    ([PREDICTION | {"answer": "A", "raw_answer": "Final Answer: A"}], "Final Answer: A"),
)
def test_predictions_of_the_publishers(tmp_path: Path, content: Any, said: str) -> None:
    found = saved(tmp_path, content)
    assert texts(found, "rome_geo", "question_geo_1") == [said]
    assert not texts(found, "rome_geo", "question_geo_2")


def test_responses_of_the_code_of_cmmath(tmp_path: Path) -> None:
    """Its eval_result.json; the names of other files stay as they are."""
    row = {"problem_id": "25688", "question": "?", "answer": "9", "model_response": "81"}
    found = saved(tmp_path, [row, {"id": "3", "response": "A", **row}])
    assert [texts(found, "cmmath", each) for each in ("25688", "3")] == [["81"], ["A"]]


_SAID = ["Final Answer: A", "['B', 'C']"]
_USED = [
    {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
    # Gemini counts its thinking in the total alone
    {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 95},
]
_ROUNDS = {f"inference_{at}": each for at, each in enumerate(_SAID)}
_RELEASE = {"question_id": "q", "model": "m", "reason": ["one", "two"], "usage": _USED}
_BOTH = [f"<think>{each}</think>\n{said}" for each, said in zip(("one", "two"), _SAID, strict=True)]


def _as_text(write: Callable[[Any], str]) -> dict[str, Any]:
    row = {**_RELEASE, "answer": _ROUNDS, "raw_answer": _SAID}
    texts = {name: each if isinstance(each, str) else write(each) for name, each in row.items()}
    return texts | {"num_inferences": 2}


@table(
    "rows, said, tokens",
    # FlagEvalMM's own files, before and after its evaluation
    ([{**_RELEASE, "answer": _ROUNDS}], _BOTH, [20, 85]),
    ([{**_RELEASE, "answer": {}, "raw_answer": _SAID}], _BOTH, [20, 85]),
    # BAAI/ROME-Evaluated: all as text
    ([_as_text(json.dumps)], _BOTH, [20, 85]),
    ([_as_text(str)], _BOTH, [20, 85]),
    # a row for each round; an answer that looks like a list is one answer
    ([{"question_id": "q", "model": "m", "answer": each} for each in _SAID], _SAID, [None, None]),
    # thinking and tokens that fit no round are left out
    ([{**_RELEASE, "answer": _ROUNDS, "reason": "?", "usage": [{}]}], _SAID, [None, None]),
)
def test_rounds_of_the_publishers(
    tmp_path: Path, rows: list[Any], said: list[str], tokens: list[int | None]
) -> None:
    found = saved(tmp_path, rows)
    rounds = [found.find("rome", -1, "q", run) for run in found.runs]
    responses = [response for each in rounds if each for response in each.responses()]
    assert [each.text for each in responses] == said
    assert [(each.tokens or {}).get("output_tokens") for each in responses] == tokens


def test_a_request_of_the_publishers_that_failed(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "model": "m", "answer": {"inference_0": "A", "inference_2": "B"}},
        {"question_id": "b", "model": "m", "reason": "no answer"},
        # the first round failed, the second is a row of its own
        {"question_id": "c", "model": "m", "answer": None},
        {"question_id": "c", "model": "m", "answer": "C"},
    ]
    # the file may begin with a failed request; a round that is not there keeps its place
    for order in (rows, [rows[1], rows[0], *rows[2:]]):
        found = saved(tmp_path, order)
        said = [[texts(found, "rome", own_id, run) for own_id in "abc"] for run in found.runs]
        assert said == [[["A"], [None], [None]], [[None], [], ["C"]], [["B"], [], []]]
