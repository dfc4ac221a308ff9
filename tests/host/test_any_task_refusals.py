"""Tasks that cannot be wrapped are refused before a model is loaded; prompts that ask for steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lmms_eval.models
import lmms_eval.tasks
import pytest

from lmms_rpts.host.documents import with_steps
from lmms_rpts.host.task_index import only_tasks
from lmms_rpts.tasks.data import DataError
from tests.support.environment import write_config
from tests.support.foreign_task import (
    PROCESS,
    VISUALS,
    ForeignTask,
    make_document,
    write_foreign_task,
)
from tests.support.lmms import run_lmms_eval
from tests.support.tables import table

ON_MESSAGES = "doc_to_messages: !function utils.messages\n"
VIDEO = """

def doc_to_visual(doc):
    return ["/clips/a.mp4"]


class Reader:
    def __len__(self):
        return 3


def decoded(doc):
    return [Reader()]


def pictures(doc):
    return [Image.open(each) for each in doc["images"]]
"""


@pytest.fixture(autouse=True)
def _judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


def manager(task: ForeignTask) -> Any:
    with only_tasks([task.name]):
        return lmms_eval.tasks.TaskManager(include_path=task.include_path)


def write_others(task: ForeignTask) -> None:
    """Writes other tasks: by likelihood, in rounds, a group, a tag and a class."""
    folder = Path(task.include_path)
    common = (folder / f"{task.name}.yaml").read_text(encoding="utf-8")

    def write(name: str, kind: str = "generate_until", more: str = "") -> None:
        text = common.replace(f"task: {task.name}\n", f"task: {name}\n") + more
        text = text.replace("output_type: generate_until", f"output_type: {kind}")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")

    write("by_choice", "multiple_choice")
    write("in_rounds", "generate_until_multi_round")
    write("tagged", more="tag: [shades]\n")
    (folder / "palette.yaml").write_text("group: palette\ntask: [colours, tagged]\n")
    (folder / "classy.yaml").write_text("task: classy\nclass: !function utils.Nothing\n")


REFUSED = {
    "by_choice_rpts": "'by_choice' has the output type 'multiple_choice'; only free-text",
    "in_rounds_rpts": "'in_rounds' has the output type 'generate_until_multi_round'",
    "palette_rpts": "is a group of several tasks. List them: --tasks colours_rpts,tagged_rpts",
    "shades_rpts": "is a tag of several tasks. List them: --tasks tagged_rpts",
    "classy_rpts": "'classy' is a task written in Python, which cannot be wrapped",
    "colour_rpts": "lmms-eval has no task 'colour'. Did you mean colours_rpts?",
    "zzzz_qqqq_rpts": "lmms-eval has no task 'zzzz_qqqq'.",
    "rpts_eval_en_rpts": "'rpts_eval_en' is scored by RPTS already: use it without _rpts",
    "rpts_eval_rpts_steps": "'rpts_eval' is a group of several tasks",
    "mmmu_val_rpts_rpts": "lmms-eval has no task 'mmmu_val_rpts'",
}


def test_names_that_cannot_be_wrapped(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    write_others(task)
    tasks = manager(task)
    for name, said in REFUSED.items():
        with pytest.raises(DataError) as caught:
            tasks.match_tasks([name])
        assert str(caught.value).startswith(f"The task {name!r} cannot be run: ")
        assert said in str(caught.value)


@table(
    "visuals, judge, named",
    (VISUALS, "openai:x", "judges support only images, not values of type str"),
    (
        "doc_to_visual: !function utils.decoded\n",
        "openai:x",
        "judges support only images, not values of type Reader",
    ),
    (
        "doc_to_visual: !function utils.pictures\n",
        "lexical",
        "claims about images are judged by the images, but the judge 'lexical' has no vision",
    ),
)
def test_documents_that_cannot_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visuals: str, judge: str, named: str
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", judge)
    task = write_foreign_task(tmp_path, visuals=visuals, utils=VIDEO)
    with pytest.raises(DataError, match=r"The task 'colours_rpts' cannot be judged: ") as caught:
        manager(task).load_task_or_group(["colours_rpts"])
    assert named in str(caught.value)


@pytest.mark.slow
@table("how", "no images", "no function", "facts")
def test_a_judge_without_vision_is_let_in(tmp_path: Path, how: str) -> None:
    """For a task of texts, or if claims about images count as facts."""
    texts = [make_document(tmp_path / "images", gold="AB"[at % 2]) for at in range(2)]
    documents = None if how == "facts" else texts
    task = write_foreign_task(tmp_path, documents, visuals="" if how == "no function" else VISUALS)
    samples = task.responses(tmp_path / "said.jsonl", "colours_rpts")
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours_rpts"),
        *("--include_path", task.include_path),
        env={"LMMS_RPTS_JUDGE": "lexical"}
        | ({"LMMS_RPTS_EVIDENCE": "facts"} if how == "facts" else {}),
    )
    found = done.results["colours_rpts"]
    assert (found["accuracy,rpts"], found["judge_coverage,rpts"]) == (0.5, 1.0), done.output
    if how == "facts":
        assert found["rpts_visual,rpts"] == 1.0


@pytest.mark.slow
def test_an_unknown_metric_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", "pretrained=/no/such/model"),
        *("--tasks", "colours_rpts", "--include_path", task.include_path),
        env=write_config(tmp_path, judge="none", correct="colour"),
    )
    assert "'colour' is not a metric of the task" in done.output
    assert "Use one of length, letter_acc, percent, or none" in done.output
    assert "/no/such/model" not in done.output.split("is not a metric")[-1]


def test_nothing_is_made_for_tasks_that_nobody_names(tmp_path: Path) -> None:
    tasks = manager(write_foreign_task(tmp_path))
    before = set(tasks.all_tasks)
    assert "colours" in before
    assert not [name for name in before if name == "colours_rpts"]
    for _ in range(2):  # before and after its other name is asked for
        plain = tasks.load_task_or_group(["colours"])["colours"]
        assert [each.name for each in plain._filters] == ["none"]
        assert list(plain.aggregation()) == ["length", "letter_acc", "percent"]
        assert tasks.match_tasks(["colours_rpts"]) == ["colours_rpts"]
    assert set(tasks.all_tasks) - before == {"colours_rpts"}


def test_a_task_of_the_same_name_wins(tmp_path: Path) -> None:
    """A user's own task ``..._rpts`` takes precedence."""
    task = write_foreign_task(tmp_path, name="painting_rpts", process=PROCESS)
    write_foreign_task(tmp_path / "base", name="painting")
    found = manager(task).load_task_or_group(["painting_rpts"])["painting_rpts"]
    assert [each.name for each in found._filters] == ["none"]


@table("visuals, own", (VISUALS, 0), (ON_MESSAGES, 1), (VISUALS + ON_MESSAGES, 1))
def test_chats_ask_for_steps(tmp_path: Path, visuals: str, own: int) -> None:
    tasks = manager(write_foreign_task(tmp_path, visuals=visuals))
    tasks.match_tasks(["colours_rpts_steps", "colours_rpts"])
    for kind in ("chat", "simple"):
        found = tasks.load_task_or_group(["colours_rpts_steps"], task_type=kind)
        task = found["colours_rpts_steps"]
        doc = task.task_docs[0]
        assert task.doc_to_text(doc) == with_steps(doc["question"])
        if kind == "chat":
            *shown, asked = task.doc_to_messages(doc)[0]["content"]
            said = shown[-1]["text"] + asked["text"] if own else asked["text"]
            assert said == with_steps(doc["question"])
        assert task.config.generation_kwargs["max_new_tokens"] == 2048
        assert task.config.generation_kwargs["until"] == []
        plain = tasks.load_task_or_group(["colours_rpts"], task_type=kind)["colours_rpts"]
        assert plain.doc_to_text(doc) == doc["question"]
