"""The judgement of every scorer, made anew only when something about it changed: a hub has hundreds of
thousands of scores.

A score that is renewed in time changes nothing but its end, and that only later; so a healthy fleet is looked
through once in a quarter of the TTL, not with every look at what expired.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import Final

from gitops_dsf.hub.freshness import expired, grace
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.reconciler.freshness.judge import Scored, judge
from gitops_dsf.reconciler.hub.scores import ScoreSummary
from gitops_dsf.reconciler.hub.view import HubView

_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(kw_only=True, slots=True)
class _Entry:
    """What is known of one scorer."""

    scorer: tuple[str, int]
    resource: str
    targets: TargetClusters
    version: int
    expected: frozenset[str]
    scored: Scored
    at: float
    since: dict[str, float] = field(default_factory=dict)
    """Clusters that came to be expected while we looked, and when."""
    renamed: float = 0.0
    """When its scores got another name while we looked: they are all new then."""


class Book:
    """Listens to the view's scores for as long as the view lives."""

    def __init__(self, view: HubView) -> None:
        self._view = view
        self._entries: dict[str, _Entry] = {}
        self._late: dict[str, frozenset[str]] = {}
        """By resource: clusters whose renewal changes a judgement."""
        self._versions: Counter[str] = Counter()
        self._dead: dict[tuple[str, str], tuple[int, float, float, frozenset[str]]] = {}
        view.scores.compare(self._on_score)

    def judge(self, scorer: DynamicScorer, *, now: float) -> Scored:
        """As things are; cheap when nothing changed."""
        name, resource, targets = scorer.name, scorer.resource, self._view.targets
        identity = (scorer.metadata.uid, scorer.metadata.generation)
        before, version = self._entries.get(name), self._versions[resource]
        if (
            before is not None
            and (before.scorer, before.version) == (identity, version)
            and before.targets is targets
            and before.at <= now < before.scored.until
        ):
            return before.scored
        expected = targets.expected(scorer)
        since, renamed = _news(before, scorer, expected, now)
        scored = judge(
            scorer,
            self._view.scores.of(resource),
            expected=expected,
            since=lambda cluster: max(
                scorer.created, renamed, targets.since(cluster), since.get(cluster, 0.0)
            ),
            masks_known=targets.masks_known,
            now=now,
        )
        self._late[resource] = scored.expiring | scored.expired | scored.endless
        self._entries[name] = _Entry(
            scorer=identity,
            resource=resource,
            targets=targets,
            version=version,
            expected=expected,
            scored=scored,
            at=now,
            since=since,
            renamed=renamed,
        )
        return scored

    def dead(self, resource: str, dimension: str, *, now: float) -> frozenset[str]:
        """Clusters that published, but not what a Placement could count: the score expired, or has no such
        item.

        By OCM's rules (docs/contributing/ocm-behaviour.md#validity-of-scores), whoever wrote the score.
        """
        known, version = self._dead.get((resource, dimension)), self._versions[resource]
        if known is not None and known[0] == version and known[1] <= now < known[2]:
            return known[3]
        until, found = inf, set[str]()
        for cluster, item in self._view.scores.of(resource).items():
            if not item.has(dimension) or expired(item.valid_until, now):
                found.add(cluster)
            elif item.valid_until is not None:
                until = min(until, item.valid_until)
        clusters = frozenset(found)
        self._dead[resource, dimension] = (version, now, until, clusters)
        return clusters

    def scored(self, name: str) -> Scored | None:
        """The last judgement of a scorer."""
        entry = self._entries.get(name)
        return None if entry is None else entry.scored

    def keep(self, *, scorers: set[str], ranked: set[tuple[str, str]]) -> None:
        """Forgets other scorers, and other (resource, dimension) pairs."""
        for name in self._entries.keys() - scorers:
            del self._entries[name]
        resources = {entry.resource for entry in self._entries.values()}
        for resource in self._late.keys() - resources:
            del self._late[resource]
        for pair in self._dead.keys() - ranked:
            del self._dead[pair]
        for resource in self._versions.keys() - resources - {resource for resource, _ in ranked}:
            del self._versions[resource]

    def _on_score(self, key: str, before: ScoreSummary | None, after: ScoreSummary | None) -> None:
        cluster, _, resource = key.partition("/")
        late = self._late.get(resource)
        if late is None or cluster in late or not _renewed(before, after):
            self._versions[resource] += 1


def _renewed(before: ScoreSummary | None, after: ScoreSummary | None) -> bool:
    """Whether all that changed is that it ends later."""
    if before is None or after is None:
        return False
    same = before.names == after.names and bool(before.count) == bool(after.count)
    if before.valid_until is None or after.valid_until is None:
        return same and before.valid_until == after.valid_until
    return same and after.valid_until >= before.valid_until


def _news(
    before: _Entry | None, scorer: DynamicScorer, expected: frozenset[str], now: float
) -> tuple[dict[str, float], float]:
    """Since when clusters are expected that were not before, and since when its scores have this name, as far
    as it was seen.
    """
    if before is None or before.scorer[0] != scorer.metadata.uid:
        return {}, 0.0
    patience = grace(scorer.interval)
    since = {
        cluster: at for cluster, at in before.since.items() if now < at + patience and cluster in expected
    }
    since.update(dict.fromkeys(expected - before.expected, now))
    return since, before.renamed if before.resource == scorer.resource else now
