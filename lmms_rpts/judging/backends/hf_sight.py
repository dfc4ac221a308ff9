"""Images for a model of transformers: its processor, and batches of prompts with images."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from loguru import logger

from lmms_rpts.judging.backends.hf_chat import Chat, UnusableError, said
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.types import Message, RefusedError

_PROBE = [{"role": "user", "content": "Probe"}]


@dataclass(frozen=True, slots=True)
class SeenPrompt:
    """A prompt in the form that the processor takes.

    Attributes:
        text: rendered by the chat template, with a placeholder for each image.
        images: images as JPEG, the same bytes as in the request's digest.
    """

    text: str
    images: tuple[bytes, ...]


class Vision:
    """A processor that renders chats with images.

    Args:
        processor: a processor of transformers.

    Attributes:
        template: chat template of the processor.

    Raises:
        UnusableError: if it takes no images, or its chat template drops them.
    """

    def __init__(self, processor: Any) -> None:
        tokenizer = getattr(processor, "tokenizer", None)
        if tokenizer is None or getattr(processor, "image_processor", None) is None:
            raise UnusableError("its processor takes no images")
        template = getattr(processor, "chat_template", None)
        if template:
            tokenizer.chat_template = template
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        tokenizer.padding_side = "left"
        self._processor, self._tokenizer = processor, tokenizer
        self._media = _media_tokens(processor)
        self._chat = Chat(tokenizer, self._media)
        self.template = tokenizer.chat_template
        self._check_template()

    def read(
        self, messages: Sequence[Message], images: Sequence[JudgeImage]
    ) -> tuple[SeenPrompt, list[int]]:
        """The prompt and its tokens, including image tokens.

        Raises:
            RefusedError: if the request cannot be rendered for the model.
        """
        text = self._chat.text(messages, [image.name for image in images])
        try:
            prompt = SeenPrompt(text, tuple(image.encoded().content for image in images))
            ids: list[int] = self.inputs([prompt])["input_ids"][0].tolist()
        except Exception as error:  # an unreadable image, or any error of a processor
            raise RefusedError(f"the judge's processor rejects the images: {said(error)}") from None
        return prompt, ids

    def inputs(self, prompts: Sequence[SeenPrompt]) -> Any:
        """Model inputs for prompts with the same number of images: tensors (prompts, tokens)."""
        options: dict[str, Any] = {}
        begin = self._tokenizer.bos_token
        if begin and prompts[0].text.startswith(begin):
            options["add_special_tokens"] = False  # the template added them
        return self._processor(
            text=[prompt.text for prompt in prompts],
            images=[[_decoded(content) for content in prompt.images] for prompt in prompts],
            padding=True,
            return_tensors="pt",
            **options,
        )

    def _check_template(self) -> None:
        try:
            texts = [self._chat.text(_PROBE, ["Name"] * count) for count in range(3)]
        except RefusedError as error:
            raise UnusableError(f"its chat template takes no images ({error})") from None
        shown = [sum(text.count(token) for token in self._media) for text in texts]
        if not shown[0] < shown[1] < shown[2] or any("Probe" not in text for text in texts):
            raise UnusableError("its chat template shows no images")


def _media_tokens(processor: Any) -> tuple[str, ...]:
    """The placeholders of images in prompts, and the tokens around them."""
    found: list[str] = []
    for name in ("image_token", "boi_token", "eoi_token", "video_token", "audio_token"):
        found += [getattr(owner, name, "") for owner in (processor, processor.tokenizer)]
    found += [value for name, value in vars(processor).items() if name.endswith("_token")]
    # Some processors have a token object of the tokenizers library; str() gives its text.
    tokens = dict.fromkeys(str(token).strip() for token in found if token)
    return tuple(token for token in tokens if not token.isalnum())


def _decoded(content: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(content), formats=["JPEG"]).convert("RGB")


def sees_hf(path: str) -> bool:
    """Whether a model supports images, by its config and its processor; never raises."""
    return vision_of(path) is not None


@lru_cache(maxsize=4)
def vision_of(path: str) -> Vision | None:
    """The processor of a model with vision; None for others. Loads the processor, no weights."""
    from transformers import AutoConfig, AutoProcessor

    load: Any = AutoProcessor.from_pretrained
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        if not _is_multimodal(config):
            return None
        return Vision(load(path, trust_remote_code=False))
    except Exception as error:  # any error of a broken file or of the network
        logger.warning(f"The judge's model {path} cannot be used with images: {said(error)}")
    return None


def with_template(tokenizer: Any, path: str) -> Any:
    """The tokenizer of a model; older ones with vision keep the chat template in the processor."""
    vision = None if tokenizer.chat_template else vision_of(path)
    if vision is not None:
        tokenizer.chat_template = vision.template
    return tokenizer


def _is_multimodal(config: Any) -> bool:
    from transformers.models.auto import modeling_auto

    names = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    if getattr(config, "is_encoder_decoder", False):
        return False
    # transformers also lists some of these, such as Gemma 3, as language models.
    built = set(config.architectures or ())
    return bool(built & set(names.values())) if built else config.model_type in names
