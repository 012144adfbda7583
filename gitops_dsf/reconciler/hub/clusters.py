"""ManagedClusters: what decides where a scorer runs and what a decision may count on."""

from datetime import datetime
from typing import Any, Final

import msgspec

from dsf_wire.constants import SCORE_GROUP
from gitops_dsf.hubnames import AVAILABLE_CONDITION
from gitops_dsf.reconciler.hub.metadata import Metadata

CLUSTERS_PATH: Final = f"/apis/{SCORE_GROUP}/v1/managedclusters"


class _Metadata(Metadata, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    taints: list[dict[str, Any]] = []
    hub_accepts_client: bool = False


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _Claim(msgspec.Struct, frozen=True):
    name: str = ""
    value: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    conditions: list[_Condition] = []
    cluster_claims: list[_Claim] = []
    allocatable: dict[str, Any] = {}
    capacity: dict[str, Any] = {}


class Cluster(msgspec.Struct, frozen=True):
    """A ManagedCluster."""

    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def created(self) -> float:
        """Seconds since 1970."""
        at = self.metadata.creation_timestamp
        return at.timestamp() if at else 0.0

    @property
    def going(self) -> bool:
        """Whether it has a deletionTimestamp."""
        return self.metadata.deletion_timestamp is not None

    @property
    def unreachable(self) -> bool:
        """Whether OCM does not see it. A condition that OCM has not written yet says nothing."""
        return self.condition(AVAILABLE_CONDITION) in {"False", "Unknown"}

    @property
    def available_since(self) -> float | None:
        """Seconds since 1970; None where OCM does not see it, or does not say."""
        found = next((item for item in self.status.conditions if item.type == AVAILABLE_CONDITION), None)
        if found is None or found.status != "True" or found.last_transition_time is None:
            return None
        return found.last_transition_time.timestamp()

    def condition(self, kind: str) -> str:
        """True, False or Unknown; empty where OCM has not said."""
        return next((item.status for item in self.status.conditions if item.type == kind), "")


def cluster(raw: msgspec.Raw) -> tuple[str, Cluster]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=Cluster)
    return item.metadata.name, item
