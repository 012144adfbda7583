"""A story of 250 writes of scores.

The backtest decides what the real placement controller decided, write by write.

After each write a beat follows: a score that makes a Placement of its own change its decision. OCM
has one worker, so when that decision has changed, the write before it has been handled.
"""

import random
import time
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.run import run
from gitops_dsf.backtest.track import ABSENT, Track
from gitops_dsf.simulator import HubState
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import MAX_WAIT_SECONDS
from tests.hub.scenario.placements import (
    BINDING,
    CLUSTER_SET,
    DECISION,
    MANAGED_CLUSTER,
    PLACEMENT,
    builtin,
    clusters_in_set,
    clusters_of,
    exact,
    placement,
    publish,
    score_prioritizer,
)

pytestmark = pytest.mark.family("kubernetes", "ocm")

STEPS: Final = 250
NAMESPACE: Final = "backtest"
NAMES: Final = tuple(f"back-{letter}" for letter in "abcdef")
CPU, NET, BEAT = "back-cpu", "back-net", "back-beat"
GRID: Final = TimeGrid(start=1_700_000_000, step=60, count=STEPS + 1)
EXISTS: Final = f'managedCluster.scores("{NET}").exists(score, score.name == "net")'


def _rank(*, cpu: int, net: int = 0, steady: int = 0) -> Object:
    terms = [score_prioritizer(CPU, "cpu", weight=cpu)] if cpu else []
    terms += [score_prioritizer(NET, "net", weight=net)] if net else []
    return exact(*terms, *([builtin("Steady", weight=steady)] if steady else []))


PLACEMENTS: Final[Mapping[str, Object]] = {
    "nervous": {"numberOfClusters": 1, "prioritizerPolicy": _rank(cpu=1)},
    "sticky": {"numberOfClusters": 1, "prioritizerPolicy": _rank(cpu=5, steady=1)},
    "two-of-six": {"numberOfClusters": 2, "prioritizerPolicy": _rank(cpu=3, net=-2, steady=1)},
    "three-of-six": {"numberOfClusters": 3, "prioritizerPolicy": _rank(cpu=1, net=1)},
    "must-have-a-score": {
        "numberOfClusters": 2,
        "prioritizerPolicy": _rank(cpu=2, net=1, steady=1),
        "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [EXISTS]}}}],
    },
}


@dataclass(frozen=True, kw_only=True)
class Write:
    cluster: str
    resource: str
    item: str
    value: int | None
    """None: the object has no such item any more."""


def _story() -> list[Write]:
    """Random walks with ties, jumps, and items that go and come back."""
    rng = random.Random(20)
    values = {(name, resource): 50 for name in NAMES for resource in (CPU, NET)}
    found = []
    for _ in range(STEPS):
        key = rng.choice(sorted(values))
        step = rng.choice([-30, -10, -3, -1, 0, 1, 3, 10, 30])
        values[key] = max(-100, min(100, values[key] + step))
        gone = rng.random() < 0.05
        found.append(
            Write(
                cluster=key[0],
                resource=key[1],
                item="cpu" if key[1] == CPU else "net",
                value=None if gone else values[key],
            )
        )
    return found


@pytest.fixture(scope="module")
def fleet(control_plane: ControlPlane, hub: Client) -> Iterator[Client]:
    with clusters_in_set(control_plane, NAMESPACE, {name: {} for name in NAMES}):
        for name in NAMES:
            publish(hub, name, CPU, {"cpu": 50})
            publish(hub, name, NET, {"net": 50})
            publish(hub, name, BEAT, {"beat": 0})
        for name, spec in PLACEMENTS.items():
            hub.apply(placement(name, namespace=NAMESPACE, **spec))
        beat = {"numberOfClusters": 1, "prioritizerPolicy": exact(score_prioritizer(BEAT, "beat"))}
        hub.apply(placement("beat", namespace=NAMESPACE, **beat))
        yield hub


Decisions = dict[str, tuple[str, ...]]
"""The clusters of each Placement, sorted."""


def _decisions(hub: Client) -> Decisions:
    found: dict[str, list[str]] = {}
    for page in hub.list(DECISION, namespace=NAMESPACE):
        [owner] = page["metadata"]["ownerReferences"]
        found.setdefault(owner["name"], []).extend(clusters_of(page))
    return {name: tuple(sorted(clusters)) for name, clusters in found.items()}


def _handled(hub: Client, number: int, ours: Decisions) -> None:
    """Waits until the beat of a step has been handled, and the other Placements have these
    decisions. OCM may meet a conflict with its own last write, and then decides after the beat.
    """
    first, second = NAMES[:2]
    publish(hub, first, BEAT, {"beat": 10 if number % 2 else -10})
    expected = {**ours, "beat": (first if number % 2 else second,)}
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while (real := _decisions(hub)) != expected:
        assert time.monotonic() < deadline, (
            f"step {number}: OCM decides {real}, the backtest {expected}"
        )
        time.sleep(0.005)


def test_many_writes(fleet: Client) -> None:
    story = _story()
    kinds = (MANAGED_CLUSTER, CLUSTER_SET, BINDING, PLACEMENT)
    state = HubState.build([item for kind in kinds for item in fleet.list(kind)])
    placements = [state.placement(f"{NAMESPACE}/{name}") for name in PLACEMENTS]
    found = run(placements, state=state, tracks=_tracks(story), grid=GRID)
    assert all(not item.special for item in found.placements.values()), "all are decided at once"
    decided = {
        name: {each.number: each.clusters for each in found.lines[f"{NAMESPACE}/{name}"].decided}
        for name in PLACEMENTS
    }
    ours: Decisions = {}
    for number, write in enumerate([None, *story]):
        if write is not None:
            items = {} if write.value is None else {write.item: write.value}
            publish(fleet, write.cluster, write.resource, items)
        ours |= {name: each[number] for name, each in decided.items() if number in each}
        _handled(fleet, number, ours)
    assert sum(map(len, decided.values())) > 40, "the story has many moves"


def _tracks(story: list[Write]) -> dict[str, dict[str, Track]]:
    """The same writes as an agent would have made them."""
    found = {
        resource: {
            name: Track(ttl=1e9, at=array("d", [GRID.start]), values={item: array("b", [50])})
            for name in NAMES
        }
        for resource, item in ((CPU, "cpu"), (NET, "net"))
    }
    for number, write in enumerate(story, 1):
        track = found[write.resource][write.cluster]
        track.at.append(GRID.at(number))
        track.values[write.item].append(ABSENT if write.value is None else write.value)
    return found
