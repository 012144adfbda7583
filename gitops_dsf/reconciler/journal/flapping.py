"""Reports applications that move back and forth.

A report is a metric, Events on the Placement, and the condition Settled of the scorer behind the
moves.

Guaranteed: moves that people asked for in git do not count, and neither does a single return: it
can be an outage that ended. Not guaranteed: that every return counts. The records are the only
source, so a return whose record could not be written is missing.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.metadata import ObjectCondition
from gitops_dsf.hub.moves.causes import KINDS, Cause, CauseKind
from gitops_dsf.hub.moves.flapping import (
    WINDOW_SECONDS,
    DecisionChange,
    Episode,
    Leads,
    Return,
    ReturnLeads,
    cause_of,
    episodes,
    moves_back,
)
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.journal.record import Record
from gitops_dsf.journal.timeline import ScoreValues, by_placement, changes, recent, values_at
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.kinds import placement_reference
from gitops_dsf.wording import names_text

MAX_KEPT: Final = 100
"""Records of one Placement that are kept in memory."""
MAX_NAMED: Final = 3
"""Placements that a condition names."""
SETTLED_CONDITION: Final = "Settled"
"""The condition of a scorer that shows whether applications move back and forth because of it."""
COUNTED_SECONDS: Final = 86_400.0
"""Returns within this time are counted."""
MIN_RETURNS: Final = 2
"""From this number of returns on, a Placement flaps.

A single return can be an outage that ended.
"""


@dataclass(frozen=True, kw_only=True)
class Flapping:
    """A Placement that goes back to clusters that it had just left."""

    placement: str
    """namespace/name."""
    returns: int
    """Within the last day."""
    clusters: tuple[str, ...]
    """The clusters, in order of name."""
    cause: str | None
    """Name of the AddOnPlacementScore with the largest swing.

    None if no score changed, none is known, or scores are not the reason.
    """
    other: str = ""
    """The cause of most moves, if it is not a score."""


def flapping_of(records: Sequence[Record], *, now: float) -> Flapping | None:
    """Whether a Placement flaps. Records of an earlier Placement of this name do not count."""
    records = [record for record in records if record.uid == records[-1].uid]
    moved = [record for record in records if record.left or record.joined]
    # One change for each record that moved something, in the same order.
    decision_changes = changes(records)
    kinds = dict(zip(decision_changes, map(_kind_of, moved), strict=True))
    returns = _counted_returns(episodes(decision_changes), kinds, now=now)
    if moves_back(returns) < MIN_RETURNS:
        return None
    # Only now: most Placements do not flap, and the scores after each record are many.
    values_after: list[ScoreValues] = []
    for record, values in zip(records, values_at(records), strict=True):
        if record.left or record.joined:
            values_after.append(values)
    values_of = dict(zip(decision_changes, values_after, strict=True))
    weights = _weights_of(moved)

    def leads_of(move_back: Return) -> ReturnLeads:
        return ReturnLeads(
            when_left=_leads(move_back, values_of[move_back.left], weights),
            when_chosen_again=_leads(move_back, values_of[move_back.joined], weights),
        )

    by_scores = [move_back for move_back in returns if kinds[move_back.left].by_scores]
    is_blamed = 2 * len(by_scores) >= len(returns)
    clusters = set[str]()
    for move_back in returns:
        clusters.add(move_back.cluster)
        clusters.add(move_back.rival or "")
    return Flapping(
        placement=records[-1].placement,
        returns=moves_back(returns),
        clusters=tuple(sorted(clusters - {""})),
        cause=cause_of(by_scores, leads_of) if is_blamed else None,
        other="" if is_blamed else _other_cause(returns, kinds),
    )


def _kind_of(record: Record) -> CauseKind:
    return KINDS[Cause.UNKNOWN if record.cause is None else record.cause.cause]


def _counted_returns(
    all_episodes: Iterable[Episode], kinds: Mapping[DecisionChange, CauseKind], *, now: float
) -> list[Return]:
    """The unwanted returns of the last day."""
    returns: list[Return] = []
    for episode in all_episodes:
        for move_back in episode.returns:
            is_recent = move_back.joined.at > now - COUNTED_SECONDS
            if is_recent and _counts(kinds[move_back.left], kinds[move_back.joined]):
                returns.append(move_back)
    return returns


def _counts(left: CauseKind, joined: CauseKind) -> bool:
    """Whether a return is an unwanted move back and forth.

    It is not if one of the two moves was asked for in git, or if scores chose the other cluster and
    OCM had to move back, for example because that cluster was lost. It then counts when the other
    cluster is chosen again.
    """
    is_forced_back = left.by_scores and not joined.by_scores
    return not (left.on_purpose or joined.on_purpose or is_forced_back)


def _other_cause(returns: Iterable[Return], kinds: Mapping[DecisionChange, CauseKind]) -> str:
    """`lost cluster: eu-1`: why most clusters were left, where that is not because of scores."""
    clusters_by_title: dict[str, list[str]] = {}
    for move_back in returns:
        kind = kinds[move_back.left]
        if not kind.by_scores:
            clusters_by_title.setdefault(kind.title, []).append(move_back.cluster)
    # If several are equal, the first by name is taken, so that the text does not depend on the
    # order of the moves.
    title = min(clusters_by_title, key=lambda title: (-len(clusters_by_title[title]), title))
    clusters = set(clusters_by_title[title])
    return f"{title}: {names_text(sorted(clusters))}"


def _weights_of(records: Sequence[Record]) -> Mapping[str, int]:
    """The weights of the scores, `AddOn/resource/item`, in the last record that has them."""
    for record in reversed(records):
        for cluster in record.clusters:
            if not cluster.contributions:
                continue
            weights: dict[str, int] = {}
            for term in cluster.contributions:
                # The items of paced moves carry out what the scores asked for.
                is_moves_item = term.name.startswith(f"AddOn/{MOVES_SCORE}/")
                if term.name.startswith("AddOn/") and not is_moves_item:
                    weights[term.name] = term.weight
            return weights
    return {}


def _leads(move_back: Return, values: ScoreValues, weights: Mapping[str, int]) -> Leads:
    leads: dict[str, float] = {}
    for name, weight in weights.items():
        rival_value = values.get((name, move_back.rival or ""), 0)
        lead = values.get((name, move_back.cluster), 0) - rival_value
        resource = name.split("/")[1]
        leads[resource] = leads.get(resource, 0.0) + weight * lead
    return leads


def flapping_text(flapping: Flapping) -> str:
    """The moves back and forth as a text.

    Such as `moved back and forth 4 times within a day between eu-1 and eu-2, mostly because of cpu;
    ...`.
    """
    between = " and ".join([", ".join(flapping.clusters[:-1]), flapping.clusters[-1]])
    if flapping.other:
        # No stickiness prevents what OCM must move.
        return (
            f"moved back and forth {flapping.returns} times within a day between {between}, mostly"
            f" because of this: {flapping.other}"
        )
    if flapping.cause is not None:
        return (
            f"moved back and forth {flapping.returns} times within a day between {between}, mostly"
            f" because of {flapping.cause}; gitops-dsf backtest --advise shows which stickiness"
            " would prevent it"
        )
    return (
        f"moved back and forth {flapping.returns} times within a day between {between}; gitops-dsf"
        " backtest --advise shows which stickiness would prevent it"
    )


class FlappingReporter:
    """Follows the records of the last day."""

    def __init__(self, context: ControllerContext) -> None:
        self._returns = context.metrics.flapping_returns
        self._events = context.events
        self._namespace = context.view.argocd_namespace
        self._records: dict[str, list[Record]] = {}
        self._flapping: Mapping[str, Flapping] | None = None

    def learn(self, records: Iterable[Record]) -> None:
        """Takes records, those that are known already too."""
        for placement, new_records in by_placement(records).items():
            by_id = {record.id: record for record in self._records.get(placement, ())}
            by_id |= {record.id: record for record in new_records}
            # A return that just counts ended a day ago, and its cluster was left up to an hour
            # before.
            oldest = new_records[-1].time.timestamp() - COUNTED_SECONDS - WINDOW_SECONDS
            self._records[placement] = recent([*by_id.values()], since=oldest, limit=MAX_KEPT)

    def forget(self, placements: Collection[str]) -> None:
        """Forgets Placements that were deleted."""
        for key in placements:
            self._records.pop(key, None)

    async def assess(self, *, now: float, placements: Mapping[str, PlacementSummary]) -> None:
        """Counts again, and reports what began or ended.

        `placements` are those of the namespace, by name.
        """
        before = self._flapping or {}
        # In a thread, because it takes a while for thousands of Placements, and leadership must be
        # renewed.
        flapping_now = await asyncio.to_thread(_flapping, dict(self._records), now)
        self._flapping = flapping_now
        returns: dict[tuple[str, str], float] = {}
        for key, flapping in flapping_now.items():
            returns[key.partition("/")[2], flapping.cause or ""] = flapping.returns
        self._returns.set(returns)
        for key in sorted(flapping_now.keys() ^ before.keys()):
            name = key.partition("/")[2]
            if name in placements:
                about = placement_reference(name, placements[name], self._namespace)
                if key in flapping_now:
                    self._events.record(
                        about, "Flapping", f"it {flapping_text(flapping_now[key])}", warning=True
                    )
                else:
                    self._events.record(about, "FlappingEnded", "it no longer moves back and forth")

    def settled_condition(self, resource: str) -> ObjectCondition | None:
        """The condition Settled of the scorer that publishes this AddOnPlacementScore.

        None while it is not known.
        """
        if self._flapping is None:
            return None
        texts: list[str] = []
        for key, flapping in sorted(self._flapping.items()):
            if flapping.cause == resource:
                texts.append(f"{key} {flapping_text(flapping)}")
        if not texts:
            return ObjectCondition(
                type=SETTLED_CONDITION,
                status="True",
                reason="NoFlapping",
                message="no application moves back and forth because of this score",
            )
        named = ". ".join(texts[:MAX_NAMED])
        more = len(texts) - MAX_NAMED
        message = f"{named}; and {more} more Placements" if more > 0 else named
        return ObjectCondition(
            type=SETTLED_CONDITION, status="False", reason="Flapping", message=message
        )


def _flapping(records: Mapping[str, list[Record]], now: float) -> dict[str, Flapping]:
    by_key = {key: flapping_of(record, now=now) for key, record in records.items()}
    return {key: flapping for key, flapping in by_key.items() if flapping is not None}
