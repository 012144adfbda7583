"""Facts for the checks: the objects of a hub at one moment, and the commands for this hub.

A check names the sources that it needs. If one could not be read, `examine` reports the check as
unknown and does not run it. So a check may treat a source that has no object as one that was read
and is empty.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.hub.delivery import delivers_upstream
from gitops_dsf.hub.unread import Unread
from gitops_dsf.views.doctor.objects import HubObject
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.inputs import HubPart, StatusInputs


class FactSource(StrEnum):
    """A source of facts for the checks, besides the parts of the status view (HubPart)."""

    CLUSTER_MANAGERS = "ClusterManagers"
    OCM_DEPLOYMENTS = "Deployments in open-cluster-management-hub"
    ADDON_DEFINITIONS = "ClusterManagementAddOns"
    ADDON_STATES = "our ManagedClusterAddOns"
    ARGOCD_DEPLOYMENTS = "Deployments in the Argo CD namespace"
    ARGOCD_STATEFULSETS = "StatefulSets in the Argo CD namespace"
    ARGOCD_SETTINGS = "ConfigMap argocd-cm"
    ARGOCD_PARAMETERS = "ConfigMap argocd-cmd-params-cm"
    AGENT_PARAMETERS = "ConfigMap argocd-agent-params"
    AGENT_APPLICATIONS = "Applications of argocd-agents"
    DELIVERY = "Applications of the rendered tree"
    CLUSTER_SECRETS = "metadata of Argo CD's cluster Secrets"
    UPSTREAM_DEPLOYMENTS = "Deployments of the upstream add-on"
    UPSTREAM_WORKS = "ManifestWorks of the upstream add-on"
    UPSTREAM_ADDON_STATES = "ManagedClusterAddOns of the upstream add-on"
    MULTICLUSTERHUBS = "MultiClusterHubs"
    GITOPS_CLUSTERS = "GitOpsClusters"
    OUR_WORKS = "ManifestWorks gitops-dsf-config"
    SCORING_CONFIGS = "DynamicScoringConfigs"
    SCORER_DEFINITION = "the CRD of DynamicScorer"
    LEASES = "Lease gitops-dsf-reconciler"
    RECONCILER_PODS = "pods of the reconciler"
    KUEUE_DEPLOYMENTS = "Deployments of Kueue"
    KUEUE_SETTINGS = "ConfigMap kueue-manager-config"
    MULTIKUEUE_CLUSTERS = "MultiKueueClusters"
    ADMISSION_CHECKS = "AdmissionChecks"
    EXTERNAL_SCORES = "metadata of AddOnPlacementScores of other add-ons"


Need = FactSource | HubPart
OPTIONAL: Final = frozenset({FactSource.CLUSTER_SECRETS, FactSource.RECONCILER_PODS})
"""Sources without which a check says less. Not everybody may see Secrets and pods."""
RIGHTS: Final = (
    "ask an administrator of the hub for the rights of the ClusterRole gitops-dsf-doctor"
)
"""The fix if the hub refuses a read."""
MAX_COMMANDS: Final = 5
"""A fix has commands for at most this many clusters."""


@dataclass(frozen=True, kw_only=True)
class DoctorFacts:
    """The objects that were read of a hub, and the commands for it."""

    kubectl: tuple[str, ...]
    """The words that a kubectl command for this hub starts with."""
    hub_namespace: str
    argocd_namespace: str
    groups: Mapping[str, tuple[str, ...]]
    """The API groups that the hub serves, with their versions."""
    clock_offset: float | None
    """Seconds by which the hub's clock is ahead of this machine's; None if it is not known."""
    inputs: StatusInputs
    overview: Overview
    sources: Mapping[FactSource, tuple[HubObject, ...] | Unread]

    def of(self, source: FactSource) -> tuple[HubObject, ...]:
        """The objects of a source; none if it was not read."""
        objects = self.sources[source]
        return () if isinstance(objects, Unread) else objects

    def one(self, source: FactSource) -> HubObject | None:
        """The object of a source that has at most one."""
        return next(iter(self.of(source)), None)

    def missing(self, need: Need) -> Unread | None:
        """The reason why something was not read; None if it was."""
        content = self.inputs.unread.get(need) if isinstance(need, HubPart) else self.sources[need]
        return content if isinstance(content, Unread) else None

    @property
    def is_upstreams(self) -> bool:
        """Whether gitops-dsf.yaml says that upstream's controller delivers, by the list."""
        return delivers_upstream(self.inputs.mode)

    @property
    def refused(self) -> bool:
        """Whether the hub refused to show something that a check needs, optional sources aside."""
        for need in (*HubPart, *FactSource):
            unread = self.missing(need)
            # A kind that the hub does not serve, as of an add-on that is not installed, is a fact
            # and no refusal.
            if need not in OPTIONAL and unread is not None and unread.refused:
                return True
        return False

    @property
    def install(self) -> str:
        """The command that installs gitops-dsf on this hub."""
        return shlex.join(("gitops-dsf", "install", *self.kubectl[1:]))

    def command(self, *words: str) -> str:
        """A kubectl command for this hub, quoted for a shell."""
        return shlex.join((*self.kubectl, *words))

    def in_each(self, namespaces: Iterable[str], *words: str) -> str:
        """The same kubectl command for each of these namespaces, as one line of a shell."""
        # Not `;`: at the first namespace that refuses, its message is the last line on the screen.
        return " && ".join(self.command("-n", namespace, *words) for namespace in namespaces)

    def in_argocd(self, *words: str) -> str:
        """A kubectl command for the namespace of Argo CD."""
        return self.command("-n", self.argocd_namespace, *words)

    def on_hub(self, *words: str) -> str:
        """A kubectl command for the namespace of the reconciler and the scorers."""
        return self.command("-n", self.hub_namespace, *words)

    def clusteradm(self, *words: str) -> str:
        """A clusteradm command for this hub. clusteradm accepts kubectl's flags."""
        # The first word is kubectl itself; what follows names the context and the kubeconfig.
        return shlex.join(("clusteradm", *self.kubectl[1:], *words))


def on_cluster(cluster: str, command: str, *, namespace: str = AGENT_NAMESPACE) -> str:
    """A kubectl command for a cluster itself, assuming a context of the cluster's name."""
    return f"kubectl --context {cluster} -n {namespace} {command}  # on the cluster itself"
