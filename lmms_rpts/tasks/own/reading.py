"""Reading of YAML files as lmms-eval does, with short custom ones expanded; imports little."""

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
    """The result of lmms-eval's ``load_yaml_config``, expanded if it has the key ``rpts``.

    A file that another includes is expanded as a part of that file.

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
