"""How runs of ``NAME_rpts`` end: messages, unlisted metrics, failing processes."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.any_task.correctness import may_return
from lmms_rpts.tasks.any_task.host import NOT_TOLD
from lmms_rpts.tasks.any_task.prompts import with_steps
from tests.support.environment import write_config
from tests.support.foreign_task import ForeignTask, write_foreign_task
from tests.support.lmms import Run, run_lmms_eval
from tests.support.tables import table
from tests.test_any_task_end_to_end import records_of, rows_of

UNLISTED = """
_results = process_results


def process_results(doc, results):
    return _results(doc, results) | {"bonus": float(doc["squares"][0] < 2)}


NOT_RETURNED = "unheard_of"
"""
RAISING = """
_results = process_results


def process_results(doc, results):
    if doc["squares"] == [2]:
        raise RuntimeError("nobody knows square 2")
    return _results(doc, results)
"""


def evaluate(folder: Path, task: ForeignTask, name: str = "colours_rpts", **more: str) -> Run:
    processes = int(more.pop("processes", "1"))
    samples = task.responses(folder / "said.jsonl", name)
    chosen = {"correct": more.pop("correct")} if "correct" in more else {}
    config = write_config(folder, judge="lexical", evidence="facts", **chosen)
    return run_lmms_eval(
        folder / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", name),
        *("--include_path", task.include_path),
        env=config | more,
        processes=processes,
    )


@table(
    "settings, said",
    ({"LMMS_RPTS_JUDGE": "nobody:x"}, "nobody:x"),
    ({"correct": "letter_ac"}, "'letter_ac' is not a metric"),
)
def test_the_message_to_the_user_comes_last(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    task = write_foreign_task(tmp_path, utils=RAISING)
    done = evaluate(tmp_path, task, **settings)
    assert not list(done.folder.rglob("*_results.json"))
    _, found, message = done.output.rpartition("Error during evaluation: ")
    assert found
    assert said in message
    assert message.rstrip().removesuffix("\x1b[0m").endswith("to get more information.")


def test_a_metric_that_the_task_does_not_list(tmp_path: Path) -> None:
    """As in ``lmms-rpts score``; with an unknown name, answers stay ungraded."""
    task = write_foreign_task(tmp_path, utils=UNLISTED)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    done = evaluate(tmp_path / "a", task, correct="bonus")
    correct = {at: each["answer"]["correct"] for at, each in records_of(done).items()}
    assert correct == {0: True, 1: True, 2: False, 3: False, 4: False, 5: False}, done.output
    assert "process_results may return it" in done.output
    done = evaluate(tmp_path / "b", task, correct="unheard_of")
    answers = [each["answer"] for each in records_of(done).values()]
    assert {(each["correct"], each["error"]) for each in answers} == {(None, NOT_TOLD)}
    assert "Use one of length, letter_acc, percent, bonus" in done.output


@table(
    "text, may",
    ("bonus", True),
    (" bonus.hit >= 0.5", True),
    ("bonu", False),
    ("x" * 100_000, False),
)
def test_what_process_results_may_return(tmp_path: Path, text: str, may: bool) -> None:
    (tmp_path / "utils.py").write_text("def results(doc, said):\n    return {'bonus': 1}\n")
    spec = importlib.util.spec_from_file_location("some_utils", tmp_path / "utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert may_return(module.results, text) is may
    assert may_return(partial(partial(module.results, said=[])), text) is may
    assert may_return(len, text), "not known"


@pytest.mark.slow
def test_a_process_that_fails_keeps_nobody_waiting(tmp_path: Path) -> None:
    """The first process fails in the task's own metrics, while the second waits for its values."""
    task = write_foreign_task(tmp_path, utils=RAISING)
    done = evaluate(tmp_path, task, processes="2")
    assert "Process 0 of this run failed while it computed the task's own metrics" in done.output
    assert "could not agree" not in done.output
    assert not list(done.folder.rglob("*_results.json"))


def test_estimate_of_an_unknown_task_names_the_option() -> None:
    done = CliRunner().invoke(app, ["estimate", "bars", "--judge", "openai:x"])
    assert done.exit_code == 1
    assert "Unknown task 'bars'. For a custom task, add --include_path FOLDER" in done.output


def test_examples_in_a_prompt_do_not_ask_for_steps(tmp_path: Path) -> None:
    more = "fewshot_config: {sampler: default}\nfewshot_split: test\nnum_fewshot: 2\n"
    task = write_foreign_task(tmp_path, more=more)
    done = evaluate(tmp_path, task, "colours_rpts_steps")
    asked = with_steps("").strip()
    prompts = [row["input"] for row in rows_of(done, "colours_rpts_steps")]
    assert prompts
    for prompt in prompts:
        assert prompt.count("Which colour has") == 3
        assert prompt.count(asked) == 1
        assert prompt.endswith(asked)
