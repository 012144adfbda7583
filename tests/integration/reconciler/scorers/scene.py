"""A hub with scorers, clusters and scores behind a real HTTP server, and the scorers duty at work on it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scorers.duty import ScorerDuty
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from tests.support.objecthub import ObjectHub

NAMESPACE, ARGOCD = "hub", "argocd"
PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
LONG_AGO = "2020-01-01T00:00:00Z"


def stamp(at: float) -> str:
    return datetime.fromtimestamp(int(at), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Scene:
    """What people and other programs do on the hub; `url` is where scoring APIs answer."""

    def __init__(self, hub: ObjectHub, url: str) -> None:
        self.hub, self.url = hub, url

    def scorer(self, name: str, *, created: str = LONG_AGO, **spec: Any) -> None:
        whole = {
            "configURL": f"{self.url}/config",
            "scoring": {"params": {"name": name, "interval": 5}},
            "scoreTTLSeconds": 900,
            **spec,
        }
        self.hub.put(
            "dynamicscorers",
            name,
            namespace=NAMESPACE,
            metadata={"generation": 1, "creationTimestamp": created},
            spec=whole,
            status={},
        )

    def cluster(self, *names: str, created: str = LONG_AGO, **labels: str) -> None:
        for name in names:
            self.hub.put("managedclusters", name, metadata={"labels": labels, "creationTimestamp": created})
            self.hub.put(
                "managedclusteraddons",
                "gitops-dsf-agent",
                namespace=name,
                metadata={"creationTimestamp": created},
            )

    def score(self, cluster: str, resource: str = "cpu", *, seconds: float = 900, names: str = "all") -> None:
        status = {
            "validUntil": stamp(time.time() + seconds),
            "scores": [{"name": name, "value": 1} for name in names.split()],
        }
        self.hub.put("addonplacementscores", resource, namespace=cluster, status=status)

    def unpublish(self, cluster: str, resource: str = "cpu") -> None:
        del self.hub.objects["addonplacementscores", cluster, resource]

    def masks(self, text: str) -> None:
        self.hub.put("configmaps", "gitops-dsf-masks", namespace=NAMESPACE, data={"masks": text})

    def placement(
        self, name: str, *, resource: str = "cpu", dimension: str = "all", decided: str = "", **spec: Any
    ) -> None:
        coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": dimension}}
        policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 10}]}
        if self.hub.get("placements", name, namespace=ARGOCD) is None:
            self.hub.put("placements", name, namespace=ARGOCD, spec={"prioritizerPolicy": policy, **spec})
        decisions = [{"clusterName": cluster, "reason": ""} for cluster in decided.split()]
        self.hub.put(
            "placementdecisions",
            f"{name}-decision-1",
            namespace=ARGOCD,
            metadata={"labels": {PLACEMENT_LABEL: name}},
            status={"decisions": decisions},
        )

    def condition(self, scorer: str, kind: str = "Scored") -> tuple[str, str, str]:
        item = self.hub.get("dynamicscorers", scorer, namespace=NAMESPACE)
        assert item is not None
        for each in item["status"].get("conditions", []):
            if each["type"] == kind:
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    def events(self, kind: str) -> list[tuple[str, str, int]]:
        """(object, reason, count) of one kind of object, in the order in which they were first said."""
        found = [item for (plural, _, _), item in self.hub.objects.items() if plural == "events"]
        return [
            (each["involvedObject"]["name"], each["reason"], each["count"])
            for each in found
            if each["involvedObject"]["kind"] == kind
        ]

    def patched(self) -> list[str]:
        return [word.partition("/")[2] for word in self.hub.asked if word.startswith("PATCH dynamicscorers/")]


class Working:
    """One replica that leads."""

    def __init__(self, duty: ScorerDuty, metrics: Metrics) -> None:
        self.duty, self.metrics = duty, metrics

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_{name}", labels)


@asynccontextmanager
async def working(hub: ObjectHub) -> AsyncIterator[Working]:
    metrics = Metrics()
    async with hub.api() as api, Fetcher(limits=FetchLimits(seconds=20.0)) as fetcher:
        view = HubView(api=api, hub_namespace=NAMESPACE, argocd_namespace=ARGOCD)
        events = Events(api=api, metrics=metrics.events)
        duty = ScorerDuty(api=api, view=view, fetcher=fetcher, metrics=metrics, events=events, interval=30.0)
        yield Working(duty, metrics)
