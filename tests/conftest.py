"""Settings of the test run."""

from __future__ import annotations

import os

from hypothesis import settings

# CI judges the change, not the luck of the day; runs at a desk go on exploring. No deadline for a
# single example: machines are shared.
settings.register_profile("lmms_rpts", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lmms_rpts")
