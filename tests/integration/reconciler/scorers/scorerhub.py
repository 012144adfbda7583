"""A hub with scorers, clusters and scores behind a real HTTP server, and a replica that leads on it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.reconciler.scorers.controller import ScorerController
from gitops_dsf.reconciler.scorers.probes import FAILURES
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from tests.integration.reconciler.replica import Replica, read_again
from tests.support.hubobjects import ARGOCD, HUB
from tests.support.objecthub import ObjectHub
from tests.support.virtual_time import wall

NAMESPACE = HUB
PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
LONG_AGO = "2020-01-01T00:00:00Z"


def stamp(at: float) -> str:
    return datetime.fromtimestamp(int(at), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ScorerHub(ObjectHub):
    """What people and other programs do on the hub. Scoring APIs answer at `pages_url`."""

    def __init__(self, pages_url: str) -> None:
        super().__init__()
        self.pages_url = pages_url

    def scorer(self, name: str, *, created: str = LONG_AGO, **spec: Any) -> None:
        whole = {
            "configURL": f"{self.pages_url}/config",
            "scoring": {"params": {"name": name, "interval": 5}},
            "scoreTTLSeconds": 900,
            **spec,
        }
        metadata = {"generation": 1, "creationTimestamp": created}
        self.put("dynamicscorers", name, namespace=NAMESPACE, metadata=metadata, spec=whole, status={})

    def cluster(self, *names: str, created: str = LONG_AGO, **labels: str) -> None:
        for name in names:
            made = {"creationTimestamp": created}
            self.put("managedclusters", name, metadata={"labels": labels, **made})
            self.put("managedclusteraddons", "gitops-dsf-agent", namespace=name, metadata=made)

    def score(self, cluster: str, resource: str = "cpu", *, seconds: float = 900, names: str = "all") -> None:
        status = {
            "validUntil": stamp(wall() + seconds),
            "scores": [{"name": name, "value": 1} for name in names.split()],
        }
        self.put("addonplacementscores", resource, namespace=cluster, status=status)

    def unpublish(self, cluster: str, resource: str = "cpu") -> None:
        del self.objects["addonplacementscores", cluster, resource]

    def masks(self, text: str) -> None:
        self.put("configmaps", "gitops-dsf-masks", namespace=NAMESPACE, data={"masks": text})

    def placement(
        self, name: str, *, resource: str = "cpu", dimension: str = "all", decided: str = "", **spec: Any
    ) -> None:
        coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": dimension}}
        policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 10}]}
        if self.get("placements", name, namespace=ARGOCD) is None:
            self.put("placements", name, namespace=ARGOCD, spec={"prioritizerPolicy": policy, **spec})
        decisions = [{"clusterName": cluster, "reason": ""} for cluster in decided.split()]
        self.put(
            "placementdecisions",
            f"{name}-decision-1",
            namespace=ARGOCD,
            metadata={"labels": {PLACEMENT_LABEL: name}},
            status={"decisions": decisions},
        )

    def condition(self, scorer: str, kind: str = "Scored") -> tuple[str, str, str]:
        item = self.get("dynamicscorers", scorer, namespace=NAMESPACE)
        assert item is not None
        for each in item["status"].get("conditions", []):
            if each["type"] == kind:
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    def events_about(self, kind: str) -> list[tuple[str, str, int]]:
        """(object, reason, count) of one kind of object, in the order in which they were first said."""
        found = [item for (plural, _, _), item in self.objects.items() if plural == "events"]
        return [
            (each["involvedObject"]["name"], each["reason"], each["count"])
            for each in found
            if each["involvedObject"]["kind"] == kind
        ]

    def patched(self) -> list[str]:
        return [word.partition("/")[2] for word in self.asked if word.startswith("PATCH dynamicscorers/")]


class Leader(Replica):
    """One replica that leads. It does nothing until its controller is told to."""

    def __init__(self, api: HubApi, *, fetcher: Fetcher, interval: float) -> None:
        super().__init__(api, clock=asyncio.get_running_loop().time)
        # Every pass looks at the scores anew.
        self.shared.scanner = ScoreScanner(view=self.view, now=api.now, seconds=0)
        self.controller = ScorerController(self.shared, fetcher=fetcher, interval=interval)

    async def once(self) -> int:
        """One complete pass, with as many probes as health needs. Returns how many statuses were written."""
        await read_again(self.view)
        for last in range(FAILURES):
            await self.controller.prober.round(dict(self.view.scorers.items))
            undecided = any(health.contradictions for health in self.controller.prober.health.values())
            if not undecided or last == FAILURES - 1:
                break
            await asyncio.sleep(1)
        return await self.controller.write()


@asynccontextmanager
async def leading(hub: ObjectHub, *, interval: float = 30.0) -> AsyncIterator[Leader]:
    async with hub.api() as api, Fetcher(limits=FetchLimits(seconds=20.0)) as fetcher:
        yield Leader(api, fetcher=fetcher, interval=interval)
