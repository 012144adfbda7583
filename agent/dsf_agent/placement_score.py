"""Results to the items of an AddOnPlacementScore: dimension names, aggregation, range map, clamp, floor. Pure."""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dsf_agent.results import Result
from dsf_wire import dimension, scorevalue
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.scorevalue import Aggregation
from dsf_wire.summary import Summary

DROP_NO_NAME: Final = "no_name"
"""The dimension format yields the empty string for these labels; a Placement cannot name such an item."""
DROP_OVERFLOW: Final = "overflow"
"""The sum of finite scores of one dimension is not finite."""

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Items:
    """Names to values, sorted by name; how many values a bound held, and how many items were dropped by reason."""

    values: dict[str, int]
    clamped: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


class Naming:
    """dsf_wire.dimension.fill for one scorer and cluster, prepared once: three times as fast over 50,000 results."""

    def __init__(self, *, template: str, cluster: str, score_name: str) -> None:
        self._pattern = ""
        indexes: list[int] = []
        template = template or dimension.DEFAULT_FORMAT
        position = 0
        for match in _PLACEHOLDER.finditer(template):
            self._literal(template[position : match.start()])
            position = match.end()
            name = match[1]
            if name in dimension.LABELS:
                self._pattern += "%s"
                indexes.append(dimension.LABELS.index(name))
            else:
                self._literal({"cluster": cluster, "scoreName": score_name}.get(name, match[0]))
        self._literal(template[position:])
        pattern = self._pattern
        pick = _picker(indexes)
        self.name: Callable[[tuple[str, ...]], str] = (
            operator.itemgetter(indexes[0]) if pattern == "%s" else lambda labels: pattern % pick(labels)
        )
        """The item name of labels in the order of dsf_wire.dimension.LABELS."""

    def _literal(self, text: str) -> None:
        self._pattern += text.replace("%", "%%")


def _picker(indexes: list[int]) -> Callable[[tuple[str, ...]], object]:
    """What a format string takes: the chosen labels, as one value or a tuple."""
    return operator.itemgetter(*indexes) if indexes else lambda _labels: ()


class Builder:
    """Collects results in batches and builds the items; the caller yields to the event loop in between."""

    def __init__(self, *, scorer: Summary, cluster: str) -> None:
        self._naming = Naming(template=scorer.score_dimension_format, cluster=cluster, score_name=scorer.score_name)
        self._aggregation = Aggregation(scorer.score_aggregation or Aggregation.LAST)
        self._range = scorer.score_range
        self._raw: dict[str, float] = {}
        self._several: dict[str, list[float]] = {}
        """All scores of the names that have more than one."""
        self._names: list[str] = []
        self._dropped: Counter[str] = Counter()

    def add(self, batch: Sequence[Result]) -> None:
        """Takes results in the order of the answer (Last means the last one)."""
        raw, name_of = self._raw, self._naming.name
        new: list[str] = []
        for labels, score in batch:
            name = name_of(labels)
            if name not in raw:
                raw[name] = score
                new.append(name)
            elif name in self._several:
                self._several[name].append(score)
            else:
                self._several[name] = [raw[name], score]
        if "" in raw:
            nameless = self._several.pop("", [raw.pop("")])
            self._dropped[DROP_NO_NAME] += len(nameless)
            new.remove("")
        # Sorted runs, which the final sort merges in linear time: sorting 50,000 names at once would hold the loop too long.
        new.sort()
        self._names += new

    def order(self) -> list[str]:
        """All names, sorted by code point (what Go's string order and the API server's clients use)."""
        self._names.sort()
        return self._names

    def values(self, names: Sequence[str]) -> tuple[list[tuple[str, int]], int]:
        """Mapped values of some of the names, and how many of them a bound held."""
        raw, several = self._raw, self._several
        if self._range is None and not several:
            scores = [raw[name] for name in names]
            if scores and min(scores) >= SCORE_MIN and max(scores) <= SCORE_MAX:
                # What map_score says of such values, without the price of a call for each of tens of thousands.
                return list(zip(names, map(math.floor, scores), strict=True)), 0
        items: list[tuple[str, int]] = []
        clamped = 0
        for name in names:
            score = raw[name] if name not in several else scorevalue.aggregate(several[name], self._aggregation)
            if not math.isfinite(score):
                self._dropped[DROP_OVERFLOW] += 1
                continue
            mapped = scorevalue.map_score(score, self._range)
            clamped += mapped.clamped
            items.append((name, mapped.value))
        return items, clamped

    def finish(self, items: list[tuple[str, int]], *, clamped: int) -> Items:
        return Items(values=dict(items), clamped=clamped, dropped=self._dropped)


def build(results: Sequence[Result], *, scorer: Summary, cluster: str) -> Items:
    """The items of all results in one go."""
    builder = Builder(scorer=scorer, cluster=cluster)
    builder.add(results)
    items, clamped = builder.values(builder.order())
    return builder.finish(items, clamped=clamped)
