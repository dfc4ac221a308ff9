"""Images in calls of the OpenAI chat protocol, and refusals by servers that accept none."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.judging.images import MEDIA_TYPE, JudgeImage
from lmms_rpts.judging.types import FatalJudgeError, Message, RefusedError

_PATIENCE = 3
"""Refusals after which a model that never accepted an image counts as text-only."""
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
    r"image|multi-?\s?modal|\bvision|mmproj|(?:be|expected) an? (?:valid )?string"
    r"|图[片像]|视觉|多模态",
    re.IGNORECASE,
)
_IMAGES = r"(?:image\w{0,12}|multi-?\s?modal\w{0,6}|vision|visual\w{0,2}|pictures?)"
_WORDS = r"(?:\W{1,3}\w{1,30}){0,4}?\W{1,3}"
_TAKES = r"(?:support|accept|enable|take|have|handle|understand|see|view)\w{0,4}"
_DENIED = r"(?:not|n['\u2019]t|cannot|unable to)"
# The cause is the model, not one image. For servers' messages see above.
_BLIND = re.compile(
    rf"""{_DENIED}{_WORDS}{_TAKES}{_WORDS}{_IMAGES}      # does not support image input
    | {_IMAGES}{_WORDS}{_DENIED}{_WORDS}{_TAKES}         # image input is not supported
    | {_IMAGES}{_WORDS}(?:unsupported|only\W{_TAKES}\W(?:by|with|for))
    | \bno{_WORDS}that\W{_TAKES}\W{_IMAGES}             # no endpoints found that support image
    | (?:\bno|without|lacks?|lacking)\W(?:vision|multi-?modal|image\W(?:input|support|capab))
    | \bno[nt]\W(?:an?\W)?(?:vision|multi-?\s?modal)      # is not a multimodal model
    | at\ most\ 0\ image | mmproj | text[\ -]only | only{_WORDS}text\b
    | (?:unknown|unsupported|unexpected|unrecognized){_WORDS}image_url
    | (?:variant|type|value|part|field)\W{{1,4}}image_url
    | be\ an?\ (?:valid\ )?string | expected\ an?\ string
    | 不支持(?:图[片像]|视觉|多模态)""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
# The cause is one image or one question: "the image may contain content that is not allowed",
# "image exceeds 5 MB maximum", "could not process image", "does not support images of this size".
_THIS_QUESTION = re.compile(
    r"""\b(?:this|that|the|your)\W(?:\w{1,20}\W)?images?\b(?!\W(?:input|modal|type|part|url))
    | polic(?:y|ies) | safety | unsafe | moderat | harmful | prohibited | violat | sensitive
    | inappropriate | content\ that | \b(?:people|persons?|faces?)\b
    | (?:could\ not|couldn't|can\ ?not|can't|unable\ to|failed\ to)\W(?:be\W)?
      (?:process|decod|read|load|open|identif|download|fetch)
    | exceed | too\ (?:large|big|long|small|many|high) | maximum | at\ most\ [1-9] | more\ than
    | context\W(?:length|window) | larger | bigger | smaller | \bsizes?\b | \d\ ?[mk]i?b\b
    | pixels | megapixel | resolution | dimension | aspect | channel | transparen | animat
    | image\W(?:file\W)?(?:format|detail) | mime | media\W?type | \b(?:webp|gif|bmp|heic|tiff|svg)
    | invalid\W(?:base64\W)?image(?!_url) | corrupt | truncated | malformed | broken""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.;\n{(\[]")
_ABOUT_PARAMETERS = re.compile(
    r"response_format|json_schema|structured|guided|grammar|temperature|max_(?:completion_)?tokens",
    re.IGNORECASE,
)
_REMEDY = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"


def with_images(
    messages: Sequence[Message], images: Sequence[JudgeImage]
) -> list[Mapping[str, Any]]:
    """The chat with the images before the text of the first user message, each after its name.

    Raises:
        ImageError: if an image cannot be read.
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


class Sight:
    """Whether a model accepts images, learned from its server's replies.

    Args:
        model: the model's name.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._name = re.compile(rf"(?<![\w-]){re.escape(model)}(?![\w-])")
        self._took = False
        self._refusals = 0

    def took(self) -> None:
        """Record that a question with images was answered."""
        self._took = True

    def refusal(self, status: int, complaint: str, code: str | None, said: str) -> Exception | None:
        """The error of a failed call with images; None if it was refused for other reasons.

        Args:
            status: HTTP status of the response.
            complaint: the server's message.
            code: the error code, if any.
            said: the message without secrets.
        """
        if status == _TOO_LARGE:
            return RefusedError(
                f"the judge's server refused ({status}): {said}; try smaller images: "
                "set image_size in rpts.toml"
            )
        words = self._name.sub("", complaint)  # the model may be called "vision"
        if code in _OTHER_MATTERS or not self._is_refused(status, words):
            return None
        if not self._took and _lacks_sight(words):
            self._refusals += 1
            if self._refusals >= _PATIENCE:
                return FatalJudgeError(
                    f"the judge's model {self._model!r} does not accept images ({status}): {said}; "
                    f"{_REMEDY}"
                )
        return RefusedError(f"the judge's server refused a question with images ({status}): {said}")

    def _is_refused(self, status: int, words: str) -> bool:
        """Whether the images are the reason for the refusal."""
        if status == _FAILED:
            # If the server accepted images before, or gives another reason, it is asked again.
            told = _lacks_sight(words) or _THIS_QUESTION.search(words) is not None
            return told and not self._took and _is_about_images(words)
        return status in _REFUSED and _is_about_images(words)


def _is_about_images(words: str) -> bool:
    image, parameter = _ABOUT_IMAGES.search(words), _ABOUT_PARAMETERS.search(words)
    if image is None:
        return False
    # The first name counts: "response_format is not supported with images", but also
    # "content must be a string: {'temperature': 0, ...}".
    return parameter is None or image.start() < parameter.start()


def _lacks_sight(words: str) -> bool:
    """Whether the message says that the model accepts no images at all."""
    blind = _BLIND.search(words)
    if blind is None:
        return False
    # Up to the sentence's end: the rest may quote the question.
    end = _SENTENCE_END.search(words, blind.end())
    return _THIS_QUESTION.search(words, 0, end.start() if end else len(words)) is None
