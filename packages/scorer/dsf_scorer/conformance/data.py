"""The series that a check posts: from a file or generic ones."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

MAX_DATA_BYTES: Final = 64 * 1024 * 1024
POINTS: Final = 60
STEP_SECONDS: Final = 60
END: Final = 1_700_000_000
"""Time of the newest sample of generic series. It is fixed, so that two runs send the same bytes."""


class DataError(ValueError):
    """The --data file cannot be used."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Series as Prometheus writes them, and the scorer's arguments. ``generic``: made up here, so a scorer
    may ignore them.
    """

    data: list[dict[str, Any]] = field(default_factory=list)
    arguments: dict[str, Any] | None = None
    generic: bool = True

    def body(self, data: list[dict[str, Any]] | None = None) -> bytes:
        """A scoring request with these series, or with other series and the same arguments."""
        request: dict[str, Any] = {"data": self.data if data is None else data}
        if self.arguments is not None:
            request["arguments"] = self.arguments
        return msgspec.json.encode(request)


def series(labels: dict[str, str], values: list[str]) -> dict[str, Any]:
    start = END - STEP_SECONDS * (len(values) - 1)
    return {
        "metric": labels,
        "values": [[start + STEP_SECONDS * index, value] for index, value in enumerate(values)],
    }


def generic_sample(*, needs_metrics: bool) -> Sample:
    """Three nodes with a slow daily curve each; no series for a scorer of source type None."""
    rows = []
    for number in range(1, 4) if needs_metrics else ():
        labels = {
            "node": f"node-{number}",
            "namespace": "default",
            "pod": f"pod-{number}",
            "instance": f"10.0.0.{number}:9100",
        }
        rows.append(series(labels, [f"{0.2 * number + 0.001 * point:.3f}" for point in range(POINTS)]))
    return Sample(data=rows)


def many(count: int) -> list[dict[str, Any]]:
    """Returns this number of series with POINTS points each. 10,000 series have 17 MB."""
    values = [f"0.{point:06d}" for point in range(POINTS)]
    return [series({"node": f"node-{number}", "pod": f"pod-{number}"}, values) for number in range(count)]


class _Answer(msgspec.Struct):
    result: list[dict[str, Any]]


class _Request(msgspec.Struct):
    """What a file may hold: a scoring request, or an answer of Prometheus."""

    data: list[dict[str, Any]] | _Answer
    arguments: dict[str, Any] | None = None


def read_sample(path: Path) -> Sample:
    """Reads a scoring request, a list of series or an answer of Prometheus. Raises DataError."""
    try:
        if path.stat().st_size > MAX_DATA_BYTES:
            raise DataError(f"{path}: larger than {MAX_DATA_BYTES} bytes")
        found = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]] | _Request)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    except msgspec.ValidationError as error:
        msg = (
            f'{path}: expected {{"data": [...]}}, a list of series, or an answer of Prometheus\' query_range:'
            f" {error}"
        )
        raise DataError(msg) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    if isinstance(found, list):
        return Sample(data=found, generic=False)
    data = found.data.result if isinstance(found.data, _Answer) else found.data
    return Sample(data=data, arguments=found.arguments, generic=False)
