"""Turns results into items of an AddOnPlacementScore.

Results are named by the dimension format, those of one name are aggregated, and the score is mapped
to the range, clamped and floored. Large answers are worked on in batches, so that other tasks run
in between.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dsf_agent.scoring.labels import LONG_NAME, LabelSet
from dsf_agent.scoring.results import BATCH
from dsf_wire import scorevalue
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.scorevalue import Aggregation
from dsf_wire.summary import ScorerSummary

DROP_NO_NAME: Final = "no_name"
"""The dimension format gives the empty string for these labels.

A Placement cannot name such an item.
"""
DROP_LONG_NAME: Final = "long_name"
"""The dimension format gives a name of more than MAX_NAME characters for these labels."""
DROP_OVERFLOW: Final = "overflow"
"""The aggregate of finite scores of one item is not finite."""


@dataclass(frozen=True, kw_only=True)
class Items:
    """The items of one cluster."""

    values: dict[str, int]
    """Sorted by item name."""
    clamped: int = 0
    """Values that were cut to a bound of the range."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Results that give no item, by reason."""


async def items_of(
    scorer: ScorerSummary,
    label_sets: Sequence[LabelSet],
    scores: Sequence[float],
    *,
    batch: int = BATCH,
) -> Items:
    """The items of one cluster. Other tasks may run between batches."""
    if len(scores) == 1 and label_sets[0].item not in {"", LONG_NAME}:
        # The usual case on the hub: one result for each cluster.
        mapped = scorevalue.map_score(scores[0], scorer.score_range)
        return Items(values={label_sets[0].item: mapped.value}, clamped=int(mapped.clamped))
    raw: dict[str, float] = {}
    several: dict[str, list[float]] = {}
    names: list[str] = []
    for start in range(0, len(scores), batch):
        of_batch = [label_set.item for label_set in label_sets[start : start + batch]]
        # Each batch is sorted now, so that the final sort only merges sorted runs. Sorting 50,000
        # names at once would block the event loop too long.
        names += sorted(_add(of_batch, scores[start : start + batch], raw=raw, several=several))
        if len(scores) > batch:
            await asyncio.sleep(0)
    dropped: Counter[str] = Counter()
    for name, reason in (("", DROP_NO_NAME), (LONG_NAME, DROP_LONG_NAME)):
        if name in raw:
            dropped[reason] += len(several.pop(name, [raw.pop(name)]))
            names.remove(name)
    # Names are sorted by code point, as Go sorts strings.
    names.sort()
    values: dict[str, int] = {}
    clamped = 0
    aggregation = Aggregation(scorer.score_aggregation or Aggregation.LAST)
    for start in range(0, len(names), batch):
        if len(names) > batch:
            await asyncio.sleep(0)
        part = names[start : start + batch]
        if scorer.score_range is None and not several:
            plain = [raw[name] for name in part]
            if min(plain) >= SCORE_MIN and max(plain) <= SCORE_MAX:
                # The same as map_score for such values, without one call per item.
                values.update(zip(part, map(math.floor, plain), strict=True))
                continue
        for name in part:
            score = raw[name]
            if name in several:
                score = scorevalue.aggregate(several[name], aggregation)
            if not math.isfinite(score):
                dropped[DROP_OVERFLOW] += 1
                continue
            mapped = scorevalue.map_score(score, scorer.score_range)
            clamped += mapped.clamped
            values[name] = mapped.value
    return Items(values=values, clamped=clamped, dropped=dropped)


def _add(
    names: Sequence[str],
    scores: Sequence[float],
    *,
    raw: dict[str, float],
    several: dict[str, list[float]],
) -> Iterable[str]:
    """Adds scores by name, and to ``several`` of names with more than one.

    Returns the new names.
    """
    single = dict(zip(names, scores, strict=True))
    if len(single) == len(names) and raw.keys().isdisjoint(single):
        # The usual case: one result per item.
        raw.update(single)
        return names
    new: list[str] = []
    for name, score in zip(names, scores, strict=True):
        if name not in raw:
            raw[name] = score
            new.append(name)
        elif name in several:
            several[name].append(score)
        else:
            several[name] = [raw[name], score]
    return new
