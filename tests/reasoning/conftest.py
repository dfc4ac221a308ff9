"""Property tests on shared machines: no deadline for a single example."""

from hypothesis import settings

settings.register_profile("lmms_rpts", deadline=None)
settings.load_profile("lmms_rpts")
