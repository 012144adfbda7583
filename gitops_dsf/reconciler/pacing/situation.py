"""What an admission and refuges depend on: the informers, and lists of what nothing else watches."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import msgspec

from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet
from gitops_dsf.hub.pace import paced_ranking
from gitops_dsf.hub.placements import decision_of
from gitops_dsf.hub.scores import Score
from gitops_dsf.pacing.admit import Situation, known_shifts
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger, assume, next_measured
from gitops_dsf.pacing.maintenance import CORDON, NOTHING, Effect, tainted, without_drained
from gitops_dsf.pacing.refuges import Refuges, plan_refuges
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.taints import fits, tolerated_until

POLL_SECONDS: Final = 30.0
"""Between two lists of ManagedClusterSets and bindings."""
REPLAN_SECONDS: Final = 300.0
"""Between two plans of all refuges. Scores change all the time, and a refuge need not be the best cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """What the desired moves depend on. Equal inputs have equal ones."""

    clusters: Mapping[str, ManagedCluster]
    sets: tuple[ManagedClusterSet, ...]
    bindings: tuple[str, ...]
    """Names of the bindings of the Argo CD namespace."""
    paced: Mapping[str, Paced]
    decided: Mapping[str, frozenset[str]]
    versions: tuple[int, ...]
    """Of the scores, by which they are compared."""
    scores: Mapping[str, Mapping[str, Score]] = field(compare=False)
    """Those that rank paced Placements, as the view has them: they change."""
    maintenance: Effect = NOTHING
    """What the open windows say. Cordoned clusters have the taint here before they have it on the hub."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why a cluster or a Placement gets no items of moves. Such a cluster is cordoned here, so that what
    would go there goes elsewhere.
    """
    unsettled: frozenset[str] = frozenset()
    """Clusters that decisions name which keep changing."""

    def without_scores(self) -> "Inputs":
        """To compare later inputs with: after a new list, the scores before it would stay in memory."""
        return replace(self, scores={})


class SituationReader:
    """Reads the hub for admissions."""

    def __init__(self, *, api: HubApi, view: HubView) -> None:
        self._api, self._view = api, view
        self._sets: tuple[ManagedClusterSet, ...] = ()
        self._bindings: tuple[str, ...] = ()
        self._next = 0.0
        self._paced: Mapping[str, Paced] = {}
        """The last answer of `paced`. Placements that have not changed since are the same objects."""

    def paced(self) -> dict[str, Paced]:
        """The paced Placements by namespace/name, without those whose annotation cannot be read."""
        found: dict[str, Paced] = {}
        for item in self._view.placements.items.values():
            if item.paced is None or item.paced.metadata.deleting:
                continue
            key = item.paced.key
            known = self._paced.get(key)
            if known is not None and known.placement is item.paced:
                found[key] = known
                continue
            with contextlib.suppress(msgspec.DecodeError):
                ranking = paced_ranking(item.paced)
                if ranking is not None:
                    found[key] = Paced.of(item.paced, ranking)
        self._paced = found
        return found

    async def read(
        self,
        paced: Mapping[str, Paced],
        decided: Mapping[str, frozenset[str]],
        *,
        now: float,
        maintenance: Effect = NOTHING,
        refused: Mapping[str, str] | None = None,
    ) -> Inputs:
        """What the desired moves depend on. Raises ApiError."""
        if now >= self._next:
            sets, bindings = await self._api.sets_and_bindings(self._view.argocd_namespace)
            self._sets, self._bindings = tuple(sets), tuple(bindings)
            self._next = now + POLL_SECONDS
        refused = refused or {}
        closed = maintenance.cordoned.union(name for name in refused if "/" not in name)
        resources = {term.resource for item in paced.values() for term in item.ranking.terms}
        return Inputs(
            clusters=tainted(self._view.clusters.items, closed, effect=CORDON),
            sets=self._sets,
            bindings=self._bindings,
            paced=paced,
            decided=decided,
            versions=tuple(self._view.scores.version(name) for name in sorted(resources)),
            scores={name: self._view.scores.of(name) for name in sorted(resources)},
            maintenance=maintenance,
            refused=refused,
        )


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
        bindings=[(namespace, name) for namespace in namespaces for name in inputs.bindings],
        placements=[item.placement for item in inputs.paced.values()],
        decisions=pages,
        # Copied here, so that there is one copy, and only meanwhile. Copying a dict is atomic in CPython.
        scores={name: dict(column) for name, column in inputs.scores.items()},
    )
    said = inputs.maintenance
    return Situation(
        hub=state,
        paced=inputs.paced,
        ledger=ledger,
        pace=pace,
        now=datetime.fromtimestamp(now, UTC),
        frozen=said.frozen,
        refused=inputs.refused,
        unsettled=inputs.unsettled,
        drained=without_drained(state, said),
        leaving=frozenset(said.drained),
    )


def holds_until(inputs: Inputs, *, ledger: Ledger, now: float) -> float:
    """Until when the desired moves of these inputs stay, in seconds since 1970, unless something is written:
    then a score expires, a toleration runs out, or less is assumed about the scores. Infinite if nothing
    does. Pure, and slow for large fleets.
    """
    moment = datetime.fromtimestamp(now, UTC)
    ends = [
        score.valid_until
        for column in inputs.scores.values()
        # Copied, because the informer changes it meanwhile. Copying a dict is atomic in CPython.
        for score in dict(column).values()
        if score.valid_until is not None and score.valid_until >= moment
    ]
    taints = {taint for cluster in inputs.clusters.values() for taint in cluster.taints}
    tolerations = {
        each for item in inputs.paced.values() for each in item.placement.spec.tolerations or ()
    }
    ends += [
        tolerated_until(taint, toleration.toleration_seconds)
        for taint in taints
        for toleration in tolerations
        if toleration.toleration_seconds is not None and fits(taint, toleration)
    ]
    measured = next_measured(
        ledger, {key: item.ranking for key, item in inputs.paced.items()}, now=now
    )
    return min([measured, *(end.timestamp() for end in ends if end >= moment)])


class RefugePlanner:
    """Keeps the plan of refuges between two looks. All are planned again now and then, and at once those that
    a change touches. A new leader goes on with the published plan.
    """

    def __init__(self) -> None:
        self._seen: Inputs | None = None
        """What the last plan depended on."""
        self._refuges: Refuges = {}
        self._next = 0.0
        """When all are planned again, in seconds since 1970."""

    async def plan(
        self, inputs: Inputs, ledger: Ledger, *, pace: Pace, published: Refuges, now: float
    ) -> Refuges:
        """The refuges that should be published, computed beside the event loop where something changed."""
        if not any(item.ranking.refuges for item in inputs.paced.values()):
            self._seen = None
            return {}
        current, due = published, None
        if self._seen is not None:
            current = self._refuges
            due = None if now >= self._next else _due(self._seen, inputs, current)

        def planned() -> Refuges:
            situation = situation_of(inputs, ledger=ledger, pace=pace, now=now)
            scores = assume(situation.hub.scores, known_shifts(situation))
            state = situation.hub.scoring(scores)
            return plan_refuges(
                situation.paced, state=state, now=situation.now, current=current, only=due
            )

        if due is not None and not due:
            found: Refuges = {
                key: cluster for key, cluster in current.items() if key in inputs.paced
            }
        else:
            found = await asyncio.to_thread(planned)
        if due is None:
            self._next = now + REPLAN_SECONDS
        self._seen, self._refuges = inputs.without_scores(), found
        return found


def _due(before: Inputs, inputs: Inputs, refuges: Refuges) -> frozenset[str] | None:
    """The Placements whose refuge a change touches; None means all of them."""
    if before.sets != inputs.sets or before.bindings != inputs.bindings:
        return None
    changed = _changed(before.clusters, inputs.clusters)
    return frozenset(
        key
        for key, item in inputs.paced.items()
        # A decision that is not settled says nothing yet.
        if (key in inputs.decided and inputs.decided[key] != before.decided.get(key))
        or (known := before.paced.get(key)) is None
        or (known.written.spec, known.ranking) != (item.written.spec, item.ranking)
        or (bool(changed) and refuges.get(key) in {*changed, None})
    )


def _changed(
    before: Mapping[str, ManagedCluster], after: Mapping[str, ManagedCluster]
) -> frozenset[str]:
    """The clusters for which Placements may pass or fail other filters than before."""
    return frozenset(
        name
        for name in before.keys() | after.keys()
        if before.get(name) is not after.get(name)
        and _filtered_by(before.get(name)) != _filtered_by(after.get(name))
    )


def _filtered_by(cluster: ManagedCluster | None) -> object:
    return cluster and (cluster.labels, cluster.claims, cluster.taints, cluster.deleting)
