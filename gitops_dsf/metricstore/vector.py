"""Reads answers of `/api/v1/query`: one number for each series.

https://prometheus.io/docs/prometheus/latest/querying/api/

It needs no numpy, which the image of the reconciler does not have.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dsf_wire import prometheus
from dsf_wire.prometheus import DECODE_ERRORS
from gitops_dsf.metricstore.errors import StoreError, words_of
from gitops_dsf.metricstore.rawanswers import NumberedSeries


class _SampledSeries(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None
    """Time and number; None for a native histogram."""


_ROWS: Final = msgspec.json.Decoder(list[_SampledSeries])


def read(content: bytes, *, where: str) -> Iterator[NumberedSeries]:
    """The samples of an answer. Raises StoreError, also where the store says that data is missing.

    A number that is none is NaN, which no reader uses.
    """
    try:
        document = prometheus.decode(content)
        if document.failure is not None:
            raise StoreError(f"{where} failed: {words_of(document.failure.line)}")
        data = document.data
        if document.status != "success" or data is None or data.result_type != "vector":
            raise StoreError(f"{where} gave no vector")
        rows = [] if data.is_null else _ROWS.decode(data.result)
    except DECODE_ERRORS as error:
        raise StoreError(
            f"{where} did not answer as Prometheus' /api/v1/query does: {words_of(str(error))}"
        ) from error
    if document.lost:
        raise StoreError(f"the store says that data is missing: {words_of(document.lost)}")
    for row in rows:
        yield NumberedSeries(row.metric, _number(row.value))


def _number(value: Any) -> float:  # noqa: ANN401 - a pair, or None
    try:
        return float(value[1])
    except (TypeError, ValueError):
        return math.nan
