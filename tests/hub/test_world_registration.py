"""The world's model of OCM's registration does what the real controllers do.

The condition and the taint of a cluster that is lost and returns.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.plane import MANAGED_CLUSTER, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_there
from tests.hub.scenario.placements import clusters_in_set
from tests.hub.scenario.sides import Modelled, Real, Side, Step
from tests.world.ocm import Registration

pytestmark = pytest.mark.family("kubernetes", "ocm")

SEQUENCES, ROUNDS = 20, 6
SET = "world-registration"
TIMED = f"{SET}-timed"
"""Is there to see how long a Lease lasts."""
NAMES = [f"{SET}-{number:02}" for number in range(SEQUENCES)]
AVAILABLE = "ManagedClusterConditionAvailable"
UNREACHABLE = "cluster.open-cluster-management.io/unreachable"
LEASE = "coordination.k8s.io/v1/Lease"
LEASE_NAME = "managed-cluster-lease"
HOLD_SECONDS = 0.5
REST_SECONDS = 2.0
"""Virtual seconds after which the model has done what it does at once."""
LOST_SECONDS = 400.0
"""Virtual seconds after which it has seen that a cluster is lost, or is back."""


def said(side: Side, names: list[str]) -> dict[str, Any]:
    """Of each cluster: its condition, its taints, and which taints have a time."""
    found = {}
    for name in names:
        item = side.find(MANAGED_CLUSTER, name)
        assert item is not None
        conditions = {one["type"]: one for one in item["status"]["conditions"]}
        available = conditions.get(AVAILABLE, {})
        taints = item["spec"].get("taints") or []
        found[name] = (
            available.get("status"),
            available.get("reason") if available.get("status") == "Unknown" else "",
            sorted((one["key"], one.get("value", ""), one["effect"]) for one in taints),
            all("timeAdded" in one for one in taints if one["key"] == UNREACHABLE),
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Event:
    """What happens to a cluster."""

    what: str
    """`lost`, `back`, or `taints`: somebody writes all taints anew."""
    cluster: str
    taints: tuple[tuple[str, str, str], ...] = ()

    @property
    def step(self) -> Step:
        taints = [
            {"key": key, "effect": effect, **({"value": value} if value else {})}
            for key, value, effect in self.taints
        ]
        # Never the key that is there already: the webhook wants the time of that.
        return Step(
            verb="merge", kind=MANAGED_CLUSTER, name=self.cluster, body={"spec": {"taints": taints}}
        )


def sequence(name: str) -> Iterator[Event]:
    drawn = random.Random(f"{name} registration")
    lost = False
    for number in range(ROUNDS):
        kind = (
            "lost"
            if number == 0 and drawn.random() < 0.5
            else drawn.choice(["turn", "turn", "taints"])
        )
        if kind == "taints":
            taint = (
                f"people.example.com/{number}",
                drawn.choice(["", "x"]),
                drawn.choice(["NoSelect", "PreferNoSelect"]),
            )
            yield Event(what="taints", cluster=name, taints=drawn.choice([(), (taint,)]))
        else:
            lost = not lost
            yield Event(what="lost" if lost else "back", cluster=name)


class Both:
    """Both sides."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane, self.hub = plane, plane.hub.admin
        self.real, self.model = Real(self.hub), Modelled()
        self.registration = self.model.during(lambda: Registration(self.model.hub, seed=1))
        for name in NAMES:
            self.model.during(lambda name=name: self.registration.join(name))  # type: ignore[misc]
        self.model.passing(REST_SECONDS)

    def play(self, *events: Event) -> None:
        for event in events:
            match event.what:
                case "lost":
                    self.model.during(lambda name=event.cluster: self.registration.lose(name))  # type: ignore[misc]
                    self.renew(event.cluster, at=time.time() - LOST_SECONDS)
                case "back":
                    self.model.during(lambda name=event.cluster: self.registration.find(name))  # type: ignore[misc]
                    # What the agent does.
                    self.renew(event.cluster, at=time.time())
                    self.plane.set_available(event.cluster, "True")
                case _:
                    self.model.play(event.step)
                    self.real.play(event.step)
        self.model.passing(LOST_SECONDS)
        wanted = said(self.model, NAMES)

        def differs() -> dict[str, Any]:
            found = said(self.real, NAMES)
            return {
                name: (wanted[name], found[name]) for name in NAMES if wanted[name] != found[name]
            }

        agreed = "registration does what its model did"
        wait_for(lambda: not differs(), what=agreed, seen=differs)
        hold_for(lambda: not differs(), what=agreed, seconds=HOLD_SECONDS)

    def renew(self, name: str, *, at: float) -> None:
        """The Lease was renewed at this time for the last time."""
        moment = datetime.fromtimestamp(at).astimezone().isoformat(timespec="microseconds")
        self.hub.patch(LEASE, LEASE_NAME, {"spec": {"renewTime": moment}}, namespace=name)


@pytest.fixture(scope="module")
def both(control_plane: ControlPlane) -> Iterator[Both]:
    names = [*NAMES, TIMED]
    with clusters_in_set(control_plane, SET, {name: {} for name in names}):
        hub = control_plane.hub.admin
        for name in names:
            wait_until_there(hub, LEASE, LEASE_NAME, namespace=name)
            # As where an agent registers a cluster.
            hub.patch(MANAGED_CLUSTER, name, {"spec": {"leaseDurationSeconds": 60}})
        both = Both(control_plane)
        yield both
        both.model.close()


def test_the_controllers_do_what_their_model_does(both: Both) -> None:
    for events in zip(*(sequence(name) for name in NAMES), strict=True):
        both.play(*events)


def test_the_condition_follows_the_lease_to_the_second(both: Both, hub: Client) -> None:
    """After five times its duration, which is 60 s unless somebody changes it.

    The model assumes 300 s since a renewal that was up to a minute ago.
    """
    name = TIMED
    renewed = time.time()
    both.renew(name, at=renewed)
    hub.patch(MANAGED_CLUSTER, name, {"spec": {"leaseDurationSeconds": 1}})

    def unknown() -> Object | None:
        conditions = hub.get(MANAGED_CLUSTER, name)["status"]["conditions"]
        return next(
            (one for one in conditions if one["type"] == AVAILABLE and one["status"] == "Unknown"),
            None,
        )

    found = wait_for(unknown, what=f"{name} is unavailable")
    since = datetime.fromisoformat(found["lastTransitionTime"]).timestamp()
    assert 4 <= since - renewed < 30
    waited = []
    for seed in range(20):
        model = Modelled()
        registration = model.during(partial(Registration, model.hub, seed=seed))
        model.during(lambda: registration.join(name))  # noqa: B023 - it is called at once
        begin = model.loop.time()
        model.during(lambda: registration.lose(name))  # noqa: B023 - it is called at once
        while said(model, [name])[name][0] != "Unknown":
            model.passing(1.0)
        waited.append(model.loop.time() - begin)
        model.close()
    assert 240 <= min(waited) < max(waited) <= 301
