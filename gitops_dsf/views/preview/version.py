"""One side of a comparison: a valid fleet repository. Values are compared, so nothing is rendered."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gitops_dsf.hub.applicationsets import placements_followed
from gitops_dsf.hub.maintenance import Maintenance
from gitops_dsf.hub.scorers import counted_span
from gitops_dsf.pipeline import Checked
from gitops_dsf.plan import Plan
from gitops_dsf.render.delivery import delivery
from gitops_dsf.render.tree import shared_objects
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.targets import on_the_hub
from gitops_dsf.resolve.types import Resolved

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FleetVersion:
    """A resolved and planned fleet repository. It is never changed."""

    resolved: Resolved
    plan: Plan

    @cached_property
    def delivered(self) -> tuple[Object, ...]:
        """ManagedClusterSetBindings, Placements and ApplicationSets as Argo CD would apply them."""
        return tuple(delivery(self.plan))

    @cached_property
    def spans(self) -> Mapping[str, tuple[int, int]]:
        """The lowest and highest score that OCM can count, by name of the AddOnPlacementScore."""
        return {
            item.resource_name: counted_span(item.published, item.spec.default_score)
            for item in self.resolved.scorers
        }

    @cached_property
    def maintenance(self) -> tuple[Maintenance, ...]:
        """Maintenance as the reconciler reads it."""
        return tuple(map(on_the_hub, self.resolved.maintenance))

    @cached_property
    def placements(self) -> Mapping[str, Object]:
        found = [(item["metadata"], item) for item in self.delivered if item["kind"] == "Placement"]
        return dict(sorted((f"{metadata['namespace']}/{metadata['name']}", item) for metadata, item in found))

    @cached_property
    def followers(self) -> Mapping[str, tuple[str, ...]]:
        """The sorted names of the ApplicationSets, in its namespace, that follow each Placement."""
        found: dict[str, set[str]] = {key: set() for key in self.placements}
        for item in self.delivered:
            if item["kind"] == "ApplicationSet":
                metadata = item["metadata"]
                for name in placements_followed(item["spec"].get("generators")):
                    found.setdefault(f"{metadata['namespace']}/{name}", set()).add(metadata["name"])
        return {key: tuple(sorted(names)) for key, names in found.items()}

    @cached_property
    def bindings(self) -> tuple[Object, ...]:
        return tuple(item for item in self.delivered if item["kind"] == "ManagedClusterSetBinding")

    @cached_property
    def objects(self) -> Mapping[str, Object]:
        """Rendered objects by path, without those of single clusters."""
        return shared_objects(self.plan)

    @cached_property
    def scorers(self) -> Mapping[str, EffectiveScorer]:
        return {item.name: item for item in self.resolved.scorers}

    @cached_property
    def by_resource(self) -> Mapping[str, EffectiveScorer]:
        """Scorers by the name of the AddOnPlacementScore that they publish."""
        return {
            item.resource_name: item
            for item in self.resolved.scorers
            if item.spec.score_destination == "AddOnPlacementScore"
        }

    @cached_property
    def cluster_names(self) -> frozenset[str]:
        return frozenset(item.metadata.name for item in self.resolved.clusters)


def version_of(checked: Checked) -> FleetVersion | None:
    """Returns None if the repository has errors."""
    if checked.resolved is None or checked.plan is None:
        return None
    return FleetVersion(resolved=checked.resolved, plan=checked.plan)
