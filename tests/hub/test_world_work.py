"""What the world expects on a cluster of its ManifestWorks is what OCM's work agent does there."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.world.spokes import applied

pytestmark = pytest.mark.family("kubernetes", "ocm")

CLUSTER, NAMESPACE = "cluster1", "world-work"
WORK, MAP = "work.open-cluster-management.io/v1/ManifestWork", "v1/ConfigMap"
SEQUENCES, ROUNDS = 20, 8
HOLD_SECONDS = 0.5


@dataclass
class Sequence:
    """What happens to one ManifestWork and its ConfigMaps, which the seed draws."""

    number: int
    work: Object | None = None
    """As it is on the hub."""
    texts: dict[str, str] = field(default_factory=dict)
    """The text in each of its ConfigMaps."""

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.number} work")
        self.name = f"world-work-{self.number:02}"

    @property
    def maps(self) -> list[str]:
        """The names of all ConfigMaps that it may ever have."""
        return [f"{self.name}-{letter}" for letter in "ab"]

    def step(self, hub: Client, spoke: Client) -> str:
        """One change. Returns which."""
        what = self._random.choice(
            ["change", "change", "other maps", "edit", "delete on the cluster", "delete"]
        )
        if self.work is None or what in {"change", "other maps"}:
            return self._write(hub, "create" if self.work is None else what)
        if what == "delete":
            hub.delete(WORK, self.name, namespace=CLUSTER)
            self.work, self.texts = None, {}
            return what
        # The work agent looks at what people do on the cluster at its next look at the work.
        name = self._random.choice(sorted(self.texts))
        if what == "edit":
            spoke.patch(MAP, name, {"data": {"summaries": "edited"}}, namespace=NAMESPACE)
        else:
            spoke.delete(MAP, name, namespace=NAMESPACE)
        return f"{what}, {self._write(hub, 'change')}"

    def _write(self, hub: Client, what: str) -> str:
        if what != "change":
            some = self._random.choice([self.maps, self.maps[:1], self.maps[1:]])
            self.texts = {name: self.texts.get(name, "") for name in some}
        self.texts = {name: str(self._random.randint(0, 999)) for name in self.texts}
        manifests = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "data": {"summaries": text},
            }
            for name, text in self.texts.items()
        ]
        spec = {"workload": {"manifests": manifests}}
        self.work = manifest(WORK, self.name, namespace=CLUSTER, spec=spec)
        if what == "create":
            hub.create(self.work)
        else:
            hub.patch(WORK, self.name, {"spec": spec}, namespace=CLUSTER)
        return what


@dataclass(frozen=True, kw_only=True)
class Both:
    hub: Client
    spoke: Client
    sequences: list[Sequence]

    def differs(self) -> dict[str, Any]:
        """The ConfigMaps that are not as the world expects: what is expected, and what is there."""
        wanted = {
            name: item["data"]["summaries"]
            for one in self.sequences
            for (_, name), item in applied([] if one.work is None else [one.work]).items()
        }
        here = {
            item["metadata"]["name"]: item.get("data", {}).get("summaries")
            for item in self.spoke.list(MAP, namespace=NAMESPACE)
        }
        names = [name for one in self.sequences for name in one.maps]
        # A work that is being deleted is in the way of the next one with its name.
        works = {item["metadata"]["name"] for item in self.hub.list(WORK, namespace=CLUSTER)}
        wanted |= {one.name: "" for one in self.sequences if one.work is not None}
        here |= dict.fromkeys(works, "")
        names += [one.name for one in self.sequences]
        return {
            name: (wanted.get(name), here.get(name))
            for name in names
            if wanted.get(name) != here.get(name)
        }


@pytest.fixture
def both(control_plane: ControlPlane) -> Iterator[Both]:
    hub, spoke = control_plane.hub.admin, control_plane.spokes[CLUSTER].admin
    spoke.apply(manifest("v1/Namespace", NAMESPACE))
    yield Both(hub=hub, spoke=spoke, sequences=[Sequence(number) for number in range(SEQUENCES)])
    for work in hub.list(WORK, namespace=CLUSTER):
        if work["metadata"]["name"].startswith(NAMESPACE):
            hub.delete(WORK, work["metadata"]["name"], namespace=CLUSTER)
    wait_for(
        lambda: (
            not [
                work
                for work in hub.list(WORK, namespace=CLUSTER)
                if work["metadata"]["name"].startswith(NAMESPACE)
            ]
        ),
        what="the works are gone",
    )
    spoke.delete("v1/Namespace", NAMESPACE)


def test_sequences_of_changes(both: Both) -> None:
    told: set[str] = set()
    for _ in range(ROUNDS):
        steps = [one.step(both.hub, both.spoke) for one in both.sequences]
        told.update(steps)
        agreed = "the work agent did what the world expects"
        wait_for(lambda: not both.differs(), what=f"{agreed}: {steps}", seen=both.differs)
        hold_for(lambda: not both.differs(), what=agreed, seconds=HOLD_SECONDS)
    assert {"create", "change", "other maps", "delete"} <= told, told
    assert {"edit, change", "delete on the cluster, change"} <= told, told
