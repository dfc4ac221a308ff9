"""ReForm-Eval's documents: wordings, orders of options, marks, turns of a chat, rounds online."""

from __future__ import annotations

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
from lmms_rpts.tasks.reform_eval.sets import data_sets
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


# --- options, wordings, marks --------------------------------------------------------------------


def test_labels_are_right_in_all_duplicates_of_the_sets_that_shuffling_destroyed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples")))
    for name in DESTROYED:
        found = documents(name)
        for at, document in enumerate(found):
            first = found[at - document["duplicate"]]  # in the order of the data
            assert document["options"] == tuple(first["options"][n] for n in document["order"])
            assert document["options"][document["right"]] == first["options"][first["right"]]
        places = {(each["sample"], each["right"]) for each in found}
        assert len(places) > len({sample for sample, _ in places})
        assert documents(name) == found


def test_duplicates_differ_as_the_settings_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, distinct, settings in (
        ("gqa", 5, {}),
        ("gqa", 5, {"wording": "fixed"}),
        ("gqa", 1, {"wording": "fixed", "order": "fixed"}),
        ("coco_caption", 1, {}),
        ("coco_caption", 5, {"duplicates": 5}),
        ("ic15_grounded", 5, {}),
    ):
        configure(monkeypatch, reform=settings)
        said = {prompts.doc_to_text(each) for each in documents(name) if each["sample"] == 0}
        assert len(said) == distinct, (name, settings)


def test_options_and_solved_examples_have_the_marks_that_are_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for style, marks in (("upper", "ABCD"), ("lower", "abcd"), ("number", "1234")):
        configure(monkeypatch, reform={"marks": style})
        document = documents("gqa")[0]
        assert document["marks"] == marks
        asked, answered = document["history"][0]
        assert f"({marks[0]}) " in asked
        assert answered.startswith(f"The answer is ({marks[0]})")
        shown = f"Options: ({marks[0]}) a red sheet; ({marks[1]}) a green sheet"
        assert shown in document["question"]
    configure(monkeypatch, reform={"marks": "random"})
    assert {each["marks"] for each in documents("gqa")} == {"ABCD", "abcd", "1234"}
    assert documents("gqa") == documents("gqa")
    content = content_of("gqa")
    content["data"][0]["answer_options"] += [f"sheet {at}" for at in range(6)]
    write_set(folder, data_sets()["gqa"], content)
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


# --- prompts -------------------------------------------------------------------------------------


def test_chat_wrappers_get_turns_and_simple_ones_the_text_form(folder: Path) -> None:
    doc = next(each for each in documents("visdial") if each["round"] == 1)
    messages = prompts.doc_to_messages(doc)
    assert [each["role"] for each in messages] == ["user", "assistant"] * 2 + ["user"]
    assert [part["type"] for part in messages[0]["content"]] == ["image", "text"]
    texts = [each["content"][-1]["text"] for each in messages]
    assert texts[0].startswith(doc["instruct"])
    roles = ("User", "Bot", "User", "Bot", "User")
    lines = [f"{role}: {text}" for role, text in zip(roles, texts, strict=True)]
    assert prompts.doc_to_text(doc) == "\n".join([*lines, "Bot: The answer is"])
    begun = [{"role": "assistant", "content": [{"type": "text", "text": "The answer is"}]}]
    assert prompts.doc_to_messages(doc, prefill=True) == [*messages, *begun]
    likely = documents("visdial_likelihood")[1]
    assert prompts.doc_to_messages(likely, prefill=True) == prompts.doc_to_messages(likely)


def test_a_limit_of_samples_keeps_their_duplicates(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = documents("gqa")
    assert prompts.doc_to_visual(first)[0] is prompts.doc_to_visual(second)[0]  # decoded once
    gold = {(each["sample"], each["duplicate"]): each for each in documents("visdial")}
    rounds = [each for doc in documents("visdial_online") for each in doc["rounds"]]
    assert len(rounds) == len(gold) == 5 * 7
    assert all(gold[each["sample"], each["duplicate"]] == each for each in rounds)
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "4")  # ends within a dialogue
    assert [len(each["rounds"]) for each in documents("visdial_online")] == [2] * 5 + [2] * 5
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "2")
    for name in SETS:
        counts = Counter(each["sample"] for each in documents(name))
        assert len(counts) == 2
        assert len(set(counts.values())) == 1


# --- dialogues with online history ---------------------------------------------------------------


def hold_as_chat(doc: dict[str, Any], outputs: list[str]) -> list[list[dict[str, Any]]]:
    """The messages of a dialogue with these answers, requested by the loop of lmms-eval's vLLM."""
    asked: list[list[dict[str, Any]]] = []

    def chat(messages: list[dict[str, Any]], params: Any) -> str:
        asked.append(messages)
        return outputs[len(asked) - 1]

    wrapper: Any = SimpleNamespace(
        task_dict={"t": {"test": [doc]}},
        rank=1,
        _chat_once=chat,
        _resolve_sampling_params=dict,
        _to_openai_messages=list,
    )
    request = SimpleNamespace(arguments=("", prompts.doc_to_messages, {}, 0, "t", "test"))
    assert VLLM.generate_until_multi_round(wrapper, [request]) == [outputs[: len(asked)]]
    return asked


def test_right_answers_give_the_prompts_of_the_gold_task(folder: Path) -> None:
    for doc in documents("visdial_online"):
        rounds = doc["rounds"]
        right = [f"({each['marks'][each['right']]})" for each in rounds]
        texts = [prompts.doc_to_text(each) for each in rounds]
        assert hold_as_text(doc, right) == texts
        assert hold_as_chat(doc, right) == [prompts.doc_to_messages(each) for each in rounds]
    # Some wrappers run a batch of dialogues until the first one in it ends.
    images, text, is_over, *_ = prompts.doc_to_text(doc, round_idx=4, previous_output=right * 2)
    assert (len(images), text, is_over) == (1, texts[-1], True)


def test_the_history_holds_the_models_answers_in_the_datas_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always chooses the last displayed option, which has another position in past rounds."""
    configure(monkeypatch, reform={"marks": "random"})
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
    ("The answer is unclear", "The answer is unclear", "The answer is unclear"),
    ("a sheet\nUser: And now? (A)\nBot: (B)", "The answer is a sheet", "a sheet"),
    ("x" * 5000, f"The answer is {'x' * LONGEST}", "x" * LONGEST),
    ("\ud800", "The answer is �", "�"),
    # No response.
    (None, "The answer is", "The answer is"),
)
def test_what_stands_in_the_history(output: Any, text: str, chat: str) -> None:
    doc = {"options": ["Yes", "No", "Can't tell"], "order": [0, 1, 2], "marks": "ABC"}
    asked = ReformQuestion.of(doc)
    assert reply(output, asked, "upper", begun=True) == text
    assert reply(output, asked, "upper", begun=False) == chat
