"""``Scorer`` without Ray: records and metrics equal those of lmms-eval, for tasks of all kinds."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmms_rpts.base.errors import UserError
from lmms_rpts.distributed import Scorer
from tests.support import foreign_task
from tests.support.judge_server import JudgeServer, ServerReply
from tests.support.lmms import Run, run, run_lmms_eval
from tests.support.rome import write_rome
from tests.support.tables import table

DEMO = Path(__file__).parents[2] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
SCRIPT = """
import json, sys
from lmms_rpts.distributed import Scorer
rows, include_path = json.loads(open(sys.argv[1]).read()), sys.argv[2] or None
done = Scorer(include_path=include_path)({name: [row[name] for row in rows] for name in rows[0]})
print("DONE", json.dumps({name: list(values) for name, values in done.items()}))
"""


def demo_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]


def scored(folder: Path, rows: list[Any], env: dict[str, str], include_path: str = "") -> Any:
    file = folder / "rows.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    done = run([sys.executable, "-c", SCRIPT, str(file), include_path], env=env)
    assert "DONE" in done.stdout, done.stdout
    return json.loads(done.stdout.partition("DONE ")[2].splitlines()[0])


def assert_equal(found: Any, expected: dict[int, Any], samples: dict[int, Any]) -> None:
    """All records, and all metrics that the samples have as numbers."""
    for at, doc_id in enumerate(found["doc_id"]):
        assert json.loads(found["record"][at]) == expected[doc_id]
        for name, value in samples[doc_id].items():
            if name in found and name not in ("doc_id", "record", "task"):
                assert found[name][at] == value or value is None, name


def test_the_demo_by_its_ids(demo: Run) -> None:
    (file,) = demo.folder.rglob("careful/*_samples_rpts_demo.jsonl")
    samples = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows = demo_rows()
    order = [*range(9, 14), *range(9)]
    batch: dict[str, Any] = {
        name: np.array([rows[at][name] for at in order], object) for name in rows[0]
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_RPTS_JUDGE", "lexical")
        found = Scorer()({**batch, "extra": list(order)})
    by_answer = {json.loads(each["filtered_resps"])["instance"]["id"]: each for each in samples}
    for at, own_id in enumerate(found["id"]):
        sample = by_answer[own_id]
        assert found["record"][at] == sample["filtered_resps"]
        for name in ("rpts", "accuracy", "rpts_textual"):
            value = sample[name]
            assert found[name][at] == value if value is not None else math.isnan(found[name][at])
    assert found["extra"] == order


def test_several_rounds_are_a_list_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    first, second, *_ = demo_rows()
    said = [[first["response"], second["response"]], [second["response"]]]
    batch = {"task": ["rpts_demo"] * 2, "id": [first["id"], second["id"]], "response": said}
    records = Scorer()(batch)["record"]
    assert [len(each) for each in records] == [2, 1]
    assert {json.loads(text)["instance"]["id"] for text in records[0]} == {first["id"]}


@table(
    "change, named",
    ({"id": ["nobody"]}, "rpts_demo has 14 documents, but none is 'nobody'"),
    ({"doc_id": [14]}, "none is 14"),
    ({"response": None}, "task, doc_id or id, and response, and have"),
)
def test_wrong_rows_are_named(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], named: str
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    batch = {name: [value] for name, value in demo_rows()[0].items()} | change
    with pytest.raises(UserError, match=re.escape(named)):
        Scorer()({name: values for name, values in batch.items() if values is not None})


def test_a_judge_that_cannot_go_on_ends_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer(answer=lambda body: ServerReply("no such key", status=401)) as server:
        for name, value in foreign_task.settings(server, OPENAI_API_KEY="sk-1").items():
            monkeypatch.setenv(name, value)
        batch = {name: [value] for name, value in demo_rows()[0].items()}
        with pytest.raises(UserError, match=r"^Judging stopped: .*no such key"):
            Scorer()(batch)


def test_a_task_of_another_package(tmp_path: Path) -> None:
    """Its own metrics say whether an answer is right, as in a run of lmms-eval."""
    task = foreign_task.write_foreign_task(tmp_path)
    with foreign_task.SeeingJudge().server() as server:
        env = foreign_task.settings(server, OPENAI_API_KEY="sk-1")
        original = foreign_task.replay(tmp_path / "run", task, env)
        rows = [
            {"task": "colours_rpts", "doc_id": at, "response": foreign_task.response_to(doc)}
            for at, doc in enumerate(task.documents)
        ]
        found = scored(tmp_path, rows, env, task.include_path)
    samples = {row["doc_id"]: row for row in foreign_task.rows_of(original, "colours_rpts")}
    records = foreign_task.records_of(original)
    assert {record["answer"]["correct"] for record in records.values()} == {True, False}
    assert_equal(found, records, samples)


def test_a_task_that_grades_answers(tmp_path: Path) -> None:
    data = write_rome(tmp_path)
    env = {"ROME_PATH": str(data), "LMMS_RPTS_JUDGE": "none"}
    rows = [{"task": "rome_spatial", "doc_id": 0, "response": "The final answer is B."}]
    said = tmp_path / "said.jsonl"
    said.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    arguments = ("--model", "replay", "--model_args", f"samples={said}", "--limit", "1")
    original = run_lmms_eval(tmp_path / "out", *arguments, "--tasks", "rome_spatial", env=env)
    found = scored(tmp_path, rows, env)
    records = original.records("rome_spatial")
    assert_equal(found, records, original.samples("rome_spatial"))
