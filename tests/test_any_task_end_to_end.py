"""RPTS around tasks of other packages, in the real lmms-eval: their results are unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.filters.metrics import METRICS as OURS
from tests.support.foreign_task import (
    OWN_FILTERS,
    VISUALS,
    ForeignTask,
    SeeingJudge,
    make_document,
    response_to,
    write_foreign_task,
)
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run_lmms_eval
from tests.support.tables import table

ON_PATHS = "doc_to_visual: !function utils.paths\n"
ON_MESSAGES = "doc_to_messages: !function utils.messages\n"
PIPELINES = ("whole", "last_letter")
OWN = ("length", "letter_acc", "percent")
_VARYING = ("random",)


@pytest.fixture
def judge() -> SeeingJudge:
    return SeeingJudge()


@pytest.fixture
def server(judge: SeeingJudge) -> Iterator[JudgeServer]:
    with judge.server() as running:
        yield running


def settings(server: JudgeServer, **more: str) -> dict[str, str]:
    return {"LMMS_RPTS_JUDGE": "openai:fake", "OPENAI_BASE_URL": server.url, **more}


def evaluate(
    folder: Path,
    task: ForeignTask,
    name: str,
    env: Mapping[str, str],
    *more: str,
    model: tuple[str, str],
    processes: int = 1,
) -> Run:
    return run_lmms_eval(
        folder,
        *("--model", model[0], "--model_args", model[1], "--tasks", name),
        *("--include_path", task.include_path, *more),
        env=env,
        processes=processes,
    )


def replay(
    folder: Path,
    task: ForeignTask,
    env: Mapping[str, str],
    *more: str,
    name: str | None = None,
    texts: list[str] | None = None,
    processes: int = 1,
) -> Run:
    name = name or f"{task.name}_rpts"
    folder.mkdir(parents=True, exist_ok=True)
    samples = task.responses(folder / "said.jsonl", name, texts)
    model = ("replay", f"samples={samples}")
    return evaluate(folder / "out", task, name, env, *more, model=model, processes=processes)


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
    records = [json.loads(text) for text in texts]
    return records if len(records) > 1 else records[0]


def records_of(done: Run, task: str = "colours_rpts") -> dict[int, Any]:
    """The records by document, one line each."""
    found = [(row["doc_id"], record_of(row)) for row in rows_of(done, task)]
    there = [(doc_id, record) for doc_id, record in found if record is not None]
    assert len(there) == len(dict(there)), "a document has several records"
    return dict(there)


def own_rows(done: Run, task: str) -> list[dict[str, Any]]:
    """The lines of the task's own pipelines, without random or run-specific values."""

    def plain(row: Mapping[str, Any]) -> dict[str, Any]:
        acc = {key: value for key, value in row["letter_acc"].items() if key not in _VARYING}
        return {**row, "letter_acc": acc}

    rows = [plain(row) for row in rows_of(done, task) if record_of(row) is None]
    return sorted(rows, key=lambda row: (row["doc_id"], json.dumps(row, sort_keys=True)))


def own_metrics(done: Run, task: str) -> dict[str, Any]:
    """The task's own results, with their standard errors, as lmms-eval saved them."""
    wanted = {f"{name}{err},{key}" for name in OWN for err in ("", "_stderr") for key in PIPELINES}
    return {name: value for name, value in done.results[task].items() if name in wanted}


# --- a real model --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_real_model_and_nothing_of_the_task_is_changed(
    tmp_path: Path, tiny_llava: str, server: JudgeServer, judge: SeeingJudge
) -> None:
    task = write_foreign_task(tmp_path, filters=OWN_FILTERS)
    more = ("--gen_kwargs", "max_new_tokens=12")

    def run_it(folder: str, name: str, processes: int = 1) -> Run:
        env = settings(server)
        model = ("llava_hf", tiny_llava)
        return evaluate(tmp_path / folder, task, name, env, *more, model=model, processes=processes)

    plain = run_it("plain", "colours")
    asked = server.calls
    assert asked == 0
    one, two = run_it("one", "colours_rpts"), run_it("two", "colours_rpts", processes=2)
    expected = own_metrics(plain, "colours")
    # two pipelines of percent and length with standard errors, letter_acc without
    assert len(expected) == 12
    for done in (one, two):
        assert own_metrics(done, "colours_rpts") == expected, done.output
        assert own_rows(done, "colours_rpts") == own_rows(plain, "colours")
        assert len(records_of(done)) == 6
        assert {f"{name},rpts" for name in OURS} <= set(done.results["colours_rpts"])
        assert not any(f"{name},whole" in done.results["colours_rpts"] for name in OURS)
        assert done.results["colours_rpts"]["rpts_visual,rpts"] == pytest.approx(0.9)
    assert records_of(one) == records_of(two)
    ours = {key: value for key, value in one.results["colours_rpts"].items() if ",rpts" in key}
    again = two.results["colours_rpts"]
    assert ours == pytest.approx({key: again[key] for key in ours}, nan_ok=True)
    assert len(judge.seen) == 12
    assert all(shown == [claimed] for claimed, shown in judge.seen)


def test_thinking_is_stripped_for_the_task_alone(tmp_path: Path, server: JudgeServer) -> None:
    """lmms-eval strips thinking for the task's own metrics; the record contains it."""
    task = write_foreign_task(tmp_path, filters=OWN_FILTERS)
    texts = [f"<think>hm {at}</think>{response_to(doc)}" for at, doc in enumerate(task.documents)]
    env = settings(server)
    plain = replay(tmp_path / "plain", task, env, name="colours", texts=texts)
    done = replay(tmp_path / "ours", task, env, texts=texts)
    assert own_metrics(done, "colours_rpts") == own_metrics(plain, "colours")
    assert own_rows(done, "colours_rpts") == own_rows(plain, "colours")
    for row in rows_of(done, "colours_rpts"):
        if record_of(row) is None:
            assert "<think>" not in row["filtered_resps"]
        else:
            assert "<think>" in row["resps"][0]
            assert row["accuracy"] == float(row["target"] == "A")
    assert done.results["colours_rpts"]["accuracy,rpts"] == 0.5


EXACT = """

def process_results(doc, results):
    return {"exact_match": int(results[0] == doc["gold"])}
"""


@table("process", "", "process_results: !function utils.process_results\n")
def test_tasks_whose_metrics_lmms_eval_computes(
    tmp_path: Path, server: JudgeServer, process: str
) -> None:
    """A task without process_results: each metric compares the response with the gold answer."""
    metrics = "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n"
    letter = """
filter_list:
  - name: letter
    filter: [{function: regex, regex_pattern: "([A-Z])$"}, {function: take_first}]
"""
    task = write_foreign_task(
        tmp_path, process=process, metrics=metrics, filters=letter, utils=EXACT
    )
    done = replay(tmp_path / "ours", task, settings(server))
    found = done.results["colours_rpts"]
    assert (found["exact_match,letter"], found["accuracy,rpts"]) == (0.5, 0.5), done.output


NAMED = """

def process_results(doc, results):
    return {"accuracy": float(doc["gold"] == "A"), "rpts": 0.125}
"""


def test_metrics_of_the_same_names(tmp_path: Path, server: JudgeServer) -> None:
    metrics = """
metric_list:
  - {metric: accuracy, aggregation: mean, higher_is_better: true}
  - {metric: rpts, aggregation: mean, higher_is_better: true}
"""
    task = write_foreign_task(tmp_path, metrics=metrics, utils=NAMED)
    done = replay(tmp_path / "ours", task, settings(server), "--limit", "3")
    found = done.results["colours_rpts"]
    assert (found["accuracy,none"], found["rpts,none"]) == (pytest.approx(2 / 3), 0.125)
    assert found["rpts_accuracy,rpts"] == pytest.approx(2 / 3), done.output
    assert 0.8 < found["rpts_rpts,rpts"] < 0.9
    assert "accuracy,rpts" not in found


def test_a_task_without_metrics_or_filters(tmp_path: Path, server: JudgeServer) -> None:
    task = write_foreign_task(tmp_path, process="", metrics="")
    texts = [str(doc["gold"]) for doc in task.documents]
    done = replay(tmp_path / "ours", task, settings(server), texts=texts)
    found = done.results["colours_rpts"]
    assert (found["exact_match,none"], found["accuracy,rpts"]) == (1.0, 1.0), done.output


# --- images and their questions ------------------------------------------------------------------


@pytest.mark.slow
@table("processes", 1, 2)
def test_the_right_image_comes_with_the_right_claim(tmp_path: Path, processes: int) -> None:
    """Two images per document, a duplicate document, an offset, a limit, repeats."""
    images = tmp_path / "images"
    squares = [(0, 1), (2, 3), (4, 5), (6, 7), (6, 7), (10, 11), (12, 13)]
    documents = [make_document(images, *each) for each in squares]
    task = write_foreign_task(tmp_path, documents)
    samples = tmp_path / "said.jsonl"
    rows = [
        {
            "task": "colours_rpts",
            "doc_id": at,
            "response": [response_to(doc, "A"), response_to(doc, "B")],
        }
        for at, doc in enumerate(documents)
    ]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = SeeingJudge()
    with judge.server() as server:
        done = evaluate(
            tmp_path / "out",
            task,
            "colours_rpts",
            settings(server),
            *("--offset", "2", "--limit", "4", "--repeats", "2"),
            model=("replay", f"samples={samples}"),
            processes=processes,
        )
    records = records_of(done)
    assert set(records) == {2, 3, 4, 5}, done.output
    for doc_id, both in records.items():
        # lmms-eval grades only the first response: the second one's correctness is unknown.
        assert [each["answer"]["correct"] for each in both] == [True, None]
        for each in both:
            scores = [step["score"] for step in each["steps"] if step["modality"] == "visual"]
            assert scores == [0.9, 0.9]
            named = [f"colours_rpts#{doc_id}/{at}" for at in range(2)]
            assert each["instance"]["visual_clue"] == named
            assert each["instance"]["context"] == documents[doc_id]["question"]
    assert {claimed for claimed, _ in judge.seen} == {4, 5, 6, 7, 10, 11}
    assert all(shown == [claimed] for claimed, shown in judge.seen)
    found = done.results["colours_rpts"]
    assert (found["accuracy,rpts"], found["rpts_visual,rpts"]) == (1.0, pytest.approx(0.9))


@table("visuals", VISUALS, ON_PATHS, ON_MESSAGES, VISUALS + ON_MESSAGES)
def test_images_however_the_task_gives_them(tmp_path: Path, visuals: str) -> None:
    task = write_foreign_task(tmp_path, visuals=visuals)
    judge = SeeingJudge()
    with judge.server() as server:
        done = replay(tmp_path, task, settings(server), "--limit", "3")
    assert len(records_of(done)) == 3, done.output
    assert sorted(judge.seen) == [(number, [number]) for number in range(3)]


@pytest.mark.slow
@table("visuals", ON_MESSAGES, VISUALS + ON_MESSAGES)
def test_a_chat_model_on_messages(tmp_path: Path, tiny_llava: str, visuals: str) -> None:
    """Also for the steps variant: the model's prompt ends with our instructions."""
    task = write_foreign_task(tmp_path, visuals=visuals)
    judge = SeeingJudge()
    with judge.server() as server:
        more = ("--limit", "2", "--gen_kwargs", "max_new_tokens=8")
        done = evaluate(
            tmp_path / "out",
            task,
            "colours_rpts,colours_rpts_steps",
            settings(server),
            *more,
            model=("llava_hf", tiny_llava),
        )
    for name in ("colours_rpts", "colours_rpts_steps"):
        records = records_of(done, name)
        assert len(records) == 2, done.output
        questions = [each["instance"]["context"] for each in records.values()]
        assert questions == [doc["question"] for doc in task.documents[:2]]
    assert all(shown == [claimed] for claimed, shown in judge.seen)


MIXED = """

def process_results(doc, results):
    number = doc["squares"][0]
    stars = 7 if number % 2 else number % 4 / 2
    return {"stars": stars, "hit": int(results[0].strip()[-1:] == doc["gold"])}
"""


@pytest.mark.slow
@table("limit", 6, 1)
def test_all_processes_choose_the_same_metric(tmp_path: Path, limit: int) -> None:
    """One of two processes sees that ``stars`` has another scale; or one has no documents."""
    metrics = """
metric_list:
  - {metric: stars, aggregation: mean, higher_is_better: true}
  - {metric: hit, aggregation: mean, higher_is_better: true}
"""
    task = write_foreign_task(tmp_path, metrics=metrics, utils=MIXED)
    more = ("--limit", str(limit))
    with SeeingJudge().server() as server:
        one, two = (
            replay(tmp_path / str(count), task, settings(server), *more, processes=count)
            for count in (1, 2)
        )
    assert records_of(one) == records_of(two), two.output
    assert len(records_of(one)) == limit
    assert one.results["colours_rpts"]["accuracy,rpts"] == (0.5 if limit == 6 else 0.0)
