"""What tests of a hub with scorers do and ask: publish scores, and read decisions."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.scenario.placements import decided, publish

ARGOCD_NAMESPACE = "argocd"


@dataclass(kw_only=True)
class ScoredPlane:
    """The base of what the modules of this suite test on. `hub` has all rights."""

    plane: ControlPlane
    hub: Client

    def publish_score(
        self, cluster: str, resource: str, scores: Mapping[str, int], *, seconds: float = 3600
    ) -> None:
        """As an agent does it; the score is valid for so many seconds."""
        publish(self.hub, cluster, resource, scores, seconds=seconds)

    def decision_of(self, application: str) -> list[str]:
        """The clusters that OCM has decided for, sorted."""
        return decided(self.hub, application, namespace=ARGOCD_NAMESPACE)
