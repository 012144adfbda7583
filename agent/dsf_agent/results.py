"""The scoring API's answer, result by result: a bad one is dropped with its reason, the good ones count.

Works in batches that give the event loop its turn; see BATCH.
"""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dsf_agent.errors import ScoreError, excerpt
from dsf_agent.reasons import Reason
from dsf_wire.scoring import ScoringResponse

BATCH: Final = 1000
"""Results between two turns of the event loop: one to three milliseconds of work."""

DROP_INVALID: Final = "invalid"
"""Not an object with ``metric`` (labels to strings) and ``score`` (a number)."""
DROP_NOT_FINITE: Final = "not_finite"
"""NaN, an infinity, or a number beyond the range of a float."""


Result = tuple[tuple[str, ...], float]
"""Labels in the order of dsf_wire.dimension.LABELS, absent ones empty, and the raw score. A plain tuple: there are tens of thousands."""


class Labels(msgspec.Struct, gc=False):
    """The labels that anything reads, in the order of dsf_wire.dimension.LABELS; others are skipped without being decoded."""

    node: str = ""
    device: str = ""
    namespace: str = ""
    app: str = ""
    pod: str = ""
    container: str = ""
    meta: str = ""


class _Row(msgspec.Struct, gc=False):
    score: float
    metric: Labels = msgspec.field(default_factory=Labels)


@dataclass(kw_only=True)
class Results:
    """What one answer of ``size`` bytes holds. ``dropped`` counts by reason; ``first_fault`` explains the first dropped one."""

    size: int = 0
    results: list[Result] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    first_fault: str = ""

    @property
    def total(self) -> int:
        return len(self.results) + self.dropped.total()

    def drop(self, reason: str, fault: str) -> None:
        self.dropped[reason] += 1
        self.first_fault = self.first_fault or excerpt(fault)


_RESPONSE: Final = msgspec.json.Decoder(ScoringResponse)
_ROW: Final = msgspec.json.Decoder(_Row)
_ROWS: Final = msgspec.json.Decoder(list[_Row])


async def read(body: bytearray, *, where: str) -> Results:
    """Decodes an answer. Raises ScoreError with INVALID_BODY when it is not an object with a list ``results``."""
    try:
        raw = _RESPONSE.decode(body).results
    except msgspec.ValidationError as error:
        msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
        raise ScoreError(msg, reason=Reason.INVALID_BODY) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return await _lenient(body, where=where)
    read_so_far = Results(size=len(body))
    for start in range(0, len(raw), BATCH):
        _decode(raw[start : start + BATCH], read_so_far, first=start)
        await asyncio.sleep(0)
    return read_so_far


def _decode(batch: Sequence[msgspec.Raw], into: Results, *, first: int) -> None:
    """A batch in one go, which is five times as fast; one by one when something in it is wrong."""
    try:
        rows = _ROWS.decode(b"".join([b"[", b",".join(batch), b"]"]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for index, raw in enumerate(batch, start=first):
            _decode_one(raw, into, index=index)
        return
    astuple, finite = msgspec.structs.astuple, math.isfinite
    found = [(astuple(row.metric), row.score) for row in rows if finite(row.score)]
    if len(found) < len(rows):
        into.dropped[DROP_NOT_FINITE] += len(rows) - len(found)
        into.first_fault = into.first_fault or "a score is not finite"
    into.results += found


def _decode_one(raw: msgspec.Raw, into: Results, *, index: int) -> None:
    try:
        row = _ROW.decode(raw)
    except msgspec.ValidationError as error:
        # msgspec says "Number out of range" for 1e999; every other fault is one of shape.
        reason = DROP_NOT_FINITE if "out of range" in str(error) else DROP_INVALID
        into.drop(reason, f"result {index}: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        into.drop(DROP_INVALID, f"result {index}: {error}")
    else:
        _keep(row, into, where=f"result {index}")


def _keep(row: _Row, into: Results, *, where: str) -> None:
    if math.isfinite(row.score):
        into.results.append((msgspec.structs.astuple(row.metric), row.score))
    else:
        into.drop(DROP_NOT_FINITE, f"{where}: score is {row.score}")


async def _lenient(body: bytearray, *, where: str) -> Results:
    """An answer with NaN or Infinity literals or half surrogate pairs, which are no JSON but what Python services write.

    The standard library reads them, result by result, so that only those that hold one are lost.
    """
    read_so_far = Results(size=len(body))
    try:
        text = body.decode("utf-8")
        for index, plain in enumerate(_elements(text)):
            _take(plain, read_so_far, where=f"result {index}")
            if index % (BATCH // 4) == 0:
                await asyncio.sleep(0)
    except (ValueError, RecursionError) as error:
        msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
        raise ScoreError(msg, reason=Reason.INVALID_BODY) from error
    return read_so_far


def _take(plain: Any, into: Results, *, where: str) -> None:  # noqa: ANN401 - whatever JSON holds
    try:
        row = msgspec.convert(plain, _Row)
    except msgspec.ValidationError as error:
        into.drop(DROP_INVALID, f"{where}: {error}")
        return
    if not all(map(_is_text, msgspec.structs.astuple(row.metric))):
        into.drop(DROP_INVALID, f"{where}: a label holds half a surrogate pair")
        return
    _keep(row, into, where=where)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_SPACE: Final = " \t\n\r"


def _elements(text: str) -> Iterator[Any]:
    """The elements of ``results`` in the object that the text is. Raises ValueError."""
    decoder = json.JSONDecoder()
    found = False
    at = _expect(text, _skip(text, 0), "{")
    while text[at : at + 1] != "}":
        key, at = decoder.raw_decode(text, at)
        at = _skip(text, _expect(text, _skip(text, at), ":"))
        if key == "results":
            found = True
            at = _skip(text, _expect(text, at, "["))
            while text[at : at + 1] != "]":
                element, at = decoder.raw_decode(text, at)
                yield element
                at = _separator(text, at, "]")
            at += 1
        else:
            _, at = decoder.raw_decode(text, at)
        at = _separator(text, at, "}")
    if not found:
        msg = "there is no list named results"
        raise ValueError(msg)
    if _skip(text, at + 1) != len(text):
        msg = "something follows the object"
        raise ValueError(msg)


def _separator(text: str, at: int, closing: str) -> int:
    """Past a comma, or at the closing bracket."""
    at = _skip(text, at)
    if text[at : at + 1] == closing:
        return at
    return _skip(text, _expect(text, at, ","))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _expect(text: str, at: int, char: str) -> int:
    if text[at : at + 1] != char:
        msg = f"expected {char!r} at character {at}"
        raise ValueError(msg)
    return _skip(text, at + 1)
