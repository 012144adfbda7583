"""Where API servers have the kinds of a hub: group, version and plural name.

What of it could not be read.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
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


class Why(StrEnum):
    FORBIDDEN = "Forbidden"
    NOT_INSTALLED = "NotInstalled"
    FAILED = "Failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """A part of a hub that could not be read."""

    what: str
    """Resource, group and namespace, such as `applicationsets.argoproj.io in namespace argocd`."""
    why: Why
    verb: str = "list"
    detail: str = ""
    """The server's message, unless a permission or the kind is missing."""
    refused: bool = False
    """The hub has it, and did not give it: a right is missing, or the request failed."""

    def __str__(self) -> str:
        if self.why is Why.FORBIDDEN:
            return f"needs the right to {self.verb} {self.what}"
        if self.why is Why.NOT_INSTALLED:
            return f"the hub does not serve {self.what}"
        return f"{self.verb} {self.what}: {self.detail}"
