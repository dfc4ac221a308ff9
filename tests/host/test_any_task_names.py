"""Names and prompts of wrapped tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import lmms_eval.tasks
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.host.documents import (
    image_name,
    language_of,
    load_task,
    messages_with_steps,
    named_images,
    read_image_name,
    with_steps,
    without_steps,
)
from lmms_rpts.host.task_index import WrappedName, add_wrapped, is_scored, split_name
from lmms_rpts.host.wrapped_task import metric_name, wrapped_config
from lmms_rpts.tasks.data import DataError
from tests.support.tables import table


@table(
    "name, found",
    ("mmmu_val_rpts", WrappedName("mmmu_val", "default")),
    ("mmmu_val_rpts_steps", WrappedName("mmmu_val", "steps")),
    ("a_rpts_rpts", WrappedName("a_rpts", "default")),
    ("a_rpts_steps_rpts", WrappedName("a_rpts_steps", "default")),
    ("mmmu_val", None),
    ("rpts_eval", None),
    ("_rpts", None),
    ("_rpts_steps", None),
    ("rpts", None),
    ("", None),
    ("a_RPTS", None),
    ("a_rpts ", None),
    ("İ_rpts", WrappedName("İ", "default")),
)
def test_what_a_name_asks_for(name: str, found: WrappedName | None) -> None:
    assert split_name(name) == found


def manager(*names: str) -> Any:
    index = {name: {"type": "task", "yaml_path": "/none.yaml"} for name in names}
    return SimpleNamespace(task_index=index, all_tasks=list(names), all_subtasks=list(names))


@table("name", "a*_rpts", "?_rpts", "[ab]_rpts", "x/y_rpts", "x.yaml", "a", "a_rpts")
def test_what_is_no_name_or_known_is_left_alone(name: str) -> None:
    tasks = manager("a", "a_rpts")
    add_wrapped(tasks, [name, {"task": "b_rpts"}, None])
    assert list(tasks.task_index) == ["a", "a_rpts"]
    assert tasks.all_tasks == ["a", "a_rpts"]


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(DataError, match=r"no task 'mmu_val'\. Did you mean mmmu_val_rpts\?"):
        add_wrapped(manager("mmmu_val", "mme"), ["mmu_val_rpts"])


@table("name, near", ("mmu_val", "mmmu_val"), ("mmu_val_rpts", "mmmu_val_rpts"))
def test_the_nearest_name_is_suggested_without_a_run(
    monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    """``lmms-rpts estimate`` named no other task."""
    monkeypatch.setattr(lmms_eval.tasks, "TaskManager", lambda **_: manager("mmmu_val", "mme"))
    with pytest.raises(DataError, match=f"'mmu_val' of lmms-eval\\. Did you mean {near}\\? Use"):
        load_task(name)


@table(
    "config, scored",
    ({}, False),
    ({"rpts": {}}, True),
    ({"filter_list": None}, False),
    ({"filter_list": "x"}, False),
    ({"filter_list": [None, {"filter": None}, {"filter": ["x"]}]}, False),
    ({"filter_list": [{"filter": [{"function": "take_first"}]}]}, False),
    ({"filter_list": [{"filter": [{"function": "rpts_score"}]}]}, True),
    ({"filter_list": [{"filter": [{"function": ["rpts_score"]}]}]}, False),
)
def test_which_tasks_are_scored_already(config: dict[str, Any], scored: bool) -> None:
    assert is_scored(config) is scored


# --- configuration -------------------------------------------------------------------------------


def test_the_task_itself_is_left_as_it_is() -> None:
    base = {
        "task": "a",
        "tag": ["x"],
        "metric_list": [{"metric": "acc"}],
        "generation_kwargs": {"max_new_tokens": 16, "until": ["\n"]},
    }
    before = {name: dict(each) if isinstance(each, dict) else each for name, each in base.items()}
    found = wrapped_config(base, "a_rpts", WrappedName("a", "default"), graded=False)
    assert base == before
    assert [each["name"] for each in found["filter_list"]] == ["none", "rpts"]
    assert found["task"] == "a_rpts"
    assert found["generation_kwargs"] == base["generation_kwargs"]
    assert found["metric_list"] == base["metric_list"]
    assert "tag" not in found


@table(
    "given, wanted",
    (None, {"max_new_tokens": 2048, "until": []}),
    ({"max_new_tokens": 16, "until": ["\n\n"]}, {"max_new_tokens": 2048, "until": []}),
    ({"max_new_tokens": 4096, "x": 1}, {"max_new_tokens": 4096, "x": 1, "until": []}),
    ({"max_new_tokens": "9999"}, {"max_new_tokens": 2048, "until": []}),
)
def test_steps_have_room(given: Any, wanted: dict[str, Any]) -> None:
    base = {"task": "a", "generation_kwargs": given}
    found = wrapped_config(base, "a_rpts_steps", WrappedName("a", "steps"), graded=False)
    assert found["generation_kwargs"] == wanted


def test_graded_responses_need_nothing_of_the_tasks_own() -> None:
    base = {"task": "a", "filter_list": [{"name": "x", "filter": []}], "metric_list": []}
    found = wrapped_config(base, "a_rpts", WrappedName("a", "default"), graded=True)
    assert [each["name"] for each in found["filter_list"]] == ["rpts"]
    assert found["reasoning_tags"] == "none"


@table(
    "metric, taken, name",
    ("accuracy", ["acc"], "accuracy"),
    ("accuracy", ["accuracy"], "rpts_accuracy"),
    ("rpts", {"rpts": 1}, "rpts_rpts"),
)
def test_metrics_have_names_of_their_own(metric: str, taken: Any, name: str) -> None:
    assert metric_name(metric, taken) == name


# --- images --------------------------------------------------------------------------------------

HOSTILE = (
    *("", "#", "t", "t#", "t#/", "t#1", "t#1/", "t#/1", "t#-1/0", "t#1/-1", "t#1.0/0", "t#1/0/0"),
    *("t#٣/0", "t#1/²", "t#1 /0", "u#1/0", "T#1/0", "xt#1/0", "t#1/0x", "t#0x1/0", "\ud800#1/0"),
    *("../t#1/0", "t#1234567890/0", "t#1/1234567890", "t#" + "1" * 100_000 + "/0", "#" * 100_000),
)


@table("name", *HOSTILE)
def test_names_that_are_no_images_of_the_task(name: str) -> None:
    assert read_image_name("t", name) is None


@table(
    "task, name, place",
    ("t", "t#1/0", (1, 0)),
    ("t#2", "t#2#1/0", (1, 0)),
    ("t", "t#007/1", (7, 1)),
    ("İ/../x", "İ/../x#3/4", (3, 4)),
)
def test_names_of_images(task: str, name: str, place: tuple[int, int]) -> None:
    assert read_image_name(task, name) == place


@given(st.text(), st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1))
def test_a_name_is_read_as_it_is_made(task: str, doc_id: int, number: int) -> None:
    assert read_image_name(task, image_name(task, doc_id, number)) == (doc_id, number)


def test_images_by_name() -> None:
    """Documents that raise, do not exist, or have fewer images: no image."""
    from PIL import Image

    images = [Image.new("RGB", (4, 4)) for _ in range(2)]

    def visuals(doc: Any) -> Any:
        if doc == 1:
            raise RuntimeError("gone")
        return images

    config = SimpleNamespace(doc_to_visual=visuals, doc_to_messages=None)
    task = SimpleNamespace(config=config, doc_to_visual=visuals, task_docs=[0, 1, 2])
    wanted = ["t#0/0", "t#1/0", "t#2/1", "t#2/2", "t#9/0", "u#0/0", "t#x/0"]
    assert dict(named_images(task, "t", wanted)) == {"t#0/0": images[0], "t#2/1": images[1]}


# --- prompts -------------------------------------------------------------------------------------

ZH = "图中有几只猫"


@table(
    "text, language",
    ("How many cats are there?", "en"),
    (ZH, "zh"),
    (f"{ZH}? (A) 1 (B) 2", "zh"),
    (f"{ZH} Answer with the letter of the option", "en"),
    ("", "en"),
    ("1 + 1 = ?", "en"),
    ("图图图 abcdefg", "zh"),  # three in ten
    ("图图图 abcdefgh", "en"),
    ("ねこ は いくつ", "en"),
    ("\ud800\0İſß", "en"),
    ("a" * 4000 + ZH * 10_000, "en"),
    (ZH * 20_000, "zh"),
)
def test_the_language_of_a_question(text: str, language: str) -> None:
    assert language_of(text) == language


@table(
    "text, said",
    ("How many?", "Reason step by step"),
    (ZH, "请逐步推理"),
    ("", "Reason step by step"),
)
def test_prompts_that_ask_for_steps(text: str, said: str) -> None:
    asked = with_steps(text)
    assert asked.startswith(text)
    assert said in asked
    assert without_steps(asked) == text
    assert without_steps(text) == text
    assert without_steps(asked + "!") == asked + "!"


USER = {"role": "user", "content": "Why?"}


@table("messages", None, "x", [], [None], [{"role": "system", "content": "x"}], ({},), [{}], 7)
def test_chats_without_a_user_are_left_alone(messages: Any) -> None:
    assert messages_with_steps(messages) == messages


def test_the_last_message_of_the_user_asks_for_steps() -> None:
    last = {"role": "assistant", "content": "Because"}
    found = messages_with_steps([USER, USER, last])
    assert found == [USER, {"role": "user", "content": with_steps("Why?")}, last]
    assert USER["content"] == "Why?"


@table(
    "content, language",
    ([{"type": "image", "url": 1}, {"type": "text", "text": "Why?"}], "en"),
    ([{"type": "text", "text": ZH}], "zh"),
    ([{"type": "text", "text": None}, None, 3, "x"], "en"),
    ([], "en"),
)
def test_a_chat_of_parts_has_one_more(content: list[Any], language: str) -> None:
    (found,) = messages_with_steps([{"role": "user", "content": content}])
    assert found["content"][:-1] == content
    said = "Reason step" if language == "en" else "请逐步"
    assert said in found["content"][-1]["text"]
