"""Headers, passwords and client certificates of metric sources: sent to the source alone, replaced while the
agent runs, and never shown.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.apis import matrix, prometheus, prometheus_error, scores, series
from tests.support.agent.certificates import Authority
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.running import RunningAgent, running
from tests.support.waiting import until

BASIC = {"name": "login", "usernameKey": "username", "passwordKey": "password"}
PAIR = {"name": "pair", "certificateKey": "tls.crt", "privateKeyKey": "tls.key"}
ORG = {"name": "X-Scope-OrgID", "value": "platform"}
API_KEY = {"name": "X-Api-Key", "secretRef": {"name": "api", "key": "k"}}


def secret(**values: str) -> dict[str, str]:
    return {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def flags(volume: ConfigMapVolume, out: Path, api_server: HttpFake, root: Path) -> list[str | Path]:
    config = kubeconfig(root / "spoke", server=api_server.url)
    return ["--config-dir", volume.directory, "--publish", f"dir:{out}", "--spoke-kubeconfig", config]


class Gate:
    """A metric source that wants these headers."""

    def __init__(self, **wanted: str) -> None:
        self.wanted = wanted
        self.inner = prometheus(series(1))

    def __call__(self, seen: Seen) -> Reply:
        if any(seen.headers.get(name.lower()) != value for name, value in self.wanted.items()):
            return Reply(status=401, body=b"who are you?")
        return self.inner(seen)


async def test_headers_and_password_go_to_the_source_alone_and_are_replaced_after_a_401(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The Secrets are read by name. After a 401 they are read again, and the cycle succeeds."""
    caplog.set_level(logging.DEBUG)
    spoke = HubFake()
    spoke.secrets["dynamic-scoring", "login"] = secret(username="scorer", password="first-s3cret\n")
    spoke.secrets["dynamic-scoring", "api"] = secret(k="key-s3cret-1\n")
    gate = Gate(authorization=basic("scorer", "first-s3cret"))
    gate.wanted |= {"x-scope-orgid": "platform", "x-api-key": "key-s3cret-1"}
    volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    async with HttpFake(spoke) as api_server, HttpFake(scores(5.0)) as scoring, HttpFake(gate) as source:
        more: dict[str, Any] = {"sourceBasicAuth": BASIC, "sourceHeaders": [ORG, API_KEY]}
        volume.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=1, **more))
        async with running(*flags(volume, out, api_server, tmp_path), "--log-level", "debug") as agent:
            await until((out / "cpu-score.yaml").exists, what="published")
            spoke.secrets["dynamic-scoring", "login"] = secret(username="other", password="second-s3cret")
            spoke.secrets["dynamic-scoring", "api"] = secret(k="key-s3cret-2")
            gate.wanted |= {"authorization": basic("other", "second-s3cret"), "x-api-key": "key-s3cret-2"}
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="more cycles")
            assert await agent.failures() == {}
            gate.wanted["x-api-key"] = "nobody has this"
            await until(lambda: agent.scorer()["reason"] == "unauthorized", what="a key that nobody has")
            everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
    names = {"authorization", "x-scope-orgid", "x-api-key"}
    assert all(names.isdisjoint(seen.headers) for seen in scoring.seen)
    assert "s3cret" not in everything
    assert base64.b64encode(b"scorer:first-s3cret").decode()[:8] not in everything


async def test_secrets_that_a_source_quotes_are_hidden(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def quoting(seen: Seen) -> Reply:
        encoded = seen.headers["authorization"].removeprefix("Basic ")
        password, key = base64.b64decode(encoded).decode().partition(":")[2], seen.headers["x-api-key"]
        match seen.path.split("/")[1]:
            case "page":
                return Reply(status=400, body=f"you sent {encoded} with {key}".encode())
            case "elsewhere":
                return Reply(status=302, headers={"Location": f"/login/{encoded}/{password}/{key}"})
            case "error":
                return prometheus_error("bad_data", f"what is {password} and {key}?")
            case _:
                return matrix(series(1), warnings=[f"{password} is old, and {key} too"])

    caplog.set_level(logging.DEBUG, logger="dsf_agent")
    spoke, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
    spoke.secrets["dynamic-scoring", "login"] = secret(username="u", password="s3cret-0123456789")
    spoke.secrets["dynamic-scoring", "api"] = secret(k="s3cret-key-0123456789")
    encoded = base64.b64encode(b"u:s3cret-0123456789").decode()
    names = ("page", "elsewhere", "error", "warned")
    async with HttpFake(spoke) as api_server, HttpFake(quoting) as peer, HttpFake(scores(5.0)) as scoring:
        more: dict[str, Any] = {"sourceBasicAuth": BASIC, "sourceHeaders": [API_KEY], "sourceRef": "platform"}
        volume.put(*(entry(name, scoring=scoring.url, source=f"{peer.url}/{name}", **more) for name in names))
        async with running(*flags(volume, tmp_path / "out", api_server, tmp_path)) as agent:
            await until(
                lambda: (
                    sum(bool(one["reason"]) for one in agent.agent.detail()[1]["scorers"]) == 3
                    and scoring.seen
                ),
                what="all were called",
            )
            messages = [one["message"] for one in agent.agent.detail()[1]["scorers"] if one["reason"]]
            everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
    assert all(message.startswith("MetricSource platform: ") for message in messages)
    assert "s3cret" not in everything
    assert encoded[:8] not in everything


async def test_a_redirect_sends_no_credentials_to_another_host(tmp_path: Path) -> None:
    spoke, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
    spoke.secrets["dynamic-scoring", "login"] = secret(username="u", password="p")
    spoke.secrets["dynamic-scoring", "api"] = secret(k="k")
    async with HttpFake(spoke) as api_server, HttpFake(prometheus(series(1))) as elsewhere:
        away = Reply(status=308, headers={"Location": f"{elsewhere.url}/api/v1/query_range"})
        async with HttpFake(lambda _seen: away) as source, HttpFake(scores(5.0)) as scoring:
            more: dict[str, Any] = {"sourceBasicAuth": BASIC, "sourceHeaders": [API_KEY]}
            volume.put(entry("cpu", scoring=scoring.url, source=source.url, **more))
            async with running(*flags(volume, tmp_path / "out", api_server, tmp_path)) as agent:
                await until(lambda: agent.scorer()["reason"] == "redirected", what="refused")
        assert source.seen
        assert elsewhere.seen == []


async def test_a_client_certificate_is_shown_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The server asks for a certificate of one authority, then of another. The Secret is read again in the
    cycle in which the old certificate is refused.
    """
    caplog.set_level(logging.DEBUG)
    spoke, servers, first, second = HubFake(), Authority("servers"), Authority("first"), Authority("second")
    spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": servers.pem}

    def pair(authority: Authority, name: str) -> dict[str, str]:
        crt, key = authority.pair(tmp_path / name, name=name)
        return secret(**{"tls.crt": crt.read_text(), "tls.key": key.read_text()})

    spoke.secrets["dynamic-scoring", "pair"] = pair(first, "one")
    volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    tls = servers.server(tmp_path / "server-1", client_authority=first)
    source = HttpFake(prometheus(series(1)), tls=tls)
    await source.start()
    async with HttpFake(spoke) as api_server, HttpFake(scores(5.0)) as scoring:
        trusted = {"sourceAuth": {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}}
        with_pair = entry(
            "cpu",
            scoring=scoring.url,
            source=source.url,
            scoringInterval=1,
            sourceClientCertificate=PAIR,
            **trusted,
        )
        volume.put(with_pair)
        async with running(*flags(volume, out, api_server, tmp_path)) as agent:
            await until((out / "cpu-score.yaml").exists, what="published")
            assert {common_name(seen) for seen in source.seen} == {"one"}
            await source.stop()
            spoke.secrets["dynamic-scoring", "pair"] = pair(second, "two")
            source.use_tls(servers.server(tmp_path / "server-2", client_authority=second))
            await source.start()
            await until(lambda: common_name(source.seen[-1]) == "two", what="the new certificate")
            volume.put(with_pair)
            spoke.secrets["dynamic-scoring", "pair"] = secret(**{"tls.crt": "no", "tls.key": "s3cret-key"})
            volume.put({**with_pair, "sourceClientCertificate": {**PAIR, "privateKeyKey": "other"}})
            await until(lambda: agent.scorer()["reason"] == "token_unavailable", what="no key, no call")
            everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
    await source.stop()
    await ends_of_connections()
    assert "PRIVATE KEY" not in everything
    assert "s3cret" not in everything


async def ends_of_connections() -> None:
    """Virtual time, longer than asyncio waits for the other side to end TLS. Until then the server has its
    sockets.
    """
    await asyncio.sleep(60)


def common_name(seen: Seen) -> str:
    subject = dict(pair[0] for pair in (seen.peer_certificate or {})["subject"])
    return str(subject["commonName"])


async def test_an_entry_with_a_header_that_cannot_be_sent_is_a_problem_of_its_own(tmp_path: Path) -> None:
    spoke, volume, out = HubFake(), ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    async with (
        HttpFake(spoke) as api_server,
        HttpFake(prometheus(series(1))) as source,
        HttpFake(scores(5.0)) as scoring,
    ):
        host = {"name": "Host", "value": "elsewhere"}
        volume.put(
            entry("bad", scoring=scoring.url, source=source.url, sourceHeaders=[host]),
            entry("good", scoring=scoring.url, source=source.url, sourceHeaders=[ORG]),
        )
        async with running(*flags(volume, out, api_server, tmp_path)) as agent:
            await until((out / "good-score.yaml").exists, what="published")
            problems = (await agent.get("/readyz")).text
    assert "the agent sets the header Host itself" in problems
    assert {seen.headers["x-scope-orgid"] for seen in source.seen} == {"platform"}


async def test_without_its_certificate_a_source_is_not_asked(tmp_path: Path) -> None:
    spoke, authority = HubFake(), Authority()
    spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": authority.pem}
    volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    tls = authority.server(tmp_path / "server", client_authority=Authority("another"))
    async with (
        HttpFake(spoke) as api_server,
        HttpFake(scores(5.0)) as scoring,
        HttpFake(prometheus(series(1)), tls=tls) as source,
    ):
        trusted = {"sourceAuth": {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}}
        volume.put(entry("cpu", scoring=scoring.url, source=source.url, **trusted))
        print("SOURCE", source.port)
        async with running(*flags(volume, out, api_server, tmp_path)) as agent:
            await until(lambda: agent.scorer()["reason"] in {"tls", "connection_lost"}, what="refused")
    await ends_of_connections()
    assert source.seen == []
    assert scoring.seen == []


async def test_a_metric_names_the_source_that_a_scorer_names_now(tmp_path: Path) -> None:
    spoke, volume = HubFake(), ConfigMapVolume(tmp_path / "config")
    async with (
        HttpFake(spoke) as api_server,
        HttpFake(prometheus(series(1))) as source,
        HttpFake(scores(5.0)) as scoring,
    ):
        plain = entry("cpu", scoring=scoring.url, source=source.url)

        def shown(name: str) -> str:
            return f'gitops_dsf_agent_source_info{{score_name="cpu-score",source="{name}"}}'

        volume.put({**plain, "sourceRef": "old"})
        async with running(*flags(volume, tmp_path / "out", api_server, tmp_path)) as agent:
            await until(agent_shows(agent, shown("old")), what="the first source")
            volume.put({**plain, "sourceRef": "new"})
            await until(agent_shows(agent, shown("new")), what="the second source")
            assert shown("old") not in await agent.samples()
            volume.put(plain)
            await until(agent_shows(agent, shown("new"), absent=True), what="no source")


def agent_shows(agent: RunningAgent, sample: str, *, absent: bool = False) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return (sample in await agent.samples()) is not absent

    return look
