"""The world's model of OCM's placement controller does what the real one does.

Sequences are played on the model and on the real program side by side, one step of each sequence
after the other. After each step both come to rest, and what they wrote is compared.
"""

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gitops_dsf.hub.times import timestamp_of
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.placements import (
    BINDING,
    CLUSTER_SET,
    DECISION,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_LABEL,
    SCORE,
    SET_LABEL,
    binding,
    builtin,
    cluster_set,
    clusters_in_set,
    clusters_of,
    exact,
    score_prioritizer,
)
from tests.hub.scenario.sides import Modelled, Real, Side, Step
from tests.world.apiserver import StoredChange
from tests.world.ocm import Informers, Scheduler

pytestmark = pytest.mark.family("kubernetes", "ocm")

NAMESPACE = "world-ocm"
CLUSTERS = {
    f"world-{letter}": {"env": env}
    for letter, env in zip("abcde", ("prod", "prod", "dev", "dev", "edge"), strict=True)
}
OUTSIDE = "world-outside"
"""A cluster that no set of the namespace has."""
SEQUENCES = 20
ROUNDS = 7
REST_SECONDS = 4.0
"""Virtual seconds after which the model has done what it does at once."""
HOLD_SECONDS = 0.5
"""For which the real program must stay with what it wrote."""
DISABLE = "cluster.open-cluster-management.io/experimental-scheduling-disable"
MAINTENANCE = {"key": "maintenance", "operator": "Exists"}


# What is compared.


def pages_of(side: Side) -> dict[str, Object]:
    """What all decisions say, by name."""
    found = {}
    for item in side.list(DECISION, namespace=NAMESPACE):
        owners = item["metadata"].get("ownerReferences") or []
        found[item["metadata"]["name"]] = {
            "clusters": sorted(clusters_of(item)),
            "labels": item["metadata"].get("labels") or {},
            "owners": [(one["kind"], one["name"], one.get("controller")) for one in owners],
        }
    return found


def placements_of(side: Side) -> dict[str, Object]:
    """What the status of all Placements says, by name."""
    found = {}
    for item in side.list(PLACEMENT, namespace=NAMESPACE):
        status = item.get("status") or {}
        found[item["metadata"]["name"]] = {
            "selected": status.get("numberOfSelectedClusters", 0),
            "groups": [
                {"decisionGroupName": "", **one} for one in status.get("decisionGroups") or []
            ],
            "conditions": sorted(
                (one["type"], one["status"], one["reason"], one["message"])
                for one in status.get("conditions") or []
            ),
        }
    return found


def shown(side: Side) -> dict[str, dict[str, Object]]:
    return {"decisions": pages_of(side), "placements": placements_of(side)}


def difference(
    wanted: dict[str, dict[str, Object]], found: dict[str, dict[str, Object]]
) -> dict[str, Any]:
    """By object: what the model says, and what the real program says."""
    return {
        f"{part} {name}": (wanted[part].get(name), found[part].get(name))
        for part in wanted
        for name in sorted(wanted[part].keys() | found[part].keys())
        if wanted[part].get(name) != found[part].get(name)
    }


# The two sides.


@dataclass
class Model(Modelled):
    """The model of the placement controller."""

    histories: dict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    """By page: what it said, one after another."""

    def __post_init__(self) -> None:
        super().__init__()
        self.informers = Informers(self.hub)
        self.scheduler = Scheduler(self.hub, informers=self.informers, seed=1)
        self.hub.changed.append(self._note)
        self.start(self.scheduler.run)

    def _note(self, change: StoredChange) -> None:
        if change.key[0] == "placementdecisions" and change.after is not None:
            noted(self.histories, change.after)


def noted(histories: dict[str, list[list[str]]], page: Object) -> None:
    """One version of a page, if it says something else than the one before."""
    history, clusters = histories[page["metadata"]["name"]], sorted(clusters_of(page))
    if history[-1:] != [clusters]:
        history.append(clusters)


@dataclass
class Pair:
    """Both sides with the same clusters."""

    model: Model
    real: Real
    since: str
    """The version of the hub with which it began."""

    def play(self, *steps: Step) -> None:
        """Plays steps on both sides, waits until both are at rest, and compares."""
        for step in steps:
            self.model.play(step)
        self.model.passing(REST_SECONDS)
        for step in steps:
            self.real.play(step)
        self.agrees("; ".join(map(str, steps)))

    def agrees(self, what: str) -> None:
        wanted = shown(self.model)

        def differs() -> dict[str, Any]:
            return difference(wanted, shown(self.real))

        wait_for(
            lambda: not differs(),
            what=f"OCM does what its model did after {what}",
            seen=differs,
        )
        hold_for(lambda: not differs(), what=f"OCM does no more after {what}", seconds=HOLD_SECONDS)

    def histories(self) -> dict[str, list[list[str]]]:
        """What the pages of the real controller said."""
        found: dict[str, list[list[str]]] = defaultdict(list)
        path = self.real.client.path(DECISION, namespace=NAMESPACE)
        for page in self.real.client.changes(path, since=self.since):
            noted(found, page)
        return found


@pytest.fixture(scope="module")
def fleet(control_plane: ControlPlane, hub: Client) -> Iterator[Client]:
    """Five clusters of a set, and one outside of it."""
    with (
        clusters_in_set(control_plane, NAMESPACE, CLUSTERS),
        clusters_in_set(control_plane, OUTSIDE, {OUTSIDE: {}}),
    ):
        yield hub


@pytest.fixture
def pair(fleet: Client) -> Iterator[Pair]:
    model = Model()
    for name in (NAMESPACE, OUTSIDE):
        for item in (cluster_set(name), binding(name, namespace=name)):
            model.play(created(item))
    for name, labels in CLUSTERS.items():
        model.play(
            created(
                manifest(MANAGED_CLUSTER, name, meta={"labels": {**labels, SET_LABEL: NAMESPACE}})
            )
        )
    model.play(created(manifest(MANAGED_CLUSTER, OUTSIDE, meta={"labels": {SET_LABEL: OUTSIDE}})))
    answer = fleet.request("GET", fleet.path(DECISION, namespace=NAMESPACE))
    pair = Pair(model, Real(fleet), answer["metadata"]["resourceVersion"])
    yield pair
    for item in fleet.list(PLACEMENT, namespace=NAMESPACE):
        fleet.delete(PLACEMENT, item["metadata"]["name"], namespace=NAMESPACE)
    for cluster in (*CLUSTERS, OUTSIDE):
        for score in fleet.list(SCORE, namespace=cluster):
            fleet.delete(SCORE, score["metadata"]["name"], namespace=cluster)
    wait_for(lambda: not fleet.list(DECISION, namespace=NAMESPACE), what="the decisions are gone")
    model.close()


def created(item: Object) -> Step:
    metadata = item["metadata"]
    return Step(
        verb="create",
        kind=f"{item['apiVersion']}/{item['kind']}",
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        body={key: value for key, value in item.items() if key not in {"apiVersion", "kind"}},
    )


# Sequences that a seed draws.


class Drawn:
    """A sequence: two Placements that are ranked by two scores of their own, and what happens to
    them.
    """

    def __init__(self, number: int) -> None:
        self.random = random.Random(f"{number} placements")
        self.score = f"seq-{number:02}"
        self.names = [f"{self.score}-{letter}" for letter in "ab"]
        self.there: set[str] = set()
        self.scored: set[tuple[str, str]] = set()

    def steps(self) -> Iterator[tuple[Step, ...]]:
        """By round. Each changes one thing."""
        for name in self.names:
            yield (self.placement(name),)
        for _ in range(ROUNDS - len(self.names)):
            yield self.random.choice(
                [
                    self.publishes,
                    self.publishes,
                    self.edits,
                    self.touches_placement,
                    self.touches_page,
                    self.leaves,
                ]
            )()

    def publishes(self) -> tuple[Step, ...]:
        """One score of one cluster, rarely of one that is not in the set, or of which the object
        goes.
        """
        cluster = self.random.choice([*CLUSTERS, *CLUSTERS, OUTSIDE])
        resource = self.random.choice([self.score, self.score, f"{self.score}-other"])
        place: Any = {"kind": SCORE, "name": resource, "namespace": cluster}
        if (cluster, resource) in self.scored and self.random.random() < 0.2:
            self.scored.remove((cluster, resource))
            return (Step(verb="delete", **place),)
        value = {"name": "free", "value": self.random.randint(-100, 100)}
        status = Step(verb="status", body={"scores": [value]}, **place)
        if (cluster, resource) in self.scored:
            return (status,)
        self.scored.add((cluster, resource))
        return Step(verb="create", **place), status

    def spec(self) -> Object:
        drawn = self.random
        prioritizers = [score_prioritizer(self.score, "free", weight=drawn.choice([1, 2, -1]))]
        if drawn.random() < 0.4:
            prioritizers.append(score_prioritizer(f"{self.score}-other", "free"))
        if drawn.random() < 0.5:
            prioritizers.append(builtin("Steady", weight=drawn.choice([1, 3])))
        spec: Object = {"prioritizerPolicy": exact(*prioritizers), "tolerations": []}
        spec["numberOfClusters"] = drawn.choice([0, 1, 1, 2, 3, None])
        env = drawn.choice([None, None, "prod", "dev", "nowhere"])
        chosen = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": env}}}}
        spec["predicates"] = [chosen] if env else []
        if drawn.random() < 0.3:
            spec["tolerations"] = [MAINTENANCE]
        spec["clusterSets"] = drawn.choice([[], [], [NAMESPACE], ["another"]])
        group = {
            "groupName": "canary",
            "groupClusterSelector": {"labelSelector": {"matchLabels": {"env": "dev"}}},
        }
        per_group = drawn.choice(["100%", "100%", 1, 2])
        strategy = {
            "clustersPerDecisionGroup": per_group,
            "decisionGroups": drawn.choice([[], [], [group]]),
        }
        spec["decisionStrategy"] = {"groupStrategy": strategy}
        return spec

    def placement(self, name: str) -> Step:
        self.there.add(name)
        spec = {key: value for key, value in self.spec().items() if value is not None}
        return self.step("create", PLACEMENT, name, {"spec": spec})

    def edits(self) -> tuple[Step, ...]:
        name = self.random.choice(self.names)
        return (
            self.step("merge", PLACEMENT, name, {"spec": self.spec()})
            if name in self.there
            else self.placement(name),
        )

    def touches_placement(self) -> tuple[Step, ...]:
        """An annotation, of which one disables scheduling, and another one does nothing."""
        name = self.random.choice(self.names)
        if name not in self.there:
            return ()
        annotations = self.random.choice(
            [{DISABLE: "true"}, {DISABLE: None}, {"people": str(self.random.random())}]
        )
        return (self.step("merge", PLACEMENT, name, {"metadata": {"annotations": annotations}}),)

    def touches_page(self) -> tuple[Step, ...]:
        """Somebody deletes the first page of a decision, edits it, or takes its label away."""
        name = self.random.choice(self.names)
        if name not in self.there:
            return ()
        page = f"{name}-decision-1"
        decisions = [
            {"clusterName": cluster, "reason": ""} for cluster in self.random.sample([*CLUSTERS], 2)
        ]
        return self.random.choice(
            [
                (self.step("delete", DECISION, page),),
                (self.step("status", DECISION, page, {"decisions": decisions}),),
                (
                    self.step(
                        "merge", DECISION, page, {"metadata": {"labels": {PLACEMENT_LABEL: None}}}
                    ),
                ),
            ]
        )

    def leaves(self) -> tuple[Step, ...]:
        name = self.random.choice(self.names)
        if name not in self.there:
            return (self.placement(name),)
        self.there.remove(name)
        return (self.step("delete", PLACEMENT, name),)

    def step(self, verb: str, kind: str, name: str, body: Object | None = None) -> Step:
        return step(verb, kind, name, **(body or {}))


def step(verb: str, kind: str, name: str, **body: Any) -> Step:
    """A step in the namespace of the Placements."""
    return Step(verb=verb, kind=kind, name=name, namespace=NAMESPACE, body=body)


def of_clusters() -> Iterator[tuple[Step, ...]]:
    """What happens to the clusters themselves, between the rounds of the sequences."""
    a, b, *_ = CLUSTERS

    def taints(cluster: str, *keys: str) -> tuple[Step, ...]:
        spec = {"taints": [{"key": key, "effect": "NoSelect"} for key in keys]}
        return (Step(verb="merge", kind=MANAGED_CLUSTER, name=cluster, body={"spec": spec}),)

    def labels(cluster: str, **changed: str | None) -> tuple[Step, ...]:
        return (
            Step(
                verb="merge",
                kind=MANAGED_CLUSTER,
                name=cluster,
                body={"metadata": {"labels": changed}},
            ),
        )

    yield ()
    yield taints(a, "maintenance")
    yield labels(b, env="dev")
    yield labels(b, **{SET_LABEL: None})
    yield taints(a)
    yield labels(b, **{SET_LABEL: NAMESPACE, "env": "prod"})
    yield ()


def test_the_placement_controller_does_what_its_model_does(pair: Pair) -> None:
    drawn = [list(Drawn(number).steps()) for number in range(SEQUENCES)]
    for steps, clusters in zip(zip(*drawn, strict=True), of_clusters(), strict=True):
        pair.play(*(step for mine in steps for step in mine))
        if clusters:
            pair.play(*clusters)
    assert pair.histories() == pair.model.histories


# Sequences that are written by hand, because time is a part of them.


def scored(cluster: str, score: str, value: int, **status: Any) -> tuple[Step, ...]:
    place: Any = {"kind": SCORE, "name": score, "namespace": cluster}
    scores = [{"name": "free", "value": value}]
    return Step(verb="create", **place), Step(
        verb="status", body={"scores": scores, **status}, **place
    )


def ranked_by(score: str, **spec: Any) -> Object:
    policy = exact(score_prioritizer(score, "free"))
    return {
        "numberOfClusters": 1,
        "tolerations": [],
        "predicates": [],
        "prioritizerPolicy": policy,
        **spec,
    }


def chosen_of(side: Side, name: str) -> list[str]:
    clusters: list[str] = pages_of(side)[f"{name}-decision-1"]["clusters"]
    return clusters


def test_a_score_that_expires_is_no_trigger(pair: Pair) -> None:
    """The decision stays as it was, until something else makes the controller look."""
    name = "expiring"
    pair.play(*scored("world-a", name, 10), step("create", PLACEMENT, name, spec=ranked_by(name)))
    assert chosen_of(pair.model, name) == ["world-a"]
    # OCM must decide within this time.
    seconds = 8
    best, until = scored("world-c", name, 90)
    pair.model.play(best)
    pair.model.play(replace(until, body=until.body | {"validUntil": pair.model.stamp(seconds + 5)}))
    pair.model.passing(REST_SECONDS)
    pair.real.play(best)
    end = int(time.time() + seconds)
    pair.real.play(replace(until, body=until.body | {"validUntil": timestamp_of(end)}))
    pair.agrees("a score that is valid for seconds")
    assert chosen_of(pair.model, name) == ["world-c"]
    pair.model.passing(seconds + 5.0)
    wait_for(lambda: time.time() > end + 1, what="the score has expired")
    pair.agrees("its end")
    assert chosen_of(pair.model, name) == ["world-c"]
    pair.play(step("merge", PLACEMENT, name, metadata={"annotations": {"look": "now"}}))
    assert chosen_of(pair.model, name) == ["world-a"]


def test_the_decision_of_another_placement_is_no_trigger(pair: Pair) -> None:
    """`Balance` reads the decisions of all Placements, and yet the controller does not look
    again.
    """
    balanced = ranked_by("none") | {"prioritizerPolicy": exact(builtin("Balance"))}
    pair.play(step("create", PLACEMENT, "balanced", spec=balanced))
    first = chosen_of(pair.model, "balanced")
    # The others are where the first one is, and nowhere else.
    others = ranked_by("crowd")
    steps = scored(first[0], "crowd", 90)
    pair.play(
        *steps, *(step("create", PLACEMENT, f"crowd-{number}", spec=others) for number in range(3))
    )
    assert [chosen_of(pair.model, f"crowd-{number}") for number in range(3)] == [first] * 3
    assert chosen_of(pair.model, "balanced") == first
    pair.play(step("merge", PLACEMENT, "balanced", metadata={"annotations": {"look": "now"}}))
    assert chosen_of(pair.model, "balanced") != first


def test_a_toleration_that_runs_out_is_a_trigger(pair: Pair) -> None:
    """Only for a cluster that the decision has."""
    name, seconds = "tolerant", 4
    toleration = {"key": "leaving", "operator": "Exists", "tolerationSeconds": seconds}
    spec = ranked_by(name, tolerations=[toleration])
    pair.play(*scored("world-a", name, 90), step("create", PLACEMENT, name, spec=spec))
    assert chosen_of(pair.model, name) == ["world-a"]
    taint: Object = {"key": "leaving", "effect": "NoSelect"}
    leaving = Step(
        verb="merge", kind=MANAGED_CLUSTER, name="world-a", body={"spec": {"taints": [taint]}}
    )
    timed = {"spec": {"taints": [{**taint, "timeAdded": pair.model.stamp(0)}]}}
    pair.model.play(replace(leaving, body=timed))
    pair.model.passing(1.0)
    pair.real.play(leaving)
    assert chosen_of(pair.model, name) == ["world-a"]
    pair.model.passing(seconds + REST_SECONDS)
    pair.agrees("the end of a toleration")
    assert chosen_of(pair.model, name) != ["world-a"]
    pair.play(replace(leaving, body={"spec": {"taints": None}}))


MANY = 104


def test_a_decision_of_more_than_a_hundred_clusters_has_two_pages(pair: Pair, hub: Client) -> None:
    """They are written one after another, and the second one goes when nothing is left for it."""
    name, members = "pages", "world-pages"
    names = [f"{members}-{number:03}" for number in range(MANY)]
    spec = ranked_by(
        name, clusterSets=[members], numberOfClusters=None, tolerations=[{"operator": "Exists"}]
    )
    del spec["numberOfClusters"]
    few = names[:8]

    def labelled(value: str | None) -> list[Step]:
        body = {"metadata": {"labels": {SET_LABEL: value}}}
        return [Step(verb="merge", kind=MANAGED_CLUSTER, name=each, body=body) for each in few]

    try:
        pair.play(created(cluster_set(members)), created(binding(members, namespace=NAMESPACE)))
        fleet = [
            manifest(MANAGED_CLUSTER, each, meta={"labels": {SET_LABEL: members}}) for each in names
        ]
        pair.play(*(created({**item, "spec": {"hubAcceptsClient": False}}) for item in fleet))
        pair.play(step("create", PLACEMENT, name, spec=spec))
        assert [len(page["clusters"]) for page in pages_of(pair.model).values()] == [100, 4]
        pair.play(step("delete", DECISION, f"{name}-decision-2"))
        pair.play(*labelled("nowhere"))
        assert [len(page["clusters"]) for page in pages_of(pair.model).values()] == [96]
        pair.play(*labelled(members))
        assert [len(page["clusters"]) for page in pages_of(pair.model).values()] == [100, 4]
    finally:
        for each in names:
            hub.delete(MANAGED_CLUSTER, each)
        hub.delete(BINDING, members, namespace=NAMESPACE)
        hub.delete(CLUSTER_SET, members)

        def left() -> set[str]:
            return {item["metadata"]["name"] for item in hub.list(MANAGED_CLUSTER)} & {*names}

        wait_for(lambda: not left(), what="OCM let the clusters go", seen=left)
