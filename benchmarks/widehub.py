"""A hub on loopback as large as is needed:
`python -m benchmarks.widehub CLUSTERS SCORERS [APPLICATIONS [PACED]]`.

Answers what the reconciler, `status` and `doctor` ask an API server, each AddOnPlacementScore made while its
page is written. Without APPLICATIONS there is a Placement for each scorer, and nothing is decided. Nothing of
the add-on's rights is there, so that `doctor` has the same thing to say about every cluster. PACED Placements
of one cluster each, with refuges, follow the items of `gitops-dsf-moves` as OCM would.
Prints its URL, then obeys lines on standard input: `expire` ends every watch of scores with 410, so that they
are listed anew; `renew N` sends N renewals a second; `change` gives all scores other values from now on;
`count` prints how many scores it has listed, how many status patches it has served, and how many moves were
followed. Ends with its input.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from typing import Any

from tests.support import hubobjects
from tests.support.agent.http import Answer, HttpFake, Reply, Seen, Stream, chunk

GROUPS = {
    hubobjects.CLUSTER: ("v1", "v1alpha1", "v1beta1", "v1beta2"),
    "work.open-cluster-management.io": ("v1",),
    "addon.open-cluster-management.io": ("v1alpha1",),
    "argoproj.io": ("v1alpha1",),
}
BORN = "2026-01-01T00:00:00Z"
MANAGED = {
    "manager": "gitops-dsf-agent",
    "operation": "Apply",
    "apiVersion": f"{hubobjects.CLUSTER}/v1alpha1",
    "time": BORN,
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:status": {
            "f:scores": {'k:{"name":"%(s)s"}': {".": {}, "f:name": {}, "f:value": {}}},
            "f:validUntil": {},
        }
    },
    "subresource": "status",
}
SCORE = json.dumps(
    {
        "apiVersion": f"{hubobjects.CLUSTER}/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {
            "name": "%(s)s",
            "namespace": "%(c)s",
            "uid": "%(u)s",
            "resourceVersion": "%(v)s",
            "generation": 1,
            "creationTimestamp": BORN,
            "labels": {
                "app.kubernetes.io/managed-by": "gitops-dsf-agent",
                "gitops-dsf.io/scorer": "%(s)s",
            },
            "managedFields": [MANAGED, MANAGED],
        },
        "status": {
            "scores": [{"name": "%(s)s", "value": "%(p)s"}, {"name": "trend", "value": -7}],
            "validUntil": "%(t)s",
        },
    }
).replace('"%(p)s"', "%(p)s")
MOVES = "gitops-dsf-moves"


class Hub:
    def __init__(self, clusters: int, scorers: int, applications: int = 0, paced: int = 0) -> None:
        self.clusters = [f"cluster-{number:04}.region-{number % 7}" for number in range(clusters)]
        self.scorers = [f"scorer-{number:03}-headroom" for number in range(scorers)]
        self.server = HttpFake(self._answer)
        self.version = 1000
        self.lease: dict[str, Any] | None = None
        self.listed = self.patches = 0
        self.start = time.time()
        self.expired = asyncio.Event()
        self.rate = self.salt = 0
        objects = [*self._fleet(), *self._placements(applications or scorers)]
        self.config_maps: dict[str, dict[str, Any]] = {
            "gitops-dsf-masks": {"data": {"masks": "[]"}}
        }
        self.moves: dict[str, dict[str, Any]] = {}
        """The AddOnPlacementScores with items of moves, by cluster."""
        told = ("addonplacementscores", "dynamicscorers", "placementdecisions")
        self.changed: dict[str, list[dict[str, Any]]] = {kind: [] for kind in told}
        """Objects whose events are still to be sent, by kind."""
        self.followed = 0
        if paced:
            objects += [hubobjects.global_set(), hubobjects.binding(), *self._paced(paced)]
        if applications:
            objects += [
                hubobjects.global_set(),
                hubobjects.binding(),
                *self._applications(applications),
            ]
        for about in (item["metadata"] for item in objects):
            about |= {"uid": f"uid-{about['name']}", "generation": 1, "creationTimestamp": BORN}
        self.lists = {
            path.rpartition("/")[2]: items for path, items in hubobjects.by_path(objects).items()
        }

    def _fleet(self) -> list[dict[str, Any]]:
        claims = [{"name": f"claim-{number}", "value": f"value-{number}"} for number in range(10)]
        status = {"status": {"clusterClaims": claims}}
        labels = {"env": "prod", **{f"label-{number}": "value" for number in range(9)}}
        return [
            *(hubobjects.cluster(name, **labels) | status for name in self.clusters),
            *map(hubobjects.addon, self.clusters),
            *(
                hubobjects.scorer(name, scoreTTLSeconds=3600) | {"status": {}}
                for name in self.scorers
            ),
        ]

    def _placements(self, count: int) -> list[dict[str, Any]]:
        first, every = self.scorers[0], len(self.scorers)
        return [
            hubobjects.placement(f"app-{number:04}", self.scorers[number % every], first, number=3)
            for number in range(count)
        ]

    def _paced(self, count: int) -> Iterator[dict[str, Any]]:
        for number in range(count):
            name, place = f"paced-{number:04}", number * 7 % len(self.clusters)
            ranked = {
                self.scorers[number % len(self.scorers)],
                self.scorers[number * 13 % len(self.scorers)],
            }
            item = hubobjects.paced(hubobjects.placement(name, *sorted(ranked)), demand=2)
            about = item["metadata"]["annotations"]
            pace = json.loads(about["gitops-dsf.io/pace"]) | {"refuges": True}
            about["gitops-dsf.io/pace"] = json.dumps(pace)
            yield item
            yield hubobjects.decision(name, self.clusters[place])

    def _applications(self, count: int) -> list[dict[str, Any]]:
        found = []
        for number in range(count):
            name = f"app-{number:04}"
            decided = sorted(
                self.clusters[(number * 7 + each) % len(self.clusters)] for each in range(3)
            )
            found += [hubobjects.decision(name, *decided), hubobjects.application_set(name)]
            for cluster in decided:
                application = hubobjects.application(name, cluster)
                application["status"]["resources"] = [{"kind": "Deployment"}] * 10
                found.append(application)
        return found

    def score(self, number: int, *, renewed: bool = False) -> str:
        cluster, scorer = divmod(number, len(self.scorers))
        # Published over the last half of the TTL, as a fleet does, and not again but by `renewed`.
        until = (time.time() if renewed else self.start) + 1800 + number * 7919 % 1800
        return SCORE % {
            "s": self.scorers[scorer],
            "c": self.clusters[cluster],
            "u": f"{number:032x}",
            "v": self.version,
            "p": (number * 7919 + self.salt) % 101,
            "t": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until)),
        }

    def _answer(self, seen: Seen) -> Answer:
        words = seen.path.strip("/").split("/")
        words = words[2:] if words[0] == "api" else words[3:]
        words = words[2:] if words[:1] == ["namespaces"] else words
        kind, name, *_ = (*words, "", "")
        if "watch" in seen.query:
            return Stream(pieces=self._changes(kind))
        status, body = self._whole(seen, kind, name)
        about = {"Date": formatdate(usegmt=True), "Content-Type": "application/json"}
        written = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Reply(status=status, headers=about, body=written)

    def _whole(self, seen: Seen, kind: str, name: str) -> tuple[int, object]:
        if kind == "leases":
            if seen.method != "GET":
                self.version += 1
                self.lease = seen.json()
                self.lease["metadata"]["resourceVersion"] = str(self.version)
            return (200, self.lease) if self.lease else (404, {})
        if kind == "configmaps" and seen.method in {"POST", "PUT"}:
            item = seen.json()
            self.version += 1
            item["metadata"]["resourceVersion"] = str(self.version)
            self.config_maps[item["metadata"]["name"]] = item
            return 200, item
        if kind == "configmaps":
            return (200, self.config_maps[name]) if name in self.config_maps else (404, {})
        if seen.method == "PATCH" and kind == "dynamicscorers":
            self.patches += 1
            self.version += 1
            scorer = self.lists[kind][self.scorers.index(name)]
            scorer["status"] |= seen.json()["status"]
            scorer["metadata"]["resourceVersion"] = str(self.version)
            self.changed["dynamicscorers"].append(scorer)
            return 200, {}
        if kind == "addonplacementscores" and seen.method != "GET":
            return 200, self._moved(seen)
        if seen.method != "GET":
            return 201, {}
        if seen.path == "/apis":
            groups = [
                {"name": group, "versions": [{"version": each} for each in versions]}
                for group, versions in GROUPS.items()
            ]
            return 200, {"groups": groups}
        if kind == "addonplacementscores" and MOVES in seen.query.get("fieldSelector", ""):
            one = self.moves.get(seen.path.split("/")[-2])
            items = [one] if one else []
            return 200, {"metadata": {"resourceVersion": str(self.version)}, "items": items}
        if kind == "addonplacementscores":
            return 200, self._scores(seen.query)
        if name:
            return 404, {}
        return 200, {
            "metadata": {"resourceVersion": str(self.version)},
            "items": self.lists.get(kind, []),
        }

    def _moved(self, seen: Seen) -> dict[str, Any]:
        """The object of a cluster after a write. Placements follow, as they do on real OCM."""
        words = seen.path.split("/")
        cluster = words[words.index("namespaces") + 1]
        self.version += 1
        sent = seen.json()
        item = sent if seen.method == "POST" else self.moves[cluster] | {"status": sent["status"]}
        item["metadata"] |= {"uid": f"uid-moves-{cluster}", "resourceVersion": str(self.version)}
        self.moves[cluster] = item
        self.changed["addonplacementscores"].append(item)
        for each in item.get("status", {}).get("scores", ()):
            if each["value"] < 0:
                self._follow(each["name"], cluster)
        return item

    def _follow(self, key: str, source: str) -> None:
        name = f"{key.partition('/')[2]}-decision-1"
        page = next(
            each for each in self.lists["placementdecisions"] if each["metadata"]["name"] == name
        )
        drawn = [
            cluster
            for cluster, item in self.moves.items()
            for each in item.get("status", {}).get("scores", ())
            if each["name"] == key and each["value"] > 0
        ]
        if drawn and page["status"]["decisions"][0]["clusterName"] == source:
            self.version += 1
            self.followed += 1
            page["metadata"]["resourceVersion"] = str(self.version)
            page["status"]["decisions"][0]["clusterName"] = drawn[0]
            self.changed["placementdecisions"].append(page)

    def _scores(self, query: dict[str, str]) -> bytes:
        """A page of scores as of an API server with a watch cache: by name, or a limit and what is left."""
        only = query.get("fieldSelector", "").removeprefix("metadata.name=")
        numbers = range(len(self.clusters) * len(self.scorers))
        if only:
            numbers = numbers[self.scorers.index(only) :: len(self.scorers)]
        start = int(query.get("continue", "0"))
        end = min(start + int(query.get("limit", "500")), len(numbers))
        left = len(numbers) - end
        self.listed += end - start
        rest = f',"continue":"{end}","remainingItemCount":{left}' if left else ""
        moves = [] if left or only else map(json.dumps, self.moves.values())
        items = ",".join([*map(self.score, numbers[start:end]), *moves])
        return f'{{"items":[{items}],"metadata":{{"resourceVersion":"{self.version}"{rest}}}}}'.encode()

    async def _changes(self, kind: str) -> AsyncIterator[bytes]:
        """The events of a watch."""
        number, total, quiet = 0, len(self.clusters) * len(self.scorers), 0
        while True:
            events = []
            if kind == "addonplacementscores":
                if self.expired.is_set():
                    self.expired.clear()
                    yield chunk(b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n')
                    yield chunk(b"")
                    return
                for _ in range(self.rate // 10):
                    self.version += 1
                    events.append(
                        f'{{"type":"MODIFIED","object":{self.score(number, renewed=True)}}}\n'
                    )
                    number = (number + 7919) % total
            changed, self.changed[kind] = self.changed.get(kind, []), []
            events += [f'{{"type":"MODIFIED","object":{json.dumps(item)}}}\n' for item in changed]
            quiet += 1
            if quiet % 300 == 0:
                # Every 30 s, so that a connection that the other side gave up is noticed.
                events.append(
                    f'{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{self.version}"}}}}}}\n'
                )
            if events:
                yield chunk("".join(events).encode())
            await asyncio.sleep(0.1)


async def main() -> None:
    hub = Hub(*map(int, sys.argv[1:]))
    async with hub.server as server:
        for scorer in hub.lists["dynamicscorers"]:
            scorer["spec"]["configURL"] = f"{server.url}/config"
        print(server.url, flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            word, _, argument = line.strip().partition(" ")
            if word == "expire":
                hub.expired.set()
            elif word == "change":
                hub.salt += 37
            elif word == "renew":
                hub.rate = int(argument)
            elif word == "count":
                print(json.dumps([hub.listed, hub.patches, hub.followed]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
