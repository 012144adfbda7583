"""Reads from a hub what `import` takes."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from gitops_dsf.errors import HubError
from gitops_dsf.hub.resources import (
    APPLICATION_SETS,
    CLUSTER_SETS,
    CLUSTERS,
    PLACEMENTS,
    SCORERS,
    SCORES,
    SCORING_CONFIGS,
    Resource,
)
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, JsonObject, whole


class ImportedKind(NamedTuple):
    """A kind that `import` takes."""

    kind: str
    resource: Resource
    is_optional: bool
    """Whether a hub may lack it, as it lacks our CRDs before the first sync."""


IMPORTED: Final = (
    ImportedKind("ManagedCluster", CLUSTERS, is_optional=False),
    ImportedKind("ManagedClusterSet", CLUSTER_SETS, is_optional=False),
    ImportedKind("DynamicScorer", SCORERS, is_optional=True),
    ImportedKind("DynamicScoringConfig", SCORING_CONFIGS, is_optional=True),
)


ADOPTED: Final = (
    ImportedKind("ApplicationSet", APPLICATION_SETS, is_optional=False),
    ImportedKind("Placement", PLACEMENTS, is_optional=False),
)
"""What `import` reads besides when it adopts what runs."""


def inventory(hub: HubClient, *, with_applications: bool = False) -> list[JsonObject]:
    """Reads every object of IMPORTED, in all namespaces, and of ADOPTED if asked.

    Raises HubError.
    """
    kinds = (*IMPORTED, *ADOPTED) if with_applications else IMPORTED
    objects: list[JsonObject] = []
    for kind, resource, is_optional in kinds:
        contents = hub.read(resource, whole)
        if isinstance(contents, Unread):
            if is_optional and contents.why is Why.NOT_INSTALLED:
                continue
            raise HubError(hub.lacks(contents))
        # In a typed list, the API server omits apiVersion and kind from each item.
        head = {"apiVersion": resource.api_version, "kind": kind}
        objects += [head | content for content in contents]
    return objects


def scores_named(hub: HubClient, resources: Iterable[str]) -> list[JsonObject]:
    """Reads the AddOnPlacementScores of these names, in all namespaces. Raises HubError."""
    head = {"apiVersion": SCORES.api_version, "kind": "AddOnPlacementScore"}
    objects: list[JsonObject] = []
    for resource in resources:
        contents = hub.read(SCORES, whole, name=resource)
        if isinstance(contents, Unread):
            raise HubError(hub.lacks(contents))
        objects += [head | content for content in contents]
    return objects
