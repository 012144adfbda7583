"""What the simulator says of the oracle's edge cases, word for word.

Notes, dropped clusters, explanations.

`make golden` writes what it says now; review the diff.
"""

from pathlib import Path

from gitops_dsf.simulator import explain
from tests.support.goldentext import GoldenText
from tests.unit.simulator.hub import oracle

SCENARIOS = {scenario.name: scenario for scenario in oracle("edge")}
MAX_CLUSTERS = 5
"""Clusters of a scenario that are explained."""


def said(scenario: str) -> list[str]:
    verdict = SCENARIOS[scenario].simulate()
    lines = [f"{verdict.outcome}: {note}" for note in verdict.notes or ("no notes",)]
    for name in verdict.state.names[:MAX_CLUSTERS]:
        found = explain(verdict, name)
        lines.append(f"{name} is {'in' if found.selected else 'out'}: {found.reason}")
        lines += [f"    {part.name}: {part.note}" for part in found.contributions if part.note]
        lines += [f"    {flip}" for flip in found.flips]
    return [line for text in lines for line in text.splitlines() if line]


GOLDEN = GoldenText(Path(__file__).parent / "explanations.txt", SCENARIOS, said)


def test_the_file_has_every_scenario(update_golden: bool) -> None:
    GOLDEN.check_cases(update=update_golden)


def test_what_is_said_about_the_scenarios(update_golden: bool) -> None:
    GOLDEN.check(*SCENARIOS, update=update_golden)
