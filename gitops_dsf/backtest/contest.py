"""What stays the same in all passes of one Placement: its candidates, its terms, and who triggers a pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import required_scores, without_score_predicates
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.prioritizers import score
from gitops_dsf.simulator.ranking import add_up
from gitops_dsf.simulator.weights import Prioritizer


@dataclass(frozen=True, kw_only=True)
class Contest:
    """One Placement of a backtest. Clusters are positions in the state, in order of name."""

    placement: Placement
    state: HubState
    members: tuple[int, ...]
    """Clusters of its sets. A write of a score that it ranks by, on one of them, triggers a pass."""
    candidates: tuple[int, ...]
    """Clusters that pass its filters at the start, in order of name. Predicates that read scores are left
    out.
    """
    terms: tuple[Prioritizer, ...]
    """Prioritizers that read scores."""
    fixed: tuple[Prioritizer, ...]
    """Prioritizers that read only the allocatable resources of the clusters."""
    constant: tuple[int, ...]
    """Their weighted sum, aligned with the candidates."""
    steady: int
    """Weight of Steady; 0 if there is none."""
    count: int | None
    """numberOfClusters."""
    required: tuple[tuple[str, str], ...]
    """Resource and item of the scores that a candidate must have to be eligible, whatever their age."""
    special: str
    """Why its passes depend on each other by more than Steady; empty if they do not."""
    undecided: str
    """Why OCM decides nothing; empty if it decides."""

    @property
    def key(self) -> str:
        """namespace/name."""
        return self.placement.key

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates."""
        return tuple(self.state.names[position] for position in self.candidates)

    def constant_of(self, clusters: Sequence[int]) -> tuple[int, ...]:
        """The weighted sum of the fixed prioritizers if only these clusters pass the filters: each cluster is
        compared with the others.
        """
        return _constant(self.fixed, self.placement, self.state, clusters)

    @property
    def total_weight(self) -> int:
        """Sum of the absolute weights of the terms. Dividing a sum by it gives score points."""
        return sum(abs(term.weight) for term in self.terms) or 1


def contest(placement: Placement, *, state: HubState, start: float) -> Contest:
    """Simulates one pass without scores, and keeps what no later pass changes."""
    required = required_scores(placement)
    verdict = simulate_placement(
        without_score_predicates(placement), state=state, now=datetime.fromtimestamp(start, UTC)
    )
    candidates = verdict.stages[-1].clusters if verdict.stages else ()
    used = tuple(item.prioritizer for item in verdict.prioritizers)
    fixed = tuple(item for item in used if (item.built_in or "").startswith("Resource"))
    return Contest(
        placement=placement,
        state=state,
        members=verdict.membership.clusters,
        candidates=candidates,
        terms=tuple(item for item in used if item.built_in is None),
        fixed=fixed,
        constant=_constant(fixed, placement, state, candidates),
        steady=sum(item.weight for item in used if item.built_in == "Steady"),
        count=placement.spec.number_of_clusters,
        required=required or (),
        special=_special(placement, state, used, verdict.membership.clusters),
        undecided=_undecided(verdict.outcome, verdict.status.failed, verdict.status.message),
    )


def _constant(
    fixed: Sequence[Prioritizer], placement: Placement, state: HubState, clusters: Sequence[int]
) -> tuple[int, ...]:
    # The time does not matter to them.
    start = datetime.fromtimestamp(0, UTC)
    results = [score(item, placement=placement, state=state, clusters=clusters, now=start) for item in fixed]
    return tuple(add_up(results, len(clusters)))


def _special(
    placement: Placement, state: HubState, used: Sequence[Prioritizer], members: Sequence[int]
) -> str:
    required = required_scores(placement)
    if required is None or not {resource for resource, _ in required} <= {item.resource for item in used}:
        return "a predicate reads scores"
    if any(item.built_in == "Balance" for item in used):
        return "Balance depends on the decisions of other Placements"
    if any(item.built_in == "Steady" and item.weight < 0 for item in used):
        return "Steady has a negative weight"
    for position in state.tainted.intersection(members):
        for taint in state.clusters[position].taints:
            if taint.effect == "NoSelectIfNew":
                return f"{state.names[position]} has a taint that depends on the decision"
            if any(each.toleration_seconds is not None for each in placement.spec.tolerations or ()):
                return f"a toleration of a taint of {state.names[position]} runs out"
    return ""


def _undecided(outcome: Outcome, failed: bool, message: str) -> str:
    if outcome is Outcome.SCHEDULED:
        return message if failed else ""
    return outcome.value
