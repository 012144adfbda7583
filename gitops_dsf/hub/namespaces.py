"""Namespaces of a hub that belong to the platform, with the reason of each.

The platform is Kubernetes, OpenShift, OCM, Argo CD and gitops-dsf. The namespace of a cluster on
the hub has the cluster's name. A fleet repository renders rights and ManifestWorks into it, so no
cluster may be called like one of these namespaces. Placements in them would make the AppProject
allow whole namespaces of the platform. The findings, `import`, the proposals of the inventory and
the AppProject of the works take the list from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.globs import matches


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformNamespace:
    """Namespaces that a glob matches."""

    glob: str
    owner: str
    reason: str
    """The reason why others may not use the namespace.

    It continues the sentence "it belongs to OWNER".
    """
    on_spokes: bool = True
    """Whether managed clusters have the namespace for the platform as well."""


FIXED: Final = (
    # The Service `kubernetes` and its EndpointSlice, by which every pod finds the API server.
    PlatformNamespace(
        glob="default",
        owner="Kubernetes",
        reason="the Service of the API server is there",
        on_spokes=False,
    ),
    # kube-system, kube-public (readable by everybody), kube-node-lease.
    PlatformNamespace(glob="kube-*", owner="Kubernetes", reason="it reserves the prefix kube-"),
    # openshift has the shared image streams and templates; operators read their settings in
    # openshift-config.
    PlatformNamespace(glob="openshift", owner="OpenShift", reason="its shared templates are there"),
    PlatformNamespace(
        glob="openshift-*", owner="OpenShift", reason="it reserves the prefix openshift-"
    ),
    # The hub's controllers (-hub), klusterlets (-agent, -agent-addon), the set of all clusters
    # (-global-set).
    PlatformNamespace(
        glob="open-cluster-management*",
        owner="Open Cluster Management",
        reason="its controllers and agents run there",
    ),
    # OCM of Red Hat's distribution, where the multicluster engine installs it.
    PlatformNamespace(
        glob="multicluster-engine",
        owner="Open Cluster Management",
        reason="its controllers run there on OpenShift",
    ),
    PlatformNamespace(
        glob="argocd", owner="Argo CD", reason="its Secrets and Applications are there"
    ),
    # The hub can be a managed cluster, too. Its ManifestWork then creates this namespace, and
    # deletes it.
    PlatformNamespace(
        glob=AGENT_NAMESPACE,
        owner="gitops-dsf",
        reason="the agents run there, and their ManifestWork owns it",
    ),
)
"""The namespaces that are the same on every hub."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """The namespaces of the platform on the hub of one fleet, whose settings choose two of them."""

    argocd: str
    hub: str
    """spec.hubNamespace."""

    @property
    def entries(self) -> tuple[PlatformNamespace, ...]:
        """All entries, those of the settings first."""
        argocd = PlatformNamespace(
            glob=self.argocd, owner="Argo CD", reason="its Secrets and Applications are there"
        )
        hub = PlatformNamespace(
            glob=self.hub,
            owner="gitops-dsf",
            reason="the reconciler and the DynamicScorers are there",
        )
        return (argocd, hub, *FIXED)

    @property
    def globs(self) -> tuple[str, ...]:
        """The globs of all entries, sorted, each once."""
        return tuple(sorted({entry.glob for entry in self.entries}))

    def owner_of(self, namespace: str) -> PlatformNamespace | None:
        """The entry of a namespace; None if it does not belong to the platform."""
        return _first(namespace, self.entries)


def owner_on_every_hub(namespace: str) -> PlatformNamespace | None:
    """The entry of a namespace that the platform owns on every hub; None for any other one."""
    return _first(namespace, FIXED)


def _first(namespace: str, entries: Iterable[PlatformNamespace]) -> PlatformNamespace | None:
    return next((entry for entry in entries if matches(namespace, entry.glob)), None)
