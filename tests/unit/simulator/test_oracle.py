"""The simulator against the verdicts of OCM's own scheduler and controller, field by field.

Compared as tests/data/oracle/placement/README.md says: filters as sets, prioritizers as a multiset,
everything else exactly. Not comparable, because Go's map order decides there: the order of clusters in a
warning, which of two warnings remains, and which prioritizers ran before one of them failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from gitops_dsf.simulator import Verdict
from tests.unit.simulator.hub import Scenario, oracle, plain

SCENARIOS = [*oracle("edge"), *oracle("random")]
WARNING, ERROR = 1, 2
IGNORED = {"name"}


@cache
def judged() -> list[tuple[Scenario, Verdict]]:
    return [(scenario, scenario.simulate()) for scenario in SCENARIOS]


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
    """Where one prioritizer warns, the message names the very scores that OCM's names, in any order."""
    compared = 0
    for scenario, verdict in judged():
        if scenario.verdict.get("statusCode") != WARNING:
            continue
        if sum(result.status.code == WARNING for result in verdict.prioritizers) == 1:
            compared += 1
            assert sorted(verdict.status.message.split()) == sorted(scenario.verdict["statusMessage"].split())
    assert compared > 50


def test_clusters_dropped_have_a_reason() -> None:
    """Every candidate is either left after all filters or has a reason."""
    for _, verdict in judged():
        if verdict.filters and not verdict.status.failed:
            left = set(list(verdict.filters.values())[-1])
            assert set(verdict.candidates) - left == set(verdict.dropped)
            assert all(drop.reason for drop in verdict.dropped.values())
