"""Images in calls of the OpenAI chat protocol, and what servers say that take none."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.judging.images import MEDIA_TYPE, JudgeImage
from lmms_rpts.judging.types import FatalJudgeError, Message, RefusedError

_PATIENCE = 3
"""Refusals after which a model that never took an image is held to be blind."""
_REFUSED = (400, 404, 422)
_FAILED = 500
_TOO_LARGE = 413
_OTHER_MATTERS = (
    *("content_filter", "content_policy_violation", "context_length_exceeded"),
    *("insufficient_quota", "invalid_api_key", "model_not_found"),
)
# "Invalid content type. image_url is only supported by certain models." (OpenAI), "x is not a
# multimodal model" (vLLM), "No endpoints found that support image input" (OpenRouter), "unknown
# variant `image_url`, expected `text`" (DeepSeek), "messages[0].content must be a string" (Groq).
_ABOUT_IMAGES = re.compile(
    r"image|multi-?\s?modal|\bvision|mmproj|must be a (?:valid )?string|be a valid string",
    re.IGNORECASE,
)
_ABOUT_PARAMETERS = re.compile(
    r"response_format|json_schema|structured|guided|grammar|temperature|max_(?:completion_)?tokens",
    re.IGNORECASE,
)
# Also cut off, without its beginning, or with "\/" for "/".
_ENCODED = re.compile(r"data:[\w.+/-]{1,40};base64,[\w+/\\=]*|[A-Za-z0-9+/\\]{100,}={0,2}", re.A)
_REMEDY = "choose a model that sees, or set LMMS_RPTS_EVIDENCE=facts"


def with_images(
    messages: Sequence[Message], images: Sequence[JudgeImage]
) -> list[Mapping[str, Any]]:
    """The chat with the images before the text of the user's first message, each after its name.

    Raises:
        ImageError: where an image can't be read.
    """
    chat: list[Mapping[str, Any]] = [dict(message) for message in messages]
    parts: list[dict[str, Any]] = []
    for image in images:
        encoded = base64.b64encode(image.encoded().content).decode("ascii")
        url = {"url": f"data:{MEDIA_TYPE};base64,{encoded}"}
        parts += [
            {"type": "text", "text": f"{image.name}:"},
            {"type": "image_url", "image_url": url},
        ]
    users = (at for at, message in enumerate(messages) if message["role"] == "user")
    first = next(users, None)
    if first is None:
        return [*chat, {"role": "user", "content": parts}]
    parts.append({"type": "text", "text": messages[first]["content"]})
    chat[first] = {**messages[first], "content": parts}
    return chat


def hide_images(text: str) -> str:
    """``text`` without what encodes an image: some servers quote what they were asked."""
    return _ENCODED.sub("[image]", text)


class Sight:
    """Whether a model takes images, as its server's answers tell.

    Args:
        model: the model's name.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._name = re.compile(rf"(?<![\w-]){re.escape(model)}(?![\w-])")
        self._took = False
        self._refusals = 0

    def took(self) -> None:
        """A question with images was answered."""
        self._took = True

    def refusal(self, status: int, complaint: str, code: str | None, said: str) -> Exception | None:
        """What a failed call with images means; None where it was refused for other reasons.

        Args:
            status: of the response.
            complaint: the server's words.
            code: the error's code, where the server gives one.
            said: the complaint as it may be shown.
        """
        if status == _TOO_LARGE:
            return RefusedError(
                f"the judge's server refused ({status}): {said}; smaller images may be taken: "
                "LMMS_RPTS_IMAGE_SIZE"
            )
        if code in _OTHER_MATTERS or not self._is_about_images(status, complaint):
            return None
        if not self._took:
            self._refusals += 1
            if self._refusals >= _PATIENCE:
                return FatalJudgeError(
                    f"the judge's model {self._model!r} takes no images ({status}): {said}; "
                    f"{_REMEDY}"
                )
        return RefusedError(f"the judge's server refused a question with images ({status}): {said}")

    def _is_about_images(self, status: int, complaint: str) -> bool:
        # A server that took images before and fails now may be asked again.
        if status not in _REFUSED and (status != _FAILED or self._took):
            return False
        words = self._name.sub("", complaint)  # which may be called "vision"
        image, parameter = _ABOUT_IMAGES.search(words), _ABOUT_PARAMETERS.search(words)
        if image is None:
            return False
        # What is named first is meant: "response_format is not supported with images", but also
        # "content must be a string: {'temperature': 0, ...}".
        return parameter is None or image.start() < parameter.start()
