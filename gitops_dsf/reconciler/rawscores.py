"""Reads the raw scores of all clusters from a metric store, for the state branch.

It has its own pace and its own connections, so that a store that is slow or fails delays nothing
else: the snapshot is then pushed with the values of the last read, or without raw scores.

Bounded: one query for each scorer, the bytes and the seconds of its answer, and the results that
are kept of one scorer and of all.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Final

from dsf_runtime.calls import display
from dsf_wire.prometheus import PrometheusRequest
from gitops_dsf.hub.raw_results import ByCluster
from gitops_dsf.metricstore.errors import StoreError
from gitops_dsf.metricstore.rawanswers import exported_results, query_of_now
from gitops_dsf.metricstore.vector import read
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.git.pushing import RETRIES
from gitops_dsf.reconciler.loop import NotReady, run_controller
from gitops_dsf.repository.model import reconciler as model
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.page import PageFault
from gitops_dsf.sync.requests import on_hub, page_request
from gitops_dsf.urls.query_apis import instant, ranged

LIMITS: Final = FetchLimits(seconds=30.0, answer_bytes=16 << 20, concurrent=2)
"""Limits of one query. An answer of 16 MiB has about 40,000 series; its objects take 100 MB."""
MAX_RESULTS: Final = 20_000
"""Upper limit for one scorer: ten results of each of 2,000 clusters.

They are 1 MB in the snapshot.
"""
MAX_ALL_RESULTS: Final = 100_000
"""Upper limit for all scorers. The branch is cloned by every pipeline."""
MAX_KEPT: Final = 1800.0
"""Seconds. Older raw scores are not those of the published scores beside them."""

LOG = logging.getLogger(__name__)


class RawScoreController:
    """Writes nothing: the state branch takes what was read last."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        fetcher: Fetcher,
        settings: model.MetricStore,
        allowed: Collection[str],
    ) -> None:
        """``allowed`` are the hosts that may get credentials. ``fetcher`` has LIMITS."""
        self._context = context
        self._api = context.api
        self._fetcher = fetcher
        self._settings = settings
        self._allowed = allowed
        self._url = instant(ranged(settings.host))
        self._tables: dict[str, ByCluster] = {}
        """The results of the last read, by score name."""
        self._left_out: frozenset[str] = frozenset()

    @property
    def interval_seconds(self) -> float:
        return self._settings.interval_seconds

    async def run(self) -> None:
        await run_controller(
            self._reconcile,
            name="raw-scores",
            context=self._context,
            failing="the state branch gets no new raw scores",
            reads=(self._context.view.scorers,),
            needs_clock=True,
            backoff=RETRIES,
        )

    def current(self) -> Mapping[str, ByCluster]:
        """The raw scores that are not too old, by score name, then by cluster."""
        oldest = self._api.now() - MAX_KEPT
        tables: dict[str, ByCluster] = {}
        for name, by_cluster in self._tables.items():
            tables[name] = {
                cluster: results
                for cluster, results in by_cluster.items()
                if results.measured >= oldest
            }
        return tables

    async def _reconcile(self) -> float:
        """Raises NotReady when the store gives no usable answer."""
        scorers = self._context.view.scorers.items.values()
        names = sorted({scorer.score_name for scorer in scorers if scorer.publishes})
        # A removed scorer is asked for no more, so its results would only grow old there.
        for name in set(self._tables) - set(names):
            del self._tables[name]
        total = 0
        left_out: set[str] = set()
        for name in names:
            # One question after the other: the objects of one large answer take 100 MB.
            by_cluster = await self._asked(name)
            count = sum(len(results.results) for results in by_cluster.values())
            if count > MAX_RESULTS or total + count > MAX_ALL_RESULTS:
                left_out.add(name)
                # Otherwise the branch would show for half an hour what was read before, although
                # the log says that it has none.
                self._tables.pop(name, None)
                continue
            total += count
            self._tables[name] = by_cluster
        if left_out - self._left_out:
            LOG.warning(
                "the state branch has no raw scores of %s: they have more than %d results, or all"
                " scorers together more than %d",
                ", ".join(sorted(left_out)),
                MAX_RESULTS,
                MAX_ALL_RESULTS,
            )
        self._left_out = frozenset(left_out)
        return self._settings.interval_seconds

    async def _asked(self, score_name: str) -> ByCluster:
        """The raw scores of one scorer. Raises NotReady."""
        label = self._settings.cluster_label
        at = self._api.now()
        question = {"query": query_of_now([score_name], cluster_label=label), "time": f"{at:.3f}"}
        sent = PrometheusRequest.of(self._url, question, parameters={}, posts=False)
        request = page_request(
            sent.url,
            auth=on_hub(self._settings.auth),
            scoring_url=sent.url,
            allowed=self._allowed,
            title="metricStore.host",
            section="metricStore.auth",
        )
        answer = await self._fetcher.get(request)
        if isinstance(answer, PageFault):
            raise NotReady(answer.message)
        # In a thread: an answer of many megabytes would hold up all controllers.
        return await asyncio.to_thread(self._results, answer.body, score_name, at)

    def _results(self, content: bytes, score_name: str, at: float) -> ByCluster:
        """Raises NotReady."""
        label = self._settings.cluster_label
        try:
            samples = read(content, where=display(self._url))
            by_score = exported_results(samples, [score_name], cluster_label=label, at=at)
        except StoreError as error:
            raise NotReady(str(error)) from error
        return by_score[score_name]
