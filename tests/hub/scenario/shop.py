"""A small HTTP workload where no kubelet runs.

A server for each cluster that has its Deployment, and a client that asks all of them every 100 ms.

The metrics of a cluster come from what the client was answered there.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx

from tests.hub.controlplane.api import ApiError, Object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import LoadExporter
from tests.hub.controlplane.watching import Watch
from tests.hub.scenario.agents import DEPLOYMENT
from tests.support.threadserver import Handler, ThreadServer

METRIC: Final = "request_success_percent"
PERIOD_SECONDS: Final = 0.1
WINDOW: Final = 20
"""Answers that the metric counts."""
READY: Final[Object] = {"observedGeneration": 1_000}
"""The status of a Deployment without replicas that a controller has seen in full."""


class ShopServer(ThreadServer):
    """Answers with 200, and with 500 as often as it is told."""

    def __init__(self, shop: "Shop", cluster: str) -> None:
        counted = threading.Lock()
        asked = 0

        class ShopHandler(Handler):
            def serve(self) -> None:
                nonlocal asked
                with counted:
                    asked += 1
                    fails = asked % 10 < shop.failing.get(cluster, 0)
                self.send(500 if fails else 200, b"")

        super().__init__(ShopHandler)


@dataclass(frozen=True, kw_only=True)
class Round:
    """What a client saw when it asked all copies."""

    at: float
    """Unix time."""
    statuses: Mapping[str, int]
    """The HTTP status by cluster; 0 where nobody answered."""


@dataclass(kw_only=True)
class Shop:
    """The running workload. `failing` and `unmeasured` may be changed while it serves."""

    name: str
    exporters: Mapping[str, LoadExporter]
    failing: dict[str, int] = field(default_factory=dict)
    """How many of ten requests fail, by cluster."""
    unmeasured: set[str] = field(default_factory=set)
    """Clusters without the metric, although requests are answered there."""
    rounds: list[Round] = field(default_factory=list)
    servers: dict[str, ShopServer] = field(default_factory=dict)

    def ask(self, client: httpx.Client, answers: Mapping[str, "deque[bool]"]) -> None:
        """Asks all copies once, and sets the metrics."""
        statuses = dict[str, int]()
        for cluster, server in dict(self.servers).items():
            try:
                statuses[cluster] = client.get(server.url).status_code
            except httpx.TransportError:
                statuses[cluster] = 0
            answers[cluster].append(statuses[cluster] == 200)
        self.rounds.append(Round(at=time.time(), statuses=statuses))
        for cluster, exporter in self.exporters.items():
            if cluster not in statuses or cluster in self.unmeasured:
                answers[cluster].clear()
                exporter.unset(METRIC, {"app": self.name})
            elif len(answers[cluster]) == WINDOW:
                percent = 100 * sum(answers[cluster]) / WINDOW
                exporter.set(METRIC, {"app": self.name}, percent)

    def failures(self, *clusters: str) -> Sequence[Round]:
        """The rounds in which none of these copies answered with 200."""
        return [
            found
            for found in self.rounds
            if all(found.statuses.get(cluster) != 200 for cluster in clusters)
        ]


@contextmanager
def shop_runs(
    plane: ControlPlane, name: str, exporters: Mapping[str, LoadExporter]
) -> Iterator[Shop]:
    """Serves wherever the Deployment of this name and namespace is, until the block ends.

    A copy is asked as soon as its server runs, and as long as its Deployment is there.
    """
    shop = Shop(name=name, exporters=exporters)
    ends = threading.Event()

    def ask() -> None:
        answers = {cluster: deque[bool](maxlen=WINDOW) for cluster in exporters}
        with httpx.Client(timeout=2, trust_env=False) as client:
            while not ends.wait(PERIOD_SECONDS):
                shop.ask(client, answers)

    def serve(cluster: str) -> None:
        spoke = plane.spokes[cluster].admin
        with Watch(spoke, DEPLOYMENT, namespace=name) as watch:
            while not ends.wait(PERIOD_SECONDS / 2):
                last = next((v for v in reversed(watch.versions) if v.name == name), None)
                is_there = (
                    last is not None
                    and last.event != "DELETED"
                    and "deletionTimestamp" not in last.item["metadata"]
                )
                if is_there and cluster not in shop.servers:
                    server = ShopServer(shop, cluster)
                    server.start()
                    shop.servers[cluster] = server
                elif not is_there and cluster in shop.servers:
                    shop.servers.pop(cluster).stop()
                if is_there and last is not None and not _is_ready(last.item):
                    try:
                        spoke.patch_status(DEPLOYMENT, name, READY, namespace=name)
                    except ApiError as error:
                        if error.code != httpx.codes.NOT_FOUND:
                            raise

    threads = [threading.Thread(target=ask, daemon=True)]
    threads += [
        threading.Thread(target=serve, args=[cluster], daemon=True) for cluster in exporters
    ]
    for thread in threads:
        thread.start()
    try:
        yield shop
    finally:
        ends.set()
        for thread in threads:
            thread.join()
        for server in shop.servers.values():
            server.stop()


def _is_ready(deployment: Object) -> bool:
    status: Object = deployment.get("status", {})
    return bool(status.get("observedGeneration") == READY["observedGeneration"])
