"""ManagedClusterAddOns of the agent: on which clusters it is installed, and whether OCM sees it alive."""

from msgspec import Struct

from gitops_dsf.hub.metadata import Condition, Metadata, condition_of


class AddOnStatus(Struct, frozen=True, gc=False):
    conditions: tuple[Condition, ...] | None = None


class ManagedClusterAddOn(Struct, frozen=True, gc=False):
    """An add-on of one cluster, which is its namespace."""

    metadata: Metadata
    status: AddOnStatus | None = None

    @property
    def cluster(self) -> str:
        """The cluster that it is installed on."""
        return self.metadata.namespace or ""

    @property
    def created(self) -> float:
        """Seconds since 1970."""
        return self.metadata.created

    @property
    def deleting(self) -> bool:
        """Whether it has a deletionTimestamp."""
        return self.metadata.deleting

    @property
    def available(self) -> str:
        """True, False, Unknown; empty where OCM has not said."""
        return self.condition("Available").status

    def condition(self, kind: str) -> Condition:
        """NOT_SAID where OCM has not written it."""
        return condition_of(self.status.conditions if self.status else None, kind)
