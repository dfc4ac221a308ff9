"""Estimate of the number of tokens of a text, where no server has counted them."""

from __future__ import annotations

import re

from lmms_rpts.judging.types import JudgeRequest

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LETTERS_A_TOKEN = 4.0
_MESSAGE = 4
"""Tokens that a chat template puts around each message, about."""


def guess_tokens(text: str) -> int:
    """About how many tokens ``text`` has: one a CJK character, else one for four letters."""
    wide = len(_WIDE.findall(text))
    return wide + round((len(text) - wide) / _LETTERS_A_TOKEN)


def guess_input_tokens(request: JudgeRequest) -> int:
    """About how many tokens a request's chat has."""
    return sum(guess_tokens(message["content"]) + _MESSAGE for message in request.messages)
