"""The place of Argo CD on a hub, and the programs that import clusters into it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.hub.unread import Unread

OPENSHIFT_GITOPS: Final = "openshift-gitops"
"""The namespace of the Argo CD that OpenShift GitOps installs."""
APPLICATIONSET_CONTROLLER: Final = "applicationset-controller"
"""A part of the names of its Deployments: `argocd-` or `openshift-gitops-` comes before it."""
ACM_DUCK_TYPE: Final = "acm-placement"
"""The duck-type ConfigMap of the clusterDecisionResource generator that Red Hat Advanced Cluster
Management makes in the namespace of an Argo CD that a GitOpsCluster names.
"""


@dataclass(frozen=True, kw_only=True)
class GitOpsImporter:
    """A GitOpsCluster: it makes the cluster Secrets of what a Placement beside it chooses."""

    namespace: str
    name: str
    placement: str


@dataclass(frozen=True, kw_only=True)
class ArgoCdPlace:
    """The Argo CD of a hub."""

    namespace: str
    controller: str
    """The Deployment of its ApplicationSet controller."""
    accounts: tuple[str, ...]
    """The ServiceAccounts of the ApplicationSet controller and of the server, in this order."""
    importers: tuple[GitOpsImporter, ...] = ()
    has_acm_duck_type: bool = False
    unread: tuple[Unread, ...] = ()
    """The importers and ConfigMaps that may not be read."""


def argocd_of(importer: Mapping[str, Any]) -> str:
    """The namespace of the Argo CD that a GitOpsCluster imports into."""
    server = (importer.get("spec") or {}).get("argoServer") or {}
    return str(server.get("argoNamespace") or importer["metadata"]["namespace"])


def importers_into(objects: Iterable[Mapping[str, Any]], namespace: str) -> list[GitOpsImporter]:
    """The GitOpsClusters, as the API server sends them, that import into one Argo CD."""
    importers: list[GitOpsImporter] = []
    for importer in objects:
        placement = ((importer.get("spec") or {}).get("placementRef") or {}).get("name")
        if placement and argocd_of(importer) == namespace:
            metadata = importer["metadata"]
            importers.append(
                GitOpsImporter(
                    namespace=str(metadata["namespace"]),
                    name=str(metadata["name"]),
                    placement=str(placement),
                )
            )
    return importers
