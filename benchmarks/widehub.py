"""A hub of the largest size that we measure, in a process of its own: `python widehub.py CLUSTERS SCORERS
[APPLICATIONS]`.

Answers what the reconciler, `status` and `doctor` ask an API server, each AddOnPlacementScore made while its
page is written. Without APPLICATIONS there is a Placement for each scorer, and nothing is decided. Nothing of
the add-on's rights is there, so that `doctor` has the same thing to say about every cluster.
Prints its URL, then obeys lines on standard input: `expire` ends every watch of scores with 410, so that they
are listed anew; `renew N` sends N renewals a second; `count` prints how many pages of scores and status
patches it has served. Ends with its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qs, urlsplit

GROUP = "cluster.open-cluster-management.io"
GROUPS = {
    GROUP: ("v1", "v1alpha1", "v1beta1", "v1beta2"),
    "work.open-cluster-management.io": ("v1",),
    "addon.open-cluster-management.io": ("v1alpha1",),
    "argoproj.io": ("v1alpha1",),
}
MANAGED = {
    "manager": "gitops-dsf-agent",
    "operation": "Apply",
    "apiVersion": f"{GROUP}/v1alpha1",
    "time": "2026-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:status": {
            "f:scores": {'k:{"name":"headroom"}': {".": {}, "f:name": {}, "f:value": {}}},
            "f:validUntil": {},
        }
    },
    "subresource": "status",
}


class Hub:
    def __init__(self, clusters: int, scorers: int, applications: int = 0) -> None:
        self.applications = applications
        self._listed: dict[str, list[dict[str, Any]]] = {}
        self.clusters = [f"cluster-{number:04}.region-{number % 7}" for number in range(clusters)]
        self.scorers = [f"scorer-{number:03}-headroom" for number in range(scorers)]
        self.port = 0
        self.version = 1000
        self.lease: dict[str, Any] | None = None
        self.statuses: dict[str, Any] = {}
        self.pages = self.patches = 0
        self.start = time.time()
        self.expired = asyncio.Event()
        self.rate = 0
        labels = {"app.kubernetes.io/managed-by": "gitops-dsf-agent", "gitops-dsf.io/scorer": "%(s)s"}
        metadata = {"name": "%(s)s", "namespace": "%(c)s", "uid": "%(u)s", "resourceVersion": "%(v)s"}
        whole = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {
                **metadata,
                "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": labels,
                "managedFields": [MANAGED, MANAGED],
            },
            "status": {
                "scores": [{"name": "headroom", "value": 55}, {"name": "trend", "value": -7}],
                "validUntil": "%(t)s",
            },
        }
        self._score = json.dumps(whole)

    def score(self, number: int, *, renewed: bool = False) -> str:
        cluster, scorer = divmod(number, len(self.scorers))
        # Published over the last half of the TTL, as a fleet does, and not again but by `renewed`.
        until = time.strftime(
            "%Y-%m-%dT%H:%M:%SZ",
            time.gmtime((time.time() if renewed else self.start) + 1800 + number * 7919 % 1800),
        )
        values = {
            "s": self.scorers[scorer],
            "c": self.clusters[cluster],
            "u": f"{number:032x}",
            "v": self.version,
            "t": until,
        }
        return self._score % values

    def listing(self, kind: str) -> list[dict[str, Any]]:
        if kind not in self._listed:
            self._listed[kind] = self._made(kind)
        return self._listed[kind]

    def _made(self, kind: str) -> list[dict[str, Any]]:
        def meta(name: str, namespace: str = "argocd", **more: object) -> dict[str, Any]:
            return {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                **more,
            }

        label = f"{GROUP}/placement"
        healthy = {"health": {"status": "Healthy"}, "sync": {"status": "Synced"}}
        placements = [f"app-{number:04}" for number in range(self.applications or len(self.scorers))]
        decided = {name: self._decided(number) for number, name in enumerate(placements)}
        follows = {name: {"labelSelector": {"matchLabels": {label: name}}} for name in placements}
        match kind:
            case "managedclusters":
                claims = [{"name": f"claim-{number}", "value": f"value-{number}"} for number in range(10)]
                labels = {"env": "prod", **{f"label-{number}": "value" for number in range(9)}}
                return [
                    {
                        "metadata": meta(name, "", labels=labels),
                        "spec": {},
                        "status": {"clusterClaims": claims},
                    }
                    for name in self.clusters
                ]
            case "managedclusteraddons":
                status = {"conditions": [{"type": "Available", "status": "True"}]}
                return [
                    {"metadata": meta("gitops-dsf-agent", name), "status": status} for name in self.clusters
                ]
            case "dynamicscorers":
                config = f"http://127.0.0.1:{self.port}/config"
                spec = {"configURL": config, "configSyncMode": "None", "scoreTTLSeconds": 3600}
                return [
                    {
                        "metadata": meta(name, "open-cluster-management"),
                        "spec": {**spec, "scoring": {"params": {"name": name, "interval": 60}}},
                        "status": self.statuses.get(name, {}),
                    }
                    for name in self.scorers
                ]
            case "placements":
                labels = {"app.kubernetes.io/managed-by": "gitops-dsf"}
                ranks = [[self._ranks(n % len(self.scorers)), self._ranks(0)] for n in range(len(placements))]
                policies = [{"mode": "Exact", "configurations": each} for each in ranks]
                return [
                    {
                        "metadata": meta(name, labels=labels),
                        "spec": {"numberOfClusters": 3, "prioritizerPolicy": policy},
                    }
                    for name, policy in zip(placements, policies, strict=True)
                ]
        if not self.applications:
            return []
        match kind:
            case "managedclustersets":
                spec = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
                return [{"metadata": {"name": "global"}, "spec": spec}]
            case "managedclustersetbindings":
                return [{"metadata": meta("global"), "spec": {"clusterSet": "global"}}]
            case "placementdecisions":
                return [
                    {
                        "metadata": meta(f"{name}-decision-1", labels={label: name}),
                        "status": {"decisions": [{"clusterName": each, "reason": ""} for each in clusters]},
                    }
                    for name, clusters in decided.items()
                ]
            case "applicationsets":
                strategy = {"gitops-dsf.io/moves-strategy": "MakeBeforeBreak"}
                return [
                    {
                        "metadata": meta(name, annotations=strategy),
                        "spec": {
                            "generators": [
                                {"clusterDecisionResource": {"configMapRef": "x", **follows[name]}}
                            ]
                        },
                    }
                    for name in placements
                ]
            case "applications":
                return [
                    {
                        "metadata": meta(f"{name}-{cluster}", labels={"gitops-dsf.io/application": name}),
                        "spec": {"destination": {"name": cluster}},
                        "status": {**healthy, "resources": [{"kind": "Deployment"}] * 10},
                    }
                    for name, clusters in decided.items()
                    for cluster in clusters
                ]
        return []

    def _decided(self, number: int) -> list[str]:
        return sorted(self.clusters[(number * 7 + each) % len(self.clusters)] for each in range(3))

    def _ranks(self, number: int) -> dict[str, Any]:
        add_on = {"resourceName": self.scorers[number], "scoreName": "headroom"}
        return {"scoreCoordinate": {"type": "AddOn", "addOn": add_on}, "weight": 10}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Also when this program ends in the middle of a watch.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                method, target, _ = head.split("\r\n")[0].split(" ")
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                query = parse_qs(urlsplit(target).query)
                kind, name = self._place(urlsplit(target).path)
                if "watch" in query:
                    await self._watch(writer, kind)
                    break
                status, answer = self._answer(method, kind, name, query, json.loads(body) if body else {})
                date = formatdate(usegmt=True)
                start = (
                    f"HTTP/1.1 {status} X\r\nDate: {date}\r\nContent-Type:"
                    f" application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
                )
                writer.write(start.encode() + answer)
                await writer.drain()
        writer.close()

    @staticmethod
    def _place(path: str) -> tuple[str, str]:
        words = path.strip("/").split("/")
        words = words[2:] if words[0] == "api" else words[3:]
        if words[:1] == ["namespaces"]:
            words = words[2:]
        return (words[0] if words else path), (words[1] if len(words) > 1 else "")

    def _answer(
        self, method: str, kind: str, name: str, query: dict[str, list[str]], body: dict[str, Any]
    ) -> tuple[int, bytes]:
        if kind == "leases":
            if method == "GET":
                return (200, json.dumps(self.lease).encode()) if self.lease else (404, b"{}")
            self.version += 1
            self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
            return 200, json.dumps(self.lease).encode()
        if kind == "configmaps":
            return (200, b'{"data":{"masks":"[]"}}') if name == "gitops-dsf-masks" else (404, b"{}")
        if method == "PATCH" and kind == "dynamicscorers":
            self.patches += 1
            self.statuses[name] = {**self.statuses.get(name, {}), **body["status"]}
            self._listed.pop(kind, None)
            return 200, b"{}"
        if method != "GET":
            return 201, b"{}"
        if kind == "/apis":
            groups = [
                {"name": name, "versions": [{"version": each} for each in versions]}
                for name, versions in GROUPS.items()
            ]
            return 200, json.dumps({"groups": groups}).encode()
        if kind == "addonplacementscores":
            return 200, self._scores(query)
        if name:
            return 404, b"{}"
        items = self.listing(kind)
        return 200, json.dumps({"metadata": {"resourceVersion": str(self.version)}, "items": items}).encode()

    def _scores(self, query: dict[str, list[str]]) -> bytes:
        """One page of scores as an API server with a watch cache makes it: by name, or as many as are asked
        for, and how many are left.
        """
        self.pages += 1
        only = query.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
        numbers = range(len(self.clusters) * len(self.scorers))
        if only:
            numbers = numbers[self.scorers.index(only) :: len(self.scorers)]
        start = int(query.get("continue", ["0"])[0])
        end = min(start + int(query.get("limit", ["500"])[0]), len(numbers))
        left = len(numbers) - end
        rest = f',"continue":"{end}","remainingItemCount":{left}' if left else ""
        items = ",".join(map(self.score, numbers[start:end]))
        return f'{{"metadata":{{"resourceVersion":"{self.version}"{rest}}},"items":[{items}]}}'.encode()

    async def _watch(self, writer: asyncio.StreamWriter, kind: str) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        number, total, quiet = 0, len(self.clusters) * len(self.scorers), 0
        while True:
            if kind == "addonplacementscores" and self.expired.is_set():
                self.expired.clear()
                self._chunk(writer, '{"type":"ERROR","object":{"kind":"Status","code":410}}\n')
                break
            events = []
            if kind == "addonplacementscores":
                for _ in range(self.rate // 10):
                    self.version += 1
                    events.append(f'{{"type":"MODIFIED","object":{self.score(number, renewed=True)}}}\n')
                    number = (number + 7919) % total
            quiet += 1
            if quiet % 300 == 0:
                # Every 30 s, so that a connection that the other side gave up is noticed.
                events.append(
                    f'{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{self.version}"}}}}}}\n'
                )
            if events:
                self._chunk(writer, "".join(events))
            await writer.drain()
            await asyncio.sleep(0.1)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    @staticmethod
    def _chunk(writer: asyncio.StreamWriter, text: str) -> None:
        content = text.encode()
        writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")


async def main() -> None:
    hub = Hub(*map(int, sys.argv[1:]))
    server = await asyncio.start_server(hub.serve, "127.0.0.1", 0)
    hub.port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{hub.port}", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        word, _, argument = line.strip().partition(" ")
        if word == "expire":
            hub.expired.set()
        elif word == "renew":
            hub.rate = int(argument)
        elif word == "count":
            print(json.dumps([hub.pages, hub.patches]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
