"""How runs of ``NAME_rpts`` end: messages, failing processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.host.documents import with_steps
from tests.support.environment import write_config
from tests.support.foreign_task import ForeignTask, write_foreign_task
from tests.support.lmms import Run, run_lmms_eval
from tests.support.tables import table
from tests.test_any_task_end_to_end import rows_of

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
