"""Estimated number of tokens of a text or an image, for servers that do not report it."""

from __future__ import annotations

import re
from math import ceil

from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.types import JudgeRequest

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LETTERS_A_TOKEN = 4.0
_MESSAGE = 4
"""Approximate tokens that a chat template adds per message."""
_PATCH = 28
"""Approximate side of the image patch of one token in pixels, as in Qwen2-VL."""


def guess_tokens(text: str) -> int:
    """Estimated tokens of ``text``: one per CJK character, else one per four letters."""
    wide = len(_WIDE.findall(text))
    return wide + round((len(text) - wide) / _LETTERS_A_TOKEN)


def guess_image_tokens(image: JudgeImage) -> int:
    """Estimated tokens of an image; 0 if its size is not known yet."""
    width, height = image.known_size or (0, 0)
    return ceil(width / _PATCH) * ceil(height / _PATCH)


def guess_input_tokens(request: JudgeRequest) -> int:
    """Estimated tokens of a request's chat, with its images."""
    words = sum(guess_tokens(message["content"]) + _MESSAGE for message in request.messages)
    return words + sum(map(guess_image_tokens, request.images))
