"""``hf_multimodal``: any image-text-to-text model of transformers, with correct likelihoods.

The equivalent model in lm-evaluation-harness has the same name (``hf-multimodal``).
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from loguru import logger
from tqdm import tqdm
from transformers import AutoModelForImageTextToText, AutoProcessor

from lmms_rpts.models.hf_options import (
    batch_size_of,
    cut,
    device_of,
    dtype_of,
    generation_options,
    stop_strings,
)
from lmms_rpts.models.hf_prompts import PromptBuilder, ReadyPrompt, read_images
from lmms_rpts.models.token_loss import TokenLoss

_MERGED = 4
"""Number of prompt tokens that an answer may change before a warning is logged."""
_NO_LIKELIHOOD = {"paligemma": "its prompt attends to later tokens"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Scored:
    """A prompt with an answer, and the tokens of the prompt only."""

    number: int
    whole: ReadyPrompt
    prompt_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Asked:
    number: int
    prompt: ReadyPrompt
    settings: Mapping[str, Any]


@dataclass(slots=True)
class _Talk:
    """A conversation: the outputs of its rounds so far, and its task's state."""

    request: Any
    said: list[str] = field(default_factory=list)
    info: Any = None
    is_over: bool = False


@register_model("hf_multimodal")
class HfMultimodal(lmms):  # type: ignore[misc]  # lmms-eval is not typed
    """A checkpoint that AutoProcessor and AutoModelForImageTextToText can load, as in ``llava_hf``.

    Runs on any device, and on several processes, each with the whole model and a share of the
    documents; ``device_map=auto`` spreads one model over all GPUs of one process.

    Args:
        pretrained: name on the Hub, or folder.
        revision: revision of the checkpoint.
        device: such as ``cuda``, ``cuda:1``, ``cpu``; default: the available accelerator.
        dtype: such as ``bfloat16``; ``auto``: the checkpoint's. Also ``torch_dtype``.
        batch_size: number of prompts, or answer options, per batch.
        trust_remote_code, attn_implementation, device_map: as in transformers.
        chat_template: a Jinja template, or a file with one, instead of the checkpoint's.
        use_cache: keep keys and values while generating.
        max_batch_size: passed to every model by lmms-eval; not used.
    """

    def __init__(
        self,
        pretrained: str,
        revision: str = "main",
        device: str | None = None,
        dtype: str | torch.dtype = "auto",
        torch_dtype: str | torch.dtype | None = None,
        batch_size: int | str = 1,
        trust_remote_code: bool = False,
        attn_implementation: str | None = None,
        device_map: str = "",
        chat_template: str | None = None,
        use_cache: bool = True,
        max_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        self.batch_size = batch_size_of(batch_size)
        self.accelerator = Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        self.device = device_of(device, self.accelerator)
        # lmms-eval parses arguments as numbers if it can, but a folder may be called 2024.
        source: dict[str, Any] = {
            "pretrained_model_name_or_path": str(pretrained),
            "revision": str(revision),
            "trust_remote_code": trust_remote_code,
        }
        load_model: Any = AutoModelForImageTextToText.from_pretrained
        load_processor: Any = AutoProcessor.from_pretrained
        self._model = load_model(
            **source,
            dtype=dtype_of(torch_dtype or dtype),
            attn_implementation=attn_implementation,
            device_map=device_map or {"": self.device},
        ).eval()
        if device_map:
            self.device = self._model.device
        processor = load_processor(**source)
        self.tokenizer = processor.tokenizer
        self.prompts = PromptBuilder(processor, chat_template)
        self.chat_template = self.prompts.template
        self.use_cache = use_cache
        self._warned = False

    @property
    def config(self) -> Any:
        """The transformers config of the model."""
        return self._model.config

    # --- likelihood ------------------------------------------------------------------------------

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[TokenLoss, bool]]:
        """Compute the likelihood of each continuation after its context, given the images.

        Context and continuation are tokenized together; the continuation's tokens are those after
        the tokens of the context alone. If the two tokenizations differ, their longest common
        prefix counts as the context. No end of turn is added. White space between the template's
        end and the continuation is not doubled.

        Args:
            requests: with ``args`` (context, continuation or a function of the document,
                doc_to_visual, doc_id, task, split), or (context, continuation) without images.

        Returns:
            The mean token loss with its ``total`` and ``tokens``, and whether greedy decoding
            would generate the continuation; in the order of the requests.

        Raises:
            NotImplementedError: for models whose next token depends on later tokens.
        """
        self._check_causal()
        results: list[tuple[TokenLoss, bool]] = [(TokenLoss(0.0, 0), False)] * len(requests)
        with self._progress(len(requests)) as bar:
            rows = self._scored(requests)
            for batch in _batches(rows, self.batch_size, lambda row: len(row.whole.images)):
                found = self._score(batch)
                for row, each in zip(batch, found, strict=True):
                    results[row.number] = each
                bar.update(len(batch))
        return results

    def _check_causal(self) -> None:
        kind = getattr(self.config, "model_type", "")
        reason = _NO_LIKELIHOOD.get(kind)
        if is_encoder_decoder(self.config):
            reason = "it has an encoder and a decoder"
        if reason is not None:
            raise NotImplementedError(f"hf_multimodal has no likelihoods for {kind}: {reason}")

    def _scored(self, requests: Sequence[Any]) -> Iterator[_Scored]:
        last: tuple[Hashable, ReadyPrompt, Sequence[int]] | None = None
        for number, request in enumerate(requests):
            context, continuation, *place = request.args
            visual, *where = place or (None,)
            # The options of a document are adjacent, so its images are read once.
            key = (context, visual, *where)
            if last is None or last[0] != key:
                prompt = self.prompts.prompt(context, self._images(visual, where))
                last = key, prompt, self._prompt_ids(prompt)
            if callable(continuation):
                continuation = continuation(self._doc(*where))
            whole = self.prompts.with_continuation(last[1], continuation)
            yield _Scored(number, whole, last[2])

    def _prompt_ids(self, prompt: ReadyPrompt) -> list[int]:
        if not prompt.text:
            return []
        ids: list[int] = self.prompts.encode([prompt], "right")["input_ids"][0].tolist()
        return ids

    def _score(self, rows: Sequence[_Scored]) -> list[tuple[TokenLoss, bool]]:
        scored = [row for row in rows if row.whole.text]
        if len(scored) < len(rows):  # empty prompts would cause a warning
            done = iter(self._score(scored) if scored else [])
            return [next(done) if row.whole.text else (TokenLoss(0.0, 0), False) for row in rows]
        # Padding is on the right, where a causal model's text does not attend to it.
        inputs = self.prompts.encode([row.whole for row in rows], "right")
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        spans = [
            self._span(row.prompt_ids, line[seen.bool()].tolist())
            for row, line, seen in zip(rows, ids, mask, strict=True)
        ]
        width = ids.shape[1]
        first = min(start for start, _ in spans) - 1
        logits = self._logits(inputs, width - first)
        return [
            _likelihood(logits[number, start - 1 - first : end - 1 - first], line[start:end])
            for number, ((start, end), line) in enumerate(zip(spans, ids, strict=True))
        ]

    def _span(self, prompt: Sequence[int], whole: Sequence[int]) -> tuple[int, int]:
        """Start and end of the continuation's tokens."""
        ends = set(self.tokenizer.all_special_ids)
        after = 0  # tokens that the tokenizer adds after each text, such as an end of sequence
        while after < min(len(prompt), len(whole)) and (
            prompt[-1 - after] == whole[-1 - after] and whole[-1 - after] in ends
        ):
            after += 1
        prompt, end = prompt[: len(prompt) - after], len(whole) - after
        start = 0
        while start < min(len(prompt), end) and prompt[start] == whole[start]:
            start += 1
        if len(prompt) - start > _MERGED and not self._warned:
            self._warned = True
            logger.warning(
                "An answer changes the last {} tokens of its prompt; they count as answer tokens",
                len(prompt) - start,
            )
        # The first token has no preceding token, so it has no probability.
        start = max(start, 1)
        return start, max(start, end)

    def _logits(self, inputs: Any, count: int) -> torch.Tensor:
        """The logits of the last ``count`` positions: (rows, count, vocabulary)."""
        known = inspect.signature(self._model.forward).parameters
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in known else {}
        if "logits_to_keep" in known:
            options["logits_to_keep"] = count  # logits of the images would fill the memory
        width = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            found: torch.Tensor = self._model(**self._on_device(inputs), **options).logits
        if found.shape[1] not in (count, width):
            raise NotImplementedError(
                f"hf_multimodal cannot compute likelihoods of {self.config.model_type}: it has "
                f"{found.shape[1]} positions for {width} tokens"
            )
        return found[:, -count:]

    # --- generation ------------------------------------------------------------------------------

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Generate responses, up to the first of the stop strings ``until``.

        Args:
            requests: with ``args`` (context, gen_kwargs, doc_to_visual, doc_id, task, split).
                gen_kwargs are not changed; supported are ``until``, ``max_new_tokens`` (1024),
                ``temperature`` (0: greedy), ``do_sample``, ``top_p``, ``top_k``, ``min_p``,
                ``num_beams`` and penalties.

        Returns:
            Texts in the order of the requests.
        """
        results = [""] * len(requests)
        with self._progress(len(requests)) as bar:
            rows = self._asked(requests)
            for batch in _batches(rows, self.batch_size, _generation_key):
                for row, text in zip(batch, self._generate(batch), strict=True):
                    results[row.number] = text
                bar.update(len(batch))
        return results

    def _asked(self, requests: Sequence[Any]) -> Iterator[_Asked]:
        """Requests grouped by settings, longest first, so that memory errors occur early."""
        order = sorted(
            range(len(requests)),
            key=lambda at: (_canonical(requests[at].args[1]), -len(requests[at].args[0])),
        )
        for number in order:
            context, settings, visual, *where = requests[number].args
            prompt = self.prompts.prompt(context, self._images(visual, where))
            yield _Asked(number, prompt, settings)

    def _generate(self, rows: Sequence[_Asked]) -> list[str]:
        inputs = self._on_device(self.prompts.encode([row.prompt for row in rows], "left"))
        settings = rows[0].settings
        with torch.inference_mode():
            output = self._model.generate(
                **inputs,
                **{"use_cache": self.use_cache, **generation_options(settings)},
                pad_token_id=self.tokenizer.pad_token_id,
                eos_token_id=self._ends() or None,
            )
        if not is_encoder_decoder(self.config):
            output = output[:, inputs["input_ids"].shape[1] :]
        texts = self.tokenizer.batch_decode(output, skip_special_tokens=True)
        return [cut(text, stop_strings(settings)) for text in texts]

    def _ends(self) -> list[int]:
        """The ids that end a turn, from the tokenizer and the checkpoint's settings."""
        listed = self._model.generation_config.eos_token_id
        ids = listed if isinstance(listed, list) else [listed]
        return sorted({each for each in (*ids, self.tokenizer.eos_token_id) if each is not None})

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[list[str]]:
        """Generate the responses in each round of conversations.

        Args:
            requests: with ``args`` (context of the first round, gen_kwargs, doc_to_visual,
                doc_to_text, doc_id, task, split). For later rounds, ``doc_to_text`` returns images,
                context, whether the conversation is over, the outputs so far, and the state that
                it receives in the next round.

        Returns:
            The texts of each conversation's rounds, in the order of the requests.
        """
        talks = [_Talk(request) for request in requests]
        with self._progress(len(requests)) as bar:
            for number in count():
                going = [talk for talk in talks if not talk.is_over]
                if not going:
                    break
                rows = self._round(going, number)
                for batch in _batches(rows, self.batch_size, _generation_key):
                    for row, text in zip(batch, self._generate(batch), strict=True):
                        going[row.number].said.append(text)
                bar.update(sum(talk.is_over for talk in going))
        return [talk.said for talk in talks]

    def _round(self, talks: Sequence[_Talk], number: int) -> Iterator[_Asked]:
        for at, talk in enumerate(talks):
            context, settings, visual, doc_to_text, *where = talk.request.args
            if number == 0:
                images = self._images(visual, where)
            else:
                visuals, context, talk.is_over, said, talk.info = doc_to_text(
                    self._doc(*where),
                    round_idx=number,
                    previous_output=talk.said,
                    previous_round_info=talk.info,
                )
                talk.said = list(said)
                if talk.is_over:
                    continue
                images = read_images(visuals)
            yield _Asked(at, self.prompts.prompt(context, images), settings)

    # --- shared ----------------------------------------------------------------------------------

    def _images(self, visual: Callable[[Any], Any] | None, where: Sequence[Any]) -> list[Any]:
        return [] if visual is None else read_images(visual(self._doc(*where)))

    def _doc(self, doc_id: int, task: str, split: str) -> Any:
        return self.task_dict[task][split][doc_id]

    def _on_device(self, inputs: Any) -> Any:
        return inputs.to(self.device, self._model.dtype)

    def _progress(self, total: int) -> Any:
        return tqdm(total=total, disable=self.rank != 0, desc="Model Responding")


def is_encoder_decoder(config: Any) -> bool:
    """Whether a transformers model writes with an encoder and a decoder.

    BLIP-2 with FLAN-T5 says so only in the config of its text model.
    """
    found = getattr(config, "is_encoder_decoder", False)
    return bool(found or getattr(getattr(config, "text_config", None), "is_encoder_decoder", False))


def _likelihood(logits: torch.Tensor, ids: torch.Tensor) -> tuple[TokenLoss, bool]:
    """Likelihood of ``ids`` (tokens) from the ``logits`` (tokens, vocabulary) that predict them."""
    if not len(ids):
        return TokenLoss(0.0, 0), False
    ids = ids.to(logits.device)
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    total = logprobs.gather(-1, ids[:, None]).double().sum()
    greedy = bool((logprobs.argmax(dim=-1) == ids).all())
    return TokenLoss(float(total), len(ids)), greedy


def _batches(rows: Iterator[T], size: int, key: Callable[[T], Hashable]) -> Iterator[list[T]]:
    """Batches of consecutive rows with the same key, of at most ``size``; rows are read lazily."""
    batch: list[T] = []
    for row in rows:
        if batch and (len(batch) == size or key(batch[0]) != key(row)):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _generation_key(row: _Asked) -> Hashable:
    return _canonical(row.settings), len(row.prompt.images)


def _canonical(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, default=str)
