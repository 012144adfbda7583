"""The split of a central store's series by cluster, for the hub scorer.

A label names the cluster of a series. Series of other clusters, and those without the label, are
left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import msgspec

from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.scoring.batches import as_array, batches, unreadable


class _Metric(msgspec.Struct, gc=False):
    value: str = ""


class _ScoredSeries(msgspec.Struct, gc=False):
    metric: _Metric


async def split(
    series: SeriesText, *, label: str, clusters: Mapping[str, str]
) -> dict[str, list[bytes]]:
    """The series of each cluster as JSON, in order; ``clusters`` by value of the label.

    Raises AgentError.
    """
    by_cluster: dict[str, list[bytes]] = {}
    decoder = _decoder(label)
    async for batch in batches(series, stage="fetch"):
        try:
            values = [row.metric.value for row in decoder.decode(as_array(batch))]
        except (ValueError, RecursionError) as error:
            raise unreadable(error, stage="fetch") from error
        for value, element in zip(values, batch, strict=True):
            cluster = clusters.get(value)
            # A central store also has series of clusters that are not in this fleet.
            if cluster is not None:
                # A copy, because a Raw of one series keeps the text of its whole batch in memory.
                by_cluster.setdefault(cluster, []).append(bytes(element))
    return by_cluster


def groups(
    by_cluster: Mapping[str, Sequence[bytes]], *, max_clusters: int
) -> Iterator[tuple[list[str], SeriesText]]:
    """Groups of at most ``max_clusters`` clusters, in order of name, with their series."""
    names = sorted(by_cluster)
    for start in range(0, len(names), max_clusters):
        # In order of name, so that a scoring API gets the same clusters together in each cycle.
        chosen = names[start : start + max_clusters]
        parts: list[bytes] = []
        for name in chosen:
            parts += by_cluster[name]
        yield (
            chosen,
            SeriesText(parts=(b",".join(parts),), count=len(parts), size=sum(map(len, parts))),
        )


@cache
def _decoder(label: str) -> "msgspec.json.Decoder[list[_ScoredSeries]]":
    """Decodes rows of which only this label is kept: the others are most of the bytes."""
    metric = msgspec.defstruct(
        "Metric", [("value", str, "")], bases=(_Metric,), gc=False, rename={"value": label}
    )
    row = msgspec.defstruct("Row", [("metric", metric)], bases=(_ScoredSeries,), gc=False)
    return msgspec.json.Decoder(list[row])  # type: ignore[valid-type]
