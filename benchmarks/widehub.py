"""A hub on loopback as large as is needed, as a process of its own.

    python -m benchmarks.widehub CLUSTERS SCORERS [APPLICATIONS [PACED]]

It is the API server of the tests, with a million AddOnPlacementScores that are made while their
page is written. Without APPLICATIONS there is a Placement for each scorer, and nothing is decided.
Nothing of the add-on's rights is there, so that `doctor` has the same thing to say about every
cluster. PACED Placements of one cluster each, with refuges, follow the items of `gitops-dsf-moves`
as OCM would.

It prints its URL, then obeys lines on standard input, and ends with its input:

- `expire` ends every watch of scores with 410, so that they are listed again;
- `renew N` sends N renewals a second;
- `change` gives all scores other values from now on;
- `count` prints how many scores it has listed, how many status patches it has served, and how many
  moves were followed.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support import hubobjects
from tests.support.agent.http import RecordedRequest, SentReply, chunk
from tests.support.apiserver import SCORES, ApiTarget, FakeApiServer, Key, Object

MOVES: Final = "gitops-dsf-moves"
DECISIONS: Final = "placementdecisions"
SCORERS: Final = "dynamicscorers"
BORN: Final = "2026-01-01T00:00:00Z"

# Published over the last half of the TTL, as a fleet does.
TTL_SECONDS: Final = 3600

# A prime, which spreads values, times and renewals over all scores.
STRIDE: Final = 7919

TICK_SECONDS: Final = 0.1
"""Between two groups of renewals."""

MANAGED: Final = {
    "manager": "gitops-dsf-agent",
    "operation": "Apply",
    "apiVersion": f"{hubobjects.CLUSTER}/v1alpha1",
    "time": BORN,
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:status": {
            "f:scores": {'k:{"name":"%(scorer)s"}': {".": {}, "f:name": {}, "f:value": {}}},
            "f:validUntil": {},
        }
    },
    "subresource": "status",
}

# About 1.2 kB, as an object of an agent has. A template, because a million dicts would take
# gigabytes, and encoding them most of the time that is measured.
SCORE: Final = json.dumps(
    {
        "apiVersion": f"{hubobjects.CLUSTER}/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {
            "name": "%(scorer)s",
            "namespace": "%(cluster)s",
            "uid": "%(uid)s",
            "resourceVersion": "%(version)s",
            "generation": 1,
            "creationTimestamp": BORN,
            "labels": {
                "app.kubernetes.io/managed-by": "gitops-dsf-agent",
                "gitops-dsf.io/scorer": "%(scorer)s",
            },
            "managedFields": [MANAGED, MANAGED],
        },
        "status": {
            "scores": [
                {"name": "%(scorer)s", "value": "%(value)s"},
                {"name": "trend", "value": -7},
            ],
            "validUntil": "%(until)s",
        },
    }
).replace('"%(value)s"', "%(value)s")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large a hub is."""

    clusters: int
    scorers: int
    applications: int = 0
    paced: int = 0


class WideHubServer(FakeApiServer):
    """The API server, whose scores of scorers are a sequence of numbers and no objects.

    The only stored AddOnPlacementScores are those with items of moves.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(token="", live=True)
        # With a dot, as names of clusters may have one, and about as long as real ones.
        self.clusters = [f"cluster-{n:04}.region-{n % 7}" for n in range(sizes.clusters)]
        self.scorers = [f"scorer-{n:03}-headroom" for n in range(sizes.scorers)]
        self.start_time = time.time()
        self.renewals_per_second = 0
        self.listed = 0
        """Scores of scorers that were listed so far."""
        self.followed = 0
        """Moves that were followed so far."""
        self._shift = 0
        """Changes the values of all scores."""
        objects = [*self._fleet(), *self._placements(sizes.applications or sizes.scorers)]
        if sizes.paced or sizes.applications:
            objects += [hubobjects.global_set(), hubobjects.binding()]
        objects += self._paced(sizes.paced)
        objects += self._applications(sizes.applications)
        for hub_object in objects:
            meta = hub_object["metadata"]
            meta |= {"uid": f"uid-{meta['name']}", "generation": 1, "creationTimestamp": BORN}
        for collection, items in hubobjects.by_path(objects).items():
            self.serve(collection, *items)
        # Discovery tells what is here. Lists of anything else are empty, as on a hub with all APIs.
        self.limited = False
        self.put("configmaps", "gitops-dsf-masks", namespace=hubobjects.HUB, data={"masks": "[]"})

    def _fleet(self) -> Iterator[Object]:
        claims = [{"name": f"claim-{n}", "value": f"value-{n}"} for n in range(10)]
        labels = {"env": "prod"} | {f"label-{n}": "value" for n in range(9)}
        for name in self.clusters:
            yield hubobjects.cluster(name, **labels) | {"status": {"clusterClaims": claims}}
            yield hubobjects.addon(name)
        for name in self.scorers:
            # Without a status, which the reconciler is to write for each of them.
            scorer = hubobjects.scorer(name, scoreTTLSeconds=TTL_SECONDS) | {"status": {}}
            yield scorer

    def _placements(self, count: int) -> Iterator[Object]:
        for number in range(count):
            second = self.scorers[number % len(self.scorers)]
            yield hubobjects.placement(f"app-{number:04}", second, self.scorers[0], number=3)

    def _paced(self, count: int) -> Iterator[Object]:
        for number in range(count):
            name = f"paced-{number:04}"
            # A set, because both may be the same.
            resources = {
                self.scorers[number % len(self.scorers)],
                self.scorers[number * 13 % len(self.scorers)],
            }
            placement = hubobjects.paced(hubobjects.placement(name, *sorted(resources)), demand=2)
            annotations = placement["metadata"]["annotations"]
            pace = json.loads(annotations["gitops-dsf.io/pace"]) | {"refuges": True}
            annotations["gitops-dsf.io/pace"] = json.dumps(pace)
            yield placement
            yield hubobjects.decision(name, self.clusters[number * 7 % len(self.clusters)])

    def _applications(self, count: int) -> Iterator[Object]:
        for number in range(count):
            name = f"app-{number:04}"
            first = number * 7
            decided = sorted(
                self.clusters[index % len(self.clusters)] for index in range(first, first + 3)
            )
            yield hubobjects.decision(name, *decided)
            yield hubobjects.application_set(name)
            for cluster in decided:
                application = hubobjects.application(name, cluster)
                # The longest part of an Application, though readers leave it out.
                application["status"]["resources"] = [{"kind": "Deployment"}] * 10
                yield application

    def change(self) -> None:
        """Gives all scores other values from now on."""
        self._shift += 37

    def expire(self) -> None:
        """Ends every watch of scores as an API server does that has forgotten their history."""
        self.tell_watches(SCORES, {"type": "ERROR", "object": {"kind": "Status", "code": 410}})

    def counts(self) -> list[int]:
        """Scores that were listed, status patches, and moves that were followed."""
        patches = sum(request.startswith(f"PATCH {SCORERS}") for request in self.asked)
        return [self.listed, patches, self.followed]

    async def renew(self) -> None:
        """Tells the watches of scores that agents publish again, at the present rate."""
        number = 0
        total = len(self.clusters) * len(self.scorers)
        while True:
            await asyncio.sleep(TICK_SECONDS)
            events: list[str] = []
            # In groups: a task that wakes for each of thousands would take the CPU itself.
            for _ in range(int(self.renewals_per_second * TICK_SECONDS)):
                self.version += 1
                score = self._score(number, now=time.time())
                events.append(f'{{"type":"MODIFIED","object":{score}}}\n')
                number = (number + STRIDE) % total
            if not events:
                continue
            for watch in self._watching:
                # A watch of the items of moves does not see the scores of scorers.
                if watch.plural == SCORES and MOVES not in watch.selector:
                    watch.pieces.put_nowait(chunk("".join(events).encode()))

    def _score(self, number: int, *, now: float) -> str:
        """One score as JSON, published at a time within the last half of its TTL."""
        cluster, scorer = divmod(number, len(self.scorers))
        half = TTL_SECONDS // 2
        until = now + half + number * STRIDE % half
        return SCORE % {
            "scorer": self.scorers[scorer],
            "cluster": self.clusters[cluster],
            "uid": f"{number:032x}",
            "version": self.version,
            "value": (number * STRIDE + self._shift) % 101,
            "until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until)),
        }

    def _list(self, target: ApiTarget, seen: RecordedRequest) -> SentReply:
        if target.plural != SCORES or MOVES in seen.query.get("fieldSelector", ""):
            return super()._list(target, seen)
        return SentReply(body=self._page(seen.query), headers={"Content-Type": "application/json"})

    def _page(self, query: Mapping[str, str]) -> bytes:
        """A page of scores, as of an API server with a watch cache.

        It has at most `limit` scores, and says how many are left.
        """
        only = query.get("fieldSelector", "").removeprefix("metadata.name=")
        numbers = range(len(self.clusters) * len(self.scorers))
        if only:
            numbers = numbers[self.scorers.index(only) :: len(self.scorers)]
        start = int(query.get("continue", "0"))
        end = min(start + int(query.get("limit", "500")), len(numbers))
        self.listed += end - start
        items = [self._score(number, now=self.start_time) for number in numbers[start:end]]
        metadata: dict[str, Any] = {"resourceVersion": str(self.version)}
        if end < len(numbers):
            metadata |= {"continue": str(end), "remainingItemCount": len(numbers) - end}
        elif not only:
            # The items of moves are AddOnPlacementScores, too; the last page has them.
            items += map(json.dumps, self._moves().values())
        return f'{{"items":[{",".join(items)}],"metadata":{json.dumps(metadata)}}}'.encode()

    def _keep(self, key: Key, item: Object) -> None:
        super()._keep(key, item)
        if key[0] == SCORES:
            self._follow(cluster=key[1], scores=_scores_of(item))

    def _follow(self, *, cluster: str, scores: Mapping[str, int]) -> None:
        """Moves the Placements that an item draws away from a cluster, as OCM does."""
        for placement, value in scores.items():
            if value < 0:
                self._move(placement, source=cluster)

    def _move(self, placement: str, *, source: str) -> None:
        namespace, _, name = placement.partition("/")
        page = self.objects[DECISIONS, namespace, f"{name}-decision-1"]
        chosen = page["status"]["decisions"][0]
        target = self._target_of(placement)
        if target is None or chosen["clusterName"] != source:
            return
        self.followed += 1
        status = {"decisions": [{**chosen, "clusterName": target}]}
        self._keep((DECISIONS, namespace, f"{name}-decision-1"), page | {"status": status})

    def _target_of(self, placement: str) -> str | None:
        """The cluster that an item draws a Placement to."""
        for cluster, moves in self._moves().items():
            if _scores_of(moves).get(placement, 0) > 0:
                return cluster
        return None

    def _moves(self) -> dict[str, Object]:
        """The AddOnPlacementScores with items of moves, by cluster."""
        moves: dict[str, Object] = {}
        for (plural, cluster, _), stored in self.objects.items():
            if plural == SCORES:
                moves[cluster] = stored
        return moves


def _scores_of(published: Object) -> dict[str, int]:
    scores = published.get("status", {}).get("scores") or ()
    return {score["name"]: score["value"] for score in scores}


async def obey(server: WideHubServer) -> None:
    """Does what the lines of standard input say, until they end."""
    # In a thread, because the server answers meanwhile.
    while line := await asyncio.to_thread(sys.stdin.readline):
        word, _, argument = line.strip().partition(" ")
        if word == "expire":
            server.expire()
        elif word == "change":
            server.change()
        elif word == "renew":
            server.renewals_per_second = int(argument)
        elif word == "count":
            print(json.dumps(server.counts()), flush=True)


async def main() -> None:
    names = ("clusters", "scorers", "applications", "paced")
    sizes = Sizes(**dict(zip(names, map(int, sys.argv[1:]), strict=False)))
    server = WideHubServer(sizes)
    async with server:
        # The reconciler probes scorers, so they must be at an address that answers.
        for scorer in server.items(hubobjects.PATHS["DynamicScorer"]):
            scorer["spec"]["configURL"] = f"{server.url}/config"
        print(server.url, flush=True)
        renewing = asyncio.create_task(server.renew())
        await obey(server)
        renewing.cancel()


if __name__ == "__main__":
    asyncio.run(main())
