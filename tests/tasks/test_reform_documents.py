"""ReForm-Eval's documents: wordings, orders of options, marks, and turns of a chat."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.reform_eval import prompts
from lmms_rpts.tasks.reform_eval.data import balanced_order, rng_of
from lmms_rpts.tasks.reform_eval.dataset import load_documents, load_samples
from lmms_rpts.tasks.reform_eval.sets import TASKS, Method, data_sets
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import SETS, write_reform
from tests.support.tables import table

DESTROYED = ("coco_itm", "coco_its", "wikihow", "medic", "refcoco", "snli_ve")
"""The sets whose labels the published shuffling destroys (reform_eval.md, 3.6)."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    return write_reform(tmp_path)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples")))


def documents(name: str, method: Method = "generation") -> list[dict[str, Any]]:
    return load_documents(data_sets()[name], method)


def test_labels_are_right_in_all_duplicates_of_the_sets_that_shuffling_destroyed(
    published: None,
) -> None:
    for name in DESTROYED:
        samples = load_samples(data_sets()[name]).samples
        before = copy.deepcopy(samples)
        found = documents(name)
        assert len(found) == 5 * len(samples)
        for document in found:
            sample = samples[document["sample"]]
            assert document["options"][document["right"]] == sample.options[sample.right or 0]
            assert sorted(document["options"]) == sorted(sample.options)
            if document["duplicate"] == 0:
                assert document["options"] == list(sample.options)
        assert samples == before
        assert documents(name) == found


@given(st.integers(1, 26), st.integers(0, 25), st.integers(0, 3), st.integers(0, 9))
def test_the_right_option_visits_each_place_equally_often(
    options: int, right: int, rounds: int, seed: int
) -> None:
    right %= options
    orders = [
        balanced_order(options, right, variant, seed, "set", 7)
        for variant in range(options * rounds + 1)
    ]
    assert orders[0] == list(range(options))
    assert all(sorted(order) == orders[0] for order in orders)
    visits = Counter(order.index(right) for order in orders[1:])
    assert set(visits.values()) <= {rounds}


def test_draws_depend_on_their_names_alone() -> None:
    assert rng_of(0, "a", 1).random() == rng_of(0, "a", 1).random()
    assert rng_of(0, "a", 1).random() != rng_of(0, "a", 11).random()
    assert rng_of(0, "a", 1).random() != rng_of(1, "a", 1).random()


@table(
    "name, settings, distinct",
    ("gqa", {}, 5),
    ("gqa", {"wording": "fixed", "order": "fixed"}, 1),
    ("gqa", {"wording": "fixed"}, 5),
    ("gqa", {"duplicates": 1}, 1),
    ("coco_caption", {}, 1),
    ("coco_caption", {"duplicates": 5}, 5),
    ("ic15_grounded", {}, 5),
)
def test_duplicates_differ_as_the_settings_say(
    name: str,
    settings: dict[str, Any],
    distinct: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(monkeypatch, reform=settings)
    found = [each for each in documents(name) if each["sample"] == 0]
    said = {prompts.doc_to_text(each) for each in found}
    assert len(said) == distinct


@table("marks, pattern", ("upper", "ABCD"), ("lower", "abcd"), ("number", "1234"))
def test_options_and_solved_examples_have_the_marks_that_are_set(
    marks: str, pattern: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, reform={"marks": marks})
    document = documents("gqa")[0]
    assert document["marks"] == pattern
    asked, answered = json.loads(document["history"])[0]
    assert f"({pattern[0]}) " in asked
    assert answered.startswith(f"The answer is ({pattern[0]})")
    assert (
        f"Options: ({pattern[0]}) a red sheet; ({pattern[1]}) a green sheet" in document["question"]
    )


def test_random_marks_are_of_all_kinds_and_the_same_again(
    published: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, reform={"marks": "random"})
    found = [each for name in ("gqa", "vqa_v2", "whoops") for each in documents(name)]
    assert {each["marks"][:3] for each in found} == {"ABC", "abc", "123"}
    assert found == [each for name in ("gqa", "vqa_v2", "whoops") for each in documents(name)]


def test_a_dialogue_keeps_its_capital_letters_and_its_past_rounds(folder: Path) -> None:
    second = next(each for each in documents("visdial") if each["round"] == 1)
    history = json.loads(second["history"])
    assert history[-1][0].startswith("Is it a sheet from NYC? Options: (A) Yes; (B) No;")
    assert history[-1][1] == "The answer is (A) Yes"
    assert "One of NYC's" in second["options"]
    likely = next(each for each in documents("visdial", "likelihood") if each["round"] == 1)
    assert json.loads(likely["history"]) == [["Is it a sheet from NYC?", "Yes"]]
    assert likely["question"] == "What colour has it?"


def test_braces_of_the_data_stay_and_those_of_the_instruction_are_filled(folder: Path) -> None:
    for document in documents("coco_itm"):
        assert f"A {{sheet}} numbered {document['sample']}" in document["question"]
        assert "{}" not in document["question"]


def test_chat_wrappers_get_turns_and_simple_ones_the_text_form(folder: Path) -> None:
    doc = next(each for each in documents("visdial") if each["round"] == 1)
    messages = prompts.doc_to_messages(doc)
    assert [each["role"] for each in messages] == ["user", "assistant"] * 2 + ["user"]
    assert [part["type"] for part in messages[0]["content"]] == ["image", "text"]
    assert all(part["type"] == "text" for each in messages[1:] for part in each["content"])
    texts = [each["content"][-1]["text"] for each in messages]
    assert texts[0].startswith(doc["instruct"])
    said = prompts.doc_to_text(doc)
    roles = [line.partition(":")[0] for line in said.split("\n")]
    assert roles == ["User", "Bot"] * 3
    assert said.endswith("\nBot: The answer is")
    assert all(text in said for text in texts)
    begun = [{"role": "assistant", "content": [{"type": "text", "text": "The answer is"}]}]
    assert prompts.doc_to_messages(doc, prefill=True) == [*messages, *begun]
    likely = documents("visdial", "likelihood")[1]
    assert prompts.doc_to_messages(likely, prefill=True) == prompts.doc_to_messages(likely)


def test_every_task_has_documents_that_the_prompts_take(published: None) -> None:
    for task, (chosen, method, _) in TASKS.items():
        found = load_documents(chosen, method)
        assert found, task
        doc = found[-1]
        assert prompts.doc_to_text(doc).startswith("User: ")
        assert "{}" not in prompts.doc_to_text(doc)
        (image,) = prompts.doc_to_visual(doc)
        assert image.mode == "RGB"
        if method == "likelihood":
            assert "Options:" not in prompts.doc_to_text(doc)
            assert prompts.doc_to_choice(doc) == list(found[-1]["options"])
            assert prompts.doc_to_target(doc) == found[-1]["right"]


def test_duplicates_share_their_decoded_image(folder: Path) -> None:
    first, second, *_ = (each for each in documents("gqa"))
    assert prompts.doc_to_visual(first)[0] is prompts.doc_to_visual(second)[0]


def test_a_limit_of_samples_keeps_their_duplicates(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "2")
    for name in SETS:
        found = documents(name)
        counts = Counter(each["sample"] for each in found)
        assert len(counts) == 2
        assert len(set(counts.values())) == 1


def test_no_text_of_an_image_reaches_a_document(folder: Path) -> None:
    lines = [json.dumps(each) for name in SETS for each in documents(name)]
    assert max(map(len, lines)) < 3_000
    assert not any("iVBOR" in line for line in lines)
    assert math.isclose(len(lines), len(set(lines)))
