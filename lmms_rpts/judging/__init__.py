"""Judging: requests to judges (``client``), with cache, budget, limit and retries."""
