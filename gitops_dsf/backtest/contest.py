"""What all passes of one Placement share (candidates, terms, triggers), and when OCM sees expired scores."""

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from gitops_dsf.backtest.track import Grid, Track, Tracks
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import required_scores, without_score_predicates
from gitops_dsf.hub.points import mean_weight
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.notes import RESYNC_SECONDS
from gitops_dsf.simulator.prioritizers import Prioritizer, score
from gitops_dsf.simulator.ranking import add_up


@dataclass(frozen=True, kw_only=True)
class Contest:
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


def contest(placement: Placement, *, state: HubState, start: float) -> Contest:
    """Simulates one pass without scores, and keeps what no later pass changes."""
    required = required_scores(placement)
    verdict = simulate_placement(
        without_score_predicates(placement), state=state, now=datetime.fromtimestamp(start, UTC)
    )
    used = tuple(item.prioritizer for item in verdict.prioritizers)
    undecided = verdict.status.message if verdict.status.failed else ""
    if verdict.outcome is not Outcome.SCHEDULED:
        undecided = verdict.outcome.value
    return Contest(
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


FIRST_RETRY: Final = 0.005
"""Delay of the first retry in seconds; it doubles."""
LONGEST_RETRY: Final = 1000.0


@dataclass(frozen=True, kw_only=True)
class ScoreExpiry:
    """A score that OCM counts as 0 for a while. Times are Unix seconds."""

    resource: str
    cluster: str
    noticed: float
    """The pass in which OCM first counts it as 0."""
    renewed: float
    """The write that makes it count again; infinity if there is none."""


def tracks_of(
    contest: Contest, tracks: Tracks, positions: Iterable[int]
) -> Iterator[tuple[str, str, Track]]:
    """Resource, cluster and track of every score that a Placement ranks by, on these clusters."""
    names = contest.state.names
    for resource in dict.fromkeys(term.resource for term in contest.terms):
        by_cluster = tracks.get(resource, {})
        for position in positions:
            track = by_cluster.get(names[position])
            if track is not None and len(track):
                yield resource, names[position], track


def score_expiries(contest: Contest, tracks: Tracks, *, grid: Grid) -> tuple[ScoreExpiry, ...]:
    """The expiries of scores of the candidates, in order of expiry.

    The passage of a validUntil triggers no pass. OCM notices it in its next pass: after a write of a score
    that the Placement ranks by on a cluster of its sets, at a resync of its informers, or in a retry, because
    a pass that sees an expired score ends with a warning and is repeated with growing delay
    (docs/decisions/scheduler.md).
    """
    expiries = sorted(
        (until, resource, cluster, renewed)
        for resource, cluster, track in tracks_of(contest, tracks, contest.candidates)
        for until, renewed in track.expiries
        if until < grid.end
    )
    if not expiries:
        return ()
    triggers = [track.at for _, _, track in tracks_of(contest, tracks, contest.members)]
    retries = _Retries()
    found = []
    for until, resource, cluster, renewed in expiries:
        # The real phase of resyncs is not known: here they start with the grid.
        resync = (
            grid.start + (math.floor((until - grid.start) / RESYNC_SECONDS) + 1) * RESYNC_SECONDS
        )
        noticed = min(*(_after(at, until) for at in triggers), resync, retries.after(until))
        if noticed < renewed and noticed <= grid.end:
            retries.warn(noticed, renewed)
            found.append(
                ScoreExpiry(resource=resource, cluster=cluster, noticed=noticed, renewed=renewed)
            )
    return tuple(found)


def _after(times: Sequence[float], moment: float) -> float:
    index = bisect.bisect_right(times, moment)
    return times[index] if index < len(times) else math.inf


class _Retries:
    """The passes that OCM repeats while they end with a warning."""

    def __init__(self) -> None:
        self._start = math.inf
        self._end = -math.inf

    def warn(self, noticed: float, renewed: float) -> None:
        """A pass saw an expired score, which is renewed later."""
        if noticed > self._end:
            self._start = noticed
        self._end = max(self._end, renewed)

    def after(self, moment: float) -> float:
        """The next retry after a moment; infinity if none is due."""
        if not self._start <= moment < self._end:
            return math.inf
        at, delay = self._start, FIRST_RETRY
        while at <= moment and delay < LONGEST_RETRY:
            at += delay
            delay *= 2
        if at <= moment:
            at += (math.floor((moment - at) / LONGEST_RETRY) + 1) * LONGEST_RETRY
        return at if at < self._end else math.inf
