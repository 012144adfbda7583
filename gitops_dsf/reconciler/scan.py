"""One look at all scores of the hub, for everything that depends on their age."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.hub.metadata import moment_of
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.placements import PlacementSummary, clusters_by_placement
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import EXPIRING_SHARE, Score, grace
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.reconciler.freshness import Assessment, Owner, assess, find_dead, owners
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.wording import plural

SCAN_SECONDS: Final = 15.0
"""For so long one look serves, unless scorers change."""
NAMED: Final = 3
"""Placements that a message names at most."""
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    targets: TargetClusters
    owners: Mapping[str, Owner]
    """The scorer by the name of its scores."""
    assessments: Mapping[str, Assessment]
    """By scorer."""
    dead: Sequence[tuple[str, str]]
    """Names and clusters of scores that expired long ago, and that nobody renews."""
    zeros: Mapping[tuple[str, str], frozenset[str]]
    """Clusters counted as 0, by Placement and name of the score."""

    def affected_placements(self, resource: str) -> str:
        """A sentence about the Placements that count clusters as 0 by this score; empty when none does."""
        words = [
            f"Placement {name} counts {plural(len(clusters), 'cluster')} as 0"
            for (name, each), clusters in sorted(self.zeros.items(), key=lambda item: item[0])
            if each == resource and clusters
        ]
        more = f", and {len(words) - NAMED} more Placements do so" if len(words) > NAMED else ""
        return "; ".join(words[:NAMED]) + more


@dataclass(frozen=True, kw_only=True, slots=True)
class _Expected:
    resource: str
    clusters: frozenset[str]
    since: dict[str, float] = field(default_factory=dict)
    """Clusters that came to be expected while this process ran, and when."""


class ScoreScanner:
    """Looks when somebody asks. `now` is the hub's time."""

    def __init__(
        self, *, view: HubView, now: Callable[[], float], seconds: float = SCAN_SECONDS
    ) -> None:
        self._view, self._now, self._seconds = view, now, seconds
        self._lock = asyncio.Lock()
        self._last: tuple[float, set[tuple[str, int]], Scan] | None = None
        """When, of which scorers, and the result."""
        self._expected: dict[str, _Expected] = {}
        """By the scorer's UID."""

    async def scan(self) -> Scan:
        """The last look, or a new one. Yields to other tasks in between."""
        async with self._lock:
            scorers = dict(self._view.scorers.items)
            identities = {
                (item.metadata.uid, item.metadata.generation) for item in scorers.values()
            }
            last = self._last
            if (
                last is None
                or last[1] != identities
                # Less than 0 when the hub's clock turned out to be another.
                or not 0 <= self._now() - last[0] < self._seconds
            ):
                now = self._now()
                last = (now, identities, await self._look(scorers, now))
                self._last = last
            return last[2]

    async def _look(self, scorers: Mapping[str, DynamicScorer], now: float) -> Scan:
        view, by_owner = self._view, owners(scorers.values())
        targets = TargetClusters(
            clusters=view.clusters.items,
            addons=view.addons.items,
            masks=None if view.masks.broken else view.masks.current,
        )
        by_resource: dict[str, list[DynamicScorer]] = defaultdict(list)
        for item in scorers.values():
            by_resource[item.resource].append(item)
        placements = dict(view.placements.items)
        ranked = {
            (each.resource, each.dimension)
            for item in placements.values()
            for each in item.ranked_by
        }
        assessments: dict[str, Assessment] = {}
        dead: list[tuple[str, str]] = []
        not_counted: dict[tuple[str, str], frozenset[str]] = {}
        expected: dict[str, _Expected] = {}
        shared: dict[frozenset[str], frozenset[str]] = {}
        moment = moment_of(now)
        for resource in {*view.scores.columns, *by_resource, *(name for name, _ in ranked)}:
            column, here = view.scores.of(resource), by_resource.get(resource, [])
            soon = moment_of(now + EXPIRING_SHARE * max((item.ttl for item in here), default=0.0))
            # The scores of a healthy fleet are all left out here.
            late = {
                cluster: score
                for cluster, score in column.items()
                if score.valid_until is None or score.valid_until < soon or not score.names
            }
            for item in here:
                uid, wanted = item.metadata.uid, targets.expected(item)
                known = expected[uid] = self._expectation(
                    item, shared.setdefault(wanted, wanted), now
                )
                assessments[item.name] = assess(
                    item,
                    late,
                    published=column.keys(),
                    expected=known.clusters,
                    since=_since(item, targets, known),
                    masks_known=targets.masks is not None,
                    now=now,
                )
            dimensions = [dimension for name, dimension in ranked if name == resource]
            names = {score.names for score in column.values()} if dimensions else set()
            for dimension in dimensions:
                expired = {
                    cluster
                    for cluster, score in late.items()
                    if score.valid_until is not None and moment > score.valid_until
                }
                if any(dimension not in each for each in names):
                    expired |= {
                        name for name, score in column.items() if dimension not in score.names
                    }
                not_counted[resource, dimension] = frozenset(expired)
            dead += find_dead(
                resource,
                late,
                clusters=view.clusters.items,
                addons=view.addons.items,
                owner=by_owner.get(resource),
                now=now,
            )
            await asyncio.sleep(0)
        self._expected = expected
        zeros = await self._zeros(placements, by_owner, assessments, not_counted)
        return Scan(
            targets=targets, owners=by_owner, assessments=assessments, dead=dead, zeros=zeros
        )

    def _expectation(self, item: DynamicScorer, clusters: frozenset[str], now: float) -> _Expected:
        """Where it should run now, and since when. After a change of their name all its scores are new."""
        before, since = self._expected.get(item.metadata.uid), dict[str, float]()
        if before is not None:
            patience = grace(item.interval)
            since = {
                name: at
                for name, at in before.since.items()
                if now < at + patience and name in clusters
            }
            renamed = before.resource != item.resource
            since.update(dict.fromkeys(clusters if renamed else clusters - before.clusters, now))
        return _Expected(resource=item.resource, clusters=clusters, since=since)

    async def _zeros(
        self,
        placements: Mapping[str, PlacementSummary],
        by_owner: Mapping[str, Owner],
        assessments: Mapping[str, Assessment],
        not_counted: Mapping[tuple[str, str], frozenset[str]],
    ) -> Mapping[tuple[str, str], frozenset[str]]:
        view = self._view
        found: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
        if not (view.placements.synced.is_set() and view.decisions.synced.is_set()):
            return found
        decided_by = clusters_by_placement(view.decisions.items.values())
        for name, item in placements.items():
            for each in item.ranked_by:
                owner = by_owner.get(each.resource)
                found[name, each.resource] |= counted_as_zero(
                    item,
                    clusters=view.clusters.items,
                    decided=decided_by.get(name, _NONE),
                    scores=view.scores.of(each.resource),
                    not_counted=not_counted[each.resource, each.dimension],
                    assessment=None if owner is None else assessments[owner.item.name],
                )
            await asyncio.sleep(0)
        return found


def _since(
    item: DynamicScorer, targets: TargetClusters, known: _Expected
) -> Callable[[str], float]:
    return lambda cluster: max(
        item.created, targets.since(cluster, item), known.since.get(cluster, 0.0)
    )


def counted_as_zero(
    placement: PlacementSummary,
    *,
    clusters: Mapping[str, ManagedCluster],
    decided: Iterable[str],
    scores: Mapping[str, Score],
    not_counted: frozenset[str],
    assessment: Assessment | None,
) -> frozenset[str]:
    """Clusters that a Placement counts as 0 by one prioritizer
    (docs/decisions/scheduler.md#what-the-scores-do-not-say). `scores` and `not_counted` are those of its
    resource and dimension, and `assessment` that of its scorer (None when no scorer of ours publishes the
    resource).

    A cluster that the Placement may choose, by labels and claims, is counted when its score is missing or
    does not count: ManagedClusterSets and CEL expressions are not evaluated. A decided cluster is counted
    when it has no score. Clusters where the scorer is new are not counted, and masked clusters only when they
    are decided.
    """
    suspects = not_counted if assessment is None else not_counted | assessment.missing
    found = {
        name
        for name in suspects
        if (cluster := clusters.get(name)) is not None
        and not cluster.deleting
        and (
            not placement.predicates
            or placement.may_choose(labels=cluster.labels, claims=cluster.claims)
        )
    }
    waiting = assessment.waiting if assessment is not None else _NONE
    found.update(
        name
        for name in decided
        if (name not in scores or name in not_counted) and name not in waiting
    )
    return frozenset(found)
