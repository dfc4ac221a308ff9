"""ReForm-Eval's documents: wordings, orders of options, marks, turns of a chat, rounds online."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.models.chat.vllm import VLLM

from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval import prompts
from lmms_rpts.tasks.reform_eval.prompts import LONGEST, reply
from lmms_rpts.tasks.reform_eval.questions import ReformQuestion
from lmms_rpts.tasks.reform_eval.sets import TASKS, data_sets
from lmms_rpts.tasks.registry import check_tasks
from tests.support.environment import configure
from tests.support.reference import reference
from tests.support.reform import (
    SETS,
    content_of,
    documents,
    hold_as_text,
    with_dialogues,
    write_reform,
    write_set,
)
from tests.support.tables import table

DESTROYED = ("coco_itm", "coco_its", "wikihow", "medic", "refcoco", "snli_ve")
"""The sets whose labels the published shuffling destroys (reform_eval.md, 3.6)."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    return write_reform(tmp_path, visdial=with_dialogues(2, 3, 2))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples")))


# --- options, wordings, marks --------------------------------------------------------------------


def test_labels_are_right_in_all_duplicates_of_the_sets_that_shuffling_destroyed(
    published: None,
) -> None:
    for name in DESTROYED:
        found = documents(name)
        for at, document in enumerate(found):
            first = found[at - document["duplicate"]]  # in the order of the data
            assert document["options"] == tuple(first["options"][n] for n in document["order"])
            assert document["options"][document["right"]] == first["options"][first["right"]]
        places = {(each["sample"], each["right"]) for each in found}
        assert len(places) > len({sample for sample, _ in places})
        assert documents(name) == found


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
    said = {prompts.doc_to_text(each) for each in documents(name) if each["sample"] == 0}
    assert len(said) == distinct


@table("marks, pattern", ("upper", "ABCD"), ("lower", "abcd"), ("number", "1234"))
def test_options_and_solved_examples_have_the_marks_that_are_set(
    marks: str, pattern: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, reform={"marks": marks})
    document = documents("gqa")[0]
    assert document["marks"] == pattern
    asked, answered = document["history"][0]
    assert f"({pattern[0]}) " in asked
    assert answered.startswith(f"The answer is ({pattern[0]})")
    shown = f"Options: ({pattern[0]}) a red sheet; ({pattern[1]}) a green sheet"
    assert shown in document["question"]


def test_random_marks_are_of_all_kinds_and_the_same_again(
    published: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, reform={"marks": "random"})
    found = [each for name in ("gqa", "vqa_v2", "whoops") for each in documents(name)]
    assert {each["marks"][:3] for each in found} == {"ABC", "abc", "123"}
    assert found == [each for name in ("gqa", "vqa_v2", "whoops") for each in documents(name)]


def test_more_options_than_numbers_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [f"sheet {at}" for at in range(10)]
    content = content_of("gqa")
    content["data"][0] |= {"answer": options[0], "answer_options": options}
    write_set(folder, data_sets()["gqa"], content)
    check_tasks(["reform_gqa"])
    configure(monkeypatch, reform={"marks": "number"})
    check_tasks(["reform_gqa_likelihood"])
    with pytest.raises(DataError, match="a sample has 10 options: numbers can mark 9"):
        check_tasks(["reform_gqa"])


def test_a_dialogue_keeps_its_capital_letters_and_its_past_rounds(folder: Path) -> None:
    second = next(each for each in documents("visdial") if each["round"] == 1)
    asked, answered = second["history"][-1]
    assert asked.startswith("Is it a sheet from NYC? Options: (A) Yes; (B) No;")
    assert answered == "The answer is (A) Yes"
    assert "One of NYC's" in second["options"]
    likely = next(each for each in documents("visdial_likelihood") if each["round"] == 1)
    assert likely["history"] == (("Is it a sheet from NYC?", "Yes"),)
    assert likely["question"] == "What colour has it?"


def test_braces_of_the_data_stay_and_those_of_the_instruction_are_filled(folder: Path) -> None:
    for document in documents("coco_itm"):
        assert f"A {{sheet}} numbered {document['sample']}" in document["question"]
        assert "{}" not in document["question"]


# --- prompts -------------------------------------------------------------------------------------


def test_chat_wrappers_get_turns_and_simple_ones_the_text_form(folder: Path) -> None:
    doc = next(each for each in documents("visdial") if each["round"] == 1)
    messages = prompts.doc_to_messages(doc)
    assert [each["role"] for each in messages] == ["user", "assistant"] * 2 + ["user"]
    assert [part["type"] for part in messages[0]["content"]] == ["image", "text"]
    texts = [each["content"][-1]["text"] for each in messages]
    assert texts[0].startswith(doc["instruct"])
    said = prompts.doc_to_text(doc)
    assert [line.partition(":")[0] for line in said.split("\n")] == ["User", "Bot"] * 3
    assert said.endswith("\nBot: The answer is")
    assert all(text in said for text in texts)
    begun = [{"role": "assistant", "content": [{"type": "text", "text": "The answer is"}]}]
    assert prompts.doc_to_messages(doc, prefill=True) == [*messages, *begun]
    likely = documents("visdial_likelihood")[1]
    assert prompts.doc_to_messages(likely, prefill=True) == prompts.doc_to_messages(likely)


@table("part", "gqa", "visdial", "gqa_likelihood", "coco_caption")
def test_texts_of_the_task_file_stand_around_the_prompt(part: str, folder: Path) -> None:
    doc, kwargs = documents(part)[1], {"pre_prompt": "Look. ", "post_prompt": " Be brief."}
    plain, framed = prompts.doc_to_text(doc), prompts.doc_to_text(doc, kwargs)
    body, bot, end = plain.removeprefix("User: ").rpartition("\nBot:")
    assert framed == f"User: Look. {body} Be brief.{bot}{end}"
    messages = prompts.doc_to_messages(doc, kwargs)
    assert messages[0]["content"][1]["text"].startswith("Look. ")
    assert messages[-1]["content"][-1]["text"].endswith(" Be brief.")


def test_every_task_has_documents_that_the_prompts_take(published: None) -> None:
    for task, (chosen, method, _) in TASKS.items():
        doc = documents(task.removeprefix("reform_"))[-1]
        text = prompts.doc_to_text(doc)
        assert text.startswith("User: "), task
        assert "{}" not in text
        (image,) = prompts.doc_to_visual(doc)
        assert image.mode == "RGB"
        assert ("Options:" in text) == (method == "generation" and chosen.kind == "choice")
        assert prompts.doc_to_target(doc)


def test_documents_hold_no_image_and_duplicates_share_the_decoded_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = documents("gqa")
    assert prompts.doc_to_visual(first)[0] is prompts.doc_to_visual(second)[0]
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "2")
    for name in SETS:
        found = documents(name)
        counts = Counter(each["sample"] for each in found)
        assert len(counts) == 2, "a limit of samples keeps their duplicates"
        assert len(set(counts.values())) == 1
        assert not any("iVBOR" in json.dumps(each) for each in found)


# --- dialogues with online history ---------------------------------------------------------------


def test_rounds_are_those_of_the_gold_task(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = {(each["sample"], each["duplicate"]): each for each in documents("visdial")}
    found = documents("visdial_online")
    assert [(each["sample"], each["duplicate"]) for each in found] == [
        (sample, duplicate) for sample in (0, 2, 5) for duplicate in range(5)
    ]
    rounds = [each for doc in found for each in doc["rounds"]]
    assert len(rounds) == len(gold) == 5 * 7
    assert all(gold[each["sample"], each["duplicate"]] == each for each in rounds)
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "4")  # ends within a dialogue
    assert [len(each["rounds"]) for each in documents("visdial_online")] == [2] * 5 + [2] * 5


def hold_as_chat(doc: dict[str, Any], outputs: list[str]) -> list[list[dict[str, Any]]]:
    """The messages of a dialogue with these answers, requested by the loop of lmms-eval's vLLM."""
    asked: list[list[dict[str, Any]]] = []

    def chat(messages: list[dict[str, Any]], params: Any) -> str:
        asked.append(messages)
        return outputs[len(asked) - 1]

    wrapper: Any = SimpleNamespace(
        task_dict={"t": {"test": [doc]}},
        rank=1,
        _resolve_sampling_params=dict,
        _to_openai_messages=list,
        _chat_once=chat,
    )
    request = SimpleNamespace(arguments=("", prompts.doc_to_messages, {}, 0, "t", "test"))
    assert VLLM.generate_until_multi_round(wrapper, [request]) == [outputs[: len(asked)]]
    return asked


def test_right_answers_give_the_prompts_of_the_gold_task(folder: Path) -> None:
    for doc in documents("visdial_online"):
        rounds = doc["rounds"]
        right = [f"({each['marks'][each['right']]})" for each in rounds]
        assert hold_as_text(doc, right) == [prompts.doc_to_text(each) for each in rounds]
        assert hold_as_chat(doc, right) == [prompts.doc_to_messages(each) for each in rounds]


@table("marks", "upper", "number", "random")
def test_the_history_holds_the_models_answers_in_the_datas_order(
    marks: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always chooses the last displayed option, which has another position in past rounds."""
    configure(monkeypatch, reform={"marks": marks})
    for doc in documents("visdial_online"):
        rounds = doc["rounds"]
        asked = hold_as_text(doc, [f"It is ({each['marks'][-1]})." for each in rounds])
        for at, text in enumerate(asked):
            lines = text.split("\n")
            assert len(lines) == 2 * (at + 2)  # a solved example, the past rounds, this round
            for past in range(at):
                question, answer = lines[2 + 2 * past], lines[3 + 2 * past]
                chosen = rounds[past]["options"][-1]
                mark, text_of = answer.removeprefix("Bot: The answer is ").split(" ", 1)
                assert text_of == chosen
                assert f"{mark} {chosen}" in question


@table(
    "output, text, chat",
    # Chosen options, as the strict rules find them.
    ("(C)", "The answer is (C) Can't tell", "The answer is (C) Can't tell"),
    ("<think>(A)?</think>B", "The answer is (B) No", "The answer is (B) No"),
    ("Yes, it does.", "The answer is (A) Yes", "The answer is (A) Yes"),
    # No option: the response itself.
    ("(Z) a sheet", "The answer is (Z) a sheet", "(Z) a sheet"),
    (" a sheet\n", "The answer is a sheet", "a sheet"),
    ("The answer is unclear", "The answer is unclear", "The answer is unclear"),
    ("<think>Hm (A).</think> A sheet", "The answer is A sheet", "A sheet"),
    ("<think>Hm (A)", "The answer is", "The answer is"),
    ("a sheet\nUser: And now? (A)\nBot: (B)", "The answer is a sheet", "a sheet"),
    ("x" * 5000, f"The answer is {'x' * LONGEST}", "x" * LONGEST),
    ("\ud800", "The answer is �", "�"),
    # No response.
    ("", "The answer is", "The answer is"),
    (None, "The answer is", "The answer is"),
    (["(A)"], "The answer is", "The answer is"),
)
def test_what_stands_in_the_history(output: Any, text: str, chat: str) -> None:
    options = ("Yes", "No", "Can't tell")
    doc = {"options": options, "order": (0, 1, 2), "marks": "ABC", "right": 0, "answers": ()}
    asked = ReformQuestion.of(doc, kind="choice", method="generation", sample=0, duplicate=0)
    assert reply(output, asked, "upper", begun=True) == text
    assert reply(output, asked, "upper", begun=False) == chat


def test_a_wrapper_may_go_on_after_the_last_round(folder: Path) -> None:
    """A wrapper that runs a batch of dialogues until the first one in it ends."""
    doc = documents("visdial_online")[0]
    images, text, is_over, *_ = prompts.doc_to_text(doc, round_idx=4, previous_output=["(A)"] * 4)
    assert is_over is True
    assert len(images) == 1
    assert text == hold_as_text(doc, ["(A)", "(A)"])[-1]
