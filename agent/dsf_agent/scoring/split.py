"""Splits the series of a central store by cluster, without decoding their points."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import msgspec

from dsf_agent.errors import AgentError, Reason
from dsf_agent.fetch.promjson import Series
from dsf_agent.scoring.query import pieces
from dsf_runtime.calls import excerpt

_RAW = msgspec.json.Decoder(list[msgspec.Raw])


async def split(series: Series, *, label: str, clusters: Mapping[str, str]) -> dict[str, list[bytes]]:
    """The series of each cluster as JSON, in their order. ``clusters`` are the clusters by the value of the
    label; series of others are left out. Raises AgentError.
    """
    found: dict[str, list[bytes]] = {}
    decoder = _decoder(label)
    for part in series.parts:
        for piece in pieces(part):
            try:
                values = [row.metric.value for row in decoder.decode(piece)]
                raw = _RAW.decode(piece)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                msg = f"the series of the source cannot be read: {excerpt(str(error))}"
                raise AgentError(msg, reason=Reason.INVALID_BODY, stage="fetch") from error
            for value, one in zip(values, raw, strict=True):
                cluster = clusters.get(value)
                if cluster is not None:
                    found.setdefault(cluster, []).append(bytes(one))
            await asyncio.sleep(0)
    return found


def groups(by_cluster: Mapping[str, Sequence[bytes]], *, most: int) -> Iterator[tuple[list[str], Series]]:
    """Groups of at most ``most`` clusters, in order of name, with their series."""
    names = sorted(by_cluster)
    for start in range(0, len(names), most):
        chosen = names[start : start + most]
        parts = [part for name in chosen for part in by_cluster[name]]
        yield (
            chosen,
            Series(parts=(b",".join(parts),), count=len(parts), size=sum(len(part) for part in parts)),
        )


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
