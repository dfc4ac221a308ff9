"""Judge backend: a chat model of transformers in this process, batched and greedy."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_rpts.judging.backends.hf_chat import Chat, UnusableError, said
from lmms_rpts.judging.backends.hf_model import (
    SHELF,
    Model,
    Prompt,
    architecture,
    auto_class,
    best_device,
    model_path,
)
from lmms_rpts.judging.backends.hf_sight import with_template
from lmms_rpts.judging.types import FatalJudgeError, JudgeRequest, RefusedError, Reply, digest

_LINGER = 0.005
"""Seconds to wait for further requests before a batch is formed."""
_GOODBYE = 5.0
"""Seconds that closing waits for a model that cannot stop, for example while it is loaded."""
_WEIGHTS = (".safetensors", ".bin")
_PARTS = (*_WEIGHTS, ".json", ".jinja", ".model", ".txt")


class HFJudge:
    """A transformers model in this process, greedy, with up to ``batch_size`` requests at once.

    The model is loaded on the first request, and shared by all judges of this process until
    another model is requested.

    Args:
        name: name on the Hub, or a folder.
        batch_size: maximum number of requests per batch; reduced when memory runs out.
        device: such as ``cuda:1`` or ``cpu``; None: all GPUs, else the CPU.
    """

    def __init__(self, name: str, *, batch_size: int = 8, device: str | None = None) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self._name, self._size, self._device = name.strip(), batch_size, device
        self._lock = threading.Lock()
        self._waiting: list[_Ask] = []
        self._busy = self._closed = False

    @property
    def identity(self) -> dict[str, object]:
        """Everything except the request that the replies depend on, for the cache key."""
        return {
            "backend": "hf",
            "model": self._name,
            "revision": _revision(self._name),
            "dtype": "float32" if best_device(self._device) == "cpu" else "auto",
        }

    async def ask(self, request: JudgeRequest) -> Reply:
        """Ask the model.

        Raises:
            RefusedError: if this request cannot be answered, for example because it is too long.
            FatalJudgeError: if the model cannot be loaded.
        """
        ask = _Ask(request)
        with self._lock:
            if self._closed:
                raise RefusedError("the judge is closed: open another one")
            self._waiting.append(ask)
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._work, name="hf-judge", daemon=True).start()
        return await asyncio.wrap_future(ask.future)

    async def aclose(self) -> None:
        """Stop at the next token and fail waiting requests. The model stays loaded."""
        with self._lock:
            self._closed = True
            waiting = list(self._waiting)
        for ask in waiting:
            ask.settle(RefusedError("the judge was closed during the request"))
        deadline = time.monotonic() + _GOODBYE
        while self._busy and time.monotonic() < deadline:
            await asyncio.sleep(_LINGER)

    def _work(self) -> None:
        """Answer requests until none waits; runs in a separate thread."""
        time.sleep(_LINGER)
        while self._still_waiting():
            try:
                with SHELF.use(self._name, self._device) as model:
                    # All waiting requests are answered before another judge may load its model.
                    while waiting := self._still_waiting():
                        _answer(model, waiting, self._size)
                    return
            except Exception as error:  # the boundary: no request may wait forever
                reason = said(error)
            for ask in self._still_waiting():
                ask.settle(FatalJudgeError(reason))

    def _still_waiting(self) -> list[_Ask]:
        """The waiting requests, including running ones, so that closing can fail them."""
        with self._lock:
            self._waiting = [ask for ask in self._waiting if not ask.future.done()]
            self._busy = bool(self._waiting)
            return list(self._waiting)


@dataclass(eq=False, slots=True)
class _Ask:
    request: JudgeRequest
    future: Future[Reply] = field(default_factory=Future)
    prompt: Prompt | None = None

    def settle(self, result: Reply | Exception) -> None:
        with suppress(InvalidStateError):  # it was cancelled or failed in the meantime
            if isinstance(result, Exception):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


def _answer(model: Model, waiting: Sequence[_Ask], size: int) -> None:
    for ask in waiting:
        if ask.prompt is None:
            try:
                ask.prompt = model.prompt(ask.request)
            except RefusedError as error:
                ask.settle(error)
    ready = [(ask, ask.prompt) for ask in waiting if ask.prompt and not ask.future.done()]
    if not ready:
        return
    most = min(size, model.most) if model.pads or not ready[0][1].images else 1
    chosen = _batch([prompt for _, prompt in ready], most, model.context)
    asks = [ready[place][0] for place in chosen]
    prompts = [ready[place][1] for place in chosen]
    replies = model.replies(prompts, lambda: all(ask.future.done() for ask in asks))
    for ask, reply in zip(asks, replies, strict=True):
        ask.settle(reply)


def _batch(prompts: Sequence[Prompt], size: int, context: int) -> list[int]:
    """Choose a batch: the request that waited longest, and those most similar to it.

    Similar means first the same limit, so that none waits for a longer reply, then a similar
    length, so that there is little padding. Padding counts as context, so the batch as a whole must
    fit. All have the same number of images, since not every processor pads images.
    """
    first = prompts[0]

    def unlikeness(place: int) -> tuple[bool, int]:
        prompt = prompts[place]
        return prompt.limit != first.limit, abs(len(prompt.ids) - len(first.ids))

    alike = [place for place, prompt in enumerate(prompts) if prompt.images == first.images]
    chosen: list[int] = []
    width = limit = 0
    for place in sorted(alike, key=unlikeness)[:size]:
        width, limit = max(width, len(prompts[place].ids)), max(limit, prompts[place].limit)
        if chosen and width + limit > context:
            break
        chosen.append(place)
    return chosen


def _revision(name: str) -> str | None:
    """The version of the weights: the commit on the Hub, or a fingerprint of a folder's files."""
    folder = Path(model_path(name))
    if folder.is_dir():
        files = [(file.name, file.stat()) for file in folder.iterdir() if file.suffix in _PARTS]
        return digest(sorted([name, stat.st_size, stat.st_mtime_ns] for name, stat in files))
    return _commit(name)


@lru_cache
def _commit(name: str) -> str | None:
    from transformers import AutoConfig

    with suppress(Exception):  # check_hf reports errors
        commit = AutoConfig.from_pretrained(name, trust_remote_code=False)._commit_hash
        return str(commit) if commit else None
    return None


def check_hf(name: str) -> str | None:
    """Why ``name`` cannot be a judge, and what to do; None if it can.

    Loads the config and the tokenizer, no weights. A positive result is not checked again.
    """
    try:
        _check(name.strip())
    except UnusableError as error:
        return str(error)
    return None


@lru_cache
def _check(name: str) -> None:
    if not name:
        raise UnusableError("add a model, such as hf:Qwen/Qwen2.5-7B-Instruct, or a folder")
    folder = Path(model_path(name))
    if name.startswith((".", "/", "~")) or folder.is_dir():
        if not folder.is_dir():
            raise UnusableError(f"no such folder: {str(folder)!r}")
        if not (folder / "config.json").is_file():
            raise UnusableError(
                f"the folder {str(folder)!r} contains no config.json: choose a folder that a model "
                "was saved to, with adapters merged into the base model"
            )
        if not any(any(folder.glob(f"*{ending}")) for ending in _WEIGHTS):
            raise UnusableError(
                f"the folder {str(folder)!r} contains no weights ({', '.join(_WEIGHTS)})"
            )
    from transformers import AutoConfig, AutoTokenizer

    config = _fetched(AutoConfig, name)
    if auto_class(config) is None:
        raise UnusableError(
            f"{architecture(config)} generates no text: choose an instruction-tuned language model"
        )
    tokenizer = _fetched(AutoTokenizer, name)
    try:
        Chat(with_template(tokenizer, model_path(name)))
    except Exception as error:  # tokenizers with several templates raise, too
        raise UnusableError(f"the model {name!r} cannot be used for chat: {said(error)}") from None


def _fetched(kind: Any, name: str) -> Any:
    """A config or tokenizer."""
    try:
        return kind.from_pretrained(model_path(name), trust_remote_code=False)
    except Exception as error:  # any error of a broken file or of the network
        reason = said(error)
        what = "config" if kind.__name__ == "AutoConfig" else "tokenizer"
        hint = "check the name, the connection to the Hub and your access to the model"
        if "trust_remote_code" in str(error):
            reason = "it needs custom code, which lmms-rpts never runs"
            hint = "choose a model that transformers supports"
        raise UnusableError(f"the {what} of {name!r} cannot be loaded ({reason}): {hint}") from None
