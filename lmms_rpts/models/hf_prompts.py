"""Prompts for image-text-to-text models of transformers: chat template, images, padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loguru import logger
from PIL import Image

from lmms_rpts.escaping import storable

PLACEHOLDER = "<image>"
"""Placeholder for an image in prompts of lmms-eval."""
_PROBE = "nothing but a probe"
# Gemma's processor inserts images at the begin-of-image token.
_MEDIA_TOKENS = ("boi_token", "image_token", "video_token", "audio_token")


@dataclass(frozen=True, slots=True)
class ReadyPrompt:
    """A prompt in the form that the processor expects.

    Attributes:
        text: rendered by the chat template, up to the start of the model's answer.
        images: images in the order of their placeholders in the text.
    """

    text: str
    images: tuple[Image.Image, ...] = ()


class PromptBuilder:
    """Builds prompts from contexts, and tensors from prompts.

    Args:
        processor: a processor of transformers, with a tokenizer.
        chat_template: a Jinja template or the path of a file with one, instead of the
            checkpoint's.
    """

    def __init__(self, processor: Any, chat_template: str | None = None) -> None:
        self._processor = processor
        self._tokenizer = processor.tokenizer
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self.template = _template(processor, chat_template)
        self._takes_parts = self.template is not None and self._understands_parts()
        if self.template is None:
            logger.warning(
                "The checkpoint has no chat template: prompts are passed to the model unchanged. "
                "If the model was trained on chats, set --model_args chat_template=FILE."
            )

    def prompt(self, context: str, images: Sequence[Image.Image]) -> ReadyPrompt:
        """The prompt for a context, with its images first, or at the ``<image>`` placeholders.

        Args:
            context: the text of the task.
            images: images of the document; empty for text only.
        """
        pieces = context.split(PLACEHOLDER)
        if not images or len(pieces) != len(images) + 1:
            pieces = [""] * len(images) + [context]
        pieces = [self.plain(piece) for piece in pieces]
        return ReadyPrompt(self._render(pieces), tuple(images))

    def plain(self, text: str) -> str:
        """Text without image tokens, which would have no pixels."""
        text = storable(text)  # tokenizers reject lone surrogates
        for token in self._media_tokens():
            text = text.replace(token, f"{token[:1]} {token[1:]}")
        return text

    def with_continuation(self, prompt: ReadyPrompt, continuation: str) -> ReadyPrompt:
        """The prompt followed by an answer, without an end of turn.

        White space is not doubled, as it would be with lmms-eval's delimiter ``" "`` after a
        template that ends in a new line.
        """
        if prompt.text[-1:].isspace():
            continuation = continuation.lstrip()
        return ReadyPrompt(prompt.text + self.plain(continuation), prompt.images)

    def encode(self, prompts: Sequence[ReadyPrompt], padding: Literal["left", "right"]) -> Any:
        """Model inputs for prompts with the same number of images: tensors (prompts, tokens)."""
        self._tokenizer.padding_side = padding
        options: dict[str, Any] = {}
        if prompts[0].images:
            options["images"] = [list(prompt.images) for prompt in prompts]
        begin = self._tokenizer.bos_token
        if begin and prompts[0].text.startswith(begin):
            options["add_special_tokens"] = False  # the template added them
        texts = [prompt.text for prompt in prompts]
        return self._processor(text=texts, padding=True, return_tensors="pt", **options)

    def _render(self, pieces: Sequence[str]) -> str:
        """The rendered prompt; ``pieces`` are the texts before, between and after the images."""
        if self.template is None or not self._takes_parts:
            mark = self._media_tokens()[0] if self._media_tokens() else PLACEHOLDER
            first = mark.join(pieces[:-1]) + mark if len(pieces) > 1 else ""
            leading = not any(pieces[:-1])
            blank = "\n" if first and leading and not pieces[-1].startswith("\n") else ""
            text = f"{first}{blank}{pieces[-1]}"
            return text if self.template is None else self._apply(text)
        parts: list[dict[str, str]] = []
        for number, piece in enumerate(pieces):
            parts += [{"type": "image"}] if number else []
            parts += [{"type": "text", "text": piece}] if piece else []
        return self._apply(parts or [{"type": "text", "text": ""}])

    def _apply(self, content: str | list[dict[str, str]]) -> str:
        rendered: str = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": content}],
            chat_template=self.template,
            tokenize=False,
            add_generation_prompt=True,
        )
        return rendered

    def _understands_parts(self) -> bool:
        """Whether the template supports content in parts; older ones support only text."""
        try:
            found = self._apply([{"type": "text", "text": _PROBE}])
        except Exception:  # a text-only template can raise any error
            return False
        return _PROBE in found and "'type'" not in found and '"type"' not in found

    def _media_tokens(self) -> list[str]:
        owners = (self._processor, self._tokenizer)
        found = [getattr(each, name, None) for name in _MEDIA_TOKENS for each in owners]
        # Some attributes are tokens of the tokenizers library; str() returns their text.
        return list(dict.fromkeys(str(token) for token in found if token))


def read_images(visuals: Sequence[Any] | None) -> list[Image.Image]:
    """The images of a document, from images or paths of images.

    Raises:
        ValueError: for videos and other media.
    """
    return [_image(each) for each in visuals or ()]


def _image(visual: Any) -> Image.Image:
    if isinstance(visual, str):
        try:
            visual = Image.open(visual)
        except OSError as error:
            raise ValueError(f"hf_multimodal takes images, not {visual!r} ({error})") from None
    if not isinstance(visual, Image.Image):
        raise ValueError(f"hf_multimodal takes images, not {type(visual).__name__}")
    return visual.convert("RGB")


def _template(processor: Any, given: str | None) -> str | None:
    if given is None:
        owners = (processor, processor.tokenizer)
        listed = [getattr(owner, "chat_template", None) for owner in owners]
        found = listed[0] or listed[1]
        # A checkpoint may have several named templates.
        return found.get("default") if isinstance(found, Mapping) else found
    if any(mark in given for mark in ("{{", "{%")):
        return given
    try:
        return Path(given).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"chat_template={given!r} is neither a template nor a readable file: {error}"
        ) from None
