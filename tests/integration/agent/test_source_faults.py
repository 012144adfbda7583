"""Faults of metric sources: each is counted with its reason, exports and publishes nothing, leaves others alone, and heals."""

import gzip
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.support.agent.apis import last_values, matrix, prometheus_error, series
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import Fault, HttpFake, Reply, Seen, head
from tests.support.agent.pace import pace
from tests.support.agent.process import until
from tests.support.agent.running import play, running

BODY = matrix(series(3)).body

FAULTS: dict[str, tuple[Reply | Fault, str]] = {
    "hangs": (Fault(hang=True), "timeout"),
    "hangs-in-body": (Fault(writes=(head(length=len(BODY)), BODY[:50]), hang=True), "timeout"),
    "slow-drip": (Fault(writes=(head(length=len(BODY)), *(BODY[at : at + 1] for at in range(100))), pause=0.05, hang=True), "timeout"),
    "resets": (Fault(), "connection_lost"),
    "resets-in-body": (Fault(writes=(head(length=len(BODY)), BODY[:50])), "connection_lost"),
    "no-http": (Fault(writes=(b"220 mail.example.org ESMTP\r\n\r\n",)), "connection_lost"),
    "unauthorized": (Reply(status=401), "unauthorized"),
    "forbidden": (Reply(status=403), "forbidden"),
    "not-found": (Reply(status=404), "not_found"),
    "throttled": (Reply(status=429, headers={"Retry-After": "1"}), "throttled"),
    "server-error": (Reply(status=500, body=b"<html>oops</html>"), "server_error"),
    "teapot": (Reply(status=418), "http_error"),
    "redirects": (Reply(status=302, headers={"Location": "http://127.0.0.1:1/elsewhere"}), "redirected"),
    "bad-query": (prometheus_error("bad_data", "parse error: unexpected ]"), "query_bad_data"),
    "execution": (prometheus_error("execution", "many-to-many matching", status=422), "query_execution"),
    "overloaded": (prometheus_error("unavailable", "starting", status=503), "query_unavailable"),
    "error-in-200": (prometheus_error("timeout", "query timed out", status=200), "query_timeout"),
    "odd-error": (prometheus_error("moon_phase", "wrong", status=400), "query_error"),
    "not-json": (Reply(body=b"<html>login</html>"), "invalid_body"),
    "empty": (Reply(body=b""), "invalid_body"),
    "cut-json": (Reply(body=BODY[:-5]), "invalid_body"),
    "trailing": (Reply(body=BODY + b"x"), "invalid_body"),
    "not-utf8": (Reply(body=BODY.replace(b'"n1"', b'"\xff\xfe"')), "invalid_body"),
    "wrong-shape": (matrix([1, 2]), "invalid_body"),  # type: ignore[list-item]
    "wrong-type": (Reply.of({"status": "success", "data": {"resultType": "streams", "result": []}}), "invalid_body"),
    "array": (Reply(body=b"[]"), "invalid_body"),
    "deep": (Reply(body=b"[" * 100_000), "invalid_body"),
    "damaged-gzip": (Reply(body=gzip.compress(BODY)[:-20] + b"x" * 20, headers={"Content-Encoding": "gzip"}), "invalid_body"),
    "cut-gzip": (Reply(body=gzip.compress(BODY)[:-12], headers={"Content-Encoding": "gzip"}), "invalid_body"),
    "odd-encoding": (Reply(body=BODY, headers={"Content-Encoding": "br"}), "invalid_body"),
    "announces-too-much": (Reply(body=BODY + b" " * 300_000), "too_large"),
    "bomb": (Reply(body=gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"}), "too_large"),
}


def test_every_fault_of_a_source(tmp_path: Path) -> None:
    """One agent meets all of them at once, beside a scorer in good health; then all sources heal."""

    async def story() -> None:
        healed = False

        def source(seen: Seen) -> Reply | Fault:
            name = seen.path.split("/")[1]
            if healed or name not in FAULTS:
                return Reply(body=BODY)
            return FAULTS[name][0]

        volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
        async with HttpFake(source) as prometheus, HttpFake(last_values) as scoring:
            names = [*FAULTS, "well", "refused"]
            entries = [entry(name, scoring=scoring.url, source=f"{prometheus.url}/{name}", scoringInterval=1) for name in names]
            entries[-1] |= {"sourceEndpoint": "http://127.0.0.1:1/api/v1/query_range"}
            volume.put(*entries)
            flags = [
                "--config-dir",
                volume.directory,
                "--publish",
                f"dir:{out}",
                "--request-timeout",
                "2",
                "--max-answer-bytes",
                "200000",
            ]
            async with running(*flags, "--max-calls-per-origin", "64") as agent:
                expected = {f"{name}-score": {reason} for name, (_, reason) in FAULTS.items()} | {"refused-score": {"unreachable"}}
                await until(lambda: _ready(agent.agent.detail()[1], expected), what="every fault was met", seconds=20)
                assert await agent.failures() == expected
                assert await agent.exposed() == {"well-score"}
                assert [path.name for path in out.iterdir()] == ["well-score.yaml"]
                async with pace() as measured:
                    calls = len(_calls(prometheus, "/well/"))
                    await until(lambda: len(_calls(prometheus, "/well/")) >= calls + 4, what="the healthy one goes on")
                    measured.check(_calls(prometheus, "/well/")[calls + 1 :], interval=1, least=2)
                healed = True
                await until(lambda: len(list(out.iterdir())) == len(FAULTS) + 1, what="all healed", seconds=40)
                assert yaml.safe_load((out / "hangs-score.yaml").read_text())["status"]["scores"][0] == {"name": "n0", "value": 2}
                assert not agent.task.done()

    play(story())


def _ready(detail: dict[str, list[dict[str, str]]], expected: dict[str, set[str]]) -> bool:
    return {scorer["scoreName"] for scorer in detail["scorers"] if scorer["reason"]} >= expected.keys()


def _calls(fake: HttpFake, prefix: str) -> list[Seen]:
    return [seen for seen in fake.seen if seen.path.startswith(prefix)]


def test_the_reason_of_a_bad_query_is_told(tmp_path: Path) -> None:
    """/readyz shows Prometheus' own words, and no query text or credentials of the URL."""

    async def story() -> None:
        answer = prometheus_error("bad_data", 'invalid parameter "query": 1:4: parse error')
        volume = ConfigMapVolume(tmp_path / "config")
        async with HttpFake(_always(answer)) as source:
            secret = source.url.replace("http://", "http://user:hunter2@")
            volume.put(entry("cpu", scoring=source.url, source=secret))
            async with running("--config-dir", volume.directory, "--publish", f"dir:{tmp_path / 'out'}") as agent:
                await until(lambda: agent.scorer()["reason"], what="it failed")
                text = (await agent.get("/readyz")).text
                assert 'bad_data: invalid parameter \\"query\\": 1:4: parse error' in text
                assert "hunter2" not in text

    play(story())


def _always(reply: Reply) -> Callable[[Seen], Reply]:
    return lambda _seen: reply
