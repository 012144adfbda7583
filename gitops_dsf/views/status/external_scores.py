"""Scores of other add-ons that rank Placements, and the clusters that have them.

Pure. A view shows these by Placement, because no object of the hub says who should publish them.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.scorers import DynamicScorer, ScoreKey
from gitops_dsf.hub.scores import PublishedScore


@dataclass(frozen=True, kw_only=True)
class Presence:
    """The presence of a score on clusters, sorted."""

    published: tuple[str, ...]
    """Clusters with a value that counts."""
    missing: tuple[str, ...]
    """Clusters without the object or the item."""
    expired: tuple[str, ...]
    endless: tuple[str, ...]
    """The clusters of `published` whose score has no end: OCM counts it for ever."""


def external_scores(
    placements: Iterable[Placement], scorers: Iterable[DynamicScorer]
) -> Mapping[ScoreKey, tuple[str, ...]]:
    """The scores that no scorer publishes, with the Placements that rank by each; both in order."""
    ours = {scorer.resource for scorer in scorers}
    ranking: dict[ScoreKey, set[str]] = {}
    for placement in placements:
        for score in ranked_by(placement):
            if score.resource not in ours:
                ranking.setdefault((score.resource, score.dimension), set()).add(placement.key)
    return {key: tuple(sorted(ranking[key])) for key in sorted(ranking)}


def presence_of(
    dimension: str,
    column: Mapping[str, PublishedScore],
    clusters: Collection[str],
    *,
    now: datetime,
) -> Presence:
    """The presence of an item of a score on these clusters. `column` has the score by cluster."""
    published: list[str] = []
    missing: list[str] = []
    ended: list[str] = []
    endless: list[str] = []
    for cluster in sorted(clusters):
        score = column.get(cluster)
        # OCM counts both as 0: an object without this item, and none at all.
        if score is None or score.get(dimension) is None:
            missing.append(cluster)
        elif expired(score.valid_until, now):
            ended.append(cluster)
        else:
            published.append(cluster)
            if score.valid_until is None:
                endless.append(cluster)
    return Presence(
        published=tuple(published),
        missing=tuple(missing),
        expired=tuple(ended),
        endless=tuple(endless),
    )
