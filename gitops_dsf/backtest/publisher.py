"""The publisher of an agent: results of its cycles become writes of one AddOnPlacementScore.

The functions are those of the agent: dimension format, aggregation, score range, deadband, minimum
interval and refresh. Without numpy, like `gitops_dsf.backtest.track`.
"""

import math
from collections.abc import Iterable, Mapping

from dsf_wire import dimension, scorevalue
from dsf_wire.publishrule import PublishedItems, PublishSettings, decide, stable_fraction
from dsf_wire.scorevalue import Aggregation
from dsf_wire.summary import ScorerSummary
from gitops_dsf.backtest.track import NEVER, Track
from gitops_dsf.hub.raw_results import LabelValues

NO_LABELS: LabelValues = ("",) * len(dimension.LABELS)


class ReplayedPublisher:
    """Folds the cycles of one scorer on one cluster, in order of time.

    `published` is what is on the hub before the first cycle.
    """

    def __init__(
        self, *, scorer: ScorerSummary, cluster: str, published: PublishedItems | None = None
    ) -> None:
        self._scorer = scorer
        self._cluster = cluster
        # The jitter of the refresh is that of the agent: it depends on cluster and score alone.
        self._rule = PublishSettings.of(
            scorer, jitter=stable_fraction(cluster, scorer.score_name, "refresh")
        )
        self._aggregation = Aggregation(scorer.score_aggregation or Aggregation.LAST)
        self._names: dict[LabelValues, str] = {}
        self.track = Track(ttl=self._rule.ttl)
        """The writes up to now."""
        self._published = published
        if published is not None:
            self.track.add(published.written, published.values)
        self._wanted: Mapping[str, int] | None = None
        self._due = NEVER
        """The time when the wanted items are written, if no new results come before."""

    def name(self, labels: LabelValues) -> str:
        """The item of a result."""
        name = self._names.get(labels)
        if name is None:
            name = self._names[labels] = dimension.fill(
                self._scorer.score_dimension_format,
                cluster=self._cluster,
                score_name=self._scorer.score_name,
                labels=dict(zip(dimension.LABELS, labels, strict=True)),
            )
        return name

    def items(self, results: Iterable[tuple[LabelValues, float]]) -> dict[str, int] | None:
        """The items of a cycle with these raw scores; None if it fails, because none is left."""
        raw: dict[str, list[float]] = {}
        for labels, score in results:
            name = self.name(labels)
            if name and math.isfinite(score):
                raw.setdefault(name, []).append(score)
        items: dict[str, int] = {}
        for name in sorted(raw):
            score = scorevalue.aggregate(raw[name], self._aggregation)
            # The sum of finite scores may be infinite.
            if math.isfinite(score):
                items[name] = scorevalue.map_score(score, self._scorer.score_range).value
        return items or None

    def step(self, now: float, items: Mapping[str, int] | None) -> None:
        """One cycle with these items; None for a cycle that fails."""
        if self._due < now:
            self.write_due(now)
        self._wanted = items
        if items is None:
            # After a failed cycle the agent renews nothing, so the published scores expire.
            self._due = NEVER
            return
        self._due = decide(items, self._published, rule=self._rule).at
        if self._due <= now:
            self._write(now)

    def write_due(self, now: float) -> None:
        """Writes what is due before `now`: changes after the minimum interval, and refreshes."""
        while self._due < now:
            self._write(self._due)

    def _write(self, now: float) -> None:
        items = self._wanted or {}
        self.track.add(now, items)
        self._published = PublishedItems(
            values=items, written=now, valid_until=now + self._rule.ttl
        )
        self._due = decide(items, self._published, rule=self._rule).at
