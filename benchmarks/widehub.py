"""A hub of the largest size that we measure, in a process of its own: `python widehub.py CLUSTERS SCORERS`.

Answers what the reconciler asks an API server, each AddOnPlacementScore made while its page is written.
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

PAGE = 500
GROUP = "cluster.open-cluster-management.io"
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
    def __init__(self, clusters: int, scorers: int) -> None:
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
        labels = {"app.kubernetes.io/managed-by": "gitops-dsf-agent", "gitops-dsf.io/scorer": "SCORER"}
        metadata = {
            "name": "SCORER",
            "namespace": "CLUSTER",
            "uid": "UID",
            "resourceVersion": "VERSION",
            "generation": 1,
        }
        whole = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {
                **metadata,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": labels,
                "managedFields": [MANAGED, MANAGED],
            },
            "status": {
                "scores": [{"name": "headroom", "value": 55}, {"name": "trend", "value": -7}],
                "validUntil": "UNTIL",
            },
        }
        text = json.dumps(whole).replace("%", "%%")
        for word, field in (
            ("SCORER", "%(s)s"),
            ("CLUSTER", "%(c)s"),
            ("UID", "%(u)s"),
            ("VERSION", "%(v)s"),
            ("UNTIL", "%(t)s"),
        ):
            text = text.replace(word, field)
        self._score = text

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
        def meta(name: str, **more: object) -> dict[str, Any]:
            return {
                "name": name,
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                **more,
            }

        if kind == "managedclusters":
            claims = [{"name": f"claim-{number}", "value": f"value-{number}"} for number in range(10)]
            labels = {
                "env": "prod",
                "vendor": "OpenShift",
                **{f"label-{number}": "value" for number in range(8)},
            }
            return [
                {"metadata": meta(name, labels=labels), "spec": {}, "status": {"clusterClaims": claims}}
                for name in self.clusters
            ]
        if kind == "managedclusteraddons":
            status = {"conditions": [{"type": "Available", "status": "True"}]}
            return [
                {"metadata": meta("gitops-dsf-agent", namespace=name), "status": status}
                for name in self.clusters
            ]
        if kind == "dynamicscorers":
            spec = {
                "configURL": f"http://127.0.0.1:{self.port}/config",
                "configSyncMode": "None",
                "scoreTTLSeconds": 3600,
            }
            return [
                {
                    "metadata": meta(name, namespace="open-cluster-management"),
                    "spec": {**spec, "scoring": {"params": {"name": name, "interval": 60}}},
                    "status": self.statuses.get(name, {}),
                }
                for name in self.scorers
            ]
        if kind == "placements":
            return [
                {
                    "metadata": meta(f"app-{number}"),
                    "spec": {"prioritizerPolicy": {"configurations": [self._ranks(number)]}},
                }
                for number in range(len(self.scorers))
            ]
        return []

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
            return 200, b"{}"
        if method != "GET":
            return 201, b"{}"
        if kind == "addonplacementscores":
            return 200, self._scores(int(query.get("continue", ["0"])[0]))
        items = self.listing(kind)
        return 200, json.dumps({"metadata": {"resourceVersion": str(self.version)}, "items": items}).encode()

    def _scores(self, start: int) -> bytes:
        self.pages += 1
        total = len(self.clusters) * len(self.scorers)
        end = min(start + PAGE, total)
        more = f',"continue":"{end}"' if end < total else ""
        items = ",".join(self.score(number) for number in range(start, end))
        return f'{{"metadata":{{"resourceVersion":"{self.version}"{more}}},"items":[{items}]}}'.encode()

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
    hub = Hub(int(sys.argv[1]), int(sys.argv[2]))
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
