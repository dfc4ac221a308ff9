"""What can be told about a run, before and after it."""

from lmms_rpts.analysis.estimate import Estimate, Need, estimate_need

__all__ = ["Estimate", "Need", "estimate_need"]
