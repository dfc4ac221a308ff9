"""Which part of a response is judged: its visible text, or its thinking."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from lmms_rpts.reasoning import extract_chain, select_reasoning
from lmms_rpts.reasoning.thinking import excerpt, split_thinking, strip_thinking
from tests.reasoning.short import rows_of
from tests.reasoning.strategies import texts
from tests.support.tables import table

# The tags of a response are written as < and >.
TAGS = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "THINK")},
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<seed:think>": "</seed:think>",
    "<reasoning>": "</reasoning>",
    "<|channel>thought\n": "<channel|>",
    "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final<|message|>",
}


@table("row", *rows_of("thinking.jsonl"))
def test_what_is_judged(row: dict[str, Any]) -> None:
    """``thinking.jsonl``: responses with < and > for the tags; null: of any value."""
    response, source, text, spoken = (
        row[name] for name in ("response", "source", "text", "spoken")
    )
    for opening, closing in TAGS.items():
        tags = str.maketrans({"<": opening, ">": closing})
        picked = select_reasoning(response.translate(tags))
        assert picked.text.strip() == text
        assert source in (picked.source, None)
        assert spoken is None or picked.spoken.strip() == spoken.strip()


@table(
    "text, said, thought",
    ("no tags", "no tags", None),
    ("<think>a</think> b", " b", "a"), ("a</think> b", " b", "a"), ("<think>a", "", "a"),
    ("<think>a<think>b</think>c</think>d", "d", "a\nb\nc"),
    ("<think>no <think> yet</think>d", "d", "no \n yet"),
    ("analysisWe see.assistantfinalScore: 1", "Score: 1", "We see."),
    ("hm<|end|><|start|>assistant<|channel|>final<|message|>Score: 1<|return|>", "Score: 1", "hm"),
    ("<|channel|>analysis<|message|>hm", "", "hm"),
    ("Score: 0.9 <think>or 0.1", "Score: 0.9 ", "or 0.1"),
    ("<think>a</think> b <think>c</think> d", " d", "a\nc"),
)  # fmt: skip
def test_thinking_is_separated(text: str, said: str, thought: str | None) -> None:
    assert strip_thinking(text) == said
    assert split_thinking(text)[1] == thought


@given(texts)
def test_any_text_is_separated_and_nothing_is_invented(text: str) -> None:
    assert len(strip_thinking(text)) <= len(text)
    spoken, thought, _ = split_thinking(text)
    assert len(spoken) + len(thought or "") <= len(text)
    picked = select_reasoning(text)
    assert len(picked.text) <= len(text)
    if picked.source == "response":
        assert picked.text == picked.spoken == text


def test_an_answer_tag_after_thinking_does_not_hide_the_first_step() -> None:
    steps = "Conclusion 0: from Image 0, a.\nConclusion 1: from Text 0, b.\nFinal answer: agree"
    part = select_reasoning(f"<think>hm</think><answer>{steps}</answer>")
    assert part.source == "after_thinking"
    read = extract_chain(part.text)
    assert [step.conclusion for step in read.chain.steps] == ["a.", "b."]
    assert read.clean


@table(
    "text, most, kept, left_out",
    ("short\n", 6, "short\n", 0),
    # The end, then what is wanted, the last ones first, then what fits.
    ("a\n" * 30 + "want\n" + "b\n" * 30 + "end", 40, "[...]\nwant\n[...]\nb\nb\nb\nend", None),
    ("want\n" * 100 + "end\n", 60, "end\n", None),
    # One line of many sentences; without any, it is cut.
    ("One. " * 900 + "I want this. " + "Two. " * 900, 3000, "I want this.", None),
    ("y" * 5000, 3000, "[...]\n" + "y" * 1000, None),
)
def test_an_excerpt(text: str, most: int, kept: str, left_out: int | None) -> None:
    found = excerpt(text, most, lambda part: "want" in part)
    assert kept in found.text
    assert len(found.text) <= most + len("[...]\n")
    without = found.text.replace("[...]\n", "")
    assert found.left_out == len(text) - len(without)
    assert left_out in (None, found.left_out)
