"""A chat model of transformers in this process: for the ``hf:`` judge and ``hf_multimodal``."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lmms_rpts.base.escaping import storable
from lmms_rpts.reasoning.thinking import split_thinking

Message = Mapping[str, Any]
"""As in transformers, but ``content`` is a list of texts and images (of Pillow, or files as bytes).
A last message of the role ``assistant`` begins the answer."""

# Attributes of processors and tokenizers; Gemma's images stand at the begin-of-image token.
_MEDIA = ("boi_token", "image_token", "eoi_token", "video_token", "audio_token")
# "[INST]" and "<end_of_turn>" stand in templates, but some tokenizers do not list them as special.
_MARKUP = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,40}\]")


class Prompt(NamedTuple):
    """A rendered chat with placeholders for its images."""

    text: str
    images: tuple[Any, ...] = ()


class Chat:
    """The prompts of a checkpoint: its chat template, its tokenizer, and its processor.

    Args:
        path: folder, or name on the Hub.
        template: a chat template instead of the checkpoint's. Without any, prompts are the texts of
            the messages, for base models.
        untrusted: whether texts are untrusted, so that none becomes a control token.
        source: keywords of ``from_pretrained``.
    """

    def __init__(
        self, path: str, template: str | None = None, *, untrusted: bool = False, **source: Any
    ) -> None:
        from transformers import AutoProcessor

        load: Any = AutoProcessor.from_pretrained
        self.processor = load(path, **source)
        self.tokenizer = getattr(self.processor, "tokenizer", self.processor)
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        owners = (self.processor, self.tokenizer)
        self.sees = hasattr(self.processor, "image_processor")
        found = template or next(filter(None, (each.chat_template for each in owners)), None)
        self.template = found.get("default") if isinstance(found, Mapping) else found
        media = (getattr(each, name, None) for name in _MEDIA for each in owners)
        marks = [str(mark) for mark in media if mark]
        self._image = marks[0] if marks else "<image>"
        special = {t.content for t in self.tokenizer.added_tokens_decoder.values() if t.special}
        marks += [*special, *_MARKUP.findall(self.template or "")] if untrusted else []
        longest_first = sorted({re.escape(mark.strip()) for mark in marks} - {""}, key=len)[::-1]
        flags = re.IGNORECASE if untrusted else 0
        self._marks = re.compile("|".join(longest_first) or "(?!)", flags)

    def prompt(self, chat: Sequence[Message]) -> Prompt:
        """The prompt up to the model's answer."""
        parts = [part for message in chat for part in message["content"]]
        images = tuple(part for part in parts if not isinstance(part, str))
        if self.template is None:
            return Prompt("\n".join(self._flat(message["content"]) for message in chat), images)
        system = [part for each in chat if each["role"] == "system" for part in each["content"]]
        with suppress(Exception):  # templates raise any exception
            text = self._render(chat)
            if all(self.neutral(part).strip() in text for part in system):
                return Prompt(text, images)
        # The template refuses or drops the instructions: they begin the first question.
        first, *rest = (message for message in chat if message["role"] != "system")
        *before, last = first["content"]
        merged = {**first, "content": [*before, "\n\n".join([*system, last])]}
        return Prompt(self._render([merged, *rest]), images)

    def neutral(self, text: str) -> str:
        """A text without tokens of images, or of control: ``<|end|>`` becomes ``< |end|>``."""
        text = storable(text)  # tokenizers reject lone surrogates
        while self._marks.search(text):  # what is left of overlapping marks may be one
            text = self._marks.sub(lambda mark: f"{mark[0][:-1][:1]} {mark[0][1:]}", text)
        return text

    def inputs(self, prompts: Sequence[Prompt], padding: str = "left") -> Any:
        """Tensors (prompts, tokens) of prompts with the same number of images."""
        from transformers import BatchFeature

        options: dict[str, Any] = {"padding": True, "return_tensors": "pt"}
        # As in transformers: a rendered template gets no further special tokens, but a processor
        # adds a begin of text that the template does not have.
        begun = prompts[0].text.startswith(self.tokenizer.bos_token or "\0")
        if self.template is not None and (begun or self.processor is self.tokenizer):
            options["add_special_tokens"] = False
        texts = [prompt.text for prompt in prompts]
        self.tokenizer.padding_side = padding
        if not prompts[0].images:
            # Most models take no token types. The ids of empty texts would be floats.
            found = self.tokenizer(texts, return_token_type_ids=False, **options)
            return BatchFeature({name: value.long() for name, value in found.items()})
        images = [[*map(_opened, prompt.images)] for prompt in prompts]
        inputs = self.processor(text=texts, images=images, **options)
        if not inputs["attention_mask"][:, -1 if padding == "left" else 0].all():
            raise ValueError(f"the processor cannot pad prompts on the {padding}")
        return inputs

    def decode(self, row: Sequence[int]) -> str:
        """The text of generated tokens; tags of thinking stay, also where they are special."""
        whole = str(self.tokenizer.decode(row))
        thinks = split_thinking(whole)[1] is not None
        return whole if thinks else str(self.tokenizer.decode(row, skip_special_tokens=True))

    def end_of_turn(self) -> set[int]:
        """The special token that ends an answer in the template; not all configs list it."""
        chat = [{"role": "user", "content": ["x"]}, {"role": "assistant", "content": ["Probe"]}]
        with suppress(Exception):  # templates raise any exception
            after = self._apply(chat).rpartition("Probe")[2].strip()
            token = self.tokenizer(after, add_special_tokens=False)["input_ids"][0]
            return {token} if self.tokenizer.added_tokens_decoder[token].special else set()
        return set()

    def _render(self, chat: Sequence[Message]) -> str:
        if chat[-1]["role"] != "assistant":
            return self._apply(chat, add_generation_prompt=True)
        try:
            return self._apply(chat, continue_final_message=True)
        except ValueError:  # the template changes or drops the begun answer
            begun = self._flat(chat[-1]["content"])
            return self._apply(chat[:-1], add_generation_prompt=True) + begun

    def _apply(self, chat: Sequence[Message], **options: bool) -> str:
        """The template's text: tokenizers take content as one text, processors take parts."""
        shape = self._flat if self.processor is self.tokenizer else self._parts
        shaped = [{**message, "content": shape(message["content"])} for message in chat]
        apply = self.tokenizer.apply_chat_template
        return str(apply(shaped, chat_template=self.template, tokenize=False, **options))

    def _parts(self, content: Sequence[Any]) -> list[dict[str, str]]:
        texts = (self.neutral(part) if isinstance(part, str) else None for part in content)
        image = {"type": "image"}
        return [image if text is None else {"type": "text", "text": text} for text in texts]

    def _flat(self, content: Sequence[Any]) -> str:
        """Content as one text; images that come first stand on a line of their own."""
        parts = [self.neutral(part) if isinstance(part, str) else self._image for part in content]
        return re.sub(rf"^((?:{re.escape(self._image)})+)(?=[^\n])", r"\1\n", "".join(parts))


class ChatModel:
    """A loaded model with its prompts; ``context``: most tokens of a prompt and its answer."""

    def __init__(self, model: Any, chat: Chat) -> None:
        self.model, self.chat = model.eval(), chat
        text_config, ends = model.config.get_text_config(), chat.end_of_turn()
        # Some models have several ends, and not all configs list all of them.
        for place in (chat.tokenizer, model.generation_config, text_config):
            listed = getattr(place, "eos_token_id", None)
            ends.update(listed if isinstance(listed, list) else [] if listed is None else [listed])
        self.ends = sorted(ends)
        known = getattr(text_config, "max_position_embeddings", 0), chat.tokenizer.model_max_length
        self.context = int(next((each for each in known if each), 0) or 10**9)
        configs = (model.config, text_config)  # BLIP-2's text model alone says so
        self._encodes = any(getattr(each, "is_encoder_decoder", False) for each in configs)

    def generate(self, inputs: Any, **options: Any) -> list[list[int]]:
        """The new tokens of each row, up to and with the first token that ends an answer.

        ``inputs`` are padded on the left; ``options`` are keywords of transformers' ``generate``.
        """
        import torch

        with torch.inference_mode():
            output = self.model.generate(
                **inputs.to(self.model.device, self.model.dtype),
                **options,
                eos_token_id=self.ends or None,
                pad_token_id=0,  # any: what comes after an end is cut off
            )
        begin = 0 if self._encodes else inputs["input_ids"].shape[1]
        rows: list[list[int]] = output[:, begin:].tolist()
        for row in rows:
            end = next((at for at, token in enumerate(row) if token in self.ends), len(row))
            del row[end + 1 :]
        return rows

    def likelihoods(
        self, asked: Sequence[tuple[Prompt, Sequence[int]]]
    ) -> list[tuple[float, int, bool]]:
        """Sum of the log-probabilities of answers, their tokens, and whether they are greedy.

        A prompt with its answer is tokenized as a whole; the answer's tokens are those after the
        longest common prefix with the tokens of the prompt alone. The first token has no
        probability. Models whose next token depends on later tokens raise NotImplementedError.

        Args:
            asked: prompts with their answers, and the tokens of the prompts without them.
        """
        import torch

        kind = getattr(self.model.config, "model_type", "")
        if kind == "paligemma" or self._encodes:
            raise NotImplementedError(f"no likelihoods: {kind}'s prompt attends to later tokens")
        # Padding is on the right, where a causal model's text does not attend to it.
        inputs = self.chat.inputs([whole for whole, _ in asked], "right")
        ids, lengths = inputs["input_ids"], inputs["attention_mask"].sum(dim=1).tolist()
        starts = []
        for (_, prompt), line in zip(asked, ids.tolist(), strict=True):
            others = (at for at, (a, b) in enumerate(zip(prompt, line, strict=False)) if a != b)
            starts.append(max(1, next(others, len(prompt))))
        width, first = ids.shape[1], min(starts) - 1
        if width <= first:
            return [(0.0, 0, False)] * len(asked)
        takes = inspect.signature(self.model.forward).parameters
        # Logits of the images would fill the memory.
        options = {"logits_to_keep": width - first} if "logits_to_keep" in takes else {}
        with torch.inference_mode():
            logits = self.model(**inputs.to(self.model.device, self.model.dtype), **options).logits
        if logits.shape[1] not in (width - first, width):
            raise NotImplementedError(
                f"no likelihoods: {kind} adds positions to the {width} tokens"
            )
        found = []
        rows = logits[:, first - width :]
        for row, line, start, end in zip(rows, ids, starts, lengths, strict=True):
            answer = line[start:end].to(row.device)
            logprobs = torch.log_softmax(row[start - 1 - first : end - 1 - first].float(), dim=-1)
            total = logprobs.gather(-1, answer[:, None]).double().sum()
            greedy = len(answer) > 0 and bool((logprobs.argmax(dim=-1) == answer).all())
            found.append((float(total), len(answer), greedy))
        return found


def device_of(name: str | None, processes: int = 1, local_rank: int = 0) -> str:
    """A device by name, else the available accelerator; with several GPUs, one for each process."""
    import torch

    if name not in (None, "cuda"):
        return str(name)
    if torch.cuda.is_available():
        return f"cuda:{local_rank % torch.cuda.device_count()}" if processes > 1 else "cuda"
    return name or ("mps" if torch.backends.mps.is_available() else "cpu")


def _opened(image: Any) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(image)).convert("RGB") if isinstance(image, bytes) else image
