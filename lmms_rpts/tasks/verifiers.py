"""Our graders as verifiers of lmms-eval, by the names that a configuration gives as ``type``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmms_eval.verifiers.base import Verifier

VERIFIERS = {
    "cmmath": ("lmms_rpts.tasks.cmmath.verifier", "CmmathVerifier"),
    "rome": ("lmms_rpts.tasks.rome.verifier", "RomeVerifier"),
}
"""By name, the module and the class of each verifier."""


def load_verifiers() -> dict[str, type[Verifier]]:
    """The classes by name, but for one whose module is being imported just now."""
    classes = {name: (import_module(module), each) for name, (module, each) in VERIFIERS.items()}
    return {
        name: getattr(module, each)
        for name, (module, each) in classes.items()
        if hasattr(module, each)
    }
