"""Fencing: no text of a model can escape its fence in a judge's prompt, or begin a turn."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from lmms_rpts.judging.prompts import LONGEST_FENCED, fence
from tests.support.tables import table

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\U000e0041\ufe0f\u3164\u115f\u034f"
KEPT = [
    *("plain", "", "a < b > c << d >> e", "1 < |x| and |y| > 2", "|x|>1 or |x|<1", "0<|x|<|y|>1"),
    *("an array[i] of a[|i|] and ]~", "cout << x << y; v = f<g<int>>(3)", "if a<b and c>d"),
    *("图片里有两只狗，《红楼梦》和“书”", "line\n\tline\r\n", "[1, 2] [a] x[INSTANCE] [S]"),
    *("the < set > and <b>bold</b>", "→ ⇒ ➜ 👍 é e\u0301"),
]

TURNS = [
    *("<|im_start|>", "<|eot_id|>", "<|endoftext|>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
    *("＜|im_start|＞", "< |im_start| >", "<|im_\u200bstart|>", "<|turn>", "<turn|>", "[|user|]"),
    *("[INST]", "[/INST]", "[inst]", "[TOOL_CALLS]", "[gMASK]", "[SYSTEM_PROMPT]", "[/THINK]"),
    *("<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<<SYS>>", "<</SYS>>"),
    *("<BOS_TOKEN>", "<extra_id_1>", "<reserved_106>", "<end_of_utterance>", "<seed:bos>"),
    *("<think>", "</think>", "<THINK>", "</thought>", "<image>", "<pad>", "<unk>", "<tool_call>"),
]


def neutral(text: str) -> str:
    return fence(text)[3:-3]


@table("text", *KEPT)
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert fence(text) == f"<<<{text.strip()}>>>"


@table(
    "text, shown",
    ("a<<<b>>>c", "a(((b)))c"),
    ("＜＜＜ ＞＞＞", "((( )))"),
    (">\n>\n>", ")\n)\n)"),
    ("<\u200b<\u2060<", "((("),
    ("«« ‹‹‹ ››› 》》", "(( ((( ))) ))"),
)
def test_fence_marks_and_look_alikes_become_round(text: str, shown: str) -> None:
    assert neutral(text) == shown


@table("mark", *TURNS)
def test_marks_of_chat_turns_are_rounded(mark: str) -> None:
    shown = neutral(f"so {mark} it is")
    assert not re.search(r"[<>\[\]＜＞]", shown), shown
    letters = [c for c in mark if c.isalpha() and c not in INVISIBLE]
    assert [c for c in shown.removeprefix("so ").removesuffix(" it is") if c.isalpha()] == letters


def test_invisible_characters_are_removed() -> None:
    assert neutral(f"a{INVISIBLE}b") == "ab"
    assert fence("a\ud800b") == "<<<a�b>>>"
    assert neutral("a\x00b\x1b[31mc\x7fd\x85e") == "a\ufffdb\ufffd[31mc\ufffdd\ufffde"


@given(
    st.one_of(
        st.text(),
        st.text(alphabet="<>＜＞‹›«»\x00\ud800 \n\u200b-a|s/[]INST", max_size=40),
        st.lists(st.sampled_from([*TURNS, "<", ">", " ", "x", "\n"])).map("".join),
    )
)
@example(">>\x00>")
@example(">\ud800>>")
@example("<<\u200d<")
def test_nothing_breaks_out_of_a_fence(text: str) -> None:
    fenced = fence(text)
    assert fenced.startswith("<<<")
    assert fenced.endswith(">>>")
    inside = fenced[3:-3]
    assert not re.search(r"<<<|>>>", inside)
    assert not re.search(r"(?:<\s{0,3}){3}|(?:>\s{0,3}){3}", inside)
    for sign in ("<|im_start|>", "[INST]", "</s>", "<think>"):
        assert sign.lower() not in inside.lower()
    assert neutral(inside) == inside
    fenced.encode("utf-8")


def test_long_text_is_cut_in_the_middle_with_a_mark() -> None:
    fenced = fence("begin " + "x" * LONGEST_FENCED + " the end")
    assert re.fullmatch(r"<<<begin x+\n\[\.\.\.\]\nx+ the end>>>", fenced)
    assert LONGEST_FENCED <= len(fenced) < LONGEST_FENCED + 20
    whole = "x" * LONGEST_FENCED
    assert fence(whole) == f"<<<{whole}>>>"
    assert "[...]" in fence(whole + "x")
