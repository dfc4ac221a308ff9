"""Names of a package that are imported on first use, so that the package starts fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its ``__name__``.
        modules: the full name of the module of each name.
    """
    loaded = vars(sys.modules[package])

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded[name] = getattr(import_module(modules[name]), name)
        return loaded[name]

    def names() -> list[str]:
        return sorted({*loaded, *modules})  # for help() and completion, before the first use

    return find, names
