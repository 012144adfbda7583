"""What all passes of one Placement share (candidates, terms, triggers), and when OCM sees expired scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import required_scores, without_score_predicates
from gitops_dsf.hub.points import mean_weight
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.prioritizers import Prioritizer, score
from gitops_dsf.simulator.ranking import add_up


@dataclass(frozen=True, kw_only=True)
class PreparedPlacement:
    """One Placement of a backtest. Clusters are positions in the state, in order of name."""

    placement: Placement
    state: HubState
    members: tuple[int, ...]
    """Clusters of its sets. A write of a score that it ranks by, on one of them, triggers a pass."""
    candidates: tuple[int, ...]
    """Clusters that pass its filters at the start, by name, without predicates that read scores."""
    terms: tuple[Prioritizer, ...]
    """Prioritizers that read scores."""
    fixed: tuple[Prioritizer, ...]
    """Prioritizers that read only the allocatable resources of the clusters."""
    steady: int
    """Weight of Steady; 0 if there is none."""
    balance: tuple[Prioritizer, ...]
    """Balance, if there is one. It has a part in the points, and only the simulator computes it."""
    required: tuple[tuple[str, str], ...]
    """Resource and item of the scores that a candidate must have to be eligible, whatever their age."""
    special: bool
    """Whether its passes depend on each other by more than Steady, or on time."""
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

    @cached_property
    def constant(self) -> tuple[int, ...]:
        """The weighted sums of the fixed prioritizers, each of which compares the candidates; aligned."""
        # The time does not matter to them.
        start = datetime.fromtimestamp(0, UTC)
        results = [
            score(
                item,
                placement=self.placement,
                state=self.state,
                clusters=self.candidates,
                now=start,
            )
            for item in self.fixed
        ]
        return tuple(add_up(results, len(self.candidates)))

    @cached_property
    def total_weight(self) -> int:
        """Dividing a weighted sum by it gives points (`gitops_dsf.hub.points`)."""
        return mean_weight((*self.terms, *self.fixed, *self.balance))


def prepare(placement: Placement, *, state: HubState, start: float) -> PreparedPlacement:
    """Simulates one pass without scores, and keeps what no later pass changes."""
    required = required_scores(placement)
    verdict = simulate_placement(
        without_score_predicates(placement), state=state, now=datetime.fromtimestamp(start, UTC)
    )
    used = tuple(item.prioritizer for item in verdict.prioritizers)
    undecided = verdict.status.message if verdict.status.failed else ""
    if verdict.outcome is not Outcome.SCHEDULED:
        undecided = verdict.outcome.value
    return PreparedPlacement(
        placement=placement,
        state=state,
        members=verdict.membership.clusters,
        candidates=verdict.stages[-1].clusters if verdict.stages else (),
        terms=tuple(item for item in used if item.built_in is None),
        fixed=tuple(item for item in used if (item.built_in or "").startswith("Resource")),
        steady=sum(item.weight for item in used if item.built_in == "Steady"),
        balance=tuple(item for item in used if item.built_in == "Balance"),
        required=required or (),
        special=_special(placement, state, used, verdict.membership.clusters),
        undecided=undecided,
    )


def _special(
    placement: Placement, state: HubState, used: Sequence[Prioritizer], members: Sequence[int]
) -> bool:
    required = required_scores(placement)
    if required is None or not {resource for resource, _ in required} <= {
        item.resource for item in used
    }:
        return True
    if any(
        item.built_in == "Balance" or (item.built_in == "Steady" and item.weight < 0)
        for item in used
    ):
        return True
    # NoSelectIfNew depends on the decision, and a toleration for some seconds runs out.
    runs_out = any(each.toleration_seconds is not None for each in placement.spec.tolerations or ())
    return any(
        runs_out or taint.effect == "NoSelectIfNew"
        for position in state.tainted.intersection(members)
        for taint in state.clusters[position].taints
    )
