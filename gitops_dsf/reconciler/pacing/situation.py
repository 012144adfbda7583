"""The inputs of an admission and of refuges, as read from the hub.

Most come from informers. Sets and bindings are listed, because nothing else watches them.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from typing import Final

import msgspec

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet, Taint, Toleration
from gitops_dsf.hub.pace import paced_ranking
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.assumptions import next_measured
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.pacing.maintenance import CORDON, NOTHING, OpenWindows, tainted, without_drained
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState, Outcome, simulate_placement
from gitops_dsf.simulator.taints import fits, tolerated_until

POLL_SECONDS: Final = 30.0
"""The time between two lists of ManagedClusterSets and bindings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """The inputs of the desired moves. Equal inputs give equal moves."""

    clusters: Mapping[str, ManagedCluster]
    sets: tuple[ManagedClusterSet, ...]
    bindings: tuple[str, ...]
    """Names of the bindings of the Argo CD namespace."""
    paced: Mapping[str, Paced]
    decided: Mapping[str, frozenset[str]]
    versions: tuple[int, ...]
    """Versions of the scores, by which the scores are compared."""
    scores: Mapping[str, Mapping[str, PublishedScore]] = field(compare=False)
    """The scores that rank paced Placements. They are those of the view, so they change."""
    maintenance: OpenWindows = NOTHING
    """The open maintenance windows.

    Cordoned clusters have the taint here before they have it on the hub.
    """
    refused: Mapping[str, str] = field(default_factory=dict)
    """The reasons why clusters and Placements get no items of moves.

    Such a cluster is cordoned here, so that moves go to others.
    """
    changing_targets: frozenset[str] = frozenset()
    """Clusters that decisions name which keep changing."""

    def without_scores(self) -> "Inputs":
        """The inputs to compare later ones with.

        With their scores, those of an earlier list would stay in memory.
        """
        return replace(self, scores={})


class SituationReader:
    """Reads the hub for admissions."""

    def __init__(self, *, api: HubApi, view: HubView) -> None:
        self._api = api
        self._view = view
        self._sets: tuple[ManagedClusterSet, ...] = ()
        self._bindings: tuple[str, ...] = ()
        self._next_poll = 0.0
        self._paced: Mapping[str, Paced] = {}
        """The last answer of `paced`.

        Placements that have not changed since are the same objects.
        """

    def paced(self) -> dict[str, Paced]:
        """The paced Placements by namespace/name, without those whose annotation cannot be read."""
        by_key: dict[str, Paced] = {}
        for summary in self._view.placements.items.values():
            placement = summary.paced
            if placement is None or placement.metadata.deleting:
                continue
            earlier = self._paced.get(placement.key)
            if earlier is not None and earlier.placement is placement:
                by_key[placement.key] = earlier
                continue
            with contextlib.suppress(msgspec.DecodeError):
                ranking = paced_ranking(placement)
                if ranking is not None:
                    by_key[placement.key] = Paced.of(placement, ranking)
        self._paced = by_key
        return by_key

    async def read(
        self,
        paced: Mapping[str, Paced],
        decided: Mapping[str, frozenset[str]],
        *,
        now: float,
        maintenance: OpenWindows = NOTHING,
        refused: Mapping[str, str] | None = None,
    ) -> Inputs:
        """The inputs of the desired moves. Raises ApiError."""
        # They change rarely, so a list now and then is enough.
        if now >= self._next_poll:
            sets = await self._api.cluster_sets()
            bound = await self._api.bound_sets(self._view.argocd_namespace)
            # Only now: if one of the lists fails, both stay as they were.
            self._sets = tuple(sets)
            self._bindings = tuple(bound)
            self._next_poll = now + POLL_SECONDS
        refused = refused or {}
        # A cluster that refuses items counts as cordoned: OCM could not be drawn there.
        # A key without a slash is a cluster, and one with a slash a Placement.
        closed = maintenance.cordoned.union(name for name in refused if "/" not in name)
        resources = _resources_of(paced)
        scores = self._view.scores
        return Inputs(
            clusters=tainted(self._view.clusters.items, closed, effect=CORDON),
            sets=self._sets,
            bindings=self._bindings,
            paced=paced,
            decided=decided,
            versions=tuple(scores.version(resource) for resource in resources),
            scores={resource: scores.of(resource) for resource in resources},
            maintenance=maintenance,
            refused=refused,
        )


def _resources_of(paced: Mapping[str, Paced]) -> list[str]:
    """Names of the AddOnPlacementScores that rank these Placements, in order."""
    resources = set[str]()
    for placement in paced.values():
        resources.update(term.resource for term in placement.ranking.terms)
    return sorted(resources)


def situation_of(inputs: Inputs, *, ledger: Ledger, pace: Pace, now: float) -> Situation:
    """The situation of an admission. Pure, and slow for large fleets."""
    pages = []
    for key, clusters in sorted(inputs.decided.items()):
        namespace, _, name = key.partition("/")
        pages.append(decision_of(namespace=namespace, placement=name, clusters=sorted(clusters)))
    namespaces = {key.partition("/")[0] for key in inputs.paced}
    state = HubState.of(
        clusters=inputs.clusters.values(),
        sets=inputs.sets,
        bindings=list(product(namespaces, inputs.bindings)),
        placements=[paced.placement for paced in inputs.paced.values()],
        decisions=pages,
        # Copied here, so that there is one copy, and only meanwhile. Copying a dict is atomic in
        # CPython.
        scores={name: dict(column) for name, column in inputs.scores.items()},
    )
    effect = inputs.maintenance
    return Situation(
        hub=state,
        paced=inputs.paced,
        ledger=ledger,
        pace=pace,
        now=datetime.fromtimestamp(now, UTC),
        frozen=effect.frozen,
        refused=inputs.refused,
        changing_targets=inputs.changing_targets,
        drained=without_drained(state, effect),
        leaving=frozenset(effect.drained),
    )


def could_decide(inputs: Inputs, placement: str, cluster: str, *, now: float) -> bool:
    """Whether OCM could decide for a cluster that a Placement (namespace/name) has left.

    Only filters are asked: among the clusters with the best scores, OCM decides for one that is
    drawn.
    """
    paced = inputs.paced.get(placement)
    if paced is None:
        return False
    namespace, _, name = placement.partition("/")
    clusters = sorted(inputs.decided.get(placement, ()))
    # Only one Placement is evaluated, and with the present scores, so that it is quick in a large
    # fleet.
    state = HubState.of(
        clusters=inputs.clusters.values(),
        sets=inputs.sets,
        bindings=[(namespace, bound) for bound in inputs.bindings],
        placements=[paced.placement],
        decisions=[decision_of(namespace=namespace, placement=name, clusters=clusters)],
        scores=dict(inputs.scores),
    )
    verdict = simulate_placement(paced.written, state=state, now=datetime.fromtimestamp(now, UTC))
    ranking = verdict.ranking
    if ranking is None or verdict.outcome is not Outcome.SCHEDULED:
        return False
    return any(state.names[position] == cluster for position in ranking.clusters)


def holds_until(inputs: Inputs, *, ledger: Ledger, now: float) -> float:
    """The time until which these inputs have the same desired moves, in seconds since 1970.

    After it a score has expired, a toleration has run out, a hold has ended, or less is assumed
    about the scores. It is infinite if time alone changes nothing. Pure, and slow for large fleets.
    """
    moment = datetime.fromtimestamp(now, UTC)
    ends: list[datetime] = []
    for column in inputs.scores.values():
        # Copied, because the informer changes it meanwhile. Copying a dict is atomic in CPython.
        for score in dict(column).values():
            if score.valid_until is not None and score.valid_until >= moment:
                ends.append(score.valid_until)
    taints = set[Taint]()
    for cluster in inputs.clusters.values():
        taints.update(cluster.taints)
    tolerations = set[Toleration]()
    for paced in inputs.paced.values():
        tolerations.update(paced.placement.spec.tolerations or ())
    for taint in taints:
        for toleration in tolerations:
            seconds = toleration.toleration_seconds
            if seconds is not None and fits(taint, toleration):
                ends.append(tolerated_until(taint, seconds))
    for hold in ledger.holds:
        if hold.active(now):
            ends.append(datetime.fromtimestamp(hold.until, UTC))
    rankings = {key: paced.ranking for key, paced in inputs.paced.items()}
    measured = next_measured(ledger, rankings, now=now)
    return min([measured, *(end.timestamp() for end in ends if end >= moment)])
