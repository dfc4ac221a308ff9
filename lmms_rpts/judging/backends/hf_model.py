"""Loading and batched generation of a model of transformers, once per process."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_rpts.judging.backends.hf_chat import THOUGHT, Chat, UnusableError, said
from lmms_rpts.judging.backends.hf_sight import SeenPrompt, Vision, vision_of, with_template
from lmms_rpts.judging.types import (
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    Usage,
)

_THINKING = 4096
_SMALLER = "choose a smaller model, or free memory that other processes use"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of a model and the token limit of its reply; ``seen``: the input with images."""

    ids: list[int]
    limit: int
    seen: SeenPrompt | None = None

    @property
    def images(self) -> int:
        """The number of images in the prompt."""
        return len(self.seen.images) if self.seen else 0


class Model:
    """A loaded model.

    Attributes:
        context: maximum number of tokens of a prompt and its reply.
        most: number of rows that fit into memory at once, as far as known.
        pads: whether prompts with images can be padded to a batch, as far as known.
    """

    def __init__(self, model: Any, tokenizer: Any, vision: Vision | None = None) -> None:
        import transformers

        self.most, self.pads = 2**30, True
        self._model, self._chat, self._vision = model, Chat(tokenizer), vision
        self.context = _context(model.config.get_text_config(), tokenizer)
        self._ends = sorted(self._chat.end_of_turn() | _listed_ends(tokenizer, model))
        self._pad = tokenizer.pad_token_id
        if self._pad is None or self._pad >= model.get_input_embeddings().weight.shape[0]:
            self._pad = self._ends[0] if self._ends else 0
        # A new config: recommended sampling and penalties of the model do not apply to a judge.
        settings: Any = transformers.GenerationConfig
        model.generation_config = settings(
            do_sample=False, num_beams=1, eos_token_id=self._ends or None, pad_token_id=self._pad
        )

    def prompt(self, request: JudgeRequest) -> Prompt:
        """The input for a request, and the token limit of its reply.

        Raises:
            RefusedError: if the model cannot process it.
        """
        seen, ids = self._seen(request) if request.images else (None, None)
        if ids is None:
            ids = self._chat.encode(request.messages)
        room = self.context - len(ids)
        if room < 1:
            raise RefusedError(
                f"the prompt has {len(ids)} tokens, but the judge's model takes {self.context} "
                "including its reply: choose a model with a longer context"
            )
        limit = request.most_tokens + (_THINKING if self._chat.thinks else 0)
        return Prompt(ids, min(room, limit), seen)

    def _seen(self, request: JudgeRequest) -> tuple[SeenPrompt, list[int]]:
        if self._vision is None:
            raise RefusedError("the judge's model does not support images")
        return self._vision.read(request.messages, request.images)

    def replies(
        self, prompts: Sequence[Prompt], unwanted: Callable[[], bool]
    ) -> list[Reply | RefusedError]:
        """The reply to each prompt, in smaller batches if they do not fit into memory together.

        Args:
            prompts: the inputs.
            unwanted: returns whether the replies are no longer needed.

        Raises:
            FatalJudgeError: if the GPU no longer responds.
        """
        try:
            return list(self._generate(prompts, unwanted))
        except Exception as error:  # one failing request must not fail the others
            memory, reason = _is_memory(error), said(error)
        # The traceback is released only here, and with it the GPU memory that it references.
        if memory:
            _free()
            self.most = max(1, len(prompts) // 2)
            reason = f"the request of {len(prompts[0].ids)} tokens does not fit in memory"
        elif "CUDA error" in reason:
            raise FatalJudgeError(f"the judge's GPU failed ({reason}): run the same command again")
        if len(prompts) == 1:
            return [RefusedError(f"the judge's model failed: {reason}")]
        replies: list[Reply | RefusedError] = []
        while rest := prompts[len(replies) :]:
            # Memory may turn out to be even smaller.
            replies += self.replies(rest[: self.most if memory else 1], unwanted)
        return replies

    def _generate(self, prompts: Sequence[Prompt], unwanted: Callable[[], bool]) -> Iterator[Reply]:
        import torch

        inputs = self._inputs(prompts)
        width = inputs["input_ids"].shape[1]
        limits = torch.tensor([prompt.limit for prompt in prompts], device=self._model.device)

        def stop(ids: Any, scores: Any, **_: Any) -> Any:
            """Stop each row at its own limit, and all rows if their replies are not needed."""
            return (limits <= ids.shape[1] - width) | unwanted()

        with torch.inference_mode():
            output = self._model.generate(
                **inputs,
                max_new_tokens=max(prompt.limit for prompt in prompts),
                stopping_criteria=[stop],
            )
        for prompt, row in zip(prompts, output[:, width:].tolist(), strict=True):
            yield self._reply(prompt, row[: prompt.limit])

    def _inputs(self, prompts: Sequence[Prompt]) -> Mapping[str, Any]:
        """The tensors of a batch, padded on the left; all of its prompts have images, or none."""
        import torch

        seen = [prompt.seen for prompt in prompts if prompt.seen]
        device = self._model.device
        if seen and self._vision:
            inputs: Any = self._vision.inputs(seen)
            if len(seen) > 1 and not _is_padded(inputs, prompts):
                self.pads = False
                raise ValueError("the processor cannot pad prompts with images")
            return dict(inputs.to(device, self._model.dtype))
        width = max(len(prompt.ids) for prompt in prompts)
        pads = [width - len(prompt.ids) for prompt in prompts]
        rows = [[self._pad] * pad + prompt.ids for pad, prompt in zip(pads, prompts, strict=True)]
        mask = [[0] * pad + [1] * (width - pad) for pad in pads]
        return {
            "input_ids": torch.tensor(rows, device=device),
            "attention_mask": torch.tensor(mask, device=device),
        }

    def _reply(self, prompt: Prompt, row: list[int]) -> Reply:
        end = next((place for place, number in enumerate(row) if number in self._ends), None)
        text = self._chat.tokenizer.decode(row[:end], skip_special_tokens=True)
        if end is None and THOUGHT in text:
            self._chat.thinks = True  # unknown from the template; the next call gets more tokens
        made = len(row) if end is None else end + 1
        return Reply(text, Usage(len(prompt.ids), made), complete=end is not None)


def _is_padded(inputs: Any, prompts: Sequence[Prompt]) -> bool:
    """Whether each row ends with its prompt, and the padding before it is masked."""
    mask = inputs.get("attention_mask")
    if mask is None:
        return False
    rows = zip(inputs["input_ids"].tolist(), mask.tolist(), prompts, strict=True)
    return all(
        row[-len(prompt.ids) :] == prompt.ids and sum(seen) == sum(seen[-len(prompt.ids) :])
        for row, seen, prompt in rows
    )


def _listed_ends(tokenizer: Any, model: Any) -> set[int]:
    """All tokens that end a reply according to the configs; some models have several."""
    ends: set[int] = set()
    for place in (tokenizer, model.generation_config, model.config.get_text_config()):
        listed = getattr(place, "eos_token_id", None)
        if listed is not None:
            ends |= set(listed) if isinstance(listed, list) else {listed}
    return ends


def _context(config: Any, tokenizer: Any) -> int:
    endless = 10**9  # tokenizers without a limit report more than this
    for known in (getattr(config, "max_position_embeddings", None), tokenizer.model_max_length):
        if known and 0 < known < endless:
            return int(known)
    return endless


class _Shelf:
    """Cache of the model used last, for one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[str, str | None] | None = None
        self._model: Model | None = None

    @contextmanager
    def use(self, name: str, device: str | None) -> Iterator[Model]:
        """The model, loaded if necessary.

        Raises:
            FatalJudgeError: if it cannot be loaded.
        """
        with self._lock:
            if self._model is None or self._key != (name, device):
                if self._model is not None:
                    self._model = self._key = None
                    _free()
                self._model, self._key = _load(name, device), (name, device)
            yield self._model


SHELF = _Shelf()


def _load(name: str, device: str | None) -> Model:
    target = best_device(device)
    logger.info(f"Loading the judge's model {name} onto {target}")
    try:
        return _loaded(model_path(name), target, spread=device is None)
    except Exception as error:
        reason, memory = said(error), _is_memory(error)
    _free()
    hint = _SMALLER if memory else "check that its files are complete and transformers supports it"
    raise FatalJudgeError(
        f"the judge's model {name!r} cannot be loaded onto {target}: {reason}; {hint}"
    )


def _loaded(path: str, target: str, spread: bool) -> Model:
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(path, trust_remote_code=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    kind = auto_class(config)
    if kind is None:
        raise UnusableError(f"{architecture(config)} generates no text")
    named = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    options: dict[str, Any] = {named: torch.float32 if target == "cpu" else "auto"}
    if target.startswith("cuda"):
        # Directly to the GPU; to all of them if one is too small.
        options["device_map"] = "auto" if spread else {"": target}
    model = getattr(transformers, kind).from_pretrained(path, trust_remote_code=False, **options)
    if not target.startswith("cuda"):
        model = model.to(target)
    places = set(getattr(model, "hf_device_map", {}).values())
    if places & {"cpu", "disk"}:
        logger.warning(f"The judge's model does not fit on the GPU and will be slow; {_SMALLER}")
    return Model(model.eval(), with_template(tokenizer, path), vision_of(path))


def auto_class(config: Any) -> str | None:
    """The class of transformers that loads such a model with its head; None if it has none."""
    from transformers.models.auto import modeling_auto

    built = set(config.architectures or ())
    for names, kind in (
        (modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, "AutoModelForCausalLM"),
        (modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES, "AutoModelForImageTextToText"),
    ):
        if built & set(names.values()) or (not built and config.model_type in names):
            return kind
    return None


def architecture(config: Any) -> str:
    return str((config.architectures or [config.model_type])[0])


def best_device(device: str | None) -> str:
    import torch

    if device is not None:
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _is_memory(error: Exception) -> bool:
    import torch

    if isinstance(error, torch.cuda.OutOfMemoryError | MemoryError):
        return True
    # The CPU, Apple's GPU and CUDA's libraries raise no specific exception for it.
    words = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def _free() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def model_path(name: str) -> str:
    return str(Path(name).expanduser()) if name.startswith("~") else name
