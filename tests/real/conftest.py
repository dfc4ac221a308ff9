"""One cluster of Ray for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a cluster of two nodes, whose processes are children of this one."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'lmms-rpts[ray]'")
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 2, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=node)
    nodes.add_node(**node)
    ray.init(nodes.address, log_to_driver=False, configure_logging=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield nodes.address
    ray.shutdown()
    nodes.shutdown()
