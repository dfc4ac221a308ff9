"""Reading of YAML files as lmms-eval does, with users' short ones made whole; imports little."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

KEY = "rpts"
"""The key of a YAML that is expanded."""

_state = threading.local()


def load_whole(
    load: Callable[..., Any],
    yaml_path: str | None = None,
    yaml_config: Any = None,
    yaml_dir: str | None = None,
    mode: str = "full",
) -> Any:
    """What lmms-eval's ``load_yaml_config`` loads, expanded where it has our key.

    A file that another includes is a part of it, and is left to the whole.

    Args:
        load: lmms-eval's function; the others are its arguments.

    Raises:
        DataError: see ``config.expand``.
    """
    depth = getattr(_state, "depth", 0)
    _state.depth = depth + 1
    try:
        config = load(yaml_path, yaml_config, yaml_dir, mode)
    finally:
        _state.depth = depth
    if mode != "full" or depth or not yaml_path:
        return config
    if not isinstance(config, Mapping) or KEY not in config:
        return config
    from lmms_rpts.tasks.own.config import expand

    return expand(config, Path(yaml_path).parent)
