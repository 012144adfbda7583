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

from dsf_agent.errors import ScoreError
from dsf_agent.labelset import Labels, LabelSet, LabelSets
from dsf_agent.reasons import Reason
from dsf_runtime.calls import excerpt
from dsf_wire.scoring import ScoringResponse

BATCH: Final = 2000
"""Results between two turns of the event loop: up to five milliseconds of work where all label sets are new.
"""

DROP_INVALID: Final = "invalid"
"""Not an object with ``metric`` (labels to strings) and ``score`` (a number)."""
DROP_NOT_FINITE: Final = "not_finite"
"""NaN, an infinity, or a number beyond the range of a float."""


class _Row(msgspec.Struct, gc=False):
    score: float
    metric: msgspec.Raw = msgspec.Raw(b"{}")


class _Plain(msgspec.Struct, gc=False):
    score: float
    metric: Labels = msgspec.field(default_factory=Labels)


@dataclass(kw_only=True)
class Results:
    """What one answer of ``size`` bytes holds: label sets and raw scores, side by side, in its order.

    ``dropped`` counts by reason; ``first_fault`` explains the first dropped one.
    """

    size: int = 0
    label_sets: list[LabelSet] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    first_fault: str = ""

    @property
    def total(self) -> int:
        return len(self.scores) + self.dropped.total()

    def batches(self) -> Iterator[tuple[list[LabelSet], list[float]]]:
        """The results, BATCH at a time."""
        for start in range(0, len(self.scores), BATCH):
            yield self.label_sets[start : start + BATCH], self.scores[start : start + BATCH]

    def add(self, label_set: LabelSet, score: float, *, where: str) -> None:
        """One result, which is dropped if it is not finite."""
        if math.isfinite(score):
            self.label_sets.append(label_set)
            self.scores.append(score)
        else:
            self.drop(DROP_NOT_FINITE, f"{where}: score is {score}")

    def drop(self, reason: str, fault: str) -> None:
        self.dropped[reason] += 1
        self.first_fault = self.first_fault or excerpt(fault)


_RESPONSE: Final = msgspec.json.Decoder(ScoringResponse)
_PLAIN: Final = msgspec.json.Decoder(_Plain)
_ROWS: Final = msgspec.json.Decoder(list[_Row])


async def read(body: bytearray, *, where: str, label_sets: LabelSets) -> Results:
    """Decodes an answer. Raises ScoreError with INVALID_BODY when it is not an object with a list
    ``results``.
    """
    label_sets.turn()
    try:
        raw = _RESPONSE.decode(body).results
    except msgspec.ValidationError as error:
        msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
        raise ScoreError(msg, reason=Reason.INVALID_BODY) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return await _lenient(body, where=where, label_sets=label_sets)
    read_so_far = Results(size=len(body))
    for start in range(0, len(raw), BATCH):
        _decode(raw[start : start + BATCH], read_so_far, first=start, label_sets=label_sets)
        await asyncio.sleep(0)
    return read_so_far


def _decode(batch: Sequence[msgspec.Raw], into: Results, *, first: int, label_sets: LabelSets) -> None:
    """A batch in one go, which is five times as fast; one by one when something in it is wrong."""
    try:
        rows = _ROWS.decode(b"".join([b"[", b",".join(batch), b"]"]))
        found = label_sets.read([bytes(row.metric) for row in rows])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for index, raw in enumerate(batch, start=first):
            _decode_one(raw, into, index=index, label_sets=label_sets)
        return
    scores = [row.score for row in rows]
    if all(map(math.isfinite, scores)):
        into.label_sets += found
        into.scores += scores
        return
    for index, (label_set, score) in enumerate(zip(found, scores, strict=True), start=first):
        into.add(label_set, score, where=f"result {index}")


def _decode_one(raw: msgspec.Raw, into: Results, *, index: int, label_sets: LabelSets) -> None:
    try:
        row = _PLAIN.decode(raw)
    except msgspec.ValidationError as error:
        # msgspec says "Number out of range" for 1e999; every other fault is one of shape.
        reason = DROP_NOT_FINITE if "out of range" in str(error) else DROP_INVALID
        into.drop(reason, f"result {index}: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        into.drop(DROP_INVALID, f"result {index}: {error}")
    else:
        into.add(_labelled(row, label_sets), row.score, where=f"result {index}")


def _labelled(row: _Plain, label_sets: LabelSets) -> LabelSet:
    return label_sets.of(msgspec.structs.astuple(row.metric))


async def _lenient(body: bytearray, *, where: str, label_sets: LabelSets) -> Results:
    """An answer with NaN or Infinity literals or half surrogate pairs, which are no JSON but what Python
    services write.

    The standard library reads them, result by result, so that only those that hold one are lost.
    """
    read_so_far = Results(size=len(body))
    try:
        text = body.decode("utf-8")
        for index, plain in enumerate(_elements(text)):
            _take(plain, read_so_far, where=f"result {index}", label_sets=label_sets)
            if index % (BATCH // 4) == 0:
                await asyncio.sleep(0)
    except (ValueError, RecursionError) as error:
        msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
        raise ScoreError(msg, reason=Reason.INVALID_BODY) from error
    return read_so_far


def _take(plain: Any, into: Results, *, where: str, label_sets: LabelSets) -> None:  # noqa: ANN401 - whatever JSON holds
    try:
        row = msgspec.convert(plain, _Plain)
    except msgspec.ValidationError as error:
        into.drop(DROP_INVALID, f"{where}: {error}")
        return
    if not all(map(_is_text, msgspec.structs.astuple(row.metric))):
        into.drop(DROP_INVALID, f"{where}: a label holds half a surrogate pair")
        return
    into.add(_labelled(row, label_sets), row.score, where=where)


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
