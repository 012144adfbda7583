"""One Placement of a backtest, with the parts that stay: candidates, terms and triggers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from gitops_dsf.backtest.track import Track, Tracks
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import required_scores, without_score_predicates
from gitops_dsf.hub.points import mean_weight
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.prioritizers import Prioritizer, PrioritizerResult, score
from gitops_dsf.simulator.ranking import add_up


@dataclass(frozen=True, kw_only=True)
class PreparedPlacement:
    """A Placement and what all its passes share. Clusters are positions in the state, by name."""

    placement: Placement
    state: HubState
    members: tuple[int, ...]
    """Clusters of its sets. A write of a score that it ranks by triggers a pass on any of them."""
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
    """Resource and item of the scores that a candidate must have to be eligible, of any age."""
    special: bool
    """Whether its passes depend on each other by more than Steady, or on time."""
    undecided: str
    """The reason why OCM decides nothing; empty if it decides."""

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
        """The weighted sums of the fixed prioritizers, aligned with the candidates.

        OCM compares a resource of each candidate with those of the others, so the sums depend on
        who is a candidate.
        """
        # The time does not matter to these prioritizers.
        start = datetime.fromtimestamp(0, UTC)
        results: list[PrioritizerResult] = []
        for prioritizer in self.fixed:
            result = score(
                prioritizer,
                placement=self.placement,
                state=self.state,
                clusters=self.candidates,
                now=start,
            )
            results.append(result)
        return tuple(add_up(results, len(self.candidates)))

    @cached_property
    def total_weight(self) -> int:
        """Dividing a weighted sum by it gives points (`gitops_dsf.hub.points`)."""
        return mean_weight((*self.terms, *self.fixed, *self.balance))


class RankedTrack(NamedTuple):
    """The writes of a score that a Placement ranks by, on one cluster."""

    resource: str
    cluster: str
    track: Track


def prepare(placement: Placement, *, state: HubState, start: float) -> PreparedPlacement:
    """Simulates a pass without scores at `start` (Unix seconds), and keeps what no pass changes."""
    # Predicates on scores are left out, because the scores of the past are not in the state. The
    # required ones are applied at each point (`gitops_dsf.backtest.sums.stretches`).
    verdict = simulate_placement(
        without_score_predicates(placement), state=state, now=datetime.fromtimestamp(start, UTC)
    )
    prioritizers = tuple(result.prioritizer for result in verdict.prioritizers)
    terms: list[Prioritizer] = []
    fixed: list[Prioritizer] = []
    balance: list[Prioritizer] = []
    steady = 0
    for prioritizer in prioritizers:
        if prioritizer.built_in is None:
            terms.append(prioritizer)
        elif prioritizer.built_in.startswith("Resource"):
            fixed.append(prioritizer)
        elif prioritizer.built_in == "Balance":
            balance.append(prioritizer)
        elif prioritizer.built_in == "Steady":
            steady += prioritizer.weight
    undecided = verdict.status.message if verdict.status.failed else ""
    if verdict.outcome is not Outcome.SCHEDULED:
        undecided = verdict.outcome.value
    return PreparedPlacement(
        placement=placement,
        state=state,
        members=verdict.membership.clusters,
        candidates=verdict.stages[-1].clusters if verdict.stages else (),
        terms=tuple(terms),
        fixed=tuple(fixed),
        steady=steady,
        balance=tuple(balance),
        required=required_scores(placement) or (),
        special=_is_special(placement, state, prioritizers, verdict.membership.clusters),
        undecided=undecided,
    )


def prepare_all(
    placements: Iterable[Placement], *, state: HubState, start: float
) -> Mapping[str, PreparedPlacement]:
    """Prepares Placements. The keys are namespace/name, in the order of the Placements."""
    prepared: dict[str, PreparedPlacement] = {}
    for placement in placements:
        prepared[placement.key] = prepare(placement, state=state, start=start)
    return prepared


def _is_special(
    placement: Placement,
    state: HubState,
    prioritizers: Sequence[Prioritizer],
    members: Sequence[int],
) -> bool:
    required = required_scores(placement)
    if required is None:
        return True
    # A score that only CEL reads triggers no pass, so other events decide when OCM notices it
    # (docs/decisions/scheduler.md#when-ocm-schedules-again).
    ranked = {prioritizer.resource for prioritizer in prioritizers}
    for resource, _ in required:
        if resource not in ranked:
            return True
    for prioritizer in prioritizers:
        if prioritizer.built_in == "Balance":
            return True
        if prioritizer.built_in == "Steady" and prioritizer.weight < 0:
            return True
    # NoSelectIfNew depends on the decision, and a toleration for some seconds runs out.
    tolerations = placement.spec.tolerations or ()
    runs_out = any(toleration.toleration_seconds is not None for toleration in tolerations)
    for position in state.tainted.intersection(members):
        for taint in state.clusters[position].taints:
            if runs_out or taint.effect == "NoSelectIfNew":
                return True
    return False


def tracks_on_candidates(prepared: PreparedPlacement, tracks: Tracks) -> Iterator[RankedTrack]:
    """The writes of every score that a Placement ranks by, on its candidates."""
    return _tracks_on(prepared, tracks, prepared.candidates)


def tracks_on_members(prepared: PreparedPlacement, tracks: Tracks) -> Iterator[RankedTrack]:
    """The writes that trigger passes: of scores that it ranks by, on clusters of its sets."""
    return _tracks_on(prepared, tracks, prepared.members)


def _tracks_on(
    prepared: PreparedPlacement, tracks: Tracks, positions: Sequence[int]
) -> Iterator[RankedTrack]:
    names = prepared.state.names
    for resource in dict.fromkeys(term.resource for term in prepared.terms):
        by_cluster = tracks.get(resource, {})
        for position in positions:
            track = by_cluster.get(names[position])
            if track is not None and len(track):
                yield RankedTrack(resource, names[position], track)
