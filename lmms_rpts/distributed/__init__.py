"""Scoring in jobs of Ray Data, Spark, Dask, or a loop: `Scorer`; and judges in a Ray job.

Nothing of Ray is imported before a function needs it: the extra ``lmms-rpts[ray]``.
"""

from lmms_rpts.distributed.scorer import Scorer
from lmms_rpts.distributed.workers import WorkerSettings, worker_settings

__all__ = ["Scorer", "WorkerSettings", "worker_settings"]
