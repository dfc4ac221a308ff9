"""How many documents a difference needs, and which difference a number of documents can show.

Two models answer the same documents. A two-sided test at 5% finds a true difference d of their
means with 80% probability from n = (1.960 + 0.842)^2 s^2 / d^2 documents, where s is the standard
deviation of the difference on one document (Miller 2024, "Adding Error Bars to Evals", section 5,
arXiv 2411.00640, with one response per document). Documents in clusters have the s that the
standard error over clusters implies, so that n counts documents.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_rpts.stats.intervals import numbered, t_quantile

_DISTANCE = 1.959964 + 0.841621  # standard normal quantiles of 0.975 and 0.8


def documents_needed(difference: float, deviation: float) -> int:
    """Number of documents that show a true difference with 80% power; 0 if there is none."""
    if abs(difference) < 1e-6:
        return 0
    return max(2, math.ceil((_DISTANCE * deviation / difference) ** 2))


def detectable(documents: int, deviation: float) -> float:
    """The smallest true difference that this number of documents shows with 80% power."""
    return _DISTANCE * deviation / math.sqrt(documents)


def deviation_of(low: float, high: float, documents: int) -> float:
    """Standard deviation on one document, which the 95% interval of a mean over them implies."""
    return (high - low) / 2 / t_quantile(documents - 1) * math.sqrt(documents)


def clustered_deviation(
    values: NDArray[np.floating[Any]], clusters: NDArray[np.integer[Any]]
) -> float:
    """Standard deviation on one document, which the standard error over clusters implies.

    Without clusters of several documents it is that of the values (n - 1). 0 for one cluster.
    """
    groups = numbered(clusters.tolist())
    sums = np.bincount(groups, values - values.mean()) if len(values) else np.zeros(0)
    count = len(sums)
    return math.sqrt((sums**2).sum() / len(values) * count / (count - 1)) if count > 1 else 0.0
