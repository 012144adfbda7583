"""When the handover of a move is done, and what it costs to judge many.

`tests/integration/reconciler/pacing/test_handovers.py` shows it with the controller.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

import pytest

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.pacing.ledger import LedgerMove, Phase
from gitops_dsf.reconciler.pacing.handovers import Handovers

NOW = 10_000.0

Value = TypeVar("Value")


class Counted(Mapping[str, Value]):
    """Objects of the hub that count how many of them somebody walks past."""

    def __init__(self, objects: Mapping[str, Value]) -> None:
        self._objects = objects
        self.visits = 0

    def __getitem__(self, name: str) -> Value:
        return self._objects[name]

    def __iter__(self) -> Iterator[str]:
        for name in self._objects:
            self.visits += 1
            yield name

    def __len__(self) -> int:
        return len(self._objects)


def move_of(name: str) -> LedgerMove:
    return LedgerMove(
        placement=f"argocd/{name}",
        source="c1",
        target="c2",
        since=NOW - 60,
        phase=Phase.HANDOVER,
        phase_since=NOW - 50,
    )


def following_set(name: str, *placements: str) -> ApplicationSet:
    return ApplicationSet(name=name, uid=f"uid-{name}", placements=frozenset(placements))


def cluster(name: str) -> ManagedCluster:
    return ManagedCluster(metadata=Metadata(name=name))


def healthy_copy(name: str) -> ArgoApplication:
    return ArgoApplication(
        name=f"{name}-c2",
        uid=f"copy-{name}-c2",
        cluster="c2",
        owner_uid=f"uid-{name}",
        health="Healthy",
        sync="Synced",
    )


@pytest.mark.parametrize("count", [2, 20])
def test_the_objects_of_the_hub_are_walked_once_for_all_handovers(count: int) -> None:
    """Of all applications only the last one has no copy on the new cluster yet."""
    names = [f"app-{number}" for number in range(20)]
    sets = Counted({name: following_set(name, name) for name in names})
    copies = Counted({name: healthy_copy(name) for name in names[:-1]})
    clusters = Counted({"c1": cluster("c1"), "c2": cluster("c2")})
    handovers = Handovers(sets=sets, applications=copies, clusters=clusters, now=NOW)
    done = [handovers.is_done(move_of(name)) for name in names[-count:]]
    assert done == [True] * (count - 1) + [False]
    assert (sets.visits, copies.visits, clusters.visits) == (20, 19, 2)


def test_each_set_that_follows_must_be_done() -> None:
    """Two ApplicationSets follow one Placement, and one of them follows another one, too."""
    sets = {
        "web": following_set("web", "a", "b"),
        "api": following_set("api", "a"),
    }
    web = {"web": healthy_copy("web")}
    both = {**web, "api": healthy_copy("api")}
    first = Handovers(sets=sets, applications=web, clusters={}, now=NOW)
    assert [first.is_done(move_of(name)) for name in ("a", "b", "c")] == [False, True, True]
    second = Handovers(sets=sets, applications=both, clusters={}, now=NOW)
    assert second.is_done(move_of("a"))
