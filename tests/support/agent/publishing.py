"""A publisher with stores in memory, in virtual time: what it writes, and when."""

import asyncio
import itertools
from collections import UserDict, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from dsf_agent.errors import AgentError
from dsf_agent.metrics import AgentMetrics
from dsf_agent.publish.publication import ScoreFault, ScorePublication
from dsf_agent.publish.publisher import Publisher
from dsf_agent.publish.store import ScoredCondition, StoredScores, labels
from dsf_wire.publishrule import PublishSettings
from dsf_wire.scored import Reason, ScoredReason
from dsf_wire.summary import ScorerSummary

HUB_SCORER_WRITES_PER_SECOND: Final = 50
TTL: Final = 900.0
MIN_INTERVAL_SECONDS: Final = 60.0
VALUES: Final = {"a": 10}
NO_SERIES: Final = ScoreFault(reason=ScoredReason.NO_SERIES, message="no series")


class ObjectsByCluster(UserDict[tuple[str, str], StoredScores]):
    """Objects by cluster and name.

    The list of one cluster does not go through the objects of all others: audits of a fleet make
    tens of thousands of lists.
    """

    def __init__(self) -> None:
        self._of_cluster: defaultdict[str, dict[str, StoredScores]] = defaultdict(dict)
        super().__init__()

    def __setitem__(self, key: tuple[str, str], stored: StoredScores) -> None:
        super().__setitem__(key, stored)
        cluster, name = key
        self._of_cluster[cluster][name] = stored

    def __delitem__(self, key: tuple[str, str]) -> None:
        super().__delitem__(key)
        cluster, name = key
        del self._of_cluster[cluster][name]

    def of_cluster(self, cluster: str) -> list[StoredScores]:
        return list(self._of_cluster[cluster].values())


class PublishingHub:
    """The objects of all clusters, and every write with the seconds since the start."""

    def __init__(self, *, seconds: float = 0.01) -> None:
        self._start = asyncio.get_running_loop().time()
        self._seconds = seconds
        self.objects = ObjectsByCluster()
        self.writes: list[tuple[float, str, str]] = []
        self.ahead = 0.0
        """Seconds that the clock is ahead."""
        self.lists = 0
        self.list_faults: list[AgentError] = []
        """Why the next lists fail."""
        self.hidden: set[str] = set()
        """Clusters whose lists have nothing."""
        self.attempts: list[tuple[float, str]] = []
        """Every write that was asked for, and its cluster."""
        self.faults: dict[str, Exception] = {}
        """By cluster: why writes fail."""
        self.versions = itertools.count(1)
        self.explanations: list[tuple[float, str, str]] = []
        """Every condition that was to be written alone: when, cluster, reason."""
        self.explain_seconds = seconds
        self.explain_answers_late = 0.0
        """Seconds after which the answer comes to a condition that took effect."""
        self.explain_faults: dict[str, AgentError] = {}
        self.lost: dict[str, AgentError] = {}
        """By cluster: why the answer to the next write does not arrive. The write takes effect."""

    @property
    def elapsed(self) -> float:
        return asyncio.get_running_loop().time() - self._start

    def wall(self) -> float:
        return 1_700_000_000.0 + self.elapsed + self.ahead

    def of(self, name: str) -> list[float]:
        return [at for at, _, written in self.writes if written == name]


class PublishingStore:
    def __init__(self, hub: PublishingHub, cluster: str) -> None:
        self._hub, self._cluster = hub, cluster

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        assert needed()
        self._hub.attempts.append((self._hub.elapsed, self._cluster))
        await asyncio.sleep(self._hub._seconds)
        fault = self._hub.faults.get(self._cluster)
        if fault is not None:
            raise fault
        self._hub.writes.append((self._hub.elapsed, self._cluster, name))
        stored = StoredScores(
            name=name,
            values=values,
            valid_until=valid_until,
            condition=condition,
            version=str(next(self._hub.versions)),
            labels=labels(scorer, hub_scorer=True),
        )
        self._hub.objects[self._cluster, name] = stored
        if self._cluster in self._hub.lost:
            raise self._hub.lost.pop(self._cluster)
        return stored

    async def explain(
        self,
        name: str,
        *,
        scorer: str,
        stored: StoredScores | None,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        assert needed()
        self._hub.explanations.append((self._hub.elapsed, self._cluster, condition.reason))
        await asyncio.sleep(self._hub.explain_seconds)
        fault = self._hub.explain_faults.get(self._cluster)
        if fault is not None:
            raise fault
        present = self._hub.objects.get((self._cluster, name))
        if stored is None:
            stored = StoredScores(
                name=name,
                values={},
                filled=False,
                valid_until=None,
                labels=labels(scorer, hub_scorer=True),
            )
            known = None
        else:
            known = stored.version
        if (None if present is None else present.version) != known:
            raise AgentError("the object has been modified", reason=Reason.CONFLICT)
        version = str(next(self._hub.versions))
        changed = replace(stored, condition=condition, version=version)
        self._hub.objects[self._cluster, name] = changed
        await asyncio.sleep(self._hub.explain_answers_late)
        return changed

    async def names(self) -> frozenset[str]:
        return frozenset(one.name for one in await self.list_owned())

    async def list_owned(self, *, values: bool = True) -> list[StoredScores]:
        del values
        self._hub.lists += 1
        if self._hub.list_faults:
            raise self._hub.list_faults.pop()
        await asyncio.sleep(self._hub._seconds)
        if self._cluster in self._hub.hidden:
            return []
        return self._hub.objects.of_cluster(self._cluster)

    async def delete(self, stored: StoredScores) -> None:
        raise AssertionError(stored)


class Publishing:
    def __init__(
        self, hub: PublishingHub, *, writes_per_second: float, conditions_per_second: float
    ) -> None:
        self.hub = hub
        self.publisher = Publisher(
            store_of=partial(PublishingStore, hub),
            wall=hub.wall,
            writes_per_second=writes_per_second,
            conditions_per_second=conditions_per_second,
        )
        self._metrics = AgentMetrics(cluster="hub")

    def publication(
        self,
        name: str,
        *,
        ttl: float = TTL,
        clusters: Iterable[str] = (),
        edited: bool = False,
    ) -> ScorePublication:
        scorer = ScorerSummary(name=name, score_name=name, scoring_interval=60)
        rule = PublishSettings(deadband=2, min_interval=MIN_INTERVAL_SECONDS, ttl=ttl, jitter=0.0)
        return self.publisher.publication(
            scorer,
            rule=rule,
            metrics=self._metrics.of(name),
            clusters=lambda: clusters,
            edited=edited,
        )

    def outcomes(self) -> dict[str, float]:
        names = ("written", "unchanged", "deferred", "failed")
        labels = [{"score_name": "cpu", "outcome": name} for name in names]
        read = self._metrics.registry.get_sample_value
        found = {one["outcome"]: read("gitops_dsf_agent_publish_total", one) for one in labels}
        return {name: value for name, value in found.items() if value}

    def failures(self, reason: Reason) -> float | None:
        labels = {"score_name": "cpu", "stage": "publish", "reason": reason.value}
        return self._metrics.registry.get_sample_value("gitops_dsf_agent_failures_total", labels)


@asynccontextmanager
async def publishing(
    hub: PublishingHub,
    *,
    writes_per_second: float = HUB_SCORER_WRITES_PER_SECOND,
    conditions_per_second: float = 10,
) -> AsyncIterator[Publishing]:
    found = Publishing(
        hub, writes_per_second=writes_per_second, conditions_per_second=conditions_per_second
    )
    task = asyncio.create_task(found.publisher.run())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def offer(
    publication: ScorePublication, clusters: list[str], values: Mapping[str, int] = VALUES
) -> None:
    for cluster in clusters:
        publication.offer(cluster, dict(values))
