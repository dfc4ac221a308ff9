"""Did the model reason its way to the answer, or just land on it?

A plugin for lmms-eval: importing this package, or having it installed, adds its tasks, filters and
models to lmms-eval. The reasoning core is in ``lmms_rpts.reasoning``, the judge engine in
``lmms_rpts.judging``.
"""

from lmms_rpts.plugin import register

__version__ = "0.2.0"

register()
