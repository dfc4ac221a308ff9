"""Judge backend: a chat model of transformers in this process, batched and greedy."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends.transformers_model import (
    Chat,
    ChatModel,
    Turn,
    UnusableError,
    best_device,
    is_encoder_decoder,
    load_chat,
)
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    RefusedError,
    Reply,
    Request,
    Usage,
    digest,
)

# Seconds to wait for further requests before a batch is formed.
_BATCH_WAIT = 0.005
# Seconds that closing waits for a model that cannot stop, for example while it is loaded.
_CLOSING_TIME = 5.0
# Files that determine the replies of a model in a folder
_PARTS = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt")
# Tokens for the thinking of a model, before its reply.
_THINKING = 4096
THOUGHT, _END_OF_THOUGHT = "<think>", "</think>"
_THINKS = ("think", "<|channel|>")
_SEEING = "AutoModelForImageTextToText"
# Classes of transformers with their tasks; some models, such as Gemma 3, are listed for both.
_CLASSES = {"AutoModelForCausalLM": "CAUSAL_LM", _SEEING: "IMAGE_TEXT_TO_TEXT"}
_SMALLER = "choose a smaller model, or free memory that other processes use"


class HFJudge:
    """A transformers model in this process, greedy, with up to ``batch_size`` requests at once.

    The model is loaded on the first request, and shared by all judges of this process until
    another model is requested.

    Args:
        name: name on the Hub, or a folder.
        batch_size: maximum number of requests per batch; reduced when memory runs out.
        device: such as ``cuda:1`` or ``cpu``; None: all GPUs, else the CPU.
    """

    def __init__(self, name: str, *, batch_size: int = 32, device: str | None = None) -> None:
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

    async def ask(self, request: Request) -> Reply:
        """Ask the model; a request is refused if it is too long, for example."""
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
        deadline = time.monotonic() + _CLOSING_TIME
        while self._busy and time.monotonic() < deadline:
            await asyncio.sleep(_BATCH_WAIT)

    def _work(self) -> None:
        """Answer requests until none waits; runs in a separate thread."""
        time.sleep(_BATCH_WAIT)
        while self._still_waiting():
            try:
                with _loaded(self._name, self._device) as model:
                    # All waiting requests are answered before another judge may load its model.
                    while waiting := self._still_waiting():
                        model.answer(waiting, self._size)
                    return
            except Exception as error:  # the boundary: no request may wait forever
                reason = _one_line(error)
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
    """A request; its prompt, the tokens of the prompt and the token limit of its reply.

    ``alone``: whether a batch with it failed.
    """

    request: Request
    future: Future[Reply] = field(default_factory=Future)
    prompt: Any = None
    ids: list[int] = field(default_factory=list)
    limit: int = 0
    alone: bool = False

    def settle(self, result: Reply | Exception) -> None:
        with suppress(InvalidStateError):  # it was cancelled or failed in the meantime
            if isinstance(result, Exception):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


class LoadedJudge(ChatModel):
    """A loaded judge; ``most``: the rows that fit into memory at once, as far as known."""

    def __init__(self, model: Any, chat: Chat) -> None:
        from transformers import GenerationConfig

        super().__init__(model, chat)
        # A new config: recommended sampling and penalties of the model do not apply to a judge.
        settings: Any = GenerationConfig
        model.generation_config = settings(do_sample=False, num_beams=1)
        self.most = 2**30
        self._thinks = any(mark in str(chat.template).lower() for mark in _THINKS)

    def answer(self, waiting: Sequence[_Ask], size: int) -> None:
        """Answer one batch of the waiting requests; some may go on waiting."""
        for ask in waiting:
            if ask.prompt is None:
                try:
                    self.prepare(ask)
                except RefusedError as error:
                    ask.settle(error)
        ready = [ask for ask in waiting if ask.prompt and not ask.future.done()]
        if not ready:
            return
        batch = _batch(ready, min(size, self.most), self.context)
        try:
            for ask, reply in zip(batch, self.replies(batch), strict=True):
                ask.settle(reply)
            return
        except Exception as error:  # one failing request must not fail the others
            memory, reason = _is_memory(error), _one_line(error)
        # The traceback is released only here, and with it the GPU memory that it references.
        if memory:
            _free()
            self.most = max(1, len(batch) // 2)
            reason = f"the request of {len(batch[0].ids)} tokens does not fit in memory"
        elif "CUDA error" in reason:
            raise FatalJudgeError(f"the judge's GPU failed ({reason}): run the same command again")
        if len(batch) == 1:
            batch[0].settle(RefusedError(f"the judge's model failed: {reason}"))
        for ask in batch:
            ask.alone = not memory

    def prepare(self, ask: _Ask) -> None:
        """Fill in the prompt of a request; raises RefusedError."""
        if ask.request.images and not self.chat.sees:
            raise RefusedError("the judge's model does not support images")
        try:
            ask.prompt = self.chat.prompt(_turns(ask.request))
            ask.ids = self.chat.ids(ask.prompt)
        except Exception as error:  # templates, processors and images raise any exception
            raise RefusedError(
                f"the judge's model does not take the request: {_one_line(error)}"
            ) from None
        room = self.context - len(ask.ids)
        if room < 1:
            raise RefusedError(
                f"the prompt has {len(ask.ids)} tokens, but the judge's model takes "
                f"{self.context} including its reply: choose a model with a longer context"
            )
        ask.limit = min(room, ask.request.most_tokens + (_THINKING if self._thinks else 0))

    def replies(self, asks: Sequence[_Ask]) -> list[Reply]:
        """The replies to a batch; raises any error of the model."""
        import torch

        inputs = self.chat.inputs([ask.prompt for ask in asks if ask.prompt])
        width = inputs["input_ids"].shape[1]
        limits = torch.tensor([ask.limit for ask in asks], device=self.model.device)

        def stop(ids: Any, scores: Any, **_: Any) -> Any:
            """Stop each row at its own limit, and all rows if their replies are not needed."""
            return (limits <= ids.shape[1] - width) | all(ask.future.done() for ask in asks)

        rows = self.generate(
            inputs, max_new_tokens=max(ask.limit for ask in asks), stopping_criteria=[stop]
        )
        return [self._reply(ask, row) for ask, row in zip(asks, rows, strict=True)]

    def _reply(self, ask: _Ask, row: list[int]) -> Reply:
        row = row[: ask.limit]
        ended = bool(row) and row[-1] in self.ends
        text = self.chat.tokenizer.decode(row[:-1] if ended else row, skip_special_tokens=True)
        if not ended and THOUGHT in text:
            self._thinks = True  # unknown from the template; the next call gets more tokens
        return Reply(text, Usage(len(ask.ids), len(row)), complete=ended)


def _turns(request: Request) -> list[Turn]:
    """The chat of a request; its images, each after its name, begin the first user message."""
    shown: list[Any] = []
    for image in request.images:
        # Templates join parts without a separator.
        shown += [f"{image.name}:\n", image.encoded(), "\n"]
    turns = []
    for message in request.messages:
        role, text = message["role"], message["content"]
        if role == "assistant":  # thinking is not repeated
            text = text.rpartition(_END_OF_THOUGHT)[2].partition(THOUGHT)[0]
        turns.append(Turn(role, (*shown, text) if role == "user" else (text,)))
        shown = [] if role == "user" else shown
    return turns


def _batch(ready: Sequence[_Ask], size: int, context: int) -> list[_Ask]:
    """Choose a batch: the request that waited longest, and those most similar to it.

    Similar means first the same limit, so that none waits for a longer reply, then a similar
    length, so that there is little padding. Padding counts as context, so the batch as a whole must
    fit. All have the same number of images, since not every processor pads images.
    """
    first = ready[0]
    if first.alone:
        return [first]
    chosen = sorted(
        (
            ask
            for ask in ready
            if not ask.alone and len(ask.request.images) == len(first.request.images)
        ),
        key=lambda ask: (ask.limit != first.limit, abs(len(ask.ids) - len(first.ids))),
    )[:size]
    while max(len(ask.ids) for ask in chosen) + max(ask.limit for ask in chosen) > context:
        chosen.pop()
    return chosen


_ONE_AT_A_TIME = threading.Lock()
# The model used last.
_LOADED: dict[tuple[str, str | None], LoadedJudge] = {}


@contextmanager
def _loaded(name: str, device: str | None) -> Iterator[LoadedJudge]:
    """A model, loaded if necessary, for one thread at a time."""
    with _ONE_AT_A_TIME:
        if (name, device) not in _LOADED:
            if _LOADED:
                _LOADED.clear()
                _free()
            _LOADED[name, device] = _load(name, device)
        yield _LOADED[name, device]


def _load(name: str, device: str | None) -> LoadedJudge:
    import transformers

    target = best_device(device)
    logger.info(f"Loading the judge's model {name} onto {target}")
    try:
        kind = getattr(transformers, _classes_of(_config_of(name))[0])
        model = kind.from_pretrained(
            _model_path(name),
            trust_remote_code=False,
            dtype="float32" if target == "cpu" else "auto",
            # Directly to the GPU; to all of them if one is too small.
            device_map="auto" if device is None and target == "cuda" else {"": target},
        )
        return LoadedJudge(model, _chat(name))
    except Exception as error:
        reason, memory = _one_line(error), _is_memory(error)
    _free()
    hint = _SMALLER if memory else "check that its files are complete and transformers supports it"
    raise FatalJudgeError(
        f"the judge's model {name!r} cannot be loaded onto {target}: {reason}; {hint}"
    )


def check_hf(name: str) -> str | None:
    """Why ``name`` cannot be a judge, and what to do; None if it can.

    Loads the config, the tokenizer and the processor, no weights.
    """
    name = name.strip()
    if not name:
        return "add a model, such as hf:Qwen/Qwen2.5-7B-Instruct, or a folder"
    if name.startswith((".", "/", "~")) and not Path(_model_path(name)).is_dir():
        return f"no such folder: {_model_path(name)!r}"
    try:
        _chat(name)
    except UnusableError as error:
        return f"{error}: choose an instruction-tuned model"
    except Exception as error:  # any error of a broken file or of the network
        hint = "check the name, the connection to the Hub and your access to the model"
        if "trust_remote_code" in str(error):
            return f"{name!r} needs custom code, which lmms-rpts never runs: choose another model"
        return f"the config or tokenizer of {name!r} cannot be loaded ({_one_line(error)}): {hint}"
    return None


@lru_cache(maxsize=4)
def _chat(name: str) -> Chat:
    """The prompts of a model; no weights."""
    config = _config_of(name)
    sees = _SEEING in _classes_of(config) and not is_encoder_decoder(config)
    chat = load_chat(_model_path(name), untrusted=True, sees=sees, trust_remote_code=False)
    if chat.template is None:
        raise UnusableError("it has no chat template")
    return chat


@lru_cache(maxsize=4)
def _config_of(name: str) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(_model_path(name), trust_remote_code=False)


def _classes_of(config: Any) -> list[str]:
    """The classes of transformers that load such a model with its head; raises UnusableError."""
    from transformers.models.auto import modeling_auto

    built, found = set(config.architectures or ()), []
    for kind, task in _CLASSES.items():
        names: dict[str, str] = getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES")
        if built & set(names.values()) if built else config.model_type in names:
            found.append(kind)
    if not found:
        raise UnusableError(f"{(config.architectures or [config.model_type])[0]} generates no text")
    return found


def _revision(name: str) -> str | None:
    """The version of the weights: the commit on the Hub, or a fingerprint of a folder's files."""
    folder = Path(_model_path(name))
    if folder.is_dir():
        files = [(file.name, file.stat()) for file in folder.iterdir() if file.suffix in _PARTS]
        return digest(sorted([name, stat.st_size, stat.st_mtime_ns] for name, stat in files))
    with suppress(Exception):  # check_hf reports errors
        return str(_config_of(name)._commit_hash or "") or None
    return None


def _one_line(error: Exception) -> str:
    """An exception on one line; without its type if it is one of this package."""
    if isinstance(error, FatalJudgeError | UnusableError):
        return str(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__


def _is_memory(error: Exception) -> bool:
    # The CPU, Apple's GPU and CUDA's libraries raise no specific exception for it.
    words = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def _free() -> None:
    from accelerate.utils.memory import clear_device_cache

    clear_device_cache(garbage_collection=True)


def _model_path(name: str) -> str:
    """The path of a local model, or its name on the Hub."""
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _placed(settings: Settings) -> dict[str, Any]:
    """The batch size and the device of a judge, as arguments of ``HFJudge``."""
    device = None  # a single process uses all GPUs
    if settings.processes > 1:
        import torch

        found = torch.cuda.is_available()
        device = f"cuda:{settings.local_rank % torch.cuda.device_count()}" if found else "cpu"
    return {"batch_size": settings.concurrency, "device": device}


BACKEND = Backend(
    usage="hf:NAME_OR_PATH",
    purpose="a chat model run by transformers, in this process: no key, no server",
    check=lambda model, settings: check_hf(model),
    open=lambda model, settings: HFJudge(model, **_placed(settings)),
    sees=lambda model, settings: _chat(model.strip()).sees,
    samples=False,
    local=True,
)
