"""The stage ``score`` of ``scoringType: Query``: the last value of each series is its raw score."""

import math
from typing import Final

import msgspec

from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.scoring.batches import as_array, batches
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.results import RESULT_BYTES, ScoringResults, take


class _Point(msgspec.Struct, array_like=True, gc=False):
    time: float
    value: str


class _QueriedSeries(msgspec.Struct, gc=False):
    metric: msgspec.Raw = msgspec.Raw(b"{}")
    value: _Point | None = None
    values: list[_Point] = []
    histograms: msgspec.Raw = msgspec.Raw(b"")

    @property
    def score(self) -> float:
        """The newest value. Raises ValueError."""
        if self.value is not None:
            return float(self.value.value)
        # Points are in order of time.
        if self.values:
            return float(self.values[-1].value)
        if self.histograms:
            raise ValueError(
                "it is a native histogram, which has no single value; use a function such as"
                " histogram_quantile or histogram_avg"
            )
        raise ValueError("it has no value")


_SERIES: Final = msgspec.json.Decoder(list[_QueriedSeries])
_ONE_SERIES: Final = msgspec.json.Decoder(_QueriedSeries)


async def score(series: SeriesText, *, label_sets: LabelSets) -> ScoringResults:
    """The second stage of a cycle without a scoring API.

    There may be no results. Raises AgentError.
    """
    results = ScoringResults(max_results=label_sets.max_results)
    with label_sets.answer():
        async for batch in batches(series, stage="score"):
            _take(batch, results, label_sets=label_sets)
    results.size = RESULT_BYTES * len(results.scores) + results.text
    results.text += label_sets.kept_bytes
    return results


def _take(batch: list[msgspec.Raw], into: ScoringResults, *, label_sets: LabelSets) -> None:
    first = into.total
    try:
        rows = _SERIES.decode(as_array(batch))
        scores = [row.score for row in rows]
        of_batch = label_sets.read([bytes(row.metric) for row in rows])
    except (ValueError, RecursionError):
        # One of them is unusual, so each is read alone.
        for index, element in enumerate(batch, start=first):
            take(
                element,
                into,
                decoder=_ONE_SERIES,
                where=f"series {index}",
                label_sets=label_sets,
            )
        return
    if all(map(math.isfinite, scores)):
        into.extend(of_batch, scores)
        return
    for index, (label_set, value) in enumerate(zip(of_batch, scores, strict=True), start=first):
        into.add(label_set, value, where=f"series {index}")
