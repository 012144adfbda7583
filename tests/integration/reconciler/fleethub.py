"""A hub with what agents and OCM write on it, for the tests of several controllers."""

import time
from datetime import UTC, datetime

from tests.support.objecthub import ObjectHub

AGENT = "gitops-dsf-agent"
OURS = {"app.kubernetes.io/managed-by": AGENT}


def stamp(at: float) -> str:
    """A time as the API server writes it."""
    return datetime.fromtimestamp(int(at), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FleetHub(ObjectHub):
    """Writes as agents and OCM do."""

    def agent(self, cluster: str, available: str = "True") -> None:
        """The agent's add-on on a cluster, with its condition Available."""
        status = {"conditions": [{"type": "Available", "status": available}]}
        self.put("managedclusteraddons", AGENT, namespace=cluster, status=status)

    def score(
        self,
        cluster: str,
        resource: str,
        *,
        seconds: float = 900,
        names: str = "all",
        labels: dict[str, str] = OURS,
    ) -> None:
        """An AddOnPlacementScore that expires in so many seconds."""
        status = {
            "validUntil": stamp(time.time() + seconds),
            "scores": [{"name": name, "value": 1} for name in names.split()],
        }
        metadata = {"labels": labels}
        self.put("addonplacementscores", resource, namespace=cluster, metadata=metadata, status=status)
