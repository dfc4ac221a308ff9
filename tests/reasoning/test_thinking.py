"""Which part of a response is judged: its visible text, or its thinking."""

from __future__ import annotations

from hypothesis import given

from lmms_rpts.reasoning import select_reasoning
from tests.reasoning.strategies import texts
from tests.support.tables import table

STEPS = "Conclusion 0: from Image 0, the lorry is too high."
THOUGHT = "Hmm. Image 0 shows a lorry. It looks too high for the bridge."
ANSWER = "Final answer: disagree"

OPENINGS = ("<think>", "<thinking>", "<thought>", "<THINK>", "[THINK]", "◁think▷")


def closing(opening: str) -> str:
    return opening[0] + "/" + opening[1:]


def test_no_tags() -> None:
    picked = select_reasoning(f"{STEPS}\n{ANSWER}")
    assert picked.source == "response"
    assert picked.text == picked.spoken == f"{STEPS}\n{ANSWER}"


@table("tag", *OPENINGS)
def test_closed_and_reasons_after_the_tag(tag: str) -> None:
    picked = select_reasoning(f"{tag}{THOUGHT}{closing(tag)}\n{STEPS}\n{ANSWER}")
    assert picked.source == "after_thinking"
    assert picked.text.strip() == f"{STEPS}\n{ANSWER}"
    assert THOUGHT not in picked.spoken


@table("tag", *OPENINGS)
@table("answer", ANSWER, "**最终答案：不同意**", "disagree", "", "\n\n")
def test_closed_with_only_an_answer_after_the_tag(tag: str, answer: str) -> None:
    picked = select_reasoning(f"{tag}\n{THOUGHT}\n{closing(tag)}{answer}")
    assert picked.source == "thinking"
    assert picked.text.strip() == THOUGHT
    assert picked.spoken == answer


@table("tag", *OPENINGS)
def test_never_closed(tag: str) -> None:
    picked = select_reasoning(f"{tag}{THOUGHT}")
    assert picked.source == "unclosed_thinking"
    assert picked.text == THOUGHT
    assert picked.spoken == ""


@table("tag", *OPENINGS)
def test_the_prompt_opened_the_tag(tag: str) -> None:
    after = select_reasoning(f"{THOUGHT}\n{closing(tag)}\n{STEPS}\n{ANSWER}")
    assert after.source == "after_thinking"
    assert after.text.strip() == f"{STEPS}\n{ANSWER}"
    only_answer = select_reasoning(f"{THOUGHT}\n{closing(tag)}\n{ANSWER}")
    assert only_answer.source == "thinking"
    assert only_answer.text.strip() == THOUGHT
    assert only_answer.spoken.strip() == ANSWER


@table("tag", *OPENINGS)
def test_a_lone_opening_tag(tag: str) -> None:
    picked = select_reasoning(tag)
    assert picked.source == "unclosed_thinking"
    assert picked.text == picked.spoken == ""


def test_text_before_a_tag_that_never_closes_is_spoken() -> None:
    picked = select_reasoning(f"{STEPS}\n<think>{THOUGHT}")
    assert picked.source == "unclosed_thinking"
    assert picked.text == THOUGHT
    assert picked.spoken.strip() == STEPS


def test_reasoning_that_is_followed_by_an_empty_open_tag_is_not_lost() -> None:
    picked = select_reasoning(f"{STEPS}\n<think>\n")
    assert picked.text.strip() == STEPS


def test_empty_thinking() -> None:
    picked = select_reasoning(f"<think>\n\n</think>\n\n{ANSWER}")
    assert picked.source == "after_thinking"
    assert picked.text.strip() == ANSWER


def test_two_thoughts() -> None:
    picked = select_reasoning(f"<think>one</think>{STEPS}<think>two</think>{ANSWER}")
    assert picked.source == "after_thinking"
    assert picked.text == STEPS + ANSWER
    silent = select_reasoning(f"<think>Image 0: a cat.</think><think>two</think>{ANSWER}")
    assert silent.source == "thinking"
    assert silent.text == "Image 0: a cat.\ntwo"


def test_plain_prose_after_the_tag_is_reasoning_too() -> None:
    said = (
        "The lorry on the photograph is higher than the bridge allows, and the only other way "
        "round is closed at night, hence it has to wait until morning comes."
    )
    picked = select_reasoning(f"<think>{THOUGHT}</think>{said}\n{ANSWER}")
    assert picked.source == "after_thinking"


def test_what_is_an_answer_can_be_given() -> None:
    """Text that another benchmark reads as an answer is not reasoning, even if it cites a clue."""
    response = f"<think>{THOUGHT}</think>I choose what Image 0 shows."
    assert select_reasoning(response).source == "after_thinking"
    picked = select_reasoning(response, is_answer=lambda line: line.startswith("I choose"))
    assert (picked.source, picked.text) == ("thinking", THOUGHT)


@given(texts)
def test_selection_is_total_and_invents_nothing(text: str) -> None:
    picked = select_reasoning(text)
    assert len(picked.text) <= len(text)
    if picked.source == "response":
        assert picked.text == picked.spoken == text
