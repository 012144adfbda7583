"""Turns results into items of an AddOnPlacementScore: item names, aggregation, range, clamp, floor."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dsf_agent.scoring.labels import LONG_NAME, LabelSet
from dsf_agent.scoring.results import BATCH
from dsf_wire import scorevalue
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.scorevalue import Aggregation
from dsf_wire.summary import Summary

DROP_NO_NAME: Final = "no_name"
"""The dimension format gives the empty string for these labels. A Placement cannot name such an item."""
DROP_LONG_NAME: Final = "long_name"
"""The dimension format gives a name of more than MAX_NAME characters for these labels."""
DROP_OVERFLOW: Final = "overflow"
"""The aggregate of finite scores of one item is not finite."""


@dataclass(frozen=True, kw_only=True)
class Items:
    """Values by item name, sorted by name. ``clamped`` counts values that were cut to a bound of the range,
    ``dropped`` counts results by reason.
    """

    values: dict[str, int]
    clamped: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


class ItemBuilder:
    """Builds items from results in batches. The caller yields to the event loop between batches."""

    def __init__(self, *, scorer: Summary) -> None:
        self._aggregation = Aggregation(scorer.score_aggregation or Aggregation.LAST)
        self._range = scorer.score_range
        self._raw: dict[str, float] = {}
        self._several: dict[str, list[float]] = {}
        """All scores of names that have more than one."""
        self._names: list[str] = []
        self._values: dict[str, int] = {}
        self._clamped = 0
        self._dropped: Counter[str] = Counter()

    def add(self, label_sets: Sequence[LabelSet], scores: Sequence[float]) -> None:
        """Adds results, in the order of the answer. The aggregation Last takes the last one."""
        raw, names = self._raw, [label_set.item for label_set in label_sets]
        single = dict(zip(names, scores, strict=True))
        if len(single) == len(names) and raw.keys().isdisjoint(single):
            # The usual case: one result per item.
            raw |= single
            new = names
        else:
            new = self._grouped(names, scores)
        for name, reason in (("", DROP_NO_NAME), (LONG_NAME, DROP_LONG_NAME)):
            if name in raw:
                self._dropped[reason] += len(self._several.pop(name, [raw.pop(name)]))
                new.remove(name)
        # Each batch is sorted now, so that the final sort only merges sorted runs. Sorting 50,000 names at
        # once would block the event loop too long.
        new.sort()
        self._names += new

    def _grouped(self, names: Sequence[str], scores: Sequence[float]) -> list[str]:
        """Adds scores that share names. Returns the names that are new."""
        raw, several = self._raw, self._several
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

    def order(self) -> list[str]:
        """All names, sorted by code point, as Go sorts strings."""
        self._names.sort()
        return self._names

    def map(self, names: Sequence[str]) -> None:
        """Computes the values of some names. Call it in the order of ``order``, so that items are sorted."""
        raw, several = self._raw, self._several
        if self._range is None and not several:
            scores = [raw[name] for name in names]
            if scores and min(scores) >= SCORE_MIN and max(scores) <= SCORE_MAX:
                # The same as map_score for such values, without one call per item.
                self._values.update(zip(names, map(math.floor, scores), strict=True))
                return
        for name in names:
            score = (
                raw[name] if name not in several else scorevalue.aggregate(several[name], self._aggregation)
            )
            if not math.isfinite(score):
                self._dropped[DROP_OVERFLOW] += 1
                continue
            mapped = scorevalue.map_score(score, self._range)
            self._clamped += mapped.clamped
            self._values[name] = mapped.value

    def finish(self) -> Items:
        return Items(values=self._values, clamped=self._clamped, dropped=self._dropped)


async def items_of(scorer: Summary, label_sets: Sequence[LabelSet], scores: Sequence[float]) -> Items:
    """The items of one cluster. Other tasks may run in between if there are many."""
    if len(scores) == 1 and label_sets[0].item not in {"", LONG_NAME}:
        # Mostly so on the hub.
        mapped = scorevalue.map_score(scores[0], scorer.score_range)
        return Items(values={label_sets[0].item: mapped.value}, clamped=int(mapped.clamped))
    builder = ItemBuilder(scorer=scorer)
    for start in range(0, len(scores), BATCH):
        builder.add(label_sets[start : start + BATCH], scores[start : start + BATCH])
        if len(scores) > BATCH:
            await asyncio.sleep(0)
    names = builder.order()
    for start in range(0, len(names), BATCH):
        if len(names) > BATCH:
            await asyncio.sleep(0)
        builder.map(names[start : start + BATCH])
    return builder.finish()
