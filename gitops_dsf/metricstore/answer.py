"""Reads answers of `/api/v1/query_range`.

https://prometheus.io/docs/prometheus/latest/querying/api/

An answer is bytes of any server, so everything about it is checked, and a mistake names the place.
A store that refuses a query because it is too large is distinguished from one that refuses it for
good.
"""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np

from dsf_wire import prometheus
from dsf_wire.prometheus import DECODE_ERRORS
from dsf_wire.text import printable
from gitops_dsf.backtest.rawscores import StoredSeries
from gitops_dsf.metricstore.errors import StoreError, TooMuchError, words_of

_TOO_MUCH: Final = ("too many", "too large", "exceed", "maximum", "limit", "timed out", "deadline")
"""Words of stores about a query that is too large.

They use them for other things, too: then the query is sent in smaller parts in vain, which costs
three requests.
"""


class SampleSpan(NamedTuple):
    """The times of the first and the last sample, in Unix seconds."""

    first: float
    last: float


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The series of an answer, and what the store warned of."""

    series: tuple[StoredSeries, ...]
    warnings: tuple[str, ...]
    lost: str = ""
    """The store's message about missing data; empty if there is none."""

    @property
    def span(self) -> SampleSpan | None:
        """The times of the first and the last sample; None if there is none."""
        first = math.inf
        last = -math.inf
        for series in self.series:
            if len(series.times):
                first = min(first, series.times[0])
                last = max(last, series.times[-1])
        return SampleSpan(float(first), float(last)) if first <= last else None

    @property
    def samples(self) -> int:
        """The number of samples of all series."""
        return sum(len(series.times) for series in self.series)


class _MatrixRow(msgspec.Struct):
    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"[]")
    histograms: msgspec.Raw = msgspec.Raw(b"")


_ROWS: Final = msgspec.json.Decoder(list[_MatrixRow])
_NUMBERS: Final = msgspec.json.Decoder(list[float])


def refused(failure: prometheus.StatedFailure, *, where: str) -> StoreError:
    """The error for an error answer of this API: TooMuchError if a smaller question may succeed."""
    words = words_of(failure.line if failure.text else failure.kind)
    error = TooMuchError if is_too_much(failure.text) else StoreError
    return error(f"{where} failed: {words}")


def is_too_much(text: str) -> bool:
    """Whether a store says that a query is too large."""
    return any(word in text.lower() for word in _TOO_MUCH)


def read(content: bytes, *, where: str) -> Matrix:
    """Decodes an answer. Raises StoreError, or TooMuchError if a smaller question may succeed."""
    try:
        document = prometheus.decode(content)
        if document.failure is not None:
            raise refused(document.failure, where=where)
        data = document.data
        if document.status != "success" or data is None:
            raise StoreError(
                f"{where} failed: status {printable(repr(document.status), max_characters=40)}"
            )
        if data.result_type != "matrix":
            kind = printable(data.result_type, max_characters=40) or "result without a type"
            raise StoreError(f"{where} gave a {kind}, where a matrix is expected")
        rows = [] if data.is_null else _ROWS.decode(data.result)
    except DECODE_ERRORS as error:
        reason = words_of(str(error))
        raise StoreError(
            f"{where} did not answer as Prometheus' /api/v1/query_range does: {reason}"
        ) from error
    return Matrix(
        series=tuple(_series(rows, where=where)),
        warnings=tuple(map(words_of, document.notes)),
        lost=words_of(document.lost),
    )


def _series(rows: list[_MatrixRow], *, where: str) -> Iterator[StoredSeries]:
    """The series of a matrix.

    Those with the same times share them: a store answers at the same times for all.

    Of several samples of one time, which a proxy before two replicas may give, the last one counts.
    """
    checked: list[float] = []  # the times of the series before, which `times` holds in order
    times = np.empty(0, dtype=np.float64)
    last = None  # which samples are the last ones of their time; None if all are
    for row in rows:
        # Prometheus answers with `histograms` beside or in place of `values`. The agent drops them.
        if row.histograms:
            raise StoreError(
                f"{where} gave native histograms, which cannot be scores: {row.metric}"
            )
        numbers = _numbers(bytes(row.values), where=where)
        # Comparing is three times as fast as making an array and checking it.
        if len(numbers) % 2 or numbers[0::2] != checked:
            checked = numbers[0::2]
            times = np.array(checked, dtype=np.float64)
            steps = np.diff(times)
            if len(numbers) % 2 or not np.isfinite(times).all() or not (steps >= 0).all():
                raise StoreError(
                    f"{where} gave samples that are not pairs of time and value in order of time"
                )
            last = None if (steps > 0).all() else np.append(steps > 0, True)
            if last is not None:
                times = times[last]
        values = np.fromiter(numbers[1::2], np.float64, len(checked))
        if last is not None:
            values = values[last]
        yield StoredSeries(labels=row.metric, times=times, values=values)


def _numbers(text: bytes, *, where: str) -> list[float]:
    """The pairs `[time,"value"]` of a series as one flat list."""
    flat = text.translate(None, b'[]" \n')
    with contextlib.suppress(msgspec.DecodeError):  # JSON does not know NaN and Inf
        # Four times as fast as numpy, and ten times as fast as decoding each pair.
        return _NUMBERS.decode(b"[%b]" % flat)
    try:
        return [float(number) for number in flat.split(b",")]
    except ValueError as error:
        raise StoreError(f"{where} gave samples that are not pairs of time and value") from error
