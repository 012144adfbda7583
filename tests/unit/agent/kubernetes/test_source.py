"""Series of source type Kubernetes, from present samples."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dsf_agent.errors import AgentError, Reason
from dsf_agent.fetch.stage import BATCH_SERIES, KubernetesSource
from dsf_agent.kubernetes import cluster, objects
from dsf_agent.kubernetes.cluster import Labelled
from dsf_runtime.informer import Informer
from dsf_wire.measures import Selection
from dsf_wire.summary import Summary
from tests.support.virtual_time import LoopClock

ASKING = Summary(
    name="s",
    score_name="s",
    source_type="Kubernetes",
    source_query="node_ready",
    source_range=600,
    source_step=10,
)


class Given:
    """A cluster whose samples are given."""

    def __init__(self, *, nodes: int) -> None:
        self.names = [f"n{number}" for number in range(nodes)]

    async def read(self, _selections: Sequence[Selection]) -> list[Labelled]:
        keys = (json.dumps({"__name__": "node_ready", "node": name}).encode() for name in self.names)
        return [(key, number + 0.5) for number, key in enumerate(keys)]


@pytest.mark.parametrize("nodes", [0, 1, BATCH_SERIES - 1, BATCH_SERIES, 2 * BATCH_SERIES + 1])
async def test_each_series_has_one_point_the_present(nodes: int) -> None:
    given: Any = Given(nodes=nodes)
    found = await KubernetesSource(scorer=ASKING, cluster=given).fetch(now=1700000000.25)
    data = json.loads(b"[%b]" % b",".join(map(bytes, found.parts)))
    assert [one["metric"]["node"] for one in data] == given.names
    assert [one["values"] for one in data] == [[[1700000000.25, f"{n}.5"]] for n in range(nodes)]
    assert (found.count, found.size, found.warnings) == (nodes, sum(map(len, found.parts)), ())


def test_objects_of_which_nothing_is_heard_may_be_outdated() -> None:
    """Also without a failure, as when a watch is silent."""
    now = 0.0
    server: Any = None
    informer = Informer(api=server, path="/api/v1/nodes", project=objects.node, clock=lambda: now)
    informer.synced.set()
    cluster._check(informer)
    now = 1000.0
    with pytest.raises(AgentError, match="nodes: nothing was heard") as raised:
        cluster._check(informer)
    assert raised.value.reason is Reason.TIMEOUT


async def test_a_read_while_nothing_is_followed_fails() -> None:
    server: Any = object()
    idle = cluster.Cluster(server=server, clock=LoopClock(), wait_seconds=1)
    with pytest.raises(AgentError, match="nodes and pods are not followed at the moment") as raised:
        await idle.read([])
    assert raised.value.reason is Reason.INTERNAL
