"""One pass over all scores of the hub, for everything that depends on their age.

The status of scorers, the collection of dead scores and the warnings about Placements ask for the
same scan, because a hub may have a million scores. Not guaranteed: that it is of this moment. It
serves for some seconds, and informers may be behind; who deletes by it reads again first.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gitops_dsf.hub.decisions import clusters_by_placement
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.hub.score_states import EXPIRING_SHARE, grace
from gitops_dsf.hub.scorers import DynamicScorer, ScorerSpec
from gitops_dsf.hub.scores import PublishedScore, failures_in, without_failures
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.hub.times import moment_of
from gitops_dsf.reconciler.freshness import Assessment, Owner, assess, find_dead, owners
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.wording import plural

SCAN_SECONDS: Final = 15.0
"""The time for which a scan is reused, unless scorers change."""
MAX_NAMED: Final = 3
"""Placements that a message names."""
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """The result of one pass over the scores."""

    targets: TargetClusters
    owners: Mapping[str, Owner]
    """The scorer by the name of its scores."""
    assessments: Mapping[str, Assessment]
    """Assessments, by scorer."""
    dead: Sequence[tuple[str, str]]
    """Names and clusters of scores that expired long ago and that nothing renews."""
    zeros: Mapping[tuple[str, str], frozenset[str]]
    """Clusters counted as 0, by Placement and name of the score."""

    def affected_placements(self, resource: str) -> str:
        """The Placements that count clusters as 0 by this score, as a sentence.

        Empty if none does.
        """
        affected: list[str] = []
        for (placement, score), clusters in sorted(self.zeros.items(), key=lambda entry: entry[0]):
            if score == resource and clusters:
                count = plural(len(clusters), "cluster")
                affected.append(f"Placement {placement} counts {count} as 0")
        if len(affected) <= MAX_NAMED:
            return "; ".join(affected)
        named = "; ".join(affected[:MAX_NAMED])
        return f"{named}, and {len(affected) - MAX_NAMED} more Placements do so"


@dataclass(frozen=True, kw_only=True, slots=True)
class _ExpectedScorer:
    """The clusters where a scorer should run."""

    resource: str
    clusters: frozenset[str]
    since: dict[str, float] = field(default_factory=dict)
    """Clusters that came to be expected while this process ran, and when."""


class _LastScan(NamedTuple):
    at: float
    scorers: Mapping[str, tuple[str, ScorerSpec]]
    """The parts of each scorer that the scan depends on, by its name."""
    scan: Scan


class ScoreScanner:
    """Scans when a controller asks. `now` is the hub's time."""

    def __init__(
        self, *, view: HubView, now: Callable[[], float], seconds: float = SCAN_SECONDS
    ) -> None:
        self._view = view
        self._now = now
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._last: _LastScan | None = None
        self._expected: dict[str, _ExpectedScorer] = {}
        """The expected clusters, by the identity of the scorer."""

    async def scan(self) -> Scan:
        """The last scan, or a new one.

        Other tasks run in between.
        """
        async with self._lock:
            scorers = dict(self._view.scorers.items)
            identities: dict[str, tuple[str, ScorerSpec]] = {}
            for name, scorer in scorers.items():
                identities[name] = (scorer.identity, scorer.spec)
            last = self._last
            # A new or changed scorer is not in the last scan, and its status shall not wait for the
            # next. The age is less than 0 when the hub's clock turned out to be another.
            if (
                last is None
                or last.scorers != identities
                or not 0 <= self._now() - last.at < self._seconds
            ):
                now = self._now()
                last = _LastScan(now, identities, await self._scan(scorers, now))
                self._last = last
            return last.scan

    async def _scan(self, scorers: Mapping[str, DynamicScorer], now: float) -> Scan:
        view = self._view
        by_owner = owners(scorers.values())
        targets = TargetClusters(
            clusters=view.clusters.items,
            addons=view.addons.items,
            # A source that could not be read for long may have changed, so it counts as unknown.
            masks=None if view.masks.broken else view.masks.current,
        )
        by_resource: dict[str, list[DynamicScorer]] = defaultdict(list)
        for scorer in scorers.values():
            by_resource[scorer.resource].append(scorer)
        placements = dict(view.placements.items)
        ranked = set[tuple[str, str]]()
        for placement in placements.values():
            for prioritizer in placement.ranked_by:
                ranked.add((prioritizer.resource, prioritizer.dimension))
        assessments: dict[str, Assessment] = {}
        dead: list[tuple[str, str]] = []
        not_counted: dict[tuple[str, str], frozenset[str]] = {}
        published: dict[str, Mapping[str, PublishedScore]] = {}
        expected: dict[str, _ExpectedScorer] = {}
        # Equal sets of clusters are kept once: many scorers run on the same clusters.
        same: dict[frozenset[str], frozenset[str]] = {}
        for resource in {*view.scores.columns, *by_resource, *(name for name, _ in ranked)}:
            objects = view.scores.of(resource)
            failures = failures_in(objects)
            # To OCM an object that only says why there is no score is the same as none.
            column = without_failures(objects) if failures else objects
            published[resource] = column
            here = by_resource.get(resource, [])
            late = _late(column, here, now=now)
            for scorer in here:
                clusters = targets.expected(scorer)
                expectation = self._expectation(scorer, same.setdefault(clusters, clusters), now)
                expected[scorer.identity] = expectation
                assessments[scorer.name] = assess(
                    scorer,
                    late,
                    published=column.keys(),
                    expected=expectation.clusters,
                    since=_since(scorer, targets, expectation),
                    masks_known=targets.masks is not None,
                    now=now,
                    failures=failures,
                    expire=view.delivery.is_ours,
                )
            dimensions = [dimension for name, dimension in ranked if name == resource]
            for dimension, clusters in _not_counted(column, late, dimensions, now=now).items():
                not_counted[resource, dimension] = clusters
            # An object that only says why there is no score is in no column. When its agent is
            # gone, nothing else would delete it.
            scoreless: dict[str, PublishedScore] = {}
            for name in failures:
                if name not in column:
                    scoreless[name] = objects[name]
            dead += find_dead(
                resource,
                late | scoreless,
                clusters=view.clusters.items,
                addons=view.addons.items,
                owner=by_owner.get(resource),
                now=now,
            )
            # A hub may have a million scores, and the Lease must be renewed meanwhile.
            await asyncio.sleep(0)
        self._expected = expected
        zeros = await self._zeros(placements, by_owner, assessments, not_counted, published)
        return Scan(
            targets=targets, owners=by_owner, assessments=assessments, dead=dead, zeros=zeros
        )

    def _expectation(
        self, scorer: DynamicScorer, clusters: frozenset[str], now: float
    ) -> _ExpectedScorer:
        """The clusters where the scorer should run now, and since when.

        After its name has changed, all its scores are new.
        """
        before = self._expected.get(scorer.identity)
        since: dict[str, float] = {}
        if before is not None:
            patience = grace(scorer.interval)
            for name, expected_since in before.since.items():
                # After the grace it makes no difference any more since when, so it is forgotten.
                if now < expected_since + patience and name in clusters:
                    since[name] = expected_since
            is_renamed = before.resource != scorer.resource
            new = clusters if is_renamed else clusters - before.clusters
            since.update(dict.fromkeys(new, now))
        return _ExpectedScorer(resource=scorer.resource, clusters=clusters, since=since)

    async def _zeros(
        self,
        placements: Mapping[str, PlacementSummary],
        by_owner: Mapping[str, Owner],
        assessments: Mapping[str, Assessment],
        not_counted: Mapping[tuple[str, str], frozenset[str]],
        published: Mapping[str, Mapping[str, PublishedScore]],
    ) -> Mapping[tuple[str, str], frozenset[str]]:
        view = self._view
        zeros: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
        if not (view.placements.synced.is_set() and view.decisions.synced.is_set()):
            return zeros
        decided_by = clusters_by_placement(view.decisions.items.values())
        for name, placement in placements.items():
            for prioritizer in placement.ranked_by:
                resource = prioritizer.resource
                owner = by_owner.get(resource)
                zeros[name, resource] |= counted_as_zero(
                    placement,
                    clusters=view.clusters.items,
                    decided=decided_by.get(name, _NONE),
                    scores=published[resource],
                    not_counted=not_counted[resource, prioritizer.dimension],
                    assessment=None if owner is None else assessments[owner.item.name],
                )
            await asyncio.sleep(0)
        return zeros


def _late(
    column: Mapping[str, PublishedScore], scorers: Iterable[DynamicScorer], *, now: float
) -> dict[str, PublishedScore]:
    """The scores that are not clearly fresh.

    The scores of a healthy fleet are all left out here.
    """
    # With the longest TTL of its scorers: what is late for one of them must not be left out.
    ttl = max((scorer.ttl for scorer in scorers), default=0.0)
    soon = moment_of(now + EXPIRING_SHARE * ttl)
    return {
        cluster: score
        for cluster, score in column.items()
        if score.valid_until is None or score.valid_until < soon or not score.names
    }


def _not_counted(
    column: Mapping[str, PublishedScore],
    late: Mapping[str, PublishedScore],
    dimensions: Sequence[str],
    *,
    now: float,
) -> dict[str, frozenset[str]]:
    """The clusters whose score does not count, by dimension: it expired, or lacks the dimension."""
    if not dimensions:
        return {}
    moment = moment_of(now)
    expired = set[str]()
    for cluster, score in late.items():
        # As OCM compares (v1.2.1, plugins/addon): a score still counts at the very time it names.
        if score.valid_until is not None and moment > score.valid_until:
            expired.add(cluster)
    # Most scores of a column have the same names, so few sets are compared in place of all scores.
    all_names = {score.names for score in column.values()}
    by_dimension: dict[str, frozenset[str]] = {}
    for dimension in dimensions:
        clusters = set(expired)
        if any(dimension not in names for names in all_names):
            for cluster, score in column.items():
                if dimension not in score.names:
                    clusters.add(cluster)
        by_dimension[dimension] = frozenset(clusters)
    return by_dimension


def _since(
    scorer: DynamicScorer, targets: TargetClusters, known: _ExpectedScorer
) -> Callable[[str], float]:
    return lambda cluster: max(
        scorer.created, targets.since(cluster, scorer), known.since.get(cluster, 0.0)
    )


def counted_as_zero(
    placement: PlacementSummary,
    *,
    clusters: Mapping[str, ManagedCluster],
    decided: Iterable[str],
    scores: Mapping[str, PublishedScore],
    not_counted: frozenset[str],
    assessment: Assessment | None,
) -> frozenset[str]:
    """Clusters that a Placement counts as 0 by one prioritizer.

    docs/decisions/scheduler.md#what-the-scores-do-not-say has the rule of OCM.

    `scores` and `not_counted` are those of its resource and dimension, and `assessment` that of its
    scorer (None when no scorer of ours publishes the resource).

    A cluster that the Placement may choose, by labels and claims, is counted when its score is
    missing or does not count: ManagedClusterSets and CEL expressions are not evaluated. A decided
    cluster is counted when it has no score. Clusters where the scorer is new are not counted, and
    masked clusters only when they are decided.
    """
    suspects = not_counted
    waiting = _NONE
    if assessment is not None:
        suspects = not_counted | assessment.missing
        waiting = assessment.waiting
    zeros = set[str]()
    for name in suspects:
        cluster = clusters.get(name)
        # OCM decides for no cluster that is being deleted.
        if cluster is None or cluster.deleting:
            continue
        if not placement.predicates or placement.may_choose(
            labels=cluster.labels, claims=cluster.claims
        ):
            zeros.add(name)
    # Without a look at labels and claims: OCM has chosen it, so they fit.
    for name in decided:
        if (name not in scores or name in not_counted) and name not in waiting:
            zeros.add(name)
    return frozenset(zeros)
