"""Scoring in jobs of Ray Data, Spark or Dask, or in a loop; the extra ``lmms-rpts[ray]`` has Ray.

Nothing of Ray is imported before a function needs it.
"""

from lmms_rpts.distributed.scorer import Scorer
from lmms_rpts.distributed.workers import Worker, prepare_worker

__all__ = ["Scorer", "Worker", "prepare_worker"]
