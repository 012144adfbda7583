"""Series of source type Kubernetes, from present samples and a history."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dsf_agent.errors import FetchError, Reason
from dsf_agent.fetch.kubernetes import BATCH_POINTS, KubernetesSource
from dsf_agent.kubernetes import cluster, objects
from dsf_agent.kubernetes.cluster import Labelled, needs_history
from dsf_agent.kubernetes.history import History
from dsf_runtime.informer import Informer
from dsf_wire.measures import Selection
from dsf_wire.summary import Summary
from tests.support.virtual_time import LoopClock

NODES = [f"n{number}" for number in range(3)]
KEYS = [json.dumps({"__name__": "node_ready", "node": name}).encode() for name in NODES]


class Recorded:
    """A cluster whose samples and history are given."""

    def __init__(self, *, points: int, most_bytes: int = 4 << 20) -> None:
        self.past = History(seconds=100_000, most_bytes=most_bytes)
        for number in range(points):
            self.past.record([(key, number + 0.5) for key in KEYS], at=10.0 * number)

    async def read(self, _selections: Sequence[Selection]) -> list[Labelled]:
        return [(key, 1.0) for key in KEYS]

    def history(self, name: str) -> History | None:
        return self.past if name == "s" else None


def asking(*, seconds: int, step: int = 10, name: str = "s", by_query: bool = False) -> Summary:
    return Summary(
        name=name,
        score_name="s",
        source_type="Kubernetes",
        source_query="node_ready",
        source_range=seconds,
        source_step=step,
        scoring_type="Query" if by_query else None,
    )


def source(cluster: Recorded, *, seconds: int, name: str = "s") -> KubernetesSource:
    scorer = asking(seconds=seconds, name=name)
    return KubernetesSource(scorer=scorer, endpoint=None, cluster=cluster)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "points", [0, 1, 5, BATCH_POINTS // 2, BATCH_POINTS - 1, BATCH_POINTS, 3 * BATCH_POINTS]
)
async def test_series_have_all_points_of_the_range_and_the_present(points: int) -> None:
    """However many batches they are written in."""
    now = 10.0 * points + 5
    found = await source(Recorded(points=points), seconds=90_000).fetch(now=now)
    data = json.loads(b"[%b]" % b",".join(map(bytes, found.parts)))
    assert [one["metric"]["node"] for one in data] == NODES
    wanted = [[10 * number, f"{number + 0.5}"] for number in range(points)]
    assert all(one["values"] == [*wanted, [now, "1"]] for one in data)
    assert (found.count, found.size, found.warnings) == (3, sum(map(len, found.parts)), ())


async def test_points_before_the_range_are_left_out() -> None:
    found = await source(Recorded(points=100), seconds=50).fetch(now=1000.0)
    data = json.loads(b"[%b]" % b",".join(map(bytes, found.parts)))
    assert [at for at, _ in data[0]["values"]] == [950, 960, 970, 980, 990, 1000]


async def test_a_history_that_was_shortened_is_a_warning() -> None:
    found = await source(Recorded(points=100, most_bytes=3000), seconds=90_000).fetch(now=1000.0)
    (warning,) = found.warnings
    assert warning.startswith("the history is limited to 3000 bytes: it has ")


async def test_a_history_that_is_not_there_fails_the_cycle() -> None:
    with pytest.raises(FetchError, match="the history of this scorer is not recorded") as raised:
        await source(Recorded(points=1), seconds=50, name="other").fetch(now=1000.0)
    assert raised.value.reason is Reason.INTERNAL


WEEK = 604_800


@pytest.mark.parametrize(
    ("seconds", "step", "fits"),
    [
        (0, 0, True),
        (1, 1, True),
        (WEEK, WEEK, True),
        (-1, 10, False),
        (WEEK + 1, 10, False),
        (1, 0, False),
        (1, WEEK + 1, False),
    ],
)
def test_ranges_and_steps_that_can_be_recorded(seconds: int, step: int, fits: bool) -> None:
    assert (KubernetesSource.fault(asking(seconds=seconds, step=step)) is None) is fits


def test_who_needs_a_history() -> None:
    assert needs_history(asking(seconds=1))
    assert not needs_history(asking(seconds=0))
    assert not needs_history(asking(seconds=1, by_query=True))


def test_objects_of_which_nothing_is_heard_may_be_outdated() -> None:
    """Also without a failure, as when a watch is silent."""
    now = 0.0
    server: Any = None
    informer = Informer(api=server, path="/api/v1/nodes", project=objects.node, clock=lambda: now)
    informer.synced.set()
    cluster._check(informer)
    now = 1000.0
    with pytest.raises(FetchError, match="nodes: nothing was heard") as raised:
        cluster._check(informer)
    assert raised.value.reason is Reason.TIMEOUT


async def test_a_read_while_nothing_is_followed_fails() -> None:
    """As for half a minute after a bug."""
    server: Any = object()
    idle = cluster.Cluster(server=server, clock=LoopClock(), wait_seconds=1)
    with pytest.raises(FetchError, match="nodes and pods are not followed at the moment") as raised:
        await idle.read([])
    assert raised.value.reason is Reason.INTERNAL
