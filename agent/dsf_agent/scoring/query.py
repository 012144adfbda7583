"""Works on series without a scoring API: the stage ``score`` of ``scoringType: Query``, where the last value
of each series is its raw score, and the split of a central store's series by cluster.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec

from dsf_agent.endpoints.transport import Body
from dsf_agent.errors import AgentError, Reason, Stage
from dsf_agent.fetch.promjson import Series
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.results import BATCH, RESULT_BYTES, Results, take
from dsf_runtime.calls import excerpt


class _Point(msgspec.Struct, array_like=True, gc=False):
    time: float
    value: str


class _Series(msgspec.Struct, gc=False):
    metric: msgspec.Raw = msgspec.Raw(b"{}")
    value: _Point | None = None
    values: list[_Point] = []
    histograms: msgspec.Raw = msgspec.Raw(b"")

    @property
    def score(self) -> float:
        """The newest value. Raises ValueError."""
        if self.value is not None:
            return float(self.value.value)
        if self.values:
            return float(self.values[-1].value)
        if self.histograms:
            msg = "it is a native histogram, which has no single value; use a function such as"
            msg += " histogram_quantile or histogram_avg"
            raise ValueError(msg)
        raise ValueError("it has no value")


_SERIES: Final = msgspec.json.Decoder(list[_Series])
_ONE: Final = msgspec.json.Decoder(_Series)
_RAW: Final = msgspec.json.Decoder(list[msgspec.Raw])


async def score(series: Series, *, label_sets: LabelSets) -> Results:
    """The second stage of a cycle without a scoring API. There may be no results. Raises AgentError."""
    found = Results(most=label_sets.most_results)
    with label_sets.answer():
        async for batch in _batches(series, stage="score"):
            _take(batch, found, label_sets=label_sets)
    found.size = RESULT_BYTES * len(found.scores) + found.text
    found.text += label_sets.kept_bytes
    return found


def _take(batch: list[msgspec.Raw], into: Results, *, label_sets: LabelSets) -> None:
    first = into.total
    try:
        rows = _SERIES.decode(_array(batch))
        scores = [row.score for row in rows]
        found = label_sets.read([bytes(row.metric) for row in rows])
    except (ValueError, RecursionError):
        # One of them is unusual, so each is read alone.
        for index, one in enumerate(batch, start=first):
            take(one, into, decoder=_ONE, where=f"series {index}", label_sets=label_sets)
        return
    if all(map(math.isfinite, scores)):
        into.extend(found, scores)
        return
    for index, (label_set, value) in enumerate(zip(found, scores, strict=True), start=first):
        into.add(label_set, value, where=f"series {index}")


async def _batches(series: Series, *, stage: Stage) -> AsyncIterator[list[msgspec.Raw]]:
    """The series as JSON, with turns for other tasks. Raises AgentError."""
    for part in series.parts:
        try:
            found = _RAW.decode(_array([part]))
        except (ValueError, RecursionError) as error:
            raise _unreadable(error, stage=stage) from error
        for start in range(0, len(found), BATCH):
            yield found[start : start + BATCH]
            await asyncio.sleep(0)


def _array(parts: Iterable[Body | msgspec.Raw]) -> bytes:
    return b"[%b]" % b",".join(parts)


def _unreadable(error: Exception, *, stage: Stage) -> AgentError:
    text = f"the series of the source cannot be read: {excerpt(str(error))}"
    return AgentError(text, reason=Reason.INVALID_BODY, stage=stage)


async def split(
    series: Series, *, label: str, clusters: Mapping[str, str]
) -> dict[str, list[bytes]]:
    """The series of each cluster as JSON, in order; ``clusters`` by value of the label. Raises AgentError."""
    found: dict[str, list[bytes]] = {}
    decoder = _decoder(label)
    async for batch in _batches(series, stage="fetch"):
        try:
            values = [row.metric.value for row in decoder.decode(_array(batch))]
        except (ValueError, RecursionError) as error:
            raise _unreadable(error, stage="fetch") from error
        for value, one in zip(values, batch, strict=True):
            cluster = clusters.get(value)
            if cluster is not None:
                found.setdefault(cluster, []).append(bytes(one))
    return found


def groups(
    by_cluster: Mapping[str, Sequence[bytes]], *, most: int
) -> Iterator[tuple[list[str], Series]]:
    """Groups of at most ``most`` clusters, in order of name, with their series."""
    names = sorted(by_cluster)
    for start in range(0, len(names), most):
        chosen = names[start : start + most]
        parts = [part for name in chosen for part in by_cluster[name]]
        yield chosen, Series(parts=(b",".join(parts),), count=len(parts), size=sum(map(len, parts)))


@cache
def _decoder(label: str) -> "msgspec.json.Decoder[list[_Row]]":
    metric = msgspec.defstruct(
        "Metric", [("value", str, "")], bases=(_Metric,), gc=False, rename={"value": label}
    )
    row = msgspec.defstruct("Row", [("metric", metric)], bases=(_Row,), gc=False)
    return msgspec.json.Decoder(list[row])  # type: ignore[valid-type]


class _Metric(msgspec.Struct, gc=False):
    value: str = ""


class _Row(msgspec.Struct, gc=False):
    metric: _Metric
