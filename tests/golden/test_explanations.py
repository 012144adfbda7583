"""What the simulator says of the oracle's edge cases, word for word: notes, dropped clusters, explanations.

`make golden` writes what it says now; review the diff.
"""

from functools import cache
from pathlib import Path

import pytest

from gitops_dsf.simulator import explain
from tests.unit.simulator.hub import Scenario, oracle

GOLDEN = Path(__file__).parent / "explanations.txt"
SCENARIOS = {scenario.name: scenario for scenario in oracle("edge")}
MOST = 5
"""Clusters of a scenario that are explained."""


@cache
def read() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    title = ""
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            title = line[2:]
            sections[title] = []
        elif line:
            sections[title].append(line)
    return sections


def said(scenario: Scenario) -> list[str]:
    verdict = scenario.simulate()
    lines = [f"{verdict.outcome}: {note}" for note in verdict.notes or ("no notes",)]
    for name in verdict.state.names[:MOST]:
        found = explain(verdict, name)
        lines.append(f"{name} is {'in' if found.selected else 'out'}: {found.reason}")
        lines += [f"    {part.name}: {part.note}" for part in found.contributions if part.note]
        lines += [f"    {flip}" for flip in found.flips]
    lines += [f"not noticed: {change}" for change in verdict.looks_again.unnoticed]
    return [line for text in lines for line in text.splitlines() if line]


def test_the_file_has_every_scenario(update_golden: bool) -> None:
    if update_golden:
        lines = [line for name, found in SCENARIOS.items() for line in (f"# {name}", *said(found), "")]
        GOLDEN.write_text("\n".join(lines), encoding="utf-8")
        read.cache_clear()
    assert list(read()) == list(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_said_about_a_scenario(name: str) -> None:
    assert said(SCENARIOS[name]) == read().get(name), "the texts changed: review them, then run `make golden`"
