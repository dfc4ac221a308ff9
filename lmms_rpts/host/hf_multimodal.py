"""``hf_multimodal``: any image-text-to-text model of transformers, with correct likelihoods.

The equivalent model in lm-evaluation-harness has the same name (``hf-multimodal``).
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import Any, TypeVar

from accelerate import Accelerator
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from loguru import logger
from PIL import Image
from tqdm import tqdm
from transformers import AutoModelForImageTextToText

from lmms_rpts.judging.backends.transformers_model import (
    Chat,
    ChatModel,
    Message,
    Prompt,
    device_of,
)

_OF_SOURCES = ("revision", "trust_remote_code", "token", "cache_dir")
_OF_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_PASSED_ON = (
    *("num_beams", "repetition_penalty", "no_repeat_ngram_size", "length_penalty"),
    *("early_stopping", "use_cache"),
)
T = TypeVar("T")


@register_model("hf_multimodal")
class HfMultimodal(lmms):  # type: ignore[misc]  # lmms-eval is not typed
    """A checkpoint that AutoProcessor and AutoModelForImageTextToText can load.

    Each process has the whole model; ``device_map=auto`` spreads it over all GPUs of one process.

    The prompt is one user message with the text of the task, its images first or at its ``<image>``
    placeholders. If the task's ``doc_to_messages`` takes ``prefill``, the prompt is its messages:
    real turns, of which the last may begin the answer.

    Args:
        pretrained: name on the Hub, or folder.
        device: such as ``cuda``, ``cuda:1``, ``cpu``; default: the available accelerator.
        batch_size: number of prompts, or answer options, per batch.
        chat_template: a Jinja template, or a file with one, instead of the checkpoint's.
        max_batch_size: passed to every model by lmms-eval; not used.
        options: keywords of ``from_pretrained``, such as ``dtype``, ``revision``, ``device_map``.
    """

    def __init__(
        self,
        pretrained: str,
        device: str | None = None,
        batch_size: int | str = 1,
        chat_template: str | None = None,
        max_batch_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if not str(batch_size).isdecimal() or int(batch_size) < 1:  # such as lmms-eval's "auto"
            raise ValueError(
                f"hf_multimodal: batch_size={batch_size!r} should be a whole number from 1"
            )
        self.batch_size, self.accelerator = int(batch_size), Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        place = device_of(device, self._world_size, self.accelerator.local_process_index)
        options = {"dtype": "auto", "device_map": {"": place}} | options
        source = {name: options[name] for name in _OF_SOURCES if name in options}
        if chat_template is not None and "{" not in chat_template:  # a file, not a template
            chat_template = Path(chat_template).read_text(encoding="utf-8")
        # lmms-eval parses arguments as numbers if it can, but a folder may be called 2024.
        self._chat = Chat(str(pretrained), chat_template, **source)
        self.tokenizer, self.chat_template = self._chat.tokenizer, self._chat.template
        if self.chat_template is None:
            logger.warning(
                "The checkpoint has no chat template: prompts are passed to the model unchanged. "
                "If the model was trained on chats, set --model_args chat_template=FILE."
            )
        load: Any = AutoModelForImageTextToText.from_pretrained
        self._model = ChatModel(load(str(pretrained), **options), self._chat)
        self.device, self.config = self._model.model.device, self._model.model.config

    def clean(self) -> None:
        """Free the model after generation: lmms-eval frees only attributes that are modules."""
        del self._model
        super().clean()

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool, float, int]]:
        """Compute the likelihood of each continuation after its context, given the images.

        No end of turn is added. White space between the prompt's end and the continuation is not
        doubled. ``args`` of a request: context, continuation or a function of the document,
        doc_to_visual, doc_id, task, split; or context and continuation alone.

        Returns:
            The mean token loss, whether greedy decoding would generate the continuation, the sum
            of the log-probabilities of its tokens, and their number; lmms-eval's own are the first
            two. A continuation without tokens has an infinite loss.
        """
        results: list[tuple[float, bool, float, int]] = []
        bar = self._progress(len(requests))
        rows = self._scored(requests)
        for batch in _batches(rows, self.batch_size, lambda row: len(row[0].images)):
            for total, tokens, greedy in self._model.likelihoods(batch):
                loss, total = (-total / tokens, total) if tokens else (math.inf, -math.inf)
                results.append((loss, greedy, total, tokens))
                bar.update()
        return results

    def _scored(self, requests: Sequence[Any]) -> Iterator[tuple[Prompt, Sequence[int]]]:
        """Prompts with an answer, and the tokens of the prompts alone."""
        # The options of a document are adjacent, so its images are read once.
        for _, options in groupby(requests, lambda each: (each.args[0], *each.args[2:])):
            first, *rest = options
            context, _, *place = first.args
            visual, *where = place or (None,)
            prompt = self._prompt(context, visual, where)
            inputs = self._chat.inputs([prompt]) if prompt.text else {"input_ids": [[]]}
            ids = [int(token) for token in inputs["input_ids"][0]]
            for option in (each.args[1] for each in (first, *rest)):
                text = option(self._doc(*where)) if callable(option) else option
                text = text.lstrip() if prompt.text[-1:].isspace() else text
                yield Prompt(prompt.text + self._chat.neutral(text), prompt.images), ids

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Generate responses, up to the first of the stop strings ``until``.

        ``args`` of a request: context, gen_kwargs (see `generation_options`), doc_to_visual,
        doc_id, task, split.
        """
        results, bar = [""] * len(requests), self._progress(len(requests))
        asked = [each.args for each in requests]
        prompts = [partial(self._prompt, args[0], args[2], args[3:]) for args in asked]
        for number, text in self._generate(asked, prompts):
            results[number] = text
            bar.update()
        return results

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[list[str]]:
        """Generate the responses in each round of conversations.

        ``args`` of a request: context of the first round, gen_kwargs, doc_to_visual, doc_to_text,
        doc_id, task, split. For later rounds, ``doc_to_text`` returns images, context, whether the
        conversation is over, the outputs so far, and the state that it receives in the next round.
        """
        said: list[list[str]] = [[] for _ in requests]
        states: list[Any] = [None] * len(requests)
        going, bar = list(range(len(requests))), self._progress(len(requests))

        def prompt(at: int, number: int) -> Prompt | None:
            context, _, visual, doc_to_text, *where = requests[at].args
            if number == 0:
                return self._prompt(context, visual, where)
            messages = self._messages(visual)
            state = {"previous_output": said[at], "previous_round_info": states[at]}
            found = (messages or doc_to_text)(self._doc(*where), round_idx=number, **state)
            *asked, is_over, outputs, states[at] = found
            said[at] = list(outputs)
            if not is_over:
                return self._chat.prompt(
                    _messages_of(asked[0]) if messages else [_user(asked[1], asked[0])]
                )
            going.remove(at)
            bar.update()
            return None

        for number in count():
            now = list(going)
            prompts = [partial(prompt, at, number) for at in now]
            for at, text in self._generate([requests[at].args for at in now], prompts):
                said[now[at]].append(text)
            if not going:
                break
        return said

    def _generate(
        self, asked: Sequence[Sequence[Any]], prompts: Sequence[Callable[[], Prompt | None]]
    ) -> Iterator[tuple[int, str]]:
        """The numbers of requests, and their responses, except of those without a prompt.

        Grouped by settings, longest first, so that memory errors occur early. Prompts are made one
        batch at a time, since they hold images.
        """
        keys = [json.dumps(args[1], sort_keys=True, default=str) for args in asked]
        order = sorted(range(len(asked)), key=lambda at: (keys[at], -len(asked[at][0])))
        rows = ((at, prompt) for at in order if (prompt := prompts[at]()) is not None)
        alike = _batches(rows, self.batch_size, lambda row: (keys[row[0]], len(row[1].images)))
        for batch in alike:
            settings = asked[batch[0][0]][1]
            inputs = self._chat.inputs([prompt for _, prompt in batch])
            made = self._model.generate(inputs, **generation_options(settings))
            for (at, _), row in zip(batch, made, strict=True):
                yield at, cut(self._chat.decode(row), settings.get("until"))

    def _prompt(self, context: str, visual: Any, where: Sequence[Any]) -> Prompt:
        messages = self._messages(visual)
        if messages is not None:
            return self._chat.prompt(_messages_of(messages(self._doc(*where))))
        visuals = visual(self._doc(*where)) if visual is not None else None
        return self._chat.prompt([_user(context, visuals)])

    def _messages(self, visual: Any) -> Callable[..., Any] | None:
        """The task's function of messages, if it can begin the answer, and the model knows turns.

        lmms-eval passes the task to simple models only by its method ``doc_to_visual``.
        """
        config = getattr(getattr(visual, "__self__", None), "config", None)
        build = getattr(config, "doc_to_messages", None)
        if self.chat_template is None or not callable(build):
            return None
        begins = "prefill" in inspect.signature(build).parameters
        return partial(build, prefill=True) if begins else None

    def _doc(self, doc_id: int, task: str, split: str) -> Any:
        return self.task_dict[task][split][doc_id]

    def _progress(self, total: int) -> Any:
        return tqdm(total=total, disable=self.rank != 0, desc="Model Responding")


def _messages_of(messages: Sequence[Message]) -> list[Message]:
    """Messages of lmms-eval as those of `Chat`."""
    found: list[Message] = []
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [p["text"] if p["type"] == "text" else read_image(p.get("url")) for p in parts]
        found.append({"role": message["role"], "content": shown})
    return found


def _user(context: str, visuals: Sequence[Any] | None) -> Message:
    """A user message with its images first, or at the ``<image>`` placeholders."""
    images = [*map(read_image, visuals or ())]
    first, *pieces = context.split("<image>")
    if len(pieces) != len(images):
        return {"role": "user", "content": [*images, context]}
    shown = chain.from_iterable(zip(images, pieces, strict=True))
    return {"role": "user", "content": [each for each in (first, *shown) if each != ""]}


def read_image(visual: Any) -> Image.Image:
    """An image, from an image or a path; raises ValueError for other media."""
    try:
        image = Image.open(visual) if isinstance(visual, str) else visual
    except OSError as error:
        raise ValueError(f"hf_multimodal takes images, not {visual!r} ({error})") from None
    if not isinstance(image, Image.Image):
        raise ValueError(f"hf_multimodal takes images, not {type(image).__name__}")
    return image.convert("RGB")


def generation_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert lmms-eval's gen_kwargs to keywords of transformers' ``generate``.

    ``max_new_tokens`` is 1024 by default; a ``temperature`` of 0 means greedy decoding.
    """
    temperature = settings.get("temperature")
    sample = bool(settings.get("do_sample")) if temperature is None else temperature > 0
    known = {name: settings.get(name) for name in (*_PASSED_ON, *_OF_SAMPLING)}
    options = {name: value for name, value in known.items() if value is not None}
    if not sample:  # the checkpoint's own settings would cause warnings
        options |= dict.fromkeys(_OF_SAMPLING)
    most = int(settings.get("max_new_tokens") or 1024)
    return options | {"do_sample": sample, "max_new_tokens": most}


def cut(text: str, until: Any) -> str:
    """The text up to the first stop string; ``until``: a string or a list of strings."""
    if not isinstance(until or [], str | list | tuple):
        raise ValueError(f"until={until!r}: use a string or a list of strings")
    for stop in [until] if isinstance(until, str) else until or []:
        text = text.partition(stop)[0] if stop else text
    return text


def _batches(rows: Iterable[T], size: int, key: Callable[[T], Hashable]) -> Iterator[list[T]]:
    """Batches of consecutive rows with the same key, of at most ``size``; rows are read lazily."""
    for _, alike in groupby(rows, key):
        while batch := list(islice(alike, size)):
            yield batch
