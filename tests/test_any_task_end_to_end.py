"""RPTS around tasks of other packages, in the real lmms-eval: their results are unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.filters.metrics import METRICS as OURS
from lmms_rpts.host.documents import with_steps
from tests.support.environment import write_config
from tests.support.foreign_task import (
    OWN_FILTERS,
    VISUALS,
    ForeignTask,
    SeeingJudge,
    make_document,
    record_of,
    records_of,
    response_to,
    rows_of,
    settings,
    write_foreign_task,
)
from tests.support.lmms import Run, run_lmms_eval
from tests.support.tables import table

pytestmark = pytest.mark.slow

Many = tuple[Run, SeeingJudge]

ON_PATHS = "doc_to_visual: !function utils.paths\n"
ON_MESSAGES = "doc_to_messages: !function utils.messages\n"


def of_the_task(done: Run, task: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The task's own metrics with their standard errors, and the lines of its own pipelines."""
    rows = [row for row in rows_of(done, task) if record_of(row) is None]
    for row in rows:
        del row["letter_acc"]["random"]
        row.pop("messages", None)  # those that the model got are logged for our tasks
    metrics = {
        name: value
        for name, value in done.results[task].items()
        if name.startswith(("length", "letter_acc", "percent")) and "_stderr_cl" not in name
    }
    # Two pipelines of percent and length with standard errors, letter_acc without.
    assert len(metrics) == 12, done.output
    return metrics, sorted(rows, key=lambda row: (row["doc_id"], json.dumps(row)))


def evaluate(
    folder: Path,
    names: Sequence[str],
    *more: str,
    said: Mapping[str, Sequence[Any]] | None = None,
    model: str = "",
    processes: int = 1,
    env: Mapping[str, str] | None = None,
) -> Many:
    """Runs the tasks ``names`` below ``folder``: on responses by task, or with a model."""
    rows = [
        {"task": name, "doc_id": at, "response": response}
        for name in names
        for at, response in enumerate((said or {}).get(name, ()))
    ]
    samples = folder / "said.jsonl"
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    chosen = ("llava_hf", model) if model else ("replay", f"samples={samples}")
    judge = SeeingJudge()
    with judge.server() as server:
        run = run_lmms_eval(
            folder / f"out-{'-'.join(names)[:40]}-{processes}",
            *("--model", chosen[0], "--model_args", chosen[1], "--tasks", ",".join(names)),
            *("--include_path", str(folder), *more),
            env=settings(server, **(env or {})),
            processes=processes,
        )
    return run, judge


def said_by(task: ForeignTask) -> list[str]:
    return [response_to(doc) for doc in task.documents]


# ---- one run of many tasks on saved responses

ONE = "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n"
BOTH = """
metric_list:
  - {metric: accuracy, aggregation: mean, higher_is_better: true}
  - {metric: rpts, aggregation: mean, higher_is_better: true}
"""
NAMED = """

def process_results(doc, results):
    return {"accuracy": float(doc["gold"] == "A"), "rpts": 0.125}


def exact(doc, results):
    return {"exact_match": int(results[0] == doc["gold"])}
"""
LETTER = """
filter_list:
  - name: letter
    filter: [{function: regex, regex_pattern: "([A-Z])$"}, {function: take_first}]
"""
FEWSHOT = "fewshot_config: {sampler: default}\nfewshot_split: test\nnum_fewshot: 2\n"
EXACT: dict[str, str] = {"metrics": ONE, "filters": LETTER, "utils": NAMED}
TASKS: dict[str, dict[str, str]] = {
    "thinking": {"filters": OWN_FILTERS},
    # lmms-eval computes the metric, or a function of the task.
    "computed": {**EXACT, "process": ""},
    "exact": {**EXACT, "process": "process_results: !function utils.exact\n"},
    "named": {"metrics": BOTH, "utils": NAMED},
    "bare": {"process": "", "metrics": ""},
    "visuals": {"visuals": VISUALS},
    "paths": {"visuals": ON_PATHS},
    "messages": {"visuals": ON_MESSAGES},
    "both": {"visuals": VISUALS + ON_MESSAGES},
    "fewshot": {"more": FEWSHOT},
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Many:
    folder = tmp_path_factory.mktemp("many")
    tasks = {
        name: write_foreign_task(folder / name, name=name, **how) for name, how in TASKS.items()
    }
    said: dict[str, list[str]] = {f"{name}_rpts": said_by(task) for name, task in tasks.items()}
    thoughts = [f"<think>hm {at}</think>{each}" for at, each in enumerate(said["bare_rpts"])]
    said["thinking"] = said["thinking_rpts"] = thoughts
    said["bare_rpts"] = [str(doc["gold"]) for doc in tasks["bare"].documents]
    said["fewshot_rpts_steps"] = said.pop("fewshot_rpts")
    return evaluate(folder, [*said], said=said)


def test_thinking_is_stripped_for_the_task_alone(many: Many) -> None:
    """lmms-eval strips thinking for the task's own metrics; the record contains it."""
    assert of_the_task(many[0], "thinking_rpts") == of_the_task(many[0], "thinking")
    for row in rows_of(many[0], "thinking_rpts"):
        if record_of(row) is None:
            assert "<think>" not in row["filtered_resps"]
        else:
            assert "<think>" in row["resps"][0]
            assert row["accuracy"] == float(row["target"] == "A")


@table(
    "task, expected",
    ("thinking", {"accuracy,rpts": 0.5}),
    ("computed", {"exact_match,letter": 0.5, "accuracy,rpts": 0.5}),
    ("exact", {"exact_match,letter": 0.5, "accuracy,rpts": 0.5}),
    # Our metrics of the same names have others.
    ("named", {"accuracy,none": 0.5, "rpts,none": 0.125, "rpts_accuracy,rpts": 0.5}),
    ("bare", {"exact_match,none": 1.0, "accuracy,rpts": 1.0}),
    *((name, {"rpts_visual,rpts": 0.9}) for name in ("visuals", "paths", "messages", "both")),
)
def test_the_metrics_of_a_task_and_ours(
    many: tuple[Run, SeeingJudge], task: str, expected: dict[str, float]
) -> None:
    found = many[0].results[f"{task}_rpts"]
    assert {name: found[name] for name in expected} == pytest.approx(expected), many[0].output
    assert ("accuracy,rpts" in found) == (task != "named")
    assert ("rpts_rpts,rpts" in found) == (task == "named")


def test_images_however_the_task_gives_them(many: Many) -> None:
    for name in ("visuals", "paths", "messages", "both"):
        assert len(records_of(many[0], f"{name}_rpts")) == 6
    assert {claimed for claimed, _ in many[1].seen} == {*range(6)}
    assert all(shown == [claimed] for claimed, shown in many[1].seen)


def test_examples_in_a_prompt_do_not_ask_for_steps(many: Many) -> None:
    asked = with_steps("").strip()
    prompts = [row["input"] for row in rows_of(many[0], "fewshot_rpts_steps")]
    assert prompts
    for prompt in prompts:
        assert prompt.count("Which colour has") == 3
        assert prompt.count(asked) == 1
        assert prompt.endswith(asked)


# ---- a real model, several processes


def test_a_real_model_and_nothing_of_the_task_is_changed(tmp_path: Path, tiny_llava: str) -> None:
    task = write_foreign_task(tmp_path, filters=OWN_FILTERS)
    more = ("--gen_kwargs", "max_new_tokens=12")
    plain, unasked = evaluate(tmp_path, ["colours"], *more, model=tiny_llava)
    assert not unasked.kinds
    ours, judge = evaluate(tmp_path, ["colours_rpts"], *more, model=tiny_llava, processes=2)
    assert of_the_task(ours, "colours_rpts") == of_the_task(plain, "colours")
    assert len(records_of(ours)) == len(task.documents)
    results = ours.results["colours_rpts"]
    asked = {f"{name},rpts" for name, each in OURS.items() if not each.optional}
    assert {name for name in results if name.endswith(",rpts")} >= asked
    assert not any(f"{name},rpts" in results for name, each in OURS.items() if each.optional)
    assert not any(f"{name},whole" in results for name in OURS)
    assert results["rpts_visual,rpts"] == pytest.approx(0.9)
    assert len(judge.seen) == 6
    assert all(shown == [claimed] for claimed, shown in judge.seen)


def test_a_chat_model_on_messages(tmp_path: Path, tiny_llava: str) -> None:
    """Also for the steps variant: the model's prompt ends with our instructions."""
    for name, visuals in {"alone": ON_MESSAGES, "both": VISUALS + ON_MESSAGES}.items():
        task = write_foreign_task(tmp_path / name, name=name, visuals=visuals)
    names = ["alone_rpts", "alone_rpts_steps", "both_rpts", "both_rpts_steps"]
    more = ("--limit", "2", "--gen_kwargs", "max_new_tokens=8")
    done, judge = evaluate(tmp_path, names, *more, model=tiny_llava)
    for name in names:
        questions = [each["instance"]["context"] for each in records_of(done, name).values()]
        assert questions == [doc["question"] for doc in task.documents[:2]], done.output
    assert all(shown == [claimed] for claimed, shown in judge.seen)


def test_the_right_image_comes_with_the_right_claim(tmp_path: Path) -> None:
    """Two images per document, a duplicate document, an offset, a limit, repeats, two processes."""
    squares = [(0, 1), (2, 3), (4, 5), (6, 7), (6, 7), (10, 11), (12, 13)]
    documents = [make_document(tmp_path / "images", *each) for each in squares]
    write_foreign_task(tmp_path, documents)
    said = {"colours_rpts": [[response_to(doc, "A"), response_to(doc, "B")] for doc in documents]}
    more = ("--offset", "2", "--limit", "4", "--repeats", "2")
    done, judge = evaluate(tmp_path, [*said], *more, said=said, processes=2)
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


MIXED = """

def process_results(doc, results):
    number = doc["squares"][0]
    stars = 7 if number % 2 else number % 4 / 2
    return {"stars": stars, "hit": int(results[0].strip()[-1:] == doc["gold"])}
"""


def test_all_processes_choose_the_same_metric(tmp_path: Path) -> None:
    """One of two processes sees that ``stars`` has another scale; or one has no documents."""
    metrics = """
metric_list:
  - {metric: stars, aggregation: mean, higher_is_better: true}
  - {metric: hit, aggregation: mean, higher_is_better: true}
"""
    said = {"colours_rpts": said_by(write_foreign_task(tmp_path, metrics=metrics, utils=MIXED))}
    one, _ = evaluate(tmp_path, [*said], said=said)
    two, _ = evaluate(tmp_path, [*said], said=said, processes=2)
    assert records_of(one) == records_of(two)
    assert two.results["colours_rpts"]["accuracy,rpts"] == 0.5
    (tmp_path / "idle").mkdir()
    write_foreign_task(tmp_path / "idle", metrics=metrics, utils=MIXED)
    idle, _ = evaluate(tmp_path / "idle", [*said], "--limit", "1", said=said, processes=2)
    assert len(records_of(idle)) == 1
    assert idle.results["colours_rpts"]["accuracy,rpts"] == 0.0


# ---- how runs end

RAISING = """
_results = process_results


def process_results(doc, results):
    if doc["squares"] == [2]:
        raise RuntimeError("nobody knows square 2")
    return _results(doc, results)
"""


@table(
    "settings, said",
    ({"LMMS_RPTS_JUDGE": "nobody:x"}, "nobody:x"),
    ({"correct": "letter_ac"}, "'letter_ac' is not a metric"),
)
def test_the_message_to_the_user_comes_last(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    write_foreign_task(tmp_path, utils=RAISING)
    env = write_config(tmp_path, **settings) if "correct" in settings else settings
    done, _ = evaluate(tmp_path, ["colours_rpts"], env=env)
    assert not list(done.folder.rglob("*_results.json"))
    _, found, message = done.output.rpartition("Error during evaluation: ")
    assert found
    assert said in message
    assert message.rstrip().removesuffix("\x1b[0m").endswith("to get more information.")


def test_a_process_that_fails_keeps_nobody_waiting(tmp_path: Path) -> None:
    """The first process fails in the task's own metrics, while the second waits for its values."""
    said = {"colours_rpts": said_by(write_foreign_task(tmp_path, utils=RAISING))}
    done, _ = evaluate(tmp_path, [*said], said=said, processes=2)
    assert "Process 0 of this run failed while it computed the task's own metrics" in done.output
    assert "could not agree" not in done.output
    assert not list(done.folder.rglob("*_results.json"))


def test_estimate_of_an_unknown_task_names_the_option() -> None:
    done = CliRunner().invoke(app, ["estimate", "bars", "--judge", "openai:x"])
    assert done.exit_code == 1
    assert "Unknown task 'bars'. For a custom task, add --include_path FOLDER" in done.output
