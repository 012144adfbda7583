"""Where a change leads a hub: every Placement is simulated as the base renders it until decisions are stable,
and from there as the head renders it. So stickiness counts, and moves that would happen anyway are not the
change's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gitops_dsf.hub.objects import Placement, PlacementDecision
from gitops_dsf.hub.placements import asks_for_scores
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate
from gitops_dsf.simulator.scheduler import settle
from gitops_dsf.views.preview.hub import hub_state
from gitops_dsf.views.preview.nextscores import Certainty, NextScores, Unknown, certainty, next_scores
from gitops_dsf.views.preview.paced import stored_moves
from gitops_dsf.views.preview.version import FleetVersion


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A change on a hub. Without a base, everything is new."""

    base: FleetVersion | None
    head: FleetVersion
    snapshot: Snapshot
    now: datetime

    @cached_property
    def scores(self) -> NextScores:
        return next_scores(self.base, self.head, self.snapshot)

    @cached_property
    def first(self) -> HubState | None:
        """The hub with the Placements of the base; None without a base."""
        if self.base is None:
            return None
        return hub_state(self.base, self.snapshot, decisions=self.snapshot.decisions)

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The last verdicts on the Placements of the base."""
        return self._settled[0]

    @cached_property
    def decisions(self) -> tuple[PlacementDecision, ...]:
        """The decisions that the Placements of the base lead to."""
        return self._settled[1]

    @cached_property
    def second(self) -> HubState:
        """The hub with the Placements of the head and these decisions. Unknown scores are as they are now."""
        return hub_state(self.head, self.snapshot, scores=self.scores.scores, decisions=self.decisions)

    @cached_property
    def after(self) -> HubState:
        """The same with the decisions that the Placements of the head lead to."""
        _, decisions = settle(self.second, self.head.placements, self.now)
        return self.second.deciding(decisions)

    @cached_property
    def ledger(self) -> Ledger:
        return stored_moves(self.snapshot).ledger

    @cached_property
    def _settled(self) -> tuple[dict[str, Verdict], tuple[PlacementDecision, ...]]:
        if self.base is None or self.first is None:
            return {}, tuple(self.snapshot.decisions)
        return settle(self.first, self.base.placements, self.now)


@dataclass(frozen=True, kw_only=True)
class Pass:
    placement: str
    before: Verdict | None
    """None if the base does not have the Placement."""
    after: Verdict | None
    """None if the head does not have the Placement."""
    touched: bool = True
    unknown: Mapping[str, Mapping[str, Unknown]] = field(default_factory=dict)
    """Unknown scores with a weight, by AddOnPlacementScore name and cluster; empty if there are none."""
    certainty: Certainty | None = None
    """What is certain in spite of unknown scores; None if everything is."""


def passes(change: Transition) -> Iterator[Pass]:
    """Simulates every Placement of both sides, in order of name."""
    future, first, before, second = change.scores, change.first, change.verdicts, change.second
    surroundings = first is None or any(
        getattr(first, part) != getattr(second, part) for part in ("clusters", "sets", "bindings")
    )
    placements = {f"{namespace}/{name}": item for (namespace, name), item in second.placements.items()}
    for key in sorted({*before, *placements}):
        old, placement = before.get(key), placements.get(key)
        if placement is None:
            yield Pass(placement=key, before=old, after=None)
        elif old is not None and not surroundings and not _touched(placement, future, old):
            yield Pass(placement=key, before=old, after=old, touched=False)
        else:
            yield _second(key, old, simulate(second, key, change.now), placement, future)


def _second(
    key: str, old: Verdict | None, verdict: Verdict, placement: Placement, future: NextScores
) -> Pass:
    unknown, certain = future.unknown, None
    if asks_for_scores(placement) and _existence_unknown(verdict, unknown):
        certain = Certainty(certain=frozenset(), possible=frozenset(verdict.candidates))
    elif verdict.outcome is Outcome.SCHEDULED:
        certain = certainty(verdict, unknown)
    return Pass(
        placement=key, before=old, after=verdict, unknown=unknown if certain else {}, certainty=certain
    )


def _existence_unknown(verdict: Verdict, unknown: Mapping[str, Mapping[str, Unknown]]) -> bool:
    """Whether a predicate reads a score that a cluster does not have yet and will have."""
    used = {item.prioritizer.resource for item in verdict.prioritizers}
    candidates = frozenset(verdict.candidates)
    return any(
        not cell.exists and cluster in candidates
        for name in used
        for cluster, cell in unknown.get(name, {}).items()
    )


def _touched(placement: Placement, future: NextScores, old: Verdict) -> bool:
    before = old.source
    if before.spec != placement.spec or before.metadata.annotations != placement.metadata.annotations:
        return True
    if asks_for_scores(placement) and future.changed:
        return True
    return any(item.prioritizer.resource in future.changed for item in old.prioritizers)
