"""A chat model of transformers in this process: for the ``hf:`` judge and ``hf_multimodal``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.base.escaping import storable
from lmms_rpts.reasoning.thinking import split_thinking

Chat = Sequence[Mapping[str, Any]]
"""Messages as in transformers, but ``content`` is a list of texts and images. A last message of the
role ``assistant`` begins the answer."""

# "[INST]" and "<end_of_turn>" stand in templates, but some tokenizers do not list them as special.
_MARKUP = re.compile(r"<[^<>\s]{0,40}[|_][^<>\s]{0,40}>|\[/?[A-Z_]{2,40}\]")


class ChatModel:
    """A checkpoint: its prompts, and once its weights are loaded, its answers.

    Args:
        path: folder, or name on the Hub; ValueError if it cannot chat.
        template: a chat template instead of the checkpoint's.
        source: keywords of ``from_pretrained``.
    """

    def __init__(self, path: str, template: str | None = None, **source: Any) -> None:
        import transformers

        load: Any = transformers.AutoProcessor.from_pretrained
        self.path, self.config = path, transformers.AutoConfig.from_pretrained(path, **source)
        built = (self.config.architectures or [""])[0]
        self._class: Any = getattr(transformers, built, transformers.AutoModelForImageTextToText)
        self.processor = load(path, **source)
        self.sees = hasattr(self.processor, "image_processor")
        self.tokenizer = getattr(self.processor, "tokenizer", self.processor)
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token
        self.template = template or self.processor.chat_template or self.tokenizer.chat_template
        config = self.config.get_text_config()
        self.context = int(getattr(config, "max_position_embeddings", None) or 10**9)
        chats = self.template and not getattr(config, "is_encoder_decoder", False)
        if not chats or not getattr(self._class, "can_generate", lambda: True)():
            raise ValueError(
                f"{path} generates no text or has no chat template: use an instruction-tuned model"
            )
        self.tokenizer.chat_template = self.template
        marks = {t.content for t in self.tokenizer.added_tokens_decoder.values() if t.special}
        marks.update(_MARKUP.findall(str(self.template)))
        marks.add(str(getattr(self.processor, "image_token", None) or "<image>"))
        longest_first = sorted({re.escape(mark.strip()) for mark in marks} - {""}, key=len)[::-1]
        self._marks = re.compile("|".join(longest_first), re.IGNORECASE)

    def load(self, **options: Any) -> None:
        """Load the weights; ``options`` are keywords of ``from_pretrained``."""
        self.model = self._class.from_pretrained(self.path, **options).eval()
        listed = self.model.generation_config.eos_token_id
        ends = {self.tokenizer.eos_token_id, *(listed if isinstance(listed, list) else [listed])}
        self._ends = sorted(ends - {None})

    def prompt(self, chat: Chat) -> str:
        """The text up to the model's answer, in which no text is an image or a control token.

        Templates of tokenizers take content as one text, those of processors take parts.
        """
        shaped = []
        for message in chat:
            parts = [
                {"type": "text", "text": self.neutral(part)}
                if isinstance(part, str)
                else {"type": "image"}
                for part in message["content"]
            ]
            content = parts if self.sees else "".join(part["text"] for part in parts)
            shaped.append({"role": message["role"], "content": content})
        begun = chat[-1]["role"] == "assistant"
        options = {"continue_final_message": begun, "add_generation_prompt": not begun}
        return str(self.tokenizer.apply_chat_template(shaped, tokenize=False, **options))

    def neutral(self, text: str) -> str:
        """``<|end|>`` becomes ``< |end|>``."""
        text = storable(text)  # tokenizers reject lone surrogates
        while self._marks.search(text):  # what is left of overlapping marks may be one
            text = self._marks.sub(lambda mark: f"{mark[0][:-1][:1]} {mark[0][1:]}", text)
        return text

    def inputs(self, texts: Sequence[str], chats: Sequence[Chat], side: str = "left") -> Any:
        """Tensors (texts, tokens) of chats with the same number of images, padded on a side."""
        from transformers import BatchFeature

        images = [images_of(chat) for chat in chats]
        options: dict[str, Any] = {"padding": True, "padding_side": side, "return_tensors": "pt"}
        # As in transformers: a rendered template gets no further special tokens, but a processor
        # adds a begin of text that the template does not have.
        if not self.sees or texts[0].startswith(self.tokenizer.bos_token or ""):
            options["add_special_tokens"] = False
        if images[0]:
            return self.processor(text=texts, images=images, **options)
        # Most models take no token types.
        return BatchFeature(self.tokenizer(texts, return_token_type_ids=False, **options))

    def generate(self, inputs: Any, **options: Any) -> list[tuple[str, int, int, bool]]:
        """The answers, the tokens of prompt and answer, and whether the model ended it itself.

        ``options`` are keywords of transformers' ``generate``. Tags of thinking stay, also where
        they are special tokens.
        """
        import torch

        with torch.inference_mode():
            output = self.model.generate(
                **inputs.to(self.model.device, self.model.dtype),
                **options,
                eos_token_id=self._ends or None,
                pad_token_id=0,  # any: what comes after an end is cut off
            )
        answers = []
        rows = output[:, inputs["input_ids"].shape[1] :].tolist()
        for row, read in zip(rows, inputs["attention_mask"].sum(dim=1).tolist(), strict=True):
            end = next((at for at, token in enumerate(row) if token in self._ends), len(row))
            text = str(self.tokenizer.decode(row[:end]))
            if split_thinking(text)[1] is None:
                text = str(self.tokenizer.decode(row[:end], skip_special_tokens=True))
            answers.append((text, read, len(row[: end + 1]), end < len(row)))
        return answers


def images_of(chat: Chat) -> list[Any]:
    """The images of a chat. Not every processor pads them: batches have equally many."""
    return [part for each in chat for part in each["content"] if not isinstance(part, str)]
