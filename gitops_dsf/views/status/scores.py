"""Scorers by clusters: what is published, how old it is, and what is missing. Time is the hub's."""

from collections.abc import Iterable, Iterator, Mapping

from gitops_dsf.hub.freshness import State, state_of, state_of_absent
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import Cell, ScorerView

NOTHING: Mapping[str, int] = {}


def scorer_views(scorers: Iterable[DynamicScorer], inputs: Inputs) -> tuple[ScorerView, ...]:
    """Every scorer on every cluster, by name."""
    addons = inputs.addons if inputs.knows(Part.ADDONS) else None
    targets = TargetClusters(clusters=inputs.clusters, addons=addons, masks=inputs.masks)
    return tuple(_view(scorer, targets, inputs) for scorer in sorted(scorers, key=lambda item: item.name))


def _view(scorer: DynamicScorer, targets: TargetClusters, inputs: Inputs) -> ScorerView:
    suspended = "git" if scorer.spec.suspend else "reconciler" if scorer.score_name in inputs.suspended else ""
    known = inputs.knows(Part.SCORES, Part.CLUSTERS)
    cells = tuple(_cells(scorer, targets, inputs)) if known else ()
    return ScorerView(scorer=scorer, suspended=suspended, known=known, cells=cells)


def _cells(scorer: DynamicScorer, targets: TargetClusters, inputs: Inputs) -> Iterator[Cell]:
    published = inputs.snapshot.scores.get(scorer.resource, {})
    # The reconciler's suspension leaves scores until they expire; one by git removes them.
    expected, selected, masked = targets.expected(scorer), targets.selected(scorer), targets.masked(scorer.score_name)
    now, ttl = inputs.now.timestamp(), scorer.ttl
    for cluster in sorted(selected | published.keys()):
        wanted, found = cluster in expected, published.get(cluster)
        if found is not None:
            until = None if found.valid_until is None else found.valid_until.timestamp()
            state = state_of(until, filled=bool(found.values), ttl=ttl, now=now)
            age = None if until is None else max(0.0, ttl - (until - now))
            yield Cell(cluster=cluster, state=state, values=found.values, valid_until=found.valid_until, age=age, expected=wanted)
        elif wanted:
            state = state_of_absent(since=max(scorer.created, targets.since(cluster)), interval=scorer.interval, now=now)
            yield Cell(cluster=cluster, state=state, values=NOTHING, valid_until=None, age=None, expected=True)
        elif cluster in masked:
            yield Cell(cluster=cluster, state=State.MASKED, values=NOTHING, valid_until=None, age=None, expected=False)
