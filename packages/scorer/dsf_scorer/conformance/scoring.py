"""Checks the scoring endpoint: normal series, unusual series, invalid requests and missing tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dsf_scorer.conformance import scores
from dsf_scorer.conformance.data import Sample, many, series
from dsf_scorer.conformance.exchange import Client, Reply
from dsf_scorer.conformance.finding import Finding, Severity, error, notice, ok, warning
from dsf_scorer.conformance.pages import SLOW_SECONDS, excerpt, trouble

JSON: Final = {"Content-Type": "application/json"}
DENIED: Final = (401, 403)

MISTAKES: Final = (
    ("scoring.truncated-json", b'{"data": [', JSON),
    ("scoring.not-json", b"data=1", JSON),
    ("scoring.not-an-object", b"[]", JSON),
    ("scoring.no-data", b"{}", JSON),
    ("scoring.wrong-type", b'{"data": "series"}', JSON),
    ("scoring.not-a-number", b'{"data": [{"metric": {}, "values": [[1700000000, "many"]]}]}', JSON),
    ("scoring.invalid-utf8", b'{"data": [{"metric": {"node": "\xff"}, "values": []}]}', JSON),
    ("scoring.empty-body", b"", JSON),
)
"""Bodies that no agent sends, but a person with curl may."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The URL, token and options for scoring requests."""

    client: Client
    url: str
    token: str = ""

    def post(self, body: bytes, *, headers: dict[str, str] | None = None, token: str | None = None) -> Reply:
        sent = dict(JSON if headers is None else headers)
        token = self.token if token is None else token
        if token:
            sent["Authorization"] = f"Bearer {token}"
        return self.client.send("POST", self.url, headers=sent, body=body)


def check(endpoint: Endpoint, sample: Sample, *, large: int, reads_metrics: bool = True) -> Iterator[Finding]:
    """Runs all checks of the endpoint. ``large`` is the number of series in the largest request; 0 skips it.

    An API that reads no metrics may answer any body with its scores.
    """
    reply = endpoint.post(sample.body())
    if reply.status in DENIED:
        hint = "the token is not accepted" if endpoint.token else "it asks for a token: pass --token-file"
        yield error("scoring.sample", f"answers {reply.status}{excerpt(reply)}", hint)
        return
    works = reply.status == 200
    yield from _sample(reply, sample)
    if reply.fault:
        return
    yield from _odd(endpoint, sample, works=works)
    found = [
        _mistake(name, endpoint.post(body, headers=headers), works=works) for name, body, headers in MISTAKES
    ]
    yield from found if reads_metrics else _any_body_will_do(found)
    yield _get(endpoint)
    if endpoint.token:
        yield from _strangers(endpoint, sample)
    if large and sample.data:
        yield _judged(
            "scoring.large",
            endpoint.post(sample.body(many(large))),
            f"{large} series of 60 points",
            works=works,
        )


def _sample(reply: Reply, sample: Sample) -> Iterator[Finding]:
    wrong = trouble("scoring.sample", reply)
    if wrong is not None:
        yield wrong
        return
    if reply.status != 200:
        hint = "give series and arguments that the scorer understands: --data FILE" if sample.generic else ""
        yield error("scoring.sample", f"answers {reply.status} to sample series{excerpt(reply)}", hint)
        return
    answer = scores.read(reply)
    if answer.faults:
        yield error("scoring.sample", answer.fault)
        return
    yield ok(
        "scoring.sample",
        f"{len(answer.scores)} scores for {len(sample.data)} series in {reply.seconds * 1000:.0f} ms",
    )
    if reply.media != "application/json":
        yield warning(
            "scoring.content-type", f"the content type is {reply.media or 'absent'}", "send application/json"
        )
    if not answer.scores:
        hint = (
            "give real series and arguments with --data FILE"
            if sample.generic
            else "the agent publishes nothing then"
        )
        yield warning("scoring.results", "no score came back", hint)
    if answer.outside:
        hint = "give the DynamicScorer a scoreRange; without one they are clamped"
        yield warning("scoring.range", f"{answer.outside} scores are outside -100..100", hint)
    if answer.duplicates:
        hint = (
            "results are told apart by node, device, namespace, app, pod, container and meta only; choose a"
            " scoreAggregation"
        )
        yield warning(
            "scoring.duplicates", f"{answer.duplicates} results share their labels with another one", hint
        )
    if reply.seconds > SLOW_SECONDS:
        yield warning(
            "scoring.slow",
            f"took {reply.seconds:.1f} s",
            "agents give up after 30 s, and every cluster calls",
        )


def _odd(endpoint: Endpoint, sample: Sample, *, works: bool) -> Iterator[Finding]:
    """Unusual series that Prometheus can return."""
    base = sample.data[0] if sample.data else series({"node": "node-1"}, ["1", "2"])
    metric = base.get("metric")
    labels = metric if isinstance(metric, dict) else {}
    odd = [
        ("scoring.empty-data", "no series at all", []),
        ("scoring.no-samples", "a series without samples", [series(labels, [])]),
        (
            "scoring.unknown-labels",
            "labels that it does not know",
            [{**base, "metric": {**labels, "a_new_label": "größer; 中"}}],
        ),
        ("scoring.no-labels", "a series without labels", [{**base, "metric": {}}]),
        ("scoring.one-sample", "a single sample", [series(labels, ["1"])]),
        ("scoring.equal-values", "a constant series", [series(labels, ["5"] * 60)]),
        ("scoring.nan", "NaN samples", [series(labels, ["NaN", "1", "NaN"])]),
        ("scoring.only-nan", "nothing but NaN", [series(labels, ["NaN", "NaN"])]),
        ("scoring.infinite", "infinite samples", [series(labels, ["+Inf", "-Inf", "1"])]),
        (
            "scoring.huge",
            "the largest and smallest doubles",
            [series(labels, ["1.7976931348623157e+308", "-1.7976931348623157e+308", "5e-324"])],
        ),
        (
            "scoring.fractional-time",
            "fractional timestamps",
            [{"metric": labels, "values": [[1700000000.123, "1"], [1700000060.123, "2"]]}],
        ),
    ]
    for name, what, data in odd:
        yield _judged(name, endpoint.post(sample.body(data)), what, works=works)
    if sample.arguments is None:
        empty = Sample(data=sample.data, arguments={})
        yield _judged("scoring.arguments", endpoint.post(empty.body()), "empty arguments", works=works)


def _judged(name: str, reply: Reply, what: str, *, works: bool) -> Finding:
    """Scores or an empty list are right. Refusing the request costs every score of the cluster, and a server
    error blames the wrong side.
    """
    wrong = trouble(name, reply)
    if wrong is not None:
        return error(name, f"{what}: {wrong.message}", wrong.hint)
    if reply.status == 200:
        answer = scores.read(reply)
        return (
            error(name, f"{what}: {answer.fault}")
            if answer.faults
            else ok(name, f"{what}: {len(answer.scores)} scores")
        )
    if reply.status == 413:
        return warning(
            name,
            f"{what}: answers 413{excerpt(reply)}",
            "raise the limit of the scoring API or of the proxy before it",
        )
    if works:
        hint = (
            "agents count that as a failed run, and no series of the cluster is scored; leave out what cannot"
            " be scored"
        )
        return warning(name, f"{what}: answers {reply.status}{excerpt(reply)}", hint)
    return ok(name, f"{what}: answers {reply.status}")


def _mistake(name: str, reply: Reply, *, works: bool) -> Finding:
    what = name.partition(".")[2].replace("-", " ")
    wrong = trouble(name, reply)
    if wrong is not None:
        return error(
            name,
            f"{what}: {wrong.message}",
            "a client's mistake is a 4xx; a 5xx sends people to the wrong log",
        )
    if works and reply.status < 300:
        return warning(
            name, f"{what}: answers {reply.status} as if all were well", "answer 400 or 422 with the reason"
        )
    return ok(name, f"{what}: answers {reply.status}")


def _any_body_will_do(found: list[Finding]) -> Iterator[Finding]:
    """One finding for all malformed bodies that were answered with scores, instead of one warning each."""
    accepted = [item for item in found if item.severity is Severity.WARNING]
    yield from (item for item in found if item.severity is not Severity.WARNING)
    if accepted:
        yield notice(
            "scoring.any-body",
            f"answers {len(accepted)} of {len(found)} malformed bodies: with source.type None it needs no"
            " input",
        )


def _get(endpoint: Endpoint) -> Finding:
    headers = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token else {}
    reply = endpoint.client.send("GET", endpoint.url, headers=headers)
    wrong = trouble("scoring.get", reply)
    if wrong is not None:
        return error("scoring.get", f"GET: {wrong.message}", wrong.hint)
    if reply.status < 300:
        return warning(
            "scoring.get", f"GET answers {reply.status}", "scores are asked for with POST; answer 405"
        )
    return ok("scoring.get", f"GET answers {reply.status}")


def _strangers(endpoint: Endpoint, sample: Sample) -> Iterator[Finding]:
    for name, what, token in (
        ("scoring.no-token", "no token", ""),
        ("scoring.wrong-token", "a wrong token", "not-the-token"),
    ):
        reply = endpoint.post(sample.body(), token=token)
        wrong = trouble(name, reply)
        if wrong is not None:
            yield error(name, f"{what}: {wrong.message}", "answer 401")
        elif reply.status in DENIED:
            yield ok(name, f"{what}: answers {reply.status}")
        else:
            yield error(
                name,
                f"{what}: answers {reply.status}",
                "a token is expected, so answer 401 to everybody else",
            )
