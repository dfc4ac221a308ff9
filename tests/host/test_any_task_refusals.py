"""Tasks that cannot be wrapped are refused before a model is loaded, with the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.environment import write_config
from tests.support.foreign_task import (
    PROCESS,
    VISUALS,
    ForeignTask,
    make_document,
    write_foreign_task,
)
from tests.support.lmms import Run, run, run_lmms_eval
from tests.support.tables import table

pytestmark = pytest.mark.slow

NO_MODEL = "pretrained=/no/such/model"
VIDEO = """

def doc_to_visual(doc):
    return ["/clips/a.mp4"]


class Reader:
    def __len__(self):
        return 3


def decoded(doc):
    return [Reader()]
"""


def refused(tmp_path: Path, task: ForeignTask, name: str, judge: str = "lexical") -> Run:
    """A run of a model that cannot be loaded."""
    return run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", NO_MODEL, "--tasks", name),
        *("--include_path", task.include_path),
        env={"LMMS_RPTS_JUDGE": judge, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
    )


def write_others(task: ForeignTask) -> None:
    """Writes other tasks: by likelihood, in rounds, a group, a tag and a class."""
    folder = Path(task.include_path)
    common = (folder / f"{task.name}.yaml").read_text(encoding="utf-8")

    def write(name: str, **changed: str) -> None:
        text = common.replace(f"task: {task.name}\n", f"task: {name}\n")
        for old, new in changed.items():
            text = text.replace(f"{old}: generate_until", f"{old}: {new}")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")

    write("by_choice", output_type="multiple_choice")
    write("in_rounds", output_type="generate_until_multi_round")
    write("tagged")
    with (folder / "tagged.yaml").open("a", encoding="utf-8") as out:
        out.write("tag: [shades]\n")
    (folder / "palette.yaml").write_text("group: palette\ntask: [colours, tagged]\n")
    (folder / "classy.yaml").write_text("task: classy\nclass: !function utils.Nothing\n")


@table(
    "name, named",
    ("by_choice_rpts", "'by_choice' has the output type 'multiple_choice'; only free-text"),
    ("in_rounds_rpts", "'in_rounds' has the output type 'generate_until_multi_round'"),
    ("palette_rpts", "is a group of several tasks. List them: --tasks colours_rpts,tagged_rpts"),
    ("shades_rpts", "is a tag of several tasks. List them: --tasks tagged_rpts"),
    ("classy_rpts", "'classy' is a task written in Python, which cannot be wrapped"),
    ("colour_rpts", "lmms-eval has no task 'colour'. Did you mean colours_rpts?"),
    ("zzzz_qqqq_rpts", "lmms-eval has no task 'zzzz_qqqq'."),
    ("rpts_eval_en_rpts", "'rpts_eval_en' is scored by RPTS already: use it without _rpts"),
    ("rpts_eval_rpts_steps", "'rpts_eval' is a group of several tasks"),
    ("mmmu_val_rpts_rpts", "lmms-eval has no task 'mmmu_val_rpts'"),
)
def test_names_that_cannot_be_wrapped(tmp_path: Path, name: str, named: str) -> None:
    task = write_foreign_task(tmp_path)
    write_others(task)
    done = refused(tmp_path, task, name)
    assert f"The task {name!r} cannot be run: " in done.output, done.output
    assert named in done.output, done.output
    assert done.code != 0 or "Error" in done.output
    assert "/no/such/model" not in done.output.split("can't be run")[-1]


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
    tmp_path: Path, visuals: str, judge: str, named: str
) -> None:
    pictures = "\n\ndef pictures(doc):\n    return [Image.open(each) for each in doc['images']]\n"
    task = write_foreign_task(tmp_path, visuals=visuals, utils=VIDEO + pictures)
    done = refused(tmp_path, task, "colours_rpts", judge)
    assert "The task 'colours_rpts' cannot be judged: " in done.output, done.output
    assert named in done.output
    assert "/no/such/model" not in done.output.split("cannot be judged")[-1]


@table("visuals", "", VISUALS)
def test_a_task_of_texts_needs_no_judge_that_sees(tmp_path: Path, visuals: str) -> None:
    documents = [make_document(tmp_path / "images", gold="AB"[at % 2]) for at in range(2)]
    task = write_foreign_task(tmp_path, documents, visuals=visuals)
    samples = task.responses(tmp_path / "said.jsonl", "colours_rpts")
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours_rpts"),
        *("--include_path", task.include_path),
        env={"LMMS_RPTS_JUDGE": "lexical"},
    )
    found = done.results["colours_rpts"]
    assert (found["accuracy,rpts"], found["judge_coverage,rpts"]) == (0.5, 1.0), done.output


def test_facts_let_a_blind_judge_in(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    samples = task.responses(tmp_path / "said.jsonl", "colours_rpts")
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours_rpts"),
        *("--include_path", task.include_path),
        env={"LMMS_RPTS_JUDGE": "lexical", "LMMS_RPTS_EVIDENCE": "facts"},
    )
    assert done.results["colours_rpts"]["rpts_visual,rpts"] == 1.0, done.output


def test_an_unknown_metric_is_refused(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "llava_hf", "--model_args", NO_MODEL, "--tasks", "colours_rpts"),
        *("--include_path", task.include_path),
        env=write_config(tmp_path, judge="none", correct="colour"),
    )
    assert "'colour' is not a metric of the task" in done.output
    assert "Use one of length, letter_acc, percent, or none" in done.output
    assert "/no/such/model" not in done.output.split("is not a metric")[-1]


NOTHING_IS_ADDED = """
import lmms_rpts
from lmms_eval.tasks import TaskManager
manager = TaskManager(include_path={path!r})
before = set(manager.all_tasks)
assert "colours" in before and "colours_rpts" not in before
assert not [name for name in before if name.endswith(("mme_rpts", "mmmu_val_rpts"))]
assert manager.match_tasks(["colours"]) == ["colours"]
plain = manager.load_task_or_group(["colours"])["colours"]
assert [each.name for each in plain._filters] == ["none"], plain._filters
assert "rpts" not in plain.aggregation()
assert set(manager.all_tasks) == before
assert manager.match_tasks(["colours_rpts"]) == ["colours_rpts"]
assert set(manager.all_tasks) - before == {{"colours_rpts"}}
again = manager.load_task_or_group(["colours"])["colours"]
assert [each.name for each in again._filters] == ["none"], again._filters
assert list(again.aggregation()) == ["length", "letter_acc", "percent"]
print("fine")
"""


def test_nothing_is_made_for_tasks_that_nobody_names(tmp_path: Path) -> None:
    task = write_foreign_task(tmp_path)
    code = NOTHING_IS_ADDED.format(path=task.include_path)
    done = run([sys.executable, "-c", code], env={"LMMS_RPTS_JUDGE": "none"})
    assert done.stdout.endswith("fine\n"), done.stdout


def test_a_task_of_the_same_name_wins(tmp_path: Path) -> None:
    """A user's own task ``..._rpts`` takes precedence."""
    task = write_foreign_task(tmp_path, name="painting_rpts", process=PROCESS)
    write_foreign_task(tmp_path / "base", name="painting")
    samples = task.responses(tmp_path / "said.jsonl", "painting_rpts")
    done = run_lmms_eval(
        tmp_path / "out",
        *("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "painting_rpts"),
        *("--include_path", str(tmp_path)),
    )
    assert "letter_acc,none" in done.results["painting_rpts"], done.output
    assert not any(",rpts" in name for name in done.results["painting_rpts"])


STEPS_IN_CHATS = """
import lmms_rpts
from lmms_eval.tasks import TaskManager
from lmms_rpts.host.documents import with_steps
manager = TaskManager(include_path={path!r})
for kind in ("chat", "simple"):
    task = manager.load_task_or_group(["colours_rpts_steps"], task_type=kind)["colours_rpts_steps"]
    doc = task.task_docs[0]
    assert task.doc_to_text(doc) == with_steps(doc["question"]), task.doc_to_text(doc)
    if kind == "chat":
        *shown, asked = task.doc_to_messages(doc)[0]["content"]
        said = asked["text"] if {own} == 0 else shown[-1]["text"] + asked["text"]
        assert said == with_steps(doc["question"]), said
    assert task.config.generation_kwargs["max_new_tokens"] == 2048
    assert task.config.generation_kwargs["until"] == []
    plain = manager.load_task_or_group(["colours_rpts"], task_type=kind)["colours_rpts"]
    assert plain.doc_to_text(doc) == doc["question"]
print("fine")
"""


@table(
    "visuals, own",
    (VISUALS, 0),
    ("doc_to_messages: !function utils.messages\n", 1),
    (VISUALS + "doc_to_messages: !function utils.messages\n", 1),
)
def test_chats_ask_for_steps(tmp_path: Path, visuals: str, own: int) -> None:
    task = write_foreign_task(tmp_path, visuals=visuals)
    code = STEPS_IN_CHATS.format(path=task.include_path, own=own)
    env = {"LMMS_RPTS_JUDGE": "none"}
    done = run([sys.executable, "-c", code], env=env)
    assert done.stdout.endswith("fine\n"), done.stdout
