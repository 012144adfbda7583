"""Faults of metric sources.

Each is counted, publishes nothing, affects no other scorer, and ends.
"""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.support.agent.faults import survives
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    SentReply,
    Stream,
    chunk,
    head,
    last_values,
    matrix,
    prometheus,
    prometheus_error,
    series,
)
from tests.support.agent.running import AgentFolder, entry
from tests.support.waiting import until

BODY = matrix(series(3)).body

FAULTS: dict[str, tuple[SentReply | PeerFault, str]] = {
    "hangs": (PeerFault(hang=True), "timeout"),
    "hangs-in-body": (PeerFault(writes=(head(length=len(BODY)), BODY[:50]), hang=True), "timeout"),
    "drips": (
        PeerFault(writes=(head(length=1000), *([b" "] * 100)), pause=5.0, hang=True),
        "timeout",
    ),
    "resets-in-body": (PeerFault(writes=(head(length=len(BODY)), BODY[:50])), "connection_lost"),
    "no-http": (PeerFault(writes=(b"220 mail.example.org ESMTP\r\n\r\n",)), "connection_lost"),
    "unauthorized": (SentReply(status=401), "unauthorized"),
    "forbidden": (SentReply(status=403), "forbidden"),
    "not-found": (SentReply(status=404), "not_found"),
    "throttled": (SentReply(status=429, headers={"Retry-After": "1"}), "throttled"),
    "server-error": (SentReply(status=500, body=b"<html>oops</html>"), "server_error"),
    "teapot": (SentReply(status=418), "http_error"),
    "redirects": (
        SentReply(status=302, headers={"Location": "http://127.0.0.1:1/elsewhere"}),
        "redirected",
    ),
    "bad-query": (prometheus_error("bad_data", "parse error: unexpected ]"), "query_bad_data"),
    "execution": (
        prometheus_error("execution", "many-to-many matching", status=422),
        "query_execution",
    ),
    "overloaded": (prometheus_error("unavailable", "starting", status=503), "query_unavailable"),
    "internal-error": (
        prometheus_error("internal", "compaction failed", status=500),
        "query_internal",
    ),
    "error-in-200": (prometheus_error("timeout", "query timed out", status=200), "query_timeout"),
    "odd-error": (prometheus_error("moon_phase", "wrong", status=400), "query_error"),
    "not-json": (SentReply(body=b"<html>login</html>"), "invalid_body"),
    "empty": (SentReply(body=b""), "invalid_body"),
    "wrong-shape": (matrix([1, 2]), "invalid_body"),  # type: ignore[list-item]
    "wrong-type": (
        SentReply.of({"status": "success", "data": {"resultType": "streams", "result": []}}),
        "invalid_body",
    ),
    "deep": (SentReply(body=b"[" * 100_000), "invalid_body"),
    "compressed-unasked": (
        SentReply(body=gzip.compress(BODY), headers={"Content-Encoding": "gzip"}),
        "invalid_body",
    ),
    "odd-encoding": (SentReply(body=BODY, headers={"Content-Encoding": "br"}), "invalid_body"),
    "announces-too-much": (SentReply(body=BODY + b" " * 300_000), "too_large"),
    "bomb": (
        SentReply(body=gzip.compress(b" " * 5_000_000), headers={"Content-Encoding": "gzip"}),
        "invalid_body",
    ),
}


async def test_every_fault_of_a_source(tmp_path: Path) -> None:
    await survives(tmp_path, side="source", faults=FAULTS)


def _series(*nodes: str, value: str = "7") -> list[dict[str, Any]]:
    return [
        {"metric": {"node": node}, "values": [[1_700_000_000, "1"], [1_700_000_030, value]]}
        for node in nodes
    ]


def _raw(result: list[dict[str, Any]]) -> SentReply:
    """The matrix with every character as it is, as Prometheus writes it."""
    plain = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return SentReply(body=json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())


FOREIGN = ("nœud-ü-節點-🚀", '"quoted" \\ and\nbroken', "\u2028\u200e")


MARK = b"\xef\xbb\xbf"
"""A byte order mark, which some servers and proxies write before JSON."""


def _dripped(body: bytes) -> Stream:
    """Each of the first bytes is a chunk of its own."""

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(5):
            yield chunk(body[number : number + 1])
            for _ in range(40):
                await asyncio.sleep(0)
        yield chunk(body[5:])
        yield chunk(b"")

    return Stream(pieces=pieces())


def _odd() -> dict[str, tuple[SentReply | Stream, list[dict[str, Any]], dict[str, int], int]]:
    """By name: the answer, series that the scoring API must get, what is published, samples on
    /metrics.
    """
    # Above a megabyte: checked in pieces, with characters of several bytes at their seams.
    large = series(6000, points=9, node="節點", pod="p")
    return {
        "named-identity": (
            SentReply(body=BODY, headers={"Content-Encoding": "Identity"}),
            series(3),
            {"n0": 2, "n1": 3, "n2": 4},
            3,
        ),
        "large": (_raw(large), large, {"節點": 6007}, 1),
        "marked": (SentReply(body=MARK + BODY), series(3), {"n0": 2, "n1": 3, "n2": 4}, 3),
        "large-marked": (SentReply(body=MARK + _raw(large).body), large, {"節點": 6007}, 1),
        "dripped-mark": (_dripped(MARK + BODY), series(3), {"n0": 2, "n1": 3, "n2": 4}, 3),
        "foreign": (_raw(_series(*FOREIGN)), _series(*FOREIGN), dict.fromkeys(FOREIGN, 7), 3),
        "not-finite": (
            matrix(_series("a", value="NaN") + _series("b", value="+Inf") + _series("c")),
            _series("a", value="NaN") + _series("b", value="+Inf") + _series("c"),
            {"c": 7},
            1,
        ),
    }


async def test_unusual_valid_answers(place: AgentFolder) -> None:
    odd = _odd()
    async with (
        HttpFake(lambda seen: odd[seen.path.split("/")[1]][0]) as source,
        HttpFake(last_values) as scoring,
    ):
        place.put(
            *(
                entry(name, scoring=f"{scoring.url}/{name}", source=f"{source.url}/{name}")
                for name in odd
            )
        )
        async with place.agent() as agent:
            await until(
                lambda: len(list(place.out.glob("*.yaml"))) == len(odd), what="all are published"
            )
            assert await agent.failures() == {}
            posted = {seen.path.split("/")[1]: seen.json() for seen in scoring.seen}
            samples = await agent.samples()
            for name, (_, given, items, count) in odd.items():
                assert posted[name] == {"data": given}, name
                assert place.items(name) == {
                    node: min(value, 100) for node, value in items.items()
                }, name
                exposed = [
                    line
                    for line in samples
                    if line.startswith("dynamic_score{") and f'"{name}-score"' in line
                ]
                assert len(exposed) == count, name


async def test_an_invalid_address(place: AgentFolder) -> None:
    """It looks like a URL and is not valid. Source and scoring API have their own reason for it."""
    host = "☃.com"
    async with HttpFake(prometheus(series(1))) as source:
        place.put(
            entry("source", scoring="http://127.0.0.1:1", source=f"http://{host}"),
            entry("scoring", scoring=f"http://{host}", source=source.url),
        )
        async with place.agent() as agent:
            await until(
                lambda: (
                    {one["reason"] for one in agent.agent.ready().detail["scorers"]} == {"bad_url"}
                ),
                what="both fail",
            )
            assert await agent.stages() == {"fetch", "score"}
            assert host in agent.scorer()["message"]
