"""``hf_multimodal``: any image-text-to-text model of transformers, with correct likelihoods.

The equivalent model in lm-evaluation-harness has the same name (``hf-multimodal``).
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from loguru import logger
from PIL import Image
from tqdm import tqdm
from transformers import AutoModelForImageTextToText

from lmms_rpts.judging.backends.transformers_model import (
    ChatModel,
    Prompt,
    Turn,
    best_device,
    load_chat,
)

# Placeholder for an image in prompts of lmms-eval.
_PLACEHOLDER = "<image>"
_MAX_NEW_TOKENS = 1024
_PASSED_ON = (
    *("num_beams", "repetition_penalty", "no_repeat_ngram_size", "length_penalty"),
    *("early_stopping", "use_cache"),
)
_OF_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
T = TypeVar("T")


@dataclass(slots=True)
class _Talk:
    """A conversation: its request, the outputs of its rounds so far, and its task's state."""

    args: tuple[Any, ...]
    said: list[str] = field(default_factory=list)
    info: Any = None
    is_over: bool = False


@register_model("hf_multimodal")
class HfMultimodal(lmms):  # type: ignore[misc]  # lmms-eval is not typed
    """A checkpoint that AutoProcessor and AutoModelForImageTextToText can load, as in ``llava_hf``.

    Runs on any device, and on several processes, each with the whole model and a share of the
    documents; ``device_map=auto`` spreads one model over all GPUs of one process.

    The prompt is one user message with the text of the task, its images first or at its ``<image>``
    placeholders. If the task's ``doc_to_messages`` takes ``prefill``, the prompt is its messages:
    real turns, of which the last may begin the answer.

    Args:
        pretrained: name on the Hub, or folder.
        revision: revision of the checkpoint.
        device: such as ``cuda``, ``cuda:1``, ``cpu``; default: the available accelerator.
        dtype: such as ``bfloat16``; ``auto``: the checkpoint's.
        batch_size: number of prompts, or answer options, per batch.
        trust_remote_code, attn_implementation, device_map: as in transformers.
        chat_template: a Jinja template, or a file with one, instead of the checkpoint's.
        max_batch_size: passed to every model by lmms-eval; not used.
    """

    def __init__(
        self,
        pretrained: str,
        revision: str = "main",
        device: str | None = None,
        dtype: str | torch.dtype = "auto",
        batch_size: int | str = 1,
        trust_remote_code: bool = False,
        attn_implementation: str | None = None,
        device_map: str = "",
        chat_template: str | None = None,
        max_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        if not str(batch_size).isdecimal() or int(batch_size) < 1:  # such as lmms-eval's "auto"
            raise ValueError(
                f"hf_multimodal: batch_size={batch_size!r} should be a whole number from 1"
            )
        self.batch_size = int(batch_size)
        self.accelerator = Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        self.device = _device(device, self.accelerator)
        # lmms-eval parses arguments as numbers if it can, but a folder may be called 2024.
        path, source = str(pretrained), dict[str, Any](revision=str(revision))
        source["trust_remote_code"] = trust_remote_code
        load: Any = AutoModelForImageTextToText.from_pretrained
        model = load(
            path,
            dtype=dtype,
            attn_implementation=attn_implementation,
            device_map=device_map or {"": self.device},
            **source,
        )
        if device_map:
            self.device = model.device
        if chat_template is not None and "{" not in chat_template:  # a file, not a template
            chat_template = Path(chat_template).read_text(encoding="utf-8")
        self._chat = load_chat(path, chat_template, **source)
        self.tokenizer, self.chat_template = self._chat.tokenizer, self._chat.template
        if self.chat_template is None:
            logger.warning(
                "The checkpoint has no chat template: prompts are passed to the model unchanged. "
                "If the model was trained on chats, set --model_args chat_template=FILE."
            )
        self._model = ChatModel(model, self._chat)

    @property
    def config(self) -> Any:
        """The transformers config of the model."""
        return self._model.model.config

    def clean(self) -> None:
        """Free the model, so that an ``hf:`` judge has its memory.

        lmms-eval calls it after generation, but frees only attributes that are modules themselves.
        """
        del self._model
        super().clean()

    # --- likelihood ------------------------------------------------------------------------------

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool, float, int]]:
        """Compute the likelihood of each continuation after its context, given the images.

        No end of turn is added. White space between the prompt's end and the continuation is not
        doubled, as it would be with lmms-eval's delimiter ``" "`` after a template that ends in a
        new line.

        Args:
            requests: with ``args`` (context, continuation or a function of the document,
                doc_to_visual, doc_id, task, split), or (context, continuation) without images.

        Returns:
            The mean token loss, whether greedy decoding would generate the continuation, the sum
            of the log-probabilities of its tokens, and their number; in the order of the requests.
            lmms-eval's own are the first two; filters get the text of all four. A continuation
            without tokens has no likelihood: its loss is infinite, its sum minus infinity.
        """
        results: list[tuple[float, bool, float, int]] = []
        with self._progress(len(requests)) as bar:
            rows = self._scored(requests)
            for batch in _batches(rows, self.batch_size, lambda row: len(row[0].images)):
                for total, tokens, greedy in self._model.likelihoods(batch):
                    if tokens:
                        results.append((-total / tokens, greedy, total, tokens))
                    else:
                        results.append((math.inf, greedy, -math.inf, 0))
                bar.update(len(batch))
        return results

    def _scored(self, requests: Sequence[Any]) -> Iterator[tuple[Prompt, Sequence[int]]]:
        """Prompts with an answer, and the tokens of the prompts alone."""
        last: tuple[Hashable, Prompt, Sequence[int]] | None = None
        for request in requests:
            context, continuation, *place = request.args
            visual, *where = place or (None,)
            # The options of a document are adjacent, so its images are read once.
            key = (context, visual, *where)
            if last is None or last[0] != key:
                prompt = self._prompt(context, visual, where)
                last = key, prompt, self._chat.ids(prompt) if prompt.text else []
            if callable(continuation):
                continuation = continuation(self._doc(*where))
            if last[1].text[-1:].isspace():
                continuation = continuation.lstrip()
            whole = last[1].text + self._chat.neutral(continuation)
            yield Prompt(whole, last[1].images), last[2]

    # --- generation ------------------------------------------------------------------------------

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Generate responses, up to the first of the stop strings ``until``.

        Args:
            requests: with ``args`` (context, gen_kwargs, doc_to_visual, doc_id, task, split).
                gen_kwargs are not changed; supported are ``until``, ``max_new_tokens`` (1024),
                ``temperature`` (0: greedy), ``do_sample``, ``top_p``, ``top_k``, ``min_p``,
                ``num_beams`` and penalties.
        """
        results = [""] * len(requests)
        with self._progress(len(requests)) as bar:
            for number, text in self._generate(requests, self._first_prompt):
                results[number] = text
                bar.update()
        return results

    def _generate(
        self, requests: Sequence[Any], prompt: Callable[[Any], Prompt | None]
    ) -> Iterator[tuple[int, str]]:
        """The numbers of requests, and their responses, except of those without a prompt.

        Grouped by settings, longest first, so that memory errors occur early. Prompts are made one
        batch at a time, since they hold images.
        """
        keys = [json.dumps(each.args[1], sort_keys=True, default=str) for each in requests]
        order = sorted(range(len(requests)), key=lambda at: (keys[at], -len(requests[at].args[0])))
        rows = ((at, found) for at in order if (found := prompt(requests[at])) is not None)
        for batch in _batches(
            rows, self.batch_size, lambda row: (keys[row[0]], len(row[1].images))
        ):
            settings = requests[batch[0][0]].args[1]
            inputs = self._chat.inputs([found for _, found in batch])
            made = self._model.generate(inputs, **generation_options(settings))
            texts = self.tokenizer.batch_decode(made, skip_special_tokens=True)
            for (at, _), text in zip(batch, texts, strict=True):
                yield at, cut(text, settings.get("until"))

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[list[str]]:
        """Generate the responses in each round of conversations.

        Args:
            requests: with ``args`` (context of the first round, gen_kwargs, doc_to_visual,
                doc_to_text, doc_id, task, split). For later rounds, ``doc_to_text`` returns images,
                context, whether the conversation is over, the outputs so far, and the state that
                it receives in the next round.
        """
        talks = [_Talk(request.args) for request in requests]
        with self._progress(len(requests)) as bar:
            for number in count():
                going = [talk for talk in talks if not talk.is_over]
                if not going:
                    break
                for at, text in self._generate(going, partial(self._next_prompt, number)):
                    going[at].said.append(text)
                bar.update(sum(talk.is_over for talk in going))
        return [talk.said for talk in talks]

    def _next_prompt(self, number: int, talk: _Talk) -> Prompt | None:
        context, _, visual, doc_to_text, *where = talk.args
        if number == 0:
            return self._prompt(context, visual, where)
        messages, doc = self._messages(visual), self._doc(*where)
        *asked, talk.is_over, said, talk.info = (messages or doc_to_text)(
            doc, round_idx=number, previous_output=talk.said, previous_round_info=talk.info
        )
        talk.said = list(said)
        if talk.is_over:
            return None
        return self._chat.prompt(_turns(asked[0]) if messages else [_turn(asked[1], asked[0])])

    # --- shared ----------------------------------------------------------------------------------

    def _first_prompt(self, request: Any) -> Prompt:
        context, _, visual, *where = request.args
        return self._prompt(context, visual, where)

    def _prompt(self, context: str, visual: Any, where: Sequence[Any]) -> Prompt:
        messages = self._messages(visual)
        if messages is not None:
            return self._chat.prompt(_turns(messages(self._doc(*where))))
        visuals = visual(self._doc(*where)) if visual is not None else None
        return self._chat.prompt([_turn(context, visuals)])

    def _messages(self, visual: Any) -> Callable[..., Any] | None:
        """The task's function of messages, if it can begin the answer, and the model knows turns.

        lmms-eval passes the task to simple models only by its method ``doc_to_visual``.
        """
        task = getattr(visual, "__self__", None)
        build = getattr(getattr(task, "config", None), "doc_to_messages", None)
        if self.chat_template is None or not callable(build):
            return None
        takes = inspect.signature(build).parameters
        return partial(build, prefill=True) if "prefill" in takes else None

    def _doc(self, doc_id: int, task: str, split: str) -> Any:
        return self.task_dict[task][split][doc_id]

    def _progress(self, total: int) -> Any:
        return tqdm(total=total, disable=self.rank != 0, desc="Model Responding")


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    turns = []
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found = (
            part["text"] if part["type"] == "text" else read_images([part.get("url")])[0]
            for part in parts
        )
        turns.append(Turn(message["role"], tuple(found)))
    return turns


def _turn(context: str, visuals: Sequence[Any] | None) -> Turn:
    """A user message with its images first, or at the ``<image>`` placeholders."""
    images = read_images(visuals)
    first, *pieces = context.split(_PLACEHOLDER)
    if len(pieces) != len(images):
        return Turn("user", (*images, context))
    return Turn("user", (first, *chain.from_iterable(zip(images, pieces, strict=True))))


def read_images(visuals: Sequence[Any] | None) -> list[Image.Image]:
    """The images of a document, from images or paths; raises ValueError for other media."""
    images = []
    for visual in visuals or ():
        try:
            image = Image.open(visual) if isinstance(visual, str) else visual
        except OSError as error:
            raise ValueError(f"hf_multimodal takes images, not {visual!r} ({error})") from None
        if not isinstance(image, Image.Image):
            raise ValueError(f"hf_multimodal takes images, not {type(image).__name__}")
        images.append(image.convert("RGB"))
    return images


def generation_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert lmms-eval's gen_kwargs to keywords of transformers' ``generate``."""
    temperature = settings.get("temperature")
    sample = bool(settings.get("do_sample")) if temperature is None else temperature > 0
    options = {name: settings[name] for name in _PASSED_ON if settings.get(name) is not None}
    # None for greedy decoding: the checkpoint's own settings would cause warnings.
    options |= {name: settings.get(name) if sample else None for name in _OF_SAMPLING}
    if sample:
        options = {name: value for name, value in options.items() if value is not None}
    return options | {
        "do_sample": sample,
        "max_new_tokens": int(settings.get("max_new_tokens") or _MAX_NEW_TOKENS),
    }


def cut(text: str, until: Any) -> str:
    """The text up to the first stop string; ``until``: a string or a list of strings."""
    if not isinstance(until or [], str | list | tuple):
        raise ValueError(f"until={until!r}: use a string or a list of strings")
    for stop in [until] if isinstance(until, str) else until or []:
        text = text.partition(stop)[0] if stop else text
    return text


def _device(name: str | None, accelerator: Accelerator) -> torch.device:
    """The device of this process; with several GPUs, each process has its own."""
    device = torch.device(best_device(None if name is None else str(name)))
    if device.type == "cuda" and device.index is None and accelerator.num_processes > 1:
        return torch.device("cuda", accelerator.local_process_index)
    return device


def _batches(rows: Iterable[T], size: int, key: Callable[[T], Hashable]) -> Iterator[list[T]]:
    """Batches of consecutive rows with the same key, of at most ``size``; rows are read lazily."""
    for _, alike in groupby(rows, key):
        while batch := list(islice(alike, size)):
            yield batch
