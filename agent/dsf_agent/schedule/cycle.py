"""One cycle of one scorer: fetch -> score -> map to items -> offer to publish."""

import asyncio
from collections import Counter
from dataclasses import dataclass

from dsf_agent.configuration.snapshot import publishes
from dsf_agent.endpoints.budget import Reservation
from dsf_agent.errors import CallError, Reason, ScoreError
from dsf_agent.fetch.series import Series
from dsf_agent.fetch.stage import Fetch
from dsf_agent.metrics.registry import ScorerMetrics
from dsf_agent.metrics.samples import SampleText
from dsf_agent.publish.publication import Publication
from dsf_agent.scoring.items import ItemBuilder, Items
from dsf_agent.scoring.results import BATCH, Results, counts_text
from dsf_agent.scoring.stage import Scoring
from dsf_runtime.clock import Clock
from dsf_wire.summary import Summary


@dataclass(frozen=True, kw_only=True)
class CycleResult:
    """What a successful cycle found. Sizes are in bytes."""

    series: int
    size: int
    warnings: tuple[str, ...]
    results: int
    dropped: Counter[str]
    first_fault: str
    """Why the first dropped result was dropped."""
    items: Items
    by_default: bool = False
    """Whether the source had no series, so that the items are the default score."""


class Cycle:
    """The stages of one scorer. ``publication`` is None if its scores are not published, ``default`` if it
    has no default score.
    """

    def __init__(
        self,
        *,
        scorer: Summary,
        fetch: Fetch,
        score: Scoring,
        default: Items | None,
        publication: Publication | None,
        metrics: ScorerMetrics,
        clock: Clock,
        reservation: Reservation,
    ) -> None:
        self._scorer = scorer
        self._fetch = fetch
        self._score = score
        self._default = default
        self._publication = publication
        self._metrics = metrics
        self._clock = clock
        self._reservation = reservation

    async def run(self) -> CycleResult:
        """Runs one cycle. If it raises FetchError or ScoreError, nothing was published or exported.

        A cycle without any item is a failure (NO_RESULTS), and no empty object is published. OCM would count
        an object without the item as a score of 0, which is better than every negative score. The published
        scores stay until their validUntil.
        """
        return await self._reservation.within(self._run)

    async def _run(self) -> CycleResult:
        with self._metrics.stage("fetch"):
            series = await self._fetch(now=self._clock.wall())
        self._reservation.set_size(series.size)
        self._metrics.fetched(series=series.count, size=series.size, warnings=len(series.warnings))
        if self._default is not None:
            self._metrics.default_used(used=not series.count)
            if not series.count:
                return self._by_default(series, self._default)
        with self._metrics.stage("score"):
            results = await self._score(series)
        self._reservation.set_size(series.size + results.size)
        try:
            self._reservation.keep(results.text)
        except CallError:
            self._score.forget()
            raise
        self._metrics.dropped(results.dropped)
        if not results.scores:
            raise self._score.no_results(results, series=series.count)
        items = await self._items(results)
        self._metrics.dropped(items.dropped)
        dropped = results.dropped + items.dropped
        if not items.values and publishes(self._scorer):
            msg = (
                f"none of {results.total} results gives an item to publish: {counts_text(dropped)}; see"
                " scoreDimensionFormat"
            )
            raise ScoreError(msg, reason=Reason.NO_RESULTS)
        if items.clamped:
            self._metrics.clamped(items.clamped)
        await self._expose(results)
        if self._publication is not None:
            self._publication.offer(items.values)
        self._metrics.succeeded(at=self._clock.wall(), results=len(results.scores))
        return CycleResult(
            series=series.count,
            size=series.size,
            warnings=series.warnings,
            results=len(results.scores),
            dropped=dropped,
            first_fault=results.first_fault,
            items=items,
        )

    def _by_default(self, series: Series, items: Items) -> CycleResult:
        """Publishes the default score. dynamic_score carries raw scores, so it has no sample."""
        self._metrics.hidden()
        if self._publication is not None:
            self._publication.offer(items.values)
        self._metrics.succeeded(at=self._clock.wall(), results=0)
        return CycleResult(
            series=0,
            size=series.size,
            warnings=series.warnings,
            results=0,
            dropped=Counter(),
            first_fault="",
            items=items,
            by_default=True,
        )

    async def _items(self, results: Results) -> Items:
        builder = ItemBuilder(scorer=self._scorer)
        for label_sets, scores in results.batches():
            builder.add(label_sets, scores)
            await asyncio.sleep(0)
        names = builder.order()
        for start in range(0, len(names), BATCH):
            await asyncio.sleep(0)
            builder.map(names[start : start + BATCH])
        return builder.finish()

    async def _expose(self, results: Results) -> None:
        text = SampleText()
        for label_sets, scores in results.batches():
            text.add([label_set.line for label_set in label_sets], scores)
            await asyncio.sleep(0)
        self._metrics.exposed(await text.joined())
