"""A hub with scorers, clusters and scores, and a replica that writes statuses.

The hub is behind a real HTTP server.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.reconciler.scorers.controller import ScorerController
from gitops_dsf.reconciler.scorers.probes import FAILURES
from gitops_dsf.repository.model.repository import Delivery
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from tests.integration.reconciler.replica import Replica, from_now, read_again
from tests.support.hubobjects import ARGOCD, HUB
from tests.support.objecthub import ObjectHub

NAMESPACE = HUB
LONG_AGO = "2020-01-01T00:00:00Z"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}


class ScorerHub(ObjectHub):
    """What people and other programs do on the hub. Scoring APIs answer at `pages_url`."""

    def __init__(self, pages_url: str = "http://nobody.invalid", *, on_wire: bool = False) -> None:
        super().__init__(on_wire=on_wire)
        self.pages_url = pages_url

    def scorer(self, name: str, *, score: str = "", ttl: int = 900, **spec: Any) -> None:
        whole = {
            "configURL": f"{self.pages_url}/config",
            "scoring": {"params": {"name": score or name, "interval": 5}},
            "scoreTTLSeconds": ttl,
            **spec,
        }
        metadata = {"generation": 1, "creationTimestamp": LONG_AGO}
        self.put(
            "dynamicscorers", name, namespace=NAMESPACE, metadata=metadata, spec=whole, status={}
        )

    def cluster(
        self, *names: str, created: str = LONG_AGO, available: str = "", **labels: str
    ) -> None:
        """Without an agent."""
        conditions = (
            [{"type": "ManagedClusterConditionAvailable", "status": available}] if available else []
        )
        metadata = {"labels": labels, "creationTimestamp": created}
        for name in names:
            self.put("managedclusters", name, metadata=metadata, status={"conditions": conditions})

    def agent(
        self,
        *clusters: str,
        created: str = LONG_AGO,
        available: str = "True",
        addon: str = "gitops-dsf-agent",
    ) -> None:
        status = {"conditions": [{"type": "Available", "status": available}]}
        metadata = {"creationTimestamp": created}
        for cluster in clusters:
            self.put(
                "managedclusteraddons",
                addon,
                namespace=cluster,
                metadata=metadata,
                status=status,
            )

    def joined(self, *names: str, created: str = LONG_AGO, **labels: str) -> None:
        """Clusters with an agent."""
        self.cluster(*names, created=created, **labels)
        self.agent(*names, created=created)

    def score(
        self,
        cluster: str,
        resource: str = "cpu",
        *,
        seconds: float = 900,
        labels: dict[str, str] | None = None,
    ) -> None:
        """It expires so many seconds from now."""
        status = {"validUntil": from_now(seconds), "scores": [{"name": "all", "value": 1}]}
        metadata = {"labels": OURS if labels is None else labels}
        self.put(
            "addonplacementscores", resource, namespace=cluster, metadata=metadata, status=status
        )

    def upstreams_score(self, cluster: str) -> None:
        """As upstream's agent writes it: without labels and without validUntil."""
        status = {"scores": [{"name": "all", "value": 1}]}
        self.put("addonplacementscores", "cpu", namespace=cluster, metadata={}, status=status)

    def failing(
        self, cluster: str, reason: str, message: str = "", *, scored: bool = False
    ) -> None:
        """The agent says why the scorer `cpu` has no scores there now, or never had any."""
        condition = {
            "type": "Scored",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": from_now(-60),
        }
        status: dict[str, Any] = {"conditions": [condition]}
        if scored:
            status |= {"validUntil": from_now(900), "scores": [{"name": "all", "value": 1}]}
        self.put(
            "addonplacementscores",
            "cpu",
            namespace=cluster,
            metadata={"labels": OURS},
            status=status,
        )

    def unpublish(self, cluster: str) -> None:
        del self.objects["addonplacementscores", cluster, "cpu"]

    def masks(self, text: str) -> None:
        self.put("configmaps", "gitops-dsf-masks", namespace=NAMESPACE, data={"masks": text})

    def placement(
        self,
        name: str,
        *,
        resource: str = "cpu",
        dimension: str = "all",
        decided: str = "",
        **spec: Any,
    ) -> None:
        coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": dimension}}
        policy = {
            "mode": "Exact",
            "configurations": [{"scoreCoordinate": coordinate, "weight": 10}],
        }
        if self.get("placements", name, namespace=ARGOCD) is None:
            self.put(
                "placements", name, namespace=ARGOCD, spec={"prioritizerPolicy": policy, **spec}
            )
        self.decide(name, *decided.split())

    def condition(self, scorer: str, kind: str = "Scored") -> tuple[str, str, str]:
        item = self.get("dynamicscorers", scorer, namespace=NAMESPACE)
        assert item is not None
        for each in item["status"].get("conditions", []):
            if each["type"] == kind:
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    def events_about(self, kind: str) -> list[tuple[str, str, int]]:
        """(object, reason, count) of one kind of object, in the order in which they were first
        said.
        """
        found = [item for (plural, _, _), item in self.objects.items() if plural == "events"]
        return [
            (each["involvedObject"]["name"], each["reason"], each["count"])
            for each in found
            if each["involvedObject"]["kind"] == kind
        ]

    def patched(self) -> list[str]:
        return [
            word.partition("/")[2]
            for word in self.asked
            if word.startswith("PATCH dynamicscorers/")
        ]


class ScorerLeader(Replica):
    """One replica that leads. It does nothing until its controller is told to."""

    def __init__(
        self,
        api: HubApi,
        *,
        fetcher: Fetcher,
        interval: float,
        delivery: Delivery | None,
    ) -> None:
        super().__init__(api, clock=asyncio.get_running_loop().time, delivery=delivery)
        # Every pass looks at the scores anew.
        self.context.scanner = ScoreScanner(view=self.view, now=api.now, seconds=0)
        self.controller = ScorerController(self.context, fetcher=fetcher, interval=interval)

    async def once(self) -> int:
        """One complete pass, with as many probes as health needs.

        Returns how many statuses were written.
        """
        await read_again(self.view)
        for last in range(FAILURES):
            await self.controller.prober.round(dict(self.view.scorers.items))
            undecided = any(
                health.contradictions for health in self.controller.prober.health.values()
            )
            if not undecided or last == FAILURES - 1:
                break
            await asyncio.sleep(1)
        before = self.metric("status_patches_total") or 0.0
        await self.controller.write_statuses()
        await self.events_written()
        return int((self.metric("status_patches_total") or 0.0) - before)


@asynccontextmanager
async def leading(
    hub: ObjectHub, *, interval: float = 30.0, delivery: Delivery | None = None
) -> AsyncIterator[ScorerLeader]:
    async with hub.api() as api, Fetcher(limits=FetchLimits(seconds=20.0)) as fetcher:
        yield ScorerLeader(api, fetcher=fetcher, interval=interval, delivery=delivery)
