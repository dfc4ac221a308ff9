"""``hf_multimodal``: any image-text-to-text model of transformers, with correct likelihoods."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model
from PIL import Image
from tqdm import tqdm

from lmms_rpts.judging.backends.transformers_model import Chat, ChatModel, images_of

_OF_SAMPLING = ("temperature", "top_p", "top_k", "min_p")
_PASSED_ON = ("num_beams", "repetition_penalty", "length_penalty", "no_repeat_ngram_size")


@register_model("hf_multimodal")
class HfMultimodal(lmms):  # type: ignore[misc]  # lmms-eval is not typed
    """A checkpoint of transformers that takes images, with a chat template.

    The prompt is one user message with the text of the task, its images first or at its ``<image>``
    placeholders. If the task's ``doc_to_messages`` takes ``prefill``, the prompt is its messages:
    real turns, of which the last may begin the answer.

    Args:
        pretrained: name on the Hub, or folder.
        device: such as ``cuda``, ``cuda:1``, ``cpu``; default: the available accelerator.
        batch_size: number of prompts, or answer options, per batch.
        chat_template: a file with a Jinja template, instead of the checkpoint's.
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
        self.batch_size, self.accelerator = int(batch_size), Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        place = {"": device or self.accelerator.device}
        options = {"dtype": "auto", "device_map": place} | options
        source = {key: options[key] for key in ("revision", "trust_remote_code") if key in options}
        template = Path(chat_template).read_text(encoding="utf-8") if chat_template else None
        # lmms-eval parses arguments as numbers if it can, but a folder may be called 2024.
        self._model = ChatModel(str(pretrained), template, **source)
        self._model.load(**options)
        self.device, self.config = self._model.model.device, self._model.config

    def clean(self) -> None:
        """Free the model after generation: lmms-eval frees only attributes that are modules."""
        del self._model
        super().clean()

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool, float, int]]:
        """The likelihood of each continuation after its context, without an end of turn.

        ``args`` of a request: context, continuation or a function of the document, doc_to_visual,
        doc_id, task, split; or context and continuation alone.

        Returns:
            The mean token loss (infinite without tokens), whether greedy decoding would generate
            the continuation, the sum of the log-probabilities of its tokens, and their number.
        """
        results: dict[int, tuple[float, bool, float, int]] = {}
        bar = self._progress(len(requests))
        for begin in range(0, len(requests), self.batch_size):
            chats: dict[int, Chat] = {}
            answers: dict[int, str] = {}
            for at, each in enumerate(requests[begin : begin + self.batch_size], begin):
                context, option, *place = each.args
                visual, *where = place or [None]
                chats[at] = self._chat(context, visual, where)
                answers[at] = option(self._doc(*where)) if callable(option) else option
            for group in _alike({at: len(images_of(chat)) for at, chat in chats.items()}):
                asked = [chats[at] for at in group]
                found = likelihoods(self._model, asked, [answers[at] for at in group])
                for at, (total, tokens, greedy) in zip(group, found, strict=True):
                    loss, total = (-total / tokens, total) if tokens else (math.inf, -math.inf)
                    results[at] = (loss, greedy, total, tokens)
                    bar.update()
        return [results[at] for at in range(len(requests))]

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Generate responses, up to the first of the stop strings ``until``.

        ``args`` of a request: context, gen_kwargs (see `generation_options`), doc_to_visual,
        doc_id, task, split.
        """

        def ask(at: int, said: list[str]) -> Chat | None:
            context, _, visual, *where = requests[at].args
            return None if said else self._chat(context, visual, where)

        return [text for (text,) in self._converse(requests, ask)]

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[list[str]]:
        """Generate the responses in each round of conversations.

        ``args`` of a request: context of the first round, gen_kwargs, doc_to_visual, doc_to_text,
        doc_id, task, split. For later rounds, ``doc_to_text`` returns images, context, whether the
        conversation is over, the outputs so far, and the state that it receives in the next round.
        """
        states: list[Any] = [None] * len(requests)

        def ask(at: int, said: list[str]) -> Chat | None:
            context, _, visual, doc_to_text, *where = requests[at].args
            if not said:
                return self._chat(context, visual, where)
            messages, doc = self._messages(visual), self._doc(*where)
            state = {"previous_output": [*said], "previous_round_info": states[at]}
            found = (messages or doc_to_text)(doc, round_idx=len(said), **state)
            *asked, is_over, said[:], states[at] = found
            if is_over:
                return None
            return _chat_of(asked[0]) if messages else _user(asked[1], asked[0])

        return self._converse(requests, ask)

    def _converse(
        self, requests: Sequence[Any], ask: Callable[[int, list[str]], Chat | None]
    ) -> list[list[str]]:
        """What is said in each conversation, until ``ask`` has no further chat for it.

        Grouped by settings, longest first, so that memory errors occur early. Chats are made one
        batch at a time, since they hold images.
        """
        said: list[list[str]] = [[] for _ in requests]
        bar = self._progress(len(requests))
        keys = [(str(each.args[1]), -len(each.args[0])) for each in requests]
        order = sorted(range(len(requests)), key=keys.__getitem__)
        for begin in range(0, len(order), self.batch_size):
            going = order[begin : begin + self.batch_size]
            while going:
                asked = ((at, ask(at, said[at])) for at in going)
                chats = {at: chat for at, chat in asked if chat is not None}
                bar.update(len(going) - len(chats))
                kinds = {at: (keys[at][0], len(images_of(chat))) for at, chat in chats.items()}
                for group in _alike(kinds):
                    settings = requests[group[0]].args[1]
                    prompts = [self._model.prompt(chats[at]) for at in group]
                    inputs = self._model.inputs(prompts, [chats[at] for at in group])
                    answers = self._model.generate(inputs, **generation_options(settings))
                    for at, (text, *_) in zip(group, answers, strict=True):
                        said[at].append(cut(text, settings.get("until")))
                going = list(chats)
        return said

    def _chat(self, context: str, visual: Any, where: Sequence[Any]) -> Chat:
        if messages := self._messages(visual):
            return _chat_of(messages(self._doc(*where)))
        return _user(context, visual(self._doc(*where)) if visual is not None else None)

    def _messages(self, visual: Any) -> Callable[..., Any] | None:
        """The task's function of messages, if it can begin the answer.

        lmms-eval passes the task to simple models only by its method ``doc_to_visual``.
        """
        config = getattr(getattr(visual, "__self__", None), "config", None)
        build: Any = getattr(config, "doc_to_messages", None)
        begins = callable(build) and "prefill" in inspect.signature(build).parameters
        return partial(build, prefill=True) if begins else None

    def _doc(self, doc_id: int, task: str, split: str) -> Any:
        return self.task_dict[task][split][doc_id]

    def _progress(self, total: int) -> Any:
        return tqdm(total=total, disable=self.rank != 0, desc="Model Responding")


def likelihoods(
    model: ChatModel, chats: Sequence[Chat], answers: Sequence[str]
) -> list[tuple[float, int, bool]]:
    """Sum of the log-probabilities of answers, their tokens, and whether they are greedy.

    An answer's tokens are those that it adds to its prompt's, if both are tokenized as one
    text. White space between the two is not doubled. The chats have the same number of images.
    """
    import torch

    if model.config.model_type == "paligemma":
        raise NotImplementedError("no likelihoods: PaliGemma's prompt attends to later tokens")
    texts = []
    for chat, answer in zip(chats, answers, strict=True):
        prompt, added = model.prompt(chat), model.neutral(answer)
        texts.append((prompt, prompt + (added.lstrip() if prompt[-1:].isspace() else added)))
    # Padding is on the right, where a causal model's text does not attend to it.
    inputs = model.inputs([whole for _, whole in texts], chats, "right")
    ids, lengths = inputs["input_ids"], inputs["attention_mask"].sum(dim=1).tolist()
    starts = []
    for pair, length in zip(texts, lengths, strict=True):
        # Placeholders of images are one token each here: only their ends are compared.
        before, after = model.tokenizer([*pair], add_special_tokens=False)["input_ids"]
        pairs = enumerate(zip(before, after, strict=False))
        same = next((at for at, (a, b) in pairs if a != b), min(len(before), len(after)))
        starts.append(max(1, length - len(after) + same))
    width, kept = ids.shape[1], ids.shape[1] - min(starts) + 1
    takes = inspect.signature(model.model.forward).parameters
    # Logits of the images would fill the memory.
    options = {"logits_to_keep": kept} if "logits_to_keep" in takes else {}
    with torch.inference_mode():
        logits = model.model(**inputs.to(model.model.device, model.model.dtype), **options).logits
    if logits.shape[1] not in (kept, width):
        raise NotImplementedError("no likelihoods: the model adds positions to the tokens")
    found = []
    for row, line, start, end in zip(logits, ids, starts, lengths, strict=True):
        answer = line[start:end].to(row.device)
        logprobs = torch.log_softmax(row[start - 1 - width : end - 1 - width].float(), dim=-1)
        total = logprobs.gather(-1, answer[:, None]).double().sum()
        greedy = len(answer) > 0 and bool((logprobs.argmax(dim=-1) == answer).all())
        found.append((float(total), len(answer), greedy))
    return found


def _chat_of(messages: Sequence[Mapping[str, Any]]) -> Chat:
    """Messages of lmms-eval as those of `ChatModel`."""
    found = []
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        shown = [p["text"] if p["type"] == "text" else read_image(p.get("url")) for p in parts]
        found.append({"role": message["role"], "content": shown})
    return found


def _user(context: str, visuals: Sequence[Any] | None) -> Chat:
    """A user message with its images first, or at the ``<image>`` placeholders."""
    images = [*map(read_image, visuals or ())]
    first, *pieces = context.split("<image>")
    content = [*images, context]
    if len(pieces) == len(images):
        shown = chain.from_iterable(zip(images, pieces, strict=True))
        content = [each for each in (first, *shown) if each != ""]
    return [{"role": "user", "content": content}]


def read_image(visual: Any) -> Image.Image:
    """An image, from an image or a path; raises ValueError for other media."""
    image = Image.open(visual) if isinstance(visual, str) else visual
    if not isinstance(image, Image.Image):
        raise ValueError(f"hf_multimodal takes images, not {type(image).__name__}")
    return image.convert("RGB")


def generation_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert lmms-eval's gen_kwargs to keywords of transformers' ``generate``.

    ``max_new_tokens`` is 1024 by default; a ``temperature`` of 0 means greedy decoding.
    """
    temperature = settings.get("temperature")
    sample = bool(settings.get("do_sample")) if temperature is None else temperature > 0
    names = _OF_SAMPLING + _PASSED_ON if sample else _PASSED_ON
    options = {name: settings[name] for name in names if settings.get(name) is not None}
    most = int(settings.get("max_new_tokens") or 1024)
    return options | {"do_sample": sample, "max_new_tokens": most}


def cut(text: str, until: Any) -> str:
    """The text up to the first stop string; ``until``: a string or a list of strings."""
    for stop in [until] if isinstance(until, str) else until or []:
        text = text.partition(stop)[0] if stop else text
    return text


def _alike(kinds: Mapping[int, Any]) -> list[list[int]]:
    """The numbers of what is of one kind."""
    order = sorted(kinds, key=kinds.__getitem__)
    return [list(group) for _, group in groupby(order, kinds.__getitem__)]
