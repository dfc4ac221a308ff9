"""Which models of lmms-eval hold conversations in rounds: ``generate_until_multi_round``.

Read in lmms-eval 0.7.3; a test reads the code of the installed version and compares.
"""

from __future__ import annotations

from typing import Any

from lmms_rpts.models.wrappers import find_wrapper

SIMPLE = ("hf_multimodal", "llava_onevision", "qwen2_5_vl", "qwen2_vl", "vqtoken")
"""The simple wrappers that have it, and our own. Chat wrappers that inherit it can't use it."""
CHAT = ("aero_realtime_vllm", "vllm")
"""The chat wrappers that have it."""


class MultiRoundError(ValueError):
    """A task asks in rounds, and the chosen model can't."""


def has_multi_round(model: Any, force_simple: bool = False) -> bool:
    """Whether the model that lmms-eval would build asks in rounds; imports none.

    Models of others are believed to.

    Args:
        model: its name or alias, as for ``--model``, or a model that is there already.
        force_simple: as lmms-eval's flag.
    """
    found = find_wrapper(model, force_simple)
    if found is None or not found.is_known:  # of a model that there isn't, lmms-eval will say so
        return True
    return found.name in (SIMPLE if found.is_simple else CHAT)


def check_multi_round(model: Any, tasks: str, force_simple: bool = False) -> None:
    """Refuse models that can't ask in rounds before they are loaded.

    Args:
        model, force_simple: as for ``has_multi_round``.
        tasks: what needs it, for the message.

    Raises:
        MultiRoundError: naming the models that can.
    """
    if has_multi_round(model, force_simple):
        return
    name = model if isinstance(model, str) else type(model).__name__
    simple = ", ".join(f"{each} --force_simple" if _has_chat(each) else each for each in SIMPLE[1:])
    raise MultiRoundError(
        f"{tasks}: the model {name} can't ask in rounds (it has no generate_until_multi_round). "
        f"Use --model {SIMPLE[0]} --model_args pretrained=CHECKPOINT, for any image-text-to-text "
        f"checkpoint of transformers; or one of {', '.join(CHAT)}, {simple}."
    )


def _has_chat(model: str) -> bool:
    from lmms_eval.models import MODEL_REGISTRY_V2

    return MODEL_REGISTRY_V2.get_manifest(model).chat_class_path is not None
