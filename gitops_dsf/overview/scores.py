"""Scorers by clusters: what is published, how old it is, and what is missing. Time is the hub's."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from gitops_dsf.overview.inputs import Inputs, Part
from gitops_dsf.overview.model import Cell, ScorerView, State
from gitops_dsf.overview.scorer import Scorer
from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.glob import matches
from gitops_dsf.snapshot.values import PublishedScore

NOTHING: Mapping[str, int] = {}


def scorer_views(scorers: Iterable[Scorer], inputs: Inputs) -> tuple[ScorerView, ...]:
    """Every scorer on every cluster, by name."""
    fleet = _Fleet(inputs)
    return tuple(_view(scorer, fleet, inputs) for scorer in sorted(scorers, key=lambda item: item.name))


class _Fleet:
    """Where scorers should run, as far as the hub tells: their selectors, the masks, and the clusters that have an agent."""

    def __init__(self, inputs: Inputs) -> None:
        clusters = inputs.snapshot.clusters
        self._labels = {name: dict((facts.get("metadata") or {}).get("labels") or {}) for name, facts in clusters.items()}
        self._served = inputs.addons & self._labels.keys() if inputs.knows(Part.ADDONS) else frozenset(self._labels)
        self._masks = [(mask, self._named(mask)) for mask in inputs.masks]

    def selected(self, scorer: Scorer) -> frozenset[str]:
        """Clusters with an agent that the scorer's selector names."""
        if scorer.selector is None:
            return self._served
        return frozenset(self._matching(scorer.selector, self._served))

    def masked(self, scorer: Scorer) -> frozenset[str]:
        """Clusters that masks keep the scorer from."""
        found = [clusters for mask, clusters in self._masks if matches(scorer.score_name, mask.score_name)]
        return frozenset().union(*found)

    def _named(self, mask: Mask) -> frozenset[str]:
        if mask.cluster_selector is not None:
            return frozenset(self._matching(mask.cluster_selector, self._labels))
        return frozenset(name for name in self._labels if matches(name, mask.cluster_name or ""))

    def _matching(self, selector: LabelSelector, names: Iterable[str]) -> Iterator[str]:
        return (name for name in names if selector.matches(self._labels[name]))


def _view(scorer: Scorer, fleet: _Fleet, inputs: Inputs) -> ScorerView:
    suspended = "git" if scorer.suspend else "reconciler" if scorer.score_name in inputs.suspended else ""
    known = inputs.knows(Part.SCORES, Part.CLUSTERS)
    cells = tuple(_cells(scorer, fleet, inputs)) if known else ()
    return ScorerView(scorer=scorer, suspended=suspended, known=known, cells=cells)


def _cells(scorer: Scorer, fleet: _Fleet, inputs: Inputs) -> Iterator[Cell]:
    published = inputs.snapshot.scores.get(scorer.resource, {})
    selected, masked = fleet.selected(scorer), fleet.masked(scorer)
    # Of the reconciler's suspension scores stay until they expire; of a suspension by git they are removed.
    runs = scorer.published and not scorer.suspend
    for cluster in sorted(selected | published.keys()):
        expected = runs and cluster in selected and cluster not in masked
        found = published.get(cluster)
        if found is not None:
            state, age = _standing(found, ttl=scorer.ttl, now=inputs.now)
            yield Cell(cluster=cluster, state=state, values=found.values, valid_until=found.valid_until, age=age, expected=expected)
        elif expected:
            yield Cell(cluster=cluster, state=State.MISSING, values=NOTHING, valid_until=None, age=None, expected=True)
        elif cluster in masked:
            yield Cell(cluster=cluster, state=State.MASKED, values=NOTHING, valid_until=None, age=None, expected=False)


def _standing(found: PublishedScore, *, ttl: int, now: datetime) -> tuple[State, float | None]:
    """State and age. OCM's rule (addon.go): a score counts until the moment after validUntil, and for ever without one."""
    until = found.valid_until
    if until is None:
        return (State.ENDLESS if found.values else State.EMPTY), None
    left = (until - now).total_seconds()
    age = max(0.0, ttl - left)
    if not found.values:
        return State.EMPTY, age
    if left < 0:
        return State.EXPIRED, age
    return (State.EXPIRING if left < ttl / 4 else State.FRESH), age
