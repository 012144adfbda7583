"""An ApplicationSet, its Placement, decision and Applications in an `ObjectHub`.

They are as Argo CD and OCM write them.
"""

import time
from collections.abc import Awaitable
from typing import Any

import msgspec

from dsf_runtime.informer import Informer
from gitops_dsf.hub import resources
from gitops_dsf.hub.application_sets import ApplicationSet, Handover
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.names import MOVES_CONFIGMAP, PLACEMENT_LABEL
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import cluster
from gitops_dsf.reconciler.moves.deletion import Blocked, Candidate, CopyDeleter
from gitops_dsf.reconciler.moves.reachability import ReachabilityTracker
from gitops_dsf.reconciler.moves.rules import Action, CopyVerdict, MoveState
from tests.integration.reconciler.replica import from_now
from tests.support.hubobjects import HUB
from tests.support.objecthub import ObjectHub

NAMESPACE = "argocd"
SETS, APPLICATIONS, PLACEMENTS = "applicationsets", "applications", "placements"
CLUSTERS = "managedclusters"
GOOD = {
    "health": {"status": "Healthy"},
    "sync": {"status": "Synced"},
    "operationState": {"phase": "Succeeded"},
}
PROGRESSING = {**GOOD, "health": {"status": "Progressing"}}


REQUESTS = 14
"""Of one removal that relies on one copy: six reads, one patch, six reads, one deletion."""
HANDOVER = Handover(placement="web", timeout=60.0, template_name="web-{{.name}}")


def candidate(cluster: str, *decided: str, overdue: bool = False) -> Candidate:
    """The copy of this cluster, which left the decision.

    Which copies the informers saw does not matter to a removal.
    """
    copy = ArgoApplication(
        name=f"web-{cluster}", uid=f"copy-{cluster}", application="web", cluster=cluster
    )
    return Candidate(
        application_set=ApplicationSet(
            name="web", uid="set-1", placements=frozenset({"web"}), handover=HANDOVER
        ),
        handover=HANDOVER,
        state=MoveState(
            decided=frozenset(decided),
            asked_for=None,
            copies=(),
            unreachable=frozenset(),
            returned=frozenset(),
            overdue=overdue,
            best={},
            name_on=HANDOVER.name_on,
        ),
        verdict=CopyVerdict(copy=copy, action=Action.DELETE, reason="", message=""),
    )


def deleter_of(api: HubApi) -> CopyDeleter:
    """Whose informer of clusters has seen none yet."""
    informer = Informer(api=api, path=resources.CLUSTERS.path, project=cluster)
    return CopyDeleter(
        api=api,
        hub_namespace=HUB,
        argocd_namespace=NAMESPACE,
        reach=ReachabilityTracker(clusters=informer, clock=time.monotonic, hub_time=api.now),
    )


class MoveHub:
    """One application, web; every object is in the namespace of Argo CD."""

    def __init__(self, hub: ObjectHub) -> None:
        self.hub = hub
        self.pace = ""
        """The annotation of the Placement, if its moves are paced."""
        self.application_set()
        self.decide("a")

    def application_set(self, *, uid: str = "set-1", **spec: Any) -> None:
        annotations = {
            "gitops-dsf.io/moves-strategy": "MakeBeforeBreak",
            "gitops-dsf.io/moves-timeout-seconds": "60",
        }
        selector = {"matchLabels": {PLACEMENT_LABEL: "web"}}
        body = {
            "generators": [
                {"clusterDecisionResource": {"configMapRef": "x", "labelSelector": selector}}
            ],
            "template": {"metadata": {"name": "web-{{.name}}"}},
            "syncPolicy": {"applicationsSync": "create-update"},
            **spec,
        }
        metadata = {"uid": uid, "annotations": annotations}
        self.hub.put(SETS, "web", namespace=NAMESPACE, metadata=metadata, spec=body)

    def available(
        self,
        cluster: str,
        status: str = "True",
        *,
        since: float | None = None,
        taints: tuple[str, ...] = (),
    ) -> None:
        """The ManagedCluster; `since` in seconds from now."""
        condition = {"type": "ManagedClusterConditionAvailable", "status": status}
        if since is not None:
            condition["lastTransitionTime"] = from_now(since)
        spec = {"taints": [{"key": key, "effect": "NoSelect"} for key in taints]}
        self.hub.put(CLUSTERS, cluster, spec=spec, status={"conditions": [condition]})

    def decide(
        self,
        *clusters: str,
        selected: int | None = None,
        owner: str = "placement-1",
        wanted: int | None = None,
    ) -> None:
        """One page, then the status, as OCM does it; `selected` where the status says something
        else.
        """
        owners = [{"kind": "Placement", "name": "web", "uid": owner, "controller": True}]
        self.hub.decide("web", *clusters, ownerReferences=owners)
        count = len(clusters) if selected is None else selected
        status = {"numberOfSelectedClusters": count, "decisionGroups": [{"clusterCount": count}]}
        spec = {"numberOfClusters": wanted}
        self.hub.put(
            PLACEMENTS,
            "web",
            namespace=NAMESPACE,
            metadata={
                "uid": "placement-1",
                "annotations": {PACE_ANNOTATION: self.pace} if self.pace else {},
            },
            spec=spec,
            status=status,
        )

    def ledger(self, *moves: LedgerMove) -> None:
        """What the controller of paced moves has written."""
        text = msgspec.json.encode(Ledger(moves)).decode()
        self.hub.put("configmaps", MOVES_CONFIGMAP, namespace=HUB, data={"ledger": text})

    def copy(self, cluster: str, *, status: Any = None, **metadata: Any) -> None:
        """The same UID each time: it changed, and was not made anew."""
        owners = [{"kind": "ApplicationSet", "name": "web", "uid": "set-1", "controller": True}]
        made = {
            "uid": f"copy-{cluster}",
            "labels": {"gitops-dsf.io/application": "web"},
            "ownerReferences": owners,
            "finalizers": ["resources-finalizer.argocd.argoproj.io"],
        }
        self.hub.put(
            APPLICATIONS,
            f"web-{cluster}",
            namespace=NAMESPACE,
            metadata={**made, **metadata},
            spec={"destination": {"name": cluster, "namespace": "web"}},
            status=GOOD if status is None else status,
        )

    def moved(self) -> None:
        """From a to b, where both have a copy that is well."""
        self.decide("b")
        self.copy("a")
        self.copy("b")

    def copies(self) -> list[str]:
        return sorted(name for plural, _, name in self.hub.objects if plural == APPLICATIONS)

    def deletions(self) -> list[str]:
        return [word for word in self.hub.asked if word.startswith("DELETE ")]


async def reason(deletion: Awaitable[None]) -> str:
    """Why a deletion is blocked; empty if it is not."""
    try:
        await deletion
    except Blocked as blocked:
        return blocked.reason
    return ""
