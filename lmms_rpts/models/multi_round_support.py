"""Models of lmms-eval that support conversations in rounds: ``generate_until_multi_round``.

They describe lmms-eval 0.7.3; a test compares them with the code of the installed version.
"""

from __future__ import annotations

from typing import Any

from lmms_rpts.models.wrappers import find_wrapper

SIMPLE = ("hf_multimodal", "llava_onevision", "qwen2_5_vl", "qwen2_vl", "vqtoken")
"""Simple wrappers with support, and this package's model. Chat wrappers can't inherit it."""
CHAT = ("aero_realtime_vllm", "vllm")
"""Chat wrappers with support."""


class MultiRoundError(ValueError):
    """A task has several rounds, but the chosen model does not support rounds."""


def has_multi_round(model: Any, force_simple: bool = False) -> bool:
    """Whether the model that lmms-eval would build supports rounds; imports no model.

    True for third-party models.

    Args:
        model: name or alias, as for ``--model``, or a model instance.
        force_simple: as lmms-eval's flag.
    """
    found = find_wrapper(model, force_simple)
    if found is None or not found.is_known:  # lmms-eval reports unknown models
        return True
    return found.name in (SIMPLE if found.is_simple else CHAT)


def check_multi_round(
    model: Any, tasks: str, force_simple: bool = False, model_args: Any = None
) -> None:
    """Refuse models that do not support rounds before they are loaded.

    Args:
        model, force_simple: as for ``has_multi_round``.
        tasks: names of the tasks, for the message.
        model_args: not used; all checks of models get them.

    Raises:
        MultiRoundError: with the models that support rounds.
    """
    if has_multi_round(model, force_simple):
        return
    name = model if isinstance(model, str) else type(model).__name__
    simple = ", ".join(f"{each} --force_simple" if _has_chat(each) else each for each in SIMPLE[1:])
    raise MultiRoundError(
        f"{tasks}: the model {name} does not support several rounds (it has no "
        f"generate_until_multi_round). Use --model {SIMPLE[0]} --model_args pretrained=CHECKPOINT, "
        f"for any image-text-to-text checkpoint of transformers; or one of {', '.join(CHAT)}, "
        f"{simple}."
    )


def _has_chat(model: str) -> bool:
    from lmms_eval.models import MODEL_REGISTRY_V2

    return MODEL_REGISTRY_V2.get_manifest(model).chat_class_path is not None
