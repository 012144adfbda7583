"""The stage ``score``: sends series to the scoring API and reads its results.

The wire contract is ``POST {scoringEndpoint}``. Guaranteed: single invalid results are dropped with
a reason, and the others count. An answer that is not of this form, or has too many results (see
labels.py), is refused as a whole. Not guaranteed: that an API scores every series; it may leave
some out.
"""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dsf_agent.endpoints.endpoint import Endpoint, refusal
from dsf_agent.endpoints.transport import Body, Call
from dsf_agent.errors import AgentError
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.scoring.labels import LabelSet, LabelSets
from dsf_runtime.calls import display, excerpt
from dsf_wire.jsontext import without_mark
from dsf_wire.scored import Reason
from dsf_wire.scoring import ScoringResponse
from dsf_wire.summary import ScorerSummary

BATCH: Final = 2000
"""Results that are worked on before other tasks may run: up to 5 ms if all label sets are new."""

RESULT_BYTES: Final = 512
"""Approximate memory of one result without its texts."""
MAX_TEXT: Final = 16 << 20
"""Bytes of all texts of the results of one answer. 50,000 pods need 13 MB."""
MAX_OBJECTS: Final = 4
"""Most ``{`` for each result: a limit for the decoded answer."""
MAX_COMMAS: Final = 20
"""Most ``,`` for each result of an unusual answer, which is decoded with its labels."""

DROP_INVALID: Final = "invalid"
"""The reason for a result that is not an object with ``metric`` (labels to strings) and ``score``
(a number).
"""
DROP_NOT_FINITE: Final = "not_finite"
"""NaN, an infinity, or a number beyond the range of a float."""
BEYOND_FLOAT: Final = 10**400
"""A number in place of NaN and infinities, which are no JSON."""


class _ResultRow(msgspec.Struct, gc=False):
    score: float
    metric: msgspec.Raw = msgspec.Raw(b"{}")


class _Rows(msgspec.Struct, gc=False):
    results: list[_ResultRow]


class _AnyResults(msgspec.Struct):
    results: list[Any]


_RESPONSE: Final = msgspec.json.Decoder(ScoringResponse)
_ROWS: Final = msgspec.json.Decoder(_Rows)
_ROW: Final = msgspec.json.Decoder(_ResultRow)


@dataclass(kw_only=True)
class ScoringResults:
    """The results of one answer, in order: ``scores`` belong to ``label_sets``."""

    size: int = 0
    """About how many bytes they use."""
    text: int = field(default=0, compare=False)
    """Bytes of the names of items and of the lines for /metrics, as they are in memory."""
    max_results: int = LabelSets.max_results
    """Most results that there may be."""
    label_sets: list[LabelSet] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    """The dropped results, by reason."""
    first_fault: str = ""
    """The reason why the first dropped result was dropped."""

    @property
    def total(self) -> int:
        """The number of results, dropped ones included."""
        return len(self.scores) + self.dropped.total()

    def add(self, label_set: LabelSet, score: float, *, where: str) -> None:
        """Adds one result, or drops it if the score is not finite."""
        if math.isfinite(score):
            self.extend([label_set], [score])
        else:
            self.drop(DROP_NOT_FINITE, f"{where}: score is {score}")

    def extend(self, label_sets: list[LabelSet], scores: list[float]) -> None:
        """Adds results with finite scores. Raises AgentError if there are too many."""
        self.text += sum([label_set.size for label_set in label_sets])
        if self.text > MAX_TEXT:
            msg = f"the labels of the results have more than {MAX_TEXT} bytes together"
            raise AgentError(msg, reason=Reason.TOO_LARGE)
        self.label_sets += label_sets
        self.scores += scores
        if len(self.scores) > self.max_results:
            raise AgentError(
                f"there are more than {self.max_results} results; use a query or a scorer that"
                " gives fewer",
                reason=Reason.TOO_LARGE,
            )

    def drop(self, reason: str, fault: str) -> None:
        """Counts a result that is not used. ``fault`` says why."""
        self.dropped[reason] += 1
        self.first_fault = self.first_fault or excerpt(fault)


def counts_text(dropped: Counter[str]) -> str:
    """Formats counts, for example ``2 invalid, 1 not_finite``."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(dropped.items()))


async def read(body: bytes, *, where: str, label_sets: LabelSets) -> ScoringResults:
    """Decodes an answer.

    Raises AgentError with INVALID_BODY, or TOO_LARGE for too many or too long ones.
    """
    # Decoding cannot be interrupted, so other tasks run first. What is decoded takes many times the
    # bytes of the text, so its parts are counted before.
    await asyncio.sleep(0)
    _limit(body, b"{", MAX_OBJECTS, where=where, max_results=label_sets.max_results)
    with label_sets.answer():
        results = await _read(body, where=where, label_sets=label_sets)
    results.size = max(len(body), RESULT_BYTES * len(results.scores) + results.text)
    results.text += label_sets.kept_bytes
    return results


def _limit(body: bytes, mark: bytes, times: int, *, where: str, max_results: int) -> None:
    if body.count(mark) > max_results * times:
        raise AgentError(
            f"{where} answered with more than {max_results} results, or with far more labels than"
            " are used",
            reason=Reason.TOO_LARGE,
        )


async def _read(body: bytes, *, where: str, label_sets: LabelSets) -> ScoringResults:
    try:
        return await _together(_ROWS.decode(body).results, label_sets=label_sets)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Something in it is unusual, so each result is read alone, which takes five times as long.
        _limit(body, b",", MAX_COMMAS, where=where, max_results=label_sets.max_results)
        return await _each(_elements(body, where=where), label_sets=label_sets)


async def _together(rows: Sequence[_ResultRow], *, label_sets: LabelSets) -> ScoringResults:
    """Raises msgspec.DecodeError and UnicodeDecodeError for labels that are not texts."""
    results = ScoringResults(max_results=label_sets.max_results)
    for start in range(0, len(rows), BATCH):
        await asyncio.sleep(0)
        batch = rows[start : start + BATCH]
        metrics = [bytes(row.metric) for row in batch]
        results.extend(label_sets.read(metrics), [row.score for row in batch])
    return results


def _elements(body: bytes, *, where: str) -> Iterable[msgspec.Raw]:
    """The results as JSON.

    They are not decoded if the body is JSON; else NaN, Infinity and half surrogate pairs are
    accepted.
    """
    try:
        try:
            return _RESPONSE.decode(body).results
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # Python's json takes what other servers write and JSON does not allow.
            decoded = json.loads(body, parse_constant=lambda _name: BEYOND_FLOAT)
            elements = msgspec.convert(decoded, _AnyResults).results
            return (msgspec.Raw(json.dumps(element).encode()) for element in elements)
    except (ValueError, RecursionError) as error:
        msg = f'{where} did not answer with {{"results": [...]}}: {excerpt(str(error))}'
        raise AgentError(msg, reason=Reason.INVALID_BODY) from error


async def _each(elements: Iterable[msgspec.Raw], *, label_sets: LabelSets) -> ScoringResults:
    results = ScoringResults(max_results=label_sets.max_results)
    for index, element in enumerate(elements):
        take(element, results, decoder=_ROW, where=f"result {index}", label_sets=label_sets)
        if index % (BATCH // 4) == 0:
            await asyncio.sleep(0)
    return results


def take(
    element: msgspec.Raw,
    into: ScoringResults,
    *,
    decoder: "msgspec.json.Decoder[Any]",
    where: str,
    label_sets: LabelSets,
) -> None:
    """Adds a result, or a series whose value is its score, or drops it with a reason."""
    try:
        row = decoder.decode(element)
        score = row.score
        (label_set,) = label_sets.read([bytes(row.metric)])
    except (ValueError, RecursionError) as error:
        # msgspec says "Number out of range" for 1e999. Other errors are about types.
        reason = DROP_NOT_FINITE if "out of range" in str(error) else DROP_INVALID
        into.drop(reason, f"{where}: {error}")
    else:
        into.add(label_set, score, where=where)


ScoreSeries = Callable[[SeriesText], Awaitable[ScoringResults]]
"""The second stage of a cycle: the results for these series, maybe none. Raises AgentError."""


class ScoringStage:
    """The second stage of a cycle, for one scorer with a scoring API."""

    def __init__(self, *, scorer: ScorerSummary, endpoint: Endpoint, label_sets: LabelSets) -> None:
        self._scorer = scorer
        self._endpoint = endpoint
        self._label_sets = label_sets
        self._tail = b"]}"
        if scorer.scoring_arguments is not None:
            self._tail = b'],"arguments":' + msgspec.json.encode(scorer.scoring_arguments) + b"}"

    async def __call__(self, series: SeriesText) -> ScoringResults:
        """The results for these series; there may be none. Raises AgentError."""
        try:
            return await self._called(series)
        except AgentError as error:
            raise error.without_traceback(self._endpoint.hide(str(error))) from error

    async def _called(self, series: SeriesText) -> ScoringResults:
        url = self._scorer.scoring_endpoint
        call = Call(
            url=url,
            headers={"Content-Type": "application/json"},
            body=tuple(self._body(series)),
            scores=True,
        )
        answer = await self._endpoint.call(call)
        if not answer.ok:
            raise refusal(answer, url=url)
        # Some servers begin their JSON with a byte order mark, which RFC 8259 lets readers ignore.
        body = without_mark(answer.body)
        return await read(body, where=display(url), label_sets=self._label_sets)

    def _body(self, series: SeriesText) -> list[Body]:
        """The request in parts, which are never joined: there may be 64 MB of series."""
        body: list[Body] = [b'{"data":[']
        for index, part in enumerate(series.parts):
            if index:
                body.append(b",")
            body.append(part)
        return [*body, self._tail]
