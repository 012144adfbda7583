"""The items that an agent computes from raw scores, by the agent's own functions.

Guaranteed: for each choice of raw scores within their bounds, in any order, every item of the agent
is within the bounds that are returned. Where each raw score is one number and the order of results
does not count, the bounds are one number, too.
"""

import math
from collections.abc import Iterable

from dsf_wire.dimension import LABELS, fill
from dsf_wire.scorevalue import Aggregation, aggregate
from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.raw_results import RawResult
from gitops_dsf.resolve.score_intervals import RawInterval, mapped
from gitops_dsf.resolve.scorer import EffectiveScorer


def computed_items(
    scorer: EffectiveScorer, results: Iterable[RawResult], *, cluster: str
) -> dict[str, Interval]:
    """The items of a cycle with these results, sorted by name; none if the cycle would fail."""
    by_item: dict[str, list[RawResult]] = {}
    for result in results:
        name = fill(
            scorer.dimension_format,
            cluster=cluster,
            score_name=scorer.score_name,
            labels=dict(zip(LABELS, result.labels, strict=True)),
        )
        # The agent drops a result whose item would have no name.
        if name:
            by_item.setdefault(name, []).append(result)
    items = {}
    for name in sorted(by_item):
        raw = _aggregated(by_item[name], Aggregation(scorer.spec.score_aggregation))
        if raw is not None:
            items[name] = mapped(raw, scorer.score_range)
    return items


def _aggregated(results: list[RawResult], how: Aggregation) -> RawInterval | None:
    """The raw score of an item; None if the agent drops it, because it may be infinite."""
    lows = [result.low for result in results]
    highs = [result.high for result in results]
    if how is Aggregation.LAST:
        # A store does not keep the order of results, so any of them may have been the last one.
        return RawInterval(min(lows), max(highs))
    # Every other aggregation grows with each of its numbers.
    low = aggregate(lows, how)
    high = aggregate(highs, how)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return RawInterval(low, high)
