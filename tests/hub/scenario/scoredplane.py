"""What tests of a hub with scorers do and ask: publish scores, and read decisions, conditions, Events and
columns.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.applications import APPLICATION_SET
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.scenario.placements import decided, publish
from tests.hub.scenario.reconciling import DYNAMIC_SCORER, EVENT, HUB_NAMESPACE

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
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        publish(self.hub, cluster, resource, scores, valid_until=until)

    def decision_of(self, application: str) -> list[str]:
        """The clusters that OCM has decided for, sorted."""
        return decided(self.hub, application, namespace=ARGOCD_NAMESPACE)

    def error_of(self, application: str) -> str:
        """What the ApplicationSet controller complains of, or nothing."""
        found = self.hub.get(APPLICATION_SET, application, namespace=ARGOCD_NAMESPACE)
        conditions = found.get("status", {}).get("conditions") or []
        return next(
            (
                one["message"]
                for one in conditions
                if one["type"] == "ErrorOccurred" and one["status"] == "True"
            ),
            "",
        )

    def condition_of(self, scorer: str, kind: str) -> tuple[str, str, str]:
        """(status, reason, message) of a condition of a DynamicScorer; empty while there is none."""
        found = self.hub.get(DYNAMIC_SCORER, scorer, namespace=HUB_NAMESPACE)
        return next(
            (
                (one["status"], one["reason"], one["message"])
                for one in found.get("status", {}).get("conditions", [])
                if one["type"] == kind
            ),
            ("", "", ""),
        )

    def columns_of(self, scorer: str) -> dict[str, str]:
        """What `kubectl get dynamicscorers -o wide` shows of a scorer."""
        lines = self.plane.kubectl(
            "get", "dynamicscorers", scorer, "-n", HUB_NAMESPACE, "-o", "wide"
        ).splitlines()
        return dict(zip(lines[0].split(), lines[1].split(), strict=False))

    def events_about(self, name: str, *, namespace: str = HUB_NAMESPACE) -> list[tuple[str, str, int]]:
        """(type, reason, count) of the reconciler's Events about an object, the oldest first."""
        found = [
            item
            for item in self.hub.list(EVENT, namespace=namespace)
            if item["involvedObject"]["name"] == name
            and item["source"].get("component") == "gitops-dsf-reconciler"
        ]
        found.sort(key=lambda item: (item["firstTimestamp"], int(item["metadata"]["resourceVersion"])))
        return [(item["type"], item["reason"], item["count"]) for item in found]
