"""Where API servers have the kinds of a hub: group, version and plural name."""

from dataclasses import dataclass, replace
from typing import Final, Self

from dsf_wire.constants import DSF_GROUP, DSF_VERSION, SCORE_GROUP, SCORE_PLURAL, SCORE_VERSION


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    plural: str
    group: str = ""
    version: str = "v1"
    namespace: str | None = None

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        base = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{base}{inside}/{self.plural}"

    @property
    def qualified_name(self) -> str:
        """The plural name with the group, which is also the name of a CRD."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def within(self, namespace: str) -> Self:
        return replace(self, namespace=namespace)

    def describe(self, name: str = "") -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.qualified_name} {name}{where}" if name else f"{self.qualified_name}{where}"


ADDON_GROUP: Final = "addon.open-cluster-management.io"
CLUSTERS: Final = Resource(group=SCORE_GROUP, plural="managedclusters")
CLUSTER_SETS: Final = Resource(group=SCORE_GROUP, version="v1beta2", plural="managedclustersets")
BINDINGS: Final = Resource(group=SCORE_GROUP, version="v1beta2", plural="managedclustersetbindings")
PLACEMENTS: Final = Resource(group=SCORE_GROUP, version="v1beta1", plural="placements")
DECISIONS: Final = Resource(group=SCORE_GROUP, version="v1beta1", plural="placementdecisions")
SCORES: Final = Resource(group=SCORE_GROUP, version=SCORE_VERSION, plural=SCORE_PLURAL)
ADDONS: Final = Resource(group=ADDON_GROUP, version="v1alpha1", plural="managedclusteraddons")
SCORERS: Final = Resource(group=DSF_GROUP, version=DSF_VERSION, plural="dynamicscorers")
SCORING_CONFIGS: Final = Resource(
    group=DSF_GROUP, version=DSF_VERSION, plural="dynamicscoringconfigs"
)
APPLICATIONS: Final = Resource(group="argoproj.io", version="v1alpha1", plural="applications")
APPLICATION_SETS: Final = Resource(
    group="argoproj.io", version="v1alpha1", plural="applicationsets"
)
