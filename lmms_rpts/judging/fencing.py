"""Fences around text of models in prompts, so that it can't pose as instructions.

The text is put between ``<<<`` and ``>>>``. These marks inside it, and the marks that separate
turns in chat models, are rewritten with round brackets. Invisible characters are removed: they
could hide a mark from these rules, but not from a tokenizer.
"""

from __future__ import annotations

import re

from lmms_rpts.base.escaping import storable

LONGEST_FENCED = 16_000
"""Maximum length of a fenced text in characters; the middle of a longer one is left out."""

_OPENING, _CLOSING = "<＜‹«《〈", ">＞›»》〉"
# Two double marks, or three of any; with blanks between: "< < <"
_MARKS = re.compile(
    "|".join(
        rf"[{double}]\s{{0,3}}[{double}]|[{signs}](?:\s{{0,3}}[{signs}]){{2,}}"
        for signs, double in ((_OPENING, "«《"), (_CLOSING, "»》"))
    )
)
_TURNS = re.compile(
    # <|im_start|>, <|eot_id|>, <｜Assistant｜>; not the bars of "1 < |x| and |y| > 2"
    r"[<＜]\s{0,3}[|｜][^<>|｜＜＞\n]{2,40}[|｜]\s{0,3}[>＞]"
    # <|turn>, <turn|>, [|user|]
    r"|<\|/?[a-z_]{3,30}>|</?[a-z_]{3,30}\|>|\[\|[a-z_ ]{2,30}\|\]"
    # <BOS_TOKEN>, <extra_id_1>, <end_of_utterance>, <seed:bos>
    r"|</?[a-z_:]{0,20}(?:token|extra_id|reserved|special|utterance|context|bos|eos|turn)"
    r"[a-z0-9_]{0,12}>"
    # <s>, </s>, <think>, <image>, <<SYS>>
    r"|<{1,2}\s{0,3}/?(?:s|unk|pad|sop|eop|sys|system|user|assistant|human|image|img|video|audio"
    r"|(?:start|end)_of_(?:text|image)|think(?:ing)?|thought|reasoning|tool_call|tool_response"
    r"|function_calls?|instructions?|endoftext)\s{0,3}/?>{1,2}"
    # [INST], [/INST], [gMASK], [TOOL_CALLS]
    r"|\[/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|S?GMASK|MASK|BOS|EOS"
    r"|EOT|THINK)\]",
    re.IGNORECASE,
)
# Zero-width spaces and joiners, direction marks, tags; also fillers, which count as letters.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ROUND = str.maketrans(dict.fromkeys([*_OPENING, "["], "(") | dict.fromkeys([*_CLOSING, "]"], ")"))


def fence(text: str) -> str:
    """``text`` between marks that it cannot contain; invalid characters are replaced."""
    clean = neutralise(storable(text)).strip()
    if len(clean) > LONGEST_FENCED:
        tail = LONGEST_FENCED // 3
        clean = f"{clean[: LONGEST_FENCED - tail]}\n[...]\n{clean[-tail:]}"
    return f"<<<{clean}>>>"


def neutralise(text: str) -> str:
    """``text`` without invisible characters, fence marks and marks of chat turns."""
    visible = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _INVISIBLE.sub("", text))
    for marks in (_TURNS, _MARKS):
        visible = marks.sub(lambda found: found[0].translate(_ROUND), visible)
    return visible
