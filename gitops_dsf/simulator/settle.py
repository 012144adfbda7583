"""Simulates many Placements until their decisions are stable."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.simulator.scheduler import simulate
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.verdict import Outcome, Verdict


def settle(
    state: HubState, placements: Iterable[str], now: datetime
) -> tuple[dict[str, Verdict], tuple[PlacementDecision, ...]]:
    """Simulates these Placements (`namespace/name`), and those that move once more from where they are then.
    Returns the last verdict of each, and the PlacementDecisions that they leave on the hub.
    """
    verdicts = {key: simulate(state, key, now) for key in placements}
    decisions = _written(verdicts, state.decisions.values())
    moved = [key for key, verdict in verdicts.items() if verdict.chosen != verdict.current]
    if moved:
        after = state.deciding(decisions)
        verdicts |= {key: simulate(after, key, now) for key in moved}
        decisions = _written(verdicts, after.decisions.values())
    return verdicts, decisions


def _written(
    verdicts: Mapping[str, Verdict], decisions: Iterable[PlacementDecision]
) -> tuple[PlacementDecision, ...]:
    """OCM writes PlacementDecisions by name, even over a decision of another Placement."""
    scheduled = {key for key, verdict in verdicts.items() if verdict.outcome is Outcome.SCHEDULED}
    left = (item for item in decisions if f"{item.metadata.namespace}/{item.placement}" not in scheduled)
    found = {(item.metadata.namespace or "", item.metadata.name): item for item in left}
    for key in sorted(scheduled):
        namespace, _, name = key.partition("/")
        for page in verdicts[key].decisions:
            found[namespace, page.name] = decision_of(
                namespace=namespace, name=page.name, placement=name, clusters=page.clusters
            )
    return tuple(found.values())
