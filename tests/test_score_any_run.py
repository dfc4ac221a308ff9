"""``lmms-rpts score`` for samples of tasks unknown to RPTS, and the commands on the new runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.support import rome
from tests.support.foreign_task import (
    OWN_FILTERS,
    VISUALS,
    ForeignTask,
    SeeingJudge,
    records_of,
    replay,
    response_to,
    settings,
    write_foreign_task,
)
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run, run_lmms_eval
from tests.support.reform import write_reform
from tests.support.tables import table
from tests.test_score import COMMAND, write

pytestmark = pytest.mark.slow

ON_MESSAGES = "doc_to_messages: !function utils.messages\n"
EXTRACTS = """
filter_list:
  - name: letter
    filter: [{function: regex, regex_pattern: "([A-Z])$"}, {function: take_first}]
"""


def score(samples: Path, task: ForeignTask, output: Path, server: JudgeServer, *more: str) -> Run:
    arguments = ("score", str(samples), "--include_path", task.include_path, "-o", str(output))
    done = run([COMMAND, *arguments, *more], env=settings(server))
    return Run(done.stdout, done.returncode, output)


def said(at: int, metric: str = "m", value: Any = 1) -> dict[str, Any]:
    """A saved response to a document, and the value of a metric."""
    response = response_to({"squares": [at]})
    return {"task": "colours", "doc_id": at, "response": response, metric: value}


@table("visuals", VISUALS, VISUALS.replace("doc_to_visual\n", "paths\n"), ON_MESSAGES)
def test_responses_are_scored_with_the_tasks_questions_and_images(
    tmp_path: Path, visuals: str
) -> None:
    task = write_foreign_task(tmp_path, visuals=visuals)
    judge = SeeingJudge()
    with judge.server() as server:
        texts = [f"<think>hm</think>{response_to(doc)}" for doc in task.documents]
        plain = replay(tmp_path / "plain", task, settings(server), texts=texts)
        scored = score(plain.folder, task, tmp_path / "scored", server)
        again = score(scored.folder, task, tmp_path / "again", server)
    records = records_of(scored)
    assert records_of(again) == records, again.output
    for at, doc in enumerate(task.documents):
        assert records[at]["instance"]["statement"] == doc["question"]
        assert records[at]["instance"]["visual_clue"] == [f"colours_rpts#{at}/0"]
        assert records[at]["answer"]["correct"] is (at % 2 == 0)
        assert records[at]["answer"]["by"] == "task"
    found = scored.results["colours_rpts"]
    assert found["accuracy,none"] == 0.5
    assert found["rpts_visual,none"] == pytest.approx(0.9)
    assert "letter_acc,none" not in found
    assert all(shown == [claimed] for claimed, shown in judge.seen)


@table("correct, expected", ("m>=50", 0.5), ("none", math.nan))
def test_which_metric_says_whether_an_answer_is_right(
    tmp_path: Path, correct: str, expected: float
) -> None:
    task = write_foreign_task(tmp_path)
    rows = [said(at, "m", value) for at, value in enumerate([100.0, 40.0, 60.0, 0.0])]
    more = ("--correct", correct)
    with SeeingJudge().server() as server:
        done = score(write(tmp_path / "said.jsonl", *rows), task, tmp_path / "out", server, *more)
    found = done.results["colours_rpts"]
    assert found["rpts_visual,none"] == pytest.approx(0.9)
    assert found["accuracy,none"] == pytest.approx(expected, nan_ok=True), done.output


@table("filters", EXTRACTS, OWN_FILTERS)
def test_own_filters_and_pipelines_that_extract_the_answer(tmp_path: Path, filters: str) -> None:
    """The model's full response is scored, not the filter's extract."""
    task = write_foreign_task(tmp_path, filters=filters)
    with SeeingJudge().server() as server:
        plain = replay(tmp_path / "plain", task, settings(server), "--reasoning_tags", "none")
        done = score(plain.folder, task, tmp_path / "out", server)
    assert [len(each["steps"]) for each in records_of(done).values()] == [2] * 6, done.output
    assert done.results["colours_rpts"]["accuracy,none"] == 0.5


def test_what_a_filter_left_of_responses_is_refused(tmp_path: Path) -> None:
    """lmms-eval saves nothing else while it strips thinking tags, which is its default."""
    task = write_foreign_task(tmp_path, filters=EXTRACTS)
    with SeeingJudge().server() as server:
        plain = replay(tmp_path / "plain", task, settings(server))
        done = score(plain.folder, task, tmp_path / "out", server)
        assert server.calls == 0
    assert done.code == 1
    assert "contains filtered responses to colours (regex)" in done.output
    assert "--reasoning_tags none" in done.output


@table(
    "row, named",
    ({"doc_id": 10**17}, "doc_id 100000000000000000 of colours"),
    ({"task": "../evil"}, "Unknown task '../evil' of lmms-eval"),
    ({"target": "another answer"}, "have the gold answer 'another answer' for document 0"),
)
def test_samples_that_cannot_be_scored(tmp_path: Path, row: dict[str, Any], named: str) -> None:
    task = write_foreign_task(tmp_path)
    with SeeingJudge().server() as server:
        samples = write(tmp_path / "said.jsonl", {**said(0), **row})
        done = score(samples, task, tmp_path / "out", server)
        assert server.calls == 0
    assert done.code == 1
    assert named in done.output
    assert "Traceback" not in done.output


def test_repeats_and_a_part_of_the_documents(tmp_path: Path) -> None:
    """With one value for two responses, the second one's correctness is unknown."""
    task = write_foreign_task(tmp_path)
    both = [response_to(task.documents[0], letter) for letter in "AB"]
    rows = [said(0) | {"response": both}, said(1) | {"response": [both[0]] * 2}, said(4)]
    with SeeingJudge().server() as server:
        done = score(
            *(write(tmp_path / "said.jsonl", *rows), task, tmp_path / "out", server),
            *("--limit", "2"),
        )
    found = {at: [each["answer"]["correct"] for each in r] for at, r in records_of(done).items()}
    assert found == {0: [True, None], 1: [True, True]}, done.output


def test_the_steps_of_responses_whose_answers_we_grade(tmp_path: Path) -> None:
    """``rome_geo`` alone would grade the answers again."""
    (tmp_path / "rome").mkdir()
    rome.write_rome(tmp_path / "rome")
    env = {
        "ROME_PATH": str(tmp_path / "rome"),
        "REFORM_PATH": str(write_reform(tmp_path / "reform")),
        "LMMS_RPTS_JUDGE": "lexical",
        "LMMS_RPTS_EVIDENCE": "facts",
    }
    tasks = ("rome_geo", "reform_gqa")
    text = "Conclusion 0: from Image 0, {}\nConclusion 1: from Conclusion 0, so\n(A)"
    rows = [
        {"task": task, "doc_id": at, "response": text.format(at)}
        for task in tasks
        for at in range(2)
    ]
    model = f"samples={write(tmp_path / 'said.jsonl', *rows)}"
    words = ("--model", "replay", "--model_args", model, "--limit", "2", "--tasks", ",".join(tasks))
    plain = run_lmms_eval(tmp_path / "out", *words, env=env)
    for task in tasks:
        output, name = tmp_path / task, f"{task}_rpts"
        done = run(
            [COMMAND, "score", str(plain.folder), "--task", name, "-o", str(output)], env=env
        )
        records = records_of(Run(done.stdout, 0, output), name)
        assert len(records) == 2, done.stdout
        for at, record in records.items():
            assert len(record["steps"]) == 2
            assert record["instance"]["visual_clue"] == [f"{name}#{at}/0"]
            assert record["answer"]["correct"] is (plain.samples(task)[at]["accuracy"] == 1)
