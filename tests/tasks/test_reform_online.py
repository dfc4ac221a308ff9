"""ReForm-Eval's dialogues with online history: the protocol of rounds, grading, metrics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.models.chat.vllm import VLLM
from loguru import logger

from lmms_rpts.tasks import check_tasks
from lmms_rpts.tasks.aggregation import mean_of_scored, stderr_of_scored
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.reform_eval import dataset, prompts, published
from lmms_rpts.tasks.reform_eval.dataset import load_documents, load_task
from lmms_rpts.tasks.reform_eval.filter import ReformAnswerFilter, ReformOnlineFilter, outputs_of
from lmms_rpts.tasks.reform_eval.prompts import (
    LONGEST,
    marks_of,
    question_with_answer,
    reply,
    rounds_of,
    style_of,
)
from lmms_rpts.tasks.reform_eval.record import ReformRecord
from lmms_rpts.tasks.reform_eval.results import instability_of_rounds, instability_over, process
from lmms_rpts.tasks.reform_eval.sets import data_sets
from tests.support.environment import configure
from tests.support.growth import assert_linear_in_text
from tests.support.reference import reference
from tests.support.reform import chosen_text, content_of, write_reform
from tests.support.tables import table

VISDIAL = data_sets()["visdial"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three dialogues, of two, three and two rounds."""
    monkeypatch.setenv("REFORM_PATH", str(tmp_path))
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    content = content_of("visdial")
    dialogs = content["data"]["dialogs"]
    longer = [*dialogs[1]["dialog"], {"question": 0, "answer": 1, "answer_options": [1, 0]}]
    dialogs[1] = {**dialogs[1], "dialog": longer}
    return write_reform(tmp_path, visdial=content)


def documents() -> list[dict[str, Any]]:
    return load_task("reform_visdial_online")


def hold_as_text(doc: dict[str, Any], outputs: Sequence[Any]) -> list[str]:
    """The prompts of a dialogue with these answers, requested as simple wrappers do."""
    asked: list[str] = [prompts.doc_to_text(doc, lmms_eval_specific_kwargs=None)]
    said = [outputs[0]]
    info = None
    while True:
        images, text, is_over, said, info = prompts.doc_to_text(
            doc,
            lmms_eval_specific_kwargs=None,
            previous_output=list(said),
            round_idx=len(asked),
            previous_round_info=info,
        )
        assert said == list(outputs[: len(asked)])
        if is_over:
            return asked
        assert [image.mode for image in images] == ["RGB"]
        asked.append(text)
        said = [*said, outputs[len(asked) - 1]]


def hold_as_chat(doc: dict[str, Any], outputs: Sequence[str]) -> list[list[dict[str, Any]]]:
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
    assert VLLM.generate_until_multi_round(wrapper, [request]) == [list(outputs[: len(asked)])]
    return asked


# --- documents -----------------------------------------------------------------------------------


def test_rounds_are_those_of_the_gold_task(folder: Path) -> None:
    gold = {
        (each["sample"], each["duplicate"]): each for each in load_documents(VISDIAL, "generation")
    }
    found = documents()
    assert [(each["sample"], each["duplicate"]) for each in found] == [
        (sample, duplicate) for sample in (0, 2, 5) for duplicate in range(5)
    ]
    rounds = [each for doc in found for each in rounds_of(doc)]
    assert len(rounds) == len(gold) == 5 * 7
    for each in rounds:
        same = gold[each["sample"], each["duplicate"]]
        assert {name: each[name] for name in same} == same


def test_a_limit_may_end_within_a_dialogue(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFORM_LIMIT_SAMPLES", "4")
    assert [len(rounds_of(doc)) for doc in documents()] == [2] * 5 + [2] * 5


def test_tasks_are_checked_and_say_whose_history_it_is(folder: Path) -> None:
    with pytest.raises(DataError, match="VQA-MT is missing"):
        check_tasks(["reform_dialogue_online"])
    check_tasks(["reform_visdial_online"])
    gold, online = map(dataset.metadata, ("reform_visdial", "reform_visdial_online"))
    assert online == {**gold, "history": "online"}


# --- the protocol --------------------------------------------------------------------------------


def test_right_answers_give_the_prompts_of_the_gold_task(folder: Path) -> None:
    for doc in documents():
        rounds = rounds_of(doc)
        right = [f"({each['marks'][each['right']]})" for each in rounds]
        assert hold_as_text(doc, right) == [prompts.doc_to_text(each) for each in rounds]
        assert hold_as_chat(doc, right) == [prompts.doc_to_messages(each) for each in rounds]


@table("marks", "upper", "lower", "number", "random")
def test_the_history_holds_the_models_answers_in_the_datas_order(
    marks: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always chooses the last displayed option, which has another position in past rounds."""
    configure(monkeypatch, reform={"marks": marks})
    for doc in documents():
        rounds = rounds_of(doc)
        asked = hold_as_text(doc, [f"It is ({each['marks'][-1]})." for each in rounds])
        for at, (text, now) in enumerate(zip(asked, rounds, strict=True)):
            lines = text.split("\n")
            assert len(lines) == 2 * (at + 2)  # a solved example, the past rounds, this round
            for past in range(at):
                question, answer = lines[2 + 2 * past], lines[3 + 2 * past]
                chosen = rounds[past]["options"][-1]
                mark, text_of = answer.removeprefix("Bot: The answer is ").split(" ", 1)
                assert text_of == chosen
                assert f"{mark} {chosen}" in question
                assert mark[1] in marks_of(style_of(now["marks"]), 3)


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
    ("\ud800", "The answer is ?", "?"),
    # No response.
    ("", "The answer is", "The answer is"),
    (None, "The answer is", "The answer is"),
    (["(A)"], "The answer is", "The answer is"),
)
def test_what_stands_in_the_history(output: Any, text: str, chat: str) -> None:
    asked = {"options": ["Yes", "No", "Can't tell"], "order": [0, 1, 2], "marks": "ABC"}
    assert reply(output, asked, "upper", begun=True) == text
    assert reply(output, asked, "upper", begun=False) == chat


def test_long_answers_take_linear_time() -> None:
    asked = {"options": ["Yes", "No"], "order": [0, 1], "marks": "AB"}

    def read(text: str) -> None:
        reply(text, asked, "upper", begun=True)
        outputs_of(f"('{text}', None)")
        outputs_of(f"({text})")

    for part in ("(A", "<think>", "\nUser", "',", "\\", "'a', "):
        assert_linear_in_text(read, (part * 100_000)[:100_000])


def test_a_wrapper_may_go_on_after_the_last_round(folder: Path) -> None:
    """A wrapper that runs a batch of dialogues until the first one in it ends."""
    doc = documents()[0]
    images, text, is_over, *_ = prompts.doc_to_text(doc, round_idx=4, previous_output=["(A)"] * 4)
    assert is_over is True
    assert len(images) == 1
    assert text == hold_as_text(doc, ["(A)", "(A)"])[-1]


# --- grading -------------------------------------------------------------------------------------


@table(
    "response, outputs",
    (["(A)", "(B)"], ["(A)", "(B)"]),
    (("(A)", None), ["(A)", None]),
    (str(("(A)", 'it\'s "b" \\ \n ü \ud800')), ["(A)", 'it\'s "b" \\ \n ü \ud800']),
    (str(("(A)",)), ["(A)"]),
    (str([None, "x"]), [None, "x"]),
    ("(A)", ["(A)"]),
    ("('a' 'b')", ["('a' 'b')"]),
    ("('a', __import__('os'))", ["('a', __import__('os'))"]),
    ("()", ["()"]),
    ("('\\x')", ["('\\x')"]),
    ("", [""]),
    (None, [None]),
    (5, [5]),
)
def test_outputs_of_wrappers(response: Any, outputs: list[Any]) -> None:
    assert outputs_of(response) == outputs


def records_of(entry: Any) -> list[ReformRecord]:
    listed = entry if isinstance(entry, list) else [entry]
    return [ReformRecord.parse(json.loads(each), task="t") for each in listed]


def test_each_round_is_a_record_as_the_gold_task_has_it(folder: Path) -> None:
    docs = documents()
    said = [[f"({each['marks'][0]})" for each in rounds_of(doc)] for doc in docs]
    # Some wrappers return lists; others tuples, which lmms-eval stores as text.
    given: list[list[Any]] = [
        [str(tuple(each)) if at % 2 else each] for at, each in enumerate(said)
    ]
    entries = ReformOnlineFilter().apply(given, docs)
    found = {
        (each.instance.sample, each.instance.duplicate): each
        for entry in entries
        for each in records_of(entry)
    }
    gold = load_documents(VISDIAL, "generation")
    same = ReformAnswerFilter().apply([[f"({each['marks'][0]})"] for each in gold], gold)
    assert len(found) == len(same) == 35
    for entry in same:
        (one,) = records_of(entry)
        other = found[one.instance.sample, one.instance.duplicate]
        assert one.settings.history == "gold"
        assert other.settings == one.settings.model_copy(update={"history": "online"})
        assert other.model_copy(update={"settings": one.settings}) == one
    assert {each.instance.key for each in found.values()} == {("t", at) for at in range(7)}


def test_a_bad_round_is_that_rounds_outcome(folder: Path) -> None:
    docs = documents()[5:9]  # of three rounds
    heard: list[str] = []
    sink = logger.add(lambda message: heard.append(message.record["message"]), level="WARNING")
    entries = ReformOnlineFilter().apply(
        [[["(A)", None, "(B)"]], [["", ["(A)"], "(A)", "one more", "and one"]], [["(A)"]], []], docs
    )
    logger.remove(sink)
    outcomes = [[each.outcome for each in records_of(entry)] for entry in entries]
    assert outcomes == [
        ["scored", "unscored", "scored"],
        ["scored", "unscored", "scored"],
        ["scored", "unscored", "unscored"],
        ["unscored"] * 3,
    ]
    assert any("2 of 4 dialogues ended before their last round" in each for each in heard)


def test_metrics_are_those_of_the_gold_task(folder: Path) -> None:
    """The same answers have the same means and instability in both tasks."""
    docs = documents()
    said = [["(B)"] * len(rounds_of(doc)) for doc in docs]
    said[3][0] = "no option"
    entries = ReformOnlineFilter().apply([[each] for each in said], docs)
    items = [process("online", doc, [entry]) for doc, entry in zip(docs, entries, strict=True)]
    rounds = [each for doc in docs for each in rounds_of(doc)]
    flat = [each for talk in said for each in talk]
    single = ReformAnswerFilter().apply([[each] for each in flat], rounds)
    gold = [process("choice", doc, [entry]) for doc, entry in zip(rounds, single, strict=True)]
    for name in ("accuracy", "accuracy_strict", "format_hit_rate"):
        mean = mean_of_scored([each[name] for each in items])
        assert mean == pytest.approx(mean_of_scored([each[name] for each in gold]))
        assert getattr(mean, "n", None) == 35
        assert stderr_of_scored([each[name] for each in items]) >= 0
    assert instability_of_rounds([each["instability"] for each in items]) == pytest.approx(
        instability_over([each["instability"] for each in gold])
    )
    assert process("online", docs[0], ["no JSON", ["{}"], None])["accuracy"] == []


# --- against the published code ------------------------------------------------------------------


def cases() -> Iterator[dict[str, Any]]:
    with reference("reform_eval", "prompts.jsonl").open(encoding="utf-8") as lines:
        yield from (case for case in map(json.loads, lines) if case["kind"] == "online_multi_round")


def test_the_published_functions_give_the_published_rounds() -> None:
    """Includes the majority answer of the duplicates, which all of them see in the next round."""
    found = list(cases())
    assert len(found) == 14
    for case in found:
        _check_published(case)


def _check_published(case: dict[str, Any]) -> None:
    method, mark = case["infer_method"], case["mark"]
    begin = "The answer is " if method == "generation" else ""
    told: dict[tuple[str, int], list[Any]] = {}
    steps: dict[tuple[str, int], Any] = {}
    solved = _solved_example(case["steps"][0]["expected"], begin) if case["in_context"] else []
    for step in case["steps"]:
        name = step["sample_id"].rpartition("_")[0]
        history = list(solved)
        for past in range(step["round_id"]):
            before = steps[name, past]
            (answer, _), *_ = Counter(told[name, past]).most_common(1)
            asked, said = before["question"], answer
            if method == "generation":
                asked, said = question_with_answer(asked, before["answer_options"], answer, mark)
            history += [{"value": asked}, {"value": begin + said}]
        item = {**step, "history": history}
        assert published.prompt(item, method=method, mark=mark) == step["expected"], step
        chosen = chosen_text(
            step["prediction"], step["answer_options"], likelihood=method == "likelihood"
        )
        assert chosen == step["expected_history_answer"], step
        told.setdefault((name, step["round_id"]), []).append(chosen)
        steps[name, step["round_id"]] = step


def _solved_example(text: str, begin: str) -> list[dict[str, str]]:
    """The turns before the question of the first round."""
    asked, answered = text.split("\n")[:2]
    start = asked.index("Can you see")
    return [{"value": asked[start:]}, {"value": answered.removeprefix("Bot: ")}]


def test_the_text_form_is_the_published_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except capital letters, which the published code removes from names, and a trailing blank."""
    monkeypatch.setenv("REFORM_PATH", str(reference("reform_eval/data_samples")))
    configure(
        monkeypatch,
        reform={"instructions": str(reference("reform_eval/instructions.json")), "duplicates": 1},
    )
    (case,) = (
        each
        for each in cases()
        if (each["name"], each["duplication"], each["mark"]) == ("VisDial", 1, "upper")
        and each["infer_method"] == "generation"
    )
    by_id = {step["sample_id"]: step for step in case["steps"]}
    compared = 0
    for doc in documents():
        steps = [by_id.get(each["id"]) for each in rounds_of(doc)]
        if None in steps:
            continue
        asked = hold_as_text(doc, [step["prediction"] for step in steps if step])
        expected = [step["expected"].replace("is \n", "is\n") for step in steps if step]
        assert [text.casefold() for text in asked] == [text.casefold() for text in expected]
        compared += len(asked)
    assert compared == len(by_id)
