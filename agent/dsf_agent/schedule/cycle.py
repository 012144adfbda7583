"""One cycle of one scorer: fetch series, score them, map scores to items, offer the items.

An agent is a fleet of one cluster, with all series in one scoring request. For the hub scorer a
label says the cluster of a series, and a request has the series of some clusters.

Guaranteed: a cycle gives everything or nothing. If it fails, nothing is offered and no sample is
shown. Only on the hub some clusters can fail while the others are scored.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from dsf_agent.configuration.snapshot import ScoredClusters, Targets, publishes
from dsf_agent.endpoints.budget import Reservation
from dsf_agent.errors import AgentError
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.fetch.stage import Fetch, has_series
from dsf_agent.metrics import ScorerMetrics
from dsf_agent.publish.publication import ScoreFault, ScorePublication
from dsf_agent.samples import sample_text
from dsf_agent.scoring.clusterlabels import NO_CLUSTER, OTHER_CLUSTER, ClusterLabelSets
from dsf_agent.scoring.items import items_of
from dsf_agent.scoring.labels import LabelSet, LabelSets
from dsf_agent.scoring.results import BATCH, ScoreSeries, ScoringResults, counts_text
from dsf_agent.scoring.split import groups, split
from dsf_wire.constants import DEFAULT_CLUSTERS_PER_REQUEST
from dsf_wire.scored import Reason, ScoredReason
from dsf_wire.scorevalue import default_items
from dsf_wire.summary import ScorerSummary

TURN: Final = 100
"""Clusters that are worked on before other tasks may run: about a millisecond."""
MAX_REQUESTS: Final = 4
"""Scoring requests of one cycle at one time."""
MAX_NAMED: Final = 5
"""Clusters that a log message names at most."""
DROP_NO_CLUSTER: Final = "no_cluster"
"""The result does not have the cluster label."""
_NO_SERIES: Final = ScoreFault(
    reason=ScoredReason.NO_SERIES, message="the source has no usable series of this cluster"
)
_NOT_USABLE: Final = ScoreFault(
    reason=ScoredReason.INVALID_RESULTS, message="no result for this cluster gives an item"
)

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class CycleResult:
    """The result of a cycle. Sizes are in bytes."""

    series: int = 0
    size: int = 0
    """The size of the answers of the source."""
    warnings: tuple[str, ...] = ()
    by_cluster: dict[str, tuple[list[LabelSet], list[float]]] = field(default_factory=dict)
    with_series: set[str] = field(default_factory=set)
    unscored: dict[str, AgentError] = field(default_factory=dict)
    """Clusters of requests that failed, and why."""
    unscored_because: str = ""
    """The reason why the first of these requests failed."""
    dropped: Counter[str] = field(default_factory=Counter)
    first_fault: str = ""
    """The reason why the first dropped result was dropped."""
    results_size: int = 0
    text: int = 0
    total: int = 0
    """Results, dropped ones included."""
    results: int = 0
    """Results of the clusters."""
    clamped: int = 0
    items: dict[str, int] = field(default_factory=dict)
    """All items, of a cycle that publishes nothing.

    On the hub their names begin with the cluster's.
    """
    by_default: bool = False
    """Whether the source had no series, so that the items are the default score."""

    def add(self, results: ScoringResults, *, own: str) -> None:
        """Adds the results of one answer, by cluster. ``own`` is the cluster of an agent."""
        self.dropped += results.dropped
        self.first_fault = self.first_fault or results.first_fault
        self.results_size += results.size
        self.text += results.text
        self.total += results.total
        if own:
            self.results = len(results.scores)
            if results.scores:
                self.by_cluster[own] = results.label_sets, results.scores
            return
        for label_set, score in zip(results.label_sets, results.scores, strict=True):
            if label_set is OTHER_CLUSTER:
                continue
            if label_set is NO_CLUSTER:
                self.dropped[DROP_NO_CLUSTER] += 1
                continue
            of_cluster = self.by_cluster.get(label_set.cluster)
            if of_cluster is None:
                of_cluster = ([], [])
                self.by_cluster[label_set.cluster] = of_cluster
            of_cluster[0].append(label_set)
            of_cluster[1].append(score)
            self.results += 1


@dataclass(kw_only=True, eq=False, repr=False)
class Cycle:
    """The stages of one scorer.

    ``score_of`` makes the second; ``publication`` is None if none publishes.
    """

    scorer: ScorerSummary
    fleet: ScoredClusters
    fetch: Fetch
    score_of: Callable[[LabelSets], ScoreSeries]
    publication: ScorePublication | None
    metrics: ScorerMetrics
    reservation: Reservation
    wall: Callable[[], float]
    _label: str = field(init=False)
    """The label of the cluster, for the hub scorer; empty for an agent."""
    _stages: list[tuple[LabelSets, ScoreSeries]] = field(init=False, default_factory=list)
    """One for each scoring request: each remembers the label sets of its last answer."""
    _missing: frozenset[str] = field(init=False, default_factory=frozenset)
    """Clusters without an item in the last cycle, to report only changes."""

    def __post_init__(self) -> None:
        label = self.scorer.cluster_label
        self._label = label.name if label is not None else ""

    async def run(self) -> CycleResult:
        """Runs one cycle. If it raises AgentError, nothing was published or exported.

        A cycle without any item is a failure: of an empty object OCM would count 0, which is better
        than every negative score. On the hub, a cluster without an item is missing, in a metric
        and, when that changes, in the log.
        """
        return await self.reservation.within(self._run)

    async def _run(self) -> CycleResult:
        targets = self.fleet.targets(self.scorer)
        with self.metrics.stage("fetch"):
            series = await self.fetch(now=self.wall())
        # The unused part of the reservation stays reserved for the answer of the scoring API.
        self.reservation.set_size(series.size)
        every = self.metrics.all
        name = self.metrics.name
        # Before scoring, so that a scoring API that fails does not hide what the source gave.
        every.series.labels(name).set(series.count)
        every.bytes.labels(name).inc(series.size)
        if series.warnings:
            every.warnings.labels(name).inc(len(series.warnings))
        result = await self._scored(series, targets)
        self.reservation.set_size(series.size + result.results_size)
        try:
            # The texts of label sets live until the next cycle, so they count beyond this one.
            self.reservation.keep(result.text)
        except AgentError:
            # They would stay in memory although they are not counted.
            for label_sets, _ in self._stages:
                label_sets.forget()
            raise
        items = await self._items(result, targets)
        for reason, count in sorted(result.dropped.items()):
            every.dropped.labels(name, reason).inc(count)
        if targets.names and not items:
            raise self._no_items(result)
        if result.clamped:
            every.clamped.labels(name).inc(result.clamped)
        # Nothing can fail from here on: samples and items are of the same cycle.
        await self._expose(result)
        result.by_default = bool(items) and not result.by_cluster
        if self.publication is not None:
            # They are large, and a cycle that publishes hands on only its items.
            result.by_cluster.clear()
        await self._publish(items, targets, result)
        if self._label:
            self._report(result, items, targets)
        every.requests.labels(name, "success").inc()
        every.last_success.labels(name).set(self.wall())
        every.results.labels(name).set(result.results)
        if self.publication is None:
            # For the verb check, and for trials. Nothing else needs them.
            for cluster, values in items.items():
                for item_name, value in values.items():
                    key = f"{cluster} {item_name}" if self._label else item_name
                    result.items[key] = value
        return result

    async def _scored(self, series: SeriesText, targets: Targets) -> CycleResult:
        result = CycleResult(series=series.count, size=series.size, warnings=series.warnings)
        has_default = self.scorer.default_score is not None
        if not self._label:
            if has_default:
                self.metrics.all.defaults.labels(self.metrics.name).set(not series.count)
            # For a source without data the default score is published, so nothing is sent to the
            # scoring API.
            if not (has_default and not series.count):
                result.with_series.update(targets.names)
                with self.metrics.stage("score"):
                    await self._score_one(series, targets, result, index=0)
            return result
        with self.metrics.stage("score"):
            if not self.scorer.scored_by_query:
                await self._score_groups(series, targets, result)
                return result
            if has_default:
                result.with_series.update(await self._split(series, targets))
            await self._score_one(series, targets, result, index=0)
        return result

    async def _score_groups(
        self, series: SeriesText, targets: Targets, result: CycleResult
    ) -> None:
        by_cluster = await self._split(series, targets)
        result.with_series.update(by_cluster)
        max_clusters = self.scorer.clusters_per_request or DEFAULT_CLUSTERS_PER_REQUEST
        failures: list[AgentError] = []
        slots = asyncio.Semaphore(MAX_REQUESTS)

        async def score_group(index: int, clusters: list[str], part: SeriesText) -> None:
            async with slots:
                # In a request with one cluster, a result without the cluster's label belongs to it.
                only = clusters[0] if len(clusters) == 1 else ""
                try:
                    await self._score_one(part, targets, result, index=index, only=only)
                except AgentError as error:
                    failure = error.without_traceback()
                    failures.append(failure)
                    result.unscored.update(dict.fromkeys(clusters, failure))

        async with asyncio.TaskGroup() as tasks:
            for index, (clusters, part) in enumerate(groups(by_cluster, max_clusters=max_clusters)):
                tasks.create_task(score_group(index, clusters, part))
        # Nothing was scored at all: that is a failed cycle, with its pauses.
        if failures and not result.by_cluster:
            raise failures[0].without_traceback()
        for failure in failures:
            self.metrics.failed("score", failure.reason)
        if failures:
            result.unscored_because = str(failures[0])
            extra = {
                "scorer": self.scorer.name,
                "reason": failures[0].reason.value,
                "stage": "score",
            }
            text = "%d clusters are not scored, because %d scoring requests failed: %s"
            log.warning(text, len(result.unscored), len(failures), failures[0], extra=extra)

    async def _split(self, series: SeriesText, targets: Targets) -> dict[str, list[bytes]]:
        return await split(series, label=self._label, clusters=targets.by_value)

    async def _score_one(
        self,
        series: SeriesText,
        targets: Targets,
        result: CycleResult,
        *,
        index: int,
        only: str = "",
    ) -> None:
        own = "" if self._label else targets.names[0]
        while len(self._stages) <= index:
            template = self.scorer.score_dimension_format
            score_name = self.scorer.score_name
            new: LabelSets
            if own:
                new = LabelSets(template=template, cluster=own, score_name=score_name)
            else:
                new = ClusterLabelSets(template=template, score_name=score_name, label=self._label)
            self._stages.append((new, self.score_of(new)))
        label_sets, score = self._stages[index]
        if isinstance(label_sets, ClusterLabelSets):
            label_sets.use(targets.by_value, only=only)
        result.add(await score(series), own=own)

    async def _items(self, result: CycleResult, targets: Targets) -> dict[str, dict[str, int]]:
        """The items of each cluster that has some."""
        by_cluster: dict[str, dict[str, int]] = {}
        has_default = self.scorer.default_score is not None
        for number, cluster in enumerate(targets.names):
            if number % TURN == 0:
                await asyncio.sleep(0)
            pair = result.by_cluster.get(cluster)
            if pair is not None:
                items = await items_of(self.scorer, *pair)
                result.clamped += items.clamped
                result.dropped += items.dropped
                # A scorer that publishes nothing needs no names of items: its scores are on
                # /metrics.
                if items.values or not publishes(self.scorer):
                    by_cluster[cluster] = items.values
            # The default is for a source without data. Where a request failed, or the API gave no
            # result for series that there are, nothing is known about the cluster.
            elif (
                has_default and cluster not in result.with_series and cluster not in result.unscored
            ):
                by_cluster[cluster] = default_items(self.scorer, cluster=cluster) or {}
        return by_cluster

    def _no_items(self, result: CycleResult) -> AgentError:
        """The reason why there is nothing to publish."""
        series = result.series
        scored = ScoredReason.NO_SERIES
        if not series and (self.scorer.scored_by_query or self._label):
            clauses = ["the query gave no series"]
        elif self._label:
            clauses = [
                (
                    f"none of the {series} series gives a score of a cluster: the label"
                    f" {self._label} names no cluster that this scorer scores"
                )
            ]
        elif result.total:
            clauses = [f"none of {result.total} results gives an item to publish"]
            scored = ScoredReason.INVALID_RESULTS
        else:
            clauses = [f"no results for {series} series"]
            # An API that needs no series is asked without any, and then it is to blame.
            if series or not has_series(self.scorer):
                scored = ScoredReason.NO_RESULTS
        if result.dropped:
            clauses.append(f"dropped: {counts_text(result.dropped)}; see scoreDimensionFormat")
        if result.first_fault:
            clauses.append(f"the first dropped result: {result.first_fault}")
        return AgentError("; ".join(clauses), reason=Reason.NO_RESULTS, scored=scored)

    async def _publish(
        self, items: dict[str, dict[str, int]], targets: Targets, result: CycleResult
    ) -> None:
        publication = self.publication
        if publication is None:
            return
        publication.keep_only(frozenset(targets.names))
        for number, cluster in enumerate(targets.names):
            if number % TURN == 0:
                await asyncio.sleep(0)
            values = items.get(cluster)
            if values:
                publication.offer(cluster, values)
            else:
                # Published scores stay until they expire: an empty object would count as 0.
                publication.pause_cluster(cluster, self._fault_of(cluster, result))
        publication.report()

    def _fault_of(self, cluster: str, result: CycleResult) -> ScoreFault:
        """The reason why one cluster of the hub scorer has no item, while others have."""
        failure = result.unscored.get(cluster)
        if failure is not None:
            return ScoreFault.of(failure)
        if cluster in result.with_series:
            return _NOT_USABLE
        return _NO_SERIES

    def _report(
        self, result: CycleResult, items: dict[str, dict[str, int]], targets: Targets
    ) -> None:
        missing = frozenset(targets.names) - items.keys() - result.unscored.keys()
        gauge = self.metrics.all.clusters
        gauge.labels(self.metrics.name, "scored").set(len(items))
        gauge.labels(self.metrics.name, "missing").set(len(missing))
        gauge.labels(self.metrics.name, "unscored").set(len(result.unscored))
        self.metrics.misses(tuple(sorted(missing)))
        extra = {"scorer": self.scorer.name}
        # Only changes: a cluster that stays without series would be in the log in each cycle.
        lost = missing - self._missing
        if lost:
            log.warning(
                "the source has no series of %s: %s", _number(lost), _named(lost), extra=extra
            )
        returned = self._missing - missing
        if returned:
            log.info(
                "the source has series again of %s: %s",
                _number(returned),
                _named(returned),
                extra=extra,
            )
        self._missing = missing

    async def _expose(self, result: CycleResult) -> None:
        # If results have the same labels, the last one counts, as upstream.
        samples: dict[bytes, float] = {}
        waiting = 0
        for label_sets, scores in result.by_cluster.values():
            for start in range(0, len(scores), BATCH):
                batch = label_sets[start : start + BATCH]
                lines = [label_set.line for label_set in batch]
                samples.update(zip(lines, scores[start : start + BATCH], strict=True))
                # A cluster costs some time also if it has one result.
                waiting += max(len(batch), BATCH // TURN)
                if waiting >= BATCH:
                    waiting = 0
                    await asyncio.sleep(0)
        self.metrics.all.samples[self.metrics.name] = await sample_text(samples)


def _number(clusters: frozenset[str]) -> str:
    return "1 cluster" if len(clusters) == 1 else f"{len(clusters)} clusters"


def _named(clusters: Iterable[str]) -> str:
    ordered = sorted(clusters)
    return ", ".join(islice(ordered, MAX_NAMED)) + (", ..." if len(ordered) > MAX_NAMED else "")
