"""Where a change leads a hub, and what is certain although some scores are unknown. Placements of the base
are simulated until decisions are stable, and then those of the head: moves that happen anyway do not count.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub.objects import Placement, PlacementDecision
from gitops_dsf.hub.placements import asks_for_scores
from gitops_dsf.hub.scores import Score, Scores
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.simulator import HubState, Outcome, Verdict, simulate
from gitops_dsf.simulator.scheduler import settle
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fleet import hub_state, stored_moves
from gitops_dsf.views.preview.scorers import Effect, Shift, shift_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Unknown:
    """A score that is not known yet: its range (with 0, as it may be missing), and why."""

    low: int
    high: int
    why: str
    exists: bool
    """Whether the AddOnPlacementScore already exists. Its value is then a placeholder in the scores."""


@dataclass(frozen=True, kw_only=True)
class NextScores:
    """Scores after the change. An unknown score has its present value, if it has one."""

    scores: Scores
    unknown: Mapping[str, Mapping[str, Unknown]]
    """By AddOnPlacementScore name, then by cluster."""
    changed: frozenset[str]
    """Names of AddOnPlacementScores with a value that differs or is unknown on any cluster."""


def next_scores(base: CheckedFleet | None, head: CheckedFleet, snapshot: Snapshot) -> NextScores:
    """Computes the scores after a change. Scores that no scorer of the repository publishes do not change."""
    scores: dict[str, Mapping[str, Score]] = dict(snapshot.scores)
    unknown: dict[str, Mapping[str, Unknown]] = {}
    changed: set[str] = set()
    for resource in sorted({*head.scorer_by_resource, *(base.scorer_by_resource if base else ())}):
        before, after = (
            base.scorer_by_resource.get(resource) if base else None,
            head.scorer_by_resource.get(resource),
        )
        shift, present = shift_of(before, after, base, head), snapshot.scores.get(resource, {})
        if shift.ran == shift.runs and not shift.elsewhere and shift.effect is Effect.NONE:
            continue
        scores[resource], unknown[resource] = _follow(shift, present)
        if unknown[resource] or scores[resource] != present:
            changed.add(resource)
    return NextScores(scores=scores, unknown=unknown, changed=frozenset(changed))


def _follow(
    shift: Shift, table: Mapping[str, Score]
) -> tuple[dict[str, Score], dict[str, Unknown]]:
    known = dict(table)
    unknown: dict[str, Unknown] = {}
    touched = (shift.ran ^ shift.runs) | shift.elsewhere
    if shift.effect is not Effect.NONE:
        touched |= shift.runs
    for cluster in sorted(touched):
        present, why = known.get(cluster), ""
        if cluster not in shift.runs:
            # An agent removes the scores of a scorer that its configuration does not name any more.
            known.pop(cluster, None)
        elif cluster not in shift.ran:
            why = "it has not run on this cluster yet"
        elif shift.effect is Effect.UNKNOWN:
            why = f"{', '.join(shift.causes)} changed"
        elif cluster in shift.elsewhere:
            why = "source changed"
        elif shift.effect is Effect.RANGE and present is not None:
            why = "scoreRange changed and the raw score is not known"
        if why:
            unknown[cluster] = _unknown(shift.after, why, exists=present is not None)
    return known, unknown


def _unknown(scorer: EffectiveScorer | None, why: str, *, exists: bool) -> Unknown:
    low, high = SCORE_MIN, SCORE_MAX
    if scorer is not None and (scale := scorer.spec.score_range) is not None:
        ends = (0, scorer.spec.default_score or 0, scale.output_min, scale.output_max)
        low, high = min(ends), max(ends)
    return Unknown(low=low, high=high, why=why, exists=exists)


@dataclass(frozen=True, kw_only=True, slots=True)
class Certainty:
    """Clusters that are selected whatever the unknown scores are, and clusters that may be."""

    certain: frozenset[str]
    possible: frozenset[str]

    @property
    def decided(self) -> bool:
        """Whether the unknown scores cannot change the decision."""
        return self.certain == self.possible


def certainty(verdict: Verdict, unknown: Mapping[str, Mapping[str, Unknown]]) -> Certainty | None:
    """The bounds of a ranking with placeholders for unknown scores. None if no ranked cluster has one."""
    ranking = verdict.ranking
    if ranking is None:
        return None
    names = [verdict.state.names[cluster] for cluster in ranking.clusters]
    lows, highs = list(ranking.sums), list(ranking.sums)
    is_open = False
    for result in verdict.prioritizers:
        cells = {} if result.prioritizer.built_in else unknown.get(result.prioritizer.resource, {})
        for index, name in enumerate(names if cells else ()):
            if (cell := cells.get(name)) is not None:
                is_open = True
                ends = [
                    (end - (result.values[index] or 0)) * result.weight
                    for end in (cell.low, cell.high)
                ]
                lows[index] += min(ends)
                highs[index] += max(ends)
    if not is_open:
        return None
    # Equal sums are ordered by name, and indexes are in order of name, so the smaller index wins.
    worst = [(low, -index) for index, low in enumerate(lows)]
    best = [(high, -index) for index, high in enumerate(highs)]
    by_worst, by_best = sorted(worst), sorted(best)
    count, number_of_clusters = len(names), ranking.selected
    certain, possible = set(), set()
    for name, low, high in zip(names, worst, best, strict=True):
        # How many clusters may beat it, and how many must.
        if count - bisect_right(by_best, low) - (high > low) < number_of_clusters:
            certain.add(name)
        if count - bisect_right(by_worst, high) < number_of_clusters:
            possible.add(name)
    return Certainty(certain=frozenset(certain), possible=frozenset(possible))


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A change on a hub. Without a base, everything is new."""

    base: CheckedFleet | None
    head: CheckedFleet
    snapshot: Snapshot
    now: datetime

    @cached_property
    def scores(self) -> NextScores:
        return next_scores(self.base, self.head, self.snapshot)

    @cached_property
    def first(self) -> HubState | None:
        """The hub with the Placements of the base; None without a base."""
        return None if self.base is None else hub_state(self.base, self.snapshot)

    @cached_property
    def settled(self) -> tuple[dict[str, Verdict], tuple[PlacementDecision, ...]]:
        """The last verdicts on the Placements of the base, and the decisions that they lead to."""
        if self.base is None or self.first is None:
            return {}, tuple(self.snapshot.decisions)
        return settle(self.first, applied(self.base).placements, self.now)

    @cached_property
    def second(self) -> HubState:
        """The hub with the Placements of the head and these decisions. Unknown scores are as they are now."""
        return hub_state(
            self.head,
            self.snapshot,
            scores=self.scores.scores,
            decisions=self.settled[1],
            base=self.base,
        )

    @cached_property
    def after(self) -> HubState:
        """The same with the decisions that the Placements of the head lead to."""
        _, decisions = settle(self.second, applied(self.head).placements, self.now)
        return self.second.deciding(decisions)

    @cached_property
    def ledger(self) -> Ledger:
        return stored_moves(self.snapshot).ledger


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
    future, first, before, second = change.scores, change.first, change.settled[0], change.second
    surroundings = first is None or any(
        getattr(first, part) != getattr(second, part) for part in ("clusters", "sets", "bindings")
    )
    placements = {
        f"{namespace}/{name}": item for (namespace, name), item in second.placements.items()
    }
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
    certain, unknown = None, future.unknown
    if asks_for_scores(placement) and _existence_unknown(verdict, unknown):
        certain = Certainty(certain=frozenset(), possible=frozenset(verdict.candidates))
    elif verdict.outcome is Outcome.SCHEDULED:
        certain = certainty(verdict, unknown)
    left = unknown if certain else {}
    return Pass(placement=key, before=old, after=verdict, unknown=left, certainty=certain)


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
    if (
        before.spec != placement.spec
        or before.metadata.annotations != placement.metadata.annotations
    ):
        return True
    if asks_for_scores(placement) and future.changed:
        return True
    return any(item.prioritizer.resource in future.changed for item in old.prioritizers)
