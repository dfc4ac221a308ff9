"""Which part of a response is judged: its visible text, or its thinking."""

from __future__ import annotations

from hypothesis import given

from lmms_rpts.reasoning import extract_chain, select_reasoning
from lmms_rpts.reasoning.thinking import excerpt, split_thinking, strip_thinking
from tests.reasoning.strategies import texts
from tests.support.tables import table

STEPS = "Conclusion 0: from Image 0, the lorry is too high."
THOUGHT = "Hmm. Image 0 shows a lorry. It looks too high for the bridge."
ANSWER = "Final answer: disagree"
PROSE = (
    "The lorry on the photograph is higher than the bridge allows, and the only other way round is "
    "closed at night, hence it has to wait until morning comes."
)
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


@table(
    "response, source, text, spoken",
    (f"{STEPS}\n{ANSWER}", "response", f"{STEPS}\n{ANSWER}", f"{STEPS}\n{ANSWER}"),
    # Reasons after the closing tag, also if the prompt opened it; plain prose is reasoning too.
    (f"<{THOUGHT}>\n{STEPS}\n{ANSWER}", "after_thinking", f"{STEPS}\n{ANSWER}", None),
    (f"{THOUGHT}\n>\n{STEPS}\n{ANSWER}", "after_thinking", f"{STEPS}\n{ANSWER}", None),
    (f"<{THOUGHT}>{PROSE}\n{ANSWER}", "after_thinking", f"{PROSE}\n{ANSWER}", None),
    # Only an answer, or nothing, after it.
    *((f"<\n{THOUGHT}\n>{answer}", "thinking", THOUGHT, answer)
      for answer in (ANSWER, "**最终答案：不同意**", "disagree", "", "\n\n")),
    (f"{THOUGHT}\n>\n{ANSWER}", "thinking", THOUGHT, ANSWER),
    # Never closed; the text before the tag is spoken, and judged if the tag is empty.
    (f"<{THOUGHT}", "unclosed_thinking", THOUGHT, ""),
    ("<", "unclosed_thinking", "", ""),
    (f"{STEPS}\n<{THOUGHT}", "unclosed_thinking", THOUGHT, STEPS),
    (f"{STEPS}\n<\n", None, STEPS, None),
    # Empty thinking, and two thoughts.
    (f"<\n\n>\n\n{ANSWER}", "after_thinking", ANSWER, ANSWER),
    (f"<one>{STEPS}<two>{ANSWER}", "after_thinking", STEPS + ANSWER, STEPS + ANSWER),
    (f"<Image 0: a cat.><two>{ANSWER}", "thinking", "Image 0: a cat.\ntwo", ANSWER),
)  # fmt: skip
def test_what_is_judged(response: str, source: str | None, text: str, spoken: str | None) -> None:
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
