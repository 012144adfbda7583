"""Checks the scoring endpoint: usual and unusual series, invalid requests, missing tokens.

The first request has a sample: made-up series, or those of a file. If it is not answered with
scores, the other checks are left out, because they would all have the same finding.

Guaranteed: every request is one that an agent could send, or one that a person may send by mistake.
Invalid results are an error, and so is an endpoint that does not refuse a request without its
token. A refusal of unusual series, or a wrong status for a malformed body, is a warning.

Not guaranteed: that made-up series suit the scorer. It may give no scores for labels that it does
not know, so a file with real series checks more.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dsf_scorer.conformance.exchange import (
    ERROR,
    NOTICE,
    OK,
    WARNING,
    Client,
    Finding,
    ReceivedReply,
    byte_order_mark,
    trouble,
)
from dsf_scorer.errors import UsageError
from dsf_scorer.testing import series
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.dimension import LABELS
from dsf_wire.jsontext import without_mark
from dsf_wire.scoring import ScoringResponse, ScoringResult

POINTS: Final = 60
DENIED: Final = (401, 403)
MAX_SHOWN: Final = 3
"""The number of invalid results that are described."""
SLOW_SECONDS: Final = 5.0
MISTAKES: Final = (
    ("truncated-json", b'{"data": ['),
    ("not-json", b"data=1"),
    ("not-an-object", b"[]"),
    ("no-data", b"{}"),
    ("wrong-type", b'{"data": "series"}'),
    ("not-a-number", b'{"data": [{"metric": {}, "values": [[1700000000, "many"]]}]}'),
    ("invalid-utf8", b'{"data": [{"metric": {"node": "\xff"}, "values": []}]}'),
    ("empty-body", b""),
)
"""Bodies that no agent sends, but a person with curl may."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Series as of Prometheus, and arguments. ``generic``: made up, so a scorer may ignore them."""

    data: list[dict[str, Any]] = field(default_factory=list)
    arguments: dict[str, Any] | None = None
    generic: bool = True

    def body(self, data: list[dict[str, Any]] | None = None) -> bytes:
        """A scoring request with these series, or with other series and the same arguments."""
        if data is None:
            data = self.data
        request: dict[str, Any] = {"data": data}
        if self.arguments is not None:
            request["arguments"] = self.arguments
        return msgspec.json.encode(request)


def nodes(count: int) -> list[dict[str, Any]]:
    """A series with a slow curve for each of `count` nodes. 10,000 series have 17 MB."""
    curve = series([round(0.2 + 0.001 * point, 3) for point in range(POINTS)])
    made_up: list[dict[str, Any]] = []
    for number in range(count):
        # Labels that scorers often read. What each needs is not known here.
        labels = {"node": f"node-{number}", "namespace": "default", "pod": f"pod-{number}"}
        made_up.append(curve | {"metric": labels})
    return made_up


class _MatrixData(msgspec.Struct):
    result: list[dict[str, Any]] | None


class _Request(msgspec.Struct):
    """The content of a file: a scoring request, or an answer of Prometheus."""

    data: list[dict[str, Any]] | _MatrixData
    arguments: dict[str, Any] | None = None


def read_sample(path: Path) -> Sample:
    """Reads a scoring request, a list of series or an answer of Prometheus. Raises UsageError."""
    try:
        content = without_mark(path.read_bytes())
        decoded = msgspec.json.decode(content, type=list[dict[str, Any]] | _Request)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except msgspec.ValidationError as error:
        raise UsageError(
            f'{path}: expected {{"data": [...]}}, a list of series, or an answer of Prometheus\''
            f" query_range: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if isinstance(decoded, list):
        return Sample(data=decoded, generic=False)
    if isinstance(decoded.data, _MatrixData):
        data = decoded.data.result or []
    else:
        data = decoded.data
    return Sample(data=data, arguments=decoded.arguments, generic=False)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A request, and what must come back.

    This is scores (maybe none), a 4xx for a mistake, or a 401 for strangers.
    """

    name: str
    what: str
    body: bytes
    expected: Literal["scores", "refusal", "denial"] = "scores"
    method: str = "POST"
    token: str | None = None
    """The token in place of that of the endpoint."""
    hint: str = ""
    """The hint if the answer is not the expected one."""


@dataclass(frozen=True, kw_only=True)
class ScoringEndpoint:
    """The URL and the token for scoring requests."""

    client: Client
    url: str
    token: str = ""

    def send(self, row: Row) -> ReceivedReply:
        """Sends the request of a row."""
        headers = {"Content-Type": "application/json"}
        token = self.token
        if row.token is not None:
            token = row.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.send(row.method, self.url, headers=headers, body=row.body)


def check(
    endpoint: ScoringEndpoint, sample: Sample, *, large: int, reads_metrics: bool = True
) -> Iterator[Finding]:
    """Runs all checks, or the first if it fails.

    ``large``: series of the largest request, 0 for none.
    """
    row = Row(name="scoring.sample", what="sample series", body=sample.body())
    reply = endpoint.send(row)
    yield from _sample(reply, sample, token=endpoint.token)
    # A mistake with usual series would be the finding of every other row, too.
    if reply.status != 200:
        return
    mistaken = 0
    # A scorer without a query may answer any body in the same way. That is one notice, and not a
    # warning for each malformed body.
    for row in _rows(sample, guarded=bool(endpoint.token), large=large):
        finding = _judged(row, endpoint.send(row))
        malformed = (row.method, row.expected) == ("POST", "refusal")
        if malformed and finding.severity is WARNING and not reads_metrics:
            mistaken += 1
        else:
            yield finding
    if mistaken:
        yield Finding(
            "scoring.any-body",
            NOTICE,
            f"answers {mistaken} of {len(MISTAKES)} malformed bodies: with source.type None it"
            " needs no input",
        )


def _rows(sample: Sample, *, guarded: bool, large: int) -> Iterator[Row]:
    for name, subject, data in _odd(sample):
        yield Row(
            name=f"scoring.{name}",
            what=subject,
            body=sample.body(data),
            hint="agents count that as a failed run, and no series of the cluster is scored; leave"
            " out what cannot be scored",
        )
    if sample.arguments is None:
        body = replace(sample, arguments={}).body()
        yield Row(name="scoring.arguments", what="empty arguments", body=body)
    for name, body in MISTAKES:
        yield Row(
            name=f"scoring.{name}",
            what=name.replace("-", " "),
            body=body,
            expected="refusal",
            hint="answer 400 or 422 with the reason",
        )
    yield Row(
        name="scoring.get",
        what="GET",
        body=b"",
        expected="refusal",
        method="GET",
        hint="scores are asked for with POST; answer 405",
    )
    if guarded:
        for name, token in (("no-token", ""), ("wrong-token", "not-the-token")):
            yield Row(
                name=f"scoring.{name}",
                what=name.replace("-", " "),
                body=sample.body(),
                expected="denial",
                token=token,
                hint="a token is expected, so answer 401 to everybody else",
            )
    if large and sample.data:
        yield Row(
            name="scoring.large",
            what=f"{large} series",
            body=sample.body(nodes(large)),
            hint="raise the limit of the scoring API or of the proxy before it",
        )


def _odd(sample: Sample) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Unusual series that Prometheus can return."""
    base = series([1, 2], node="node-1")
    if sample.data:
        base = sample.data[0]
    labels = base.get("metric")
    unknown: dict[str, Any] = {}
    if isinstance(labels, dict):
        unknown |= labels
    unknown["a_new_label"] = "größer; 中"

    def of(*values: float) -> list[dict[str, Any]]:
        return [{**series(values), "metric": labels}]

    largest = sys.float_info.max
    fractional = {"metric": labels, "values": [[1700000000.123, "1"], [1700000060.123, "2"]]}
    return [
        ("empty-data", "no series at all", []),
        ("no-samples", "a series without samples", of()),
        ("unknown-labels", "labels that it does not know", [{**base, "metric": unknown}]),
        ("no-labels", "a series without labels", [{**base, "metric": {}}]),
        ("one-sample", "a single sample", of(1)),
        ("equal-values", "a constant series", of(*[5] * 60)),
        ("nan", "NaN samples", of(math.nan, 1, math.nan)),
        ("only-nan", "nothing but NaN", of(math.nan, math.nan)),
        ("infinite", "infinite samples", of(math.inf, -math.inf, 1)),
        ("huge", "the largest and smallest doubles", of(largest, -largest, 5e-324)),
        ("fractional-time", "fractional timestamps", [fractional]),
    ]


def _judged(row: Row, reply: ReceivedReply) -> Finding:
    """The finding of a row about an API that gave scores for the sample."""
    wrong = trouble(row.name, reply)
    if wrong is not None:
        hint = wrong.hint
        if row.expected == "refusal":
            hint = "a client's mistake is a 4xx; a 5xx sends people to the wrong log"
        return msgspec.structs.replace(wrong, message=f"{row.what}: {wrong.message}", hint=hint)
    if row.expected == "scores" and reply.status == 200:
        results, faults = _results(reply.body)
        if faults:
            return Finding(row.name, ERROR, f"{row.what}: {_first(faults)}")
        return Finding(row.name, OK, f"{row.what}: {len(results)} scores")
    right = {"scores": (), "refusal": range(400, 500), "denial": DENIED}[row.expected]
    message = f"{row.what}: answers {reply.status}{reply.excerpt}"
    if reply.status in right:
        return Finding(row.name, OK, message)
    # An endpoint that scores for strangers is open. Another wrong status only misleads people.
    if row.expected == "denial":
        return Finding(row.name, ERROR, message, row.hint)
    return Finding(row.name, WARNING, message, row.hint)


def _refused_sample(reply: ReceivedReply, sample: Sample, *, token: str) -> Finding:
    if reply.status in DENIED and token:
        hint = "the token is not accepted"
    elif reply.status in DENIED:
        hint = "it asks for a token: pass --token-file"
    elif sample.generic:
        hint = "give series and arguments that the scorer understands: --data FILE"
    else:
        hint = ""
    return Finding("scoring.sample", ERROR, f"answers {reply.status}{reply.excerpt}", hint)


def _sample(reply: ReceivedReply, sample: Sample, *, token: str) -> Iterator[Finding]:
    wrong = trouble("scoring.sample", reply)
    if wrong is not None:
        yield wrong
        return
    if reply.status != 200:
        yield _refused_sample(reply, sample, token=token)
        return
    results, faults = _results(reply.body)
    if faults:
        yield Finding("scoring.sample", ERROR, _first(faults))
        return
    yield Finding(
        "scoring.sample",
        OK,
        f"{len(results)} scores for {len(sample.data)} series in {reply.seconds * 1000:.0f} ms",
    )
    if reply.has_mark:
        yield byte_order_mark("scoring.byte-order-mark")
    outside = 0
    distinct: set[tuple[str, ...]] = set()
    for result in results:
        outside += not SCORE_MIN <= result.score <= SCORE_MAX
        # An absent label and an empty one are the same for Prometheus, and for agents.
        distinct.add(tuple(result.metric.get(label, "") for label in LABELS))
    if reply.media != "application/json":
        yield Finding(
            "scoring.content-type",
            WARNING,
            f"the content type is {reply.media}",
            "send application/json",
        )
    if not results:
        hint = "the agent publishes nothing then"
        if sample.generic:
            hint = "give real series and arguments with --data FILE"
        yield Finding("scoring.results", WARNING, "no score came back", hint)
    if outside:
        hint = "give the DynamicScorer a scoreRange; without one they are clamped"
        yield Finding("scoring.range", WARNING, f"{outside} scores are outside -100..100", hint)
    if len(distinct) < len(results):
        hint = f"results are told apart by {', '.join(LABELS)} only; choose a scoreAggregation"
        message = f"{len(results) - len(distinct)} results share their labels with another one"
        yield Finding("scoring.duplicates", WARNING, message, hint)
    if reply.seconds > SLOW_SECONDS:
        hint = "agents give up after 30 s, and every cluster calls"
        yield Finding("scoring.slow", WARNING, f"took {reply.seconds:.1f} s", hint)


def _results(body: bytes) -> tuple[list[ScoringResult], list[str]]:
    """The valid results of a response, and the faults of others, read as the agent does."""
    results: list[ScoringResult] = []
    faults: list[str] = []
    try:
        raw = msgspec.json.decode(without_mark(body), type=ScoringResponse).results
    except msgspec.ValidationError as error:
        return [], [f'{error}; expected {{"results": [{{"metric": {{...}}, "score": 1.5}}]}}']
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Python's json module writes both unless it is configured otherwise.
        if b"NaN" in body or b"Infinity" in body:
            return [], [f"not JSON: {error}; NaN and Infinity are not JSON: leave such results out"]
        return [], [f"not JSON: {error}"]
    for index, encoded in enumerate(raw):
        try:
            results.append(msgspec.json.decode(encoded, type=ScoringResult))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            faults.append(f"results[{index}]: {error}")
    return results, faults


def _first(faults: list[str]) -> str:
    described = "; ".join(faults[:MAX_SHOWN])
    if len(faults) <= MAX_SHOWN:
        return described
    return f"{described} and {len(faults) - MAX_SHOWN} more"
