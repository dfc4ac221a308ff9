"""Did the model reason its way to the answer, or just land on it?

A plugin for lmms-eval: importing this package, or having it installed, adds its tasks, filters and
models to lmms-eval. The reasoning core is in ``lmms_rpts.reasoning``, the client of judges in
``lmms_rpts.judging``.

The functions of ``lmms_rpts.analysis`` are here as well: ``import lmms_rpts as lr; lr.read_runs``.
"""

from importlib import import_module
from typing import Any

from lmms_rpts.plugin import register

__version__ = "0.3.0"


def __getattr__(name: str) -> Any:
    return getattr(import_module("lmms_rpts.analysis"), name)


def __dir__() -> list[str]:
    return [*globals(), *dir(import_module("lmms_rpts.analysis"))]


register()
