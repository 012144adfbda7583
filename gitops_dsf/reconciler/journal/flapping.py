"""Applications that move back and forth: a metric, Events, and a condition of the scorer behind
it.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_dsf.hub.metadata import Condition
from gitops_dsf.hub.moves.causes import KINDS, Cause, CauseKind
from gitops_dsf.hub.moves.flapping import (
    WINDOW_SECONDS,
    DecisionChange,
    Leads,
    Return,
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
SETTLED: Final = "Settled"
"""The condition of a scorer that tells whether applications move back and forth because of it."""
SPAN_SECONDS: Final = 86_400.0
"""Returns of so long are counted."""
LEAST: Final = 2
"""So many returns are flapping. A single one can be an outage that ended."""


@dataclass(frozen=True, kw_only=True)
class Flapping:
    """A Placement that goes back to clusters that it had just left."""

    placement: str
    """namespace/name."""
    returns: int
    """Within the last day."""
    clusters: tuple[str, ...]
    """In order of name."""
    cause: str | None
    """Name of the AddOnPlacementScore with the largest swing; None if no score changed, none is
    known, or scores are not the reason.
    """
    other: str = ""
    """What most moves are because of, where that is not a score."""


def flapping_of(records: Sequence[Record], *, now: float) -> Flapping | None:
    """Whether a Placement flaps. Records of an earlier Placement of this name do not count."""
    records = [record for record in records if record.uid == records[-1].uid]
    moved = [record for record in records if record.left or record.joined]
    kinds = {
        change: KINDS[Cause.UNKNOWN if record.cause is None else record.cause.cause]
        for change, record in zip(changes(records), moved, strict=True)
    }
    found = [
        each
        for episode in episodes(changes(records))
        for each in episode.returns
        if each.joined.at > now - SPAN_SECONDS and _counts(kinds[each.left], kinds[each.joined])
    ]
    if moves_back(found) < LEAST:
        return None
    told = zip(records, values_at(records), strict=True)
    after = [values for record, values in told if record.left or record.joined]
    known = dict(zip(changes(records), after, strict=True))
    weights = _weights_of(moved)

    def leads(each: Return) -> tuple[Leads, Leads]:
        left, joined = (_leads(each, known[change], weights) for change in (each.left, each.joined))
        return left, joined

    by_scores = [each for each in found if kinds[each.left].by_scores]
    is_blamed = 2 * len(by_scores) >= len(found)
    return Flapping(
        placement=records[-1].placement,
        returns=moves_back(found),
        clusters=tuple(
            sorted({name for each in found for name in (each.cluster, each.rival) if name})
        ),
        cause=cause_of(by_scores, leads) if is_blamed else None,
        other="" if is_blamed else _other_cause(found, kinds),
    )


def _counts(left: CauseKind, joined: CauseKind) -> bool:
    """Whether a return is a move back and forth that nobody wants.

    It is not if somebody asked in git for one of the two moves. And one that OCM had to make back
    to the cluster, because the other one was lost, counts when the other one is chosen again.
    """
    is_forced_back = left.by_scores and not joined.by_scores
    return not (left.on_purpose or joined.on_purpose or is_forced_back)


def _other_cause(found: Iterable[Return], kinds: Mapping[DecisionChange, CauseKind]) -> str:
    """`lost cluster: eu-1`: why most clusters were left, where that is not because of scores."""
    left = [each for each in found if not kinds[each.left].by_scores]
    titles = Counter(kinds[each.left].title for each in left)
    title = min(titles, key=lambda each: (-titles[each], each))
    clusters = {each.cluster for each in left if kinds[each.left].title == title}
    return f"{title}: {names_text(sorted(clusters))}"


def _weights_of(records: Sequence[Record]) -> Mapping[str, int]:
    """The weights of the scores, `AddOn/resource/item`, as the last record that tells has them."""
    for record in reversed(records):
        for cluster in record.clusters:
            if cluster.contributions:
                return {
                    term.name: term.weight
                    for term in cluster.contributions
                    if term.name.startswith("AddOn/")
                    and not term.name.startswith(f"AddOn/{MOVES_SCORE}/")
                }
    return {}


def _leads(each: Return, values: ScoreValues, weights: Mapping[str, int]) -> Leads:
    found: dict[str, float] = {}
    for name, weight in weights.items():
        lead = values.get((name, each.cluster), 0) - values.get((name, each.rival or ""), 0)
        resource = name.split("/")[1]
        found[resource] = found.get(resource, 0.0) + weight * lead
    return found


def flapping_text(found: Flapping) -> str:
    """`moved back and forth 4 times within a day between eu-1 and eu-2, most of all because of cpu;
    ...`.
    """
    between = " and ".join([", ".join(found.clusters[:-1]), found.clusters[-1]])
    text = f"moved back and forth {found.returns} times within a day between {between}"
    if found.other:
        # No stickiness holds what OCM must move.
        return f"{text}, most of all because of this: {found.other}"
    if found.cause is not None:
        text += f", most of all because of {found.cause}"
    return f"{text}; gitops-dsf backtest --advise tells which stickiness would hold it"


class FlappingReporter:
    """Follows the records of the last day."""

    def __init__(self, context: ControllerContext) -> None:
        self._returns = context.metrics.flapping_returns
        self._events = context.events
        self._namespace = context.view.argocd_namespace
        self._records: dict[str, list[Record]] = {}
        self._found: Mapping[str, Flapping] | None = None

    def learn(self, records: Iterable[Record]) -> None:
        """Takes records, those that are known already too."""
        for placement, each in by_placement(records).items():
            known = {record.id: record for record in (*self._records.get(placement, ()), *each)}
            oldest = each[-1].time.timestamp() - SPAN_SECONDS - WINDOW_SECONDS
            self._records[placement] = recent([*known.values()], since=oldest, most=MAX_KEPT)

    def forget(self, placements: Collection[str]) -> None:
        """Forgets Placements that were deleted."""
        for key in placements:
            self._records.pop(key, None)

    async def assess(self, *, now: float, placements: Mapping[str, PlacementSummary]) -> None:
        """Counts again, and reports what began or ended. `placements` are those of the namespace,
        by name.
        """
        before = self._found or {}
        # In a thread, because it takes a while for thousands of Placements, and leadership must be
        # renewed.
        found = await asyncio.to_thread(_flapping, dict(self._records), now)
        self._found = found
        self._returns.set(
            {(key.partition("/")[2], each.cause or ""): each.returns for key, each in found.items()}
        )
        for key in sorted(found.keys() ^ before.keys()):
            name = key.partition("/")[2]
            if name in placements:
                about = placement_reference(name, placements[name], self._namespace)
                if key in found:
                    self._events.record(
                        about, "Flapping", f"it {flapping_text(found[key])}", warning=True
                    )
                else:
                    self._events.record(about, "FlappingEnded", "it no longer moves back and forth")

    def settled(self, resource: str) -> Condition | None:
        """The condition of the scorer that publishes this AddOnPlacementScore; None: not known
        yet.
        """
        if self._found is None:
            return None
        caused = {key: each for key, each in sorted(self._found.items()) if each.cause == resource}
        if not caused:
            return Condition(
                type=SETTLED,
                status="True",
                reason="NoFlapping",
                message="no application moves back and forth because of this score",
            )
        shown = [f"{key} {flapping_text(each)}" for key, each in list(caused.items())[:MAX_NAMED]]
        more = f"; and {len(caused) - MAX_NAMED} more Placements" if len(caused) > MAX_NAMED else ""
        message = f"{'. '.join(shown)}{more}"
        return Condition(type=SETTLED, status="False", reason="Flapping", message=message)


def _flapping(records: Mapping[str, list[Record]], now: float) -> dict[str, Flapping]:
    found = {key: flapping_of(record, now=now) for key, record in records.items()}
    return {key: each for key, each in found.items() if each is not None}
