"""The simulator against OCM's Schedule() on random hubs: CEL, taints with times, resources, mistakes of all
kinds.

The verdicts are what the Go function returned. Messages are compared where no Go library words them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from gitops_dsf.simulator import Outcome, Verdict, simulate
from tests.unit.simulator.hub import ORACLE, plain

KINDS = {
    "placement": "Placement",
    "clusters": "ManagedCluster",
    "sets": "ManagedClusterSet",
    "bindings": "ManagedClusterSetBinding",
    "scores": "AddOnPlacementScore",
    "decisions": "PlacementDecision",
}
CASES: list[dict[str, Any]] = [
    msgspec.json.decode(line)
    for line in gzip.decompress((ORACLE / "scheduler.jsonl.gz").read_bytes()).decode().splitlines()
]
ERROR = 2
"""Which prioritizers ran before the failing one is Go's map order."""


def verdict_of(scenario: Mapping[str, Any]) -> Verdict:
    objects = []
    for part, kind in KINDS.items():
        found = [scenario[part]] if part == "placement" else scenario[part]
        objects += [{"kind": kind, **document} for document in found]
    return simulate(objects, f"ns/{scenario['placement']['metadata']['name']}", scenario["now"])


def shown(verdict: Verdict) -> dict[str, Any]:
    """The simulator's verdict in the shape of the oracle's."""
    if verdict.panic is not None:
        return {"panic": verdict.panic}
    if verdict.outcome is Outcome.FAILED:
        return {"err": verdict.sync_error}
    data = plain(verdict)
    return {
        "clusterSets": data["clusterSets"],
        "filters": data["filters"],
        "prioritizers": sorted(data["prioritizers"], key=lambda found: json.dumps(found, sort_keys=True))
        or None,
        "scores": data["scores"],
        "ranked": data["ranked"],
        "unscheduled": data["unscheduled"],
        "statusCode": data["statusCode"],
        "requeue": "requeueAt" in data,
    }


def differences(case: Mapping[str, Any]) -> list[str]:
    """A text for each field of the verdict that is another one."""
    want = {key: value for key, value in case["verdict"].items() if key != "statusMessage"}
    got = shown(verdict_of(case["scenario"]))
    if want.get("prioritizers") == []:
        want["prioritizers"] = None
    if want.get("statusCode") == ERROR:
        want.pop("prioritizers")
        got.pop("prioritizers")
    return [
        f"{key}:\n    OCM says       {want.get(key)}\n    simulator says {got.get(key)}"
        for key in sorted(want.keys() | got.keys())
        if want.get(key) != got.get(key)
    ]


def test_agrees_with_schedule() -> None:
    """Every field that Schedule() returns."""
    found = {number: lines for number, case in enumerate(CASES) if (lines := differences(case))}
    assert not found, "\n  ".join(f"{number} differs in {line}" for number in found for line in found[number])
