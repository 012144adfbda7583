"""The simulator says beforehand what the real placement controller then decides.

Decisions, labels, conditions, first and second pass.

Each test reads the hub, lets the simulator predict, makes the change, and compares with what OCM
wrote. No test depends on another: a prediction starts from whatever is on the hub.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.placements import (
    BINDING,
    CLUSTER_SET,
    DECISION,
    MANAGED_CLUSTER,
    PLACEMENT,
    SCORE,
    SET_LABEL,
    binding,
    builtin,
    cluster_set,
    clusters_in_set,
    clusters_of,
    exact,
    placement,
    publish,
    score_prioritizer,
)
from tests.unit.simulator.hub import plain

pytestmark = pytest.mark.family("kubernetes", "ocm")

NAMESPACE = "agree"
UNBOUND = "agree-unbound"
LOAD = "agree-load"
KINDS = (MANAGED_CLUSTER, CLUSTER_SET, BINDING, SCORE, DECISION, PLACEMENT)
NAMES = tuple(f"agree-{letter}" for letter in "abcdefgh")
CPU = score_prioritizer(LOAD, "cpu")
GPU = score_prioritizer(LOAD, "gpu")
STEADY = builtin("Steady")


def selector(**labels: str) -> Object:
    return {"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}


def expression(key: str, operator: str, *values: str, where: str = "labelSelector") -> Object:
    wanted: Object = {
        "key": key,
        "operator": operator,
        **({"values": list(values)} if values else {}),
    }
    return {"requiredClusterSelector": {where: {"matchExpressions": [wanted]}}}


def cel(*expressions: str) -> Object:
    return {"requiredClusterSelector": {"celSelector": {"celExpressions": list(expressions)}}}


def grouped(*groups: tuple[str, dict[str, str]], per_group: int | str | None = None) -> Object:
    strategy: Object = {
        "decisionGroups": [
            {"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": labels}}}
            for name, labels in groups
        ]
    }
    if per_group is not None:
        strategy["clustersPerDecisionGroup"] = per_group
    return {"groupStrategy": strategy}


def tolerating(key: str, **more: Any) -> Object:
    return {"key": key, "operator": "Exists", **more}


MAINTENANCE = tolerating("maintenance")
CASES: dict[str, Object] = {
    "everything-by-default": {},
    "best-cpu": {"numberOfClusters": 1, "prioritizerPolicy": exact(CPU)},
    "best-three": {
        "numberOfClusters": 3,
        "prioritizerPolicy": exact(CPU),
        "tolerations": [MAINTENANCE],
    },
    "lowest-cpu": {
        "numberOfClusters": 2,
        "prioritizerPolicy": exact(score_prioritizer(LOAD, "cpu", weight=-1)),
    },
    "missing-beats-negative": {"numberOfClusters": 2, "prioritizerPolicy": exact(GPU)},
    "two-scores": {
        "numberOfClusters": 2,
        "prioritizerPolicy": exact(score_prioritizer(LOAD, "cpu", weight=3), GPU),
    },
    "listed-twice": {
        "numberOfClusters": 2,
        "prioritizerPolicy": exact(CPU, CPU, score_prioritizer(LOAD, "gpu", weight=2)),
    },
    "expired-score": {
        "numberOfClusters": 1,
        "prioritizerPolicy": exact(score_prioritizer("agree-old", "cpu")),
    },
    "sticky": {
        "numberOfClusters": 2,
        "prioritizerPolicy": exact(score_prioritizer(LOAD, "cpu", weight=5), STEADY),
    },
    "balanced": {"numberOfClusters": 3, "prioritizerPolicy": exact(builtin("Balance"))},
    "additive": {
        "numberOfClusters": 3,
        "prioritizerPolicy": {"mode": "Additive", "configurations": [CPU]},
    },
    "cpu-capacity": {
        "numberOfClusters": 3,
        "prioritizerPolicy": exact(builtin("ResourceAllocatableCPU")),
    },
    "nothing": {"numberOfClusters": 0},
    "by-label": {"predicates": [selector(env="prod")]},
    "either": {"predicates": [selector(env="edge"), expression("region", "In", "us", "ap")]},
    "by-claim": {
        "predicates": [expression("id.k8s.io", "In", "agree-a", "agree-c", where="claimSelector")]
    },
    "cel-score": {
        "predicates": [
            cel(f'managedCluster.scores("{LOAD}").exists(s, s.name == "cpu" && s.value >= 40)')
        ]
    },
    "cel-expired-score": {"predicates": [cel('managedCluster.scores("agree-old").size() > 0')]},
    "cel-does-not-compile": {"predicates": [cel("managedCluster.metadata.labels[")]},
    "tolerates-all": {"tolerations": [{"operator": "Exists"}]},
    "tolerates-by-value": {
        "tolerations": [{"key": "maintenance", "operator": "Equal", "value": "planned"}]
    },
    "tolerated-too-short": {"tolerations": [tolerating("maintenance", tolerationSeconds=0)]},
    "bad-toleration": {"tolerations": [{"operator": "Equal", "value": "x"}]},
    "groups": {
        "decisionStrategy": grouped(("canary", {"env": "edge"}), ("europe", {"region": "eu"}))
    },
    "groups-of-two": {"decisionStrategy": grouped(("production", {"env": "prod"}), per_group=2)},
    "groups-quoted": {"decisionStrategy": grouped(per_group="5")},
    "one-set": {"clusterSets": ["agree-europe"]},
    "set-not-bound": {"clusterSets": ["default"]},
    "wrong-mode": {"prioritizerPolicy": {"mode": "exact", "configurations": [CPU]}},
    "spread": {"prioritizerPolicy": exact(builtin("Spread"))},
}
TOO_LONG = "a" * 64


@dataclass(frozen=True, kw_only=True)
class ObservedDecisions:
    """What OCM wrote, in the terms of a verdict."""

    decisions: dict[str, list[str]]
    labels: dict[str, dict[str, str]]
    groups: list[Object]
    satisfied: tuple[str, str] | None
    misconfigured: tuple[str, str] | None


@pytest.fixture(scope="module")
def fleet(control_plane: ControlPlane, hub: Client) -> Iterator[Client]:
    """Eight clusters that differ in labels, taints, scores and capacity."""
    labels = {
        name: {"env": env, "region": region}
        for name, env, region in zip(
            NAMES,
            ("prod", "prod", "prod", "edge", "edge", "dev", "dev", "prod"),
            ("eu", "us", "ap", "eu", "us", "eu", "eu", "us"),
            strict=True,
        )
    }
    for name in (NAMESPACE, UNBOUND):
        hub.apply(manifest("v1/Namespace", name))
    with clusters_in_set(control_plane, NAMESPACE, labels):
        hub.apply(
            cluster_set("agree-europe", {"matchLabels": {SET_LABEL: NAMESPACE, "region": "eu"}})
        )
        hub.apply(binding("agree-europe", namespace=NAMESPACE))
        for name, cpu in zip(NAMES, (55, 90, -20, 40, 39, 71, 71), strict=False):
            # agree-h publishes nothing; only the prod clusters have a GPU, and it is busy.
            publish(
                hub,
                name,
                LOAD,
                {"cpu": cpu, **({"gpu": -cpu - 1} if labels[name]["env"] == "prod" else {})},
            )
        publish(hub, "agree-f", "agree-old", {"cpu": 100}, seconds=-3600)
        publish(hub, "agree-e", "agree-old", {"cpu": 10})
        for name, cores in zip(NAMES, ("4", "7500m", "16", "16", "1", "64"), strict=False):
            capacity = {"cpu": cores, "memory": f"{cores.removesuffix('m')}Gi"}
            whole = {"cpu": "64", "memory": "8000Gi"}
            hub.patch_status(MANAGED_CLUSTER, name, {"capacity": whole, "allocatable": capacity})
        taint(hub, "agree-b", "maintenance", effect="NoSelect", value="planned")
        taint(hub, "agree-g", "degraded", effect="PreferNoSelect")
        yield hub
        hub.delete(BINDING, "agree-europe", namespace=NAMESPACE)
        hub.delete(CLUSTER_SET, "agree-europe")
        for name in [item["metadata"]["name"] for item in hub.list(PLACEMENT, namespace=UNBOUND)]:
            hub.delete(PLACEMENT, name, namespace=UNBOUND)


@pytest.fixture
def several(fleet: Client) -> Iterator[Callable[[str], list[str]]]:
    """Makes several Placements for a test that changes clusters or scores.

    They go with it, and OCM comes to rest: it looks at all other Placements of the fleet, too, and
    one that balances depends on what it finds there.
    """
    made: list[str] = []

    def create(prefix: str) -> list[str]:
        made.extend(create_several(fleet, prefix))
        return made

    yield create
    for name in made:
        fleet.delete(PLACEMENT, name, namespace=NAMESPACE)
    at_rest(fleet)


@pytest.mark.parametrize("name", CASES)
def test_a_new_placement_is_decided_as_predicted(fleet: Client, name: str) -> None:
    body = placement(name, namespace=NAMESPACE, **CASES[name])
    predicted = beforehand(fleet, body)
    assert predicted.outcome is Outcome.SCHEDULED
    fleet.create(body)
    agrees(fleet, predicted)
    # Its own decisions are there now: a second pass of the simulator changes nothing, as OCM's own
    # second pass did not.
    again = simulate(observed(fleet), f"{NAMESPACE}/{name}")
    assert expected(again) == expected(predicted)


def test_a_name_too_long_for_a_label_is_never_decided(fleet: Client) -> None:
    """The simulator names the error.

    OCM ends its pass on it before it writes anything, so that not even a condition tells people.
    """
    body = placement(TOO_LONG, namespace=NAMESPACE, numberOfClusters=1)
    predicted = beforehand(fleet, body)
    assert predicted.sync_error is not None
    assert "must be no more than 63" in predicted.sync_error
    fleet.create(body)
    nothing = ObservedDecisions(
        decisions={}, labels={}, groups=[], satisfied=None, misconfigured=None
    )
    hold_for(
        lambda: seen(fleet, [predicted.placement])[predicted.placement] == nothing,
        what="OCM writes nothing",
        seconds=2,
    )
    fleet.delete(PLACEMENT, TOO_LONG, namespace=NAMESPACE)  # or it is retried for ever


def test_without_a_binding_nothing_is_decided_as_predicted(fleet: Client) -> None:
    body = placement("unbound", namespace=UNBOUND)
    predicted = beforehand(fleet, body)
    assert predicted.satisfied is not None
    assert predicted.satisfied.reason == "NoManagedClusterSetBindings"
    fleet.create(body)
    agrees(fleet, predicted)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("best-cpu", "lowest-cpu"),
        ("sticky", "best-three"),
        ("best-three", "wrong-mode"),
        ("by-label", "groups"),
        ("groups-of-two", "groups-quoted"),
        ("tolerates-all", "everything-by-default"),
        ("everything-by-default", "cel-does-not-compile"),
        ("everything-by-default", "balanced"),
        ("groups", "nothing"),
    ],
)
def test_an_edited_placement_is_decided_as_predicted(
    fleet: Client, before: str, after: str
) -> None:
    name = f"{before}-to-{after}"
    body = placement(name, namespace=NAMESPACE, **CASES[before])
    first = beforehand(fleet, body)
    fleet.create(body)
    agrees(fleet, first)
    objects = observed(fleet)
    objects.remove(one_of(objects, "Placement", (NAMESPACE, name)))
    objects.append(replaced(fleet, name, CASES[after], dry_run=True))
    predicted = simulate(objects, f"{NAMESPACE}/{name}")
    assert expected(predicted) != expected(first), (
        "the edit must change something, or it shows nothing"
    )
    replaced(fleet, name, CASES[after], dry_run=False)
    agrees(fleet, predicted)


def test_a_changed_score_is_followed_as_predicted(
    fleet: Client, several: Callable[[str], list[str]]
) -> None:
    names = several("score")
    before = {
        cluster: scores_of(fleet.get(SCORE, LOAD, namespace=cluster))
        for cluster in ("agree-a", "agree-c", "agree-f")
    }
    # One change at a time: two would be two passes, and with Steady the first decides where the
    # second starts.
    moved = 0
    try:
        for cluster, cpu in (("agree-c", 99), ("agree-a", 60), ("agree-f", 5), ("agree-c", -100)):
            objects = observed(fleet)
            changed = one_of(objects, "AddOnPlacementScore", (cluster, LOAD))
            others = [score for score in changed["status"]["scores"] if score["name"] != "cpu"]
            changed["status"]["scores"] = [{"name": "cpu", "value": cpu}, *others]
            verdicts = [simulate(objects, f"{NAMESPACE}/{name}") for name in names]
            publish(fleet, cluster, LOAD, scores_of(changed))
            agrees(fleet, *verdicts)
            moved += sum(verdict.current != verdict.chosen for verdict in verdicts)
    finally:
        for cluster, scores in before.items():
            publish(fleet, cluster, LOAD, scores)
    assert moved >= 6, "the changes must move something, or they show nothing"


def test_a_new_taint_is_followed_as_predicted(
    fleet: Client, several: Callable[[str], list[str]]
) -> None:
    names = several("taint")
    try:
        for key_, effect in (("draining", "NoSelectIfNew"), ("gone", "NoSelect")):
            objects = observed(fleet)
            added = {"key": key_, "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}
            spec = one_of(objects, "ManagedCluster", ("", "agree-d"))["spec"]
            spec["taints"] = [*spec.get("taints", []), added]
            verdicts = [simulate(objects, f"{NAMESPACE}/{name}") for name in names]
            taint(fleet, "agree-d", key_, effect=effect)
            agrees(fleet, *verdicts)
            evicted = sum("agree-d" in verdict.evicted for verdict in verdicts)
            assert (evicted == 0) == (effect == "NoSelectIfNew")
    finally:
        for key_ in ("draining", "gone"):
            taint(fleet, "agree-d", key_, effect=None)


def create_several(fleet: Client, prefix: str) -> list[str]:
    """Placements that do not look at the decisions of others (Balance), so that the order of their
    passes plays no part.
    """
    scored = (
        "best-cpu",
        "best-three",
        "lowest-cpu",
        "two-scores",
        "sticky",
        "missing-beats-negative",
    )
    chosen = (*scored, "listed-twice", "by-label")
    names = [f"{prefix}-{case}" for case in chosen]
    for name, case in zip(names, chosen, strict=True):
        fleet.create(placement(name, namespace=NAMESPACE, **CASES[case]))

    def fixed() -> bool:
        """Each has a decision that a further pass would not change."""
        objects = HubState.build(observed(fleet))
        verdicts = [simulate(objects, f"{NAMESPACE}/{name}") for name in names]
        found = seen(fleet, [verdict.placement for verdict in verdicts])
        return all(found[verdict.placement] == expected(verdict) for verdict in verdicts)

    wait_for(fixed, what=f"OCM decided {names}")
    return names


def scores_of(item: Object) -> dict[str, int]:
    return {score["name"]: score["value"] for score in item["status"]["scores"]}


def at_rest(fleet: Client) -> None:
    """Wait until OCM has written nothing about the fleet's Placements for two seconds."""
    written: dict[tuple[str, str, str], Any] | None = None
    since = time.monotonic()

    def look() -> bool:
        nonlocal written, since
        found = {
            (kind, *key(item)): item["metadata"]["resourceVersion"]
            for kind in (PLACEMENT, DECISION)
            for item in fleet.list(kind)
        }
        if found != written:
            written, since = found, time.monotonic()
        return time.monotonic() - since >= 2

    wait_for(look, what="OCM is at rest")


def agrees(fleet: Client, *verdicts: Verdict) -> None:
    """Wait until OCM shows what the verdicts say, and that it stays so."""
    wanted = {verdict.placement: expected(verdict) for verdict in verdicts}

    def difference() -> dict[str, tuple[ObservedDecisions, ObservedDecisions]]:
        """What was predicted, and what OCM wrote, where it is something else."""
        found = seen(fleet, wanted)
        return {
            name: (verdict, found[name])
            for name, verdict in wanted.items()
            if found[name] != verdict
        }

    wait_for(lambda: not difference(), what="OCM decides as predicted", seen=difference)
    hold_for(lambda: not difference(), what="OCM goes on deciding as predicted", seconds=0.2)


def expected(verdict: Verdict) -> ObservedDecisions:
    name = verdict.placement.partition("/")[2]
    written = {decision.name: decision for decision in verdict.decisions}
    after = {
        page: list(clusters)
        for page, clusters in verdict.after.items()
        if page.startswith(f"{name}-decision-")
    }
    conditions = [
        None if one is None else (str(one.status), one.reason)
        for one in (verdict.satisfied, verdict.misconfigured)
    ]
    return ObservedDecisions(
        decisions=after,
        labels={page: dict(written[page].labels) for page in after},
        groups=plain(verdict)["groups"] or [],
        satisfied=conditions[0],
        misconfigured=conditions[1],
    )


def seen(fleet: Client, names: Iterable[str]) -> dict[str, ObservedDecisions]:
    """By `namespace/name`."""
    every = {"/".join(key(item)): item for item in fleet.list(DECISION)}
    placements = {"/".join(key(item)): item for item in fleet.list(PLACEMENT)}
    found = {}
    for name in names:
        pages = {
            item["metadata"]["name"]: item
            for path, item in every.items()
            if path.startswith(f"{name}-decision-")
        }
        status = placements[name].get("status", {})
        conditions = {
            one["type"]: (one["status"], one["reason"]) for one in status.get("conditions") or []
        }
        found[name] = ObservedDecisions(
            decisions={page: clusters_of(item) for page, item in pages.items()},
            labels={page: item["metadata"]["labels"] for page, item in pages.items()},
            groups=[
                {"decisionGroupName": "", **group} for group in status.get("decisionGroups") or []
            ],
            satisfied=conditions.get("PlacementSatisfied"),
            misconfigured=conditions.get("PlacementMisconfigured"),
        )
    return found


def observed(fleet: Client) -> list[Object]:
    """The hub's objects as the API server returns them in lists, each with its kind."""
    return [
        {"apiVersion": kind.rpartition("/")[0], "kind": kind.rpartition("/")[2], **item}
        for kind in KINDS
        for item in fleet.list(kind)
    ]


def one_of(objects: list[Object], kind: str, name: tuple[str, str]) -> Object:
    return next(item for item in objects if item["kind"] == kind and key(item) == name)


def beforehand(fleet: Client, body: Object) -> Verdict:
    """The verdict about a new Placement, as the API server would store it with its defaults."""
    return simulate([*observed(fleet), fleet.create(body, dry_run=True)], "/".join(key(body)))


def replaced(fleet: Client, name: str, spec: Object, *, dry_run: bool) -> Object:
    """The whole spec anew, as `kubectl replace` does."""
    current = fleet.get(PLACEMENT, name, namespace=NAMESPACE)
    path = fleet.path(PLACEMENT, name, namespace=NAMESPACE)
    parameters = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
    return fleet.request("PUT", path, body={**current, "spec": spec}, parameters=parameters)


def taint(fleet: Client, cluster: str, key_: str, *, effect: str | None, value: str = "") -> None:
    """Add a taint by hand, or take it away when there is no effect."""
    current = fleet.get(MANAGED_CLUSTER, cluster)["spec"].get("taints", [])
    others = [one for one in current if one["key"] != key_]
    added = (
        []
        if effect is None
        else [{"key": key_, "effect": effect, **({"value": value} if value else {})}]
    )
    fleet.patch(MANAGED_CLUSTER, cluster, {"spec": {"taints": [*others, *added]}})


def key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
