"""Checks the scoring endpoint: normal series, unusual series, invalid requests and missing tokens."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import msgspec

from dsf_scorer.conformance.data import Sample, many, series
from dsf_scorer.conformance.exchange import SLOW_SECONDS, Client, Reply, trouble
from dsf_scorer.conformance.report import ERROR, NOTICE, OK, WARNING, Finding
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.dimension import LABELS
from dsf_wire.scoring import ScoringResponse, ScoringResult

DENIED: Final = (401, 403)
SHOWN: Final = 3
"""How many invalid results are described."""

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
class Row:
    """A request, and what has to come back: scores or an empty list; a 4xx for a mistake or for GET; a 401
    for strangers.
    """

    name: str
    what: str
    body: bytes
    expected: Literal["scores", "refusal", "no GET", "denial"] = "scores"
    token: str | None = None
    """In place of the token of the endpoint."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The URL and the token for scoring requests."""

    client: Client
    url: str
    token: str = ""

    def send(self, body: bytes, *, method: str = "POST", token: str | None = None) -> Reply:
        headers = {"Content-Type": "application/json"}
        if token := self.token if token is None else token:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.send(method, self.url, headers=headers, body=body)


def check(endpoint: Endpoint, sample: Sample, *, large: int, reads_metrics: bool = True) -> Iterator[Finding]:
    """Runs all checks of the endpoint. ``large`` is the number of series in the largest request; 0 skips it.

    An API that reads no metrics may answer any body with its scores.
    """
    reply = endpoint.send(sample.body())
    if reply.status in DENIED:
        hint = "the token is not accepted" if endpoint.token else "it asks for a token: pass --token-file"
        yield Finding("scoring.sample", ERROR, f"answers {reply.status}{reply.excerpt}", hint)
        return
    yield from _sample(reply, sample)
    if reply.fault:
        return
    mistaken = []
    for row in _rows(sample, guarded=bool(endpoint.token), large=large):
        method = "GET" if row.expected == "no GET" else "POST"
        answer = endpoint.send(row.body, method=method, token=row.token)
        found = _judged(row, answer, works=reply.status == 200)
        if row.expected == "refusal" and found.severity is WARNING and not reads_metrics:
            mistaken.append(found)
        else:
            yield found
    if mistaken:
        message = f"answers {len(mistaken)} of {len(MISTAKES)} malformed bodies"
        yield Finding("scoring.any-body", NOTICE, f"{message}: with source.type None it needs no input")


def _rows(sample: Sample, *, guarded: bool, large: int) -> Iterator[Row]:
    for name, what, data in _odd(sample):
        yield Row(name=f"scoring.{name}", what=what, body=sample.body(data))
    if sample.arguments is None:
        body = replace(sample, arguments={}).body()
        yield Row(name="scoring.arguments", what="empty arguments", body=body)
    for name, body in MISTAKES:
        yield Row(name=f"scoring.{name}", what=name.replace("-", " "), body=body, expected="refusal")
    yield Row(name="scoring.get", what="GET", body=b"", expected="no GET")
    if guarded:
        for name, what, token in (
            ("no-token", "no token", ""),
            ("wrong-token", "a wrong token", "not-the-token"),
        ):
            yield Row(name=f"scoring.{name}", what=what, body=sample.body(), expected="denial", token=token)
    if large and sample.data:
        yield Row(name="scoring.large", what=f"{large} series of 60 points", body=sample.body(many(large)))


def _odd(sample: Sample) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Unusual series that Prometheus can return."""
    base = sample.data[0] if sample.data else series({"node": "node-1"}, ["1", "2"])
    metric = base.get("metric")
    labels = metric if isinstance(metric, dict) else {}
    unknown = {**base, "metric": {**labels, "a_new_label": "größer; 中"}}
    doubles = ["1.7976931348623157e+308", "-1.7976931348623157e+308", "5e-324"]
    fractional = {"metric": labels, "values": [[1700000000.123, "1"], [1700000060.123, "2"]]}
    return [
        ("empty-data", "no series at all", []),
        ("no-samples", "a series without samples", [series(labels, [])]),
        ("unknown-labels", "labels that it does not know", [unknown]),
        ("no-labels", "a series without labels", [{**base, "metric": {}}]),
        ("one-sample", "a single sample", [series(labels, ["1"])]),
        ("equal-values", "a constant series", [series(labels, ["5"] * 60)]),
        ("nan", "NaN samples", [series(labels, ["NaN", "1", "NaN"])]),
        ("only-nan", "nothing but NaN", [series(labels, ["NaN", "NaN"])]),
        ("infinite", "infinite samples", [series(labels, ["+Inf", "-Inf", "1"])]),
        ("huge", "the largest and smallest doubles", [series(labels, doubles)]),
        ("fractional-time", "fractional timestamps", [fractional]),
    ]


def _judged(row: Row, reply: Reply, *, works: bool) -> Finding:
    """What a row finds. An API that ``works`` gave scores for the sample."""
    if (wrong := trouble(row.name, reply)) is not None:
        hints = {
            "refusal": "a client's mistake is a 4xx; a 5xx sends people to the wrong log",
            "denial": "answer 401",
        }
        return replace(
            wrong, message=f"{row.what}: {wrong.message}", hint=hints.get(row.expected, wrong.hint)
        )
    severity, message, hint = OK, f"{row.what}: answers {reply.status}", ""
    match row.expected:
        case "scores" if reply.status == 200:
            answer = Answer.of(reply)
            message = f"{row.what}: {answer.fault or f'{len(answer.scores)} scores'}"
            severity = ERROR if answer.faults else OK
        case "scores" if reply.status == 413:
            severity, message = WARNING, message + reply.excerpt
            hint = "raise the limit of the scoring API or of the proxy before it"
        case "scores" if works:
            severity, message = WARNING, message + reply.excerpt
            hint = (
                "agents count that as a failed run, and no series of the cluster is scored; leave out what"
                " cannot be scored"
            )
        case "refusal" if works and reply.status < 300:
            severity, message = WARNING, f"{message} as if all were well"
            hint = "answer 400 or 422 with the reason"
        case "no GET" if reply.status < 300:
            severity, hint = WARNING, "scores are asked for with POST; answer 405"
        case "denial" if reply.status not in DENIED:
            severity, hint = ERROR, "a token is expected, so answer 401 to everybody else"
    return Finding(row.name, severity, message, hint)


def _sample(reply: Reply, sample: Sample) -> Iterator[Finding]:
    if (wrong := trouble("scoring.sample", reply)) is not None:
        yield wrong
        return
    if reply.status != 200:
        hint = "give series and arguments that the scorer understands: --data FILE" if sample.generic else ""
        message = f"answers {reply.status} to sample series{reply.excerpt}"
        yield Finding("scoring.sample", ERROR, message, hint)
        return
    answer = Answer.of(reply)
    if answer.faults:
        yield Finding("scoring.sample", ERROR, answer.fault)
        return
    took = f"in {reply.seconds * 1000:.0f} ms"
    message = f"{len(answer.scores)} scores for {len(sample.data)} series {took}"
    yield Finding("scoring.sample", OK, message)
    if reply.media != "application/json":
        message = f"the content type is {reply.media or 'absent'}"
        yield Finding("scoring.content-type", WARNING, message, "send application/json")
    if not answer.scores:
        real = "give real series and arguments with --data FILE"
        hint = real if sample.generic else "the agent publishes nothing then"
        yield Finding("scoring.results", WARNING, "no score came back", hint)
    if outside := sum(not SCORE_MIN <= score <= SCORE_MAX for score in answer.scores):
        hint = "give the DynamicScorer a scoreRange; without one they are clamped"
        yield Finding("scoring.range", WARNING, f"{outside} scores are outside -100..100", hint)
    if duplicates := sum(count - 1 for count in answer.labels.values()):
        hint = (
            "results are told apart by node, device, namespace, app, pod, container and meta only; choose a"
            " scoreAggregation"
        )
        message = f"{duplicates} results share their labels with another one"
        yield Finding("scoring.duplicates", WARNING, message, hint)
    if reply.seconds > SLOW_SECONDS:
        hint = "agents give up after 30 s, and every cluster calls"
        yield Finding("scoring.slow", WARNING, f"took {reply.seconds:.1f} s", hint)


@dataclass(kw_only=True)
class Answer:
    """The valid scores of a response, and what is wrong with the others, read result by result as the agent
    does.
    """

    scores: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    labels: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How many results have these labels, as far as an agent reads them."""

    @property
    def fault(self) -> str:
        more = f" and {len(self.faults) - SHOWN} more" if len(self.faults) > SHOWN else ""
        return "; ".join(self.faults[:SHOWN]) + more

    @classmethod
    def of(cls, reply: Reply) -> "Answer":
        """Reads a response. Never raises: what cannot be read becomes a fault."""
        answer = cls()
        try:
            raw = msgspec.json.decode(reply.body, type=ScoringResponse).results
        except msgspec.ValidationError as error:
            return cls(faults=[f'{error}; expected {{"results": [{{"metric": {{...}}, "score": 1.5}}]}}'])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            strange = b"NaN" in reply.body or b"Infinity" in reply.body
            hint = "; NaN and Infinity are not JSON: leave such results out" if strange else ""
            return cls(faults=[f"not JSON: {error}{hint}"])
        for index, item in enumerate(raw):
            try:
                result = msgspec.json.decode(item, type=ScoringResult)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                answer.faults.append(f"results[{index}]: {error}")
                continue
            if not math.isfinite(result.score):
                answer.faults.append(f"results[{index}]: the score is {result.score}")
                continue
            answer.scores.append(result.score)
            answer.labels[tuple(result.metric.get(label, "") for label in LABELS)] += 1
        return answer
