"""The objects of a checked fleet that Argo CD applies to the hub, as previews compare them.

Rendering them costs most of the time of a preview, so `applied` remembers what it rendered.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from gitops_dsf.hub.application_sets import placements_followed
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.delivery import delivery
from gitops_dsf.render.objects import Object
from gitops_dsf.render.tree import paths, shared_objects
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS

Manifest = Mapping[str, Any]
"""An object as Argo CD would apply it."""


@dataclass(frozen=True, eq=False)
class AppliedObjects:
    """The objects of one fleet that Argo CD applies. They are never changed."""

    fleet: CheckedFleet

    @cached_property
    def delivered(self) -> tuple[Object, ...]:
        """ManagedClusterSetBindings, Placements and ApplicationSets as Argo CD would apply them."""
        return tuple(delivery(self.fleet))

    @cached_property
    def objects(self) -> Mapping[str, Manifest]:
        """Rendered objects by path, without those of single clusters."""
        return shared_objects(self.fleet, self.delivered)

    @cached_property
    def paths(self) -> frozenset[str]:
        """The path of every file in rendered/."""
        return paths(self.fleet, self.objects)

    @cached_property
    def placements(self) -> Mapping[str, Manifest]:
        """Placements by `namespace/name`, sorted."""
        by_key = {}
        for manifest in self._of_kind("Placement"):
            metadata = manifest["metadata"]
            by_key[f"{metadata['namespace']}/{metadata['name']}"] = manifest
        return dict(sorted(by_key.items()))

    @cached_property
    def followers(self) -> Mapping[str, tuple[str, ...]]:
        """The sorted names of the ApplicationSets that follow each Placement.

        A clusterDecisionResource generator looks for the decision in the namespace of its
        ApplicationSet only.
        """
        # A Placement that no ApplicationSet follows has an entry as well.
        names = defaultdict[str, set[str]](set)
        for key in self.placements:
            names[key] = set()
        for manifest in self.application_sets:
            metadata = manifest["metadata"]
            for placement in placements_followed(manifest["spec"].get("generators")):
                names[f"{metadata['namespace']}/{placement}"].add(metadata["name"])
        return {key: tuple(sorted(followers)) for key, followers in names.items()}

    @property
    def application_sets(self) -> tuple[Manifest, ...]:
        """The ApplicationSets, those of ScoredApplications and those that people wrote."""
        return self._of_kind("ApplicationSet")

    @cached_property
    def bindings(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of the rendered ManagedClusterSetBindings.

        The name says which set it binds: a webhook of OCM refuses a binding with another name.
        """
        bindings = set()
        for manifest in self._of_kind("ManagedClusterSetBinding"):
            metadata = manifest["metadata"]
            bindings.add((metadata["namespace"], metadata["name"]))
        return frozenset(bindings)

    @cached_property
    def assumed_bindings(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """The bindings that each Placement needs and the repository does not render.

        The hub may have them from other owners. A Placement that lists no sets uses every set that
        is bound in its namespace. Where none is rendered there, any set may be.
        """
        bound_namespaces = {namespace for namespace, _ in self.bindings}
        # OCM creates the built-in sets itself, so they need no declaration.
        every_set = set(BUILT_IN_SETS)
        for cluster_set in self.fleet.cluster_sets:
            every_set.add(cluster_set.metadata.name)
        assumed = dict[str, tuple[tuple[str, str], ...]]()
        for key, manifest in self.placements.items():
            namespace = manifest["metadata"]["namespace"]
            sets = (manifest.get("spec") or {}).get("clusterSets")
            if not sets:
                sets = () if namespace in bound_namespaces else every_set
            missing = sorted({(namespace, name) for name in sets} - self.bindings)
            if missing:
                assumed[key] = tuple(missing)
        return assumed

    def _of_kind(self, kind: str) -> tuple[Manifest, ...]:
        return tuple(manifest for manifest in self.delivered if manifest["kind"] == kind)


@lru_cache(maxsize=4)
def applied(fleet: CheckedFleet) -> AppliedObjects:
    """The objects of a fleet that Argo CD applies.

    Base and head of a preview are remembered, and two more for programs that compare several.
    """
    # Fleets are equal only to themselves, so nothing is compared here, and nothing is mixed up.
    return AppliedObjects(fleet)
