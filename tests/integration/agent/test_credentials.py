"""Tokens and CAs of sources and scoring APIs are read by name, used, replaced while the agent runs, and
never shown.
"""

import base64
import logging
from pathlib import Path

import pytest

from tests.support.agent.apis import matrix, prometheus, prometheus_error, scores, series
from tests.support.agent.certificates import Authority
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.running import RunningAgent, running
from tests.support.waiting import until


def _secret(token: str) -> dict[str, str]:
    return {"token": base64.b64encode(token.encode()).decode()}


class Guard:
    """Asks for one of the accepted tokens before it answers."""

    def __init__(self) -> None:
        self.accepted: set[str] = set()
        self.inner = scores(5.0)

    def __call__(self, seen: Seen) -> Reply:
        if seen.headers.get("authorization", "").removeprefix("Bearer ") not in self.accepted:
            return Reply(status=401, body=b"who are you?")
        return self.inner(seen)


async def test_a_replaced_token_is_used_after_one_401_within_the_same_cycle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The Secret is read by its name in the agent's namespace. After a 401 it is read again, and the
    cycle succeeds.
    """
    caplog.set_level(logging.DEBUG)
    spoke, guard = HubFake(), Guard()
    spoke.secrets["dynamic-scoring", "scoring-token"] = _secret("first-s3cret\n")
    guard.accepted = {"first-s3cret"}
    volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    async with (
        HttpFake(spoke) as api_server,
        HttpFake(guard) as scoring,
        HttpFake(prometheus(series(1))) as source,
    ):
        auth = {"scoringEndpointAuthName": "scoring-token", "scoringEndpointAuthKey": "token"}
        volume.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=1, **auth))
        config = kubeconfig(tmp_path / "spoke", server=api_server.url)
        flags = [
            "--config-dir",
            volume.directory,
            "--publish",
            f"dir:{out}",
            "--spoke-kubeconfig",
            config,
            "--log-level",
            "debug",
        ]
        async with running(*flags) as agent:
            await until(lambda: out.exists() and list(out.glob("*.yaml")), what="published")
            assert all("authorization" not in seen.headers for seen in source.seen), (
                "the token goes to the scoring API alone"
            )
            guard.accepted = {"second-s3cret"}
            spoke.secrets["dynamic-scoring", "scoring-token"] = _secret("second-s3cret")
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 3, what="more cycles")
            assert await agent.failures() == {}
            assert {seen.path for seen in api_server.seen} == {
                "/api/v1/namespaces/dynamic-scoring/secrets/scoring-token"
            }
            assert len(api_server.seen) == 2, "kept in between"
            guard.accepted = set()
            await until(lambda: agent.scorer()["reason"] == "unauthorized", what="a token nobody wants")
            everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
            assert "s3cret" not in everything


async def test_a_token_that_a_peer_quotes_is_hidden(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Error pages, redirects, and errors and warnings of Prometheus contain the request's headers. Their
    texts are shown without the token.
    """

    def quoting(seen: Seen) -> Reply:
        token = seen.headers["authorization"].removeprefix("Bearer ")
        match seen.path.split("/")[1]:
            case "page":
                return Reply(
                    status=400,
                    body=b"you sent " + seen.headers["authorization"].encode() + b" and that is wrong",
                )
            case "elsewhere":
                return Reply(status=302, headers={"Location": f"/login/{token}"})
            case "error":
                return prometheus_error("bad_data", f"what is {token}?")
            case "odd":
                return Reply(body=b"<html>" + b"x" * 180 + token.encode())
            case _:
                return matrix(series(1), warnings=[f"{token} is old"])

    caplog.set_level(logging.DEBUG, logger="dsf_agent")
    volume, token_file, names = (
        ConfigMapVolume(tmp_path / "config"),
        tmp_path / "token",
        ("page", "elsewhere", "error", "odd"),
    )
    token_file.write_text("s3cret-of-the-pod-0123456789")
    async with HttpFake(quoting) as peer, HttpFake(scores(5.0)) as scoring:
        own = {"serviceAccountToken": True}
        failing = [
            entry(name, scoring=scoring.url, source=f"{peer.url}/{name}", sourceAuth=own) for name in names
        ]
        refusing = [
            entry(f"api-{name}", scoring=f"{peer.url}/{name}", scoringAuth=own)
            for name in ("page", "elsewhere")
        ]
        volume.put(
            *failing,
            *refusing,
            entry("warned", scoring=scoring.url, source=f"{peer.url}/warn", sourceAuth=own),
        )
        flags = [
            "--config-dir",
            volume.directory,
            "--publish",
            f"dir:{tmp_path / 'out'}",
            "--service-account-token-file",
            token_file,
        ]
        async with running(*flags) as agent:
            await until(lambda: _reached(agent, failing=6, well=1), what="all were called")
            everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
    assert "s3cret" not in everything
    assert "you sent Bearer (token) and that is wrong" in everything
    assert "/login/(token)" in everything
    assert "bad_data: what is (token)?" in everything
    assert "(token) is old" in everything


async def test_a_peer_that_quotes_the_token_that_it_refused_is_not_repeated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After a 401 two tokens were sent to it: neither may be read anywhere."""
    spoke, refused = HubFake(), list[str]()

    def quoting(seen: Seen) -> Reply:
        token = seen.headers["authorization"].removeprefix("Bearer ")
        if not refused:
            refused.append(token)
            spoke.secrets["dynamic-scoring", "scoring-token"] = _secret("another-s3cret-9876543210")
            return Reply(status=401, body=b"no")
        return Reply(status=400, body=f"first {refused[0]}, then {token}".encode())

    caplog.set_level(logging.DEBUG)
    spoke.secrets["dynamic-scoring", "scoring-token"] = _secret("first-s3cret-0123456789")
    volume = ConfigMapVolume(tmp_path / "config")
    async with (
        HttpFake(spoke) as api_server,
        HttpFake(quoting) as scoring,
        HttpFake(prometheus(series(1))) as source,
    ):
        auth = {"scoringEndpointAuthName": "scoring-token", "scoringEndpointAuthKey": "token"}
        volume.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=60, **auth))
        flags = [
            "--config-dir",
            volume.directory,
            "--publish",
            f"dir:{tmp_path / 'out'}",
            "--spoke-kubeconfig",
            kubeconfig(tmp_path / "spoke", server=api_server.url),
        ]
        async with running(*flags) as agent:
            await until(lambda: _reached(agent, failing=1, well=0), what="the second answer came")
            everything = (await agent.get("/metrics")).text + (await agent.get("/readyz")).text + caplog.text
    assert "first (token), then (token)" in everything
    assert "s3cret" not in everything


async def _reached(agent: RunningAgent, *, failing: int, well: int) -> bool:
    states = [scorer["state"] for scorer in agent.agent.detail()[1]["scorers"]]
    return states.count("failing") == failing and states.count("running") == well


BROKEN = {
    "absent": None,
    "no such key": {"other": "eA=="},
    "not base64": {"token": "***"},
    "empty": {"token": ""},
    "control characters": {"token": base64.b64encode(b"a\r\nX-Evil: 1").decode()},
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_token_that_cannot_be_read_is_a_reason_of_its_own(tmp_path: Path, name: str) -> None:
    """No call is made without the token, and the message names Secret and key."""
    spoke = HubFake()
    if (data := BROKEN[name]) is not None:
        spoke.secrets["dynamic-scoring", "t"] = data
    volume = ConfigMapVolume(tmp_path / "config")
    async with HttpFake(spoke) as api_server, HttpFake(scores(1.0)) as scoring:
        volume.put(
            entry("cpu", scoring=scoring.url, scoringEndpointAuthName="t", scoringEndpointAuthKey="token")
        )
        config = kubeconfig(tmp_path / "spoke", server=api_server.url)
        flags = [
            "--config-dir",
            volume.directory,
            "--publish",
            f"dir:{tmp_path / 'out'}",
            "--spoke-kubeconfig",
            config,
        ]
        async with running(*flags) as agent:
            await until(lambda: agent.scorer()["reason"], what="it fails")
            scorer = agent.scorer()
            assert scorer["reason"] == "token_unavailable"
            assert "key 'token' of Secret 't'" in scorer["message"]
            assert scoring.seen == []


async def test_a_private_ca_from_a_config_map_and_its_replacement(tmp_path: Path) -> None:
    """Only the named CA is trusted. When the server's CA changes, the ConfigMap is read again in the same
    cycle.
    """
    spoke, first, second = HubFake(), Authority("first"), Authority("second")
    spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": first.pem}
    volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    scoring = HttpFake(scores(5.0), tls=first.server(tmp_path / "first"))
    await scoring.start()
    async with HttpFake(spoke) as api_server:
        trusted = {"scoringAuth": {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}}
        one = entry("cpu", scoring=scoring.url, scoringInterval=1, **trusted)
        volume.put(one, entry("untrusting", scoring=scoring.url, scoringInterval=1))
        config = kubeconfig(tmp_path / "spoke", server=api_server.url)
        flags = ["--config-dir", volume.directory, "--publish", f"dir:{out}", "--spoke-kubeconfig", config]
        async with running(*flags) as agent:
            await until((out / "cpu-score.yaml").exists, what="published")
            await until(
                lambda: agent.agent.detail()[1]["scorers"][1]["reason"] == "tls",
                what="others do not trust it",
            )
            await scoring.stop()
            spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": second.pem}
            scoring.use_tls(second.server(tmp_path / "second"))
            await scoring.start()
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="cycles with the second CA")
            assert "tls" not in (await agent.failures()).get("cpu-score", set())
            spoke.config_maps["dynamic-scoring", "ca"] = {"ca.crt": "garbage"}
            volume.put({**one, "scoringAuth": {"caConfigMapRef": {"name": "ca", "key": "nokey"}}})
            await until(lambda: agent.scorer()["reason"] == "ca_unavailable", what="no CA, no call")
    await scoring.stop()


async def test_the_pods_own_token_is_read_for_every_call(tmp_path: Path) -> None:
    """Projected tokens are replaced every hour. A missing one has its own reason."""
    guard, token = Guard(), tmp_path / "token"
    token.write_text("one\n")
    guard.accepted = {"one"}
    volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    async with HttpFake(guard) as scoring:
        volume.put(
            entry("cpu", scoring=scoring.url, scoringInterval=1, scoringAuth={"serviceAccountToken": True})
        )
        flags = [
            "--config-dir",
            volume.directory,
            "--publish",
            f"dir:{out}",
            "--service-account-token-file",
            token,
        ]
        async with running(*flags) as agent:
            await until(lambda: out.exists() and list(out.glob("*.yaml")), what="published")
            guard.accepted = {"two"}
            token.write_text("two")
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="more cycles")
            assert await agent.failures() == {}
            token.unlink()
            await until(lambda: agent.scorer()["reason"] == "token_unavailable", what="no token, no call")


async def test_each_side_has_its_own_token_and_ca(tmp_path: Path) -> None:
    """The credentials of the source are never sent to the scoring API, and those of the scoring API never
    to the source.
    """
    spoke, one, two = HubFake(), Authority("one"), Authority("two")
    spoke.secrets["dynamic-scoring", "for-source"] = _secret("source-token")
    spoke.config_maps["dynamic-scoring", "cas"] = {"source": one.pem, "scoring": two.pem}
    token, volume, out = tmp_path / "token", ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
    token.write_text("pod-token")
    source = HttpFake(prometheus(series(1)), tls=one.server(tmp_path / "one"))
    scoring = HttpFake(scores(5.0), tls=two.server(tmp_path / "two"))
    async with HttpFake(spoke) as api_server, source, scoring:
        auth = {
            "sourceEndpointAuthName": "for-source",
            "sourceEndpointAuthKey": "token",
            "sourceAuth": {"caConfigMapRef": {"name": "cas", "key": "source"}},
            "scoringAuth": {"caConfigMapRef": {"name": "cas", "key": "scoring"}, "serviceAccountToken": True},
        }
        volume.put(entry("cpu", scoring=scoring.url, source=source.url, **auth))
        config = kubeconfig(tmp_path / "spoke", server=api_server.url)
        flags = ["--config-dir", volume.directory, "--publish", f"dir:{out}", "--spoke-kubeconfig", config]
        async with running(*flags, "--service-account-token-file", token):
            await until((out / "cpu-score.yaml").exists, what="published")
    assert {seen.headers["authorization"] for seen in source.seen} == {"Bearer source-token"}
    assert {seen.headers["authorization"] for seen in scoring.seen} == {"Bearer pod-token"}


async def test_a_redirect_sends_no_token_to_another_host(tmp_path: Path) -> None:
    """It is not followed: the other host gets no request, and the message says what to write."""
    token, volume = tmp_path / "token", ConfigMapVolume(tmp_path / "config")
    token.write_text("pod-token")
    async with HttpFake(scores(5.0)) as elsewhere:
        away = Reply(status=308, headers={"Location": f"{elsewhere.url}/scoring?token=hunter2"})
        async with HttpFake(lambda _seen: away) as here:
            auth = {"sourceAuth": {"serviceAccountToken": True}, "scoringAuth": {"serviceAccountToken": True}}
            volume.put(
                entry("source", scoring=here.url, source=here.url, **auth),
                entry("scoring", scoring=here.url, **auth),
            )
            flags = [
                "--config-dir",
                volume.directory,
                "--publish",
                f"dir:{tmp_path / 'out'}",
                "--service-account-token-file",
                token,
            ]
            async with running(*flags) as agent:
                await until(
                    lambda: {one["reason"] for one in agent.agent.detail()[1]["scorers"]} == {"redirected"},
                    what="refused",
                )
                assert f"points to {elsewhere.url}/scoring;" in agent.scorer()["message"]
                assert "hunter2" not in (await agent.get("/readyz")).text
        assert elsewhere.seen == []
