"""The simulator against the verdicts of OCM's own scheduler and controller, field by field.

On random hubs it is compared with OCM's Schedule(): CEL, taints with times, resources, mistakes of
all kinds.

Compared as tests/data/oracle/placement/README.md says: filters as sets, prioritizers as a multiset,
everything else exactly. Not comparable, because Go's map order decides there: the order of clusters
in a warning, which of two warnings remains, and which prioritizers ran before one of them failed.
"""

import gzip
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from gitops_dsf.simulator import Outcome, Verdict, simulate
from tests.unit.simulator.hub import ORACLE, Scenario, documents, oracle, plain

WARNING, ERROR = 1, 2
IGNORED = {"name"}


@cache
def judged() -> list[tuple[Scenario, Verdict]]:
    scenarios = [*oracle("edge"), *oracle("random")]
    return [(scenario, scenario.simulate()) for scenario in scenarios]


def differences(want: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """One readable line per field that differs."""
    lines = []
    for field in sorted(want.keys() - IGNORED):
        left, right = _comparable(field, want), _comparable(field, got)
        if left != right:
            lines.append(f"{field}:\n    OCM says       {left}\n    simulator says {right}")
    lines.extend(
        f"{field}: OCM says nothing, the simulator says {got[field]}"
        for field in ("requeue", "syncError", "panic")
        if field in got and field not in want
    )
    return lines


def _comparable(field: str, verdict: Mapping[str, Any]) -> Any:
    value = verdict.get(field)
    if value is None:
        return None
    if field == "filters":
        return {found["name"]: sorted(found["filteredClusters"]) for found in value}
    if field == "prioritizers":
        if verdict["statusCode"] == ERROR:
            return "those that happened to run before the failing one"
        return sorted(json.dumps(found, sort_keys=True) for found in value)
    if field in ("statusMessage", "syncError") and verdict["statusCode"] == WARNING:
        return "AddOnPlacementScores ... expired" if value.endswith(" expired") else value
    return value


def test_agrees_with_ocm() -> None:
    """Every field of the real verdict is found again."""
    found = [
        f"{scenario.name} differs in {line}"
        for scenario, verdict in judged()
        for line in differences(scenario.verdict, plain(verdict))
    ]
    assert not found, "\n  ".join(found)


def test_warning_names_the_expired_scores() -> None:
    """Where one prioritizer warns, the message names the very scores that OCM's names, in any
    order.
    """
    compared = 0
    for scenario, verdict in judged():
        if scenario.verdict.get("statusCode") != WARNING:
            continue
        if sum(result.status.code == WARNING for result in verdict.prioritizers) == 1:
            compared += 1
            assert sorted(verdict.status.message.split()) == sorted(
                scenario.verdict["statusMessage"].split()
            )
    assert compared > 50


def test_clusters_dropped_have_a_reason() -> None:
    """Every candidate is either left after all filters or has a reason."""
    for _, verdict in judged():
        if verdict.filters and not verdict.status.failed:
            left = set(list(verdict.filters.values())[-1])
            assert set(verdict.candidates) - left == set(verdict.dropped)
            assert all(drop.reason for drop in verdict.dropped.values())


def verdict_of(scenario: Mapping[str, Any]) -> Verdict:
    objects = documents({**scenario, "clusterSets": scenario["sets"]})
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
        "prioritizers": sorted(
            data["prioritizers"], key=lambda found: json.dumps(found, sort_keys=True)
        )
        or None,
        "scores": data["scores"],
        "ranked": data["ranked"],
        "unscheduled": data["unscheduled"],
        "statusCode": data["statusCode"],
        "requeue": "requeueAt" in data,
    }


def scheduled_differences(case: Mapping[str, Any]) -> list[str]:
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
    cases = map(
        msgspec.json.decode,
        gzip.decompress((ORACLE / "scheduler.jsonl.gz").read_bytes()).splitlines(),
    )
    found = {
        number: lines for number, case in enumerate(cases) if (lines := scheduled_differences(case))
    }
    assert not found, "\n  ".join(
        f"{number} differs in {line}" for number in found for line in found[number]
    )
