"""Reads the objects of a hub that `import` takes."""

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
"""The objects that `import` also reads when it adopts what runs."""
_SCORE: Final = ImportedKind("AddOnPlacementScore", SCORES, is_optional=False)


def inventory(hub: HubClient, *, with_applications: bool = False) -> list[JsonObject]:
    """Reads every object of IMPORTED, in all namespaces, and of ADOPTED if asked.

    Raises HubError.
    """
    kinds = (*IMPORTED, *ADOPTED) if with_applications else IMPORTED
    objects: list[JsonObject] = []
    for kind in kinds:
        objects += _objects(hub, kind)
    return objects


def scores_named(hub: HubClient, resources: Iterable[str]) -> list[JsonObject]:
    """Reads the AddOnPlacementScores of these names, in all namespaces. Raises HubError."""
    objects: list[JsonObject] = []
    for resource in resources:
        objects += _objects(hub, _SCORE, name=resource)
    return objects


def _objects(hub: HubClient, kind: ImportedKind, *, name: str = "") -> list[JsonObject]:
    """The objects of a kind, or those of one name. Raises HubError."""
    contents = hub.read(kind.resource, whole, name=name)
    if isinstance(contents, Unread):
        if kind.is_optional and contents.why is Why.NOT_INSTALLED:
            return []
        raise HubError(hub.lacks(contents))
    # In a typed list, the API server omits apiVersion and kind from each item.
    head = {"apiVersion": kind.resource.api_version, "kind": kind.kind}
    return [head | content for content in contents]
