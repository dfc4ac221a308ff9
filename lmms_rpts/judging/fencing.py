"""Fences around text of models in prompts, so that it can't pose as instructions.

The text is put between ``<<<`` and ``>>>``. Similar marks inside it, and the marks that separate
turns in chat models, are rewritten with round brackets. Invisible characters are removed:
they could hide a mark from these rules, but not from a tokenizer.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from lmms_rpts.escaping import storable

LONGEST_FENCED = 16_000
"""Maximum length of a fenced text in characters; the middle of a longer one is left out."""

# Number of characters of the mark that each one replaces: «« and ⋘ look like <<<, as do ＜＜＜.
_OPENING = (
    dict.fromkeys("<＜﹤‹❮❬⟨\u2329\u3008⧼˂ᐸ≺\u16b2", 1)
    | dict.fromkeys("«≪⟪《⪡", 2)
    | dict.fromkeys("⋘\u2af7", 3)
)
_CLOSING = (
    dict.fromkeys(">＞﹥›❯❭⟩\u232a\u3009⧽˃ᐳ≻", 1)
    | dict.fromkeys("»≫⟫》⪢", 2)
    | dict.fromkeys("⋙\u2af8", 3)
)
_SPACES = r"\s{0,3}"  # "< < <", and with line breaks between
_MARKS = re.compile(
    "|".join(
        rf"[{''.join(signs)}](?:{_SPACES}[{''.join(signs)}])*" for signs in (_OPENING, _CLOSING)
    )
)
_WEIGHTS = _OPENING | _CLOSING
_LEAST = 3

_LEFT, _RIGHT, _BAR = "[<＜﹤]", "[>＞﹥]", "[|｜￨∣]"
_TURNS = re.compile(
    # <|im_start|>, <|eot_id|>, <｜Assistant｜>; not the bars of "1 < |x| and |y| > 2"
    rf"{_LEFT}{_SPACES}{_BAR}[^<>|｜￨∣＜＞﹤﹥\n]{{2,40}}{_BAR}{_SPACES}{_RIGHT}"
    # <|turn>, <turn|>, [|user|], ]~b]user, [e~[
    rf"|{_LEFT}{_BAR}/?[a-z_]{{3,30}}{_RIGHT}|{_LEFT}/?[a-z_]{{3,30}}{_BAR}{_RIGHT}"
    rf"|\[{_BAR}[a-z_ ]{{2,30}}{_BAR}\]|\]~!?[a-z]{{1,9}}[\[\]]|\[e~\["
    # <BOS_TOKEN>, <extra_id_1>, <reserved_106>, <SPECIAL_11>, <end_of_utterance>, <seed:bos>
    rf"|{_LEFT}/?[a-z_:]{{0,20}}(?:token|extra_id|reserved|special|utterance|context|bos|eos"
    rf"|eoh|eoa|turn)[a-z0-9_]{{0,12}}{_RIGHT}"
    # <s>, </s>, <bos>, <start_of_turn>, <think>, <image>, <<SYS>>
    rf"|{_LEFT}{{1,2}}{_SPACES}/?(?:s|bos|eos|eod|unk|pad|sop|eop|sys|system|user|assistant|human"
    r"|image|img|video|audio|(?:start|end)_of_(?:turn|image|text)|think(?:ing)?|thought|reasoning"
    r"|tool_call"
    rf"|tool_response|function_calls?|instructions?|endoftext){_SPACES}/?{_RIGHT}{{1,2}}"
    # [INST], [/INST], [gMASK], [TOOL_CALLS]
    r"|\[/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
    r"|IMG(?:_BREAK|_END)?|S?GMASK|CLS|SEP|PAD|UNK|MASK|BOS|EOS|EOT|THINK|ARGS)\]",
    re.IGNORECASE,
)
_ROUND = str.maketrans(dict.fromkeys([*_OPENING, "["], "(") | dict.fromkeys([*_CLOSING, "]"], ")"))
# Line breaks and tabs are kept; servers cannot use other control characters.
_SHOWN = frozenset("\n\t\r")


def fence(text: str) -> str:
    """``text`` between marks that it cannot contain; invalid characters are replaced."""
    clean = neutralise(storable(text)).strip()
    if len(clean) > LONGEST_FENCED:
        tail = LONGEST_FENCED // 3
        clean = f"{clean[: LONGEST_FENCED - tail]}\n[...]\n{clean[-tail:]}"
    return f"<<<{clean}>>>"


def neutralise(text: str) -> str:
    """``text`` without invisible characters, fence marks and marks of chat turns."""
    visible = "".join(map(_visible, text)) if not text.isascii() else _CONTROLS.sub(_REPLACED, text)
    return _MARKS.sub(_round_marks, _TURNS.sub(lambda found: found[0].translate(_ROUND), visible))


_REPLACED = "\N{REPLACEMENT CHARACTER}"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@lru_cache(maxsize=4096)
def _visible(character: str) -> str:
    """The character; empty for an invisible one, the replacement character for a control."""
    category = unicodedata.category(character)
    if category == "Cc":
        return character if character in _SHOWN else _REPLACED
    # Zero-width spaces and joiners, direction marks, tags; also fillers, which count as letters.
    if category == "Cf" or character in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0":
        return ""
    # Variation selectors change how the character before them is drawn, if at all.
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return "" if is_selector else character


def _round_marks(found: re.Match[str]) -> str:
    weight = sum(_WEIGHTS.get(character, 0) for character in found[0])
    return found[0].translate(_ROUND) if weight >= _LEAST else found[0]
