"""ManagedClusterAddOns of the agent: where it is installed, and whether OCM reports it as available."""

from msgspec import Struct

from gitops_dsf.hub.metadata import Condition, Metadata, condition_of


class AddOnStatus(Struct, frozen=True, gc=False):
    conditions: tuple[Condition, ...] | None = None


class ManagedClusterAddOn(Struct, frozen=True, gc=False):
    """The agent's add-on on one cluster. Its namespace is the cluster."""

    metadata: Metadata
    status: AddOnStatus | None = None

    @property
    def cluster(self) -> str:
        """The cluster that the add-on is installed on."""
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
        """True, False or Unknown; empty if OCM has not reported it yet."""
        return self.condition("Available").status

    def condition(self, kind: str) -> Condition:
        """The condition of a type; NOT_SAID if OCM has not written it."""
        return condition_of(self.status.conditions if self.status else None, kind)
