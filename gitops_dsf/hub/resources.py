"""Paths of the kinds of a hub on API servers: group, version and plural name."""

from dataclasses import dataclass, replace
from typing import Final, Self

from dsf_wire.constants import DSF_GROUP, DSF_VERSION, SCORE_GROUP, SCORE_PLURAL, SCORE_VERSION


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """A kind at its path, in all namespaces or in one."""

    plural: str
    group: str = ""
    version: str = "v1"
    namespace: str | None = None

    @property
    def api_version(self) -> str:
        """The apiVersion of the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The path at which the API server lists the objects."""
        # The core group has a path of its own.
        base = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{base}{inside}/{self.plural}"

    @property
    def qualified_name(self) -> str:
        """The plural name with the group, which is also the name of a CRD."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def within(self, namespace: str) -> Self:
        """The same kind in one namespace."""
        return replace(self, namespace=namespace)

    def describe(self, name: str = "") -> str:
        """`placements.GROUP web in namespace argocd`, as far as these are given."""
        description = f"{self.qualified_name} {name}" if name else self.qualified_name
        if self.namespace:
            return f"{description} in namespace {self.namespace}"
        return description


DEFINITIONS: Final = Resource(group="apiextensions.k8s.io", plural="customresourcedefinitions")
ADDON_GROUP: Final = "addon.open-cluster-management.io"
CLUSTERS: Final = Resource(group=SCORE_GROUP, plural="managedclusters")
CLUSTER_SETS: Final = Resource(group=SCORE_GROUP, version="v1beta2", plural="managedclustersets")
BINDINGS: Final = Resource(group=SCORE_GROUP, version="v1beta2", plural="managedclustersetbindings")
PLACEMENTS: Final = Resource(group=SCORE_GROUP, version="v1beta1", plural="placements")
DECISIONS: Final = Resource(group=SCORE_GROUP, version="v1beta1", plural="placementdecisions")
SCORES: Final = Resource(group=SCORE_GROUP, version=SCORE_VERSION, plural=SCORE_PLURAL)
# OCM 1.3 works with v1beta1, and a webhook converts v1alpha1
# (docs/contributing/behaviour.md#the-next-ocm-13).
ADDONS: Final = Resource(group=ADDON_GROUP, version="v1alpha1", plural="managedclusteraddons")
SCORERS: Final = Resource(group=DSF_GROUP, version=DSF_VERSION, plural="dynamicscorers")
SCORING_CONFIGS: Final = Resource(
    group=DSF_GROUP, version=DSF_VERSION, plural="dynamicscoringconfigs"
)
APPLICATIONS: Final = Resource(group="argoproj.io", version="v1alpha1", plural="applications")
APPLICATION_SETS: Final = Resource(
    group="argoproj.io", version="v1alpha1", plural="applicationsets"
)
# These kinds belong to Red Hat Advanced Cluster Management.
MULTICLUSTERHUBS: Final = Resource(
    group="operator.open-cluster-management.io", plural="multiclusterhubs"
)
GITOPS_CLUSTERS: Final = Resource(
    group="apps.open-cluster-management.io", version="v1beta1", plural="gitopsclusters"
)
KUEUE_GROUP: Final = "kueue.x-k8s.io"
WORKLOADS: Final = Resource(group=KUEUE_GROUP, version="v1beta2", plural="workloads")
ADMISSION_CHECKS: Final = Resource(group=KUEUE_GROUP, version="v1beta2", plural="admissionchecks")
MULTIKUEUE_CLUSTERS: Final = Resource(
    group=KUEUE_GROUP, version="v1beta2", plural="multikueueclusters"
)
MULTIKUEUE_CONFIGS: Final = Resource(
    group=KUEUE_GROUP, version="v1beta2", plural="multikueueconfigs"
)
