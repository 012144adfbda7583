"""Decodes the body of a scoring request to typed series, or refuses it with the position of the mistake.

Wire: ``{"data": [{"metric": {...}, "values": [[ts, "v"], ...]}, ...], "arguments": {...}}``. Values are
written as in Prometheus: strings, with NaN, +Inf and -Inf.
"""

from array import array
from dataclasses import dataclass
from typing import Final

import msgspec

from dsf_scorer.errors import RefusedError
from dsf_scorer.series import Series


class _Envelope(msgspec.Struct):
    data: list[msgspec.Raw]
    arguments: msgspec.Raw = msgspec.Raw(b"null")


class _Row(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None
    """Instant queries have this instead of ``values``."""
    histograms: msgspec.Raw = msgspec.Raw(b"")


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ROW: Final = msgspec.json.Decoder(_Row)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A decoded request. ``arguments`` is the JSON text of an object; None if the request has none."""

    series: list[Series]
    arguments: bytes | None


def decode(body: bytes | bytearray, *, max_series: int) -> Request:
    """Decodes a body. Raises RefusedError: 400 if it is not JSON, 413 for too many series, 422 for JSON of
    another shape.
    """
    try:
        envelope = _ENVELOPE.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(
            f'{error}; expected {{"data": [{{"metric": {{...}}, "values": [[timestamp, "value"], ...]}}]}}'
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"the body is not JSON: {error}", status=400) from None
    except RecursionError:
        raise RefusedError("the body is nested too deeply", status=400) from None
    if len(envelope.data) > max_series:
        raise RefusedError(
            f"{len(envelope.data)} series in one request; this scoring API takes {max_series}", status=413
        )
    return Request(
        series=[_series(raw, index) for index, raw in enumerate(envelope.data)],
        arguments=_arguments(bytes(envelope.arguments)),
    )


def _arguments(raw: bytes) -> bytes | None:
    raw = raw.strip()
    if raw == b"null":
        return None
    if not raw.startswith(b"{"):
        raise RefusedError("Expected an object - at `$.arguments`")
    return raw


def _series(raw: msgspec.Raw, index: int) -> Series:
    try:
        row = _ROW.decode(raw)
    except msgspec.ValidationError as error:
        raise RefusedError(_located(error, index)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(f"data[{index}] is not JSON: {error}", status=400) from None
    samples = row.values or ([row.value] if row.value is not None else [])
    if not samples:
        if row.histograms:
            raise RefusedError(
                f"data[{index}] holds native histograms; reduce them in the query, for instance with"
                " histogram_quantile()"
            )
        return Series(labels=row.metric, timestamps=array("d"), values=array("d"))
    timestamps, texts = zip(*samples, strict=True)
    try:
        return Series(
            labels=row.metric, timestamps=array("d", timestamps), values=array("d", map(float, texts))
        )
    except ValueError:
        raise RefusedError(_not_a_number(texts, index)) from None


def _located(error: msgspec.ValidationError, index: int) -> str:
    """The decoder's message, with the path from the root of the body."""
    text = str(error)
    text = text.replace("`$", f"`$.data[{index}]", 1) if "`$" in text else f"{text} - at `$.data[{index}]`"
    if ".value" in text and "Expected `str`" in text:
        text += "; sample values are strings, as Prometheus writes them"
    return text


def _not_a_number(texts: tuple[str, ...], index: int) -> str:
    for position, text in enumerate(texts):
        try:
            float(text)
        except ValueError:
            return f"{text[:40]!r} is not a number - at `$.data[{index}].values[{position}][1]`"
    return f"a value is not a number - at `$.data[{index}].values`"
