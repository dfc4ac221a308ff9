"""Hypothesis strategies: chains of any shape, and texts of pieces that the parsers look for."""

from __future__ import annotations

from hypothesis import strategies as st

from lmms_rpts.reasoning import Clue, ReasoningChain, Step
from lmms_rpts.reasoning.clues import KINDS, LANGUAGES

FRAGMENTS = (
    "Image 0", "image1", "Images 0 and 1", "图片0", "图片０和１", "第二张图", "Text 0-2", "文本1",
    "Conclusion", "Conclusion 0:", "conclusion 12", "结论", "结论0：", "Context", "上下文",
    "->", "→", "=>", "+", "＋", "：", ":", "from ", "根据", "based on", "therefore", "因此",
    "Step 1:", "第一步", "1. ", "2) ", "**", "__", "#", "- ", "> ", "(", ")", "\\boxed{", "}",
    "Final answer:", "最终答案：", "agree", "disagree", "agree or ", "not ", "不", "同意", "支持",
    "给定声明", "<answer>", "<|im_end|>", "<think>", "</think>", "[THINK]", "<|channel|>",
    "\n", "\r\n", "\n\n", "\u2028", "\x00", "\x1c", "0", "9" * 5000, "٣", "²", "①", "Ⅷ", "ß",
    "İ", "\ud800", "🙂", " ", "\u3000", "\t", ". ", "。",
)  # fmt: skip

fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
texts = st.one_of(fragments, st.text(st.characters(), max_size=200))

indices = st.one_of(
    st.none(),
    st.integers(0, 5),
    st.integers(0, 10**30),
    st.sampled_from([2**31, 2**63, 2**64 + 1, 10**500, 10**999]),
)
any_clues = st.builds(Clue, st.sampled_from(KINDS), indices)
any_steps = st.builds(
    Step, st.lists(any_clues, max_size=5).map(tuple), st.one_of(fragments, st.text(max_size=40))
)
any_chains = st.builds(
    ReasoningChain, st.lists(any_steps, max_size=8).map(tuple), st.sampled_from(LANGUAGES)
)


@st.composite
def sound_chains(draw: st.DrawFn, max_steps: int = 7, images: int = 3, texts: int = 3):
    """Chains without invalid references; some references have no number."""
    steps = []
    for at in range(draw(st.integers(1, max_steps))):
        choices = [st.just(Clue("context"))]
        choices += [st.builds(Clue, st.just("image"), st.none() | st.integers(0, images - 1))]
        choices += [st.builds(Clue, st.just("text"), st.none() | st.integers(0, texts - 1))]
        if at:
            earlier = st.none() | st.integers(0, at - 1)
            choices += 3 * [st.builds(Clue, st.just("conclusion"), earlier)]
        premises = draw(st.lists(st.one_of(choices), max_size=4))
        steps.append(Step(tuple(premises), draw(st.sampled_from(["a", "b", "c"]))))
    return ReasoningChain(tuple(steps))
