"""A chat model of transformers in this process: prompts with images, generation, likelihoods.

It serves the ``hf:`` judge and ``--model hf_multimodal``. It stands among the judge's backends
because judging imports nothing that knows lmms-eval, while the models of lmms-eval may import it.
"""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from lmms_rpts.base.escaping import storable

if TYPE_CHECKING:
    from transformers import BatchFeature

# Attributes of processors and tokenizers; Gemma's images stand at the begin-of-image token.
_MEDIA = ("boi_token", "image_token", "eoi_token", "video_token", "audio_token")
# "[INST]" and "<end_of_turn>" stand in templates, but some tokenizers do not list them as special.
_MARKUP = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,40}\]")
# Some templates include the date; prompts must not change from day to day.
_ONE_DAY = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
_PROBE = "Probe"
_NO_LIKELIHOOD = {"paligemma": "its prompt attends to later tokens"}


class UnusableError(ValueError):
    """A model cannot be used for chat; the message says why."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message: its role, and its texts and images (Pillow images or files as bytes) in order.

    A last turn of the role ``assistant`` begins the answer, which the model continues.
    """

    role: str
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered chat with placeholders for its images."""

    text: str
    images: tuple[Any, ...] = ()


class Chat:
    """The prompts of a model: its chat template, its tokenizer, and its processor.

    Args:
        tokenizer: a tokenizer of transformers.
        processor: the processor of a model with images.
        template: a Jinja template; None: prompts are the texts of the turns, for base models.
        untrusted: whether texts are untrusted, so that none becomes a control token.

    Raises:
        UnusableError: if the template shows no user message.
    """

    def __init__(
        self, tokenizer: Any, processor: Any, template: str | None, untrusted: bool = False
    ) -> None:
        self.tokenizer, self._processor = tokenizer, processor
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        self.template = template
        if template and "strftime_now" in template:
            self.template = _ONE_DAY + template
        self._media = _media_tokens(processor, tokenizer)
        added = tokenizer.added_tokens_decoder.values()
        self._special = {token.content for token in added if token.special}
        self._special |= set(tokenizer.all_special_tokens)
        marks = {*self._media}
        if untrusted:
            marks |= {*self._special, *_MARKUP.findall(template or "")}
        longest_first = sorted({re.escape(mark.strip()) for mark in marks} - {""}, key=len)[::-1]
        flags = re.IGNORECASE if untrusted else 0
        self._marks = re.compile("|".join(longest_first) or "(?!)", flags)
        if template is not None:
            # Older templates take text only; others need content in parts, and drop plain text.
            self._takes_text = self._shows({"role": "user", "content": _PROBE})
            self._takes_parts = self._shows({"role": "user", "content": [_text_part(_PROBE)]})
            if not self._takes_text and not self._takes_parts:
                raise UnusableError("its chat template shows no user message")
            chat = [Turn("system", (_PROBE,)), Turn("user", ("x",))]
            self._takes_system = self._shows(*map(self._message, chat))

    def prompt(self, turns: Sequence[Turn], **options: bool) -> Prompt:
        """The prompt up to the model's answer; ``options`` are variables of the chat template."""
        images = (part for turn in turns for part in turn.parts if not isinstance(part, str))
        neutral = [replace(turn, parts=tuple(map(self.neutral, turn.parts))) for turn in turns]
        return Prompt(self._render(neutral, **options), tuple(images))

    def neutral(self, part: Any) -> Any:
        """A text without tokens of images, or of control: ``<|end|>`` becomes ``< |end|>``."""
        if not isinstance(part, str):
            return part
        text = storable(part)  # tokenizers reject lone surrogates
        while self._marks.search(text):  # what is left of overlapping marks may be one
            text = self._marks.sub(lambda mark: f"{mark[0][:-1][:1]} {mark[0][1:]}", text)
        return text

    def ids(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt, with those of its images."""
        found: list[int] = self.inputs([prompt])["input_ids"][0].tolist()
        return found

    def inputs(
        self, prompts: Sequence[Prompt], padding: Literal["left", "right"] = "left"
    ) -> BatchFeature:
        """Tensors (prompts, tokens) of prompts with the same number of images."""
        from transformers import BatchFeature

        # As in transformers: a rendered template gets no further special tokens, but a processor
        # adds a begin of text that the template does not have.
        begin, options = self.tokenizer.bos_token, dict[str, Any]()
        templated = self.template is not None
        if templated and (not self._processor or (begin and prompts[0].text.startswith(begin))):
            options["add_special_tokens"] = False
        texts = [prompt.text for prompt in prompts]
        self.tokenizer.padding_side = padding
        options |= {"padding": True, "return_tensors": "pt"}
        if not prompts[0].images:
            # Most models take no token types. The ids of empty texts would be floats.
            found = self.tokenizer(texts, return_token_type_ids=False, **options)
            return BatchFeature({name: value.long() for name, value in found.items()})
        images = [[_opened(image) for image in prompt.images] for prompt in prompts]
        inputs: BatchFeature = self._processor(text=texts, images=images, **options)
        if not inputs["attention_mask"][:, -1 if padding == "left" else 0].all():
            raise ValueError(f"the processor cannot pad prompts on the {padding}")
        return inputs

    @cached_property
    def sees(self) -> bool:
        """Whether the template shows images, and the processor takes them."""
        if getattr(self._processor, "image_processor", None) is None or not self._media:
            return False
        with suppress(Exception):  # templates raise any exception
            turns = (Turn("user", ("Name", None) * count + (_PROBE,)) for count in range(3))
            texts = [self._render([turn]) for turn in turns]
            none, one, two = (sum(map(text.count, self._media)) for text in texts)
            return none < one < two and all(_PROBE in text for text in texts)
        return False

    def end_of_turn(self) -> set[int]:
        """The special token that ends an answer in the template; not all configs list it."""
        chat = [Turn("user", ("x",)), Turn("assistant", (_PROBE,))]
        with suppress(Exception):
            messages = [self._message(turn) for turn in chat]
            after = self._apply(messages, add_generation_prompt=False).rpartition(_PROBE)[2]
            ids = self.tokenizer(after.strip(), add_special_tokens=False)["input_ids"][:1]
            return set(ids if self.tokenizer.decode(ids) in self._special else [])
        return set()

    def _render(self, turns: Sequence[Turn], **options: bool) -> str:
        if self.template is None:
            return "\n".join(self._flat(turn.parts) for turn in turns)
        if not self._takes_system:
            turns = _without_system(turns)
        messages = [self._message(turn) for turn in turns]
        if turns[-1].role != "assistant":
            return self._apply(messages, add_generation_prompt=True, **options)
        try:
            return self._apply(messages, continue_final_message=True)
        except ValueError:  # the template changes or drops the begun answer
            begun = self._flat(turns[-1].parts)
            return self._apply(messages[:-1], add_generation_prompt=True) + begun

    def _apply(self, messages: Sequence[Mapping[str, Any]], **options: bool) -> str:
        rendered: str = self.tokenizer.apply_chat_template(
            messages, chat_template=self.template, tokenize=False, **options
        )
        return rendered

    def _message(self, turn: Turn) -> dict[str, Any]:
        has_images = any(not isinstance(part, str) for part in turn.parts)
        if not self._takes_parts or (self._takes_text and not has_images):
            return {"role": turn.role, "content": self._flat(turn.parts)}
        parts: list[dict[str, str]] = [
            _text_part(part) if isinstance(part, str) else {"type": "image"}
            for part in turn.parts
            if part != ""
        ]
        return {"role": turn.role, "content": parts or [_text_part("")]}

    def _flat(self, parts: Sequence[Any]) -> str:
        """A message as one text; images that come first stand on a line of their own."""
        mark = self._media[0] if self._media else "<image>"
        text, leading = "", True
        for part in parts:
            if isinstance(part, str):
                if leading and text and part and not part.startswith("\n"):
                    text += "\n"
                leading = leading and not part
            text += part if isinstance(part, str) else mark
        return text

    def _shows(self, *messages: Mapping[str, Any]) -> bool:
        with suppress(Exception):  # templates raise any exception
            found = self._apply(messages, add_generation_prompt=True)
            return _PROBE in found and not re.search("['\"]type['\"]", found)
        return False


class ChatModel:
    """A loaded model with its prompts.

    Attributes:
        context: maximum number of tokens of a prompt and its answer.
    """

    def __init__(self, model: Any, chat: Chat) -> None:
        self.model, self.chat = model.eval(), chat
        self.ends = sorted(chat.end_of_turn() | _listed_ends(chat.tokenizer, model))
        self.context = context_of(model.config.get_text_config(), chat.tokenizer)

    def generate(self, inputs: BatchFeature, **options: Any) -> list[list[int]]:
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
        if not is_encoder_decoder(self.model.config):
            output = output[:, inputs["input_ids"].shape[1] :]
        rows: list[list[int]] = output.tolist()
        for row in rows:
            end = next((at for at, token in enumerate(row) if token in self.ends), len(row))
            del row[end + 1 :]
        return rows

    def likelihoods(
        self, asked: Sequence[tuple[Prompt, Sequence[int]]]
    ) -> list[tuple[float, int, bool]]:
        """Sum of the log-probabilities of answers, their tokens, and whether they are greedy.

        The prompt with the answer is tokenized as a whole; the answer's tokens are those after the
        tokens of the prompt alone. If the two differ, their longest common prefix counts as the
        prompt. A prompt without any text has no answer.

        Args:
            asked: prompts with their answers, and the tokens of the prompts without them.

        Raises:
            NotImplementedError: for models whose next token depends on later tokens.
        """
        import torch

        kind = getattr(self.model.config, "model_type", "")
        reason = _NO_LIKELIHOOD.get(kind)
        if is_encoder_decoder(self.model.config):
            reason = "it has an encoder and a decoder"
        if reason is not None:
            raise NotImplementedError(f"there are no likelihoods for {kind}: {reason}")
        # Padding is on the right, where a causal model's text does not attend to it.
        inputs = self.chat.inputs([whole for whole, _ in asked], "right")
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        if not ids.shape[1]:
            return [(0.0, 0, False)] * len(asked)
        spans = [
            self._span(prompt, line[seen.bool()].tolist())
            for (_, prompt), line, seen in zip(asked, ids, mask, strict=True)
        ]
        first = min(start for start, _ in spans) - 1
        logits = self.logits(inputs, range(first, ids.shape[1]))
        found = []
        for row, line, (start, end) in zip(logits, ids, spans, strict=True):
            answer = line[start:end].to(row.device)
            logprobs = torch.log_softmax(row[start - 1 - first : end - 1 - first].float(), dim=-1)
            total = logprobs.gather(-1, answer[:, None]).double().sum()
            greedy = len(answer) > 0 and bool((logprobs.argmax(dim=-1) == answer).all())
            found.append((float(total), len(answer), greedy))
        return found

    def _span(self, prompt: Sequence[int], whole: Sequence[int]) -> tuple[int, int]:
        ends = set(self.chat.tokenizer.all_special_ids)
        after = 0  # tokens that the tokenizer adds after each text, such as an end of sequence
        while after < min(len(prompt), len(whole)) and (
            prompt[-1 - after] == whole[-1 - after] and whole[-1 - after] in ends
        ):
            after += 1
        prompt, end = prompt[: len(prompt) - after], len(whole) - after
        start = 0
        while start < min(len(prompt), end) and prompt[start] == whole[start]:
            start += 1
        # The first token has no preceding token, so it has no probability.
        start = max(start, 1)
        return start, max(start, end)

    def logits(self, inputs: BatchFeature, kept: Sequence[int]) -> Any:
        """The logits at some positions: (rows, positions, vocabulary)."""
        import torch

        known = inspect.signature(self.model.forward).parameters
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in known else {}
        width = inputs["input_ids"].shape[1]
        if "logits_to_keep" in known:  # logits of the images would fill the memory
            last = width - kept[0]
            options["logits_to_keep"] = last if last == len(kept) else torch.tensor(kept)
        with torch.inference_mode():
            found = self.model(**inputs.to(self.model.device, self.model.dtype), **options).logits
        if found.shape[1] not in (len(kept), width):
            raise NotImplementedError(
                f"there are no likelihoods for {self.model.config.model_type}: it has "
                f"{found.shape[1]} positions for {width} tokens"
            )
        return found if found.shape[1] == len(kept) else found[:, list(kept)]


def load_chat(
    path: str,
    template: str | None = None,
    *,
    untrusted: bool = False,
    sees: bool = True,
    **source: Any,
) -> Chat:
    """The prompts of a checkpoint, with images if its processor has them.

    Args:
        path: folder, or name on the Hub.
        template: a chat template instead of the checkpoint's.
        untrusted: as in `Chat`.
        sees: whether the model takes images.
        source: keywords of ``from_pretrained``.
    """
    from transformers import AutoProcessor

    load: Any = AutoProcessor.from_pretrained
    processor = load(path, **source)
    tokenizer = getattr(processor, "tokenizer", processor)
    if template is None:
        owned = (getattr(each, "chat_template", None) for each in (processor, tokenizer))
        found = next(filter(None, owned), None)
        template = found.get("default") if isinstance(found, Mapping) else found
    takes_images = sees and processor is not tokenizer
    return Chat(tokenizer, processor if takes_images else None, template, untrusted)


def best_device(name: str | None) -> str:
    """A device by name, else the available accelerator."""
    import torch

    if name is not None:
        return name
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def is_encoder_decoder(config: Any) -> bool:
    """Whether a model writes with an encoder and a decoder.

    BLIP-2 with FLAN-T5 says so only in the config of its text model.
    """
    found = getattr(config, "is_encoder_decoder", False)
    return bool(found or getattr(getattr(config, "text_config", None), "is_encoder_decoder", False))


def _media_tokens(processor: Any, tokenizer: Any) -> tuple[str, ...]:
    """The placeholders of images in prompts, and the tokens around them."""
    found = [getattr(owner, name, "") for name in _MEDIA for owner in (processor, tokenizer)]
    if processor is not None:
        found += [value for name, value in vars(processor).items() if name.endswith("_token")]
    # Some attributes are tokens of the tokenizers library; str() returns their text.
    tokens = dict.fromkeys(str(token).strip() for token in found if token)
    return tuple(token for token in tokens if not token.isalnum())


def _listed_ends(tokenizer: Any, model: Any) -> set[int]:
    """All tokens that end an answer according to the configs; some models have several."""
    ends: set[int] = set()
    generation = getattr(model, "generation_config", None)  # classifiers have none
    for place in (tokenizer, generation, model.config.get_text_config()):
        listed = getattr(place, "eos_token_id", None)
        ends.update(listed if isinstance(listed, list) else [] if listed is None else [listed])
    return ends


def context_of(config: Any, tokenizer: Any) -> int:
    endless = 10**9  # tokenizers without a limit report more than this
    for known in (getattr(config, "max_position_embeddings", None), tokenizer.model_max_length):
        if known and 0 < known < endless:
            return int(known)
    return endless


def _without_system(turns: Sequence[Turn]) -> list[Turn]:
    """The chat with the system message merged into the text of the first user message."""
    system = [part for turn in turns if turn.role == "system" for part in turn.parts]
    chat = [turn for turn in turns if turn.role != "system"]
    if not system:
        return chat
    if not chat or chat[0].role != "user":
        chat.insert(0, Turn("user", ("",)))
    *before, text = chat[0].parts
    merged = "\n\n".join([*system, text]).strip()
    return [replace(chat[0], parts=(*before, merged)), *chat[1:]]


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _opened(image: Any) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(image)).convert("RGB") if isinstance(image, bytes) else image
