"""Judge backend: a chat model of transformers in this process, batched and greedy."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import shorten
from lmms_rpts.judging.backends.transformers_model import Chat, ChatModel, Message, device_of
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    RefusedError,
    Reply,
    Request,
    Usage,
    digest,
)
from lmms_rpts.reasoning.thinking import strip_thinking

# Seconds to wait for further requests before a batch is formed.
_BATCH_WAIT = 0.005
# Tokens for the thinking of a model, before its reply, if its template knows of it.
_THINKING = 4096
_THINKS = ("think", "<|channel")
# The CPU, Apple's GPU and CUDA's libraries raise no specific exception for short memory.
_MEMORY = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
_KNOWN = (RefusedError, ImageError)
_ONE_AT_A_TIME = threading.Lock()


class HFJudge:
    """A transformers model in this process, greedy, with up to ``most`` requests at once.

    The model is loaded on the first request, and shared by all judges of this process.
    """

    def __init__(self, name: str, *, most: int = 32, device: str = "cpu") -> None:
        self._name, self._most, self._device = os.path.expanduser(name.strip()), most, device
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._work: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def identity(self) -> dict[str, object]:
        """Everything except the request that the replies depend on, for the cache key."""
        folder = Path(self._name)
        if folder.is_dir():
            files = sorted((file.name, file.stat()) for file in folder.iterdir() if file.is_file())
            version = digest([[name, stat.st_size, stat.st_mtime_ns] for name, stat in files])
        else:
            version = str(_config_of(self._name)._commit_hash)
        dtype = "float32" if self._device == "cpu" else "auto"
        return {"backend": "hf", "model": self._name, "revision": version, "dtype": dtype}

    async def ask(self, request: Request) -> Reply:
        """Ask the model; a request is refused if it is too long, for example."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await future

    async def aclose(self) -> None:
        """Stop at the next token. The model stays loaded."""
        self._closed = True
        if self._work is not None:
            await self._work

    async def _answer_all(self) -> None:
        """Answer requests until none waits, one batch after the other."""
        await asyncio.sleep(_BATCH_WAIT)
        while waiting := [each for each in self._waiting if not each[1].done()]:
            images = len(waiting[0][0].images)  # not every processor pads them
            batch = [each for each in waiting if len(each[0].images) == images][: self._most]
            self._waiting = [each for each in waiting if each not in batch]
            outcomes = await asyncio.to_thread(self._answer, [request for request, _ in batch])
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if self._closed or future.done():
                    future.cancel()
                elif isinstance(outcome, Reply):
                    future.set_result(outcome)
                else:
                    future.set_exception(outcome)
        self._waiting = []

    def _answer(self, requests: Sequence[Request]) -> Sequence[Reply | Exception]:
        """The replies to requests, or why there is none; a batch that fails is halved."""
        try:
            with _ONE_AT_A_TIME:
                return self._replies(requests)
        except FatalJudgeError as error:
            return [error for _ in requests]
        except Exception as error:  # the boundary: no request may wait forever
            known, reason = isinstance(error, _KNOWN), _one_line(error)
        # The traceback is released only here, and with it the memory that it references.
        half = len(requests) // 2
        if any(words in reason for words in _MEMORY):
            from accelerate.utils.memory import clear_device_cache

            clear_device_cache(garbage_collection=True)
            self._most = max(1, half)
        if not half:
            return [RefusedError(reason if known else f"the judge's model failed: {reason}")]
        return [*self._answer(requests[:half]), *self._answer(requests[half:])]

    def _replies(self, requests: Sequence[Request]) -> list[Reply]:
        """The replies to a batch; raises any error of templates, processors, images or models."""
        model = _load(self._name, self._device)
        chat, room = model.chat, model.context
        if requests[0].images and not chat.sees:
            raise RefusedError("the judge's model does not support images")
        inputs = chat.inputs([chat.prompt(_messages(each)) for each in requests])
        tokens = inputs["attention_mask"].sum(dim=1).tolist()
        if max(tokens) >= room:
            raise RefusedError(
                f"the prompt has {max(tokens)} tokens, but the judge's model takes {room} "
                "including its reply: choose a model with a longer context"
            )
        extra = _THINKING * any(mark in str(chat.template).lower() for mark in _THINKS)
        sizes = zip(requests, tokens, strict=True)
        limits = [min(each.most_tokens + extra, room - count) for each, count in sizes]
        if len(requests) > 1 and max(tokens) + max(limits) > room:
            raise ValueError("the padded batch does not fit in the context")

        def stop(ids: Any, scores: Any, **_: Any) -> Any:
            return ids.new_full(ids.shape[:1], self._closed).bool()

        rows = model.generate(inputs, max_new_tokens=max(limits), stopping_criteria=[stop])
        replies = []
        for count, limit, row in zip(tokens, limits, rows, strict=True):
            row = row[:limit]
            ended = bool(row) and row[-1] in model.ends
            text = chat.decode(row[:-1] if ended else row)
            replies.append(Reply(text, Usage(count, len(row)), complete=ended))
        return replies


def _messages(request: Request) -> list[Message]:
    """The chat of a request; its images, each after its name, begin the first user message."""
    # Templates join parts without a separator.
    shown = [part for each in request.images for part in (f"{each.name}:\n", each.encoded(), "\n")]
    messages: list[Message] = []
    for message in request.messages:
        role, text = message["role"], message["content"]
        text = strip_thinking(text) if role == "assistant" else text  # thinking is not repeated
        messages.append({"role": role, "content": [*shown, text] if role == "user" else [text]})
        shown = [] if role == "user" else shown
    return messages


@lru_cache(maxsize=1)
def _load(name: str, device: str) -> ChatModel:
    from transformers import GenerationConfig

    logger.info(f"Loading the judge's model {name} onto {device}")
    # Directly to the GPU; to all of them if one is too small.
    place = "auto" if device == "cuda" else {"": device}
    dtype = "float32" if device == "cpu" else "auto"
    load = _class_of(name).from_pretrained
    try:
        model = load(name, trust_remote_code=False, dtype=dtype, device_map=place)
        loaded = ChatModel(model, _chat(name))
    except Exception as error:
        raise FatalJudgeError(
            f"the judge's model {name!r} cannot be loaded onto {device}: {_one_line(error)}; check "
            "that its files are complete, that transformers supports it and that it fits in memory"
        ) from None
    # Recommended sampling and penalties of the model do not apply to a judge.
    greedy: Any = GenerationConfig
    model.generation_config = greedy(do_sample=False, num_beams=1)
    return loaded


def check_hf(name: str) -> str | None:
    """Why ``name`` cannot be a judge, and what to do; None if it can. Loads no weights."""
    name = os.path.expanduser(name.strip())
    if not name:
        return "add a model, such as hf:Qwen/Qwen2.5-7B-Instruct, or a folder"
    if name.startswith((".", "/", "~")) and not Path(name).is_dir():
        return f"no such folder: {name!r}"
    try:
        if _class_of(name) is None:
            return f"{name!r} generates no text: choose an instruction-tuned model"
        if _chat(name).template is None:
            return f"{name!r} has no chat template: choose an instruction-tuned model"
    except Exception as error:  # any error of a broken file or of the network
        if "trust_remote_code" in str(error):
            return f"{name!r} needs custom code, which lmms-rpts never runs: choose another model"
        hint = "check the name, the connection to the Hub and your access to the model"
        return f"the config or tokenizer of {name!r} cannot be loaded ({_one_line(error)}): {hint}"
    return None


@lru_cache(maxsize=4)
def _chat(name: str) -> Chat:
    """The prompts of a model; no weights."""
    chat = Chat(name, untrusted=True, trust_remote_code=False)
    chat.sees = chat.sees and _class_of(name).__name__ == "AutoModelForImageTextToText"
    return chat


@lru_cache(maxsize=4)
def _config_of(name: str) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(name, trust_remote_code=False)


def _class_of(name: str) -> Any:
    """The class of transformers that loads such a model with its head; None: it has none."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto import modeling_auto as known

    built = set(_config_of(name).architectures or ())
    if built & set(known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()):
        return AutoModelForImageTextToText
    causal = built & set(known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
    return AutoModelForCausalLM if causal else None


def _one_line(error: Exception) -> str:
    """An exception on one line; without its type if it is one of this package."""
    kind = "" if isinstance(error, _KNOWN) else f"{type(error).__name__}: "
    return shorten(kind + str(error).strip().partition("\n")[0], 300)


BACKEND = Backend(
    usage="hf:NAME_OR_PATH",
    purpose="a chat model run by transformers, in this process: no key, no server",
    check=lambda model, settings: check_hf(model),
    open=lambda model, settings: HFJudge(
        model,
        most=settings.concurrency,
        device=device_of(None, settings.processes, settings.local_rank),
    ),
    sees=lambda model, settings: _chat(os.path.expanduser(model.strip())).sees,
    samples=False,
    local=True,
)
