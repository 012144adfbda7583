"""Series of source type Kubernetes, from present samples and a history."""

import json
from collections.abc import Sequence

import pytest

from dsf_agent.fetch.kubernetes import BATCH_POINTS, KubernetesSource
from dsf_agent.kubernetes.cluster import Labelled
from dsf_agent.kubernetes.history import History
from dsf_wire.measures import Selection
from dsf_wire.summary import Summary

NODES = [f"n{number}" for number in range(3)]
KEYS = [json.dumps({"__name__": "node_ready", "node": name}).encode() for name in NODES]


class Recorded:
    """A cluster whose samples and history are given."""

    def __init__(self, *, points: int, most_bytes: int = 4 << 20) -> None:
        self.past = History(step=10, seconds=100_000, most_bytes=most_bytes)
        for number in range(points):
            self.past.record([(key, number + 0.5) for key in KEYS], at=10.0 * number)

    async def read(self, _selections: Sequence[Selection]) -> list[Labelled]:
        return [(key, 1.0) for key in KEYS]

    def history(self, _name: str) -> History:
        return self.past


def source(cluster: Recorded, *, seconds: int) -> KubernetesSource:
    scorer = Summary(
        name="s",
        score_name="s",
        source_type="Kubernetes",
        source_query="node_ready",
        source_range=seconds,
        source_step=10,
    )
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
