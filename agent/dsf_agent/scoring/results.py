"""Reads the answer of a scoring API. Invalid results are dropped with a reason, and at most MAX_RESULTS are
kept.

It works in batches, so that other tasks can run in between. A large answer is read in pieces, so that it is
never in memory as objects as a whole.
"""

import asyncio
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dsf_agent.errors import Reason, ScoreError
from dsf_agent.scoring import lenient
from dsf_agent.scoring.labels import LONG_NAME, LabelSet, LabelSets, Row
from dsf_runtime.calls import excerpt
from dsf_wire.scoring import ScoringResponse

BATCH: Final = 2000
"""Results that are read before other tasks may run: up to five milliseconds of work if all label sets are
new.
"""

MAX_RESULTS: Final = LabelSets.most_results
"""Most results of one answer of one cluster that are kept."""
MAX_UNUSUAL: Final = 4 * MAX_RESULTS
"""Most results that are read in a large answer with unusual formatting, which takes ten times as long."""
RESULT_BYTES: Final = 512
"""Approximate memory of one result without its texts."""
MOST_TEXT: Final = 16 << 20
"""Bytes of all texts of the results of one answer. 50,000 pods need 13 MB."""
PIECE: Final = 1 << 16
"""Bytes of a large answer that are decoded at a time."""
WINDOW: Final = 1 << 15
"""How much longer a piece may be, because it ends between two results."""

DROP_INVALID: Final = "invalid"
"""Not an object with ``metric`` (labels to strings) and ``score`` (a number)."""
DROP_NOT_FINITE: Final = "not_finite"
"""NaN, an infinity, or a number beyond the range of a float."""
DROP_EXCESS: Final = "excess"
"""Beyond MAX_RESULTS."""
LAST: Final = chr(sys.maxunicode)


class _Row(msgspec.Struct, gc=False):
    score: float
    metric: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(kw_only=True)
class Results:
    """The results of one answer, in its order: ``scores`` belong to ``label_sets`` at the same index.

    They use about ``size`` bytes. ``dropped`` counts by reason, and ``first_fault`` explains the first
    dropped result.
    """

    size: int = 0
    text: int = field(default=0, compare=False)
    """Bytes of the names of items and of the lines for /metrics, as they are in memory. A text with one wide
    character needs four bytes for each.
    """
    most: int = LabelSets.most_results
    """Most results that are kept."""
    label_sets: list[LabelSet] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    first_fault: str = ""
    _bar: str | None = field(default=None, compare=False)
    """Results of this item and of items whose names come after it are dropped."""

    @property
    def total(self) -> int:
        return len(self.scores) + self.dropped.total()

    def batches(self) -> Iterator[tuple[list[LabelSet], list[float]]]:
        """Yields the results, BATCH at a time."""
        for start in range(0, len(self.scores), BATCH):
            yield self.label_sets[start : start + BATCH], self.scores[start : start + BATCH]

    def add(self, label_set: LabelSet, score: float, *, where: str) -> None:
        """Adds one result, or drops it if the score is not finite."""
        if math.isfinite(score):
            self.extend([label_set], [score])
        else:
            self.drop(DROP_NOT_FINITE, f"{where}: score is {score}")

    def extend(self, label_sets: list[LabelSet], scores: list[float]) -> None:
        """Adds results with finite scores."""
        if self._bar is not None:
            kept = [place for place, one in enumerate(label_sets) if _order(one) < self._bar]
            self._exceed(len(scores) - len(kept))
            label_sets, scores = [label_sets[place] for place in kept], [scores[place] for place in kept]
        self.text += text_bytes(label_sets)
        if self.text > MOST_TEXT:
            msg = f"the labels of the results have more than {MOST_TEXT} bytes together"
            raise ScoreError(msg, reason=Reason.TOO_LARGE)
        self.label_sets += label_sets
        self.scores += scores

    async def cut_if_far_over(self) -> None:
        """Call this now and then while results are added. It limits their memory at a small cost."""
        if len(self.scores) > self.most + self.most // 4:
            await self.cut()

    async def cut(self) -> None:
        """Keeps at most ``most`` results: those of the items whose names come first. So the same items are
        kept from answer to answer, whatever their scores and order. An item keeps all its results or none,
        unless it alone has more.
        """
        most = self.most
        if len(self.scores) <= most:
            return
        names: list[str] = []
        for start in range(0, len(self.scores), BATCH):
            # Each batch is sorted now, so that the final sort only merges sorted runs.
            names += sorted(map(_order, self.label_sets[start : start + BATCH]))
            await asyncio.sleep(0)
        names.sort()
        self._bar = names[most]
        before = len(self.scores)
        if names[0] < self._bar:
            kept = [place for place, one in enumerate(self.label_sets) if _order(one) < self._bar]
        else:
            kept = [place for place, one in enumerate(self.label_sets) if _order(one) == self._bar][:most]
        self.label_sets = [self.label_sets[place] for place in kept]
        self.scores = [self.scores[place] for place in kept]
        self.text = text_bytes(self.label_sets)
        self._exceed(before - len(kept))

    def _exceed(self, count: int) -> None:
        if count:
            self.drop(DROP_EXCESS, f"more than {self.most} results; the first by name of item are kept")
            self.dropped[DROP_EXCESS] += count - 1

    def drop(self, reason: str, fault: str) -> None:
        self.dropped[reason] += 1
        self.first_fault = self.first_fault or excerpt(fault)


def counts_text(dropped: Counter[str]) -> str:
    """For example: ``2 invalid, 1 not_finite``."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(dropped.items()))


def text_bytes(label_sets: Sequence[LabelSet]) -> int:
    """Bytes of the texts of these label sets in memory."""
    items = sum([sys.getsizeof(label_set.item) for label_set in label_sets])
    return items + sum([len(label_set.line) for label_set in label_sets])


def _order(label_set: LabelSet) -> str:
    """The sort key of a result. Results without an item come last, because they are only used on /metrics."""
    return label_set.item if label_set.item not in {"", LONG_NAME} else LAST


_HEAD: Final = re.compile(rb'\s{0,64}\{\s{0,64}"results"\s{0,64}:\s{0,64}\[')
_SEAM: Final = re.compile(rb'\}\s{0,64},\s{0,64}(\{)\s{0,64}"(?:metric|score)"\s{0,64}:')
"""The text between two results in the usual formatting. It cannot occur inside a JSON string, where its
quotes would be escaped. If it separates something else, the piece is not valid JSON.
"""
_RESPONSE: Final = msgspec.json.Decoder(ScoringResponse)
_ROWS: Final = msgspec.json.Decoder(list[_Row])
_RAW: Final = msgspec.json.Decoder(list[msgspec.Raw])


async def read(body: bytearray, *, where: str, label_sets: LabelSets) -> Results:
    """Decodes an answer. Raises ScoreError with INVALID_BODY if it is not an object with a list
    ``results``, and with TOO_LARGE if its labels have too much text.
    """
    with label_sets.answer():
        found = await _read(body, where=where, label_sets=label_sets)
        await found.cut()
    found.size = max(len(body), RESULT_BYTES * len(found.scores) + found.text)
    found.text += label_sets.kept_bytes
    return found


async def _read(body: bytearray, *, where: str, label_sets: LabelSets) -> Results:
    found = None
    if len(body) > PIECE + WINDOW:
        found = await _in_pieces(body, label_sets=label_sets)
        if found is None:
            found = await _lenient(body, where=where, label_sets=label_sets)
    else:
        try:
            raw = _RESPONSE.decode(body).results
        except msgspec.ValidationError as error:
            msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
            raise ScoreError(msg, reason=Reason.INVALID_BODY) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = await _lenient(body, where=where, label_sets=label_sets)
        else:
            found = Results(most=label_sets.most_results)
            await _take_all(raw, found, label_sets=label_sets)
    return found


async def _in_pieces(body: bytearray, *, label_sets: LabelSets) -> Results | None:
    """The results of a large answer in the usual formatting; None if it has another formatting."""
    head = _HEAD.match(body)
    if head is None:
        return None
    found, start = Results(most=label_sets.most_results), head.end()
    try:
        while len(body) - start > PIECE + WINDOW:
            seam = _SEAM.search(body, start + PIECE, start + PIECE + WINDOW)
            if seam is None:
                return None
            piece, start = b"[%b]" % bytes(body[start : seam.start() + 1]), seam.start(1)
            await _take_all(_RAW.decode(piece), found, label_sets=label_sets)
        # The last piece also checks the end of the object.
        last = _RESPONSE.decode(b'{"results":[' + body[start:])
        await _take_all(last.results, found, label_sets=label_sets)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found


async def _take_all(raw: Sequence[msgspec.Raw], into: Results, *, label_sets: LabelSets) -> None:
    for start in range(0, len(raw), BATCH):
        _decode(raw[start : start + BATCH], into, first=into.total, label_sets=label_sets)
        await asyncio.sleep(0)
    await into.cut_if_far_over()


def _decode(batch: Sequence[msgspec.Raw], into: Results, *, first: int, label_sets: LabelSets) -> None:
    """Decodes a batch at once, which is five times as fast. If that fails, it decodes the results one
    by one.
    """
    try:
        rows = _ROWS.decode(b"".join([b"[", b",".join(batch), b"]"]))
        found = label_sets.read([bytes(row.metric) for row in rows])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for index, raw in enumerate(batch, start=first):
            _decode_one(raw, into, index=index, label_sets=label_sets)
        return
    scores = [row.score for row in rows]
    if all(map(math.isfinite, scores)):
        into.extend(found, scores)
        return
    for index, (label_set, score) in enumerate(zip(found, scores, strict=True), start=first):
        into.add(label_set, score, where=f"result {index}")


def _decode_one(raw: msgspec.Raw, into: Results, *, index: int, label_sets: LabelSets) -> None:
    try:
        row = msgspec.json.decode(raw, type=label_sets.row)
    except msgspec.ValidationError as error:
        # msgspec says "Number out of range" for 1e999. Other errors are about types.
        reason = DROP_NOT_FINITE if "out of range" in str(error) else DROP_INVALID
        into.drop(reason, f"result {index}: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        into.drop(DROP_INVALID, f"result {index}: {error}")
    else:
        into.add(_labelled(row, label_sets), row.score, where=f"result {index}")


def _labelled(row: Row, label_sets: LabelSets) -> LabelSet:
    return label_sets.of(msgspec.structs.astuple(row.metric))


async def _lenient(body: bytearray, *, where: str, label_sets: LabelSets) -> Results:
    """Reads the results with the module ``lenient``. Only those that are not valid are dropped."""
    found = Results(most=label_sets.most_results)
    try:
        for index, plain in enumerate(lenient.elements(body)):
            if index >= MAX_UNUSUAL:
                msg = f"{where} answered with more than {MAX_UNUSUAL} results in an unusual formatting"
                raise ScoreError(msg, reason=Reason.TOO_LARGE)
            _take(plain, found, where=f"result {index}", label_sets=label_sets)
            if index % (BATCH // 4) == 0:
                await asyncio.sleep(0)
                await found.cut_if_far_over()
    except (ValueError, RecursionError) as error:
        msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
        raise ScoreError(msg, reason=Reason.INVALID_BODY) from error
    return found


def _take(plain: Any, into: Results, *, where: str, label_sets: LabelSets) -> None:  # noqa: ANN401 - whatever JSON holds
    try:
        row = msgspec.convert(plain, label_sets.row)
    except msgspec.ValidationError as error:
        into.drop(DROP_INVALID, f"{where}: {error}")
        return
    if not all(map(_is_text, msgspec.structs.astuple(row.metric))):
        into.drop(DROP_INVALID, f"{where}: a label contains half a surrogate pair")
        return
    into.add(_labelled(row, label_sets), row.score, where=where)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
