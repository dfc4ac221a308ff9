"""Arguments of ``hf_multimodal`` and settings of its generations, checked and translated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate import Accelerator

_MAX_NEW_TOKENS = 1024
_PASSED_ON = (
    *("num_beams", "repetition_penalty", "no_repeat_ngram_size", "length_penalty"),
    *("early_stopping", "use_cache"),
)
_OF_SAMPLING = ("temperature", "top_p", "top_k", "min_p")


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


def stop_strings(settings: Mapping[str, Any]) -> list[str]:
    """The stop strings in ``until``.

    Raises:
        ValueError: if it is neither a string nor a list.
    """
    until = settings.get("until") or []
    if not isinstance(until, str | list | tuple):
        raise ValueError(f"until={until!r}: use a string or a list of strings")
    return [each for each in ([until] if isinstance(until, str) else until) if each]


def cut(text: str, stops: Sequence[str]) -> str:
    """The text up to the first stop string."""
    for stop in stops:
        text = text.partition(stop)[0]
    return text


def batch_size_of(value: int | str) -> int:
    """Parse a batch size of at least 1.

    Raises:
        ValueError: for anything else, such as lmms-eval's ``auto``.
    """
    try:
        size = int(value)
    except ValueError:
        size = 0
    if size < 1:
        raise ValueError(f"hf_multimodal: batch_size={value!r} should be a whole number from 1")
    return size


def dtype_of(value: str | torch.dtype) -> str | torch.dtype:
    """``auto``, or the torch dtype with this name.

    Raises:
        ValueError: if there is no such dtype.
    """
    if value == "auto" or isinstance(value, torch.dtype):
        return value
    found = getattr(torch, value, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"hf_multimodal: dtype={value!r}: use auto, or a type such as bfloat16")
    return found


def device_of(name: str | None, accelerator: Accelerator) -> torch.device:
    """The device of this process; with several GPUs, each process has its own."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
        name = "mps" if name == "cpu" and torch.backends.mps.is_available() else name
    device = torch.device(str(name))
    if device.type == "cuda" and device.index is None and accelerator.num_processes > 1:
        return torch.device("cuda", accelerator.local_process_index)
    return device
