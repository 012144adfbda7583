"""Placements and decisions of namespaces in which a Placement may order clusters for Kueue."""

from collections.abc import Sequence
from dataclasses import dataclass

from dsf_runtime.informer import Informer
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.hub.resources import DECISIONS, PLACEMENTS
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.decisions import DecisionSets
from gitops_dsf.reconciler.hub.kinds import decision_page, placement
from gitops_dsf.reconciler.hub.view import follow, show_broken


@dataclass(frozen=True, kw_only=True)
class FollowedNamespace:
    """The informers of one namespace."""

    name: str
    placements: Informer[PlacementSummary]
    pages: Informer[PlacementDecision]
    decisions: DecisionSets
    """The decisions of the last `observe`."""


class FollowedNamespaces:
    """The namespaces that the arguments of the process name.

    The informers of Argo CD's namespace are those of the view, which all controllers share.
    """

    def __init__(self, context: ControllerContext, names: Sequence[str]) -> None:
        self._context = context
        self.by_name: dict[str, FollowedNamespace] = {}
        self._own: list[FollowedNamespace] = []
        for name in sorted(set(names)):
            self.by_name[name] = self._followed(name)

    def _followed(self, name: str) -> FollowedNamespace:
        view = self._context.view
        if name == view.argocd_namespace:
            return FollowedNamespace(
                name=name,
                placements=view.placements,
                pages=view.decisions,
                decisions=DecisionSets(),
            )
        api = self._context.api
        followed = FollowedNamespace(
            name=name,
            placements=Informer(api=api, path=PLACEMENTS.within(name).path, project=placement),
            pages=Informer(api=api, path=DECISIONS.within(name).path, project=decision_page),
            decisions=DecisionSets(),
        )
        self._own.append(followed)
        return followed

    @property
    def informers(self) -> list[Informer[PlacementSummary] | Informer[PlacementDecision]]:
        """All of them, also those that the view runs."""
        informers: list[Informer[PlacementSummary] | Informer[PlacementDecision]] = []
        for followed in self.by_name.values():
            informers += [followed.placements, followed.pages]
        return informers

    def observe(self, now: float) -> None:
        """Reads all pages as they are now. `now` is by the clock of the context."""
        for followed in self.by_name.values():
            followed.decisions.observe(followed.pages.items.values(), now)

    async def run(self) -> None:
        """Follows the namespaces that the view does not follow, until it is cancelled."""
        metrics = self._context.metrics
        sources = {}
        for followed in self._own:
            for informer in (followed.placements, followed.pages):
                # The view has the same resources, in another namespace.
                name = f"{informer.resource}/{followed.name}"
                show_broken(metrics.watch_broken, informer, name)
                sources[name] = informer.run
        await follow(sources, lambda: metrics.failures.labels(duty="watch").inc())
