"""The series that a check posts: from a file or generic ones."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from dsf_scorer.errors import UsageError
from dsf_scorer.testing import series

POINTS: Final = 60


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


def nodes(count: int) -> list[dict[str, Any]]:
    """A series with a slow curve for each of so many nodes. 10,000 series have 17 MB."""
    values = [round(0.2 + 0.001 * point, 3) for point in range(POINTS)]
    return [
        series(values, node=f"node-{number}", namespace="default", pod=f"pod-{number}")
        for number in range(count)
    ]


class _Answer(msgspec.Struct):
    result: list[dict[str, Any]]


class _Request(msgspec.Struct):
    """What a file may hold: a scoring request, or an answer of Prometheus."""

    data: list[dict[str, Any]] | _Answer
    arguments: dict[str, Any] | None = None


def read_sample(path: Path) -> Sample:
    """Reads a scoring request, a list of series or an answer of Prometheus. Raises UsageError."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]] | _Request)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except msgspec.ValidationError as error:
        msg = (
            f'{path}: expected {{"data": [...]}}, a list of series, or an answer of Prometheus\' query_range:'
            f" {error}"
        )
        raise UsageError(msg) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if isinstance(found, list):
        return Sample(data=found, generic=False)
    data = found.data.result if isinstance(found.data, _Answer) else found.data
    return Sample(data=data, arguments=found.arguments, generic=False)
