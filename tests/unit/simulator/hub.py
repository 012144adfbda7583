"""Small hubs for the simulator's tests: dicts as the API server would return them."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.simulator import Explanation, Verdict, simulate
from gitops_dsf.simulator.cel.cluster_view import cluster_view

Object = dict[str, Any]
GROUP = "cluster.open-cluster-management.io"
NOW = "2026-06-01T00:00:00Z"
ORACLE = Path(__file__).parents[2] / "data" / "oracle" / "placement"
KINDS = {
    "placement": "Placement",
    "clusters": "ManagedCluster",
    "clusterSets": "ManagedClusterSet",
    "bindings": "ManagedClusterSetBinding",
    "scores": "AddOnPlacementScore",
    "decisions": "PlacementDecision",
}


def viewed(document: Object) -> Object:
    """A ManagedCluster as CEL sees it."""
    metadata = {"name": "c", **document.get("metadata", {})}
    return cluster_view(msgspec.convert({**document, "metadata": metadata}, ManagedCluster))


def plain(found: Verdict | Explanation) -> Object:
    """JSON data as programs read it."""
    printed = found.data() if isinstance(found, Verdict) else found
    decoded: Object = msgspec.json.decode(msgspec.json.encode(printed))
    return decoded


@dataclass(frozen=True)
class Scenario:
    """One scenario of the oracle with the verdict of the real scheduler."""

    name: str
    objects: tuple[Object, ...]
    placement: str
    now: str
    verdict: Mapping[str, Any]

    def simulate(self) -> Verdict:
        return simulate(self.objects, self.placement, self.now)


def documents(scenario: Mapping[str, Any]) -> list[Object]:
    """The objects of a scenario."""
    return [
        {"apiVersion": f"{GROUP}/v1", "kind": kind, **document}
        for part, kind in KINDS.items()
        for document in ([scenario[part]] if part == "placement" else scenario[part])
    ]


def oracle(family: str) -> Iterator[Scenario]:
    """The scenarios of `edge` or `random`."""
    files = [ORACLE / f"{family}.{part}.jsonl.gz" for part in ("scenarios", "verdicts")]
    with gzip.open(files[0], "rt") as scenarios, gzip.open(files[1], "rt") as verdicts:
        for scenario, verdict in zip(
            map(msgspec.json.decode, scenarios), map(msgspec.json.decode, verdicts), strict=True
        ):
            metadata = scenario["placement"]["metadata"]
            yield Scenario(
                scenario["name"],
                tuple(documents(scenario)),
                f"{metadata['namespace']}/{metadata['name']}",
                scenario.get("now", NOW),
                verdict,
            )


def cluster(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Object] = (),
    status: Object | None = None,
    metadata: Object | None = None,
) -> Object:
    return {
        "kind": "ManagedCluster",
        "metadata": {
            "name": name,
            "labels": {f"{GROUP}/clusterset": "s1", **(labels or {})},
            **(metadata or {}),
        },
        "spec": {"hubAcceptsClient": True, "taints": list(taints)},
        "status": status or {},
    }


def score(
    cluster_name: str, resource: str = "r", *, until: str | None = None, **values: int
) -> Object:
    status: Object = {"scores": [{"name": name, "value": value} for name, value in values.items()]}
    if until:
        status["validUntil"] = until
    return {
        "kind": "AddOnPlacementScore",
        "metadata": {"name": resource, "namespace": cluster_name},
        "status": status,
    }


def decision(
    *clusters: str, name: str = "p-decision-1", namespace: str = "ns", placement: str = "p"
) -> Object:
    return {
        "kind": "PlacementDecision",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {f"{GROUP}/placement": placement},
        },
        "status": {"decisions": [{"clusterName": found, "reason": ""} for found in clusters]},
    }


def placement(**spec: Any) -> Object:
    return {"kind": "Placement", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


def exact(*weights: tuple[str, int]) -> Object:
    """A policy of mode Exact; names with a slash are resource/score, others built-in."""
    configurations = []
    for name, weight in weights:
        resource, slash, item = name.partition("/")
        coordinate: Object = (
            {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": item}}
            if slash
            else {"type": "BuiltIn", "builtIn": name}
        )
        configurations.append({"scoreCoordinate": coordinate, "weight": weight})
    return {"mode": "Exact", "configurations": configurations}


def cel(*expressions: str) -> list[Object]:
    return [{"requiredClusterSelector": {"celSelector": {"celExpressions": list(expressions)}}}]


def hub(*objects: Object) -> list[Object]:
    """The objects with a ManagedClusterSet s1 that is bound to namespace ns."""
    return [
        {
            "kind": "ManagedClusterSet",
            "metadata": {"name": "s1"},
            "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        },
        {
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "s1", "namespace": "ns"},
            "spec": {"clusterSet": "s1"},
        },
        *objects,
    ]


def run(*objects: Object, now: str = NOW) -> Verdict:
    """Simulates ns/p on a hub of these objects."""
    return simulate(hub(*objects), "ns/p", now)
