"""The assessment of every scorer, made again only when something about it changed: a hub has hundreds of
thousands of scores.

A score that is renewed in time only expires later, which changes no assessment. So the scores of a healthy
fleet are assessed once in a quarter of the TTL, and not in every pass.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import inf

from gitops_dsf.hub.freshness import expired, grace
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.reconciler.freshness.assessment import Assessment, assess
from gitops_dsf.reconciler.hub.scores import ScoreSummary
from gitops_dsf.reconciler.hub.view import HubView


@dataclass(kw_only=True, slots=True)
class _Entry:
    """The last assessment of one scorer, and what it was made from."""

    scorer: tuple[str, int]
    resource: str
    targets: TargetClusters
    version: int
    expected: frozenset[str]
    assessment: Assessment
    at: float
    since: dict[str, float] = field(default_factory=dict)
    """Clusters that came to be expected while this process ran, and when."""
    renamed: float = 0.0
    """When its scores got another name while this process ran: then all of them are new."""


class AssessmentCache:
    """Listens to the view's scores for as long as the view lives."""

    def __init__(self, view: HubView) -> None:
        self._view = view
        self._entries: dict[str, _Entry] = {}
        self._late: dict[str, frozenset[str]] = {}
        """By resource: clusters whose score is not fresh, so that its renewal changes the assessment."""
        self._versions: Counter[str] = Counter()
        self._not_counted: dict[tuple[str, str], tuple[int, float, float, frozenset[str]]] = {}
        view.scores.compare(self._on_score)

    def assess(self, scorer: DynamicScorer, *, now: float) -> Assessment:
        """The scorer's scores as they are now. Returns the same object as before when nothing changed."""
        name, resource, targets = scorer.name, scorer.resource, self._view.targets
        identity = (scorer.metadata.uid, scorer.metadata.generation)
        before, version = self._entries.get(name), self._versions[resource]
        if (
            before is not None
            and (before.scorer, before.version) == (identity, version)
            and before.targets is targets
            and before.at <= now < before.assessment.until
        ):
            return before.assessment
        expected = targets.expected(scorer)
        since, renamed = _changes(before, scorer, expected, now)
        assessment = assess(
            scorer,
            self._view.scores.of(resource),
            expected=expected,
            since=lambda cluster: max(
                scorer.created, renamed, targets.since(cluster, scorer), since.get(cluster, 0.0)
            ),
            masks_known=targets.masks_known,
            now=now,
        )
        self._late[resource] = assessment.expiring | assessment.expired | assessment.endless
        self._entries[name] = _Entry(
            scorer=identity,
            resource=resource,
            targets=targets,
            version=version,
            expected=expected,
            assessment=assessment,
            at=now,
            since=since,
            renamed=renamed,
        )
        return assessment

    def not_counted(self, resource: str, dimension: str, *, now: float) -> frozenset[str]:
        """Clusters with a score that OCM counts as 0: it expired, or has no item for the dimension.

        By OCM's rules (docs/contributing/ocm-behaviour.md#validity-of-scores), whoever wrote the score.
        """
        known, version = self._not_counted.get((resource, dimension)), self._versions[resource]
        if known is not None and known[0] == version and known[1] <= now < known[2]:
            return known[3]
        until, found = inf, set[str]()
        for cluster, item in self._view.scores.of(resource).items():
            if not item.has(dimension) or expired(item.valid_until, now):
                found.add(cluster)
            elif item.valid_until is not None:
                until = min(until, item.valid_until)
        clusters = frozenset(found)
        self._not_counted[resource, dimension] = (version, now, until, clusters)
        return clusters

    def keep_only(self, *, scorers: set[str], ranked: set[tuple[str, str]]) -> None:
        """Forgets all other scorers, and all other pairs of resource and dimension."""
        for name in self._entries.keys() - scorers:
            del self._entries[name]
        resources = {entry.resource for entry in self._entries.values()}
        for resource in self._late.keys() - resources:
            del self._late[resource]
        for pair in self._not_counted.keys() - ranked:
            del self._not_counted[pair]
        for resource in self._versions.keys() - resources - {resource for resource, _ in ranked}:
            del self._versions[resource]

    def _on_score(self, key: str, before: ScoreSummary | None, after: ScoreSummary | None) -> None:
        cluster, _, resource = key.partition("/")
        late = self._late.get(resource)
        if late is None or cluster in late or not _renewed(before, after):
            self._versions[resource] += 1


def _renewed(before: ScoreSummary | None, after: ScoreSummary | None) -> bool:
    """Whether the only change is that the score expires later."""
    if before is None or after is None:
        return False
    same = before.names == after.names and bool(before.count) == bool(after.count)
    if before.valid_until is None or after.valid_until is None:
        return same and before.valid_until == after.valid_until
    return same and after.valid_until >= before.valid_until


def _changes(
    before: _Entry | None, scorer: DynamicScorer, expected: frozenset[str], now: float
) -> tuple[dict[str, float], float]:
    """When clusters came to be expected, and when the scores got their present name, as far as this process
    saw it.
    """
    if before is None or before.scorer[0] != scorer.metadata.uid:
        return {}, 0.0
    patience = grace(scorer.interval)
    since = {
        cluster: at for cluster, at in before.since.items() if now < at + patience and cluster in expected
    }
    since.update(dict.fromkeys(expected - before.expected, now))
    return since, before.renamed if before.resource == scorer.resource else now
