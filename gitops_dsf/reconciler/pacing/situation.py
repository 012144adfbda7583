"""Reads what an admission depends on: the informers, and lists of the kinds that nothing else watches."""

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
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.pacing.maintenance import CORDON, NOTHING, Effect, tainted, without_drained
from gitops_dsf.pacing.wishes import Paced
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState

POLL_SECONDS: Final = 30.0
"""Between two lists of ManagedClusterSets and bindings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """What the wishes depend on. Equal inputs have equal wishes."""

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

    def paced(self) -> dict[str, Paced]:
        """The paced Placements by namespace/name, without those whose annotation cannot be read."""
        found: dict[str, Paced] = {}
        for item in self._view.placements.items.values():
            if item.paced is None:
                continue
            with contextlib.suppress(msgspec.DecodeError):
                ranking = paced_ranking(item.paced)
                if ranking is not None and not item.paced.metadata.deleting:
                    found[item.paced.key] = Paced.of(item.paced, ranking)
        return found

    async def read(
        self,
        paced: Mapping[str, Paced],
        decided: Mapping[str, frozenset[str]],
        *,
        now: float,
        maintenance: Effect = NOTHING,
    ) -> Inputs:
        """What the wishes depend on. Raises ApiError, also when an informer may be outdated."""
        if now >= self._next:
            sets, bindings = await self._api.sets_and_bindings(self._view.argocd_namespace)
            self._sets, self._bindings = tuple(sets), tuple(bindings)
            self._next = now + POLL_SECONDS
        resources = {term.resource for item in paced.values() for term in item.ranking.terms}
        return Inputs(
            clusters=tainted(self._view.clusters.items, maintenance.cordoned, effect=CORDON),
            sets=self._sets,
            bindings=self._bindings,
            paced=paced,
            decided=decided,
            versions=tuple(self._view.scores.version(name) for name in sorted(resources)),
            scores={name: self._view.scores.of(name) for name in sorted(resources)},
            maintenance=maintenance,
        )


def situation_of(inputs: Inputs, *, ledger: Ledger, pace: Pace, now: float) -> Situation:
    """The situation of an admission. Pure, and slow for large fleets."""
    pages = []
    for key, clusters in sorted(inputs.decided.items()):
        namespace, _, name = key.partition("/")
        pages.append(
            decision_of(
                namespace=namespace, name=f"{name}-decision-0", placement=name, clusters=sorted(clusters)
            )
        )
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
        drained=without_drained(state, said),
        leaving=frozenset(said.drained),
    )
