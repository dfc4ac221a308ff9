"""Judge backend: a chat model of transformers in this process, batched and greedy."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends.transformers_model import Chat, ChatModel
from lmms_rpts.judging.types import Backend, FatalJudgeError, RefusedError, Reply, Request, Usage

# Tokens for the thinking of a model, before its reply, if its template knows of it.
_THINKING = 4096


class HFJudge:
    """A transformers model in this process, greedy, with up to ``concurrency`` requests at once.

    The model is loaded on the first request, and shared by all judges of this process. Of several
    processes, each uses one GPU; a single one as many as are needed.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self._name, self._most = name, settings.concurrency
        self._gpu = settings.local_rank if settings.processes > 1 else None
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._work: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def identity(self) -> dict[str, object]:
        """Everything except the request that the replies depend on, for the cache key."""
        model = _checkpoint(self._name)
        version = getattr(model.config, "_commit_hash", None)
        if version is None:  # a folder
            version = max(each.stat().st_mtime_ns for each in Path(model.path).iterdir())
        return {"backend": "hf", "model": model.path, "revision": version}

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
        await asyncio.sleep(0.005)  # for further requests
        while waiting := [each for each in self._waiting if not each[1].done()]:
            forms = [(len(each.images), each.most_tokens) for each, _ in waiting]
            alike = [each for each, form in zip(waiting, forms, strict=True) if form == forms[0]]
            batch = alike[: self._most]
            self._waiting = [each for each in waiting if each not in batch]
            outcomes = await asyncio.to_thread(self._answer, [request for request, _ in batch])
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if self._closed or future.done():
                    future.cancel()
                elif isinstance(outcome, Reply):
                    future.set_result(outcome)
                else:
                    future.set_exception(outcome)

    def _answer(self, requests: Sequence[Request]) -> Sequence[Reply | Exception]:
        """The replies to requests, or why there is none; a batch that fails is halved."""
        try:
            return self._replies(requests)
        except FatalJudgeError as error:
            return [error for _ in requests]
        except Exception as error:  # the boundary: no request may wait forever
            reason = _one_line(error)
        # The traceback is released only here, and with it the memory that it references.
        half = len(requests) // 2
        if "memory" in reason or "ALLOC_FAILED" in reason:
            self._most = max(1, half)
        if not half:
            return [RefusedError(f"no reply of the judge's model: {reason}")]
        return [*self._answer(requests[:half]), *self._answer(requests[half:])]

    def _replies(self, requests: Sequence[Request]) -> list[Reply]:
        """The replies to a batch; raises any error of templates, processors, images or models."""
        model = _loaded(self._name, self._gpu)
        chats = [_chat(each) for each in requests]
        inputs = model.inputs([*map(model.prompt, chats)], chats)
        limit, length = requests[0].most_tokens, inputs["input_ids"].shape[1]
        if length + limit > model.context:  # of a batch also if its padding is the reason
            raise RefusedError(
                f"the prompt and its reply may take {length + limit} tokens, but the context of "
                f"the model is {model.context}: choose a model with a longer context"
            )
        limit += _THINKING * ("think" in str(model.template).lower())
        limit = min(limit, model.context - length)

        def stop(ids: Any, scores: Any, **_: Any) -> Any:
            return ids.new_full(ids.shape[:1], self._closed).bool()

        answers = model.generate(inputs, max_new_tokens=limit, stopping_criteria=[stop])
        return [Reply(text, Usage(read, made), ended) for text, read, made, ended in answers]


def _chat(request: Request) -> Chat:
    """The chat of a request: its images, each after its name, begin the first question.

    So do its instructions, since not all templates take a message of the role ``system``.
    """
    from PIL import Image

    chat: list[dict[str, Any]] = [
        {"role": each["role"], "content": [each["content"]]} for each in request.messages
    ]
    before = [*chat.pop(0)["content"], "\n\n"] if chat[0]["role"] == "system" else []
    for image in request.images:  # templates join parts without a separator
        opened = Image.open(io.BytesIO(image.encoded())).convert("RGB")
        before += [f"{image.name}:\n", opened, "\n"]
    chat[0]["content"][:0] = before
    return chat


@lru_cache(maxsize=1)
def _checkpoint(name: str) -> ChatModel:
    """A model without its weights."""
    return ChatModel(os.path.expanduser(name.strip()), trust_remote_code=False)


@lru_cache(maxsize=1)
def _loaded(name: str, gpu: int | None) -> ChatModel:
    import torch
    from transformers import GenerationConfig

    logger.info(f"Loading the judge's model {name}")
    gpus, model = torch.cuda.device_count(), _checkpoint(name)
    place: Any = "auto" if gpu is None or not gpus else {"": gpu % gpus}
    try:
        model.load(trust_remote_code=False, dtype="auto", device_map=place)
    except Exception as error:
        raise FatalJudgeError(
            f"the judge's model {name!r} cannot be loaded: {_one_line(error)}; check that its "
            "files are complete, that transformers supports it and that it fits in memory"
        ) from None
    # Recommended sampling and penalties of the model do not apply to a judge.
    model.model.generation_config = GenerationConfig(do_sample=False, num_beams=1)
    return model


def check_hf(name: str) -> str | None:
    """Why ``name`` cannot be a judge, and what to do; None if it can. Loads no weights."""
    if not name.strip():
        return "add a model, such as hf:Qwen/Qwen2.5-7B-Instruct, or a folder"
    try:
        _checkpoint(name)
    except Exception as error:  # any error of a broken file or of the network
        return (
            f"{name!r} cannot be used ({_one_line(error)}): check the name, the connection to the "
            "Hub and your access to the model; custom code of a model is never run"
        )
    return None


def _one_line(error: Exception) -> str:
    kind = "" if isinstance(error, RefusedError) else f"{type(error).__name__}: "
    return shorten(kind + str(error).strip().partition("\n")[0], 300)


BACKEND = Backend(
    usage="hf:NAME_OR_PATH",
    purpose="a chat model run by transformers, in this process: no key, no server",
    check=lambda model, settings: check_hf(model),
    open=HFJudge,
    sees=lambda model, settings: _checkpoint(model).sees,
    local=True,
)
