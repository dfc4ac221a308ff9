"""One cluster of Ray for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a cluster, whose processes are children of this one."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'lmms-rpts[ray]'")
    options = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
    ray.init(num_cpus=4, object_store_memory=100 * 2**20, **options)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()
