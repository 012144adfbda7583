"""The managed clusters of the world.

What each has of capacity, the source of its metrics, and the way of its configuration from a
ManifestWork to a mounted file.

Load moves with the applications: a workload takes `DEMAND` points of the score that ranks it, so
every decision changes the next scores. It takes nothing of other scores: if two groups of
applications took from each other, and each looked at its own score alone, they would follow each
other for ever.
"""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.agent.running import ConfigMapVolume
from tests.support.apiserver import Object
from tests.world import fleet
from tests.world.apiserver import StoredChange, WorldApiServer
from tests.world.loop import Program, later, world_loop
from tests.world.network import Answer, WorldServer

DEMAND: Final = 5
"""Points of a workload."""
PERIOD: Final = 900.0
"""Seconds between two changes of a cluster's capacity."""


class Truth:
    """The free points of every cluster, by scorer, at each time: a walk that the seed draws."""

    def __init__(self, *, seed: int, load: Callable[[str, str], int], swing: float) -> None:
        """`load` is the number of workloads of a cluster that are ranked by a scorer.

        `swing` is by how many points a capacity differs from its mean, at one standard deviation.
        """
        self._seed, self._load, self._swing = seed, load, swing
        self.still_since: float | None = None
        """After this time nothing changes by itself."""
        self.missing: set[tuple[str, str]] = set()
        """Clusters and scorers without series."""
        self.lies: dict[tuple[str, str], float] = {}
        """What a cluster says instead."""

    def capacity(self, cluster: str, scorer: str) -> float:
        now = world_loop().time() if self.still_since is None else self.still_since
        number = int(now / PERIOD)
        # Applications do well by themselves everywhere.
        lowest = 75 if scorer == fleet.VERIFIER else 40
        steady = random.Random(f"{self._seed} {cluster} {scorer}").uniform(lowest, 90)
        return steady + random.Random(f"{self._seed} {cluster} {scorer} {number}").gauss(
            0, self._swing
        )

    def value(self, cluster: str, scorer: str) -> float | None:
        if (cluster, scorer) in self.missing:
            return None
        if (cluster, scorer) in self.lies:
            return self.lies[cluster, scorer]
        return self.capacity(cluster, scorer) - DEMAND * self._load(cluster, scorer)


class WorldSource(WorldServer):
    """A metric source: of one cluster for its agent, or of all for the hub scorer."""

    def __init__(
        self,
        truth: Truth,
        *,
        clusters: Callable[[], list[str]],
        requester: Callable[[], Program | None],
    ) -> None:
        self._truth, self._clusters, self._requester = truth, clusters, requester

    def answered(self, seen: RecordedRequest) -> Answer:
        program = self._requester()
        query = seen.form.get("query") if seen.body else seen.query.get("query")
        assert query is not None, seen
        assert program is not None, seen
        scorer = query.rpartition("free_points_")[2].rstrip(")")
        if seen.path.endswith("/query_range"):
            value = self._truth.value(program.name.rpartition("/")[2], scorer)
            points = [] if value is None else [[world_loop().wall(), str(value)]]
            series = [{"metric": {}, "values": points}] if points else []
            return SentReply.of(
                {"status": "success", "data": {"resultType": "matrix", "result": series}}
            )
        if query.startswith("sum by (cluster)"):
            rows = [(name, self._truth.value(name, scorer)) for name in self._clusters()]
            result = [
                {"metric": {"cluster": name}, "value": [world_loop().wall(), str(value)]}
                for name, value in rows
                if value is not None
            ]
        else:
            value = self._truth.value(program.name.rpartition("/")[2], scorer)
            result = (
                []
                if value is None
                else [{"metric": {}, "value": [world_loop().wall(), str(value)]}]
            )
        return SentReply.of(
            {"status": "success", "data": {"resultType": "vector", "result": result}}
        )


class ScoringApi(WorldServer):
    """The scoring API of one scorer: its result is the last point that it is sent.

    What its page says changes when somebody changes the API: `interval`, in seconds.
    """

    def __init__(self, scorer: str, *, interval: int) -> None:
        self._scorer, self.interval = scorer, interval

    @property
    def page(self) -> Object:
        return fleet.page(self._scorer, interval=self.interval)

    def answered(self, seen: RecordedRequest) -> Answer:
        if seen.path == "/config":
            return SentReply.of(self.page)
        if seen.method == "GET":
            return SentReply.of({"status": "healthy"})
        results = [
            {"metric": series["metric"], "score": float(series["values"][-1][1])}
            for series in json.loads(seen.body)["data"]
        ]
        return SentReply.of({"results": results})


def applied(works: Iterable[Object]) -> dict[tuple[str, str], Object]:
    """The ConfigMaps of a cluster that OCM's work agent keeps, by namespace and name.

    Those that a ManifestWork has are written as it has them. What leaves a ManifestWork is deleted,
    and with a ManifestWork that is deleted goes all that it had. `tests/hub/test_world_work.py`
    compares that.
    """
    return {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for work in works
        for item in work["spec"]["workload"]["manifests"]
        if item["kind"] == "ConfigMap"
    }


class Delivery:
    """OCM's work agent and the kubelet: a change of a ManifestWork is in the mounted file after a
    while.

    A file whose ConfigMap is gone goes, too, because the volume of an agent is optional (SetUpAt of
    the ConfigMap volumes of Kubernetes 1.37). A reader sees the old file, the new one, or none, and
    never half of one (AtomicWriter.Write). The work agent of OCM 1.2 looks at what somebody changed
    on a cluster only after four to six minutes.
    """

    def __init__(
        self, hub: WorldApiServer, *, folder: Path, seed: int, reachable: Callable[[str], bool]
    ) -> None:
        self._hub, self._folder, self._reachable = hub, folder, reachable
        self._random = random.Random(f"{seed} kubelet")
        self._volumes: dict[str, ConfigMapVolume] = {}
        hub.changed.append(self._take)

    def files_of(self, cluster: str) -> Path:
        return self.volume(cluster).directory

    def volume(self, cluster: str) -> ConfigMapVolume:
        if cluster not in self._volumes:
            self._volumes[cluster] = ConfigMapVolume(self._folder / cluster)
        return self._volumes[cluster]

    def lose(self, cluster: str) -> float:
        """Somebody deletes the ConfigMap on the cluster. Returns the seconds until it is back."""
        gone = self._random.uniform(5, 90)
        back = self._random.uniform(240, 360) + self._random.uniform(5, 90)
        later(gone, self.volume(cluster).swap, {})
        later(back, self._deliver, cluster)
        return back - gone

    def _take(self, change: StoredChange) -> None:
        plural, namespace, name = change.key
        if plural == "managedclusters" and change.after is None:
            # Its works went before it, and with them what they had applied: a cluster that comes
            # back starts without a file.
            self.volume(name).swap({})
        # What a restored etcd has lost nobody deleted: the work agent keeps it for an hour.
        is_lost = self._hub.writer == "etcd" and change.after is None
        if (
            plural == "manifestworks"
            and not is_lost
            and (
                change.before is None
                or change.after is None
                or change.before.get("spec") != change.after.get("spec")
            )
        ):
            later(self._random.uniform(5, 100), self._deliver, namespace)
        if (plural, name) == ("configmaps", "gitops-dsf-hub-scorer") and change.after is not None:
            later(self._random.uniform(5, 100), self._deliver_hub)

    def _deliver(self, cluster: str) -> None:
        if not self._reachable(cluster):
            later(30.0, self._deliver, cluster)
            return
        files: dict[str, bytes] = {}
        for item in applied(self._hub.of("manifestworks", cluster)).values():
            if "summaries" in item.get("data", {}):
                files["summaries"] = item["data"]["summaries"].encode()
        self.volume(cluster).swap(files)

    def _deliver_hub(self) -> None:
        for item in self._hub.of("configmaps"):
            if item["metadata"]["name"] == "gitops-dsf-hub-scorer":
                files = {name: text.encode() for name, text in item["data"].items()}
                self.volume("hub").swap(files)
