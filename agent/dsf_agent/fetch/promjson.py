"""The series in answers of the Prometheus HTTP API (``dsf_wire.prometheus``).

A large matrix is not decoded, but checked in pieces, and its bytes are sent on to the scoring API.
Samples of a vector become series with one point.

Guaranteed: an answer that is not of this API is an AgentError with its reason. Not guaranteed: that
the samples of a large matrix are numbers; they are passed on as text.
"""

import asyncio
import codecs
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from dsf_agent.endpoints.transport import Body
from dsf_agent.errors import AgentError
from dsf_runtime.calls import excerpt
from dsf_wire import prometheus
from dsf_wire.jsontext import utf8, without_mark
from dsf_wire.prometheus import DECODE_ERRORS, Data, PrometheusAnswer, StatedFailure
from dsf_wire.scored import Reason

PIECE: Final = 1 << 20
"""Bytes that are checked before other tasks may run: about 1 ms."""
MAX_OBJECTS: Final = 400_000
"""Most objects in an answer that is decoded as a whole: two per series, 150 bytes each in memory.
"""

_RESULT: Final = b'"result":['
_SEAM: Final = b'},{"metric":'
"""The text between two series of a matrix.

It cannot occur in a JSON string, where quotes are escaped.
"""
_HEAD_LIMIT: Final = 512
"""Bytes before the first series."""
_ERROR_TYPES: Final = {
    "bad_data": Reason.QUERY_BAD_DATA,
    "execution": Reason.QUERY_EXECUTION,
    "timeout": Reason.QUERY_TIMEOUT,
    "canceled": Reason.QUERY_UNAVAILABLE,
    "unavailable": Reason.QUERY_UNAVAILABLE,
    "internal": Reason.QUERY_INTERNAL,
}


@dataclass(frozen=True, kw_only=True)
class SeriesText:
    """Series as JSON text.

    ``parts``, joined by commas, are the elements of ``data``; ``size`` is in bytes.
    """

    parts: tuple[Body, ...] = ()
    count: int = 0
    size: int = 0
    warnings: tuple[str, ...] = ()
    lost: str = ""
    """The source's message about missing data; empty if there is none."""


class _MatrixSeries(msgspec.Struct, gc=False):
    """A series of a matrix; decoding checks labels and JSON.

    Without the points it takes half the time.
    """

    metric: msgspec.Raw


class _VectorSample(msgspec.Struct):
    """One sample of a vector. It has a value or a native histogram."""

    metric: msgspec.Raw
    value: msgspec.Raw = msgspec.Raw(b"")
    histogram: msgspec.Raw = msgspec.Raw(b"")


_ROWS: Final = msgspec.json.Decoder(list[_MatrixSeries])
_SAMPLES: Final = msgspec.json.Decoder(list[_VectorSample])


class QueryFailure(NamedTuple):
    """The reason why a query failed, in the words of the metric source."""

    reason: Reason
    text: str
    """``errorType: error``, not too long."""


def query_failure(body: bytes) -> QueryFailure | None:
    """The failure that a body states; None if it is not an error answer of this API."""
    failure = prometheus.failure_in(body)
    return None if failure is None else _failed_query(failure)


async def read(chunks: list[bytes], *, where: str) -> SeriesText:
    """The series of an answer. ``where`` names the query. Raises AgentError.

    Each chunk is dropped when it was read, so that an answer is in memory once.
    """
    _remove_mark(chunks)
    size = sum(map(len, chunks))
    if size > PIECE:
        series = await in_pieces(chunks, where=where)
        if series is not None:
            return series
    body = bytearray()
    for index, chunk in enumerate(chunks):
        body += chunk
        chunks[index] = b""
    # Decoded objects take far more memory than the text, which alone counts in the budget.
    if size > PIECE and body.count(b"{") > MAX_OBJECTS:
        raise AgentError(
            f"{where} answered with more than {MAX_OBJECTS // 2} series that cannot be read in"
            " pieces",
            reason=Reason.TOO_LARGE,
        )
    try:
        document = prometheus.decode(body)
        data = _good(document, where=where)
        return await _whole(data, document=document, size=size, where=where)
    except DECODE_ERRORS as error:
        raise _invalid(where, error, body) from error


def _remove_mark(chunks: list[bytes]) -> None:
    """Removes a byte order mark. A peer may send each of its three bytes alone."""
    while len(chunks) > 1 and len(chunks[0]) < len(codecs.BOM_UTF8):
        chunks[:2] = [chunks[0] + chunks[1]]
    chunks[:1] = [without_mark(chunk) for chunk in chunks[:1]]


async def _whole(data: Data, *, document: PrometheusAnswer, size: int, where: str) -> SeriesText:
    if data.is_null:
        return SeriesText(size=size, warnings=_warnings(document), lost=excerpt(document.lost))
    raw = memoryview(data.result)
    match data.result_type:
        case "matrix":
            count = len(_ROWS.decode(raw))
            parts: tuple[bytes | memoryview, ...] = (raw[1:-1],) if count else ()
        case "vector":
            samples = _SAMPLES.decode(raw)
            count = len(samples)
            parts = tuple([piece async for piece in _as_series(samples)])
        case "scalar":
            count = 1
            parts = (b'{"metric":{},"values":[' + bytes(raw) + b"]}",)
        case other:
            raise AgentError(
                f"{where} gave a result of type {other!r}; matrix, vector and scalar can be scored",
                reason=Reason.INVALID_BODY,
            )
    return SeriesText(
        parts=parts,
        count=count,
        size=size,
        warnings=_warnings(document),
        lost=excerpt(document.lost),
    )


async def _as_series(samples: list[_VectorSample]) -> AsyncIterator[bytes]:
    """Yields instant samples as series with one value."""
    step = 2000
    for start in range(0, len(samples), step):
        yield b",".join(map(_one_point, samples[start : start + step]))
        await asyncio.sleep(0)


def _one_point(sample: _VectorSample) -> bytes:
    """A sample as a series of a matrix. Raises msgspec.ValidationError."""
    if sample.value:
        return b'{"metric":%b,"values":[%b]}' % (bytes(sample.metric), bytes(sample.value))
    if sample.histogram:
        return b'{"metric":%b,"histograms":[%b]}' % (bytes(sample.metric), bytes(sample.histogram))
    raise msgspec.ValidationError("a sample has neither value nor histogram")


async def in_pieces(chunks: list[bytes], *, where: str, piece: int = PIECE) -> SeriesText | None:
    """The series of a large matrix, checked in pieces of some chunks.

    Returns None if the answer must be decoded as a whole; then ``chunks`` has all its bytes. A
    piece ends at a seam between two series. If what looks like a seam is nested deeper, the piece
    is not valid JSON.
    """
    size = sum(map(len, chunks))
    count = 0
    parts: list[Body] = []
    head = b""  # everything before the first series
    unread: list[bytes] = []  # after the last seam
    waiting = deque(chunks)
    chunks.clear()
    try:
        while waiting:
            room = piece
            while waiting and room > 0:
                unread.append(waiting.popleft())
                room -= len(unread[-1])
            if not head or _SEAM not in unread[-1]:
                # The seam may be spread over two chunks.
                unread = [b"".join(unread)]
            if not head:
                start = unread[0].find(_RESULT, 0, _HEAD_LIMIT) + len(_RESULT)
                head = unread[0][:start]
                unread = [unread[0][start:]]
            *before, last = unread
            seam = last.rfind(_SEAM) if head.endswith(_RESULT) else -1
            if seam < 0:
                break
            rows = b"".join((b"[", *before, memoryview(last)[: seam + 1], b"]"))
            count += len(_ROWS.decode(utf8(rows)))
            parts.append(memoryview(rows)[1:-1])
            unread = [last[seam + 2 :]]
            await asyncio.sleep(0)
        if parts and not waiting:
            # The last piece has the rest of the document: status, type, warnings, and that nothing
            # follows.
            text = b"".join(unread)
            document = prometheus.decode(head + text)
            data = _good(document, where=where)
            count += len(_ROWS.decode(data.result))
            if data.result_type == "matrix":
                parts.append(memoryview(text)[: len(memoryview(data.result)) - 2])
                return SeriesText(
                    parts=tuple(parts),
                    count=count,
                    size=size,
                    warnings=_warnings(document),
                    lost=excerpt(document.lost),
                )
    except DECODE_ERRORS:
        pass
    # The answer as it was, so that it can be decoded as a whole. Each part is dropped when its
    # bytes were copied.
    chunks.append(head)
    for index, part in enumerate(parts):
        chunks += [bytes(part), b","]
        parts[index] = b""
    chunks += [*unread, *waiting]
    return None


def _good(document: PrometheusAnswer, *, where: str) -> Data:
    if document.failure is not None:
        failure = _failed_query(document.failure)
        raise AgentError(f"{where} failed: {failure.text}", reason=failure.reason)
    if document.status != "success" or document.data is None:
        raise AgentError(
            f"{where} did not answer as the Prometheus API does: status is {document.status!r}",
            reason=Reason.INVALID_BODY,
        )
    return document.data


def _failed_query(failure: StatedFailure) -> QueryFailure:
    reason = _ERROR_TYPES.get(failure.kind, Reason.QUERY_ERROR)
    return QueryFailure(reason, excerpt(failure.line))


def _warnings(document: PrometheusAnswer) -> tuple[str, ...]:
    return tuple(map(excerpt, document.notes))


def _invalid(where: str, error: Exception, body: bytearray) -> AgentError:
    start = excerpt(bytes(body[:200]))
    return AgentError(
        f"{where} did not answer as the Prometheus API does: {excerpt(str(error))};"
        f" it begins with {start!r}",
        reason=Reason.INVALID_BODY,
    )
