"""Look-up of the wrapper that lmms-eval would build for a model name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_PACKAGES = ("lmms_eval.models.", "lmms_rpts.models.")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A wrapper of lmms-eval for a model.

    Attributes:
        name: name in lmms-eval.
        is_simple: True for a simple wrapper, False for a chat wrapper.
        is_known: whether it is from lmms-eval or this package: another package may have
            registered a different class under a known name.
    """

    name: str
    is_simple: bool
    is_known: bool


def find_wrapper(model: Any, force_simple: bool = False) -> Wrapper | None:
    """The wrapper that lmms-eval would build, or None for an unknown model; imports no model.

    Args:
        model: name or alias, as for ``--model``, or a model instance.
        force_simple: as lmms-eval's flag.
    """
    if not isinstance(model, str):
        kind = type(model)
        name = kind.__module__.rpartition(".")[2]
        return Wrapper(name, getattr(kind, "is_simple", True), is_known(f"{kind.__module__}."))
    from lmms_eval.models import MODEL_REGISTRY_V2

    try:
        found = MODEL_REGISTRY_V2.resolve(model, force_simple=force_simple)
    except ValueError:
        return None
    return Wrapper(found.model_id, found.model_type == "simple", is_known(found.class_path))


def is_known(class_path: str) -> bool:
    """Whether a class is from lmms-eval or this package."""
    return class_path.startswith(_PACKAGES)
