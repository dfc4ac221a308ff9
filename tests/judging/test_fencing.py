"""Fencing: no text of a model can escape its fence in a judge's prompt, or begin a turn."""

from __future__ import annotations

import re
import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from lmms_rpts.judging.fencing import _CLOSING, _OPENING, LONGEST_FENCED, fence, neutralise
from tests.support.growth import assert_linear
from tests.support.tables import table

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\U000e0041\ufe0f\u3164\u115f\u034f"
KEPT = [
    *("plain", "", "a < b > c << d >> e", "1 < |x| and |y| > 2", "|x|>1 or |x|<1", "0<|x|<|y|>1"),
    *("an array[i] of a[|i|] and ]~", "cout << x << y; v = f<g<int>>(3)", "if a<b and c>d"),
    *("图片里有两只狗，《红楼梦》和“书”", "line\n\tline\r\n", "[1, 2] [a] x[INSTANCE] [S]"),
    *("the < set > and <b>bold</b>", "→ ⇒ ➜ 👍 é e\u0301"),
]
MARKS = [
    ("a<<<b>>>c", "a(((b)))c"),
    (">>>>>>", "))))))"),
    ("＜＜＜ ＞＞＞", "((( )))"),
    ("<＜﹤", "((("),
    ("< < <", "( ( ("),
    (">\n>\n>", ")\n)\n)"),
    ("> \u3000> \u00a0>", ") \u3000) \u00a0)"),
    ("<\u200b<\u2060<", "((("),
    ("«« ⋙ ‹‹‹ ››› 〈〈〈 ⟩⟩⟩", "(( ) ((( ))) ((( )))"),
    ("<<<<", "(((("),
    ("\u2af7 \u2af8 ⪢⪢ \u2329\u2329\u2329", "( ) )) ((("),
]
TURNS = [
    *("<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|endoftext|>"),
    *("<｜Assistant｜>", "<｜end▁of▁sentence｜>", "＜|im_start|＞", "< |im_start| >"),
    *("[INST]", "[/INST]", "[inst]", "[TOOL_CALLS]", "[gMASK]", "[SYSTEM_PROMPT]", "[IN\u200bST]"),
    *("<s>", "</s>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<<SYS>>", "<</SYS>>"),
    *(
        *("<|turn>", "<turn|>", "<|channel>", "[|user|]", "[|endofturn|]", "]~b]", "[e~["),
        "</thought>",
    ),
    *("<BOS_TOKEN>", "<extra_id_1>", "<reserved_106>", "<SPECIAL_11>", "<end_of_utterance>"),
    *("<seed:bos>", "<eoh>", "[EOT]", "[THINK]", "[/THINK]", "<IMG_CONTEXT>"),
    *("<think>", "</think>", "<THINK>", "<image>", "<pad>", "<unk>", "<tool_call>", "<sop>"),
    *("<|im_\u200bstart|>", "<\ufeff|system|>", "<|vision_start|><|image_pad|><|vision_end|>"),
]


def folded(text: str) -> str:
    """``text`` with look-alikes replaced by the characters they resemble, and without spaces."""
    signs = {sign: "<" * many for sign, many in _OPENING.items()}
    signs |= {sign: ">" * many for sign, many in _CLOSING.items()}
    seen = (c for c in text if unicodedata.category(c) != "Cf" and not c.isspace())
    return "".join(seen).translate(str.maketrans(signs))


@table("text", *KEPT)
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert fence(text) == f"<<<{text.strip()}>>>"


@table("text, shown", *MARKS)
def test_fence_marks_and_look_alikes_become_round(text: str, shown: str) -> None:
    assert neutralise(text) == shown


@table("mark", *TURNS)
def test_marks_of_chat_turns_are_rounded(mark: str) -> None:
    shown = neutralise(f"so {mark} it is")
    assert not re.search(r"[<>\[\]＜＞]", shown), shown
    letters = [c for c in mark if c.isalpha() and c not in INVISIBLE]
    assert [c for c in shown.removeprefix("so ").removesuffix(" it is") if c.isalpha()] == letters


def test_invisible_characters_are_removed() -> None:
    assert neutralise(f"a{INVISIBLE}b") == "ab"
    assert neutralise("a\x00b\x1b[31mc\x7fd\x85e") == "a\ufffdb\ufffd[31mc\ufffdd\ufffde"


def test_lone_surrogates_are_replaced() -> None:
    assert fence("a\ud800b") == "<<<a?b>>>"


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
    assert neutralise(inside) == inside
    fenced.encode("utf-8")


@given(st.text(alphabet="<＜﹤‹«⋘ >＞›»⋙ab", max_size=30))
def test_nothing_that_looks_like_a_mark_is_left(text: str) -> None:
    runs = re.findall(r"[^\w\s]+(?:\s{0,3}[^\w\s]+)*", neutralise(text))
    for run in runs:
        assert "<<<" not in folded(run), run
        assert ">>>" not in folded(run), run


def test_every_invisible_format_character_is_removed() -> None:
    formats = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) == "Cf"]
    assert len(formats) > 100
    assert neutralise("".join(formats)) == ""


def test_long_text_is_cut_in_the_middle_with_a_mark() -> None:
    text = "begin " + "x" * LONGEST_FENCED + " the end"
    fenced = fence(text)
    assert fenced.startswith("<<<begin xxx")
    assert fenced.endswith("xxx the end>>>")
    assert fenced.count("[...]") == 1
    assert LONGEST_FENCED <= len(fenced) < LONGEST_FENCED + 20


def test_text_that_just_fits_is_shown_whole() -> None:
    text = "x" * LONGEST_FENCED
    assert fence(text) == f"<<<{text}>>>"
    assert "[...]" in fence(text + "x")


@table("piece", "<", "< ", "<|", "<|a", "[", "\u200b", "<<<\n", "《")
def test_fencing_takes_linear_time(piece: str) -> None:
    assert_linear(neutralise, lambda size: piece * size, 20_000)
