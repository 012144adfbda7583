"""Computes the PlacementDecisions after the controller's pass (scheduling_controller.go: bind)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.objects import Placement
from gitops_dsf.simulator.groups import DecisionObject
from gitops_dsf.simulator.prioritizers import selector_error
from gitops_dsf.simulator.state import HubState


def bind(
    placement: Placement, decisions: Iterable[DecisionObject], state: HubState
) -> Mapping[str, tuple[str, ...]]:
    """Returns every PlacementDecision of the Placement's namespace after the pass, with its clusters.

    Decisions are written by name, even over a decision of another Placement. Then decisions with the
    Placement's label that were not written are deleted. If the Placement's name is not a label value, the
    pass ends before the deletion.
    """
    namespace, name = placement.metadata.namespace or "", placement.metadata.name
    after = dict(state.decisions_in.get(namespace, {}))
    written = {decision.name: decision.clusters for decision in decisions}
    after.update(written)
    if selector_error(placement) is None:
        for decision in state.decisions_of.get((namespace, name), ()):
            if decision.metadata.name not in written:
                after.pop(decision.metadata.name)
    return after
