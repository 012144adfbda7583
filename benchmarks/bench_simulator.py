"""How long the simulator takes: `python -m benchmarks.bench_simulator`.

Targets: 5,000 clusters with 5 prioritizers at most 0.05 s per Placement, 1,000 Placements on 2,000 clusters
at most 6 s with explain data. The floor is sorting the same clusters by a key that is already there; the
ratio to it is more stable across machines than the seconds. Exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from gitops_dsf.simulator import HubState, explain, margins, simulate

NOW = "2026-06-01T00:00:00Z"
GROUP = "cluster.open-cluster-management.io"
REGIONS = ("eu", "us", "ap")
TIERS = ("dev", "test", "prod")


def hub(clusters: int, placements: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """A hub with one set, three scores a cluster and earlier decisions; Placements differ in selector and
    weights.
    """
    rng = random.Random(seed)
    objects: list[dict[str, Any]] = [
        {"kind": "ManagedClusterSet", "metadata": {"name": "fleet"}, "spec": {"clusterSelector": {}}},
        {
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "fleet", "namespace": "apps"},
            "spec": {"clusterSet": "fleet"},
        },
    ]
    names = [f"cluster-{number:05}" for number in range(clusters)]
    rng.shuffle(names)
    for name in names:
        objects.append(cluster(name, rng))
        objects.extend(score(name, resource, rng) for resource in ("cpu-score", "cost-score", "power-score"))
    for number in range(placements):
        objects.append(placement(number, rng))
        objects.append(decision(number, rng.sample(names, 3)))
    return objects


def cluster(name: str, rng: random.Random) -> dict[str, Any]:
    resources = {"cpu": str(rng.randint(4, 256)), "memory": f"{rng.randint(16, 2048)}Gi"}
    taint = {"key": f"{GROUP}/unreachable", "effect": "NoSelect", "timeAdded": "2026-05-31T23:00:00Z"}
    return {
        "kind": "ManagedCluster",
        "metadata": {
            "name": name,
            "labels": {
                f"{GROUP}/clusterset": "fleet",
                "region": rng.choice(REGIONS),
                "tier": rng.choice(TIERS),
                "gpu": rng.choice(("true", "false")),
            },
        },
        "spec": {"hubAcceptsClient": True, "taints": [taint] if rng.random() < 0.02 else []},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "clusterClaims": [
                {"name": "platform.open-cluster-management.io", "value": rng.choice(("AWS", "GCP"))}
            ],
        },
    }


def score(name: str, resource: str, rng: random.Random) -> dict[str, Any]:
    return {
        "kind": "AddOnPlacementScore",
        "metadata": {"name": resource, "namespace": name},
        "status": {
            "scores": [{"name": "cluster", "value": rng.randint(-100, 100)}],
            "validUntil": "2026-06-01T01:00:00Z",
        },
    }


def placement(number: int, rng: random.Random) -> dict[str, Any]:
    def addon(resource: str) -> dict[str, Any]:
        coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": "cluster"}}
        return {"scoreCoordinate": coordinate, "weight": rng.choice((1, 2, 5, -3))}

    def built_in(name: str) -> dict[str, Any]:
        return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": 1}

    return {
        "kind": "Placement",
        "metadata": {"name": f"app-{number}", "namespace": "apps"},
        "spec": {
            "numberOfClusters": rng.randint(1, 10),
            "predicates": []
            if number == 0
            else [
                {
                    "requiredClusterSelector": {
                        "labelSelector": {"matchLabels": {"region": rng.choice(REGIONS)}}
                    }
                }
            ],
            "prioritizerPolicy": {
                "mode": "Exact",
                "configurations": [
                    addon("cpu-score"),
                    addon("cost-score"),
                    addon("power-score"),
                    built_in("Steady"),
                    built_in("ResourceAllocatableCPU" if number % 2 else "Balance"),
                ],
            },
        },
    }


def decision(number: int, names: list[str]) -> dict[str, Any]:
    return {
        "kind": "PlacementDecision",
        "metadata": {
            "name": f"app-{number}-decision-1",
            "namespace": "apps",
            "labels": {f"{GROUP}/placement": f"app-{number}"},
        },
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in names]},
    }


def measured(call: Callable[[], object], repeats: int) -> float:
    """Median seconds of a call."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def many(state: HubState, placements: int) -> int:
    """Every Placement with its explain data: margins of all clusters, and why the best and the next one are
    where they are.
    """
    explained = 0
    for number in range(placements):
        verdict = simulate(state, f"apps/app-{number}", NOW)
        close = margins(verdict)
        for name in (verdict.ranked[-1], min(close, key=close.__getitem__)):
            explained += explain(verdict, name).rank is not None
    return explained


def floor(state: HubState) -> object:
    """The least a ranking costs: sorting by a key that is there."""
    key = dict(zip(state.names, range(len(state.names)), strict=True))
    return sorted(state.names, key=lambda name: (key[name] * 7919 % 1009, name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the sizes, for a quick look")
    scale = parser.parse_args().scale
    one, fleet, count = int(5000 * scale), int(2000 * scale), int(1000 * scale)
    documents = hub(one, 1)
    build = measured(lambda: HubState.build(documents), 3)
    state = HubState.build(documents)
    first = measured(lambda: simulate(HubState.build(documents), "apps/app-0", NOW), 3) - build
    single = measured(lambda: simulate(state, "apps/app-0", NOW).ranked, 9)
    full = measured(lambda: simulate(state, "apps/app-0", NOW).to_dict(), 5)
    base = measured(lambda: floor(state), 9)
    crowd = HubState.build(hub(fleet, count))
    total = measured(lambda: many(crowd, count), 1)
    rows = (
        (f"read a hub: {one} clusters, {3 * one} scores", build, None),
        ("first Placement on it (indexes are built)", first, None),
        (f"a Placement, {one} clusters, 5 prioritizers", single, 0.05 * scale),
        ("the same with its verdict as JSON data", full, None),
        ("floor: sorting those clusters by a known key", base, None),
        (f"{count} Placements, {fleet} clusters, explain data", total, 6.0 * scale * scale),
    )
    print(f"{'what':<52}{'seconds':>10}{'target':>10}{'ratio':>8}")
    for what, seconds, target in rows:
        limit = f"{target:.3f}" if target is not None else ""
        print(f"{what:<52}{seconds:>10.4f}{limit:>10}{seconds / base:>8.1f}")
    return int(any(target is not None and seconds > target for _, seconds, target in rows))


if __name__ == "__main__":
    sys.exit(main())
