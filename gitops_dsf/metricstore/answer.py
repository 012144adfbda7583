"""Answers of `/api/v1/query_range`: https://prometheus.io/docs/prometheus/latest/querying/api/."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from dsf_wire import prometheus
from dsf_wire.prometheus import DECODE_ERRORS
from dsf_wire.text import printable
from gitops_dsf.backtest.publication import Series
from gitops_dsf.errors import GitopsDsfError


class StoreError(GitopsDsfError):
    """The store gave no usable answer."""


class TooMuchError(StoreError):
    """The store gives no answer of this size: a smaller question may succeed."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A matrix, and what the store warned of."""

    series: tuple[Series, ...]
    warnings: tuple[str, ...]
    lost: str = ""
    """What the store said of missing data; empty if it said nothing."""

    @property
    def span(self) -> tuple[float, float] | None:
        """The times of the first and the last sample; None if there is none."""
        times = [item.times for item in self.series if len(item.times)]
        return (min(each[0] for each in times), max(each[-1] for each in times)) if times else None

    @property
    def samples(self) -> int:
        """The number of samples of all series."""
        return sum(len(item.times) for item in self.series)


class _Row(msgspec.Struct):
    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"[]")
    histograms: msgspec.Raw = msgspec.Raw(b"")


_ROWS: Final = msgspec.json.Decoder(list[_Row])
_NUMBERS: Final = msgspec.json.Decoder(list[float])
MOST_WORDS: Final = 400
"""Characters of a store's text in a message."""
_TOO_MUCH: Final = ("too many", "too large", "exceed", "maximum", "limit", "timed out", "deadline")
"""What stores say of a question that is too large, beside much else. A question that is refused for another
reason is asked in smaller parts in vain, which costs three requests.
"""


def refused(kind: str, text: str, *, where: str) -> StoreError:
    """The error for an error answer of this API: TooMuchError if a smaller question may succeed."""
    words = _words(f"{kind}: {text}" if text else kind)
    return (TooMuchError if is_too_much(text) else StoreError)(f"{where} failed: {words}")


def _words(text: str) -> str:
    return printable(" ".join(text[: 4 * MOST_WORDS].split()), most=MOST_WORDS)


def is_too_much(text: str) -> bool:
    """Whether a store says that a question is too large."""
    return any(word in text.lower() for word in _TOO_MUCH)


def read(content: bytes, *, where: str) -> Answer:
    """Decodes an answer. Raises StoreError, or TooMuchError if a smaller question may succeed."""
    try:
        document = prometheus.decode(content)
        if document.failure is not None:
            raise refused(*document.failure, where=where)
        data = document.data
        if document.status != "success" or data is None:
            raise StoreError(f"{where} failed: status {printable(repr(document.status), most=40)}")
        if data.result_type != "matrix":
            kind = printable(data.result_type, most=40) or "result without a type"
            raise StoreError(f"{where} gave a {kind}, where a matrix is expected")
        rows = [] if data.is_null else _ROWS.decode(data.result)
    except DECODE_ERRORS as error:
        msg = (
            f"{where} did not answer as Prometheus' /api/v1/query_range does: {_words(str(error))}"
        )
        raise StoreError(msg) from error
    warnings, lost = tuple(map(_words, document.notes)), _words(document.lost)
    return Answer(series=tuple(_series(rows, where=where)), warnings=warnings, lost=lost)


def _series(rows: list[_Row], *, where: str) -> Iterator[Series]:
    """Series with the same times share them: a store answers a range query at the same times for all. Of
    several samples of one time, which a proxy before two replicas may give, the last one counts.
    """
    known: list[float] = []
    times, last = np.empty(0, dtype=np.float64), None
    for row in rows:
        if row.histograms:
            raise StoreError(f"{where} gave native histograms, which are no scores: {row.metric}")
        numbers = _numbers(bytes(row.values), where=where)
        # Comparing is three times as fast as making an array and checking it.
        if len(numbers) % 2 or numbers[0::2] != known:
            known = numbers[0::2]
            times = np.array(known, dtype=np.float64)
            steps = np.diff(times)
            if len(numbers) % 2 or not np.isfinite(times).all() or not (steps >= 0).all():
                raise StoreError(
                    f"{where} gave samples that are no pairs of time and value in order of time"
                )
            last = None if (steps > 0).all() else np.append(steps > 0, True)
            times = times if last is None else times[last]
        values = np.fromiter(numbers[1::2], np.float64, len(known))
        yield Series(
            labels=row.metric, times=times, values=values if last is None else values[last]
        )


def _numbers(text: bytes, *, where: str) -> list[float]:
    """The pairs `[time,"value"]` of a series as one flat list."""
    flat = text.translate(None, b'[]" \n')
    with contextlib.suppress(msgspec.DecodeError):  # JSON does not know NaN and Inf
        # Four times as fast as numpy, and ten times as fast as decoding each pair.
        return _NUMBERS.decode(b"[%b]" % flat)
    try:
        return [float(each) for each in flat.split(b",")]
    except ValueError as error:
        raise StoreError(f"{where} gave samples that are no pairs of time and value") from error


MOST_BYTES: Final = 512 << 20
"""Of all files together, unpacked."""


def read_path(path: Path) -> tuple[Answer, ...]:
    """Reads a file, or the files `*.json` and `*.json.gz` of a folder. Raises StoreError."""
    files = sorted([*path.glob("*.json"), *path.glob("*.json.gz")]) if path.is_dir() else [path]
    if not files:
        raise StoreError(
            f"{path} has no file *.json or *.json.gz; save answers of /api/v1/query_range there"
        )
    _refuse_beyond(MOST_BYTES, sum(file.stat().st_size for file in files if file.is_file()), path)
    room = MOST_BYTES
    found = []
    for file in files:
        content = _content(file, most=room)
        room -= len(content)
        found.append(read(content, where=str(file)))
    return tuple(found)


def _content(file: Path, *, most: int) -> bytes:
    if not file.is_file():
        raise StoreError(
            f"{file} is not a file; write a file or folder with answers of /api/v1/query_range"
        )
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            content: bytes = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"cannot read {file}: {error}") from error
    _refuse_beyond(most, len(content), file)
    return content


def _refuse_beyond(most: int, size: int, path: Path) -> None:
    if size > most:
        limit = f"{MOST_BYTES >> 20} MiB"
        msg = f"{path}: the history has more than {limit}; ask the store with --prometheus instead"
        raise StoreError(msg)
